/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/tree.h"

#include "estimator/predictor.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

/* Rows that are taken together; their features lie feature by feature. */
#define BLOCK 64
/*
 * Rows, or trees, that go down side by side: their loads overlap. Loops over them are
 * unrolled (GCC does not by itself at -O2), so that places stay in registers.
 */
#define LANES 16
#define FEW 4

struct block {
	uint32_t key[TW_TREE_FEATURES_MAX * BLOCK]; /* of feature f: key[f * BLOCK + r] */
	float sum[BLOCK];
	size_t rows;
	bool missing; /* one of the values is NaN */
};

/*
 * As XGBoost sees a value: a float. Infinity, which a large double becomes, is on the
 * same side of every finite split as the largest float, and only that passes a leaf.
 */
static uint32_t key_of(const struct tw_rows *in, size_t feature, size_t row)
{
	const uint32_t column = in->place != NULL ? in->place[feature] : (uint32_t)feature;
	double v;

	if (column == UINT32_MAX)
		return TW_TREE_MISSING;
	v = in->x[row * in->stride + column];
	if (isnan(v))
		return TW_TREE_MISSING;
	return tw_tree_key(v < FLT_MAX ? (float)v : FLT_MAX);
}

static void load_block(struct block *b, const struct tw_rows *in, size_t features,
		       size_t first)
{
	b->missing = false;
	for (size_t f = 0; f < features; f++) {
		uint32_t *key = &b->key[f * BLOCK];

		for (size_t r = 0; r < b->rows; r++) {
			key[r] = key_of(in, f, first + r);
			b->missing |= key[r] == TW_TREE_MISSING;
		}
		/* Rows are taken LANES at a time. */
		for (size_t r = b->rows; r % LANES != 0; r++)
			key[r] = TW_TREE_MISSING;
	}
}

/* Keys of a row's features are `stride` apart. */
static inline uint32_t step(const struct tw_tree_node *node, uint32_t at,
			    const uint32_t *key, size_t stride, bool missing)
{
	const struct tw_tree_node n = node[at];
	const uint32_t k = key[(n.link >> TW_TREE_FEATURE_BIT) * stride];
	uint32_t next = (n.link & TW_TREE_CHILD_MASK) - (k < n.split);

	if (missing)
		next += (uint32_t)(k == TW_TREE_MISSING) & n.link >> TW_TREE_MISSING_BIT;
	return next;
}

/* One tree, LANES rows. */
static inline void add_tree(const struct tw_trees *t, size_t tree, const uint32_t *key,
			    float *sum, bool missing)
{
	uint32_t at[LANES];

#pragma GCC unroll 16
	for (size_t k = 0; k < LANES; k++)
		at[k] = t->tree[tree].at;
	for (uint32_t d = t->tree[tree].depth; d > 0; d--)
#pragma GCC unroll 16
		for (size_t k = 0; k < LANES; k++)
			at[k] = step(t->node, at[k], key + k, BLOCK, missing);
#pragma GCC unroll 16
	for (size_t k = 0; k < LANES; k++)
		sum[k] += t->leaf[at[k]];
}

static void predict_block(const struct tw_trees *t, struct block *b)
{
	for (size_t r = 0; r < BLOCK; r++)
		b->sum[r] = t->base;
	for (size_t i = 0; i < t->count; i++)
		for (size_t r = 0; r < b->rows; r += LANES) {
			if (b->missing)
				add_tree(t, i, b->key + r, b->sum + r, true);
			else
				add_tree(t, i, b->key + r, b->sum + r, false);
		}
}

/* Some trees, one row; their number is known where this is inlined. */
static inline float add_trees(const struct tw_trees *t, size_t first, size_t lanes,
			      const uint32_t *key, float sum, bool missing)
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
			at[k] = step(t->node, at[k], key, 1, missing);
#pragma GCC unroll 16
	for (size_t k = 0; k < lanes; k++)
		sum += t->leaf[at[k]];
	return sum;
}

static inline float add_all(const struct tw_trees *t, const uint32_t *key, bool missing)
{
	float sum = t->base;
	size_t i = 0;

	for (; i + LANES <= t->count; i += LANES)
		sum = add_trees(t, i, LANES, key, sum, missing);
	for (; i + FEW <= t->count; i += FEW)
		sum = add_trees(t, i, FEW, key, sum, missing);
	for (; i < t->count; i++)
		sum = add_trees(t, i, 1, key, sum, missing);
	return sum;
}

static float predict_row(const struct tw_trees *t, size_t features,
			 const struct tw_rows *in, size_t row)
{
	uint32_t key[TW_TREE_FEATURES_MAX];
	bool missing = false;

	for (size_t f = 0; f < features; f++) {
		key[f] = key_of(in, f, row);
		missing |= key[f] == TW_TREE_MISSING;
	}
	return missing ? add_all(t, key, true) : add_all(t, key, false);
}

void tw_trees_predict(const struct tw_trees *t, size_t features, const struct tw_rows *in,
		      double *watts)
{
	struct block b;
	size_t done = 0;

	for (; in->rows - done >= LANES / 2; done += b.rows) {
		b.rows = in->rows - done < BLOCK ? in->rows - done : BLOCK;
		load_block(&b, in, features, done);
		predict_block(t, &b);
		for (size_t r = 0; r < b.rows; r++)
			watts[done + r] = (double)b.sum[r];
	}
	for (; done < in->rows; done++)
		watts[done] = (double)predict_row(t, features, in, done);
}
