/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PRIOR_ERROR_H
#define TW_TRAINER_PRIOR_ERROR_H

/*
 * Factors, intervals and errors of a view, from predictions for processors that were left
 * out. A processor has the same weight however many machines have it.
 */

#include "model-db/prior/prior.h"

#include <stddef.h>

struct tw_err;

struct tw_prior_held_out {
	double (*log_ratio)[TW_PRIOR_LOADS]; /* measured over predicted, without factor */
	double (*variance)[TW_PRIOR_LOADS];  /* of log W */
	size_t *group;                       /* processor */
	size_t rows;
};

/* *out must be all zero; it is yours, after a failure, too. */
int tw_prior_held_out_new(size_t rows, struct tw_prior_held_out *out, struct tw_err *err);
void tw_prior_held_out_release(struct tw_prior_held_out *h);

/*
 * Set the factor of the view, and its misses of known generations. The factor c minimises
 * the mean of |c P / W - 1|: it is the median of W / P, weighted by P / W. The width is
 * the conformal quantile of |log(W / (c P))| / sd at 90 % (J. Lei et al.,
 * Distribution-Free Predictive Inference for Regression, JASA 2018, sections 2 and 5.2),
 * rounded up to the next processor.
 */
int tw_prior_errors(const struct tw_prior_held_out *h, struct tw_prior_view *v,
		    struct tw_err *err);

#endif /* TW_TRAINER_PRIOR_ERROR_H */
