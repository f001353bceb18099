/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/linear.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/json.h"
#include "trainer/fit/design.h"
#include "trainer/fit/rest.h"
#include "trainer/fit/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Kepler before 0.6 computes (x - mean) / sqrt(variance) instead of x / scale. The mean
 * and the variance here give the same value.
 */
static void add_feature(struct tw_buf *text, const char *name, double scale,
			double weight)
{
	tw_buf_add_json_text(text, name, strlen(name));
	tw_buf_adds(text, ":{\"scale\":");
	tw_buf_add_double(text, scale);
	tw_buf_adds(text, ",\"mean\":0,\"variance\":");
	tw_buf_add_double(text, scale * scale);
	tw_buf_adds(text, ",\"weight\":");
	tw_buf_add_double(text, weight);
	tw_buf_adds(text, "}");
}

int tw_linear_text(const struct tw_samples *s, const struct tw_design *d,
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

	tw_buf_adds(text, "{\"All_Weights\":{\"Bias_Weight\":");
	tw_buf_add_double(text, bias);
	tw_buf_adds(text, ",\"Categorical_Variables\":{},\"Numerical_Variables\":{");
	for (size_t c = 0; c < s->cols; c++) {
		if (c > 0)
			tw_buf_adds(text, ",");
		add_feature(text, s->features[c], d->scale[c], weight[c]);
	}
	tw_buf_adds(text, "}}}");
	if (tw_buf_failed(text))
		return tw_fail(err, TW_NOMEM, "weights of %zu features", s->cols);
	return 0;
}

/* Solve with the given constant: the weights fit what power exceeds it. */
static int solve_above(const struct tw_samples *s, tw_linear_solve_fn *solve,
		       double constant, struct tw_design *design, double *weight,
		       struct tw_err *err)
{
	struct tw_samples above = *s;
	double *y = malloc((s->rows + 1) * sizeof(*y));
	int rc = -1;

	if (y == NULL) {
		tw_fail(err, TW_NOMEM, "linear fit of %zu rows", s->rows);
		goto out;
	}
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

int tw_linear_fit(const struct tw_samples *s, tw_linear_solve_fn *solve,
		  bool non_negative, struct tw_buf *text, struct tw_err *err)
{
	struct tw_design design = { 0 };
	double *weight = calloc(s->cols, sizeof(*weight)), bias, constant;
	int rc = -1;

	if (weight == NULL) {
		tw_fail(err, TW_NOMEM, "linear fit of %zu columns", s->cols);
		goto out;
	}
	if (tw_design_init(&design, s, err) < 0 || solve(&design, weight, err) < 0)
		goto out;
	bias = tw_design_bias(&design, weight);
	if (non_negative) {
		if (limit_constant(s, bias, &constant, err) < 0)
			goto out;
		if ((constant < bias || constant > bias) &&
		    solve_above(s, solve, constant, &design, weight, err) < 0)
			goto out;
	}
	if (tw_linear_text(s, &design, weight, text, err) < 0)
		goto out;

	rc = 0;
out:
	free(weight);
	tw_design_release(&design);
	return rc;
}
