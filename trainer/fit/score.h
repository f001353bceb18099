/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SCORE_H
#define TW_TRAINER_SCORE_H

/*
 * Errors of predictions against measurements (docs/accuracy.md), in W unless stated
 * otherwise. An undefined figure (R2 of constant power, MAPE without a row above its
 * floor) is NaN, and null in JSON.
 */

#include <jansson.h>
#include <stddef.h>

struct tw_err;

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
};

/*
 * Compute the figures. main orders rows for idle_bias; NULL: by measured power.
 * TW_INVALID for no rows, and for a value that is not finite.
 */
int tw_score(const double *measured, const double *predicted, const double *main,
	     size_t rows, struct tw_score *out, struct tw_err *err);

/* The figures without rows as an object, rounded to 4 decimals; NULL without memory. */
json_t *tw_score_to_json(const struct tw_score *s);

#endif /* TW_TRAINER_SCORE_H */
