/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_CALIBRATE_H
#define TW_TRAINER_CALIBRATE_H

/*
 * Intervals and expected errors of a component's answers, from the errors of held-out
 * rows (docs/accuracy.md, "Intervals").
 *
 * The expected error of a row is the mean |error| of rows like it: by trees over the
 * features (of the previous row, too, for answers of a series), drawn towards the mean
 * of all rows. The half-width of an interval is a constant, or depends on the predicted
 * power, or is a multiple of the expected error; blocks of time decide.
 *
 * The calibration is by groups of adjacent folds. All figures of a group are of a
 * calibration, and of a choice of the kind of interval, without the errors of the group.
 */

#include "estimator/predict/answer_error.h"
#include "lib/core/buf.h"
#include "trainer/fit/calibrate_rows.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;

struct tw_calibrated {
	struct tw_answer_interval interval;
	struct tw_buf form; /* of the ensemble of expected errors, JSON; empty: none */
	double largest;     /* |error|, W */
	/* Figures of held-out groups; NaN: unknown. */
	size_t rows, groups;
	double coverage, group_coverage[TW_CALIBRATE_GROUPS];
	double score;    /* mean of tw_winkler(), W */
	double constant; /* of a constant half-width, W */
	double auc;      /* tw_miss_auc() of the expected error */
};

/* *out must be all zero; it is yours: tw_calibrated_release(). */
int tw_calibrate(const struct tw_residuals *r, uint64_t seed, struct tw_calibrated *out,
		 struct tw_err *err);

void tw_calibrated_release(struct tw_calibrated *c);

/*
 * Append the file of expected errors (docs/model-format.md, "Expected errors"). series
 * may be NULL or without a form. Nothing is appended if `alone` has no form.
 */
void tw_calibrated_write(const struct tw_calibrated *alone,
			 const struct tw_calibrated *series, double step_ms,
			 struct tw_buf *out);

#endif /* TW_TRAINER_CALIBRATE_H */
