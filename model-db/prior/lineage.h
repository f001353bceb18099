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
 * from it than they are on average. The power of known generations does not depend on the
 * centre, because the mean of the process is free (N. Cressie, Statistics for Spatial
 * Data, 1993, section 5.4: generalized covariances).
 */

#include <stddef.h>

struct tw_err;

/* A kernel's variance of generations is that of so many steps. */
#define TW_LINEAGE_STEPS 10

struct tw_lineage {
	double *like; /* count x count: of each generation to each */
	size_t count;
	double unknown; /* of an unknown generation to itself; to others it is 0 */
};

/*
 * after: of each generation the place of the one before it, which is lower than its own,
 * or -1. machines: the number of each in the table. *out is yours: tw_lineage_clear().
 */
int tw_lineage_find(const int *after, const size_t *machines, size_t count,
		    struct tw_lineage *out, struct tw_err *err);

void tw_lineage_clear(struct tw_lineage *l);

#endif /* TW_MODEL_DB_LINEAGE_H */
