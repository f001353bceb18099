/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_DESIGN_H
#define TW_TRAINER_DESIGN_H

/*
 * Linear least squares, non-negative or by ridge regression.
 *
 * A problem is reduced to cols x cols. It has a free constant unless the samples are
 * from_zero (trainer/fit/trainer.h). Columns are divided by their largest magnitude.
 * Columns and power are centred, which removes the constant. A QR decomposition then
 * gives
 *
 *	|| y - X w ||^2  =  || c - R w ||^2 + rest,	R of cols x cols
 *
 * so that the cost of a solution does not depend on the number of rows. Sums of squares
 * and products would lose half of the digits.
 */

#include <stddef.h>

struct tw_err;
struct tw_samples;

struct tw_design {
	size_t rows, cols;
	double *scale; /* cols: largest magnitude of the column; 1 if it is all 0 */
	double *mean;  /* cols: mean of the scaled column; 0 without a constant */
	double y_mean;
	double freedom; /* degrees of freedom: rows, less one for the constant */
	double *r;      /* cols * cols, row major, upper triangular */
	double *c;      /* cols */
	double rest;
};

/*
 * s has passed tw_samples_check(). *d must be all zero; it is yours, on failure too:
 * tw_design_release().
 */
int tw_design_init(struct tw_design *d, const struct tw_samples *s, struct tw_err *err);

/* The constant for given weights of the scaled columns, W. */
double tw_design_bias(const struct tw_design *d, const double *weight);

void tw_design_release(struct tw_design *d);

/*
 * Compute weight[d->cols], the weights of the scaled columns, none negative: the
 * active-set method of C. L. Lawson and R. J. Hanson.
 */
int tw_design_solve_non_negative(const struct tw_design *d, double *weight,
				 struct tw_err *err);

/* Solve by ridge regression. Generalised cross validation chooses the shrinkage. */
int tw_design_solve_ridge(const struct tw_design *d, double *weight, struct tw_err *err);

/* Solve by ridge regression with the same shrinkage, without negative weights. */
int tw_design_solve_ridge_non_negative(const struct tw_design *d, double *weight,
				       struct tw_err *err);

#endif /* TW_TRAINER_DESIGN_H */
