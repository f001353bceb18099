/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_VALIDATE_H
#define TW_TRAINER_VALIDATE_H

/*
 * Validation by blocked folds (docs/accuracy.md): each contiguous block of time is
 * predicted by a model that was fitted on the rows outside the block.
 *
 * Predictions are those of the served model: the fitted text is read back by the
 * predictor of the estimator.
 */

#include "trainer/fit/trainer.h"

struct tw_buf;
struct tw_err;

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

#endif /* TW_TRAINER_VALIDATE_H */
