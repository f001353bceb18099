/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/lists.h"
#include "estimator/predict/predictor.h"
#include "estimator/predict/tree.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/json/json.h"

#include <math.h>
#include <stdlib.h>

/*
 * Trees whose power is made to rise along each ray, from rest to a row of features:
 *
 *	{"isotonic": {"load": l, "work": [1, 0, ..], "rest": w, "grid": [..],
 *		      "model": {"trees": {..}}}}
 *
 * The trees predict the row at each load of the grid: the features that count work are
 * multiplied by grid[i] / load. These powers, at least rest, are replaced by the nearest
 * ones that do not fall (least squares, by pooling adjacent violators: M. Ayer, H. D.
 * Brunk, G. M. Ewing, W. T. Reid, E. Silverman, Annals of Mathematical Statistics 26,
 * 1955). The power at the row's load is interpolated between them. All rows of a ray have
 * the same powers at the grid, so power never falls on it.
 */
#define ROOT "isotonic"
#define GRID_MAX 256
#define BLOCK 16 /* loads of the grid that the trees predict at a time */

struct isotonic {
	void *trees; /* state of tw_predictor_trees */
	size_t features, load;
	double *work; /* features: 1, or 0 if the feature keeps its value on a ray */
	double rest_w;
	double grid[GRID_MAX]; /* loads, rising */
	size_t places;
};

static void release(void *state)
{
	struct isotonic *m = state;

	tw_predictor_free(&tw_predictor_trees, m->trees);
	free(m->work);
}

/* ---- reading ---- */

static int read_grid(const json_t *obj, struct isotonic *m, struct tw_err *err)
{
	const json_t *list;

	if (tw_json_array(obj, ROOT, "grid", false, &list, err) < 0)
		return -1;
	m->places = json_array_size(list);
	if (m->places == 0 || m->places > GRID_MAX)
		return tw_fail(err, TW_INVALID, ROOT ".grid: %zu loads, expected 1 to %d",
			       m->places, GRID_MAX);
	if (tw_list_read(obj, ROOT, "grid", m->places, m->grid, err) < 0)
		return -1;
	for (size_t i = 0; i < m->places; i++)
		if (!(m->grid[i] > (i > 0 ? m->grid[i - 1] : 0.0)))
			return tw_fail(err, TW_INVALID,
				       ROOT ".grid[%zu]: %g, expected rising loads above "
					    "0",
				       i, m->grid[i]);
	return 0;
}

static int read_work(const json_t *obj, struct isotonic *m, struct tw_err *err)
{
	m->work = calloc(m->features + 1, sizeof(*m->work));
	if (m->work == NULL)
		return tw_fail(err, TW_NOMEM, ROOT ".work");
	if (tw_list_read(obj, ROOT, "work", m->features, m->work, err) < 0)
		return -1;
	for (size_t i = 0; i < m->features; i++)
		if (m->work[i] != 0.0 && m->work[i] != 1.0)
			return tw_fail(err, TW_INVALID,
				       ROOT ".work[%zu]: %g, expected 0 or 1", i,
				       m->work[i]);
	return 0;
}

static int read_isotonic(const json_t *root, const struct tw_strs *features, void *state,
			 struct tw_err *err)
{
	struct isotonic *m = state;
	const json_t *obj, *trees;
	long long load;

	if (features->count == 0 || features->count > TW_TREE_FEATURES_MAX)
		return tw_fail(err, TW_INVALID, "%zu features, expected 1 to %d",
			       features->count, TW_TREE_FEATURES_MAX);
	m->features = features->count;
	if (tw_json_object(root, "", ROOT, false, &obj, err) < 0 ||
	    tw_json_int(obj, ROOT, "load", false, 0, (long long)m->features - 1, &load,
			err) < 0 ||
	    tw_json_number(obj, ROOT, "rest", false, &m->rest_w, err) < 0 ||
	    read_grid(obj, m, err) < 0 || read_work(obj, m, err) < 0 ||
	    tw_json_object(obj, ROOT, "model", false, &trees, err) < 0)
		return -1;
	m->load = (size_t)load;
	if (tw_predictor_load_json(&tw_predictor_trees, trees, features, &m->trees, err) <
	    0)
		return tw_err_wrap(err, ROOT ".model");
	return 0;
}

/* ---- predicting ---- */

/* Predict row r at each load of the grid. */
static void predict_grid(const struct isotonic *m, const struct tw_rows *in, size_t r,
			 double *watts)
{
	const double load = tw_rows_value(in, r, m->load);
	double row[TW_TREE_FEATURES_MAX], x[BLOCK * TW_TREE_FEATURES_MAX];
	struct tw_rows places = { .x = x,
				  .stride = m->features,
				  .categories = in->categories };

	for (size_t c = 0; c < m->features; c++)
		row[c] = tw_rows_value(in, r, c);
	for (size_t first = 0; first < m->places; first += places.rows) {
		places.rows = m->places - first < BLOCK ? m->places - first : BLOCK;
		for (size_t i = 0; i < places.rows; i++) {
			const double t = m->grid[first + i] / load;

			for (size_t c = 0; c < m->features; c++)
				x[i * m->features + c] =
					m->work[c] != 0.0 ? row[c] * t : row[c];
		}
		tw_predictor_trees.predict(m->trees, &places, watts + first);
	}
	for (size_t i = 0; i < m->places; i++)
		watts[i] = fmax(watts[i], m->rest_w);
}

/* Replace v[0..n) by the nearest numbers that do not fall. */
static void pool_violators(double *v, size_t n)
{
	double mean[GRID_MAX];
	size_t count[GRID_MAX], pools = 0, at = 0;

	for (size_t i = 0; i < n; i++) {
		mean[pools] = v[i];
		count[pools++] = 1;
		for (; pools > 1 && mean[pools - 2] > mean[pools - 1]; pools--) {
			const double a = (double)count[pools - 2],
				     b = (double)count[pools - 1];

			mean[pools - 2] =
				(a * mean[pools - 2] + b * mean[pools - 1]) / (a + b);
			count[pools - 2] += count[pools - 1];
		}
	}
	for (size_t p = 0; p < pools; p++)
		for (size_t i = 0; i < count[p]; i++)
			v[at++] = mean[p];
}

static double interpolate(const struct isotonic *m, const double *watts, double load)
{
	size_t i = 0;
	double share;

	while (i < m->places && m->grid[i] < load)
		i++;
	if (i == 0 || i == m->places)
		return watts[i == 0 ? 0 : i - 1];
	share = (load - m->grid[i - 1]) / (m->grid[i] - m->grid[i - 1]);
	return watts[i - 1] + share * (watts[i] - watts[i - 1]);
}

static void predict(const void *state, const struct tw_rows *in, double *watts)
{
	const struct isotonic *m = state;
	double at[GRID_MAX];

	for (size_t r = 0; r < in->rows; r++) {
		const double load = tw_rows_value(in, r, m->load);

		if (!(load > 0.0)) {
			watts[r] = m->rest_w;
			continue;
		}
		predict_grid(m, in, r, at);
		pool_violators(at, m->places);
		watts[r] = interpolate(m, at, load);
	}
}

static uint64_t row_ns(const void *state)
{
	const struct isotonic *m = state;

	return m->places * tw_predictor_row_ns(&tw_predictor_trees, m->trees);
}

const struct tw_predictor tw_predictor_isotonic = {
	.name = "isotonic",
	.summary = "trees whose power is made to rise with the load",
	.state_bytes = sizeof(struct isotonic),
	.read = read_isotonic,
	.release = release,
	.predict = predict,
	.row_ns = row_ns,
};
