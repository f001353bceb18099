/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/isotonic_trees.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/field/feature.h"
#include "trainer/fit/extra_trees.h"
#include "trainer/fit/rest.h"
#include "trainer/fit/samples.h"

#include <stdlib.h>

/*
 * Loads of the grid. The mean of trees of features and of trees of ratios has on nx12,
 * CounterOnly, package, blocked folds: 5.64 W with 32, 5.51 W with 64, 5.44 W with 128.
 * The time of a prediction is proportional to it.
 */
#define GRID 64

/* The positive loads, rising. Returns their number. */
static size_t sort_loads(const struct tw_samples *s, size_t load, double *out)
{
	size_t n = 0;

	for (size_t r = 0; r < s->rows; r++)
		if (s->x[r * s->cols + load] > 0.0)
			out[n++] = s->x[r * s->cols + load];
	qsort(out, n, sizeof(*out), tw_compare_doubles);
	return n;
}

static int add_grid(const struct tw_samples *s, size_t load, struct tw_buf *text,
		    struct tw_err *err)
{
	double *loads = malloc((s->rows + 1) * sizeof(*loads)), last = 0.0;
	size_t n;

	if (loads == NULL)
		return tw_fail(err, TW_NOMEM, "loads of %zu rows", s->rows);
	n = sort_loads(s, load, loads);
	if (n == 0)
		loads[n++] = 1.0; /* never used: without load, power is that at rest */
	for (size_t i = 0; i < GRID; i++) {
		const double v = loads[i * (n - 1) / (GRID - 1)];

		if (v == last)
			continue;
		tw_buf_adds(text, last > 0.0 ? "," : "");
		tw_buf_add_double(text, v);
		last = v;
	}
	free(loads);
	return 0;
}

static bool is_work(const struct tw_samples *s, size_t c)
{
	return s->work != NULL ? s->work[c] : tw_feature_is_work(s->features[c]);
}

int tw_isotonic_trees(const struct tw_samples *s, const struct tw_extra_trees *how,
		      uint64_t seed, struct tw_buf *text, struct tw_err *err)
{
	struct tw_rest rest;

	if (tw_samples_check(s, 1, err) < 0 || tw_rest_find(s, &rest, err) < 0)
		return -1;
	tw_buf_addf(text, "{\"isotonic\":{\"load\":%zu,\"work\":[", rest.load);
	for (size_t c = 0; c < s->cols; c++)
		tw_buf_addf(text, c > 0 ? ",%d" : "%d", is_work(s, c));
	tw_buf_adds(text, "],\"rest\":");
	tw_buf_add_double(text, rest.watts);
	tw_buf_adds(text, ",\"grid\":[");
	if (add_grid(s, rest.load, text, err) < 0)
		return -1;
	tw_buf_adds(text, "],\"model\":");
	if (tw_extra_trees(s, how, seed, text, err) < 0)
		return -1;
	tw_buf_adds(text, "}}");
	if (tw_buf_failed(text))
		return tw_fail(err, TW_NOMEM, "model of %u trees", how->trees);
	return 0;
}
