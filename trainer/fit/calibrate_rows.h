/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_CALIBRATE_ROWS_H
#define TW_TRAINER_CALIBRATE_ROWS_H

/* The held-out rows that a calibration is made of (trainer/fit/calibrate.h). */

#include "estimator/predict/derived.h"
#include "trainer/fit/validate.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;

#define TW_CALIBRATE_GROUPS 5

struct tw_residuals {
	const struct tw_samples *samples; /* features and times; y is not used */
	const double *measured, *predicted;
	size_t folds; /* blocks of time, tw_fold_at() */
	/* Calibrate rows that continue a series of this step; 0: all rows, each alone. */
	double step_ms;
};

/* The calibrated rows, in order of time. */
struct tw_calibrate_rows {
	const struct tw_samples *samples;
	uint64_t seed;
	size_t rows, cols;
	size_t *at; /* index in the samples */
	double *x;  /* rows * cols */
	double *measured, *watts, *error;
	size_t *group;
	struct tw_derived column[TW_DERIVED_MAX];
	char (*name)[TW_DERIVED_NAME];
	const char **names;
	size_t groups;
	struct tw_fold block[TW_CALIBRATE_GROUPS]; /* rows of the samples */
	struct tw_fold own[TW_CALIBRATE_GROUPS];   /* calibrated rows of the group */
	/* Calibrated rows that are of the block or share a measurement with it. */
	struct tw_fold wide[TW_CALIBRATE_GROUPS];
	/*
	 * Expected errors: sigma[k * rows + r] is by trees that saw neither the group of
	 * row r nor group k. NULL: there are too few rows.
	 */
	double *sigma;
	double *scratch;  /* rows numbers */
	size_t *by_watts; /* the calibrated rows in order of predicted power */
};

/* *w has samples and seed, the rest is zero; it is yours, on failure too. */
int tw_calibrate_rows_take(struct tw_calibrate_rows *w, const struct tw_residuals *r,
			   struct tw_err *err);

void tw_calibrate_rows_release(struct tw_calibrate_rows *w);

#endif /* TW_TRAINER_CALIBRATE_ROWS_H */
