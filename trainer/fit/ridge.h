/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_RIDGE_H
#define TW_TRAINER_RIDGE_H

/*
 * Ridge regression of a design, shrunk as generalised cross validation prefers.
 */

struct tw_design;
struct tw_err;

/* weight[d->cols], of the scaled columns; tw_design_bias() gives the constant. */
int tw_ridge_solve(const struct tw_design *d, double *weight, struct tw_err *err);

/* The same with weights that are not negative, and with the same shrinkage. */
int tw_ridge_solve_non_negative(const struct tw_design *d, double *weight,
				struct tw_err *err);

#endif /* TW_TRAINER_RIDGE_H */
