/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_AUTO_TRIALS_H
#define TW_TRAINER_AUTO_TRIALS_H

/*
 * The candidates of AutoTrainer and their validation.
 *
 * A trial is a learner on a choice of columns, validated on inner blocked folds. Columns
 * are derived from features (estimator/predict/derived.h) by the code of the predictor. A
 * blend is the mean of the best trials: a few folds cannot rank trials of almost equal
 * error, and the mean of models whose errors differ has a smaller error than each of them
 * (L. Breiman, Stacked Regressions, Machine Learning 24, 1996).
 *
 * The rows are those that AutoTrainer gets to fit on. Outer folds hold their rows back.
 */

#include "estimator/predict/derived.h"
#include "lib/core/err.h"
#include "trainer/fit/trainer.h"

#include <stdbool.h>

/* ---- columns and rows ---- */

struct tw_auto_columns {
	struct tw_derived at[TW_DERIVED_MAX];
	size_t count;
};

/* Which rows: all, or those of a series that have a row before them. */
struct tw_auto_rows {
	uint32_t *at; /* rows of the samples, rising */
	size_t count;
	double step_ms; /* of a series; 0: none, rows stand alone */
};

/* *out must be all zero; free ->at. At most `most`, evenly chosen. */
int tw_auto_rows_init(struct tw_auto_rows *out, const struct tw_samples *s,
		      double step_ms, size_t most, struct tw_err *err);

/* The median step between rows; 0 where there is none. */
int tw_auto_step(const struct tw_samples *s, double *step_ms, struct tw_err *err);

struct tw_auto_design {
	struct tw_samples samples; /* no time stamps: its rows stand alone */
	double *x, *y;
	char (*names)[TW_DERIVED_NAME];
	const char **name;
};

/* *out must be all zero; it is yours, on failure too: tw_auto_design_release(). */
int tw_auto_design_init(struct tw_auto_design *out, const struct tw_samples *s,
			const struct tw_auto_rows *rows, const struct tw_auto_columns *c,
			struct tw_err *err);

void tw_auto_design_release(struct tw_auto_design *d);

/* ---- trials ---- */

/* Inner folds: enough blocks to compare by, few enough to be quick. */
#define TW_AUTO_FOLDS 4

/* What may become of a trial. */
enum tw_auto_standing {
	TW_AUTO_USUAL, /* a member, if it is among the best */
	TW_AUTO_OTHER, /* only if it is plainly better than all usual ones */
	TW_AUTO_PROBE  /* none: it was to learn something */
};

struct tw_auto_trial {
	enum tw_auto_standing standing;
	const struct tw_trainer *learner;
	struct tw_auto_columns columns;
	double *predicted; /* of each row, by the fold that did not see it */
	double mae;
	double fold_mae[TW_AUTO_FOLDS]; /* of each inner fold */
	struct tw_err err; /* why it is out of the question; TW_OK: it is not */
};

struct tw_auto_trials {
	const struct tw_samples *samples;
	struct tw_auto_rows rows;
	uint64_t seed;
	struct tw_auto_trial *at;
	size_t count, size;
};

/*
 * Add one. Only a lack of memory is a failure: a learner that refuses the data
 * is a trial with an error. *place (may be NULL) is its number.
 */
int tw_auto_try(struct tw_auto_trials *t, enum tw_auto_standing standing,
		const struct tw_trainer *learner, const struct tw_auto_columns *columns,
		size_t *place, struct tw_err *err);

/*
 * Whether a trial is plainly better than another: its error is below that share of the
 * other's, and smaller in most inner folds. Both went well.
 */
bool tw_auto_better(const struct tw_auto_trial *a, const struct tw_auto_trial *b,
		    double share);

/* Measured power of the rows. */
double tw_auto_measured(const struct tw_auto_trials *t, size_t row);

void tw_auto_trials_release(struct tw_auto_trials *t);

/* ---- blends ---- */

#define TW_AUTO_MEMBERS_MAX 4

struct tw_auto_blend {
	size_t trial[TW_AUTO_MEMBERS_MAX]; /* the best first; all of the same weight */
	size_t count;
	double mae; /* of the mean, on the inner folds */
};

/* At most `most` of them. Fails with the first trial's error where all failed. */
int tw_auto_blend(const struct tw_auto_trials *t, size_t most, struct tw_auto_blend *out,
		  struct tw_err *err);

/* What the blend says of a row on the inner folds. */
double tw_auto_blend_row(const struct tw_auto_trials *t, const struct tw_auto_blend *b,
			 size_t row);

#endif /* TW_TRAINER_AUTO_TRIALS_H */
