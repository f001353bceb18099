/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/lists.h"
#include "estimator/predict/predictor.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/json/json.h"

#include <stdlib.h>

/*
 * A polynomial of degree 2 with interactions:
 *
 *	watts = bias + sum_j l_j z_j + sum_{j <= k} q_jk z_j z_k,    z_j = x_j / scale_j
 *
 *	{"polynomial": {"bias": b, "scale": [s_0, ..], "linear": [l_0, ..],
 *	                "quadratic": [q_00, q_01, .., q_11, q_12, ..]}}
 *
 * z_j is 0 if the scale is 0 or the feature is absent or NaN.
 */
#define FEATURES_MAX 256

struct polynomial {
	double bias;
	size_t count;
	double *inverse;            /* 1 / scale, or 0 if scale is 0 */
	double *linear, *quadratic; /* point behind inverse, in the same allocation */
};

#define ROOT "polynomial"

static int read_polynomial(const json_t *root, const struct tw_strs *features,
			   void *state, struct tw_err *err)
{
	struct polynomial *p = state;
	const size_t count = features->count, products = count * (count + 1) / 2;
	const json_t *obj;

	if (count > FEATURES_MAX)
		return tw_fail(err, TW_INVALID, "%zu features, limit is %d", count,
			       FEATURES_MAX);
	p->count = count;
	p->inverse = calloc(2 * count + products + 1, sizeof(*p->inverse));
	if (p->inverse == NULL)
		return tw_fail(err, TW_NOMEM, "polynomial of %zu features", count);
	p->linear = p->inverse + count;
	p->quadratic = p->linear + count;
	if (tw_json_object(root, "", ROOT, false, &obj, err) < 0 ||
	    tw_json_number(obj, ROOT, "bias", false, &p->bias, err) < 0 ||
	    tw_list_read_inverse_scales(obj, ROOT, "scale", count, p->inverse, err) < 0 ||
	    tw_list_read(obj, ROOT, "linear", count, p->linear, err) < 0 ||
	    tw_list_read(obj, ROOT, "quadratic", products, p->quadratic, err) < 0)
		return -1;
	return 0;
}

static void release(void *state)
{
	struct polynomial *p = state;

	free(p->inverse);
}

static double evaluate(const struct polynomial *p, const double *z)
{
	const double *q = p->quadratic;
	double watts = p->bias;

	for (size_t j = 0; j < p->count; j++) {
		double slope = p->linear[j];

		for (size_t k = j; k < p->count; k++)
			slope += *q++ * z[k];
		watts += slope * z[j];
	}
	return watts;
}

static void predict(const void *state, const struct tw_rows *in, double *watts)
{
	const struct polynomial *p = state;
	double z[FEATURES_MAX];

	for (size_t r = 0; r < in->rows; r++) {
		tw_rows_scale(in, r, p->inverse, p->count, z);
		watts[r] = evaluate(p, z);
	}
}

const struct tw_predictor tw_predictor_polynomial = {
	.name = "polynomial",
	.summary = "a polynomial of degree 2 of all features",
	.state_bytes = sizeof(struct polynomial),
	.read = read_polynomial,
	.release = release,
	.predict = predict,
};
