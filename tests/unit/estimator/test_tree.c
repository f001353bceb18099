/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "estimator/predict/predictor.h"
#include "estimator/predict/tree.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Trees against a walk over their arrays by the rule of XGBoost: a row goes left if its
 * value, as a float, is below the split; a missing value goes to the default side; leaves
 * are added to the base in order, as floats.
 */

#define FEATURES 3
#define STRIDE 5
#define ROWS 40
#define TREES 40
#define NODES (2 * TW_TREE_DEPTH_MAX + 3)

struct arrays {
	int32_t left[NODES], right[NODES], feature[NODES], missing_left[NODES];
	float value[NODES];
	size_t nodes;
};

static struct tw_tree_arrays view(const struct arrays *a)
{
	return (struct tw_tree_arrays){
		.nodes = a->nodes,
		.left = a->left,
		.right = a->right,
		.feature = a->feature,
		.missing_left = a->missing_left,
		.value = a->value,
	};
}

/* A fixed sequence: the same cases in every run. */
static unsigned draw(unsigned *seed, unsigned count)
{
	*seed = *seed * 1103515245u + 12345u;
	return (*seed >> 16) % count;
}

static void put_leaf(struct arrays *a, size_t i, float value)
{
	a->left[i] = a->right[i] = -1;
	a->feature[i] = 0;
	a->missing_left[i] = 0;
	a->value[i] = value;
}

static void split(struct arrays *a, size_t i, int feature, float value, bool missing_left)
{
	a->left[i] = (int32_t)a->nodes;
	a->right[i] = (int32_t)a->nodes + 1;
	a->feature[i] = feature;
	a->missing_left[i] = missing_left;
	a->value[i] = value;
	a->nodes += 2;
}

/* Split random leaves of a random tree; leaves are not sums of powers of two. */
static void draw_tree(struct arrays *a, unsigned *seed)
{
	static const float splits[] = { -2, -0.0f, 0, 1, 1.5f, 3, -FLT_MAX, FLT_MAX };
	const unsigned count = draw(seed, 8);

	a->nodes = 1;
	put_leaf(a, 0, (float)draw(seed, 1000) / 7.0f);
	for (unsigned n = 0; n < count; n++) {
		size_t i = draw(seed, (unsigned)a->nodes);

		while (a->left[i] != -1)
			i = (i + 1) % a->nodes;
		put_leaf(a, a->nodes, (float)draw(seed, 1000) / 7.0f);
		put_leaf(a, a->nodes + 1, -(float)draw(seed, 1000) / 3.0f);
		split(a, i, (int)draw(seed, FEATURES),
		      splits[draw(seed, TW_COUNT(splits))], draw(seed, 2) == 0);
	}
}

static float walk(const struct arrays *a, const double *x, const uint32_t *place)
{
	size_t i = 0;

	while (a->left[i] != -1) {
		const uint32_t column = place[a->feature[i]];
		const double v = column == UINT32_MAX ? NAN : x[column];
		const bool left =
			isnan(v) ? a->missing_left[i] != 0 : (float)v < a->value[i];

		i = (size_t)(left ? a->left[i] : a->right[i]);
	}
	return a->value[i];
}

static void draw_rows(double *x, unsigned *seed)
{
	static const double values[] = { -3,       -2,        -1,      0,  -0.0,  0.5,
					 1,        1.5,       2,       3,  1e300, -1e300,
					 INFINITY, -INFINITY, FLT_MAX, NAN };

	for (size_t i = 0; i < ROWS * STRIDE; i++)
		x[i] = values[draw(seed, TW_COUNT(values))];
}

/* Predict the first rows, and see that no other result is written. */
static void check_rows(const struct tw_trees *t, const struct arrays *a, size_t trees,
		       const double *x, size_t rows, const uint32_t *place)
{
	const uint32_t own[FEATURES] = { 0, 1, 2 };
	const struct tw_rows in = {
		.x = x, .rows = rows, .stride = STRIDE, .place = place
	};
	double watts[ROWS + 1];

	for (size_t r = 0; r <= ROWS; r++)
		watts[r] = -1e9;
	tw_trees_predict(t, FEATURES, &in, watts);
	for (size_t r = 0; r < rows; r++) {
		float want = t->base;

		for (size_t i = 0; i < trees; i++)
			want += walk(&a[i], x + r * STRIDE, place != NULL ? place : own);
		if (watts[r] != (double)want)
			fail_msg("row %zu of %zu, %zu trees: %.9g, want %.9g", r, rows,
				 trees, watts[r], (double)want);
	}
	assert_true(watts[rows] == -1e9);
}

/* Blocks, half blocks and single rows; batches of sixteen, four and single trees. */
static void each_number_of_rows_and_trees_is_predicted_to_the_bit(void **state)
{
	static const uint32_t swapped[FEATURES] = { 4, 0, 3 },
			      absent[FEATURES] = { 2, UINT32_MAX, 1 };
	const uint32_t *const places[] = { NULL, swapped, absent };
	struct arrays *a = calloc(TREES, sizeof(*a));
	double x[ROWS * STRIDE];
	unsigned seed = 11;
	struct tw_trees t = { .base = 0.3f };

	(void)state;
	assert_non_null(a);
	draw_rows(x, &seed);
	for (size_t trees = 0;; trees++) {
		struct tw_tree_arrays next;
		struct tw_err err = { 0 };

		for (size_t rows = 0; rows <= ROWS; rows++)
			check_rows(&t, a, trees, x, rows,
				   places[(trees + rows) % TW_COUNT(places)]);
		if (trees == TREES)
			break;
		draw_tree(&a[trees], &seed);
		next = view(&a[trees]);
		assert_int_equal(tw_trees_add(&t, &next, FEATURES, &err), 0);
		assert_int_equal(t.count, trees + 1);
	}
	tw_trees_release(&t);
	assert_null(t.node);
	assert_int_equal(t.count, 0);
	free(a);
}

/* Each right child splits again; the deepest leaf has the value of its depth. */
static void make_chain(struct arrays *a, size_t depth)
{
	a->nodes = 1;
	put_leaf(a, 0, 0);
	for (size_t d = 1; d <= depth; d++) {
		const size_t last = a->nodes - 1;

		put_leaf(a, a->nodes, -1);
		put_leaf(a, a->nodes + 1, (float)d);
		split(a, last, 0, (float)d, true);
	}
}

static void a_tree_has_at_most_the_deepest_level(void **state)
{
	const double high[] = { 1e6, 0, 0 }, low[] = { 0.5, 0, 0 };
	struct arrays a;
	struct tw_tree_arrays v;
	struct tw_trees t = { 0 };
	struct tw_err err = { 0 };
	double watts;

	(void)state;
	make_chain(&a, TW_TREE_DEPTH_MAX + 1);
	v = view(&a);
	assert_int_equal(tw_trees_add(&t, &v, 1, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_string_equal(err.text, "deeper than 64");
	assert_int_equal(t.count, 0);
	assert_int_equal(t.nodes, 0);
	make_chain(&a, TW_TREE_DEPTH_MAX);
	v = view(&a);
	err = (struct tw_err){ 0 };
	assert_int_equal(tw_trees_add(&t, &v, 1, &err), 0);
	assert_int_equal(t.tree[0].depth, TW_TREE_DEPTH_MAX);
	tw_trees_predict(&t, 1, &(struct tw_rows){ .x = high, .rows = 1, .stride = 3 },
			 &watts);
	assert_true(watts == TW_TREE_DEPTH_MAX);
	tw_trees_predict(&t, 1, &(struct tw_rows){ .x = low, .rows = 1, .stride = 3 },
			 &watts);
	assert_true(watts == -1);
	/* 64 and 2 steps of half a nanosecond. */
	assert_int_equal(tw_trees_row_ns(&t), 32);
	make_chain(&a, 2);
	v = view(&a);
	assert_int_equal(tw_trees_add(&t, &v, 1, &err), 0);
	assert_int_equal(tw_trees_row_ns(&t), 33);
	tw_trees_release(&t);
}

/* A key of the last feature stands in the last two slots. */
static void the_last_feature_has_its_own_keys(void **state)
{
	enum { LAST = TW_TREE_FEATURES_MAX - 1 };
	double x[16 * TW_TREE_FEATURES_MAX] = { 0 }, watts[16];
	struct tw_rows in = { .x = x, .rows = 1, .stride = TW_TREE_FEATURES_MAX };
	struct tw_trees t = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	for (int missing_left = 0; missing_left < 2; missing_left++) {
		struct arrays a = { .nodes = 1 };
		struct tw_tree_arrays v;

		put_leaf(&a, 1, 1);
		put_leaf(&a, 2, missing_left ? 20 : 10);
		split(&a, 0, LAST, 5, missing_left);
		v = view(&a);
		assert_int_equal(tw_trees_add(&t, &v, TW_TREE_FEATURES_MAX, &err), 0);
		assert_int_equal(tw_trees_add(&t, &v, LAST, &err), -1);
		assert_string_equal(err.text, "node 0: feature 255 of 255");
		err = (struct tw_err){ 0 };
		assert_int_equal(tw_trees_add(&t, &v, TW_TREE_FEATURES_MAX + 1, &err),
				 -1);
		assert_string_equal(err.text, "257 features, limit is 256");
		err = (struct tw_err){ 0 };
	}
	for (size_t r = 0; r < 16; r++)
		x[r * TW_TREE_FEATURES_MAX + LAST] = r % 3 == 0   ? 4
						     : r % 3 == 1 ? 5
								  : NAN;
	for (in.rows = 1; in.rows <= 16; in.rows++) {
		tw_trees_predict(&t, TW_TREE_FEATURES_MAX, &in, watts);
		for (size_t r = 0; r < in.rows; r++)
			assert_true(watts[r] == (r % 3 == 0 ? 2 : r % 3 == 1 ? 30 : 11));
	}
	tw_trees_release(&t);
}

static void pruned_nodes_need_no_parent_and_are_left_out(void **state)
{
	struct arrays a = { .nodes = 2 };
	const double x[] = { 0, 9 };
	struct tw_tree_arrays v;
	struct tw_trees t = { 0 };
	struct tw_err err = { 0 };
	double watts[2];

	(void)state;
	put_leaf(&a, 1, NAN);
	put_leaf(&a, 2, 1);
	put_leaf(&a, 3, 10);
	split(&a, 0, 0, 5, true);
	v = view(&a);
	assert_int_equal(tw_trees_add(&t, &v, 1, &err), -1);
	assert_string_equal(err.text, "node 1 has no parent");
	err = (struct tw_err){ 0 };
	a.feature[1] = TW_TREE_CUT;
	assert_int_equal(tw_trees_add(&t, &v, 1, &err), 0);
	assert_int_equal(t.nodes, 3);
	tw_trees_predict(&t, 1, &(struct tw_rows){ .x = x, .rows = 2, .stride = 1 },
			 watts);
	assert_true(watts[0] == 1 && watts[1] == 10);
	v.nodes = 0;
	assert_int_equal(tw_trees_add(&t, &v, 1, &err), -1);
	assert_string_equal(err.text, "no nodes");
	tw_trees_release(&t);
}

/* Neither a leaf nor a split. */
static void a_node_with_one_child_is_refused(void **state)
{
	(void)state;
	for (int right = 0; right < 2; right++) {
		struct arrays a = { .nodes = 1 };
		struct tw_tree_arrays v;
		struct tw_trees t = { 0 };
		struct tw_err err = { 0 };

		put_leaf(&a, 1, 1);
		put_leaf(&a, 2, 2);
		split(&a, 0, 0, 5, true);
		(right ? a.left : a.right)[0] = -1;
		v = view(&a);
		assert_int_equal(tw_trees_add(&t, &v, 1, &err), -1);
		assert_string_equal(err.text, "node 0: child -1 of 3 nodes");
		tw_trees_release(&t);
	}
}

#define TOO_MANY "more than 4194304 nodes or 10000 trees"

/* All nodes but the root are pruned. */
static void an_ensemble_has_a_limit_of_nodes(void **state)
{
	const size_t max = TW_TREE_NODES_MAX;
	int32_t *leaf = malloc((max + 1) * sizeof(*leaf));
	int32_t *cut = malloc((max + 1) * sizeof(*cut));
	float *value = calloc(max + 1, sizeof(*value));
	struct tw_tree_arrays v = { max + 1, leaf, leaf, cut, cut, value };
	struct tw_trees t = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_true(leaf != NULL && cut != NULL && value != NULL);
	for (size_t i = 0; i <= max; i++) {
		leaf[i] = -1;
		cut[i] = TW_TREE_CUT;
	}
	assert_int_equal(tw_trees_add(&t, &v, 1, &err), -1);
	assert_string_equal(err.text, TOO_MANY);
	err = (struct tw_err){ 0 };
	v.nodes = max;
	assert_int_equal(tw_trees_add(&t, &v, 1, &err), 0);
	/* One node is used: as many less one may follow. */
	assert_int_equal(t.nodes, 1);
	assert_int_equal(tw_trees_add(&t, &v, 1, &err), -1);
	assert_string_equal(err.text, TOO_MANY);
	tw_trees_release(&t);
	free(value);
	free(cut);
	free(leaf);
}

static void an_ensemble_has_a_limit_of_trees(void **state)
{
	struct arrays a = { .nodes = 1 };
	struct tw_tree_arrays v;
	struct tw_trees t = { 0 };
	struct tw_err err = { 0 };
	const double x = 0;
	double watts;

	(void)state;
	put_leaf(&a, 0, 2);
	v = view(&a);
	for (int i = 0; i < TW_TREE_COUNT_MAX; i++)
		assert_int_equal(tw_trees_add(&t, &v, 1, &err), 0);
	assert_int_equal(tw_trees_add(&t, &v, 1, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_string_equal(err.text, TOO_MANY);
	tw_trees_predict(&t, 1, &(struct tw_rows){ .x = &x, .rows = 1, .stride = 1 },
			 &watts);
	assert_true(watts == 2 * TW_TREE_COUNT_MAX);
	tw_trees_release(&t);
}

static void each_failed_allocation_adds_no_tree(void **state)
{
	struct arrays a;
	struct tw_tree_arrays v;
	bool failed = true;
	int failures = 0;

	(void)state;
	make_chain(&a, 3);
	v = view(&a);
	for (int n = 1; failed; n++) {
		struct tw_trees t = { 0 };
		struct tw_err err = { 0 };

		fail_alloc_at(n);
		failed = fail_alloc_told(tw_trees_add(&t, &v, 1, &err), &err);
		failures += failed;
		assert_int_equal(t.count, failed ? 0 : 1);
		assert_int_equal(t.nodes, failed ? 0 : 7);
		tw_trees_release(&t);
	}
	/* Nodes, leaves, roots, and three arrays of the walk. */
	assert_int_equal(failures, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_number_of_rows_and_trees_is_predicted_to_the_bit),
		cmocka_unit_test(a_tree_has_at_most_the_deepest_level),
		cmocka_unit_test(the_last_feature_has_its_own_keys),
		cmocka_unit_test(pruned_nodes_need_no_parent_and_are_left_out),
		cmocka_unit_test(a_node_with_one_child_is_refused),
		cmocka_unit_test(an_ensemble_has_a_limit_of_nodes),
		cmocka_unit_test(an_ensemble_has_a_limit_of_trees),
		cmocka_unit_test(each_failed_allocation_adds_no_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
