/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_SOURCE_MODEL_H
#define TW_COLLECTOR_SOURCE_MODEL_H

/*
 * The model of one energy source inside the collector: which model is in use, and the
 * counts of its predictions. A part of estimates.h.
 */

#include "collector/power/features.h"
#include "collector/power/model_file.h"
#include "lib/core/err.h"
#include "lib/field/energy.h"
#include "lib/field/feature.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Watts by component: of the last tick (power_w), and of the idle machine (rest_w).
 *
 * A model of DynPower predicts the power of a workload above idle, and it adds up: its
 * power for the usage of all workloads is the sum of theirs. It knows no idle power.
 */
struct tw_predicted {
	enum tw_output output;
	bool has[TW_COMPONENT_COUNT];
	double power_w[TW_COMPONENT_COUNT], rest_w[TW_COMPONENT_COUNT];
	bool outside;
	double core_ratio;
};

struct tw_tick_rows;

/* All zero bytes except the source and a ratio of 1: no model yet. */
struct tw_source_model {
	const struct tw_energy_source *source;
	struct tw_power_model *model; /* NULL: none yet */
	int part[TW_COMPONENT_COUNT]; /* index of the component in the model; -1: none */
	uint32_t place[TW_COMPONENT_COUNT][TW_FEATURES_MAX];
	struct tw_model_file file; /* path NULL: the model is not from a file */
	char origin[32], from[512];
	double core_ratio;
	int64_t confirmed_s;
	uint64_t loads, failures;
	unsigned failing;
	char why[TW_ERR_TEXT];
	/* Of the last tick, and since the start; see struct tw_estimate. */
	bool told, outside;
	enum tw_output output; /* of the last prediction */
	uint64_t rows, rows_outside, ns, outside_ns;
};

/*
 * Use another model, which is taken, even on failure. The old model stays if the new one
 * is for another source, or needs features that this machine lacks.
 */
int tw_source_model_take(struct tw_source_model *s, struct tw_power_model *model,
			 const struct tw_features *f, uint32_t cores, struct tw_err *err);

/* Log the model in use. */
void tw_source_model_log(const struct tw_source_model *s);

/* Predict the last tick. There must be a model, and t must have room for its history. */
void tw_source_model_predict(const struct tw_source_model *s,
			     const struct tw_tick_rows *t, struct tw_predicted *out);

/* Count a prediction. */
void tw_source_model_count(struct tw_source_model *s, bool outside, uint64_t elapsed_ns);

/* Count a failure and keep its reason. */
void tw_source_model_failed(struct tw_source_model *s, const char *why);

void tw_source_model_release(struct tw_source_model *s);

#endif /* TW_COLLECTOR_SOURCE_MODEL_H */
