/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_TICK_ROWS_H
#define TW_COLLECTOR_TICK_ROWS_H

/*
 * The features of the last ticks as two series, for models that look back: the machine,
 * and the same machine without load. The two are never mixed.
 *
 * A tick whose features are unknown leaves a gap, which ends a series for the model
 * (estimator/predict/derived.h).
 */

#include "estimator/predict/series.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_rows;

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

#endif /* TW_COLLECTOR_TICK_ROWS_H */
