/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/tree.h"

#include "lib/core/err.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

_Static_assert(TW_TREE_NODES_MAX < UINT32_MAX >> TW_TREE_SLOT_BITS,
	       "a place must fit into the link");
_Static_assert(TW_TREE_SLOTS <= 1 << TW_TREE_SLOT_BITS, "a slot must fit into the link");

/* What a walk over a tree needs beside the arrays. */
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

/* Level by level, so that siblings come to lie side by side. */
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
		uint64_t *node = realloc(t->node, size * sizeof(*node));
		float *leaf;

		if (node == NULL)
			return tw_fail(err, TW_NOMEM, "%zu tree nodes", size);
		t->node = node;
		leaf = realloc(t->leaf, size * sizeof(*leaf));
		if (leaf == NULL)
			return tw_fail(err, TW_NOMEM, "%zu tree nodes", size);
		t->leaf = leaf;
		t->nodes_size = size;
	}
	if (t->count == t->count_size) {
		const size_t size = t->count_size != 0 ? t->count_size * 2 : 16;
		struct tw_tree_root *tree = realloc(t->tree, size * sizeof(*tree));

		if (tree == NULL)
			return tw_fail(err, TW_NOMEM, "%zu trees", size);
		t->tree = tree;
		t->count_size = size;
	}
	return 0;
}

static uint64_t make_node(uint32_t right, size_t slot, float split)
{
	return (uint64_t)tw_tree_key(split) << 32 | (uint64_t)right << TW_TREE_SLOT_BITS |
	       slot;
}

/*
 * A leaf is a split that every row passes to the left, and its left child is itself:
 * values are clamped below infinity, and what is missing goes left.
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
