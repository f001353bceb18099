/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_VALIDATE_H
#define TW_TRAINER_VALIDATE_H

/*
 * Validation (docs/accuracy.md) by blocked folds: each contiguous block of time is
 * predicted by a model that was fitted on the rows outside the block. Beside them, by one
 * fold for each workload, or by folds of shuffled rows. Shuffled folds only serve to
 * compare with tables of other publications, because adjacent rows are correlated.
 *
 * Predictions are those of the served model: the fitted text is read back by the
 * predictor of the estimator.
 */

#include "lib/core/strs.h"
#include "trainer/fit/trainer.h"

#include <stddef.h>
#include <stdint.h>

struct tw_buf;
struct tw_err;
struct tw_workload_runs;

/* The rows of a block, `to` excluded. */
struct tw_fold {
	size_t from, to;
};

/*
 * Block i of `folds` blocks. folds is at most rows. Sizes differ by one at most; the
 * larger blocks come first.
 */
struct tw_fold tw_fold_at(size_t rows, size_t folds, size_t i);

/* The block and overlap rows on either side, which share measurements with it. */
struct tw_fold tw_fold_widen(struct tw_fold fold, size_t overlap, size_t rows);

/* The rows of samples outside a block. */
struct tw_outside {
	struct tw_samples samples;
	double *x, *y;
	int64_t *time_ms;
};

/*
 * Copy the rows of s outside the widened block. *out must be all zero; it is yours, on
 * failure too: tw_outside_release().
 */
int tw_outside_init(struct tw_outside *out, const struct tw_samples *s,
		    struct tw_fold fold, struct tw_err *err);
void tw_outside_release(struct tw_outside *o);

/* Predict the rows in the block by a fitted text; the results as tw_validate_fold(). */
int tw_validate_text(const struct tw_trainer *t, const struct tw_samples *s,
		     struct tw_fold fold, const struct tw_buf *text, double *predicted,
		     double *series, struct tw_err *err);

/*
 * Fit on the rows of s outside the widened block and predict the rows in the block.
 * predicted[0] is that of the first. s->y of the block is not used. predicted treats
 * rows as independent; series (may be NULL) gets predictions of the rows as a series.
 */
int tw_validate_fold(const struct tw_trainer *t, const struct tw_samples *s,
		     struct tw_fold fold, uint64_t seed, double *predicted,
		     double *series, struct tw_err *err);

/* Fit on all rows, append the text, and check that the predictor reads it. */
int tw_validate_fit(const struct tw_trainer *t, const struct tw_samples *s, uint64_t seed,
		    struct tw_buf *text, struct tw_err *err);

/* A row that is in no fold: it trains every model and is never held out. */
#define TW_FOLD_NONE UINT32_MAX

/* All zero bytes: no folds. */
struct tw_folds {
	const char *scheme; /* "workload" or "shuffled"; prefix of metadata keys */
	size_t count;
	uint32_t *of;         /* the fold of each row */
	struct tw_strs names; /* workload of each fold; empty if shuffled */
};

/*
 * A fold for each workload that has rows. TW_INVALID unless two workloads have rows, or
 * one has and other rows are of no workload. *out must be all zero; it is yours:
 * tw_folds_release().
 */
int tw_folds_by_workload(const struct tw_workload_runs *w, const int64_t *time_ms,
			 size_t rows, struct tw_folds *out, struct tw_err *err);

/*
 * A fold for each recording. recording has an index into names for each row, or
 * TW_FOLD_NONE. Errors and *out as above.
 */
int tw_folds_by_recording(const uint32_t *recording, const char *const *names,
			  size_t count, size_t rows, struct tw_folds *out,
			  struct tw_err *err);

/* Folds of shuffled rows; the seed gives the permutation. Sizes differ by one at most. */
int tw_folds_shuffled(size_t rows, size_t folds, uint64_t seed, struct tw_folds *out,
		      struct tw_err *err);

void tw_folds_release(struct tw_folds *f);

/*
 * Fit on the rows outside fold k and predict the rows in it, as tw_validate_fold() does.
 * predicted has s->rows numbers; only those of rows in the fold are written.
 */
int tw_folds_validate(const struct tw_folds *f, uint32_t k, const struct tw_trainer *t,
		      const struct tw_samples *s, uint64_t seed, double *predicted,
		      struct tw_err *err);

#endif /* TW_TRAINER_VALIDATE_H */
