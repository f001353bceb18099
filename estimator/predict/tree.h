/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_TREE_H
#define TW_ESTIMATOR_TREE_H

/*
 * An ensemble of regression trees: a base value plus, for each tree in order, the
 * value of the leaf that a row falls into, all in float.
 *
 * A split sends a row left if its feature, as a float, is below the split value, right
 * if not, and where the split says if it is missing (NaN). That is what XGBoost
 * computes, to the bit.
 *
 * All trees are one flat array: nodes of 8 bytes, siblings side by side, leaves
 * pointing at themselves. So every row takes the same number of steps down a tree and
 * several rows go down together without a branch. Values are compared as integers of
 * the same order: the carry of that comparison is added to the child's place.
 *
 * A node, from its highest bit: tw_tree_key() of the split value, 32 bits; the right
 * child's place, 23, the left child is before it; the slot of the feature's key, 9. Each
 * feature f has two slots, which differ where it is missing: 2f holds a key below all
 * splits then, 2f + 1 one above. A row's key has ones below its 32 bits, so that it is
 * compared with the node as a whole.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct tw_err;
struct tw_rows;

#define TW_TREE_FEATURES_MAX 256
#define TW_TREE_NODES_MAX ((uint32_t)1 << 22)
#define TW_TREE_COUNT_MAX 10000
#define TW_TREE_DEPTH_MAX 64

#define TW_TREE_SLOTS (2 * TW_TREE_FEATURES_MAX)
#define TW_TREE_SLOT_BITS 9

struct tw_tree_root {
	uint32_t at;
	uint32_t depth; /* steps to the deepest leaf */
};

/* All zero bytes is an ensemble without trees. */
struct tw_trees {
	uint64_t *node;
	float *leaf; /* by place of node; 0 where it is no leaf */
	size_t nodes, nodes_size;
	struct tw_tree_root *tree;
	size_t count, count_size;
	size_t steps; /* of a row, down all trees */
	float base;
};

/*
 * A float as an integer of the same order; zeros are equal. NaN has none. All others are
 * between the two keys of what is missing.
 */
static inline uint32_t tw_tree_key(float v)
{
	const float plus_zero = v + 0.0f;
	uint32_t bits;

	memcpy(&bits, &plus_zero, sizeof(bits));
	return bits >> 31 != 0 ? ~bits : bits | UINT32_C(1) << 31;
}

#define TW_TREE_KEY_LEFT 0
#define TW_TREE_KEY_RIGHT UINT32_MAX

/* A tree as foreign files give it: arrays over its nodes, the root first. */
struct tw_tree_arrays {
	size_t nodes;
	const int32_t *left, *right; /* -1: the node is a leaf */
	const int32_t *feature;
	const int32_t *missing_left;
	const float *value; /* split or leaf */
};

/* A node that was cut off; it may be without a parent. */
#define TW_TREE_CUT INT32_MAX

/*
 * Append a tree over `features` features. It is refused if it is not one: a child
 * out of range, a node with two parents or none, a feature out of range, a value that
 * is not finite, deeper than TW_TREE_DEPTH_MAX. Errors name the node.
 */
int tw_trees_add(struct tw_trees *t, const struct tw_tree_arrays *a, size_t features,
		 struct tw_err *err);

/* watts[rows]. features is how many the trees were made over. */
void tw_trees_predict(const struct tw_trees *t, size_t features, const struct tw_rows *in,
		      double *watts);

/* About how long a row takes: half a nanosecond a step. */
uint64_t tw_trees_row_ns(const struct tw_trees *t);

void tw_trees_release(struct tw_trees *t);

#endif /* TW_ESTIMATOR_TREE_H */
