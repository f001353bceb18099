/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/categories.h"
#include "estimator/predict/predictor.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * A linear model, in the format of weights that Kepler reads (docs/wire.md):
 *
 *	watts = bias + sum of categories + sum_j weight_j * x_j / scale_j
 *
 * A term is 0 if its scale is 0 or its feature is absent or NaN.
 *
 *	{"All_Weights": {"Bias_Weight": b, "Categorical_Variables": {..},
 *	                 "Numerical_Variables": {"<feature>": {"scale": s, "weight": w}}}}
 *
 * Numerical_Variables has exactly the model's features. For Categorical_Variables see
 * estimator/predict/categories.h.
 */
struct linear {
	double bias;
	struct tw_category_weights categories;
	size_t count;
	double *slope; /* weight / scale; 0 where scale is 0 */
};

#define ROOT "All_Weights"
#define NUMERIC ROOT ".Numerical_Variables"

static int read_slope(const json_t *numeric, const char *feature, double *out,
		      struct tw_err *err)
{
	char where[sizeof(NUMERIC) + 128];
	const json_t *entry;
	double scale, weight;

	if (tw_json_object(numeric, NUMERIC, feature, false, &entry, err) < 0)
		return -1;
	snprintf(where, sizeof(where), NUMERIC ".%s", feature);
	if (tw_json_number(entry, where, "scale", false, &scale, err) < 0 ||
	    tw_json_number(entry, where, "weight", false, &weight, err) < 0)
		return -1;
	if (scale < 0.0)
		return tw_fail(err, TW_INVALID, "%s.scale: %g is below 0", where, scale);
	*out = scale != 0.0 ? weight / scale : 0.0;
	if (!isfinite(*out))
		return tw_fail(err, TW_INVALID, "%s: weight / scale is not finite",
			       where);
	return 0;
}

static int read_linear(const json_t *root, const struct tw_strs *features, void *state,
		       struct tw_err *err)
{
	struct linear *l = state;
	const json_t *weights, *numeric;

	l->slope = calloc(features->count + 1, sizeof(*l->slope));
	if (l->slope == NULL)
		return tw_fail(err, TW_NOMEM, "linear model of %zu features",
			       features->count);
	if (tw_json_object(root, "", ROOT, false, &weights, err) < 0 ||
	    tw_json_number(weights, ROOT, "Bias_Weight", true, &l->bias, err) < 0 ||
	    tw_category_weights_read(weights, ROOT, "Categorical_Variables",
				     &l->categories, err) < 0 ||
	    tw_json_object(weights, ROOT, "Numerical_Variables", false, &numeric, err) <
		    0)
		return -1;
	for (l->count = 0; l->count < features->count; l->count++)
		if (read_slope(numeric, features->at[l->count], &l->slope[l->count],
			       err) < 0)
			return -1;
	if (json_object_size(numeric) != l->count)
		return tw_fail(err, TW_INVALID,
			       NUMERIC ": %zu features, the model has %zu",
			       json_object_size(numeric), l->count);
	return 0;
}

static void release(void *state)
{
	struct linear *l = state;

	tw_category_weights_release(&l->categories);
	free(l->slope);
}

static void predict(const void *state, const struct tw_rows *in, double *watts)
{
	const struct linear *l = state;
	const double bias =
		l->bias + tw_category_weights_sum(&l->categories, in->categories);

	for (size_t r = 0; r < in->rows; r++)
		watts[r] = bias;
	for (size_t c = 0; c < l->count; c++) {
		const uint32_t column = tw_rows_column(in, c);
		const double *x = in->x + column;

		if (column == UINT32_MAX)
			continue;
		for (size_t r = 0; r < in->rows; r++) {
			const double v = x[r * in->stride];

			watts[r] += isnan(v) ? 0.0 : l->slope[c] * v;
		}
	}
}

const struct tw_predictor tw_predictor_linear = {
	.name = "linear",
	.summary = "a bias and a weight for each feature",
	.state_bytes = sizeof(struct linear),
	.read = read_linear,
	.release = release,
	.predict = predict,
};
