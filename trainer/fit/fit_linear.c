/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/writer.h"
#include "trainer/fit/design.h"
#include "trainer/fit/rest.h"
#include "trainer/fit/trainer.h"

#include <math.h>
#include <stdlib.h>

/*
 * Linear fits of a component. The file format (docs/model-format.md) is that of the
 * weights that Kepler reads.
 */

#define ROWS_MIN 2

/* Compute weight[d->cols], the weights of the scaled columns. */
typedef int solve_fn(const struct tw_design *d, double *weight, struct tw_err *err);

/*
 * Kepler before 0.6 computes (x - mean) / sqrt(variance) instead of x / scale. The mean
 * and the variance here give the same value.
 */
static void add_feature(struct tw_buf *text, const char *name, double scale,
			double weight)
{
	tw_json_add_object(text, name);
	tw_json_add_number(text, "scale", scale);
	tw_json_add_int(text, "mean", 0);
	tw_json_add_number(text, "variance", scale * scale);
	tw_json_add_number(text, "weight", weight);
	tw_json_end_object(text);
}

/*
 * Append {"All_Weights":{..}} for watts = bias + sum weight[j] x_j / scale[j]. scale is
 * that of the design, bias is tw_design_bias().
 */
static int write_text(const struct tw_samples *s, const struct tw_design *d,
		      const double *weight, struct tw_buf *text, struct tw_err *err)
{
	const double bias = tw_design_bias(d, weight);

	if (!isfinite(bias))
		return tw_fail(err, TW_INVALID, "the constant is not finite");
	for (size_t c = 0; c < s->cols; c++)
		if (!isfinite(weight[c]))
			return tw_fail(err, TW_INVALID,
				       "the weight of '%s' is not finite",
				       s->features[c]);

	tw_buf_adds(text, "{\"All_Weights\":{");
	tw_json_add_number(text, "Bias_Weight", bias);
	tw_buf_adds(text, ",\"Categorical_Variables\":{},\"Numerical_Variables\":{");
	for (size_t c = 0; c < s->cols; c++)
		add_feature(text, s->features[c], d->scale[c], weight[c]);
	tw_buf_adds(text, "}}}");
	return tw_buf_check(text, err);
}

/* Solve with the given constant: the weights fit what power exceeds it. */
static int solve_above(const struct tw_samples *s, solve_fn *solve, double constant,
		       struct tw_design *design, double *weight, struct tw_err *err)
{
	struct tw_samples above = *s;
	double *y = NULL;
	int rc = -1;

	if (TW_NEW(y, s->rows, err) < 0)
		goto out;
	for (size_t r = 0; r < s->rows; r++)
		y[r] = s->y[r] - constant;
	above.y = y;
	above.from_zero = true;
	tw_design_release(design);
	if (tw_design_init(design, &above, err) < 0 || solve(design, weight, err) < 0)
		goto out;
	/* Without a free constant, no other term adds to the bias. */
	design->y_mean = constant;

	rc = 0;
out:
	free(y);
	return rc;
}

/* Limit the constant: at least 0, and the power at rest unless unconstrained. */
static int limit_constant(const struct tw_samples *s, double bias, double *out,
			  struct tw_err *err)
{
	struct tw_rest rest;

	if (s->unconstrained || s->from_zero) {
		*out = fmax(bias, 0.0);
		return 0;
	}
	if (tw_rest_find(s, &rest, err) < 0)
		return -1;
	*out = tw_rest_limit(&rest, bias);
	return 0;
}

/*
 * Make the design of the samples, solve it, and append the text. With non_negative, a
 * constant outside of the interval of the power at rest (trainer/fit/rest.h) is replaced
 * by the nearest end of it, and the weights are solved again. The problem is convex, so
 * this is the optimum under the constraint. Unconstrained samples: the interval is from
 * 0.
 */
static int fit(const struct tw_samples *s, solve_fn *solve, bool non_negative,
	       struct tw_buf *text, struct tw_err *err)
{
	struct tw_design design = { 0 };
	double *weight = NULL, bias, constant;
	int rc = -1;

	if (tw_samples_check(s, ROWS_MIN, err) < 0)
		goto out;
	if (TW_NEW(weight, s->cols, err) < 0 || tw_design_init(&design, s, err) < 0 ||
	    solve(&design, weight, err) < 0)
		goto out;
	bias = tw_design_bias(&design, weight);
	if (non_negative) {
		if (limit_constant(s, bias, &constant, err) < 0)
			goto out;
		if ((constant < bias || constant > bias) &&
		    solve_above(s, solve, constant, &design, weight, err) < 0)
			goto out;
	}
	if (write_text(s, &design, weight, text, err) < 0)
		goto out;

	rc = 0;
out:
	free(weight);
	tw_design_release(&design);
	return rc;
}

static int fit_linear(const struct tw_trainer *self, const struct tw_samples *s,
		      uint64_t seed, struct tw_buf *text, struct tw_err *err)
{
	(void)self;
	(void)seed;
	return fit(s, tw_design_solve_non_negative, true, text, err);
}

const struct tw_trainer tw_trainer_linear = {
	.name = "LinearRegressionTrainer",
	.summary = "linear, no negative weight or constant (Lawson-Hanson)",
	.predictor = "linear",
	.min_rows = ROWS_MIN,
	.cost_ns = 300,
	.fit = fit_linear,
};

/*
 * A constant and a weight for each feature by ridge regression. None is negative: Kepler
 * converts the sum to unsigned milliwatts, so a negative power would become 1.8e16 W.
 */
static int fit_ridge(const struct tw_trainer *self, const struct tw_samples *s,
		     uint64_t seed, struct tw_buf *text, struct tw_err *err)
{
	(void)self;
	(void)seed;
	if (s->unconstrained)
		return fit(s, tw_design_solve_ridge, false, text, err);
	return fit(s, tw_design_solve_ridge_non_negative, true, text, err);
}

const struct tw_trainer tw_trainer_ridge = {
	.name = "SGDRegressorTrainer",
	.summary = "linear, no negative weight or constant (ridge, cross validation)",
	.predictor = "linear",
	.min_rows = ROWS_MIN,
	.cost_ns = 500,
	.fit = fit_ridge,
};
