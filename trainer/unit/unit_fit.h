/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_UNIT_FIT_H
#define TW_TRAINER_UNIT_FIT_H

/*
 * Joules of a unit of work: the energy of each block is
 *
 *	E = P T + sum over k of c[k] W[k] + error
 *
 * E: energy, J; T: length, s; W[k]: units of work; P: standing power, W; c[k]: J of a
 * unit; none negative. The variance of the error grows with T, so a row is divided by
 * sqrt(T).
 *
 * Instruments: samples of energy and of work have different times, and work may be
 * counted a little later than its energy is used. So an increase near a bound may be in
 * the wrong block, and least squares would find too few joules. The instruments of W,
 * those units that are an eighth of the block from each bound (one scrape interval at
 * least), do not depend on that error:
 *
 *	beta = (Z'X)^-1 Z'y
 *
 * (J. D. Sargan, The Estimation of Economic Relationships using Instrumental Variables,
 * Econometrica 26, 1958). A negative coefficient, the most negative first, becomes 0 and
 * the others are computed again.
 *
 * Intervals: errors of neighbouring blocks depend on each other. The recording is cut
 * into some long groups of blocks. The estimates without one group each have the variance
 * (G - 1) / G * sum (beta[g] - beta)^2, with G - 1 degrees of freedom (the cluster
 * jackknife CV3J: J. G. MacKinnon, M. O. Nielsen, M. D. Webb, Fast and Reliable Jackknife
 * and Bootstrap Methods for Cluster-Robust Inference, Journal of Applied Econometrics 38,
 * 2023).
 *
 * Refused, with TW_INVALID: too few blocks; a counter without work; and a counter whose
 * joules cannot be told from those of others, or from standing power:
 * - what other counters do not explain of W, and the same of Z, correlate by less than a
 *   half: it is noise of the samples;
 * - its variance inflation is above 10, and the half of its interval above a half of it.
 */

#include "trainer/unit/unit_blocks.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_err;

/* Least number of blocks. */
#define TW_UNIT_BLOCKS_MIN 24

/* The probability that an interval holds the value. */
#define TW_UNIT_LEVEL 0.90

/* A variance inflation above this is one of counters that move together. */
#define TW_UNIT_VIF_MAX 10.0

struct tw_unit_value {
	double at, low, high;
	/* The value would be below 0: energy falls where this rises. */
	bool falls;
};

struct tw_unit_cost {
	struct tw_unit_value joules; /* of a unit */
	double units;
	double share; /* of the energy, 0..1 */
	/* Variance inflation: the variance of W by the part of it that the other counters
	 * do not explain. 1: they explain nothing. */
	double vif;
	size_t partner; /* the counter with the largest correlation; SIZE_MAX: none */
	double correlation;
};

/* All zero bytes is empty. */
struct tw_unit_fit {
	struct tw_unit_value standing_w;
	struct tw_unit_cost work[TW_UNIT_WORKS_MAX];
	size_t works;
	double seconds, energy_j, idle_j;
	double r2;           /* of power; NaN: power is constant */
	double residual_w;   /* root mean square, weighted by length */
	double *predicted_j; /* of each block */
};

int tw_unit_fit(const struct tw_unit_blocks *b, struct tw_unit_fit *out,
		struct tw_err *err);
void tw_unit_fit_release(struct tw_unit_fit *f);

/* Length of a block, s. */
double tw_unit_block_s(const struct tw_unit_blocks *b, size_t i);

#endif /* TW_TRAINER_UNIT_FIT_H */
