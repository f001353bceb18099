/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_FEATURES_H
#define TW_COLLECTOR_FEATURES_H

/*
 * The inputs of models: the features of docs/wire.md that this machine provides, per
 * second of the last tick.
 */

#include "estimator/predict/series.h"
#include "lib/core/strs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_node;
struct tw_workloads;

#define TW_FEATURES_MAX 32

/* All zero bytes: none. */
struct tw_features {
	struct tw_strs names; /* names of the columns, sorted */
	unsigned char
		source[TW_FEATURES_MAX]; /* index of each in the table of features.c */
	const struct tw_workloads *workloads;
};

/*
 * Find the features that this machine provides. workloads outlives *f; NULL: no counters.
 * *f must be all zero; release it by tw_features_release().
 */
int tw_features_open(struct tw_features *f, const struct tw_node *node,
		     const struct tw_workloads *workloads, struct tw_err *err);
void tw_features_release(struct tw_features *f);

/*
 * Fill two rows of f->names.count columns: the last tick, and an idle machine at the same
 * frequency. False: a feature is unknown now.
 */
bool tw_features_read(const struct tw_features *f, const struct tw_node *node,
		      double *rows);

/* ---- the last ticks ---- */

/*
 * The features of the last ticks as two series, for models that look back: the machine,
 * and the same machine without load. The two are never mixed.
 *
 * A tick whose features are unknown leaves a gap, which ends a series for the model
 * (estimator/predict/derived.h).
 */

/* All zero bytes is empty and without room. */
struct tw_tick_rows {
	struct tw_recent_rows machine, rest;
	uint64_t time_ns; /* sum of the ticks; suspended time does not count */
};

/* Make room for `back` ticks of `cols` features and the newest tick. */
int tw_tick_rows_reserve(struct tw_tick_rows *t, size_t cols, size_t back,
			 struct tw_err *err);

/* A tick has passed. rows: those of tw_features_read(); NULL: a feature is unknown. */
void tw_tick_rows_add(struct tw_tick_rows *t, uint64_t elapsed_ns, const double *rows);

void tw_tick_rows_release(struct tw_tick_rows *t);

#endif /* TW_COLLECTOR_FEATURES_H */
