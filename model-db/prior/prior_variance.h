/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_PRIOR_VARIANCE_H
#define TW_MODEL_DB_PRIOR_VARIANCE_H

/*
 * The variance with which a view predicts log W of a machine: of the processes (C. E.
 * Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning, 2006, equation
 * 2.26), conditioned on one machine of each processor of the table, the anchors (a
 * "subset of data": the same, section 8.3.3). An anchor's noise is divided by the number
 * of machines with its processor.
 *
 * The variance grows with the distance from the table: a category that the table lacks
 * has its whole variance, and numbers that no machine of the table has are far from all.
 */

#include "model-db/prior/prior.h"

#include <stddef.h>

struct tw_err;

/* Find the anchors of all views, in place of older ones. */
int tw_prior_find_anchors(struct tw_prior *p, struct tw_err *err);

#define TW_PRIOR_ALL_ANCHORS ((size_t)-1)

/*
 * Set the variance of log W at each load, with the noise of a single machine. Without
 * the anchor of that number, unless it is TW_PRIOR_ALL_ANCHORS. Needs
 * tw_prior_find_anchors(). The first call factors the covariances of the view, which
 * takes 10 ms and 1 MiB, so a view that is never asked costs neither. Thread-safe.
 * TW_INVALID: a covariance is singular.
 */
int tw_prior_variance(const struct tw_prior *p, const struct tw_prior_view *v,
		      const struct tw_prior_row *r, size_t without, double *variance,
		      struct tw_err *err);

/* The anchor with the processor of the row, or TW_PRIOR_ALL_ANCHORS. */
size_t tw_prior_anchor_of(const struct tw_prior *p, const struct tw_prior_view *v,
			  const struct tw_prior_row *r);

#endif /* TW_MODEL_DB_PRIOR_VARIANCE_H */
