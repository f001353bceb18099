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
 * k nearest neighbours: the mean power of the training rows with the smallest Euclidean
 * distance of scaled features. Of rows at the same distance the first is taken.
 *
 *	{"knn": {"neighbors": k, "scale": [..], "points": [[..], ..], "values": [..]}}
 *
 * A scaled feature is 0 if its scale is 0 or the feature is absent or NaN.
 */
#define ROOT "knn"
#define NEIGHBOURS_MAX 64

struct knn {
	size_t neighbours;
	struct tw_points points;
};

struct neighbour {
	double distance, watts;
};

static void free_state(void *state)
{
	struct knn *k = state;

	if (k == NULL)
		return;
	tw_points_release(&k->points);
	free(k);
}

static int read_knn(const json_t *root, size_t cols, struct knn *k, struct tw_err *err)
{
	long long neighbours;
	const json_t *obj;

	if (tw_json_object(root, "", ROOT, false, &obj, err) < 0 ||
	    tw_json_int(obj, ROOT, "neighbors", false, 1, NEIGHBOURS_MAX, &neighbours,
			err) < 0 ||
	    tw_points_read(obj, ROOT, cols, &k->points, err) < 0)
		return -1;
	k->neighbours = (size_t)neighbours;
	if (k->points.count < k->neighbours)
		return tw_fail(err, TW_INVALID, ROOT ": %zu points for %zu neighbors",
			       k->points.count, k->neighbours);
	return 0;
}

static int load(const char *text, size_t len, const struct tw_strs *features,
		void **state, struct tw_err *err)
{
	struct knn *k = NULL;
	json_t *root = NULL;
	int rc = -1;

	if (tw_json_parse(text, len, "", &root, err) < 0)
		goto out;
	k = calloc(1, sizeof(*k));
	if (k == NULL) {
		tw_fail(err, TW_NOMEM, "knn model");
		goto out;
	}
	if (read_knn(root, features->count, k, err) < 0)
		goto out;
	*state = k;
	k = NULL;
	rc = 0;
out:
	free_state(k);
	json_decref(root);
	return rc;
}

/* Insert a neighbour into the list, which is sorted by distance. */
static void insert(struct neighbour *list, size_t count, struct neighbour n)
{
	size_t i = count - 1;

	for (; i > 0 && list[i - 1].distance > n.distance; i--)
		list[i] = list[i - 1];
	list[i] = n;
}

static double mean_of_nearest(const struct knn *k, const double *z)
{
	struct neighbour nearest[NEIGHBOURS_MAX] = { { 0 } };
	double sum = 0.0;
	size_t found = 0;

	for (size_t i = 0; i < k->points.count; i++) {
		const struct neighbour n = { tw_points_distance(&k->points, i, z),
					     k->points.value[i] };

		if (found < k->neighbours)
			insert(nearest, ++found, n);
		else if (n.distance < nearest[found - 1].distance)
			insert(nearest, found, n);
	}
	for (size_t i = 0; i < found; i++)
		sum += nearest[i].watts / (double)found;
	return sum;
}

static void predict(const void *state, const struct tw_rows *in, double *watts)
{
	const struct knn *k = state;
	double z[TW_POINTS_FEATURES_MAX];

	for (size_t r = 0; r < in->rows; r++) {
		tw_rows_scale(in, r, k->points.inverse, k->points.cols, z);
		watts[r] = mean_of_nearest(k, z);
	}
}

/* About 1 ns for each feature of each point. */
static uint64_t row_ns(const void *state)
{
	const struct knn *k = state;

	return k->points.count * k->points.cols;
}

const struct tw_predictor tw_predictor_knn = {
	.name = "knn",
	.summary = "the mean of the nearest training rows",
	.load = load,
	.predict = predict,
	.free = free_state,
	.row_ns = row_ns,
};
