/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_RUN_VERDICT_H
#define TW_CLI_RUN_VERDICT_H

/*
 * The result of repeated runs: a mean with its interval, and whether two commands use
 * different energy.
 *
 * The comparison may be looked at after each pair and stopped when it has a verdict.
 * Equal commands get a verdict in at most 5 % of all comparisons, however often one
 * looks. That is a sequential t test: a mixture of likelihood ratios that is a martingale
 * under "no difference", whatever the spread is, and Ville's inequality. It assumes that
 * the differences of pairs are about normal and independent.
 */

#include <stdbool.h>
#include <stddef.h>

/* Share of comparisons of equal commands that may have a verdict; of intervals that may
 * lack the truth. */
#define TW_RUN_ERROR_RATE 0.05
/* Below it, figures that are rounded by a meter may be equal by chance. */
#define TW_RUN_PAIRS_MIN 4

/* All zero bytes: no value. */
struct tw_run_mean {
	size_t count;
	double mean, squares; /* sum of squared differences from the mean */
};

void tw_run_mean_add(struct tw_run_mean *m, double value);

/* Half of the interval of the mean by Student's t; NaN for less than two values. */
double tw_run_mean_error(const struct tw_run_mean *m);

/* The interval of a ratio; unknown: from 0 to infinity. */
struct tw_run_ratio {
	double of, low, high;
};

/* A pair: the logarithm of joules / other is a value of m. Both are above 0. */
void tw_run_pair_add(struct tw_run_mean *m, double joules, double other);

/* The mean ratio of pairs, and an interval that holds at any time of looking. */
struct tw_run_ratio tw_run_pairs_ratio(const struct tw_run_mean *m);

/* True if the interval does not have 1. */
bool tw_run_ratio_decides(const struct tw_run_ratio *r);

#endif /* TW_CLI_RUN_VERDICT_H */
