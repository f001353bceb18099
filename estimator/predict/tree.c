/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/tree.h"

#include "estimator/predict/predictor.h"
#include "lib/core/array.h"
#include "lib/core/err.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/*
 * Own code instead of XGBoost's library, because it is faster and needs no library in the
 * estimator. bench-estimator measures both with tests/bench/trees_against_xgboost.c
 * (docs/bench.md, "The estimator"): 267 ns a row against 21,940 ns for single rows, 249
 * against 1,683 in batches of 100, 254 against 1,477 in batches of 10,000.
 */

_Static_assert(TW_TREE_NODES_MAX < UINT32_MAX >> TW_TREE_SLOT_BITS,
	       "the place of a child must fit into a node");
_Static_assert(TW_TREE_SLOTS <= 1 << TW_TREE_SLOT_BITS, "a slot must fit into a node");

/* State of a breadth-first walk over the arrays of a tree. */
struct walk {
	uint32_t *order; /* node of the arrays, by its new place in the tree */
	uint32_t *child; /* new place of a split's left child, by new place */
	bool *seen;
	uint32_t found; /* nodes reached */
	uint32_t depth;
};

static int check_child(const struct tw_tree_arrays *a, struct walk *w, uint32_t node,
		       int32_t child, struct tw_err *err)
{
	if (child <= 0 || (size_t)child >= a->nodes)
		return tw_fail(err, TW_INVALID, "node %u: child %d of %zu nodes", node,
			       child, a->nodes);
	if (w->seen[child])
		return tw_fail(err, TW_INVALID, "node %u: child %d has another parent",
			       node, child);
	w->seen[child] = true;
	w->order[w->found++] = (uint32_t)child;
	return 0;
}

static int visit(const struct tw_tree_arrays *a, size_t features, struct walk *w,
		 uint32_t place, struct tw_err *err)
{
	const uint32_t node = w->order[place];

	if (!isfinite(a->value[node]))
		return tw_fail(err, TW_INVALID, "node %u: the value is not finite", node);
	if (a->left[node] == -1 && a->right[node] == -1)
		return 0;
	if (a->feature[node] < 0 || (size_t)a->feature[node] >= features)
		return tw_fail(err, TW_INVALID, "node %u: feature %d of %zu", node,
			       a->feature[node], features);
	w->child[place] = w->found;
	if (check_child(a, w, node, a->left[node], err) < 0)
		return -1;
	return check_child(a, w, node, a->right[node], err);
}

/* Walk level by level, so that siblings get adjacent places. */
static int walk_tree(const struct tw_tree_arrays *a, size_t features, struct walk *w,
		     struct tw_err *err)
{
	uint32_t level_end = 1;

	w->seen[0] = true;
	w->order[0] = 0;
	w->found = 1;
	for (uint32_t place = 0; place < w->found; place++) {
		if (place == level_end) {
			level_end = w->found;
			if (++w->depth > TW_TREE_DEPTH_MAX)
				return tw_fail(err, TW_INVALID, "deeper than %d",
					       TW_TREE_DEPTH_MAX);
		}
		if (visit(a, features, w, place, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < a->nodes; i++)
		if (!w->seen[i] && a->feature[i] != TW_TREE_CUT)
			return tw_fail(err, TW_INVALID, "node %zu has no parent", i);
	return 0;
}

static int reserve(struct tw_trees *t, size_t nodes, struct tw_err *err)
{
	const size_t need = t->nodes + nodes;

	if (need > TW_TREE_NODES_MAX || t->count == TW_TREE_COUNT_MAX)
		return tw_fail(err, TW_INVALID, "more than %u nodes or %d trees",
			       TW_TREE_NODES_MAX, TW_TREE_COUNT_MAX);
	if (need > t->nodes_size) {
		const size_t size = need + t->nodes_size;

		if (!tw_resize(&t->node, size, sizeof(*t->node)) ||
		    !tw_resize(&t->leaf, size, sizeof(*t->leaf)))
			return tw_fail(err, TW_NOMEM, "%zu tree nodes", size);
		t->nodes_size = size;
	}
	if (!tw_grow(&t->tree, &t->count_size, t->count, sizeof(*t->tree)))
		return tw_fail(err, TW_NOMEM, "%zu trees", t->count);
	return 0;
}

static uint64_t make_node(uint32_t right, size_t slot, float split)
{
	return (uint64_t)tw_tree_key(split) << 32 | (uint64_t)right << TW_TREE_SLOT_BITS |
	       slot;
}

/*
 * Append the nodes of the walk. A leaf is a split whose left child is the leaf itself.
 * All rows go left there, because values are clamped below infinity and a missing feature
 * goes left.
 */
static void append(struct tw_trees *t, const struct tw_tree_arrays *a,
		   const struct walk *w)
{
	const uint32_t base = (uint32_t)t->nodes;

	for (uint32_t i = 0; i < w->found; i++) {
		const uint32_t node = w->order[i], at = base + i;
		const bool leaf = a->left[node] == -1;
		const size_t slot = leaf ? 0
					 : (size_t)a->feature[node] * 2 +
						    (a->missing_left[node] == 0);

		t->node[at] =
			leaf ? make_node(at + 1, slot, INFINITY)
			     : make_node(base + w->child[i] + 1, slot, a->value[node]);
		t->leaf[at] = leaf ? a->value[node] : 0.0f;
	}
	t->tree[t->count++] = (struct tw_tree_root){ .at = base, .depth = w->depth };
	t->nodes += w->found;
	t->steps += w->depth;
}

int tw_trees_add(struct tw_trees *t, const struct tw_tree_arrays *a, size_t features,
		 struct tw_err *err)
{
	struct walk w = { 0 };
	int rc = -1;

	if (a->nodes == 0)
		return tw_fail(err, TW_INVALID, "no nodes");
	if (features > TW_TREE_FEATURES_MAX)
		return tw_fail(err, TW_INVALID, "%zu features, limit is %d", features,
			       TW_TREE_FEATURES_MAX);
	if (reserve(t, a->nodes, err) < 0)
		return -1;
	w.order = malloc(a->nodes * sizeof(*w.order));
	w.child = malloc(a->nodes * sizeof(*w.child));
	w.seen = calloc(a->nodes, sizeof(*w.seen));
	if (w.order == NULL || w.child == NULL || w.seen == NULL) {
		tw_fail(err, TW_NOMEM, "tree of %zu nodes", a->nodes);
		goto out;
	}
	if (walk_tree(a, features, &w, err) < 0)
		goto out;
	append(t, a, &w);
	rc = 0;
out:
	free(w.seen);
	free(w.child);
	free(w.order);
	return rc;
}

void tw_trees_adapt(struct tw_trees *t, size_t count, const float *weight,
		    const uint32_t *order)
{
	const uint64_t slots = (UINT64_C(1) << TW_TREE_SLOT_BITS) - 1;

	if (count < t->count)
		t->nodes = t->tree[count].at;
	t->count = count;
	t->steps = 0;
	for (size_t i = 0, at = 0; i < count; i++) {
		const size_t end = i + 1 < count ? t->tree[i + 1].at : t->nodes;

		t->steps += t->tree[i].depth;
		for (; at < end; at++) {
			const uint64_t slot = t->node[at] & slots;

			t->node[at] = (t->node[at] & ~slots) |
				      ((uint64_t)order[slot / 2] * 2 + slot % 2);
			if (weight != NULL)
				t->leaf[at] *= weight[i];
		}
	}
}

/* ---- predicting ---- */

/*
 * Rows, or trees, that descend together, so that their memory accesses overlap. Loops
 * over lanes are unrolled by pragma, so that places stay in registers; GCC does not
 * unroll them at -O2.
 */
#define LANES 16
#define FEW 4

#define SLOT_MASK ((UINT64_C(1) << TW_TREE_SLOT_BITS) - 1)

/* Rows that descend together. */
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
 * Set the keys of a feature's two slots, which are `stride` apart. A value is rounded to
 * a float, as in XGBoost. FLT_MAX replaces infinity: both are on the same side of every
 * finite split, but only FLT_MAX stays in a leaf.
 */
static inline void put_keys(uint64_t *key, size_t stride, const struct tw_rows *in,
			    size_t feature, size_t row)
{
	const double v = tw_rows_value(in, row, feature);

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

/* The child of a node that a row goes to. The keys of a row are `stride` apart. */
static inline uint32_t step(const uint64_t *node, uint32_t at, const uint64_t *key,
			    size_t stride)
{
	const uint64_t n = node[at];

	return ((uint32_t)n >> TW_TREE_SLOT_BITS) - (key[(n & SLOT_MASK) * stride] < n);
}

/* Add the leaves of one tree for LANES rows. */
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

/* Add the leaves of some trees for one row. lanes is a constant where this is inlined. */
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

/* Predict rows in blocks while at least half a block remains. Returns the rows done. */
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

uint64_t tw_trees_row_ns(const struct tw_trees *t)
{
	return t->steps / 2;
}

void tw_trees_release(struct tw_trees *t)
{
	free(t->node);
	free(t->leaf);
	free(t->tree);
	*t = (struct tw_trees){ 0 };
}
