/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/predictor.h"
#include "estimator/predict/tree.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/json/jsax.h"
#include "lib/json/ubjson.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Boosters in XGBoost's JSON or UBJSON.
 *
 *	watts = base_score + sum over trees of weight * the leaf that the row falls into
 *
 * The weights of gbtree are 1, those of dart are its weight_drop. gblinear has instead
 *
 *	watts = base_score + bias + sum over features of weight * feature
 *
 * (T. Chen, C. Guestrin, XGBoost: A Scalable Tree Boosting System, KDD 2016, section 2.)
 *
 * The reader takes what XGBoost 1.6 to 3.1 write, as a stream, so it needs the memory of
 * the trees and of the arrays of one tree. It accepts one output, no categorical splits,
 * and a regression objective that does not transform the sum. Trees after best_iteration
 * are left out, as XGBoost's predictions after early stopping do. feature_names in
 * another order than the model's features are matched by name; names that are all
 * unknown, such as f0, are matched by place. Other errors name the place:
 * "learner.gradient_booster.model.trees[3].left_children[2]: out of range".
 */
struct xgboost {
	struct tw_trees trees;
	size_t features;
	bool constant; /* no tree has a split, as for a component that was always 0 */
	double watts;  /* of every row, if constant */
	float *weight; /* of gblinear: of each feature, and the bias; else NULL */
};

#define DEPTH_MAX 64
#define TEXT_MAX 64 /* bytes of a text member, with its NUL */

/*
 * Lists of a tree, over its nodes, then those of a booster. VALUE is "split_conditions":
 * splits and leaves. It and those after it have floats.
 */
enum list {
	LEFT,
	RIGHT,
	FEATURE,
	MISSING_LEFT,
	SPLIT_TYPE,
	VALUE,
	TREE_LISTS,
	DROP = TREE_LISTS,
	WEIGHTS,
	LISTS,
	NAMES = LISTS /* of texts */
};

enum text {
	BASE_SCORE,
	NUM_FEATURE,
	NUM_CLASS,
	NUM_TARGET,
	OBJECTIVE,
	BOOSTER,
	BEST,
	PARALLEL,
	TEXTS
};

/* Containers with members of interest; the others are skipped. */
enum place {
	AT_TOP,
	AT_LEARNER,
	AT_PARAM,
	AT_OBJECTIVE,
	AT_BOOSTER,
	AT_MODEL,
	AT_INNER, /* the gbtree of dart */
	AT_ATTRIBUTES,
	AT_TREE_PARAM,
	AT_TREES,
	AT_TREE,
	AT_LIST
};

/* Members of interest, by container. */
static const struct member {
	enum place in;
	const char *key;
	enum tw_jsax_type type;
	unsigned is; /* enum place of a container; enum text or list of other members */
	bool optional, list;
} members[] = {
	{ AT_TOP, "learner", TW_JSAX_OBJECT, AT_LEARNER, false, false },
	{ AT_LEARNER, "learner_model_param", TW_JSAX_OBJECT, AT_PARAM, false, false },
	{ AT_LEARNER, "objective", TW_JSAX_OBJECT, AT_OBJECTIVE, false, false },
	{ AT_LEARNER, "gradient_booster", TW_JSAX_OBJECT, AT_BOOSTER, false, false },
	{ AT_LEARNER, "attributes", TW_JSAX_OBJECT, AT_ATTRIBUTES, true, false },
	{ AT_LEARNER, "feature_names", TW_JSAX_ARRAY, NAMES, true, true },
	{ AT_PARAM, "base_score", TW_JSAX_TEXT, BASE_SCORE, false, false },
	{ AT_PARAM, "num_feature", TW_JSAX_TEXT, NUM_FEATURE, false, false },
	{ AT_PARAM, "num_class", TW_JSAX_TEXT, NUM_CLASS, false, false },
	{ AT_PARAM, "num_target", TW_JSAX_TEXT, NUM_TARGET, true, false },
	{ AT_OBJECTIVE, "name", TW_JSAX_TEXT, OBJECTIVE, false, false },
	{ AT_ATTRIBUTES, "best_iteration", TW_JSAX_TEXT, BEST, true, false },
	{ AT_BOOSTER, "name", TW_JSAX_TEXT, BOOSTER, false, false },
	{ AT_BOOSTER, "model", TW_JSAX_OBJECT, AT_MODEL, true, false },
	{ AT_BOOSTER, "gbtree", TW_JSAX_OBJECT, AT_INNER, true, false },
	{ AT_BOOSTER, "weight_drop", TW_JSAX_ARRAY, DROP, true, true },
	{ AT_INNER, "model", TW_JSAX_OBJECT, AT_MODEL, true, false },
	{ AT_MODEL, "trees", TW_JSAX_ARRAY, AT_TREES, true, false },
	{ AT_MODEL, "weights", TW_JSAX_ARRAY, WEIGHTS, true, true },
	{ AT_MODEL, "gbtree_model_param", TW_JSAX_OBJECT, AT_TREE_PARAM, true, false },
	{ AT_TREE_PARAM, "num_parallel_tree", TW_JSAX_TEXT, PARALLEL, true, false },
	{ AT_TREE, "left_children", TW_JSAX_ARRAY, LEFT, false, true },
	{ AT_TREE, "right_children", TW_JSAX_ARRAY, RIGHT, false, true },
	{ AT_TREE, "split_indices", TW_JSAX_ARRAY, FEATURE, false, true },
	{ AT_TREE, "default_left", TW_JSAX_ARRAY, MISSING_LEFT, false, true },
	{ AT_TREE, "split_type", TW_JSAX_ARRAY, SPLIT_TYPE, true, true },
	{ AT_TREE, "split_conditions", TW_JSAX_ARRAY, VALUE, false, true },
};

_Static_assert(TW_COUNT(members) <= 32, "reader.seen has a bit for each member");

static const char *const paths[] = {
	[AT_TOP] = "",
	[AT_LEARNER] = "learner.",
	[AT_PARAM] = "learner.learner_model_param.",
	[AT_OBJECTIVE] = "learner.objective.",
	[AT_BOOSTER] = "learner.gradient_booster.",
	[AT_MODEL] = "learner.gradient_booster.model.",
	[AT_INNER] = "learner.gradient_booster.gbtree.",
	[AT_ATTRIBUTES] = "learner.attributes.",
	[AT_TREE_PARAM] = "learner.gradient_booster.model.gbtree_model_param.",
};

static const char *const objectives[] = { "reg:absoluteerror", "reg:pseudohubererror",
					  "reg:squarederror" };
static const char *const boosters[] = { "dart", "gblinear", "gbtree" };

/* A list; its memory is reused for the next tree. */
struct values {
	union {
		int32_t *i;
		float *f; /* VALUE and after */
	} v;
	size_t count, size;
};

struct reader {
	struct tw_trees *trees;
	const struct tw_strs *features;
	struct tw_strs names;
	enum place at[DEPTH_MAX];  /* of the container at each depth */
	const struct member *next; /* the member whose value is next; NULL: skip it */
	const struct member *list; /* the list that is being read */
	unsigned skip;             /* 1 + depth of the container being skipped; 0: none */
	uint32_t seen; /* a bit for each member; those of AT_TREE for the current tree */
	char text[TEXTS][TEXT_MAX]; /* truncated; no valid text is longer */
	struct values values[LISTS];
};

/* "learner.gradient_booster.model.trees[3].left_children" */
static const char *path_of(const struct reader *r, const struct member *m, char out[96])
{
	if (m->in == AT_TREE)
		snprintf(out, 96, "%strees[%zu].%s", paths[AT_MODEL], r->trees->count,
			 m->key);
	else
		snprintf(out, 96, "%s%s", paths[m->in], m->key);
	return out;
}

static int take_key(struct reader *r, const struct tw_jsax_event *e, struct tw_err *err)
{
	const enum place in = r->at[e->depth - 1];
	char path[96];

	r->next = NULL;
	for (size_t i = 0; i < TW_COUNT(members); i++) {
		const struct member *m = &members[i];

		if (m->in != in || strlen(m->key) != e->len ||
		    memcmp(m->key, e->text, e->len) != 0)
			continue;
		if ((r->seen >> i & 1) != 0)
			return tw_fail(err, TW_PARSE, "%s: given twice",
				       path_of(r, m, path));
		r->seen |= UINT32_C(1) << i;
		r->next = m;
	}
	return 0;
}

/* Fail if a required member of a container is missing. */
static int check_members(const struct reader *r, enum place in, struct tw_err *err)
{
	char path[96];

	for (size_t i = 0; i < TW_COUNT(members); i++)
		if (members[i].in == in && !members[i].optional &&
		    (r->seen >> i & 1) == 0)
			return tw_fail(err, TW_PARSE, "%s: missing",
				       path_of(r, &members[i], path));
	return 0;
}

static bool has_member(const struct reader *r, enum place in, const char *key)
{
	for (size_t i = 0; i < TW_COUNT(members); i++)
		if (members[i].in == in && strcmp(members[i].key, key) == 0)
			return (r->seen >> i & 1) != 0;
	return false;
}

/* ---- trees ---- */

static int begin_tree(struct reader *r, const struct tw_jsax_event *e, struct tw_err *err)
{
	if (e->type != TW_JSAX_OBJECT)
		return tw_fail(err, TW_PARSE, "%strees[%zu]: expected an object, got %s",
			       paths[AT_MODEL], r->trees->count,
			       tw_jsax_type_name(e->type));
	if (r->trees->count >= TW_TREE_COUNT_MAX)
		return tw_fail(err, TW_INVALID, "%strees: more than %d", paths[AT_MODEL],
			       TW_TREE_COUNT_MAX);
	for (size_t i = 0; i < TW_COUNT(members); i++)
		if (members[i].in == AT_TREE)
			r->seen &= ~(UINT32_C(1) << i);
	for (size_t l = 0; l < TREE_LISTS; l++)
		r->values[l].count = 0;
	r->at[e->depth] = AT_TREE;
	return 0;
}

_Static_assert(sizeof(int32_t) == sizeof(float), "struct values has one element size");

static int take_integer(struct reader *r, const struct tw_jsax_event *e, int32_t *out,
			struct tw_err *err)
{
	const size_t i = r->values[r->list->is].count;
	const bool boolean = e->type == TW_JSAX_TRUE || e->type == TW_JSAX_FALSE;
	const double v = boolean ? e->type == TW_JSAX_TRUE : e->number;
	char path[96];

	if (!boolean && (e->type != TW_JSAX_NUMBER || v != trunc(v)))
		return tw_fail(err, TW_PARSE, "%s[%zu]: expected an integer, got %s",
			       path_of(r, r->list, path), i, tw_jsax_type_name(e->type));
	if (v < INT32_MIN || v > INT32_MAX)
		return tw_fail(err, TW_INVALID, "%s[%zu]: out of range",
			       path_of(r, r->list, path), i);
	if (r->list->is == SPLIT_TYPE && v != 0)
		return tw_fail(err, TW_UNSUPPORTED,
			       "%s[%zu]: categorical splits are not supported",
			       path_of(r, r->list, path), i);
	*out = (int32_t)v;
	return 0;
}

static int take_name(struct reader *r, const struct tw_jsax_event *e, struct tw_err *err)
{
	if (e->type != TW_JSAX_TEXT || r->names.count == TW_TREE_FEATURES_MAX)
		return tw_fail(err, TW_INVALID,
			       "%sfeature_names[%zu]: expected a string, and at most %d",
			       paths[AT_LEARNER], r->names.count, TW_TREE_FEATURES_MAX);
	return tw_strs_add(&r->names, e->text, e->len, err);
}

static int take_value(struct reader *r, const struct tw_jsax_event *e, struct tw_err *err)
{
	struct values *l = &r->values[r->list->is];
	char path[96];

	if (r->list->is == NAMES)
		return take_name(r, e, err);
	if (l->count >= TW_TREE_NODES_MAX)
		return tw_fail(err, TW_INVALID, "%s: more than %u elements",
			       path_of(r, r->list, path), TW_TREE_NODES_MAX);
	/* int32_t and float have the same size. */
	if (!tw_grow(&l->v.i, &l->size, l->count, sizeof(*l->v.i)))
		return tw_fail(err, TW_NOMEM, "tree of %zu nodes", l->count);
	if (r->list->is < VALUE) {
		if (take_integer(r, e, &l->v.i[l->count], err) < 0)
			return -1;
	} else if (e->type == TW_JSAX_NUMBER) {
		l->v.f[l->count] = (float)e->number;
	} else {
		return tw_fail(err, TW_PARSE, "%s[%zu]: expected a number, got %s",
			       path_of(r, r->list, path), l->count,
			       tw_jsax_type_name(e->type));
	}
	l->count++;
	return 0;
}

static int check_lists(const struct reader *r, struct tw_err *err)
{
	const size_t nodes = r->values[LEFT].count;
	char path[96];

	if (nodes == 0)
		return tw_fail(err, TW_INVALID, "%strees[%zu]: 0 nodes", paths[AT_MODEL],
			       r->trees->count);
	for (size_t i = 0; i < TW_COUNT(members); i++) {
		const struct member *m = &members[i];

		if (m->in == AT_TREE && (r->seen >> i & 1) != 0 &&
		    r->values[m->is].count != nodes)
			return tw_fail(err, TW_INVALID, "%s: %zu elements for %zu nodes",
				       path_of(r, m, path), r->values[m->is].count,
				       nodes);
	}
	return 0;
}

static int end_tree(struct reader *r, struct tw_err *err)
{
	const struct tw_tree_arrays a = {
		.nodes = r->values[LEFT].count,
		.left = r->values[LEFT].v.i,
		.right = r->values[RIGHT].v.i,
		.feature = r->values[FEATURE].v.i,
		.missing_left = r->values[MISSING_LEFT].v.i,
		.value = r->values[VALUE].v.f,
	};

	if (check_members(r, AT_TREE, err) < 0 || check_lists(r, err) < 0)
		return -1;
	if (tw_trees_add(r->trees, &a, r->features->count, err) < 0)
		return tw_err_wrap(err, "%strees[%zu]", paths[AT_MODEL], r->trees->count);
	return 0;
}

/* ---- the document ---- */

static int take_member(struct reader *r, const struct tw_jsax_event *e,
		       struct tw_err *err)
{
	const struct member *m = r->next;
	char path[96];

	r->next = NULL;
	if (m == NULL) {
		if (e->type == TW_JSAX_OBJECT || e->type == TW_JSAX_ARRAY)
			r->skip = e->depth + 1;
		return 0;
	}
	if (e->type != m->type)
		return tw_fail(err, TW_PARSE, "%s: expected %s, got %s",
			       path_of(r, m, path), tw_jsax_type_name(m->type),
			       tw_jsax_type_name(e->type));
	if (m->type == TW_JSAX_TEXT) {
		snprintf(r->text[m->is], TEXT_MAX, "%.*s",
			 (int)(e->len < TEXT_MAX ? e->len : TEXT_MAX), e->text);
	} else if (m->list) {
		r->at[e->depth] = AT_LIST;
		r->list = m;
	} else {
		r->at[e->depth] = (enum place)m->is;
	}
	return 0;
}

static int take_event(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	struct reader *r = arg;
	const bool ends = e->type == TW_JSAX_OBJECT_END || e->type == TW_JSAX_ARRAY_END;

	if (r->skip != 0) {
		if (ends && e->depth + 1 == r->skip)
			r->skip = 0;
		return 0;
	}
	if (ends)
		return r->at[e->depth] == AT_TREE ? end_tree(r, err) : 0;
	if (e->type == TW_JSAX_KEY)
		return take_key(r, e, err);
	if (e->depth == 0) {
		r->at[0] = AT_TOP;
		return e->type == TW_JSAX_OBJECT
			       ? 0
			       : tw_fail(err, TW_PARSE, "expected an object, got %s",
					 tw_jsax_type_name(e->type));
	}
	if (r->at[e->depth - 1] == AT_TREES)
		return begin_tree(r, e, err);
	if (r->at[e->depth - 1] == AT_LIST)
		return take_value(r, e, err);
	return take_member(r, e, err);
}

/* Read a text that is a number. XGBoost 3.1 writes "[5E-1]" for a list of one. */
static int read_number(const struct reader *r, enum text t, double *out,
		       struct tw_err *err)
{
	const char *text = r->text[t];
	size_t len = strlen(text), i = 0;
	char path[96];

	if (len > 1 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	if (tw_parse_double(text, len, out))
		return 0;
	while (members[i].type != TW_JSAX_TEXT || members[i].is != (unsigned)t)
		i++;
	return tw_fail(err, TW_INVALID, "%s: '%.40s' is not a number",
		       path_of(r, &members[i], path), r->text[t]);
}

static int check_name(const char *name, const char *const *known, size_t count,
		      enum place in, struct tw_err *err)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(known[i], name) == 0)
			return 0;
	return tw_fail(err, TW_UNSUPPORTED, "%sname: '%.40s' is not supported", paths[in],
		       name);
}

/* Check the parameters of the learner at the end of the document. */
static int check_learner(struct reader *r, struct tw_err *err)
{
	double base, features, classes, targets = 1;

	for (enum place in = AT_TOP; in <= AT_MODEL; in++)
		if (check_members(r, in, err) < 0)
			return -1;
	if (check_name(r->text[OBJECTIVE], objectives, TW_COUNT(objectives), AT_OBJECTIVE,
		       err) < 0 ||
	    check_name(r->text[BOOSTER], boosters, TW_COUNT(boosters), AT_BOOSTER, err) <
		    0 ||
	    read_number(r, NUM_FEATURE, &features, err) < 0 ||
	    read_number(r, NUM_CLASS, &classes, err) < 0)
		return -1;
	if (r->text[NUM_TARGET][0] != '\0' &&
	    read_number(r, NUM_TARGET, &targets, err) < 0)
		return -1;
	if (classes > 1 || targets > 1)
		return tw_fail(err, TW_UNSUPPORTED, "%s: more than one output",
			       paths[AT_PARAM]);
	if (features != (double)r->features->count)
		return tw_fail(err, TW_INVALID, "%snum_feature: %g, the model has %zu",
			       paths[AT_PARAM], features, r->features->count);
	if (read_number(r, BASE_SCORE, &base, err) < 0)
		return -1;
	r->trees->base = (float)base;
	if (!isfinite(r->trees->base))
		return tw_fail(err, TW_INVALID, "%sbase_score: not finite",
			       paths[AT_PARAM]);
	return 0;
}

/* order[f] is the model's feature with the name of the booster's feature f. */
static int match_names(const struct reader *r, uint32_t *order, struct tw_err *err)
{
	const size_t count = r->features->count;
	bool used[TW_TREE_FEATURES_MAX] = { false };
	size_t known = 0;

	for (size_t f = 0; f < count; f++)
		order[f] = (uint32_t)f;
	for (size_t f = 0; f < r->names.count; f++)
		known += tw_strs_find(r->features, r->names.at[f]) >= 0;
	if (known == 0)
		return 0;
	for (size_t f = 0; f < r->names.count; f++) {
		const ptrdiff_t at = tw_strs_find(r->features, r->names.at[f]);

		if (at < 0 || used[at] || r->names.count != count)
			return tw_fail(err, TW_INVALID,
				       "%sfeature_names: %zu names, and '%.64s' is %s",
				       paths[AT_LEARNER], r->names.count, r->names.at[f],
				       at < 0 ? "no feature of the model"
					      : "not the only one for each feature");
		used[at] = true;
		order[f] = (uint32_t)at;
	}
	return 0;
}

/* The number of trees up to the best iteration. */
static int count_trees(const struct reader *r, size_t *out, struct tw_err *err)
{
	double best, parallel = 1;

	*out = r->trees->count;
	if (r->text[BEST][0] == '\0')
		return 0;
	if (read_number(r, BEST, &best, err) < 0 ||
	    (r->text[PARALLEL][0] != '\0' &&
	     read_number(r, PARALLEL, &parallel, err) < 0))
		return -1;
	best = (best + 1) * fmax(parallel, 1);
	if (best >= 1 && best < (double)*out)
		*out = (size_t)best;
	return 0;
}

static int finish_trees(struct reader *r, const uint32_t *order, struct tw_err *err)
{
	const bool dart = strcmp(r->text[BOOSTER], "dart") == 0;
	const struct values *drop = &r->values[DROP];
	size_t trees;

	if (!has_member(r, AT_MODEL, "trees"))
		return tw_fail(err, TW_PARSE, "%strees: missing", paths[AT_MODEL]);
	if (dart && drop->count != r->trees->count)
		return tw_fail(err, TW_INVALID,
			       "%sweight_drop: %zu elements for %zu trees",
			       paths[AT_BOOSTER], drop->count, r->trees->count);
	if (count_trees(r, &trees, err) < 0)
		return -1;
	tw_trees_adapt(r->trees, trees, dart ? drop->v.f : NULL, order);
	return 0;
}

static int finish_linear(struct reader *r, const uint32_t *order, struct xgboost *out,
			 struct tw_err *err)
{
	const size_t count = r->features->count;
	const struct values *w = &r->values[WEIGHTS];

	if (w->count != count + 1)
		return tw_fail(err, TW_INVALID, "%sweights: %zu elements, want %zu",
			       paths[AT_MODEL], w->count, count + 1);
	out->weight = calloc(count + 1, sizeof(*out->weight));
	if (out->weight == NULL)
		return tw_fail(err, TW_NOMEM, "%zu weights", w->count);
	for (size_t f = 0; f <= count; f++) {
		if (!isfinite(w->v.f[f]))
			return tw_fail(err, TW_INVALID, "%sweights[%zu]: not finite",
				       paths[AT_MODEL], f);
		out->weight[f < count ? order[f] : f] = w->v.f[f];
	}
	return 0;
}

/* Read text[0..len) into an empty booster over the features. */
static int read_document(const char *text, size_t len, const struct tw_strs *features,
			 struct xgboost *out, struct tw_err *err)
{
	static const struct tw_jsax_limits limits = { .depth = DEPTH_MAX,
						      .text_bytes = 1 << 20 };
	struct reader r = { .trees = &out->trees, .features = features };
	uint32_t order[TW_TREE_FEATURES_MAX];
	int rc = -1;

	if ((tw_ubjson_is(text, len) ? tw_ubjson_parse : tw_jsax_parse)(
		    &limits, take_event, &r, text, len, err) == 0 &&
	    check_learner(&r, err) == 0 && match_names(&r, order, err) == 0)
		rc = strcmp(r.text[BOOSTER], "gblinear") == 0
			     ? finish_linear(&r, order, out, err)
			     : finish_trees(&r, order, err);
	for (size_t l = 0; l < LISTS; l++)
		free(r.values[l].v.i);
	tw_strs_clear(&r.names);
	return rc;
}

/* ---- the predictor ---- */

static void release(void *state)
{
	struct xgboost *x = state;

	tw_trees_release(&x->trees);
	free(x->weight);
}

/* Replace trees without splits by their sum. */
static void find_constant(struct xgboost *x)
{
	static const double zeros[TW_TREE_FEATURES_MAX];
	const struct tw_rows row = { .x = zeros, .rows = 1, .stride = x->features };

	if (x->weight != NULL || x->trees.nodes != x->trees.count)
		return;
	tw_trees_predict(&x->trees, x->features, &row, &x->watts);
	tw_trees_release(&x->trees);
	x->constant = true;
}

static int read_text(const char *text, size_t len, const struct tw_strs *features,
		     void *state, struct tw_err *err)
{
	struct xgboost *x = state;

	if (features->count > TW_TREE_FEATURES_MAX)
		return tw_fail(err, TW_INVALID, "%zu features, limit is %d",
			       features->count, TW_TREE_FEATURES_MAX);
	x->features = features->count;
	if (read_document(text, len, features, x, err) < 0)
		return -1;
	find_constant(x);
	return 0;
}

/* Compute in floats, as XGBoost does. A missing feature adds nothing. */
static double predict_linear(const struct xgboost *x, const struct tw_rows *in,
			     size_t row)
{
	float sum = x->weight[x->features] + x->trees.base;

	for (size_t f = 0; f < x->features; f++) {
		const double v = tw_rows_value(in, row, f);

		if (!isnan(v))
			sum += (float)v * x->weight[f];
	}
	return (double)sum;
}

static void predict(const void *state, const struct tw_rows *in, double *watts)
{
	const struct xgboost *x = state;

	if (x->weight != NULL) {
		for (size_t r = 0; r < in->rows; r++)
			watts[r] = predict_linear(x, in, r);
		return;
	}
	if (!x->constant) {
		tw_trees_predict(&x->trees, x->features, in, watts);
		return;
	}
	for (size_t r = 0; r < in->rows; r++)
		watts[r] = x->watts;
}

static uint64_t row_ns(const void *state)
{
	const struct xgboost *x = state;

	return tw_trees_row_ns(&x->trees);
}

const struct tw_predictor tw_predictor_xgboost = {
	.name = "xgboost",
	.summary = "boosters of XGBoost, its JSON or UBJSON",
	.state_bytes = sizeof(struct xgboost),
	.read_text = read_text,
	.release = release,
	.predict = predict,
	.row_ns = row_ns,
};
