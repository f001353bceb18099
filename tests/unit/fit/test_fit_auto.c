/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/quick.h"
#include "tests/unit/tw_test.h"

#include "estimator/predict/predictor.h"
#include "estimator/predict/tree.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "tests/unit/fail_alloc.h"
#include "trainer/fit/auto_trials.h"
#include "trainer/fit/extra_trees.h"
#include "trainer/fit/fits.h"
#include "trainer/fit/random.h"
#include "trainer/fit/rest.h"
#include "trainer/fit/trainer.h"
#include "trainer/fit/validate.h"

#include <gsl/gsl_errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 120

static const char *const names[] = { "cpu_cycles", "cpu_instructions" };

/* A machine with a memory: what it draws follows its load of this row and the last. */
struct machine {
	double x[2 * ROWS], y[ROWS];
	int64_t time_ms[ROWS];
};

static double load_at(size_t r)
{
	return (double)(r * 37 % 23) + (double)(r * r % 11);
}

static struct tw_samples fill(struct machine *m)
{
	for (size_t r = 0; r < ROWS; r++) {
		m->x[2 * r] = 1e9 * load_at(r);
		m->x[2 * r + 1] = 2e9 * load_at(r) + 1e6 * (double)(r % 7);
		m->y[r] = 20 + 2 * load_at(r) + 3 * load_at(r > 0 ? r - 1 : 0);
		m->time_ms[r] = 1700000000000 + 3000 * (int64_t)r;
	}
	return (struct tw_samples){ .rows = ROWS,
				    .cols = 2,
				    .x = m->x,
				    .y = m->y,
				    .features = names,
				    .component = TW_PACKAGE,
				    .time_ms = m->time_ms };
}

/* ---- extremely randomised trees ---- */

static void predict(const char *predictor, const struct tw_buf *text,
		    const struct tw_samples *s, bool series, double *watts)
{
	const struct tw_predictor *p = tw_predictor_find(predictor);
	struct tw_strs features = { 0 };
	struct tw_err err = { 0 };
	void *state = NULL;

	for (size_t c = 0; c < s->cols; c++)
		assert_int_equal(tw_strs_adds(&features, s->features[c], &err), 0);
	if (tw_predictor_load(p, text->data, text->len, &features, &state, &err) < 0)
		fail_msg("%s", err.text);
	p->predict(state,
		   &(struct tw_rows){ .x = s->x,
				      .rows = s->rows,
				      .stride = s->cols,
				      .time_ms = series ? s->time_ms : NULL },
		   watts);
	tw_predictor_free(p, state);
	tw_strs_clear(&features);
}

static void trees_find_a_step(void **state)
{
	static const struct tw_extra_trees how = { .trees = 20, .leaf = 2 };
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 };
	double x[40], y[40], watts[40];
	const struct tw_samples s = {
		.rows = 40, .cols = 1, .x = x, .y = y, .features = names
	};

	(void)state;
	for (int r = 0; r < 40; r++) {
		x[r] = r;
		y[r] = r < 17 ? 10 : 70;
	}
	assert_int_equal(tw_extra_trees(&s, &how, 1, &text, NULL, &err), 0);
	predict("trees", &text, &s, false, watts);
	/* Away from the step every tree knows it; leaves of two rows blur the step. */
	for (int r = 0; r < 40; r++)
		if (r < 15 || r > 18)
			assert_true(fabs(watts[r] - y[r]) < 1e-4);
	tw_buf_clear(&text);
}

static void grown_trees_predict_as_their_text_does(void **state)
{
	static const struct tw_extra_trees how = { .trees = 4,
						   .leaf = 2,
						   .by_size = true };
	static const char *const many[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i" };
	struct tw_trees trees = { 0 };
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 };
	double x[60 * 9], y[60], read[60], grown[60];
	const struct tw_samples s = {
		.rows = 60, .cols = 9, .x = x, .y = y, .features = many
	};

	(void)state;
	for (int i = 0; i < 60 * 9; i++)
		x[i] = (double)(i * 7919 % 541) - 20;
	for (int r = 0; r < 60; r++)
		y[r] = x[r * 9 + 8] / 3 - 5;
	assert_int_equal(tw_extra_trees(&s, &how, 3, &text, NULL, &err), 0);
	assert_int_equal(tw_extra_trees(&s, &how, 3, NULL, &trees, &err), 0);
	predict("trees", &text, &s, false, read);
	tw_trees_predict(&trees, 9, &(struct tw_rows){ .x = x, .rows = 60, .stride = 9 },
			 grown);
	assert_memory_equal(read, grown, sizeof(read));
	tw_trees_release(&trees);
	tw_buf_clear(&text);
}

static void a_median_passes_over_a_spike_and_a_mean_does_not(void **state)
{
	struct tw_extra_trees how = { .trees = 5, .leaf = 5 };
	static const double x[] = { 1, 1, 1, 1, 1, 1, 1 };
	static const double y[] = { 10, 11, 9, 10, 710, 10, 10 };
	const struct tw_samples s = {
		.rows = 7, .cols = 1, .x = x, .y = y, .features = names
	};
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 };
	double watts[7];

	(void)state;
	assert_int_equal(tw_extra_trees(&s, &how, 1, &text, NULL, &err), 0);
	predict("trees", &text, &s, false, watts);
	assert_true(fabs(watts[0] - 110) < 1e-4);
	tw_buf_clear(&text);
	how.median = true;
	assert_int_equal(tw_extra_trees(&s, &how, 1, &text, NULL, &err), 0);
	predict("trees", &text, &s, false, watts);
	assert_true(fabs(watts[0] - 10) < 1e-4);
	tw_buf_clear(&text);
}

/* As a workload's power is: none where it does nothing, and little where it does little.
 */
static void trees_from_zero_rise_from_zero(void **state)
{
	static const struct tw_extra_trees how = { .trees = 200,
						   .leaf = 5,
						   .median = true };
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 };
	double x[50], y[50], watts[50];
	const struct tw_samples s = { .rows = 50,
				      .cols = 1,
				      .x = x,
				      .y = y,
				      .features = names,
				      .from_zero = true };

	(void)state;
	for (int r = 0; r < 50; r++) {
		x[r] = 100 + r;
		y[r] = 30 + 0.3 * r;
	}
	assert_int_equal(tw_extra_trees(&s, &how, 1, &text, NULL, &err), 0);
	x[0] = 0;
	x[1] = 25;
	x[2] = 75;
	predict("trees", &text, &s, false, watts);
	assert_true(watts[0] == 0);
	/* About 30 W times the share of the thresholds below: the mean of 200 draws. */
	if (!(watts[1] > 3 && watts[1] < 12 && watts[2] > 18 && watts[2] < 27))
		fail_msg("%g and %g W", watts[1], watts[2]);
	tw_buf_clear(&text);
}

/* More load draws more, but the samples have bursts of power at low load. */
static void isotonic_trees_never_fall_with_the_load(void **state)
{
	static const struct tw_extra_trees how = { .trees = 16, .leaf = 2 };
	static const bool work[] = { true, false };
	struct tw_buf text[2] = { { 0 } };
	struct tw_err err = { 0 };
	double x[120], y[60], watts[60];
	struct tw_samples s = {
		.rows = 60, .cols = 2, .x = x, .y = y, .features = names, .work = work
	};
	bool falls = false;

	(void)state;
	for (int r = 0; r < 60; r++) {
		x[2 * r] = r;
		x[2 * r + 1] = r * 37 % 60;
		y[r] = 20 + r + (r % 9 < 3 ? 50 : 0);
	}
	assert_int_equal(tw_extra_trees(&s, &how, 1, &text[0], NULL, &err), 0);
	assert_int_equal(tw_isotonic_trees(&s, &how, 1, &text[1], &err), 0);
	/* The other column is not work: it keeps its value on a ray. */
	for (int other = 0; other < 60; other += 20) {
		for (int r = 0; r < 60; r++)
			x[2 * r + 1] = other;
		predict("trees", &text[0], &s, false, watts);
		for (int r = 2; r < 60; r++)
			falls = falls || watts[r] < watts[r - 1] - 1;
		predict("isotonic", &text[1], &s, false, watts);
		for (int r = 1; r < 60; r++)
			if (watts[r] < watts[r - 1] - 1e-9)
				fail_msg("%g after %g W", watts[r], watts[r - 1]);
		assert_true(watts[59] > watts[1] + 20);
	}
	assert_true(falls);
	tw_buf_clear(&text[0]);
	tw_buf_clear(&text[1]);
}

/* Without any load, power is that at rest. */
static void isotonic_trees_need_no_load(void **state)
{
	static const struct tw_extra_trees how = { .trees = 2, .leaf = 2 };
	static const double x[8] = { 0 }, y[4] = { 5, 6, 7, 6 };
	const struct tw_samples s = {
		.rows = 4, .cols = 2, .x = x, .y = y, .features = names
	};
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 };
	struct tw_rest rest;
	double watts[4];

	(void)state;
	assert_int_equal(tw_rest_find(&s, &rest, &err), 0);
	assert_int_equal(tw_isotonic_trees(&s, &how, 1, &text, &err), 0);
	predict("isotonic", &text, &s, false, watts);
	for (size_t r = 0; r < 4; r++)
		assert_true(fabs(watts[r] - rest.watts) < 1e-9);
	tw_buf_clear(&text);
}

static void a_seed_gives_the_same_trees_and_another_gives_others(void **state)
{
	static const struct tw_extra_trees how = { .trees = 4,
						   .leaf = 2,
						   .by_size = true };
	struct tw_buf text[3] = { { 0 } };
	struct tw_err err = { 0 };
	struct machine m;
	const struct tw_samples s = fill(&m);

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			tw_extra_trees(&s, &how, i < 2 ? 7 : 8, &text[i], NULL, &err), 0);
	assert_string_equal(text[0].data, text[1].data);
	assert_string_not_equal(text[0].data, text[2].data);
	for (int i = 0; i < 3; i++)
		tw_buf_clear(&text[i]);
}

/* ---- AutoTrainer ---- */

static void validate(const struct tw_samples *s, struct tw_fold fold, double *alone,
		     double *series)
{
	struct tw_err err = { 0 };

	if (tw_validate_fold(&tw_trainer_auto, s, fold, 1, alone, series, &err) < 0)
		fail_msg("%s", err.text);
}

static void a_series_is_better_where_the_machine_remembers(void **state)
{
	double alone[ROWS], series[ROWS], alone_mae = 0, series_mae = 0;
	struct machine m;
	const struct tw_samples s = fill(&m);

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		const struct tw_fold fold = tw_fold_at(ROWS, 5, i);

		validate(&s, fold, alone + fold.from, series + fold.from);
	}
	for (size_t r = 0; r < ROWS; r++) {
		alone_mae += fabs(alone[r] - s.y[r]) / ROWS;
		series_mae += fabs(series[r] - s.y[r]) / ROWS;
	}
	/* The last row's load is most of the power: it cannot be told from this one's. */
	if (!(series_mae < 0.7 * alone_mae))
		fail_msg("series %g W, alone %g W", series_mae, alone_mae);
}

static bool has_series(const struct tw_samples *s)
{
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 };
	bool has;

	assert_int_equal(tw_trainer_auto.fit(&tw_trainer_auto, s, 1, &text, &err), 0);
	has = strstr(text.data, "\"series\":") != NULL;
	tw_buf_clear(&text);
	return has;
}

/* Errors with and without earlier rows are alike if power is mostly noise. */
static void chance_does_not_give_earlier_rows_up(void **state)
{
	struct machine m;
	const struct tw_samples s = fill(&m);

	(void)state;
	for (unsigned draw = 0; draw < 4; draw++) {
		struct tw_random random = tw_random_init(7, draw);

		for (size_t r = 0; r < ROWS; r++) {
			const double load = floor(8 * tw_random_share(&random));

			m.x[2 * r] = 1e9 * load;
			m.x[2 * r + 1] = 2e9 * load;
			m.y[r] = 20 + 4 * load * load +
				 80 * (tw_random_share(&random) - 0.5);
		}
		assert_true(has_series(&s));
	}
}

/* A load that comes and goes draws more at first, as where firmware keeps a budget. */
static void a_series_looks_back_over_half_a_minute(void **state)
{
	const struct tw_fold fold = tw_fold_at(ROWS, 5, 4);
	double alone[ROWS], series[ROWS], alone_mae = 0, series_mae = 0;
	struct machine m;
	const struct tw_samples s = fill(&m);

	(void)state;
	for (size_t r = 0; r < ROWS; r++) {
		const double load = (double)(r / 12 % 2 * 20 + r % 3);

		m.x[2 * r] = 1e9 * load;
		m.x[2 * r + 1] = 2e9 * load;
		m.y[r] = 20 + 2 * load + (r / 12 % 2 == 1 && r % 12 < 6 ? 20 : 0);
	}
	validate(&s, fold, alone + fold.from, series + fold.from);
	for (size_t r = fold.from; r < fold.to; r++) {
		alone_mae += fabs(alone[r] - s.y[r]) / (double)(fold.to - fold.from);
		series_mae += fabs(series[r] - s.y[r]) / (double)(fold.to - fold.from);
	}
	if (!(series_mae < 0.6 * alone_mae))
		fail_msg("series %g W, alone %g W", series_mae, alone_mae);
}

/* The columns that a model of these steps has. */
static void spans_are_of_time_not_of_rows(void **state)
{
	static const struct {
		int64_t step_ms;
		const char *has, *lacks;
	} cases[] = {
		{ 1000, "cpu_cycles@1-27", "@1-3:" },
		{ 3000, "cpu_cycles@1-9", "@1-27" },
		{ 10000, "cpu_cycles@1-3", "@1-9" },
		{ 60000, "cpu_cycles@1 ", "@1-" },
	};
	struct machine m;
	struct tw_samples s = fill(&m);

	(void)state;
	s.rows = 40;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_buf text = { 0 };
		struct tw_err err = { 0 };

		for (size_t r = 0; r < ROWS; r++)
			m.time_ms[r] = cases[i].step_ms * (int64_t)r;
		assert_int_equal(
			tw_trainer_auto.fit(&tw_trainer_auto, &s, 1, &text, &err), 0);
		tw_buf_adds(&text, "");
		if (strstr(text.data, cases[i].has) == NULL ||
		    strstr(text.data, cases[i].lacks) != NULL)
			fail_msg("step %d ms: %s", (int)cases[i].step_ms,
				 strstr(text.data, "\"choice\""));
		tw_buf_clear(&text);
	}
}

/* Poison: if any of it were looked at, the predictions would change. */
static void the_judged_rows_are_never_seen(void **state)
{
	const struct tw_fold fold = tw_fold_at(ROWS, 5, 2);
	const size_t count = fold.to - fold.from;
	double clean[2][ROWS], dirty[2][ROWS];
	struct machine m;
	const struct tw_samples s = fill(&m);

	(void)state;
	validate(&s, fold, clean[0], clean[1]);
	for (size_t r = fold.from; r < fold.to; r++)
		m.y[r] = NAN;
	validate(&s, fold, dirty[0], dirty[1]);
	assert_memory_equal(clean[0], dirty[0], count * sizeof(double));
	assert_memory_equal(clean[1], dirty[1], count * sizeof(double));
	/* Nor does a row look at those after it. */
	for (size_t r = fold.from + count / 2; r < fold.to; r++)
		m.x[2 * r] = m.x[2 * r + 1] = 1e12;
	validate(&s, fold, dirty[0], dirty[1]);
	assert_memory_equal(clean[0], dirty[0], count / 2 * sizeof(double));
	assert_memory_equal(clean[1], dirty[1], count / 2 * sizeof(double));
}

/* Inner folds of these blocks fit the same rows as those of other outer folds. */
static void shared_fits_change_no_prediction(void **state)
{
	double own[2][ROWS], shared[2][ROWS];
	struct machine m;
	struct tw_samples s = fill(&m);

	(void)state;
	s.blocks = 5;
	for (int share = 0; share < 2; share++) {
		s.fits = share ? tw_fits_new() : NULL;
		for (size_t i = 0; i < 5; i++) {
			const struct tw_fold f = tw_fold_at(ROWS, 5, i);

			validate(&s, f, (share ? shared : own)[0] + f.from,
				 (share ? shared : own)[1] + f.from);
		}
		/* Without two of five blocks: ten fits for each learner and form. */
		if (share)
			assert_true(tw_fits_shared(s.fits) >= 5 * 10);
		tw_fits_free(s.fits);
	}
	assert_memory_equal(own, shared, sizeof(own));
}

static void the_choice_is_reported(void **state)
{
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 };
	struct machine m;
	const struct tw_samples s = fill(&m);
	json_t *lines = NULL;
	size_t chosen = 0;

	(void)state;
	assert_int_equal(tw_trainer_auto.fit(&tw_trainer_auto, &s, 1, &text, &err), 0);
	assert_int_equal(tw_trainer_auto.explain(text.data, text.len, &lines, &err), 0);
	for (size_t i = 0; i < json_array_size(lines); i++)
		chosen += strstr(json_string_value(json_array_get(lines, i)),
				 ": chosen: the ") != NULL;
	assert_int_equal(chosen, 2);
	assert_int_equal(tw_trainer_auto.explain("{}", 2, &lines, &err), -1);
	assert_string_equal(err.text, ".ensemble: missing");
	json_decref(lines);
	tw_buf_clear(&text);
}

#define BLEND 40

static void a_blend_is_the_median_unless_weights_are_plainly_better(void **state)
{
	double y[BLEND], low[BLEND], high[BLEND], far[BLEND], bad[BLEND];
	uint32_t rows[BLEND];
	const struct tw_samples s = { .rows = BLEND, .y = y };
	struct tw_auto_trial trial[4] = {
		{ .predicted = low, .mae = 1.0 },
		{ .predicted = high, .mae = 1.1 },
		{ .predicted = far, .mae = 1.2 },
		{ .role = TW_AUTO_FREE, .predicted = bad, .mae = 5.0 },
	};
	struct tw_auto_trials t = {
		.samples = &s, .rows = { rows, BLEND, 0 }, .at = trial, .count = 3
	};
	struct tw_auto_blend b;
	struct tw_err err = { 0 };

	(void)state;
	for (uint32_t r = 0; r < BLEND; r++) {
		rows[r] = r;
		y[r] = 50 + r % 7;
		low[r] = y[r] - 1;
		high[r] = y[r] + (r % 2 == 0 ? 1.0 : 1.2);
		far[r] = y[r] + 1.2;
		bad[r] = y[r] + 5;
	}
	/* The median is that of a trial; half of one and half of another is better. */
	assert_int_equal(tw_auto_blend(&t, false, &b, &err), 0);
	assert_false(b.median);
	assert_int_equal(b.count, 2);
	assert_int_equal(b.trial[0] + b.trial[1], 1);
	assert_true(fabs(b.weight[0] - 0.5) < 1e-9 && fabs(b.weight[1] - 0.5) < 1e-9);
	assert_true(b.mae < 0.06);
	/* Trials that need not rise are for blends that need not. */
	trial[2].role = TW_AUTO_FREE;
	t.count = 4;
	assert_int_equal(tw_auto_blend(&t, false, &b, &err), 0);
	assert_int_equal(b.count, 2);
	/* One whose error is much larger takes no part even there. */
	trial[0].role = trial[1].role = TW_AUTO_PROBE;
	assert_int_equal(tw_auto_blend(&t, true, &b, &err), 0);
	assert_int_equal(b.count, 1);
	assert_int_equal(b.trial[0], 2);
	/* Two that err alike: the median, as nothing is gained by weights. */
	memcpy(bad, far, sizeof(far));
	trial[3].mae = 1.2;
	assert_int_equal(tw_auto_blend(&t, true, &b, &err), 0);
	assert_true(b.median);
	assert_true(fabs(tw_auto_blend_row(&t, &b, 0) - far[0]) < 1e-9);
}

/* Most rows draw little: their median has the least mean error, and a large bias. */
static void a_large_bias_counts_as_an_error(void **state)
{
	double y[BLEND], median[BLEND], mean[BLEND];
	uint32_t rows[BLEND];
	const struct tw_samples s = { .rows = BLEND, .y = y };
	struct tw_auto_trial trial[2] = { { .predicted = median, .mae = 40 },
					  { .predicted = mean, .mae = 48 } };
	const struct tw_auto_trials t = {
		.samples = &s, .rows = { rows, BLEND, 0 }, .at = trial, .count = 2
	};
	struct tw_auto_blend b;
	struct tw_err err = { 0 };
	double bias = 0;

	(void)state;
	for (uint32_t r = 0; r < BLEND; r++) {
		rows[r] = r;
		y[r] = r % 5 < 3 ? 50 : 150;
		median[r] = 50;
		mean[r] = 90;
	}
	assert_int_equal(tw_auto_blend(&t, false, &b, &err), 0);
	for (size_t r = 0; r < BLEND; r++)
		bias += (tw_auto_blend_row(&t, &b, r) - y[r]) / BLEND;
	if (fabs(bias) > 0.05 * 90)
		fail_msg("%g W", bias);
}

static size_t count_lines(const json_t *lines, const char *part)
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(lines); i++)
		n += strstr(json_string_value(json_array_get(lines, i)), part) != NULL;
	return n;
}

/* Rows without any load draw much: a model that starts from rest cannot know. */
static void weak_features_are_not_bound_to_rise_from_rest(void **state)
{
	static const char *const weak[] = { "cgroupfs_cpu_usage_us",
					    "cgroupfs_memory_usage_bytes" };
	double error = 0, spread = 0, watts[ROWS];
	struct tw_buf text = { 0 }, again = { 0 };
	struct tw_err err = { 0 };
	struct machine m;
	struct tw_samples s = fill(&m);
	json_t *root, *lines;

	(void)state;
	s.features = weak;
	s.time_ms = NULL;
	for (size_t r = 0; r < ROWS; r++) {
		const bool busy = r / 3 % 2 == 1;

		m.x[2 * r] = r % 3 == 0 ? 0 : 1e5 * (double)(r % 5);
		m.x[2 * r + 1] = busy ? 1e6 : 2e6;
		m.y[r] = (busy ? 100 : 20) + (double)(r % 4);
	}
	for (size_t i = 0; i < 5; i++) {
		const struct tw_fold fold = tw_fold_at(ROWS, 5, i);

		validate(&s, fold, watts + fold.from, NULL);
	}
	for (size_t r = 0; r < ROWS; r++) {
		error += fabs(watts[r] - s.y[r]) / ROWS;
		spread += fabs(s.y[r] - 61.5) / ROWS;
	}
	/* Bound to rise from rest, it was 0.4 times the spread. */
	if (!(error < 0.1 * spread))
		fail_msg("%g W, spread %g W", error, spread);
	assert_int_equal(tw_trainer_auto.fit(&tw_trainer_auto, &s, 1, &text, &err), 0);
	root = json_loadb(text.data, text.len, 0, NULL);
	assert_null(json_object_get(
		json_object_get(json_object_get(root, "ensemble"), "alone"), "load"));
	json_decref(root);
	/* Rows are sampled by the seed alone. */
	assert_int_equal(tw_trainer_auto.fit(&tw_trainer_auto, &s, 1, &again, &err), 0);
	assert_int_equal(text.len, again.len);
	assert_memory_equal(text.data, again.data, text.len);
	assert_int_equal(tw_trainer_auto.explain(text.data, text.len, &lines, &err), 0);
	assert_int_equal(count_lines(lines, "alone: random trees, large leaves of "), 1);
	assert_int_equal(count_lines(lines, "alone: boosted trees, sampled rows of "),
			 TW_XGBOOST);
	json_decref(lines);
	tw_buf_clear(&text);
	tw_buf_clear(&again);
}

/* Without another rate of work there is no ratio to the load. */
static void trees_of_one_feature_are_grown_once(void **state)
{
	struct machine m;
	struct tw_samples s = fill(&m);

	(void)state;
	s.time_ms = NULL;
	for (size_t cols = 2; cols > 0; cols--) {
		struct tw_buf text = { 0 };
		struct tw_err err = { 0 };
		json_t *lines = NULL;

		s.cols = cols;
		for (size_t r = 0; r < ROWS; r++)
			m.x[cols * r] = 1e9 * load_at(r);
		assert_int_equal(
			tw_trainer_auto.fit(&tw_trainer_auto, &s, 1, &text, &err), 0);
		assert_int_equal(
			tw_trainer_auto.explain(text.data, text.len, &lines, &err), 0);
		assert_int_equal(count_lines(lines, "alone: random trees, rising"), cols);
		json_decref(lines);
		tw_buf_clear(&text);
	}
}

/* Whether the choice of AutoTrainer names the feature. */
static bool is_chosen(const struct tw_samples *s, const char *feature)
{
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 };
	json_t *lines = NULL;
	bool found = false;

	if (tw_trainer_auto.fit(&tw_trainer_auto, s, 1, &text, &err) < 0 ||
	    tw_trainer_auto.explain(text.data, text.len, &lines, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < json_array_size(lines); i++) {
		const char *line = json_string_value(json_array_get(lines, i));

		if (strncmp(line, "alone: chosen: ", 15) == 0)
			found = strstr(line, feature) != NULL;
	}
	json_decref(lines);
	tw_buf_clear(&text);
	return found;
}

/* Far more cycles than the CPU time holds: the recording lost CPU time. */
static void lost_cpu_time_is_a_clue_for_memory_only(void **state)
{
	static const char *const with_time[] = { "cpu_cycles", "bpf_cpu_time_ms" };
	struct machine m;
	struct tw_samples s = fill(&m);

	(void)state;
	s.features = with_time;
	s.time_ms = NULL;
	for (size_t r = 0; r < ROWS; r++)
		m.x[2 * r + 1] = 10 + (double)(r % 5);
	assert_false(is_chosen(&s, "bpf_cpu_time_ms"));
	s.component = TW_DRAM;
	assert_true(is_chosen(&s, "bpf_cpu_time_ms"));
}

/* A law that is a line goes on beyond what was measured; trees would not. */
static void a_plain_law_is_recognised(void **state)
{
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 };
	struct machine m;
	struct tw_samples s = fill(&m);
	double watts[ROWS];

	(void)state;
	for (size_t r = 0; r < ROWS; r++) {
		m.x[2 * r] = 1e7 * (double)(r * 7 % ROWS);
		m.x[2 * r + 1] = 0;
		m.y[r] = 30 + 0.25 * (double)(r * 7 % ROWS);
	}
	assert_int_equal(tw_trainer_auto.fit(&tw_trainer_auto, &s, 1, &text, &err), 0);
	m.x[0] = 1e7 * ROWS * 1.2;
	predict("ensemble", &text, &s, false, watts);
	assert_true(fabs(watts[0] - (30 + 0.25 * ROWS * 1.2)) < 0.5);
	tw_buf_clear(&text);
}

/* On each ray, power starts from rest, has no step there, and never falls. */
static void power_rises_from_rest(void **state)
{
	enum { STEPS = 40 };
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 };
	struct machine m;
	const struct tw_samples s = fill(&m);
	double at[2 * STEPS], watts[ROWS], least = INFINITY, most = 0;
	struct tw_samples ray = s;
	struct tw_rest rest;

	(void)state;
	/* Rows at rest are among them: otherwise nothing has to rise from there. */
	for (size_t r = 0; r < ROWS; r++) {
		if (r % 10 == 0)
			m.x[2 * r] = m.x[2 * r + 1] = 0;
		m.y[r] = 20 + m.x[2 * r] / 2e8 + (m.x[2 * r] > 0 ? (double)(r % 5) : 0);
	}
	assert_int_equal(tw_trainer_auto.fit(&tw_trainer_auto, &s, 1, &text, &err), 0);
	for (size_t r = 0; r < ROWS; r++) {
		least = fmin(least, s.y[r]);
		most = fmax(most, s.y[r]);
	}
	assert_int_equal(tw_rest_find(&s, &rest, &err), 0);
	assert_true(rest.shown);
	ray.x = at;
	ray.rows = STEPS;
	for (size_t r = 0; r < ROWS; r += 7) {
		for (size_t i = 0; i < STEPS; i++) {
			const double t = (double)i / (STEPS - 1);

			at[2 * i] = t * t * s.x[2 * r];
			at[2 * i + 1] = t * t * s.x[2 * r + 1];
		}
		predict("ensemble", &text, &ray, false, watts);
		assert_true(fabs(watts[0] - rest.watts) < 1e-9);
		assert_true(watts[1] - watts[0] < 0.05 * (most - least));
		for (size_t i = 1; i < STEPS; i++)
			if (watts[i] < watts[i - 1] - 1e-3)
				fail_msg("row %zu: %g after %g W", r, watts[i],
					 watts[i - 1]);
	}
	tw_buf_clear(&text);
}

static void odd_time_stamps_are_no_series(void **state)
{
	static const int64_t odd[][4] = { { 0, 0, 0, 0 },
					  { INT64_MIN, 0, INT64_MAX, INT64_MAX },
					  { 9, 8, 7, 6 } };
	double alone[ROWS], series[ROWS];
	struct machine m;
	const struct tw_samples s = fill(&m);

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		for (size_t r = 0; r < ROWS; r++)
			m.time_ms[r] = odd[i][r % 4];
		validate(&s, tw_fold_at(ROWS, 5, 0), alone, series);
		if (i == 0)
			assert_memory_equal(alone, series, ROWS / 5 * sizeof(double));
	}
}

/* There are very many allocations: more and more of them are passed over. */
static void memory_that_runs_out_is_an_error(void **state)
{
	struct machine m;
	struct tw_samples s = fill(&m);

	(void)state;
	s.rows = 20;
	for (int n = 1;; n += 1 + n / (quick() ? 3 : 8)) {
		struct tw_buf text = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_trainer_auto.fit(&tw_trainer_auto, &s, 1, &text, &err);
		tw_buf_clear(&text);
		if (!fail_alloc_told(rc, &err))
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_find_a_step),
		cmocka_unit_test(grown_trees_predict_as_their_text_does),
		cmocka_unit_test(a_median_passes_over_a_spike_and_a_mean_does_not),
		cmocka_unit_test(trees_from_zero_rise_from_zero),
		cmocka_unit_test(isotonic_trees_never_fall_with_the_load),
		cmocka_unit_test(isotonic_trees_need_no_load),
		cmocka_unit_test(a_seed_gives_the_same_trees_and_another_gives_others),
		cmocka_unit_test(a_series_is_better_where_the_machine_remembers),
		cmocka_unit_test(chance_does_not_give_earlier_rows_up),
		cmocka_unit_test(a_series_looks_back_over_half_a_minute),
		cmocka_unit_test(spans_are_of_time_not_of_rows),
		cmocka_unit_test(the_judged_rows_are_never_seen),
		cmocka_unit_test(shared_fits_change_no_prediction),
		cmocka_unit_test(the_choice_is_reported),
		cmocka_unit_test(a_blend_is_the_median_unless_weights_are_plainly_better),
		cmocka_unit_test(a_large_bias_counts_as_an_error),
		cmocka_unit_test(weak_features_are_not_bound_to_rise_from_rest),
		cmocka_unit_test(trees_of_one_feature_are_grown_once),
		cmocka_unit_test(lost_cpu_time_is_a_clue_for_memory_only),
		cmocka_unit_test(a_plain_law_is_recognised),
		cmocka_unit_test(power_rises_from_rest),
		cmocka_unit_test(odd_time_stamps_are_no_series),
		cmocka_unit_test(memory_that_runs_out_is_an_error),
	};

	gsl_set_error_handler_off();
	return cmocka_run_group_tests_name("fit_auto", tests, NULL, NULL);
}
