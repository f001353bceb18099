/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/registry.h"
#include "estimator/predict/tree.h"
#include "estimator/predict/xgboost_text.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <stdbool.h>
#include <stdlib.h>

/*
 * Boosted trees in XGBoost's JSON.
 *
 *	watts = base_score + sum over trees of the leaf that the row falls into
 *
 * (T. Chen, C. Guestrin, XGBoost: A Scalable Tree Boosting System, KDD 2016, section 2.)
 */
struct xgboost {
	struct tw_trees trees;
	size_t features;
	bool constant; /* no tree has a split, as for a component that was always 0 */
	double watts;  /* of every row, if constant */
};

static void free_state(void *state)
{
	struct xgboost *x = state;

	if (x == NULL)
		return;
	tw_trees_release(&x->trees);
	free(x);
}

/* Replace trees without splits by their sum. */
static void find_constant(struct xgboost *x)
{
	static const double zeros[TW_TREE_FEATURES_MAX];
	const struct tw_rows row = { .x = zeros, .rows = 1, .stride = x->features };

	if (x->trees.nodes != x->trees.count)
		return;
	tw_trees_predict(&x->trees, x->features, &row, &x->watts);
	tw_trees_release(&x->trees);
	x->constant = true;
}

static int load(const char *text, size_t len, const struct tw_strs *features,
		void **state, struct tw_err *err)
{
	struct xgboost *x;

	if (features->count > TW_TREE_FEATURES_MAX)
		return tw_fail(err, TW_INVALID, "%zu features, limit is %d",
			       features->count, TW_TREE_FEATURES_MAX);
	x = calloc(1, sizeof(*x));
	if (x == NULL)
		return tw_fail(err, TW_NOMEM, "xgboost model");
	x->features = features->count;
	if (tw_xgboost_read(text, len, x->features, &x->trees, err) < 0) {
		free_state(x);
		return -1;
	}
	find_constant(x);
	*state = x;
	return 0;
}

static void predict(const void *state, const struct tw_rows *in, double *watts)
{
	const struct xgboost *x = state;

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
	.summary = "boosted trees, XGBoost's JSON",
	.load = load,
	.predict = predict,
	.free = free_state,
	.row_ns = row_ns,
};
