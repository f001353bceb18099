/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "trainer/fit/score.h"

#include <math.h>

static void assert_near(double got, double want)
{
	if (!(fabs(got - want) <= 1e-9))
		fail_msg("%.17g is not %.17g", got, want);
}

/* 2 / (1 - 0.95) is 40. */
static void a_miss_costs_forty_times_its_distance(void **state)
{
	(void)state;
	assert_near(tw_winkler(12, 10, 3), 6);
	assert_near(tw_winkler(15, 10, 3), 6 + 40 * 2);
	assert_near(tw_winkler(6, 10, 3), 6 + 40 * 1);
	assert_true(tw_interval_holds(13, 10, 3));
	assert_false(tw_interval_holds(13.1, 10, 3));
	assert_true(tw_interval_holds(7, 10, 3));
	assert_false(tw_interval_holds(6.9, 10, 3));
}

static void an_interval_does_not_begin_below_zero(void **state)
{
	(void)state;
	assert_near(tw_winkler(1, 1, 5), 6);
	assert_true(isnan(tw_winkler(1, 1, NAN)));
	assert_false(tw_interval_holds(1, 1, NAN));
	assert_true(tw_interval_holds(0, 1, 5));
	assert_false(tw_interval_holds(-0.1, 1, 5));
}

static void the_conformal_rank_counts_the_next_error(void **state)
{
	double v[100];

	(void)state;
	for (size_t i = 0; i < 100; i++)
		v[i] = (double)(100 - i);
	/* ceil(101 * 0.95) = 96 */
	assert_near(tw_conformal(v, 100, 0.95), 96);
	/* ceil(11 * 0.95) = 11 is more than there are. */
	assert_near(tw_conformal(v, 10, 0.95), 10);
	assert_near(tw_conformal(v, 1, 0.95), 1);
}

/* 40 rows have two misses: those above the 38th of the errors 1 .. 40. */
static void the_area_is_the_share_of_ordered_pairs(void **state)
{
	double error[40], expected[40], area;
	struct tw_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < 40; i++)
		error[i] = expected[i] = (double)(i + 1);
	assert_int_equal(tw_miss_auc(error, expected, 40, &area, &err), 0);
	assert_near(area, 1);
	/* A miss behind 19 of 38 others. */
	expected[39] = 19.5;
	assert_int_equal(tw_miss_auc(error, expected, 40, &area, &err), 0);
	assert_near(area, (38.0 + 19.0) / (2 * 38));
	for (size_t i = 0; i < 40; i++)
		expected[i] = 0;
	assert_int_equal(tw_miss_auc(error, expected, 40, &area, &err), 0);
	assert_near(area, 0.5);
	for (size_t i = 0; i < 40; i++)
		error[i] = 7;
	assert_int_equal(tw_miss_auc(error, expected, 40, &area, &err), 0);
	assert_true(isnan(area));
}

/* The nearest rank is ceil(0.95 n); the rows above it are misses, and only they are
 * expected. */
static void misses_are_the_rows_above_the_nearest_rank(void **state)
{
	static const struct {
		size_t rows, misses;
	} cases[] = { { 20, 1 }, { 21, 1 }, { 41, 2 }, { 101, 5 }, { 400, 20 } };

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++) {
		const size_t rows = cases[k].rows;
		double error[400], expected[400], area;
		struct tw_err err = { 0 };

		for (size_t i = 0; i < rows; i++) {
			error[i] = (double)((i * 7 + rows - 1) % rows);
			if (rows % 7 == 0)
				error[i] = (double)(rows - 1 - i);
			expected[i] = error[i] >= (double)(rows - cases[k].misses);
		}
		assert_int_equal(tw_miss_auc(error, expected, rows, &area, &err), 0);
		assert_near(area, 1);
	}
}

static void no_rows_have_no_scores(void **state)
{
	const struct tw_intervals i = { .constant_w = 1 };
	struct tw_interval_score s;
	struct tw_err err = { 0 };
	double area = 0;

	(void)state;
	assert_int_equal(tw_miss_auc(NULL, NULL, 0, &area, &err), 0);
	assert_true(isnan(area));
	assert_int_equal(tw_interval_score(&i, &s, &err), 0);
	assert_true(isnan(s.auc) && isnan(s.coverage) && isnan(s.block_coverage[4]));
}

static void a_recording_is_scored_in_blocks(void **state)
{
	static const double measured[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
	static const double predicted[] = { 1, 2, 3, 4, 5, 6, 7, 8, 19, 10 };
	double half_w[10], expected_w[10];
	struct tw_intervals i = { .measured = measured,
				  .predicted = predicted,
				  .half_w = half_w,
				  .expected_w = expected_w,
				  .constant_w = 10,
				  .rows = 10 };
	struct tw_interval_score s;
	struct tw_err err = { 0 };

	(void)state;
	for (size_t r = 0; r < 10; r++)
		half_w[r] = expected_w[r] = 0.5;
	assert_int_equal(tw_interval_score(&i, &s, &err), 0);
	assert_near(s.coverage, 0.9);
	assert_near(s.block_coverage[0], 1);
	assert_near(s.block_coverage[3], 1);
	assert_near(s.block_coverage[4], 0.5);
	assert_near(s.score, (10 * 1 + 40 * 9.5) / 10);
	/* Of +-10 W; those of the first eight begin at 0 W. */
	assert_near(s.constant, (8 * 10 + 36 + 2 * 20) / 10.0);
	/* Errors of 0 and 10 W: the nearest rank of 95 % is the largest, no row is above.
	 */
	assert_true(isnan(s.auc));
	half_w[2] = NAN;
	assert_int_equal(tw_interval_score(&i, &s, &err), 0);
	assert_true(isnan(s.score) && isnan(s.coverage) && isnan(s.block_coverage[0]));
	assert_false(isnan(s.constant));
}

static void the_area_of_a_recording_is_of_its_errors(void **state)
{
	double measured[40], predicted[40], half_w[40], expected_w[40];
	const struct tw_intervals i = { .measured = measured,
					.predicted = predicted,
					.half_w = half_w,
					.expected_w = expected_w,
					.constant_w = 10,
					.rows = 40 };
	struct tw_interval_score s;
	struct tw_err err = { 0 };

	(void)state;
	for (size_t r = 0; r < 40; r++) {
		measured[r] = 100;
		predicted[r] = 100 + (r % 2 == 0 ? 1.0 : -1.0) * (double)(r + 1);
		half_w[r] = 3;
		expected_w[r] = (double)(r + 1);
	}
	/* Misses are the rows of 39 and 40 W; the last stands behind 19 of 38 others. */
	expected_w[39] = 19.5;
	assert_int_equal(tw_interval_score(&i, &s, &err), 0);
	assert_near(s.auc, (38.0 + 19.0) / (2 * 38));
	expected_w[0] = INFINITY;
	assert_int_equal(tw_interval_score(&i, &s, &err), 0);
	assert_true(isnan(s.auc));
}

static void lack_of_memory_is_reported(void **state)
{
	static const double v[] = { 1, 2, 3 };
	const struct tw_intervals i = { .measured = v,
					.predicted = v,
					.half_w = v,
					.expected_w = v,
					.constant_w = 1,
					.rows = 3 };

	(void)state;
	for (int n = 1;; n++) {
		struct tw_interval_score s;
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_interval_score(&i, &s, &err);
		if (!fail_alloc_told(rc, &err))
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_miss_costs_forty_times_its_distance),
		cmocka_unit_test(an_interval_does_not_begin_below_zero),
		cmocka_unit_test(the_conformal_rank_counts_the_next_error),
		cmocka_unit_test(the_area_is_the_share_of_ordered_pairs),
		cmocka_unit_test(misses_are_the_rows_above_the_nearest_rank),
		cmocka_unit_test(no_rows_have_no_scores),
		cmocka_unit_test(a_recording_is_scored_in_blocks),
		cmocka_unit_test(the_area_of_a_recording_is_of_its_errors),
		cmocka_unit_test(lack_of_memory_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
