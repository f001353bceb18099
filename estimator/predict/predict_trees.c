/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/predictor.h"
#include "estimator/predict/tree.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/json/json.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * A sum of regression trees. For a mean of trees, the trainer divides the leaves by the
 * number of trees.
 *
 *	{"trees": {"base": b, "forest": [{"split": [..], "value": [..]}, ..]}}
 *
 * The nodes of a tree are in preorder: a node, its left subtree, its right subtree. split
 * is the index of a feature, or -1 for a leaf. value is the threshold (a row goes left if
 * its feature is below), or the watts of a leaf.
 */
#define ROOT "trees"

struct trees {
	struct tw_trees trees;
	size_t features;
};

/*
 * The arrays of a tree, and a stack of the splits whose right child is not read yet. The
 * integers are in the allocation of the first.
 */
struct nodes {
	int32_t *left, *right, *feature, *missing_left, *open;
	float *value;
};

static void release(void *state)
{
	struct trees *t = state;

	tw_trees_release(&t->trees);
}

static int nodes_init(struct nodes *n, size_t count, struct tw_err *err)
{
	n->left = calloc(count, 5 * sizeof(*n->left));
	n->value = calloc(count, sizeof(*n->value));
	if (n->left == NULL || n->value == NULL)
		return tw_fail(err, TW_NOMEM, "tree of %zu nodes", count);
	n->right = n->left + count;
	n->feature = n->right + count;
	n->missing_left = n->feature + count;
	n->open = n->missing_left + count;
	return 0;
}

static int read_node(const json_t *split, const json_t *value, const char *where,
		     size_t i, struct nodes *n, struct tw_err *err)
{
	const json_t *s = json_array_get(split, i), *v = json_array_get(value, i);

	if (!json_is_integer(s) || json_integer_value(s) < -1 ||
	    json_integer_value(s) >= TW_TREE_FEATURES_MAX)
		return tw_fail(err, TW_INVALID,
			       "%s.split[%zu]: expected -1 or the index of a feature",
			       where, i);
	if (!json_is_number(v) || !(fabs(json_number_value(v)) <= FLT_MAX))
		return tw_fail(err, TW_INVALID,
			       "%s.value[%zu]: expected a number that fits a float",
			       where, i);
	n->feature[i] = (int32_t)json_integer_value(s);
	n->value[i] = (float)json_number_value(v);
	n->left[i] = n->right[i] = -1;
	return 0;
}

/*
 * A node behind a split is its left child. A node behind a leaf is the right child of the
 * last split on the stack.
 */
static int read_nodes(const json_t *split, const json_t *value, const char *where,
		      struct nodes *n, struct tw_err *err)
{
	const size_t count = json_array_size(split);
	size_t depth = 0;

	for (size_t i = 0; i < count; i++) {
		if (read_node(split, value, where, i, n, err) < 0)
			return -1;
		if (i > 0 && n->feature[i - 1] != -1) {
			n->left[i - 1] = (int32_t)i;
			n->open[depth++] = (int32_t)i - 1;
		} else if (i > 0) {
			if (depth == 0)
				return tw_fail(
					err, TW_INVALID,
					"%s: node %zu is behind the end of the tree",
					where, i);
			n->right[n->open[--depth]] = (int32_t)i;
		}
	}
	if (depth > 0 || n->feature[count - 1] != -1)
		return tw_fail(err, TW_INVALID, "%s: the tree lacks nodes", where);
	return 0;
}

static int read_tree(const json_t *obj, const char *where, struct trees *t,
		     struct tw_err *err)
{
	const json_t *split, *value;
	struct nodes n = { 0 };
	size_t count;
	int rc = -1;

	if (tw_json_array(obj, where, "split", false, &split, err) < 0 ||
	    tw_json_array(obj, where, "value", false, &value, err) < 0)
		return -1;
	count = json_array_size(split);
	if (count == 0 || count != json_array_size(value) || count > TW_TREE_NODES_MAX)
		return tw_fail(err, TW_INVALID, "%s: %zu splits and %zu values", where,
			       count, json_array_size(value));
	if (nodes_init(&n, count, err) < 0 ||
	    read_nodes(split, value, where, &n, err) < 0)
		goto out;
	if (tw_trees_add(&t->trees,
			 &(struct tw_tree_arrays){ .nodes = count,
						   .left = n.left,
						   .right = n.right,
						   .feature = n.feature,
						   .missing_left = n.missing_left,
						   .value = n.value },
			 t->features, err) < 0) {
		tw_err_wrap(err, "%s", where);
		goto out;
	}

	rc = 0;
out:
	free(n.left);
	free(n.value);
	return rc;
}

static int read_trees(const json_t *root, const struct tw_strs *features, void *state,
		      struct tw_err *err)
{
	struct trees *t = state;
	const json_t *obj, *forest;
	char where[64];
	double base;

	if (features->count > TW_TREE_FEATURES_MAX)
		return tw_fail(err, TW_INVALID, "%zu features, limit is %d",
			       features->count, TW_TREE_FEATURES_MAX);
	t->features = features->count;
	if (tw_json_object(root, "", ROOT, false, &obj, err) < 0 ||
	    tw_json_number(obj, ROOT, "base", false, &base, err) < 0 ||
	    tw_json_array(obj, ROOT, "forest", false, &forest, err) < 0)
		return -1;
	if (!(fabs(base) <= FLT_MAX))
		return tw_fail(err, TW_INVALID, ROOT ".base: %g is out of range", base);
	t->trees.base = (float)base;
	for (size_t i = 0; i < json_array_size(forest); i++) {
		const json_t *tree = json_array_get(forest, i);

		snprintf(where, sizeof(where), ROOT ".forest[%zu]", i);
		if (!json_is_object(tree))
			return tw_fail(err, TW_PARSE, "%s: expected an object, got %s",
				       where, tw_json_type_name(tree));
		if (read_tree(tree, where, t, err) < 0)
			return -1;
	}
	return 0;
}

static void predict(const void *state, const struct tw_rows *in, double *watts)
{
	const struct trees *t = state;

	tw_trees_predict(&t->trees, t->features, in, watts);
}

static uint64_t row_ns(const void *state)
{
	const struct trees *t = state;

	return tw_trees_row_ns(&t->trees);
}

const struct tw_predictor tw_predictor_trees = {
	.name = "trees",
	.summary = "the sum of regression trees",
	.state_bytes = sizeof(struct trees),
	.read = read_trees,
	.release = release,
	.predict = predict,
	.row_ns = row_ns,
};
