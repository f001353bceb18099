/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_PRIOR_ANSWER_H
#define TW_MODEL_DB_PRIOR_ANSWER_H

/*
 * The prior's answer for a machine: a curve with intervals and expected errors.
 *
 * They follow from the variance of log W: of the processes (C. E. Rasmussen, C. K. I.
 * Williams, Gaussian Processes for Machine Learning, 2006, equation 2.26), conditioned on
 * one machine of each processor of the table, the anchors (a "subset of data": the same,
 * section 8.3.3). An anchor's noise is divided by the number of machines with its
 * processor. The variance grows with the distance from the table: a category that the
 * table lacks has its whole variance, and numbers that no machine of the table has are
 * far from all.
 */

#include "model-db/prior/prior.h"

#include <stdbool.h>

struct tw_err;

struct tw_prior_curve {
	double w[TW_PRIOR_LOADS];                         /* rising */
	double low[TW_PRIOR_LOADS], high[TW_PRIOR_LOADS]; /* 90 % interval */
	double error[TW_PRIOR_LOADS];                     /* expected |error|, W */
	const struct tw_prior_view *view;
	bool later; /* the table lacks its generation */
};

/* Find the anchors of all views, in place of older ones. */
int tw_prior_find_anchors(struct tw_prior *p, struct tw_err *err);

/*
 * The power of a machine by a view (of view->unit) and the view beside it. Curves do not
 * fall and are above 0. Needs tw_prior_find_anchors(). The first call factors the
 * covariances of each of the views, which takes 10 ms and 1.4 MiB, so a view that is
 * never asked costs neither. Thread-safe. TW_INVALID: a covariance is singular.
 */
int tw_prior_answer(const struct tw_prior *p, const struct tw_prior_view *v,
		    const struct tw_prior_machine *m, struct tw_prior_curve *out,
		    struct tw_err *err);

/*
 * The power of a logical CPU of a machine of which nothing is known: that of the table's
 * machines over their logical CPUs. Each processor of the table has the same weight. The
 * answer has the least mean |P / W - 1| over the table, and that is its error; the
 * interval has 5 % of the table below it and 5 % above. out->view is a constant.
 * TW_NOTFOUND: the table has no machine with known counts.
 */
int tw_prior_typical(const struct tw_prior *p, struct tw_prior_curve *out,
		     struct tw_err *err);

#endif /* TW_MODEL_DB_PRIOR_ANSWER_H */
