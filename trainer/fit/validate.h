/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_VALIDATE_H
#define TW_TRAINER_VALIDATE_H

/*
 * Blocked folds: contiguous blocks of time, each predicted by a model that was fitted
 * on the rows outside of it (docs/accuracy.md).
 *
 * A model is judged as it will be served: it is written to its text, read back by
 * the estimator's predictor, and that one predicts.
 */

#include "trainer/fit/trainer.h"

struct tw_buf;
struct tw_err;

/* Rows from (inclusive) to (exclusive) of a block. */
struct tw_fold {
	size_t from, to;
};

/*
 * Block i of `folds`, at most as many as there are rows. Sizes differ by one at most,
 * the larger blocks first.
 */
struct tw_fold tw_fold_at(size_t rows, size_t folds, size_t i);

/* The block and what must not train a model that is judged by it: s->overlap more rows
 * on either side. */
struct tw_fold tw_fold_widen(struct tw_fold fold, size_t overlap, size_t rows);

/*
 * Fit on the rows of s outside the widened block and predict those in it: predicted[0]
 * belongs to row fold.from. s->y of the block's rows is not looked at. Rows are predicted
 * each by itself; series (may be NULL) is what the same model says of them as a series.
 */
int tw_validate_fold(const struct tw_trainer *t, const struct tw_samples *s,
		     struct tw_fold fold, uint64_t seed, double *predicted,
		     double *series, struct tw_err *err);

/* Fit on all rows, and make sure that the predictor reads what came out. */
int tw_validate_fit(const struct tw_trainer *t, const struct tw_samples *s, uint64_t seed,
		    struct tw_buf *text, struct tw_err *err);

#endif /* TW_TRAINER_VALIDATE_H */
