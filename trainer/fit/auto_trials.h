/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_AUTO_TRIALS_H
#define TW_TRAINER_AUTO_TRIALS_H

/*
 * The candidates of AutoTrainer and their validation.
 *
 * A trial is a learner on a choice of columns, validated on inner blocked folds. Columns
 * are derived from features (estimator/predict/derived.h) by the code of the predictor. A
 * blend is the median of trials, or a weighted mean if that is better by more than a
 * standard error: a few folds cannot rank trials of almost equal error, and a blend of
 * models whose errors differ has a smaller error than each of them. Both rise with the
 * load if the trials do. (M. J. van der Laan, E. C. Polley, A. E. Hubbard, Super Learner,
 * Statistical Applications in Genetics and Molecular Biology 6, 2007.)
 *
 * The rows are those that AutoTrainer gets to fit on. Outer folds hold their rows back.
 */

#include "estimator/predict/derived.h"
#include "lib/core/err.h"
#include "trainer/fit/rest.h"
#include "trainer/fit/trainer.h"

#include <stdbool.h>

/* ---- columns and rows ---- */

struct tw_auto_columns {
	struct tw_derived at[TW_DERIVED_MAX];
	size_t count;
};

/* Rows of the samples: all, or the rows of a series that have a row before them. */
struct tw_auto_rows {
	uint32_t *at; /* indices of rows, ascending */
	size_t count;
	double step_ms; /* step of the series; 0: rows are independent */
};

/* Choose at most `most` rows, evenly spread. *out must be all zero; free ->at. */
int tw_auto_rows_init(struct tw_auto_rows *out, const struct tw_samples *s,
		      double step_ms, size_t most, struct tw_err *err);

/* The median step between rows; 0 without time stamps, or with fewer than two rows. */
int tw_auto_step(const struct tw_samples *s, double *step_ms, struct tw_err *err);

/* Samples over derived columns. */
struct tw_auto_design {
	struct tw_samples samples; /* without time stamps: rows are independent */
	struct tw_rest rest;
	double *x, *y;
	bool *work;
	char (*names)[TW_DERIVED_NAME];
	const char **name;
};

/* *out must be all zero; it is yours, on failure too: tw_auto_design_release(). */
int tw_auto_design_init(struct tw_auto_design *out, const struct tw_samples *s,
			const struct tw_rest *rest, const struct tw_auto_rows *rows,
			const struct tw_auto_columns *c, struct tw_err *err);

void tw_auto_design_release(struct tw_auto_design *d);

/* ---- trials ---- */

/*
 * Number of inner folds: the blocks that the rows consist of, if these are four or five,
 * else four. Blocks of the outer validation share fits (trainer/fit/fits.h).
 */
#define TW_AUTO_FOLDS 4
#define TW_AUTO_FOLDS_MAX 5
/* Rows that the inner folds predict, at most; of more rows, an even selection. */
#define TW_AUTO_ROWS_MAX 4096

/* The condition for a trial to become a member of a blend. */
enum tw_auto_role {
	TW_AUTO_PREFERRED,   /* unless an alternative is clearly better */
	TW_AUTO_ALTERNATIVE, /* only if it is clearly better than every preferred trial */
	TW_AUTO_FREE,        /* of an unbound blend: its power need not rise from rest */
	TW_AUTO_PROBE        /* never: it only helps to choose columns */
};

struct tw_auto_trial {
	enum tw_auto_role role;
	const struct tw_trainer *learner;
	struct tw_auto_columns columns;
	double *predicted; /* prediction of each row by the fold that holds it out */
	double mae;        /* W */
	double fold_mae[TW_AUTO_FOLDS_MAX]; /* mean |error| of each inner fold, W */
	struct tw_err err;                  /* TW_OK, or why the learner failed */
};

struct tw_auto_trials {
	const struct tw_samples *samples;
	const struct tw_rest *rest; /* of the samples */
	struct tw_auto_rows rows;
	uint64_t seed;
	struct tw_auto_trial *at;
	size_t count, size;
	struct {
		struct tw_rest rest;
		bool known;
	} outside[TW_AUTO_FOLDS_MAX]; /* of the samples outside each inner fold */
};

/* Number of inner folds of these rows. */
size_t tw_auto_folds(const struct tw_auto_trials *t);

/*
 * Add a trial and validate it. If the learner rejects the data, the error is kept in the
 * trial; only lack of memory fails the call. *place (may be NULL) is the trial's index.
 */
int tw_auto_try(struct tw_auto_trials *t, enum tw_auto_role role,
		const struct tw_trainer *learner, const struct tw_auto_columns *columns,
		size_t *place, struct tw_err *err);

/*
 * Whether trial a is clearly better than b: its error is below share times the error of
 * b, and smaller in most inner folds. Both must have no error.
 */
bool tw_auto_better(const struct tw_auto_trials *t, const struct tw_auto_trial *a,
		    const struct tw_auto_trial *b, double share);

/* Measured power of a row of t->rows. */
double tw_auto_measured(const struct tw_auto_trials *t, size_t row);

void tw_auto_trials_release(struct tw_auto_trials *t);

/* ---- blends ---- */

/* Weights are multiples of its inverse, so that a blend has at most as many members. */
#define TW_AUTO_MEMBERS_MAX 10

struct tw_auto_blend {
	size_t trial[TW_AUTO_MEMBERS_MAX];  /* indices */
	double weight[TW_AUTO_MEMBERS_MAX]; /* sum 1 */
	size_t count;
	bool median; /* of the trials, which have equal weights */
	double mae;  /* of the blend on the inner folds, W */
	double cost; /* mae, and the part of |bias| above a limit, W: what is compared */
};

/*
 * Blend the preferred trials or, if one is clearly better than each of them, the best
 * alternative. An unbound blend is of preferred and free trials. Trials whose error is
 * much larger than the smallest take no part. If all failed, fails with the error of the
 * first.
 */
int tw_auto_blend(const struct tw_auto_trials *t, bool unbound, struct tw_auto_blend *out,
		  struct tw_err *err);

/* The prediction of a blend for a row of t->rows on the inner folds. */
double tw_auto_blend_row(const struct tw_auto_trials *t, const struct tw_auto_blend *b,
			 size_t row);

/*
 * Whether the mean absolute error of a is smaller than that of b by more than a standard
 * error of the difference. Rows close in time are alike, so blocks of rows are counted.
 */
bool tw_auto_blend_better(const struct tw_auto_trials *t, const struct tw_auto_blend *a,
			  const struct tw_auto_blend *b);

#endif /* TW_TRAINER_AUTO_TRIALS_H */
