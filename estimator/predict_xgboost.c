/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/registry.h"
#include "estimator/tree.h"
#include "lib/err.h"
#include "lib/json.h"
#include "lib/num.h"
#include "lib/strs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Boosted trees from XGBoost's own JSON (written by XGBoost 1.6 to 2.1).
 *
 *	watts = base_score + sum over trees of the leaf that the row falls into
 *
 * gbtree with a regression objective that leaves the sum as it is, one output, no
 * categorical splits. "split_conditions" holds the values of leaves too.
 */
struct xgboost {
	struct tw_trees trees;
	size_t features;
};

static const char *const objectives[] = {
	"reg:absoluteerror",
	"reg:pseudohubererror",
	"reg:squarederror",
};

#define MODEL "learner.gradient_booster.model"

/* XGBoost writes its parameters as texts. */
static int read_param(const json_t *obj, const char *where, const char *key, double *out,
		      struct tw_err *err)
{
	const char *text;

	if (tw_json_text(obj, where, key, false, &text, err) < 0)
		return -1;
	if (!tw_parse_double(text, strlen(text), out))
		return tw_fail(err, TW_INVALID, "%s.%s: '%.40s' is not a number", where,
			       key, text);
	return 0;
}

static int check_name(const json_t *obj, const char *where, const char *const *names,
		      size_t count, struct tw_err *err)
{
	const char *name;

	if (tw_json_text(obj, where, "name", false, &name, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return 0;
	return tw_fail(err, TW_UNSUPPORTED, "%s.name: '%.40s' is not supported", where,
		       name);
}

static int read_learner(const json_t *learner, struct xgboost *x, struct tw_err *err)
{
	static const char where[] = "learner.learner_model_param";
	const json_t *objective, *param;
	double base, features, classes, targets = 1;

	if (tw_json_object(learner, "learner", "objective", false, &objective, err) < 0 ||
	    check_name(objective, "learner.objective", objectives,
		       sizeof(objectives) / sizeof(objectives[0]), err) < 0 ||
	    tw_json_object(learner, "learner", "learner_model_param", false, &param,
			   err) < 0 ||
	    read_param(param, where, "base_score", &base, err) < 0 ||
	    read_param(param, where, "num_feature", &features, err) < 0 ||
	    read_param(param, where, "num_class", &classes, err) < 0)
		return -1;
	if (json_object_get(param, "num_target") != NULL &&
	    read_param(param, where, "num_target", &targets, err) < 0)
		return -1;
	if (classes > 1 || targets > 1)
		return tw_fail(err, TW_UNSUPPORTED, "%s: more than one output", where);
	if (features != (double)x->features)
		return tw_fail(err, TW_INVALID, "%s.num_feature: %g, the model has %zu",
			       where, features, x->features);
	x->trees.base = (float)base;
	if (!isfinite(x->trees.base))
		return tw_fail(err, TW_INVALID, "%s.base_score: not finite", where);
	return 0;
}

/* An array of a tree, of as many elements as it has nodes. */
static int node_array(const json_t *tree, const char *where, const char *key,
		      size_t nodes, const json_t **out, struct tw_err *err)
{
	const json_t *list;

	if (tw_json_array(tree, where, key, false, &list, err) < 0)
		return -1;
	if (json_array_size(list) != nodes)
		return tw_fail(err, TW_INVALID, "%s.%s: %zu elements for %zu nodes",
			       where, key, json_array_size(list), nodes);
	*out = list;
	return 0;
}

static int read_ints(const json_t *tree, const char *where, const char *key, size_t nodes,
		     int32_t *out, struct tw_err *err)
{
	const json_t *list;

	if (node_array(tree, where, key, nodes, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < nodes; i++) {
		const json_t *v = json_array_get(list, i);
		const json_int_t n = json_is_true(v) ? 1 : json_integer_value(v);

		if (!json_is_integer(v) && !json_is_boolean(v))
			return tw_fail(err, TW_PARSE,
				       "%s.%s[%zu]: expected an integer, got %s", where,
				       key, i, tw_json_type_name(v));
		if (n < INT32_MIN || n > INT32_MAX)
			return tw_fail(err, TW_INVALID, "%s.%s[%zu]: out of range", where,
				       key, i);
		out[i] = (int32_t)n;
	}
	return 0;
}

static int read_floats(const json_t *tree, const char *where, const char *key,
		       size_t nodes, float *out, struct tw_err *err)
{
	const json_t *list;

	if (node_array(tree, where, key, nodes, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < nodes; i++) {
		const json_t *v = json_array_get(list, i);

		if (!json_is_number(v))
			return tw_fail(err, TW_PARSE,
				       "%s.%s[%zu]: expected a number, got %s", where,
				       key, i, tw_json_type_name(v));
		out[i] = (float)json_number_value(v);
	}
	return 0;
}

static int refuse_categories(const json_t *tree, const char *where, size_t nodes,
			     int32_t *scratch, struct tw_err *err)
{
	if (json_object_get(tree, "split_type") == NULL)
		return 0;
	if (read_ints(tree, where, "split_type", nodes, scratch, err) < 0)
		return -1;
	for (size_t i = 0; i < nodes; i++)
		if (scratch[i] != 0)
			return tw_fail(err, TW_UNSUPPORTED,
				       "%s.split_type[%zu]: categorical splits are not "
				       "supported",
				       where, i);
	return 0;
}

static int read_tree(const json_t *tree, size_t number, struct xgboost *x,
		     struct tw_err *err)
{
	char where[sizeof(MODEL) + 32];
	const json_t *list;
	int32_t *ints = NULL;
	float *value = NULL;
	size_t n;
	int rc = -1;

	snprintf(where, sizeof(where), MODEL ".trees[%zu]", number);
	if (tw_json_array(tree, where, "left_children", false, &list, err) < 0)
		return -1;
	n = json_array_size(list);
	if (n == 0 || n > TW_TREE_NODES_MAX)
		return tw_fail(err, TW_INVALID, "%s: %zu nodes", where, n);
	ints = malloc(n * 4 * sizeof(*ints));
	value = malloc(n * sizeof(*value));
	if (ints == NULL || value == NULL) {
		tw_fail(err, TW_NOMEM, "%s: %zu nodes", where, n);
		goto out;
	}
	if (refuse_categories(tree, where, n, ints, err) < 0 ||
	    read_ints(tree, where, "left_children", n, ints, err) < 0 ||
	    read_ints(tree, where, "right_children", n, ints + n, err) < 0 ||
	    read_ints(tree, where, "split_indices", n, ints + 2 * n, err) < 0 ||
	    read_ints(tree, where, "default_left", n, ints + 3 * n, err) < 0 ||
	    read_floats(tree, where, "split_conditions", n, value, err) < 0)
		goto out;
	if (tw_trees_add(&x->trees,
			 &(struct tw_tree_arrays){ .nodes = n,
						   .left = ints,
						   .right = ints + n,
						   .feature = ints + 2 * n,
						   .missing_left = ints + 3 * n,
						   .value = value },
			 x->features, err) < 0) {
		tw_err_wrap(err, "%s", where);
		goto out;
	}
	rc = 0;
out:
	free(value);
	free(ints);
	return rc;
}

static int read_model(const json_t *learner, struct xgboost *x, struct tw_err *err)
{
	static const char booster_where[] = "learner.gradient_booster";
	static const char *const gbtree = "gbtree";
	const json_t *booster, *model, *trees;

	if (tw_json_object(learner, "learner", "gradient_booster", false, &booster, err) <
		    0 ||
	    check_name(booster, booster_where, &gbtree, 1, err) < 0 ||
	    tw_json_object(booster, booster_where, "model", false, &model, err) < 0 ||
	    tw_json_array(model, MODEL, "trees", false, &trees, err) < 0)
		return -1;
	if (json_array_size(trees) > TW_TREE_COUNT_MAX)
		return tw_fail(err, TW_INVALID, MODEL ".trees: %zu trees, limit is %d",
			       json_array_size(trees), TW_TREE_COUNT_MAX);
	for (size_t i = 0; i < json_array_size(trees); i++)
		if (read_tree(json_array_get(trees, i), i, x, err) < 0)
			return -1;
	return 0;
}

static void free_state(void *state)
{
	struct xgboost *x = state;

	if (x == NULL)
		return;
	tw_trees_release(&x->trees);
	free(x);
}

static int load(const char *text, size_t len, const struct tw_strs *features,
		void **state, struct tw_err *err)
{
	const json_t *learner;
	json_t *root = NULL;
	struct xgboost *x = NULL;
	int rc = -1;

	if (features->count > TW_TREE_FEATURES_MAX) {
		tw_fail(err, TW_INVALID, "%zu features, limit is %d", features->count,
			TW_TREE_FEATURES_MAX);
		goto out;
	}
	if (tw_json_parse(text, len, "", &root, err) < 0)
		goto out;
	x = calloc(1, sizeof(*x));
	if (x == NULL) {
		tw_fail(err, TW_NOMEM, "xgboost model");
		goto out;
	}
	x->features = features->count;
	if (tw_json_object(root, "", "learner", false, &learner, err) < 0 ||
	    read_learner(learner, x, err) < 0 || read_model(learner, x, err) < 0)
		goto out;
	*state = x;
	x = NULL;
	rc = 0;
out:
	free_state(x);
	json_decref(root);
	return rc;
}

static void predict(const void *state, const struct tw_rows *in, double *watts)
{
	const struct xgboost *x = state;

	tw_trees_predict(&x->trees, x->features, in, watts);
}

const struct tw_predictor tw_predictor_xgboost = {
	.name = "xgboost",
	.summary = "boosted trees, XGBoost's JSON",
	.load = load,
	.predict = predict,
	.free = free_state,
};
