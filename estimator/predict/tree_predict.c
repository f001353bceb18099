/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/tree.h"

#include "estimator/predict/predictor.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

/*
 * Rows, or trees, that go down side by side: their loads overlap. Loops over them are
 * unrolled (GCC does not by itself at -O2), so that places stay in registers.
 */
#define LANES 16
#define FEW 4

#define SLOT_MASK ((UINT64_C(1) << TW_TREE_SLOT_BITS) - 1)

/* Rows that are taken together; their keys lie slot by slot. */
struct block {
	uint64_t key[TW_TREE_SLOTS * LANES]; /* slot s of row r: key[s * LANES + r] */
	float sum[LANES];
	size_t rows;
};

static inline uint64_t row_key(uint32_t key)
{
	return (uint64_t)key << 32 | UINT32_MAX;
}

/*
 * Keys of a feature's two slots, `stride` apart. As XGBoost sees a value: a float.
 * Infinity, which a large double becomes, is on the same side of every finite split as
 * the largest float, and only that passes a leaf.
 */
static inline void put_keys(uint64_t *key, size_t stride, const struct tw_rows *in,
			    size_t feature, size_t row)
{
	const uint32_t column =
		in->place != NULL ? in->place[feature] : (uint32_t)feature;
	const double v = column != UINT32_MAX ? in->x[row * in->stride + column] : NAN;

	if (isnan(v)) {
		key[0] = row_key(TW_TREE_KEY_LEFT);
		key[stride] = row_key(TW_TREE_KEY_RIGHT);
	} else {
		key[0] = row_key(tw_tree_key(v < FLT_MAX ? (float)v : FLT_MAX));
		key[stride] = key[0];
	}
}

static void load_block(struct block *b, const struct tw_rows *in, size_t features,
		       size_t first)
{
	for (size_t f = 0; f < features; f++) {
		uint64_t *key = &b->key[2 * f * LANES];

		for (size_t r = 0; r < b->rows; r++)
			put_keys(key + r, LANES, in, f, first + r);
		for (size_t r = b->rows; r < LANES; r++)
			key[r] = key[LANES + r] = 0;
	}
}

/* Keys of a row are `stride` apart. */
static inline uint32_t step(const uint64_t *node, uint32_t at, const uint64_t *key,
			    size_t stride)
{
	const uint64_t n = node[at];

	return ((uint32_t)n >> TW_TREE_SLOT_BITS) - (key[(n & SLOT_MASK) * stride] < n);
}

/* One tree, LANES rows. */
static inline void add_tree(const struct tw_trees *t, size_t tree, const uint64_t *key,
			    float *sum)
{
	uint32_t at[LANES];

#pragma GCC unroll 16
	for (size_t k = 0; k < LANES; k++)
		at[k] = t->tree[tree].at;
	for (uint32_t d = t->tree[tree].depth; d > 0; d--)
#pragma GCC unroll 16
		for (size_t k = 0; k < LANES; k++)
			at[k] = step(t->node, at[k], key + k, LANES);
#pragma GCC unroll 16
	for (size_t k = 0; k < LANES; k++)
		sum[k] += t->leaf[at[k]];
}

static void predict_block(const struct tw_trees *t, struct block *b)
{
	for (size_t r = 0; r < LANES; r++)
		b->sum[r] = t->base;
	for (size_t i = 0; i < t->count; i++)
		add_tree(t, i, b->key, b->sum);
}

/* Some trees, one row; their number is known where this is inlined. */
static inline float add_trees(const struct tw_trees *t, size_t first, size_t lanes,
			      const uint64_t *key, float sum)
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
			at[k] = step(t->node, at[k], key, 1);
#pragma GCC unroll 16
	for (size_t k = 0; k < lanes; k++)
		sum += t->leaf[at[k]];
	return sum;
}

static float predict_row(const struct tw_trees *t, size_t features,
			 const struct tw_rows *in, size_t row)
{
	uint64_t key[TW_TREE_SLOTS];
	float sum = t->base;
	size_t i = 0;

	for (size_t f = 0; f < features; f++)
		put_keys(&key[2 * f], 1, in, f, row);
	for (; i + LANES <= t->count; i += LANES)
		sum = add_trees(t, i, LANES, key, sum);
	for (; i + FEW <= t->count; i += FEW)
		sum = add_trees(t, i, FEW, key, sum);
	for (; i < t->count; i++)
		sum = add_trees(t, i, 1, key, sum);
	return sum;
}

/* As many rows as are worth a block. */
static size_t predict_blocks(const struct tw_trees *t, size_t features,
			     const struct tw_rows *in, double *watts)
{
	struct block b;
	size_t done = 0;

	for (; in->rows - done >= LANES / 2; done += b.rows) {
		b.rows = in->rows - done < LANES ? in->rows - done : LANES;
		load_block(&b, in, features, done);
		predict_block(t, &b);
		for (size_t r = 0; r < b.rows; r++)
			watts[done + r] = (double)b.sum[r];
	}
	return done;
}

void tw_trees_predict(const struct tw_trees *t, size_t features, const struct tw_rows *in,
		      double *watts)
{
	size_t done = predict_blocks(t, features, in, watts);

	for (; done < in->rows; done++)
		watts[done] = (double)predict_row(t, features, in, done);
}
