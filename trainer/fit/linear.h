/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_LINEAR_H
#define TW_TRAINER_LINEAR_H

/*
 * Linear fits of a component. The file format (docs/model-format.md) is that of the
 * weights that Kepler reads.
 */

#include <stdbool.h>

struct tw_buf;
struct tw_design;
struct tw_err;
struct tw_samples;

/*
 * Append {"All_Weights":{..}} for watts = bias + sum weight[j] x_j / scale[j]. scale is
 * that of the design, bias is tw_design_bias().
 */
int tw_linear_text(const struct tw_samples *s, const struct tw_design *d,
		   const double *weight, struct tw_buf *text, struct tw_err *err);

/* Compute weight[d->cols], the weights of the scaled columns. */
typedef int tw_linear_solve_fn(const struct tw_design *d, double *weight,
			       struct tw_err *err);

/*
 * Make the design of the samples, solve it, and append the text. With non_negative, a
 * constant outside of the interval of the power at rest (trainer/fit/rest.h) is replaced
 * by the nearest end of it, and the weights are solved again. The problem is convex, so
 * this is the optimum under the constraint. Unconstrained samples: the interval is from
 * 0.
 */
int tw_linear_fit(const struct tw_samples *s, tw_linear_solve_fn *solve,
		  bool non_negative, struct tw_buf *text, struct tw_err *err);

#endif /* TW_TRAINER_LINEAR_H */
