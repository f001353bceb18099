/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/auto_search.h"

#include "lib/core/array.h"
#include "lib/field/feature.h"
#include "trainer/fit/boost.h"
#include "trainer/fit/extra_trees.h"
#include "trainer/fit/isotonic_trees.h"
#include "trainer/fit/samples.h"

#include <math.h>
#include <string.h>

#define TREES 32

/* The columns decide whether they are trees of features or of ratios to the load. */
static int grow_trees(const struct tw_samples *s, size_t leaf, uint64_t seed,
		      struct tw_buf *out, struct tw_err *err)
{
	const struct tw_extra_trees how = {
		.trees = TREES, .leaf = leaf, .median = true, .by_size = true
	};

	return tw_isotonic_trees(s, &how, seed, out, err);
}

static int fit_trees(const struct tw_samples *s, uint64_t seed, struct tw_buf *out,
		     struct tw_err *err)
{
	return grow_trees(s, 4, seed, out, err);
}

/* Earlier rows explain part of the power, so fewer rows have to average out the rest. */
static int fit_series_trees(const struct tw_samples *s, uint64_t seed, struct tw_buf *out,
			    struct tw_err *err)
{
	return grow_trees(s, 3, seed, out, err);
}

static const struct tw_trainer trees = { .name = "random trees, rising on each ray",
					 .predictor = "isotonic",
					 .min_rows = 1,
					 .fit = fit_trees };
static const struct tw_trainer series_trees = {
	.name = "random trees, rising on each ray",
	.predictor = "isotonic",
	.min_rows = 1,
	.fit = fit_series_trees
};

#if TW_XGBOOST
static int fit_boost(const struct tw_samples *s, uint64_t seed, struct tw_buf *out,
		     struct tw_err *err)
{
	static const struct tw_boost how = {
		.max_depth = "6", .lambda = "1", .from_mean = true, .monotone = true
	};

	return tw_boost(s, &how, seed, out, err);
}

static const struct tw_trainer boost = {
	.name = "boosted trees, rising with each feature",
	.predictor = "xgboost",
	.min_rows = TW_BOOST_ROWS_MIN,
	.fit = fit_boost
};
#endif

/* They rise with the load, too. */
static const char *const others[] = { "LinearRegressionTrainer", "SGDRegressorTrainer" };

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

/*
 * CPU time that the cycles contradict misleads models of a processor's power, which
 * follows the work. The power of memory follows the kind of work, to which even
 * incomplete CPU time is a clue.
 */
static bool misleads(const struct tw_auto_trials *t, const char *feature)
{
	return t->rest->contradicted && t->samples->component != TW_DRAM &&
	       strcmp(feature, "bpf_cpu_time_ms") == 0;
}

/* The load, and the features that vary and do not mislead. The load comes first. */
static void plain_columns(const struct tw_auto_trials *t, struct tw_auto_columns *out)
{
	const struct tw_samples *s = t->samples;

	add_column(out,
		   (struct tw_derived){ (uint32_t)t->rest->load, 0, 0, TW_DERIVED_NONE });
	for (size_t c = 0; c < s->cols; c++)
		if (c != t->rest->load && varies(s, c) && !misleads(t, s->features[c]))
			add_column(out, (struct tw_derived){ (uint32_t)c, 0, 0,
							     TW_DERIVED_NONE });
}

/*
 * The load and the ratios of the other rates of work to it. The values of earlier rows
 * and of states, such as a clock frequency, are no part of the work of the row.
 */
static struct tw_auto_columns ratios(const struct tw_auto_trials *t,
				     const struct tw_auto_columns *plain)
{
	struct tw_auto_columns c = { 0 };

	for (size_t i = 0; i < plain->count; i++) {
		struct tw_derived d = plain->at[i];

		if (i > 0 && d.to == 0 &&
		    tw_feature_is_work(t->samples->features[d.feature]))
			d.per = plain->at[0].feature;
		add_column(&c, d);
	}
	return c;
}

/* ---- features ---- */

/* The load, and the columns whose feature names do not match. */
static struct tw_auto_columns without(const struct tw_auto_trials *t,
				      const struct tw_auto_columns *c, const char *kind)
{
	struct tw_auto_columns less = { 0 };

	for (size_t i = 0; i < c->count; i++)
		if (i == 0 ||
		    strstr(t->samples->features[c->at[i].feature], kind) == NULL)
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
		if (tw_auto_try(t, TW_AUTO_PROBE, &trees, &less, &place, err) < 0)
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

static int try_others(struct tw_auto_trials *t, const struct tw_auto_columns *c,
		      struct tw_err *err)
{
	for (size_t i = 0; i < TW_COUNT(others); i++) {
		const struct tw_trainer *learner = tw_trainer_find(others[i]);

		if (tw_auto_try(t, TW_AUTO_ALTERNATIVE, learner, c, NULL, err) < 0)
			return -1;
	}
	return 0;
}

/*
 * Try the learners that the blend is made of, but the random trees of features. The load
 * and ratios to it tell the kind of work. Without another rate of work there are no
 * ratios, and the trees would be the same again.
 */
static int try_preferred(struct tw_auto_trials *t, const struct tw_trainer *random,
			 const struct tw_auto_columns *plain, struct tw_err *err)
{
	const struct tw_auto_columns by_load = ratios(t, plain);

	if (memcmp(&by_load, plain, sizeof(by_load)) != 0 &&
	    tw_auto_try(t, TW_AUTO_PREFERRED, random, &by_load, NULL, err) < 0)
		return -1;
#if TW_XGBOOST
	if (tw_auto_try(t, TW_AUTO_PREFERRED, &boost, plain, NULL, err) < 0)
		return -1;
#endif
	return 0;
}

int tw_auto_search_alone(struct tw_auto_trials *t, struct tw_auto_columns *chosen,
			 struct tw_err *err)
{
	struct tw_auto_columns c = { 0 };
	bool dropped = true;
	size_t at;

	plain_columns(t, &c);
	if (tw_auto_try(t, TW_AUTO_PROBE, &trees, &c, &at, err) < 0)
		return -1;
	while (dropped && t->at[at].err.code == TW_OK)
		if (drop_one(t, &at, &dropped, err) < 0)
			return -1;
	t->at[at].role = TW_AUTO_PREFERRED;
	c = t->at[at].columns;
	if (try_preferred(t, &trees, &c, err) < 0 || try_others(t, &c, err) < 0)
		return -1;
	*chosen = c;
	return 0;
}

/*
 * Spans before a row, ms, over which the load is averaged. Firmware lets the power of a
 * processor exceed its limit until a budget of some 28 s is used up (Intel SDM, volume
 * 3B, "Package RAPL Domain": PL1 and its time window).
 */
static const double spans_ms[] = { 9e3, 27e3 };

/* Add the mean of the load over each span that holds more rows than the one before. */
static void add_spans(const struct tw_auto_trials *t, struct tw_auto_columns *c)
{
	double last = 1.0;

	for (size_t i = 0; i < TW_COUNT(spans_ms); i++) {
		const double rows = round(spans_ms[i] / t->rows.step_ms);

		if (rows <= last || rows > TW_DERIVED_BACK_MAX)
			continue;
		add_column(c, (struct tw_derived){ (uint32_t)t->rest->load, 1,
						   (uint32_t)rows, TW_DERIVED_NONE });
		last = rows;
	}
}

int tw_auto_search_series(struct tw_auto_trials *t, const struct tw_auto_columns *chosen,
			  struct tw_err *err)
{
	struct tw_auto_columns c = *chosen;

	for (size_t i = 0; i < chosen->count; i++)
		add_column(&c, (struct tw_derived){ chosen->at[i].feature, 1, 1,
						    TW_DERIVED_NONE });
	add_spans(t, &c);
	if (tw_auto_try(t, TW_AUTO_PREFERRED, &series_trees, &c, NULL, err) < 0)
		return -1;
	return try_preferred(t, &series_trees, &c, err);
}
