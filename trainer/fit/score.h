/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SCORE_H
#define TW_TRAINER_SCORE_H

/*
 * Errors of predictions against measurements, of intervals, and of served models
 * (docs/accuracy.md), in W unless stated otherwise. An undefined figure (R2 of constant
 * power, MAPE without a row above its floor) is NaN, and null in JSON.
 */

#include "lib/field/energy.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct tw_dataset;
struct tw_err;
struct tw_power_model;

struct tw_score {
	size_t rows;
	double mean; /* of the measured power */
	double mae;
	double rmse;
	double r2;
	double bias;          /* mean of predicted - measured */
	double p95;           /* 95th percentile of |error|, nearest rank */
	double mape;          /* percent, over rows above the floor */
	double mape_floor;    /* the larger of 1 W and 1 % of the measured range */
	double mape_left_out; /* share of rows at or below the floor, 0..1 */
	double idle_bias; /* mean error of the 5 % of rows (1 at least) with least main */
	/* Not in JSON: */
	double bias_low, bias_high; /* of the fifth with the least and the most power */
	double bias_drift; /* of the second half of the rows less that of the first */
};

/*
 * Compute the figures. main orders rows for idle_bias; NULL: by measured power.
 * TW_INVALID for no rows, and for a value that is not finite.
 */
int tw_score(const double *measured, const double *predicted, const double *main,
	     size_t rows, struct tw_score *out, struct tw_err *err);

/* The figures without rows as an object, rounded to 4 decimals; NULL without memory. */
json_t *tw_score_to_json(const struct tw_score *s);

/* ---- intervals ---- */

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

/* ---- served models ---- */

struct tw_model_score {
	size_t rows;
	size_t outside; /* rows with a feature outside the range of the training data */
	size_t seen;    /* rows within the time of the training data; their errors are too
			   low */
	/* The components that both the model and the data have, and the score of each. */
	enum tw_component component[TW_COMPONENT_COUNT];
	struct tw_score score[TW_COMPONENT_COUNT];
	struct tw_interval_score interval[TW_COMPONENT_COUNT];
	size_t components;
};

/*
 * Score a served model on a dataset. The predictions are those of the estimator.
 *
 * d has the features of the model, and isolated power if the model is a DynPower one.
 * TW_NOTFOUND if a feature is missing (the error names it), or if model and data have no
 * component in common.
 */
int tw_model_score(const struct tw_power_model *p, const struct tw_dataset *d,
		   struct tw_model_score *out, struct tw_err *err);

#endif /* TW_TRAINER_SCORE_H */
