/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_LINEAGE_H
#define TW_MODEL_DB_LINEAGE_H

/*
 * The likeness of generations of processors, for the kernel of the prior.
 *
 * Power is a random walk along a line of generations: each differs from the one before it
 * by a step of its own, and the steps have one variance. So the covariance of two
 * generations is the number of those that both come from, themselves included, times that
 * variance. A generation that the table lacks lies between those before and after it; one
 * that is later than all has the power of the last, and is the less certain the further
 * it is from that.
 *
 * The walk is centred at the machines of the table: the covariance is of the difference
 * from their mean. A machine of unknown generation has that mean, and is a step further
 * from it than they are on average. Power of known
 * generations does not depend on it, because the mean of the process is free (N. Cressie,
 * Statistics for Spatial Data, 1993, section 5.4: generalized covariances).
 */

struct tw_err;
struct tw_prior;
struct tw_prior_row;

/* A kernel's variance of generations is that of so many steps. */
#define TW_PRIOR_STEPS 10

/*
 * Compute the likenesses from p->after, in place of older ones, and give each row its
 * own. A name without an entry in p->after has no generation before it.
 */
int tw_prior_find_lineage(struct tw_prior *p, struct tw_err *err);

/*
 * Give a row the likeness of its generation. more: generations between that and its real
 * one, which the list of the prior lacks.
 */
void tw_prior_set_lineage(const struct tw_prior *p, struct tw_prior_row *r,
			  unsigned more);

#endif /* TW_MODEL_DB_LINEAGE_H */
