/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/extra_trees.h"

#include "estimator/predict/tree.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/field/feature.h"
#include "trainer/fit/random.h"
#include "trainer/fit/rest.h"
#include "trainer/fit/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Least number of thresholds tried at a node. */
#define DRAWS 8
#define DEPTH_MAX 60
/* Limit of leaves of a tree; it bounds the size of the model. */
#define LEAVES_MAX 1024

_Static_assert(DEPTH_MAX <= TW_TREE_DEPTH_MAX, "a tree must fit the predictor");

/* Features, or thresholds, that one pass over the rows compares. */
#define ABREAST 8

/* State of growing a tree. Features are floats, because the predictor compares floats. */
struct grower {
	const struct tw_extra_trees *how;
	size_t rows, cols;
	size_t leaf;   /* least rows of a leaf */
	size_t draws;  /* thresholds drawn for each feature */
	float *x;      /* row major: x[r * stride + c] */
	size_t stride; /* cols, rounded up to a multiple of ABREAST */
	double *y;
	uint32_t *row;  /* row indices; each node owns a range */
	double *sorted; /* work space of leaf_value() */
	struct tw_random random;

	/* The tree's nodes in preorder. Features of splits; -1: a leaf. */
	int32_t *split, *left, *right;
	int32_t *missing_left; /* none: a row without the feature goes right */
	float *value;
	size_t nodes;
};

/* The range from .. to of g->row, and the sum of its power. */
struct node {
	size_t from, to;
	double sum;
	unsigned depth;
};

struct threshold {
	size_t feature;
	float at;
	size_t rows; /* rows below it, and the sum of their power */
	double sum;
};

struct choice {
	int32_t feature; /* -1: no split */
	float threshold;
	double gain;
	double left_sum;
};

static double leaf_value(struct grower *g, const struct node *n)
{
	const size_t count = n->to - n->from;

	if (!g->how->median)
		return n->sum / (double)count;
	for (size_t i = 0; i < count; i++)
		g->sorted[i] = g->y[g->row[n->from + i]];
	return tw_median(g->sorted, count);
}

/* The smallest and the largest value of ABREAST features from column c on. */
static void find_ranges(const struct grower *g, const struct node *n, size_t c,
			float low[ABREAST], float high[ABREAST])
{
	const float *first = g->x + g->row[n->from] * g->stride + c;

	memcpy(low, first, ABREAST * sizeof(*low));
	memcpy(high, first, ABREAST * sizeof(*high));
	for (size_t i = n->from + 1; i < n->to; i++) {
		const float *x = g->x + g->row[i] * g->stride + c;

		for (size_t k = 0; k < ABREAST; k++) {
			low[k] = x[k] < low[k] ? x[k] : low[k];
			high[k] = x[k] > high[k] ? x[k] : high[k];
		}
	}
}

/* Draw a threshold above low, so that both sides have rows, and at most high. */
static float draw(struct grower *g, float low, float high)
{
	const bool by_size = g->how->by_size && tw_random_share(&g->random) < 0.5;
	const double share = tw_random_share(&g->random);
	double t;

	if (by_size && low >= 0.0f)
		t = expm1(log1p(low) + share * (log1p(high) - log1p(low)));
	else
		t = (double)low + share * ((double)high - (double)low);
	return (float)t > low ? fminf((float)t, high) : nextafterf(low, high);
}

/*
 * Rows and their power below each of the thresholds. Sums of power depend on each other
 * from row to row; those of several thresholds in one pass do not wait for each other.
 */
static void add_lefts(const struct grower *g, const struct node *n,
		      struct threshold t[ABREAST])
{
	double sum[ABREAST] = { 0 };
	size_t rows[ABREAST] = { 0 };

	for (size_t i = n->from; i < n->to; i++) {
		const float *x = g->x + g->row[i] * g->stride;
		const double y = g->y[g->row[i]];

#pragma GCC unroll 8
		for (size_t k = 0; k < ABREAST; k++) {
			const unsigned is_left = x[t[k].feature] < t[k].at;

			/* A product, because a branch would be mispredicted. */
			sum[k] += is_left * y;
			rows[k] += is_left;
		}
	}
	for (size_t k = 0; k < ABREAST; k++) {
		t[k].sum = sum[k];
		t[k].rows = rows[k];
	}
}

static void try_threshold(const struct grower *g, const struct node *n,
			  const struct threshold *t, struct choice *best)
{
	const size_t rights = n->to - n->from - t->rows;
	const double right = n->sum - t->sum;
	double gain;

	if (t->rows < g->leaf || rights < g->leaf)
		return;
	gain = t->sum * t->sum / (double)t->rows + right * right / (double)rights;
	if (gain > best->gain)
		*best = (struct choice){ (int32_t)t->feature, t->at, gain, t->sum };
}

/* Try the thresholds drawn; repeats of the last one fill the room. */
static void try_thresholds(const struct grower *g, const struct node *n,
			   struct threshold t[ABREAST], size_t count, struct choice *best)
{
	for (size_t k = count; k < ABREAST && count > 0; k++)
		t[k] = t[count - 1];
	if (count > 0)
		add_lefts(g, n, t);
	for (size_t k = 0; k < count; k++)
		try_threshold(g, n, &t[k], best);
}

static struct choice choose(struct grower *g, const struct node *n)
{
	const double count = (double)(n->to - n->from);
	/* The gain without a split, with a margin for rounding. */
	struct choice best = { -1, 0.0f, n->sum * n->sum / count * (1.0 + 1e-12), 0.0 };
	struct threshold t[ABREAST];
	float low[ABREAST], high[ABREAST];
	size_t drawn = 0;

	if (n->to - n->from < 2 * g->leaf || n->depth == DEPTH_MAX)
		return best;
	for (size_t c = 0; c < g->cols; c++) {
		const size_t k = c % ABREAST;

		if (k == 0)
			find_ranges(g, n, c, low, high);
		for (size_t i = 0; low[k] < high[k] && i < g->draws; i++) {
			t[drawn++] = (struct threshold){ .feature = c,
							 .at = draw(g, low[k], high[k]) };
			if (drawn == ABREAST) {
				try_thresholds(g, n, t, drawn, &best);
				drawn = 0;
			}
		}
	}
	try_thresholds(g, n, t, drawn, &best);
	return best;
}

/* Move rows below the threshold to the front. Returns the first other row. */
static size_t part_rows(struct grower *g, const struct node *n, const struct choice *c)
{
	const float *x = g->x + c->feature;
	size_t front = n->from, back = n->to;

	while (front < back) {
		const uint32_t r = g->row[front];

		if (x[r * g->stride] < c->threshold) {
			front++;
		} else {
			g->row[front] = g->row[--back];
			g->row[back] = r;
		}
	}
	return front;
}

static void grow(struct grower *g, const struct node *n)
{
	const struct choice c = choose(g, n);
	const size_t at = g->nodes++;
	struct node left, right;
	size_t middle;

	g->split[at] = c.feature;
	g->left[at] = g->right[at] = -1;
	if (c.feature < 0) {
		g->value[at] = (float)(leaf_value(g, n) / g->how->trees);
		return;
	}
	g->value[at] = c.threshold;
	middle = part_rows(g, n, &c);
	left = (struct node){ n->from, middle, c.left_sum, n->depth + 1 };
	right = (struct node){ middle, n->to, n->sum - c.left_sum, n->depth + 1 };
	g->left[at] = (int32_t)g->nodes;
	grow(g, &left);
	g->right[at] = (int32_t)g->nodes;
	grow(g, &right);
}

static void add_text(const struct grower *g, unsigned tree, struct tw_buf *text)
{
	tw_buf_adds(text, tree > 0 ? ",{\"split\":[" : "{\"split\":[");
	for (size_t i = 0; i < g->nodes; i++)
		tw_buf_addf(text, i > 0 ? ",%d" : "%d", (int)g->split[i]);
	tw_buf_adds(text, "],\"value\":[");
	/* Nine digits identify a float. */
	for (size_t i = 0; i < g->nodes; i++)
		tw_buf_addf(text, i > 0 ? ",%.9g" : "%.9g", (double)g->value[i]);
	tw_buf_adds(text, "]}");
}

static void grow_tree(struct grower *g, uint64_t seed, unsigned tree)
{
	struct node root = { .to = g->rows };

	g->random = tw_random_init(seed, tree);
	g->nodes = 0;
	for (size_t r = 0; r < g->rows; r++) {
		g->row[r] = (uint32_t)r;
		root.sum += g->y[r];
	}
	grow(g, &root);
}

/*
 * With from_zero, add one leaf of rows with zero features and 0 W. Thresholds between
 * these rows and the least load are uniform, so that the mean of the trees rises evenly
 * there.
 */
static int grower_init(struct grower *g, const struct tw_samples *s, struct tw_err *err)
{
	const size_t least = s->rows / LEAVES_MAX;
	size_t rows;

	g->leaf = least > g->how->leaf ? least : g->how->leaf;
	rows = g->rows = s->rows + (s->from_zero ? g->leaf : 0);
	g->cols = s->cols;
	g->stride = (s->cols + ABREAST - 1) / ABREAST * ABREAST;
	g->draws = (DRAWS + s->cols - 1) / s->cols;
	if (tw_new(&g->x, rows, g->stride * sizeof(*g->x), err) < 0 ||
	    TW_NEW(g->y, rows, err) < 0 || TW_NEW(g->row, rows, err) < 0 ||
	    TW_NEW(g->sorted, rows, err) < 0 || TW_NEW(g->split, 2 * rows, err) < 0 ||
	    TW_NEW(g->left, 2 * rows, err) < 0 || TW_NEW(g->right, 2 * rows, err) < 0 ||
	    TW_NEW(g->missing_left, 2 * rows, err) < 0 ||
	    TW_NEW(g->value, 2 * rows, err) < 0)
		return -1;
	memcpy(g->y, s->y, s->rows * sizeof(*g->y));
	for (size_t r = 0; r < s->rows; r++)
		for (size_t c = 0; c < s->cols; c++)
			g->x[r * g->stride + c] = (float)s->x[r * s->cols + c];
	return 0;
}

static void grower_release(struct grower *g)
{
	free(g->x);
	free(g->y);
	free(g->row);
	free(g->sorted);
	free(g->split);
	free(g->left);
	free(g->right);
	free(g->missing_left);
	free(g->value);
}

int tw_extra_trees(const struct tw_samples *s, const struct tw_extra_trees *how,
		   uint64_t seed, struct tw_buf *text, struct tw_trees *trees,
		   struct tw_err *err)
{
	struct grower g = { .how = how };
	int rc = -1;

	if (tw_samples_check(s, 1, err) < 0 || grower_init(&g, s, err) < 0)
		goto out;
	if (text != NULL)
		tw_buf_adds(text, "{\"trees\":{\"base\":0,\"forest\":[");
	for (unsigned i = 0; i < how->trees; i++) {
		grow_tree(&g, seed, i);
		if (text != NULL)
			add_text(&g, i, text);
		if (trees != NULL &&
		    tw_trees_add(trees,
				 &(struct tw_tree_arrays){ .nodes = g.nodes,
							   .left = g.left,
							   .right = g.right,
							   .feature = g.split,
							   .missing_left = g.missing_left,
							   .value = g.value },
				 g.cols, err) < 0)
			goto out;
	}
	if (text != NULL)
		tw_buf_adds(text, "]}}");
	if (text != NULL && tw_buf_failed(text)) {
		tw_fail(err, TW_NOMEM, "model of %u trees", how->trees);
		goto out;
	}

	rc = 0;
out:
	grower_release(&g);
	return rc;
}

/* ---- power that rises along each ray ---- */

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
	if (tw_extra_trees(s, how, seed, text, NULL, err) < 0)
		return -1;
	tw_buf_adds(text, "}}");
	return tw_buf_check(text, err);
}
