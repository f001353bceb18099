/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_AUTO_BLEND_H
#define TW_TRAINER_AUTO_BLEND_H

/*
 * Which trials to keep: the one with the least error on the inner folds and those that
 * are hardly worse, whose mean is the model. A few folds cannot tell such apart, and
 * the mean of several that err differently errs less than one (L. Breiman, Stacked
 * Regressions, Machine Learning 24, 1996).
 */

#include <stddef.h>

struct tw_auto_trials;
struct tw_err;

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

#endif /* TW_TRAINER_AUTO_BLEND_H */
