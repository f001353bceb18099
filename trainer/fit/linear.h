/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_LINEAR_H
#define TW_TRAINER_LINEAR_H

/*
 * Fits of linear components. Their file (docs/model-format.md) is also the form in which
 * Kepler takes weights.
 */

#include <stdbool.h>

struct tw_buf;
struct tw_design;
struct tw_err;
struct tw_samples;

/*
 * Append {"All_Weights":{..}} for watts = bias + sum weight[j] x_j / scale[j], with the
 * design's scales and the constant that goes with the weights.
 */
int tw_linear_text(const struct tw_samples *s, const struct tw_design *d,
		   const double *weight, struct tw_buf *text, struct tw_err *err);

/* weight[d->cols], of the scaled columns. */
typedef int tw_linear_solve_fn(const struct tw_design *d, double *weight,
			       struct tw_err *err);

/*
 * Make the design of the samples, solve it, and append the text. With non_negative, a
 * problem whose constant comes out negative is solved again without a constant. That is
 * the constrained optimum, because the problem is convex.
 */
int tw_linear_fit(const struct tw_samples *s, tw_linear_solve_fn *solve,
		  bool non_negative, struct tw_buf *text, struct tw_err *err);

#endif /* TW_TRAINER_LINEAR_H */
