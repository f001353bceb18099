/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/trainer.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/field/feature.h"
#include "trainer/fit/auto_text.h"
#include "trainer/fit/auto_trials.h"
#include "trainer/fit/extra_trees.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * AutoTrainer chooses columns and learners by inner blocked folds of its rows
 * (trainer/fit/auto_trials.h). The outer folds of the validation hold rows back from both
 * the fit and the choice: nested cross validation (S. Varma, R. Simon, Bias in Error
 * Estimation when using Cross-Validation for Model Selection, BMC Bioinformatics 7,
 * 2006).
 *
 * The model has two forms. The form "alone" predicts a row by itself. Rows with time
 * stamps give a second form, "series", that uses earlier rows, too: temperature and fans
 * lag behind the load, and the meter and the counters are not read at the same instant.
 */

/* ---- learners and columns ---- */

#define TREES 32
#define TREES_OF(rows)                                                          \
	{                                                                       \
		.trees = TREES, .leaf = (rows), .median = true, .by_size = true \
	}
/* Earlier rows explain part of the power, so fewer rows have to average out the rest. */
static const struct tw_extra_trees of_rows = TREES_OF(4), of_series = TREES_OF(3);
/* Weak features need leaves of more rows, because most of the power is noise to them. */
static const struct tw_extra_trees of_noise = TREES_OF(12);

/* The columns decide whether they are trees of features or of ratios to the load. */
static int fit_rising(const struct tw_trainer *t, const struct tw_samples *s,
		      uint64_t seed, struct tw_buf *out, struct tw_err *err)
{
	return tw_isotonic_trees(s, t->how, seed, out, err);
}

/* Fit without the condition that power rises with the load. */
static int fit_free(const struct tw_trainer *t, const struct tw_samples *s, uint64_t seed,
		    struct tw_buf *out, struct tw_err *err)
{
	return tw_extra_trees(s, t->how, seed, out, NULL, err);
}

static const struct tw_trainer learners[] = {
	{ .name = "random trees, rising on each ray",
	  .predictor = "isotonic",
	  .min_rows = 1,
	  .how = &of_rows,
	  .fit = fit_rising },
	{ .name = "random trees, rising on each ray",
	  .predictor = "isotonic",
	  .min_rows = 1,
	  .how = &of_series,
	  .fit = fit_rising },
	{ .name = "random trees",
	  .predictor = "trees",
	  .min_rows = 1,
	  .how = &of_rows,
	  .fit = fit_free },
	{ .name = "random trees, large leaves",
	  .predictor = "trees",
	  .min_rows = 1,
	  .how = &of_noise,
	  .fit = fit_free },
};
static const struct tw_trainer *const trees = &learners[0];
static const struct tw_trainer *const series_trees = &learners[1];
static const struct tw_trainer *const free_trees = &learners[2];

/* Learners of weak features, beside all trainers. */
static const struct tw_trainer *const of_weak[] = {
	&learners[3],
#if TW_XGBOOST
	&tw_trainer_sampled_boost,
#endif
};

/* They rise with the load, too. */
static const struct tw_trainer *const alternatives[] = { &tw_trainer_linear,
							 &tw_trainer_ridge };

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
		if (tw_auto_try(t, TW_AUTO_PROBE, trees, &less, &place, err) < 0)
			return -1;
		if (t->at[place].err.code == TW_OK &&
		    tw_auto_better(t, &t->at[place], &t->at[*at], DROP_BELOW) &&
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
	for (size_t i = 0; i < TW_COUNT(alternatives); i++)
		if (tw_auto_try(t, TW_AUTO_ALTERNATIVE, alternatives[i], c, NULL, err) <
		    0)
			return -1;
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
	if (tw_auto_try(t, TW_AUTO_PREFERRED, &tw_trainer_auto_boost, plain, NULL, err) <
	    0)
		return -1;
#endif
	return 0;
}

/*
 * Search over independent rows: choose the features to keep, then try every learner on
 * them. *chosen has the features that are kept.
 */
static int find_alone(struct tw_auto_trials *t, struct tw_auto_columns *chosen,
		      struct tw_err *err)
{
	struct tw_auto_columns c = { 0 };
	bool dropped = true;
	size_t at;

	plain_columns(t, &c);
	if (tw_auto_try(t, TW_AUTO_PROBE, trees, &c, &at, err) < 0)
		return -1;
	while (dropped && t->at[at].err.code == TW_OK)
		if (drop_one(t, &at, &dropped, err) < 0)
			return -1;
	t->at[at].role = TW_AUTO_PREFERRED;
	c = t->at[at].columns;
	if (try_preferred(t, trees, &c, err) < 0 || try_others(t, &c, err) < 0)
		return -1;
	*chosen = c;
	return 0;
}

/* Free trials are left out, too, if their error exceeds this factor times the least. */
#define DOMINATED 1.25

/* The least error of a trainer's free trials; HUGE_VAL: there is none. NULL: of all. */
static double least_error(const struct tw_auto_trials *t, const struct tw_trainer *of)
{
	double least = HUGE_VAL;

	for (size_t i = 0; i < t->count; i++)
		if (t->at[i].role == TW_AUTO_FREE && t->at[i].err.code == TW_OK &&
		    (of == NULL || t->at[i].learner == of))
			least = fmin(least, t->at[i].mae);
	return least;
}

/* Free random trees show what is lost to rising from rest. */
static int probe_free(struct tw_auto_trials *t, const struct tw_auto_columns *plain,
		      struct tw_err *err)
{
	const struct tw_auto_columns by_load = ratios(t, plain);

	return tw_auto_try(t, TW_AUTO_FREE, free_trees, &by_load, NULL, err);
}

/*
 * Try all trainers and the learners of weak features. As a series, those that are about
 * as good as the best alone.
 */
static int try_trainers(struct tw_auto_trials *t, const struct tw_auto_trials *alone,
			const struct tw_auto_columns *c, struct tw_err *err)
{
	const size_t count = tw_trainer_count();

	for (size_t i = 0; i < count + TW_COUNT(of_weak); i++) {
		const struct tw_trainer *other =
			i < count ? tw_trainer_at(i) : of_weak[i - count];

		if (other->slow || least_error(t, other) < HUGE_VAL ||
		    (alone != NULL &&
		     least_error(alone, other) > DOMINATED * least_error(alone, NULL)))
			continue;
		if (tw_auto_try(t, TW_AUTO_FREE, other, c, NULL, err) < 0)
			return -1;
	}
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

/*
 * Search over a series: add columns of earlier rows to the chosen ones. alone: free
 * trials, or NULL.
 */
static int find_series(struct tw_auto_trials *t, const struct tw_auto_trials *alone,
		       const struct tw_auto_columns *chosen, struct tw_err *err)
{
	struct tw_auto_columns c = *chosen;

	for (size_t i = 0; i < chosen->count; i++)
		add_column(&c, (struct tw_derived){ chosen->at[i].feature, 1, 1,
						    TW_DERIVED_NONE });
	add_spans(t, &c);
	if (alone != NULL)
		return probe_free(t, &c, err) < 0 ? -1 : try_trainers(t, alone, &c, err);
	if (tw_auto_try(t, TW_AUTO_PREFERRED, series_trees, &c, NULL, err) < 0)
		return -1;
	return try_preferred(t, series_trees, &c, err);
}

/* ---- the two forms ---- */

/* A shorter series cannot show whether earlier rows help. */
#define SERIES_ROWS_MIN 16
/*
 * Earlier rows are given up only if the error without them is below this share of the
 * error with them: the meter and the counters are not read at the same instant, and
 * smaller differences on a few folds are mostly chance.
 */
#define ALONE_BELOW 0.85
/*
 * A blend that need not rise from rest gets no certificate. It is chosen if the samples
 * support none, or if its error is below this share of the other's and by more than a
 * standard error smaller: the features are too weak to tell rest and load.
 */
#define UNBOUND_BELOW 0.90

/*
 * Choose whether power rises from rest. The load and all features that vary are the
 * columns of free trials: *chosen is set to them if they are chosen.
 */
static int choose_bond(struct tw_auto_fit *f, bool shown, struct tw_auto_columns *chosen,
		       struct tw_err *err)
{
	struct tw_auto_blend *rising = &f->alone_blend, free;
	struct tw_auto_columns all = { 0 };

	plain_columns(&f->alone, &all);
	if (probe_free(&f->alone, &all, err) < 0)
		return -1;
	if (shown && least_error(&f->alone, NULL) >= UNBOUND_BELOW * rising->cost)
		return 0;
	if (try_trainers(&f->alone, NULL, &all, err) < 0 ||
	    tw_auto_blend(&f->alone, true, &free, err) < 0)
		return -1;
	f->unbound = !shown || (free.cost < UNBOUND_BELOW * rising->cost &&
				tw_auto_blend_better(&f->alone, &free, rising));
	if (f->unbound) {
		*rising = free;
		*chosen = all;
	}
	return 0;
}

static int search_alone(struct tw_auto_fit *f, const struct tw_samples *s, uint64_t seed,
			struct tw_auto_columns *chosen, struct tw_err *err)
{
	/* Power of workloads is 0 W at rest by definition. */
	const bool shown = f->rest.shown || s->from_zero;

	f->alone.samples = s;
	f->alone.rest = &f->rest;
	f->alone.seed = seed;
	if (tw_auto_rows_init(&f->alone.rows, s, 0.0, TW_AUTO_ROWS_MAX, err) < 0)
		return -1;
	if (shown && (find_alone(&f->alone, chosen, err) < 0 ||
		      tw_auto_blend(&f->alone, false, &f->alone_blend, err) < 0))
		return -1;
	return s->from_zero ? 0 : choose_bond(f, shown, chosen, err);
}

/* Mean absolute error of the form "alone" on the rows of the series, W. */
static double alone_error(const struct tw_auto_fit *f)
{
	double mae = 0.0;
	size_t rows = 0, k = 0;

	for (size_t i = 0; i < f->alone.rows.count; i++) {
		while (k < f->series.rows.count &&
		       f->series.rows.at[k] < f->alone.rows.at[i])
			k++;
		if (k == f->series.rows.count ||
		    f->series.rows.at[k] != f->alone.rows.at[i])
			continue;
		mae += fabs(tw_auto_blend_row(&f->alone, &f->alone_blend, i) -
			    tw_auto_measured(&f->alone, i));
		rows++;
	}
	return rows > 0 ? mae / (double)rows : INFINITY;
}

static int search_series(struct tw_auto_fit *f, const struct tw_samples *s, uint64_t seed,
			 const struct tw_auto_columns *chosen, struct tw_err *err)
{
	double step_ms;

	f->series.samples = s;
	f->series.rest = &f->rest;
	f->series.seed = seed;
	memcpy(f->series.outside, f->alone.outside, sizeof(f->series.outside));
	if (tw_auto_step(s, &step_ms, err) < 0)
		return -1;
	if (step_ms == 0.0)
		return 0;
	if (tw_auto_rows_init(&f->series.rows, s, step_ms, TW_AUTO_ROWS_MAX, err) < 0)
		return -1;
	if (f->series.rows.count < SERIES_ROWS_MIN)
		return 0;
	if (find_series(&f->series, f->unbound ? &f->alone : NULL, chosen, err) < 0 ||
	    tw_auto_blend(&f->series, f->unbound, &f->series_blend, err) < 0)
		return -1;
	f->looks_back = alone_error(f) >= ALONE_BELOW * f->series_blend.mae;
	return 0;
}

static int fit_auto(const struct tw_trainer *self, const struct tw_samples *s,
		    uint64_t seed, struct tw_buf *text, struct tw_err *err)
{
	struct tw_auto_columns chosen = { 0 };
	struct tw_auto_fit f = { 0 };
	int rc = -1;

	(void)self;
	if (tw_samples_check(s, tw_trainer_auto.min_rows, err) == 0 &&
	    tw_rest_find(s, &f.rest, err) == 0 &&
	    search_alone(&f, s, seed, &chosen, err) == 0 &&
	    search_series(&f, s, seed, &chosen, err) == 0 &&
	    tw_auto_text(&f, s, text, err) == 0)
		rc = 0;
	tw_auto_trials_release(&f.alone);
	tw_auto_trials_release(&f.series);
	return rc;
}

const struct tw_trainer tw_trainer_auto = {
	.name = "AutoTrainer",
	.summary = "the median of trees that rise with load, or a line",
	.predictor = "ensemble",
	.min_rows = 2,
	.cost_ns = 1250000,
	.slow = true,
	.fit = fit_auto,
	.explain = tw_auto_explain,
};
