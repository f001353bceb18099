/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_RIDGE_H
#define TW_TRAINER_RIDGE_H

/*
 * Ridge regression of a design. Generalised cross validation chooses the shrinkage.
 */

struct tw_design;
struct tw_err;

/*
 * Compute weight[d->cols], the weights of the scaled columns. tw_design_bias() gives the
 * constant.
 */
int tw_ridge_solve(const struct tw_design *d, double *weight, struct tw_err *err);

/* The same under the constraint weight >= 0, with the same shrinkage. */
int tw_ridge_solve_non_negative(const struct tw_design *d, double *weight,
				struct tw_err *err);

#endif /* TW_TRAINER_RIDGE_H */
