/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "estimator/predict/predictor.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "model-db/model.h"
#include "tests/unit/fail_alloc.h"
#include "trainer/fit/calibrate.h"
#include "trainer/fit/random.h"
#include "trainer/fit/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 2000
#define STEP_MS 3000

/* Rows of two features, and predictions with errors that a test chooses. */
struct rows {
	double x[ROWS][2], measured[ROWS], predicted[ROWS];
	int64_t time_ms[ROWS];
	struct tw_samples samples;
	struct tw_residuals residuals;
	struct tw_random random;
};

static const char *const features[] = { "cpu_cycles", "cache_miss" };

/* From -1 to 1, evenly. */
static double noise(struct rows *d)
{
	return 2.0 * tw_random_share(&d->random) - 1.0;
}

static struct rows *rows_new(size_t rows)
{
	struct rows *d = calloc(1, sizeof(*d));

	assert_non_null(d);
	d->random = tw_random_init(7, 1);
	for (size_t r = 0; r < rows; r++) {
		d->x[r][0] = fabs(noise(d));
		d->x[r][1] = fabs(noise(d));
		d->time_ms[r] = (int64_t)r * STEP_MS;
		d->predicted[r] = 100.0 + 50.0 * fabs(noise(d));
	}
	d->samples = (struct tw_samples){ .rows = rows,
					  .cols = 2,
					  .x = d->x[0],
					  .y = d->measured,
					  .features = features,
					  .time_ms = d->time_ms };
	d->residuals = (struct tw_residuals){ .samples = &d->samples,
					      .measured = d->measured,
					      .predicted = d->predicted,
					      .folds = 5 };
	return d;
}

static void calibrate(const struct rows *d, struct tw_calibrated *out)
{
	struct tw_err err = { 0 };

	*out = (struct tw_calibrated){ 0 };
	if (tw_calibrate(&d->residuals, 1, out, &err) < 0)
		fail_msg("%s", err.text);
}

/* 2000 rows: a deviation of 1.5 % is three times that of independent rows. */
static void assert_covers(const struct tw_calibrated *c)
{
	if (!(fabs(c->coverage - 0.95) <= 0.015))
		fail_msg("coverage of %g", c->coverage);
}

static void equal_errors_have_a_constant_interval(void **state)
{
	struct rows *d = rows_new(ROWS);
	struct tw_calibrated c;

	(void)state;
	for (size_t r = 0; r < ROWS; r++)
		d->measured[r] = d->predicted[r] + 10.0 * noise(d);
	calibrate(d, &c);
	assert_int_equal(c.interval.bins, 1);
	assert_true(c.interval.factor == 0.0);
	assert_true(fabs(c.interval.width[0] - 9.5) < 0.3);
	assert_covers(&c);
	assert_int_equal(c.groups, 5);
	tw_calibrated_release(&c);
	free(d);
}

static void errors_by_a_feature_have_intervals_by_the_expected_error(void **state)
{
	struct rows *d = rows_new(ROWS);
	struct tw_calibrated c;

	(void)state;
	for (size_t r = 0; r < ROWS; r++)
		d->measured[r] =
			d->predicted[r] + (d->x[r][1] > 0.8 ? 30.0 : 3.0) * noise(d);
	calibrate(d, &c);
	assert_true(c.interval.factor > 1.0);
	assert_covers(&c);
	assert_true(c.score < 0.6 * c.constant);
	/* All misses are among a fifth of the rows, which cannot be told apart. */
	assert_true(c.auc > 0.85);
	tw_calibrated_release(&c);
	free(d);
}

static void errors_by_predicted_power_have_intervals_in_bins(void **state)
{
	struct rows *d = rows_new(ROWS);
	struct tw_calibrated c;

	(void)state;
	for (size_t r = 0; r < ROWS; r++)
		d->measured[r] = d->predicted[r] +
				 (d->predicted[r] > 125.0 ? 30.0 : 3.0) * noise(d);
	calibrate(d, &c);
	assert_true(c.interval.bins > 1);
	assert_true(c.interval.width[0] < 3.5);
	assert_true(c.interval.width[c.interval.bins - 1] > 25.0);
	assert_covers(&c);
	assert_true(c.score < 0.8 * c.constant);
	tw_calibrated_release(&c);
	free(d);
}

/* Errors of a group that the other groups do not have: they must not help to cover it. */
static void a_group_is_judged_by_the_others(void **state)
{
	struct rows *d = rows_new(ROWS);
	struct tw_calibrated c;

	(void)state;
	for (size_t r = 0; r < ROWS; r++)
		d->measured[r] = d->predicted[r] + noise(d);
	for (size_t r = 800; r < 1200; r++)
		d->measured[r] = d->predicted[r] + 50.0;
	calibrate(d, &c);
	assert_true(c.group_coverage[2] == 0.0);
	assert_true(c.group_coverage[1] == 1.0);
	/* Without the group's errors a constant half-width is near 1 W. */
	assert_true(c.score > 300.0);
	tw_calibrated_release(&c);
	free(d);
}

/*
 * 95 % of all rows are within 15 W, but only three quarters of the worst group. Of its
 * 400 rows 95 %, less a standard error of 1.1 %, are within 18.8 W.
 */
static void an_interval_covers_the_worst_group(void **state)
{
	struct rows *d = rows_new(ROWS);
	struct tw_calibrated c;

	(void)state;
	for (size_t r = 0; r < ROWS; r++)
		d->measured[r] = d->predicted[r] + (r < 400 ? 20.0 : 1.0) * noise(d);
	calibrate(d, &c);
	assert_int_equal(c.interval.bins, 1);
	assert_true(c.interval.factor == 0.0);
	if (!(fabs(c.interval.width[0] - 18.8) < 0.4))
		fail_msg("+-%g W", c.interval.width[0]);
	tw_calibrated_release(&c);
	free(d);
}

/* Four groups have large errors at high power, the fifth has them at low power. */
static void a_choice_that_fails_on_new_groups_gives_way_to_the_constant(void **state)
{
	struct rows *d = rows_new(ROWS);
	struct tw_calibrated c;

	(void)state;
	for (size_t r = 0; r < ROWS; r++) {
		const bool high = d->predicted[r] > 125.0, last = r >= 1600;

		d->measured[r] = d->predicted[r] + (high != last ? 30.0 : 1.0) * noise(d);
	}
	calibrate(d, &c);
	assert_true(c.score <= 1.05 * c.constant);
	assert_int_equal(c.interval.bins, 1);
	tw_calibrated_release(&c);
	free(d);
}

static void load(const struct tw_calibrated *alone, const struct tw_calibrated *series,
		 struct tw_answer_error *out)
{
	struct tw_model_part part = { .component = TW_PACKAGE };
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 };

	tw_calibrated_write(alone, series, STEP_MS, &text);
	part.error_text = text.data;
	part.error_len = text.len;
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(tw_strs_adds(&part.features, features[i], &err), 0);
	if (tw_answer_error_load(NULL, &part, out, &err) < 0)
		fail_msg("%s", err.text);
	tw_buf_clear(&text);
	tw_strs_clear(&part.features);
}

/* Power lags: the error is large where the load has just changed. */
static void rows_of_a_series_expect_errors_by_the_row_before(void **state)
{
	struct rows *d = rows_new(ROWS);
	struct tw_calibrated alone, series;
	struct tw_answer_error e = { 0 };
	const double x[] = { 0.1, 0.5, 0.9, 0.5, 0.9, 0.5 };
	const int64_t time_ms[] = { 0, STEP_MS, 2 * STEP_MS };
	struct tw_rows in = { .x = x, .rows = 3, .stride = 2, .time_ms = time_ms };
	const double watts[3] = { 0 };
	double expected[3], half[3];

	(void)state;
	for (size_t r = 0; r < ROWS; r++) {
		const double jump = r > 0 ? fabs(d->x[r][0] - d->x[r - 1][0]) : 0.0;

		d->measured[r] = d->predicted[r] + (1.0 + 40.0 * jump) * noise(d);
	}
	calibrate(d, &alone);
	d->residuals.step_ms = STEP_MS;
	calibrate(d, &series);
	/* Validation predicts the first row of each fold by itself. */
	assert_int_equal(series.rows, ROWS - 5);
	assert_true(series.auc > alone.auc + 0.1);
	assert_true(series.score < 0.9 * alone.score);

	load(&alone, &series, &e);
	assert_int_equal(tw_answer_error_back(&e), 1);
	tw_answer_error_of(&e, &in, watts, expected, half);
	/* The second row has jumped, the third has not. */
	assert_true(expected[1] > 2.0 * expected[2]);
	tw_answer_error_release(&e);
	tw_calibrated_release(&alone);
	tw_calibrated_release(&series);
	free(d);
}

static void few_rows_have_a_constant_interval_and_no_trees(void **state)
{
	struct rows *d = rows_new(50);
	struct tw_calibrated c;
	struct tw_buf text = { 0 };

	(void)state;
	for (size_t r = 0; r < 50; r++)
		d->measured[r] = d->predicted[r] + d->x[r][1];
	calibrate(d, &c);
	assert_int_equal(c.interval.bins, 1);
	assert_true(isnan(c.auc));
	tw_calibrated_write(&c, NULL, 0, &text);
	assert_int_equal(text.len, 0);
	tw_calibrated_release(&c);
	d->residuals.folds = d->samples.rows = 1;
	calibrate(d, &c);
	assert_true(c.interval.width[0] == fabs(d->measured[0] - d->predicted[0]));
	tw_calibrated_release(&c);
	free(d);
}

static void the_same_rows_give_the_same_text(void **state)
{
	struct rows *d = rows_new(ROWS);
	struct tw_calibrated a, b;

	(void)state;
	for (size_t r = 0; r < ROWS; r++)
		d->measured[r] = d->predicted[r] + d->x[r][1] * noise(d);
	calibrate(d, &a);
	calibrate(d, &b);
	assert_true(a.form.len > 0);
	assert_int_equal(a.form.len, b.form.len);
	assert_memory_equal(a.form.data, b.form.data, a.form.len);
	tw_calibrated_release(&a);
	tw_calibrated_release(&b);
	free(d);
}

/* There are thousands of allocations: fail ever fewer of them. */
static void lack_of_memory_is_reported(void **state)
{
	struct rows *d = rows_new(120);

	(void)state;
	for (size_t r = 0; r < 120; r++)
		d->measured[r] = d->predicted[r] + d->x[r][1];
	for (int n = 1;; n += 1 + n / 16) {
		struct tw_calibrated c = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_calibrate(&d->residuals, 1, &c, &err);
		tw_calibrated_release(&c);
		if (!fail_alloc_told(rc, &err))
			break;
	}
	free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_errors_have_a_constant_interval),
		cmocka_unit_test(
			errors_by_a_feature_have_intervals_by_the_expected_error),
		cmocka_unit_test(errors_by_predicted_power_have_intervals_in_bins),
		cmocka_unit_test(a_group_is_judged_by_the_others),
		cmocka_unit_test(an_interval_covers_the_worst_group),
		cmocka_unit_test(
			a_choice_that_fails_on_new_groups_gives_way_to_the_constant),
		cmocka_unit_test(rows_of_a_series_expect_errors_by_the_row_before),
		cmocka_unit_test(few_rows_have_a_constant_interval_and_no_trees),
		cmocka_unit_test(the_same_rows_give_the_same_text),
		cmocka_unit_test(lack_of_memory_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
