/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/auto_search.h"

#include "lib/core/array.h"
#include "lib/field/feature.h"
#include "trainer/fit/extra_trees.h"
#include "trainer/fit/samples.h"

#include <string.h>

#define TREES 32

#define LEARNER(id, text, ...)                                                     \
	static int fit_##id(const struct tw_samples *s, uint64_t seed,             \
			    struct tw_buf *out, struct tw_err *err)                \
	{                                                                          \
		static const struct tw_extra_trees how = { .trees = TREES,         \
							   __VA_ARGS__ };          \
                                                                                   \
		return tw_extra_trees(s, &how, seed, out, err);                    \
	}                                                                          \
	static const struct tw_trainer id = {                                      \
		.name = text, .predictor = "trees", .min_rows = 1, .fit = fit_##id \
	}

LEARNER(median_5, "trees, medians of 5 rows", .leaf = 5, .median = true);
LEARNER(median_3, "trees, medians of 3 rows", .leaf = 3, .median = true);
LEARNER(median_9, "trees, medians of 9 rows", .leaf = 9, .median = true);
LEARNER(mean_5, "trees, means of 5 rows", .leaf = 5);
LEARNER(log_5, "trees by logarithm, medians of 5 rows", .leaf = 5, .median = true,
	.by_size = true);

static const struct tw_trainer *const trees[] = { &median_5, &median_3, &median_9,
						  &mean_5, &log_5 };

static const char *const others[] = {
	"LinearRegressionTrainer",
	"SGDRegressorTrainer",
	"PolynomialRegressionTrainer",
	"KNeighborsRegressorTrainer",
	"LogarithmicRegressionTrainer",
	"SVRRegressorTrainer",
	"XgboostFitTrainer",
};

/*
 * Features are dropped only if the error without them is below this share of the error
 * with them. Smaller differences on a few folds are mostly chance.
 */
#define DROP_BELOW 0.95

/*
 * Parts of feature names: the features that match one may be dropped, together. They
 * count system activity beside the work, or the work again. Processor counters, processor
 * time and third-party metrics are always kept.
 */
static const char *const kinds[] = { "_irq",       "cgroupfs_",        "kubelet_",
				     "page_cache", "context_switches", "interrupts",
				     "page_faults" };

/* A window of earlier rows: those `from` to `to` rows before a row. */
struct window {
	unsigned char from, to;
};

static const struct lags {
	struct window at[8];
	size_t count;
	bool main_only; /* columns of the main feature only (tw_main_feature()) */
} lags[] = {
	{ { { 1, 1 } }, 1, false },
	{ { { 1, 1 }, { 2, 2 }, { 3, 3 } }, 3, false },
	{ { { 1, 1 }, { 2, 2 }, { 0, 2 }, { 0, 4 }, { 0, 9 } }, 5, false },
	{ { { 1, 1 }, { 2, 2 }, { 3, 3 }, { 0, 2 }, { 0, 4 }, { 0, 9 } }, 6, false },
	{ { { 1, 1 }, { 2, 2 }, { 3, 3 }, { 0, 2 }, { 0, 4 }, { 0, 9 } }, 6, true },
};

static void add_column(struct tw_auto_columns *c, struct tw_derived d)
{
	if (c->count < TW_DERIVED_MAX)
		c->at[c->count++] = d;
}

static bool varies(const struct tw_samples *s, size_t feature)
{
	for (size_t r = 1; r < s->rows; r++)
		if (s->x[r * s->cols + feature] != s->x[feature])
			return true;
	return false;
}

/* Drop constant features, but keep one column at least. */
static void plain_columns(const struct tw_samples *s, struct tw_auto_columns *out)
{
	for (size_t c = 0; c < s->cols; c++)
		if (varies(s, c))
			add_column(out, (struct tw_derived){ (uint32_t)c, 0, 0,
							     TW_DERIVED_NONE });
	if (out->count == 0)
		add_column(out, (struct tw_derived){ 0, 0, 0, TW_DERIVED_NONE });
}

/* ---- features ---- */

/* The columns whose feature names do not match. */
static struct tw_auto_columns without(const struct tw_auto_trials *t,
				      const struct tw_auto_columns *c, const char *kind)
{
	struct tw_auto_columns less = { 0 };

	for (size_t i = 0; i < c->count; i++)
		if (strstr(t->samples->features[c->at[i].feature], kind) == NULL)
			add_column(&less, c->at[i]);
	return less;
}

/*
 * Drop the matching features without which the error is least, if it is clearly better.
 * *at is the index of the trial to improve on, then of the better one.
 */
static int drop_one(struct tw_auto_trials *t, size_t *at, bool *dropped,
		    struct tw_err *err)
{
	const struct tw_auto_columns c = t->at[*at].columns;
	size_t best = *at;

	for (size_t i = 0; i < TW_COUNT(kinds); i++) {
		const struct tw_auto_columns less = without(t, &c, kinds[i]);
		size_t place;

		if (less.count == 0 || less.count == c.count)
			continue;
		if (tw_auto_try(t, TW_AUTO_PROBE, trees[0], &less, &place, err) < 0)
			return -1;
		if (t->at[place].err.code == TW_OK &&
		    tw_auto_better(&t->at[place], &t->at[*at], DROP_BELOW) &&
		    (best == *at || t->at[place].mae < t->at[best].mae))
			best = place;
	}
	*dropped = best != *at;
	*at = best;
	return 0;
}

/* Try ratios of features to the main feature, such as instructions per cycle. */
static int try_ratios(struct tw_auto_trials *t, const struct tw_auto_columns *chosen,
		      struct tw_err *err)
{
	const struct tw_samples *s = t->samples;
	const uint32_t load =
		(uint32_t)tw_main_feature(s->features, s->cols, s->component);
	struct tw_auto_columns c = *chosen;

	for (size_t i = 0; i < chosen->count; i++)
		if (chosen->at[i].feature != load)
			add_column(&c, (struct tw_derived){ chosen->at[i].feature, 0, 0,
							    load });
	if (c.count == chosen->count)
		return 0;
	return tw_auto_try(t, TW_AUTO_ALTERNATIVE, trees[0], &c, NULL, err);
}

static int try_others(struct tw_auto_trials *t, const struct tw_auto_columns *c,
		      struct tw_err *err)
{
	for (size_t i = 0; i < TW_COUNT(others); i++) {
		const struct tw_trainer *learner = tw_trainer_find(others[i]);

		if (learner != NULL &&
		    tw_auto_try(t, TW_AUTO_ALTERNATIVE, learner, c, NULL, err) < 0)
			return -1;
	}
	return 0;
}

/* Try all trees but the first, which chose the columns. */
static int try_trees(struct tw_auto_trials *t, const struct tw_auto_columns *c,
		     struct tw_err *err)
{
	for (size_t i = 1; i < TW_COUNT(trees); i++)
		if (tw_auto_try(t, TW_AUTO_PREFERRED, trees[i], c, NULL, err) < 0)
			return -1;
	return 0;
}

int tw_auto_search_alone(struct tw_auto_trials *t, struct tw_auto_columns *chosen,
			 struct tw_err *err)
{
	struct tw_auto_columns c = { 0 };
	bool dropped = true;
	size_t at;

	plain_columns(t->samples, &c);
	if (tw_auto_try(t, TW_AUTO_PROBE, trees[0], &c, &at, err) < 0)
		return -1;
	while (dropped && t->at[at].err.code == TW_OK)
		if (drop_one(t, &at, &dropped, err) < 0)
			return -1;
	c = t->at[at].columns;
	t->at[at].role = TW_AUTO_PREFERRED;
	if (try_trees(t, &c, err) < 0 || try_ratios(t, &c, err) < 0 ||
	    try_others(t, &c, err) < 0)
		return -1;
	*chosen = c;
	return 0;
}

/* ---- series ---- */

static struct tw_auto_columns look_back(const struct tw_samples *s,
					const struct tw_auto_columns *chosen,
					const struct lags *l)
{
	const size_t load = tw_main_feature(s->features, s->cols, s->component);
	struct tw_auto_columns c = *chosen;

	for (size_t i = 0; i < chosen->count; i++) {
		if (l->main_only && chosen->at[i].feature != load)
			continue;
		for (size_t k = 0; k < l->count; k++)
			add_column(&c, (struct tw_derived){ chosen->at[i].feature,
							    l->at[k].from, l->at[k].to,
							    TW_DERIVED_NONE });
	}
	return c;
}

int tw_auto_search_series(struct tw_auto_trials *t, const struct tw_auto_columns *chosen,
			  struct tw_err *err)
{
	for (size_t i = 0; i < TW_COUNT(lags); i++) {
		const struct tw_auto_columns c = look_back(t->samples, chosen, &lags[i]);

		/* With one feature, main_only gives the columns of the entry before. */
		if (lags[i].main_only && chosen->count == 1)
			continue;
		if (c.count > chosen->count &&
		    tw_auto_try(t, TW_AUTO_PREFERRED, trees[0], &c, NULL, err) < 0)
			return -1;
	}
	return 0;
}
