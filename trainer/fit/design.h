/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_DESIGN_H
#define TW_TRAINER_DESIGN_H

/*
 * A linear least-squares problem with a free constant, or none where the samples go
 * from zero (trainer/fit/trainer.h), made small.
 *
 * Columns are divided by their largest magnitude, columns and targets are centred
 * (which takes a free constant out of the problem), and a QR decomposition leaves
 *
 *	|| y - X w ||^2  =  || c - R w ||^2 + rest,	R of cols x cols
 *
 * so that what follows does not depend on the number of rows any more.
 */

#include <stddef.h>

struct tw_err;
struct tw_samples;

struct tw_design {
	size_t rows, cols;
	double *scale; /* cols: largest magnitude of each column, 1 where it is all zero
			*/
	double *mean;  /* cols: of the scaled column; 0 where there is no constant */
	double y_mean;
	double freedom; /* degrees that are left to the weights and the rest */
	double *r;      /* cols * cols, row major, upper triangular */
	double *c;      /* cols */
	double rest;
};

/* s has been checked (trainer/fit/samples.h). *d must be all zero: tw_design_release().
 */
int tw_design_init(struct tw_design *d, const struct tw_samples *s, struct tw_err *err);

/* The constant that goes with the weights of the scaled columns. */
double tw_design_bias(const struct tw_design *d, const double *weight);

void tw_design_release(struct tw_design *d);

#endif /* TW_TRAINER_DESIGN_H */
