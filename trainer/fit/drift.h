/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_DRIFT_H
#define TW_TRAINER_DRIFT_H

/*
 * The drift of a machine's power: a trend over time of measured - predicted power on
 * held-out rows of equal load (docs/accuracy.md, "Drift").
 */

#include <stddef.h>
#include <stdint.h>

struct tw_err;

/* All zero: no drift is certain. */
struct tw_drift {
	double watts_per_hour;
	double watts; /* in the time of one more recording */
};

/* Borrowed arrays of `rows` numbers. Each of `folds` blocks of time, 2 or more, is
 * predicted by a model of the other blocks. */
struct tw_drift_rows {
	const double *measured, *predicted; /* W */
	const double *load;                 /* any unit */
	const int64_t *time_ms;             /* ascends */
	size_t rows, folds;
};

/* *out is unchanged on failure. */
int tw_drift_find(const struct tw_drift_rows *r, struct tw_drift *out,
		  struct tw_err *err);

#endif /* TW_TRAINER_DRIFT_H */
