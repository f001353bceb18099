/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/lists.h"
#include "estimator/predict/registry.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/json/json.h"

#include <math.h>
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
	double *linear, *quadratic; /* point behind inverse, in the same allocation */
	double inverse[];           /* 1 / scale, or 0 if scale is 0 */
};

#define ROOT "polynomial"

static int read_polynomial(const json_t *root, struct polynomial *p, struct tw_err *err)
{
	const json_t *obj;

	if (tw_json_object(root, "", ROOT, false, &obj, err) < 0 ||
	    tw_json_number(obj, ROOT, "bias", false, &p->bias, err) < 0 ||
	    tw_list_read_inverse_scales(obj, ROOT, "scale", p->count, p->inverse, err) <
		    0 ||
	    tw_list_read(obj, ROOT, "linear", p->count, p->linear, err) < 0 ||
	    tw_list_read(obj, ROOT, "quadratic", p->count * (p->count + 1) / 2,
			 p->quadratic, err) < 0)
		return -1;
	return 0;
}

static struct polynomial *new_polynomial(size_t count)
{
	const size_t numbers = 2 * count + count * (count + 1) / 2;
	struct polynomial *p = calloc(1, sizeof(*p) + numbers * sizeof(p->inverse[0]));

	if (p == NULL)
		return NULL;
	p->count = count;
	p->linear = p->inverse + count;
	p->quadratic = p->linear + count;
	return p;
}

static int load(const char *text, size_t len, const struct tw_strs *features,
		void **state, struct tw_err *err)
{
	struct polynomial *p = NULL;
	json_t *root = NULL;
	int rc = -1;

	if (features->count > FEATURES_MAX) {
		tw_fail(err, TW_INVALID, "%zu features, limit is %d", features->count,
			FEATURES_MAX);
		goto out;
	}
	if (tw_json_parse(text, len, "", &root, err) < 0)
		goto out;
	p = new_polynomial(features->count);
	if (p == NULL) {
		tw_fail(err, TW_NOMEM, "polynomial of %zu features", features->count);
		goto out;
	}
	if (read_polynomial(root, p, err) < 0)
		goto out;
	*state = p;
	p = NULL;
	rc = 0;
out:
	free(p);
	json_decref(root);
	return rc;
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
	.load = load,
	.predict = predict,
	.free = free,
};
