/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/tree.h"

#include "estimator/predictor.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#define FEATURE_MASK (TW_TREE_FEATURES_MAX - 1)
/* Rows that are taken together; their features lie feature by feature. */
#define BLOCK 64
/*
 * Rows, or trees, that go down side by side: their loads overlap. Loops over them are
 * unrolled (GCC does not by itself at -O2), so that places stay in registers.
 */
#define LANES 16
#define FEW 4

struct block {
	float x[TW_TREE_FEATURES_MAX * BLOCK]; /* feature f of row r: x[f * BLOCK + r] */
	float sum[BLOCK];
	size_t rows;
	bool missing; /* one of the values is NaN */
};

/*
 * As XGBoost sees a value: a float. Infinity, which a large double becomes, is on the
 * same side of every finite split as the largest float, and only that passes a leaf.
 */
static float to_float(double v)
{
	const float f = v > FLT_MAX ? FLT_MAX : (float)v;

	return f > FLT_MAX ? FLT_MAX : f;
}

static void load_block(struct block *b, const struct tw_rows *in, size_t features,
		       size_t first)
{
	b->missing = false;
	for (size_t f = 0; f < features; f++) {
		const uint32_t column = in->place != NULL ? in->place[f] : (uint32_t)f;
		float *x = &b->x[f * BLOCK];

		for (size_t r = 0; r < b->rows; r++) {
			const double *row = in->x + (first + r) * in->stride;

			x[r] = column == UINT32_MAX ? NAN : to_float(row[column]);
			b->missing |= isnan(x[r]);
		}
		/* Rows are taken LANES at a time. */
		for (size_t r = b->rows; r % LANES != 0; r++)
			x[r] = 0.0f;
	}
}

static inline uint32_t step(const struct tw_tree_node *node, uint32_t at, const float *x,
			    bool missing)
{
	const struct tw_tree_node n = node[at];
	const float v = x[(n.link >> TW_TREE_CHILD_BITS & FEATURE_MASK) * BLOCK];
	uint32_t right = v >= n.split;

	if (missing)
		right |= (uint32_t)isnan(v) & n.link >> TW_TREE_MISSING_BIT;
	return (n.link & TW_TREE_CHILD_MASK) + right;
}

/* One tree, LANES rows. */
static inline void add_tree(const struct tw_trees *t, size_t tree, const float *x,
			    float *sum, bool missing)
{
	uint32_t at[LANES];

#pragma GCC unroll 16
	for (size_t k = 0; k < LANES; k++)
		at[k] = t->tree[tree].at;
	for (uint32_t d = t->tree[tree].depth; d > 0; d--)
#pragma GCC unroll 16
		for (size_t k = 0; k < LANES; k++)
			at[k] = step(t->node, at[k], x + k, missing);
#pragma GCC unroll 16
	for (size_t k = 0; k < LANES; k++)
		sum[k] += t->leaf[at[k]];
}

static void predict_rows(const struct tw_trees *t, struct block *b)
{
	for (size_t i = 0; i < t->count; i++)
		for (size_t r = 0; r < b->rows; r += LANES) {
			if (b->missing)
				add_tree(t, i, b->x + r, b->sum + r, true);
			else
				add_tree(t, i, b->x + r, b->sum + r, false);
		}
}

/* Some trees, one row; their number is known where this is inlined. */
static inline float add_trees(const struct tw_trees *t, size_t first, size_t lanes,
			      const float *x, float sum, bool missing)
{
	uint32_t at[LANES], depth = 0;

#pragma GCC unroll 16
	for (size_t k = 0; k < lanes; k++) {
		at[k] = t->tree[first + k].at;
		if (t->tree[first + k].depth > depth)
			depth = t->tree[first + k].depth;
	}
	for (; depth > 0; depth--)
#pragma GCC unroll 16
		for (size_t k = 0; k < lanes; k++)
			at[k] = step(t->node, at[k], x, missing);
#pragma GCC unroll 16
	for (size_t k = 0; k < lanes; k++)
		sum += t->leaf[at[k]];
	return sum;
}

static inline float predict_row(const struct tw_trees *t, const float *x, bool missing)
{
	float sum = t->base;
	size_t i = 0;

	for (; i + LANES <= t->count; i += LANES)
		sum = add_trees(t, i, LANES, x, sum, missing);
	for (; i + FEW <= t->count; i += FEW)
		sum = add_trees(t, i, FEW, x, sum, missing);
	for (; i < t->count; i++)
		sum = add_trees(t, i, 1, x, sum, missing);
	return sum;
}

void tw_trees_predict(const struct tw_trees *t, size_t features, const struct tw_rows *in,
		      double *watts)
{
	struct block b;

	for (size_t first = 0; first < in->rows; first += b.rows) {
		b.rows = in->rows - first < BLOCK ? in->rows - first : BLOCK;
		load_block(&b, in, features, first);
		if (b.rows < LANES / 2) {
			for (size_t r = 0; r < b.rows; r++)
				b.sum[r] = b.missing ? predict_row(t, b.x + r, true)
						     : predict_row(t, b.x + r, false);
		} else {
			for (size_t r = 0; r < BLOCK; r++)
				b.sum[r] = t->base;
			predict_rows(t, &b);
		}
		for (size_t r = 0; r < b.rows; r++)
			watts[first + r] = (double)b.sum[r];
	}
}
