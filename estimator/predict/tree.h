/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_TREE_H
#define TW_ESTIMATOR_TREE_H

/*
 * An ensemble of regression trees. A prediction is the base value plus, for each tree in
 * order, the value of the leaf that the row reaches. All values are floats.
 *
 * At a split a row goes left if its feature, as a float, is below the split value, and
 * right otherwise. For a missing feature (NaN) the split has a default side. The results
 * equal XGBoost's to the bit.
 *
 * All trees are in one array of 8-byte nodes. Siblings are adjacent, and a leaf points at
 * itself. Every row therefore takes the same number of steps down a tree, and several
 * rows descend together without a branch. Values are compared as integers of the same
 * order; the carry of the comparison selects the child.
 *
 * The bits of a node, from the highest: 32 bits tw_tree_key() of the split value; 23 bits
 * place of the right child, behind its left sibling; 9 bits slot of the feature's key.
 * Each feature f has two slots, which differ only if the feature is missing: slot 2f then
 * has a key below all splits, slot 2f + 1 a key above. The low 32 bits of a row's key are
 * ones, so that the key can be compared with the whole node.
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
	uint32_t depth; /* steps from the root to the deepest leaf */
};

/* All zero bytes is an ensemble without trees. */
struct tw_trees {
	uint64_t *node;
	float *leaf; /* by place of the node; 0 for a split */
	size_t nodes, nodes_size;
	struct tw_tree_root *tree;
	size_t count, count_size;
	size_t steps; /* of a row, over all trees */
	float base;
};

/*
 * Map a float to an integer of the same order; both zeros map to the same one. NaN is not
 * allowed. The results lie between the two keys of a missing feature.
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

/* A tree as files have it: arrays over its nodes, the root first. */
struct tw_tree_arrays {
	size_t nodes;
	const int32_t *left, *right; /* -1: the node is a leaf */
	const int32_t *feature;
	const int32_t *missing_left;
	const float *value; /* split or leaf */
};

/* Value of feature for a pruned node, which may have no parent. */
#define TW_TREE_CUT INT32_MAX

/*
 * Append a tree over `features` features. Rejects arrays that are not a tree: a child or
 * a feature is out of range, a node has two parents or none, a value is not finite, the
 * tree is deeper than TW_TREE_DEPTH_MAX. Errors name the node.
 */
int tw_trees_add(struct tw_trees *t, const struct tw_tree_arrays *a, size_t features,
		 struct tw_err *err);

/*
 * Keep the first `count` trees, multiply the leaves of tree i by weight[i] (NULL: by 1),
 * and let feature f be order[f].
 */
void tw_trees_adapt(struct tw_trees *t, size_t count, const float *weight,
		    const uint32_t *order);

/* Set watts[rows]. features is the number that the trees were added with. */
void tw_trees_predict(const struct tw_trees *t, size_t features, const struct tw_rows *in,
		      double *watts);

/* Estimated time of a row: half a nanosecond for each step. */
uint64_t tw_trees_row_ns(const struct tw_trees *t);

void tw_trees_release(struct tw_trees *t);

#endif /* TW_ESTIMATOR_TREE_H */
