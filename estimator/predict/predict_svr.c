/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/lists.h"
#include "estimator/predict/points.h"
#include "estimator/predict/registry.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/json/json.h"

#include <math.h>
#include <stdlib.h>

/*
 * Support vector regression with a radial kernel:
 *
 *	watts = bias + sum_i v_i exp(-gamma |z - p_i|^2)
 *
 *	{"svr": {"bias": b, "gamma": g, "scale": [..], "points": [[..], ..],
 *	         "values": [v_0, ..]}}
 *
 * A scaled feature z_j is 0 if the scale is 0 or the feature is absent or NaN.
 */
#define ROOT "svr"

struct svr {
	double bias, gamma;
	struct tw_points points;
};

static void free_state(void *state)
{
	struct svr *s = state;

	if (s == NULL)
		return;
	tw_points_release(&s->points);
	free(s);
}

static int read_svr(const json_t *root, size_t cols, struct svr *s, struct tw_err *err)
{
	const json_t *obj;

	if (tw_json_object(root, "", ROOT, false, &obj, err) < 0 ||
	    tw_json_number(obj, ROOT, "bias", false, &s->bias, err) < 0 ||
	    tw_json_number(obj, ROOT, "gamma", false, &s->gamma, err) < 0)
		return -1;
	if (!(s->gamma > 0.0))
		return tw_fail(err, TW_INVALID, ROOT ".gamma: %g is not above 0",
			       s->gamma);
	return tw_points_read(obj, ROOT, cols, &s->points, err);
}

static int load(const char *text, size_t len, const struct tw_strs *features,
		void **state, struct tw_err *err)
{
	struct svr *s = NULL;
	json_t *root = NULL;
	int rc = -1;

	if (tw_json_parse(text, len, "", &root, err) < 0)
		goto out;
	s = calloc(1, sizeof(*s));
	if (s == NULL) {
		tw_fail(err, TW_NOMEM, "svr model");
		goto out;
	}
	if (read_svr(root, features->count, s, err) < 0)
		goto out;
	*state = s;
	s = NULL;
	rc = 0;
out:
	free_state(s);
	json_decref(root);
	return rc;
}

static void predict(const void *state, const struct tw_rows *in, double *watts)
{
	const struct svr *s = state;
	double z[TW_POINTS_FEATURES_MAX];

	for (size_t r = 0; r < in->rows; r++) {
		tw_rows_scale(in, r, s->points.inverse, s->points.cols, z);
		watts[r] = s->bias;
		for (size_t i = 0; i < s->points.count; i++)
			watts[r] += s->points.value[i] *
				    exp(-s->gamma * tw_points_distance(&s->points, i, z));
	}
}

/* About 1 ns for each feature of each point, and 10 ns for an exponential. */
static uint64_t row_ns(const void *state)
{
	const struct svr *s = state;

	return s->points.count * (s->points.cols + 10);
}

const struct tw_predictor tw_predictor_svr = {
	.name = "svr",
	.summary = "support vectors with a radial kernel",
	.load = load,
	.predict = predict,
	.free = free_state,
	.row_ns = row_ns,
};
