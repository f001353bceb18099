/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/lists.h"
#include "estimator/predict/predictor.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Models that compare a row with training rows: points in the space of scaled features,
 * each with a value.
 *
 *	"scale": [s_0, ..], "points": [[z_0, ..], ..], "values": [v_0, ..]
 *
 * A scaled feature is 0 if its scale is 0 or the feature is absent or NaN.
 *
 * k nearest neighbours: the mean power of the training rows with the smallest Euclidean
 * distance of scaled features. Of rows at the same distance the first is taken.
 *
 *	{"knn": {"neighbors": k, "scale": [..], "points": [[..], ..], "values": [..]}}
 *
 * Support vector regression with a radial kernel:
 *
 *	watts = bias + sum_i v_i exp(-gamma |z - p_i|^2)
 *
 *	{"svr": {"bias": b, "gamma": g, "scale": [..], "points": [[..], ..],
 *	         "values": [v_0, ..]}}
 */
#define POINTS_MAX 100000
#define FEATURES_MAX 256
#define NEIGHBOURS_MAX 64

struct points {
	size_t count, cols;
	double *inverse;    /* cols: 1 / scale, or 0 if scale is 0 */
	double *z;          /* count * cols, row by row */
	double *value;      /* count */
	size_t neighbours;  /* of knn */
	double bias, gamma; /* of svr */
};

static int read_points(const json_t *obj, const char *where, size_t cols,
		       struct points *out, struct tw_err *err)
{
	const json_t *list;

	if (cols == 0 || cols > FEATURES_MAX)
		return tw_fail(err, TW_INVALID, "%zu features, expected 1 to %d", cols,
			       FEATURES_MAX);
	if (tw_json_array(obj, where, "points", false, &list, err) < 0)
		return -1;
	out->cols = cols;
	out->count = json_array_size(list);
	if (out->count > POINTS_MAX)
		return tw_fail(err, TW_INVALID, "%s.points: %zu, limit is %d", where,
			       out->count, POINTS_MAX);
	out->inverse = calloc(cols, sizeof(*out->inverse));
	out->z = calloc(out->count + 1, cols * sizeof(*out->z));
	out->value = calloc(out->count + 1, sizeof(*out->value));
	if (out->inverse == NULL || out->z == NULL || out->value == NULL)
		return tw_fail(err, TW_NOMEM, "%s: %zu points", where, out->count);
	for (size_t i = 0; i < out->count; i++) {
		char place[64];

		snprintf(place, sizeof(place), "%.20s.points[%zu]", where, i);
		if (tw_numbers_read(json_array_get(list, i), place, cols,
				    out->z + i * cols, err) < 0)
			return -1;
	}
	if (tw_list_read_inverse_scales(obj, where, "scale", cols, out->inverse, err) < 0)
		return -1;
	return tw_list_read(obj, where, "values", out->count, out->value, err);
}

/* Squared Euclidean distance of a scaled row to a point; may be infinite, never NaN. */
static double distance_to(const struct points *p, size_t point, const double *z)
{
	const double *at = p->z + point * p->cols;
	double sum = 0.0;

	for (size_t c = 0; c < p->cols; c++) {
		const double d = z[c] - at[c];

		sum += d * d;
	}
	return sum;
}

static void release(void *state)
{
	struct points *p = state;

	free(p->inverse);
	free(p->z);
	free(p->value);
}

/* ---- knn ---- */

struct neighbour {
	double distance, watts;
};

static int read_knn(const json_t *root, const struct tw_strs *features, void *state,
		    struct tw_err *err)
{
	struct points *p = state;
	long long neighbours;
	const json_t *obj;

	if (tw_json_object(root, "", "knn", false, &obj, err) < 0 ||
	    tw_json_int(obj, "knn", "neighbors", false, 1, NEIGHBOURS_MAX, &neighbours,
			err) < 0 ||
	    read_points(obj, "knn", features->count, p, err) < 0)
		return -1;
	p->neighbours = (size_t)neighbours;
	if (p->count < p->neighbours)
		return tw_fail(err, TW_INVALID, "knn: %zu points for %zu neighbors",
			       p->count, p->neighbours);
	return 0;
}

/* Insert a neighbour into the list, which is sorted by distance. */
static void insert(struct neighbour *list, size_t count, struct neighbour n)
{
	size_t i = count - 1;

	for (; i > 0 && list[i - 1].distance > n.distance; i--)
		list[i] = list[i - 1];
	list[i] = n;
}

static double mean_of_nearest(const struct points *p, const double *z)
{
	struct neighbour nearest[NEIGHBOURS_MAX] = { { 0 } };
	double sum = 0.0;
	size_t found = 0;

	for (size_t i = 0; i < p->count; i++) {
		const struct neighbour n = { distance_to(p, i, z), p->value[i] };

		if (found < p->neighbours)
			insert(nearest, ++found, n);
		else if (n.distance < nearest[found - 1].distance)
			insert(nearest, found, n);
	}
	for (size_t i = 0; i < found; i++)
		sum += nearest[i].watts / (double)found;
	return sum;
}

static void predict_knn(const void *state, const struct tw_rows *in, double *watts)
{
	const struct points *p = state;
	double z[FEATURES_MAX];

	for (size_t r = 0; r < in->rows; r++) {
		tw_rows_scale(in, r, p->inverse, p->cols, z);
		watts[r] = mean_of_nearest(p, z);
	}
}

/* About 1 ns for each feature of each point. */
static uint64_t knn_row_ns(const void *state)
{
	const struct points *p = state;

	return p->count * p->cols;
}

const struct tw_predictor tw_predictor_knn = {
	.name = "knn",
	.summary = "the mean of the nearest training rows",
	.state_bytes = sizeof(struct points),
	.read = read_knn,
	.release = release,
	.predict = predict_knn,
	.row_ns = knn_row_ns,
};

/* ---- svr ---- */

static int read_svr(const json_t *root, const struct tw_strs *features, void *state,
		    struct tw_err *err)
{
	struct points *p = state;
	const json_t *obj;

	if (tw_json_object(root, "", "svr", false, &obj, err) < 0 ||
	    tw_json_number(obj, "svr", "bias", false, &p->bias, err) < 0 ||
	    tw_json_number(obj, "svr", "gamma", false, &p->gamma, err) < 0)
		return -1;
	if (!(p->gamma > 0.0))
		return tw_fail(err, TW_INVALID, "svr.gamma: %g is not above 0", p->gamma);
	return read_points(obj, "svr", features->count, p, err);
}

static void predict_svr(const void *state, const struct tw_rows *in, double *watts)
{
	const struct points *p = state;
	double z[FEATURES_MAX];

	for (size_t r = 0; r < in->rows; r++) {
		tw_rows_scale(in, r, p->inverse, p->cols, z);
		watts[r] = p->bias;
		for (size_t i = 0; i < p->count; i++)
			watts[r] += p->value[i] * exp(-p->gamma * distance_to(p, i, z));
	}
}

/* About 1 ns for each feature of each point, and 10 ns for an exponential. */
static uint64_t svr_row_ns(const void *state)
{
	const struct points *p = state;

	return p->count * (p->cols + 10);
}

const struct tw_predictor tw_predictor_svr = {
	.name = "svr",
	.summary = "support vectors with a radial kernel",
	.state_bytes = sizeof(struct points),
	.read = read_svr,
	.release = release,
	.predict = predict_svr,
	.row_ns = svr_row_ns,
};
