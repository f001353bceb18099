/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SCORE_H
#define TW_TRAINER_SCORE_H

/*
 * How far predictions are from measurements (docs/accuracy.md). Watts unless said.
 * An undefined figure (R2 of constant power, MAPE with no row above its floor) is NaN,
 * and null in JSON.
 */

#include <jansson.h>
#include <stddef.h>

struct tw_err;

struct tw_score {
	size_t rows;
	double mae;
	double rmse;
	double r2;
	double bias;          /* mean of predicted - measured */
	double p95;           /* 95th percentile of |error|, nearest rank */
	double mape;          /* percent, over rows above the floor */
	double mape_floor;    /* the larger of 1 W and 1 % of the measured range */
	double mape_left_out; /* share of rows at or below the floor, 0..1 */
	double idle_bias; /* mean error over the lowest 5 % of rows (1 at least) by main
			   */
};

/*
 * main (may be NULL: the measured values) is what orders rows for the idle bias.
 * rows is at least 1.
 */
int tw_score(const double *measured, const double *predicted, const double *main,
	     size_t rows, struct tw_score *out, struct tw_err *err);

/* The figures but rows as an object, rounded to 4 decimals; NULL without memory. */
json_t *tw_score_to_json(const struct tw_score *s);

#endif /* TW_TRAINER_SCORE_H */
