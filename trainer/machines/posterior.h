/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_POSTERIOR_H
#define TW_TRAINER_POSTERIOR_H

/*
 * The posterior: the power of a machine over load, from what is known of it and from some
 * readings of its power (docs/machines.md, "Calibration").
 *
 * The readings are further attributes of a machine. The measured machines of the prior
 * are read at the same loads, and a Gaussian process (trainer/machines/process.h) learns
 * log(W / B) at each load of the curve from the attributes and from the logarithms of the
 * readings. B is the straight line between the readings, and level outside of them.
 * Factors and intervals are from held-out processors, as those of the prior.
 */

#include "model-db/prior/prior_answer.h"
#include "trainer/machines/readings.h"

#include <stddef.h>

struct tw_err;

/* All zero bytes is empty. */
struct tw_posterior {
	const struct tw_prior *prior;
	/*
	 * Its numbers include the readings; its misses are of log W itself. Of members it
	 * has the weights of one: 1 for the rows of the prior that it learned from.
	 */
	struct tw_prior_view view;
	double *used;                 /* those weights */
	struct tw_prior_member frame; /* means and ranges of the numbers; its scale */
	struct tw_prior_row *row;     /* machines of the table, with their readings */
	double (*z)[TW_PRIOR_NUMBERS];
	size_t rows;
	struct tw_prior_target target[TW_PRIOR_LOADS]; /* weights are of row */
	double load[TW_PRIOR_READINGS_MAX];            /* of the readings */
	size_t readings;
};

/*
 * Learn from the machines of a view of the prior (those with weights), as read at these
 * loads (sorted). Takes a second or two. *out is yours: tw_posterior_release(). It
 * borrows the prior and the view.
 */
int tw_posterior_learn(const struct tw_prior *p, const struct tw_prior_view *v,
		       const struct tw_power_reading *r, size_t count, unsigned threads,
		       struct tw_posterior *out, struct tw_err *err);

/*
 * Compute the weights for other machines: those of the view that have weights now. The
 * variances, factors and errors are those that were learned. *out is yours.
 */
int tw_posterior_condition(const struct tw_posterior *learned,
			   const struct tw_prior_view *v, unsigned threads,
			   struct tw_posterior *out, struct tw_err *err);

/*
 * The curve of a machine of the view's unit with these readings, at the loads that were
 * learned. out->later: the table has no curves of its generation, or too few. out->view
 * is the posterior's view.
 */
void tw_posterior_answer(const struct tw_posterior *q, const struct tw_prior_machine *m,
			 const struct tw_power_reading *r, struct tw_prior_curve *out);

void tw_posterior_release(struct tw_posterior *q);

#endif /* TW_TRAINER_POSTERIOR_H */
