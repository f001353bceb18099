/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_SOURCE_MODEL_H
#define TW_COLLECTOR_SOURCE_MODEL_H

/*
 * The model of one energy source inside the collector: which model is in use, and the
 * counts of its predictions. A part of estimates.h.
 */

#include "collector/power/features.h"
#include "lib/core/err.h"
#include "lib/field/energy.h"
#include "lib/field/feature.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tw_power_model;

/* ---- its file ---- */

/*
 * A model's directory or zip that may be replaced while it is in use. Each tick checks
 * its metadata. A changed file is read again once it has stayed the same for a tick.
 */

/* Identifies a version of a file. */
struct tw_file_mark {
	dev_t dev;
	ino_t ino;
	off_t size;
	int64_t changed_ns;
};

struct tw_model_file {
	const char *path;
	struct tw_file_mark read; /* version of the last read, successful or not */
	struct tw_file_mark seen; /* version at the last check */
};

/* Read the model. path outlives f. *out is yours. */
int tw_model_file_open(struct tw_model_file *f, const char *path,
		       struct tw_power_model **out, struct tw_err *err);

/*
 * Check in a tick. 1: a new model in *out, which is yours. 0: no change. -1: the new
 * version cannot be used; reported once for each version.
 */
int tw_model_file_look(struct tw_model_file *f, struct tw_power_model **out,
		       struct tw_err *err);

/* Force a read at the next check. */
void tw_model_file_reload(struct tw_model_file *f);

/* ---- the model of a source ---- */

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

/* The state of an estimate. */
struct tw_estimate {
	const struct tw_energy_source *source;
	struct tw_power_model *model; /* NULL: none yet */
	char origin[32], from[512]; /* of that model: "file", "server", ..; path or URL */
	double core_ratio;   /* cores of this machine / cores of the model; 1: unknown */
	int64_t confirmed_s; /* when its origin last confirmed it, seconds since 1970; 0:
				a file */
	uint64_t loads,
		failures;      /* models loaded, and models rejected, since the start */
	unsigned failing;      /* origins that failed in the last refresh */
	char why[TW_ERR_TEXT]; /* reason of the last failure; "": none */

	bool fresh;            /* the last tick has watts */
	enum tw_output output; /* of the model; DynPower: the watts have no idle power */
	bool outside;          /* the input is outside the training range */
	uint64_t rows, rows_outside; /* estimates, and those that extrapolate */
	uint64_t ns, outside_ns;     /* their duration */
};

/* All zero bytes except the source and a ratio of 1: no model yet. */
struct tw_source_model {
	struct tw_estimate is;
	int part[TW_COMPONENT_COUNT]; /* index of the component in the model; -1: none */
	uint32_t place[TW_COMPONENT_COUNT][TW_FEATURES_MAX];
	struct tw_model_file file; /* path NULL: the model is not from a file */
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
