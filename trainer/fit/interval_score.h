/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_INTERVAL_SCORE_H
#define TW_TRAINER_INTERVAL_SCORE_H

/*
 * How good intervals and expected errors are (docs/accuracy.md, "Intervals").
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_err;

/* The share of intervals that contain the measured power. */
#define TW_INTERVAL_LEVEL 0.95

/*
 * The score of R. Winkler (A Decision-Theoretic Approach to Interval Estimation, Journal
 * of the American Statistical Association 67, 1972) for one row, in W: the width of the
 * interval, and 2 / (1 - TW_INTERVAL_LEVEL) times the distance by which it misses. Less
 * is better. The interval does not begin below 0 W, as in service.
 */
double tw_winkler(double measured, double predicted, double half_w);

/* Whether the interval contains the measured power. */
bool tw_interval_holds(double measured, double predicted, double half_w);

/*
 * The half-width that covers this share of further errors of the same kind: the conformal
 * rank ceil((n + 1) * share), at most n (V. Vovk, A. Gammerman, G. Shafer, Algorithmic
 * Learning in a Random World, 2005). Sorts v; n is at least 1.
 */
double tw_conformal(double *v, size_t n, double share);

/*
 * The area under the ROC curve of `expected` as a test for misses, which are the rows
 * whose |error| is above its 95th percentile: the probability that a miss has a larger
 * expected error than another row. NaN without misses.
 */
int tw_miss_auc(const double *abs_error, const double *expected, size_t rows, double *out,
		struct tw_err *err);

#define TW_INTERVAL_BLOCKS 5

/* Intervals of consecutive rows. */
struct tw_intervals {
	const double *measured, *predicted; /* W */
	const double *half_w, *expected_w;  /* NaN: unknown */
	double constant_w; /* a constant half-width to compare with; NaN: none */
	size_t rows;
};

/* NaN: unknown. */
struct tw_interval_score {
	double coverage;
	double block_coverage[TW_INTERVAL_BLOCKS]; /* of blocks of time */
	double score, constant;                    /* means of tw_winkler(), W */
	double auc;                                /* tw_miss_auc() */
};

int tw_interval_score(const struct tw_intervals *i, struct tw_interval_score *out,
		      struct tw_err *err);

#endif /* TW_TRAINER_INTERVAL_SCORE_H */
