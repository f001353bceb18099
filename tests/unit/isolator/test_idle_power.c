/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "isolator/idle_power.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define ROWS 1000

/* Uniform in [0, 1): xorshift64 (G. Marsaglia, 2003). */
static double draw(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return (double)(*s >> 11) / 9007199254740992.0;
}

struct machine {
	double use[ROWS], watts[ROWS];
};

/* 50 W + 0.1 W a unit, usage from..1000, uniform noise of +-2 W. */
static void make_linear(struct machine *m, double from, uint64_t seed)
{
	for (size_t r = 0; r < ROWS; r++) {
		m->use[r] = from + (1000.0 - from) * draw(&seed);
		m->watts[r] = 50 + 0.1 * m->use[r] + 4 * draw(&seed) - 2;
	}
}

static struct tw_idle_power find(const struct machine *m, size_t rows)
{
	struct tw_idle_power p = { 0 };
	struct tw_err err = { 0 };

	if (tw_idle_power_find(m->use, m->watts, rows, &p, &err) < 0)
		fail_msg("%s", err.text);
	return p;
}

static void the_interval_contains_the_intercept_of_a_line(void **state)
{
	size_t within = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct machine m;
		struct tw_idle_power p;

		make_linear(&m, 0, seed);
		p = find(&m, ROWS);
		assert_true(p.by_use && p.rested);
		assert_true(fabs(p.watts - 50) < 2);
		assert_true(p.low <= p.watts && p.watts <= p.high);
		assert_true(p.high - p.low < 8);
		within += p.low <= 50 && 50 <= p.high;
	}
	/* On average 19 of 20 intervals of 95 %; fewer than 15: one in 10000. */
	assert_true(within >= 15);
}

/*
 * The interval is Student's t by nine degrees of freedom, 2.262, of the estimate's
 * standard error. The error follows here from the estimates of 300 recordings instead.
 */
static void the_interval_is_as_wide_as_the_error_of_the_estimate(void **state)
{
	enum { SEEDS = 300 };
	double sum = 0, squares = 0, half = 0, mean;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct machine m;
		struct tw_idle_power p;

		make_linear(&m, 0, seed);
		p = find(&m, ROWS);
		assert_true(fabs(p.high + p.low - 2 * p.watts) < 1e-9);
		sum += p.watts;
		squares += p.watts * p.watts;
		half += (p.high - p.low) / 2 / SEEDS;
	}
	mean = sum / SEEDS;
	assert_float_equal(half / sqrt(squares / SEEDS - mean * mean), 2.262, 0.4);
}

/* Below half the load power falls to 6 W: the line through the rows says 50 W. */
static void without_rest_the_interval_is_all_that_the_rows_support(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct machine m;
		struct tw_idle_power p;

		make_linear(&m, 500, seed);
		p = find(&m, ROWS);
		assert_true(p.by_use && !p.rested);
		assert_true(fabs(p.watts - 50) < 2);
		assert_true(p.low == 0);
		assert_true(p.high > 98 && p.high < 106);
	}
}

static void the_estimate_is_exact_without_noise(void **state)
{
	struct machine m;
	struct tw_idle_power p;

	(void)state;
	for (size_t r = 0; r < ROWS; r++) {
		m.use[r] = (double)((r * 37) % ROWS) + 10;
		m.watts[r] = 50 + 0.1 * m.use[r];
	}
	p = find(&m, ROWS);
	assert_true(fabs(p.watts - 50) < 1e-9);
	assert_true(p.high - p.low < 1e-9);
	for (size_t r = 0; r < ROWS; r++)
		m.watts[r] = 7;
	p = find(&m, ROWS);
	assert_true(p.by_use && p.watts == 7 && p.low == 7 && p.high == 7);
}

/* The first half of the load draws twice the power of the second. */
static void a_curved_relation_does_not_bias_the_estimate(void **state)
{
	struct machine m;

	(void)state;
	for (size_t r = 0; r < ROWS; r++) {
		m.use[r] = (double)((r * 37) % ROWS);
		m.watts[r] = 30 + 100 * sqrt(m.use[r] / ROWS);
	}
	/* A line through all rows has its intercept at 57 W. */
	assert_true(fabs(find(&m, ROWS).watts - 40) < 10);
}

/* One low sample moves MinIdleIsolator by 40 W. */
static void outliers_do_not_bias_the_estimate(void **state)
{
	struct machine m;
	struct tw_idle_power before, after;

	(void)state;
	make_linear(&m, 0, 3);
	before = find(&m, ROWS);
	for (size_t r = 0; r < ROWS; r += 12) {
		/* A load that shows in the counters only, or in the meter only. */
		if (r % 24 == 0)
			m.watts[r] = 50 + 0.1 * (1000 - m.use[r]);
		else
			m.use[r] = 1000 - m.use[r];
	}
	m.watts[5] = 10;
	after = find(&m, ROWS);
	assert_true(fabs(after.watts - before.watts) < 2);
	assert_true(fabs(after.watts - 50) < 3);
}

/* Power falls with usage: the middle six of the first ten rows count. */
static void without_a_slope_the_estimate_is_an_interquartile_mean(void **state)
{
	static const double first[] = {
		110, 108, 109, 105, 107, 106, 104, 102, 103, 101
	};
	struct machine m;

	(void)state;
	for (size_t r = 0; r < 20; r++) {
		m.use[r] = (double)(r + 1);
		m.watts[r] = r < 10 ? first[r] : 100;
	}
	assert_float_equal(find(&m, 20).watts, 105.5, 1e-9);
}

/*
 * Two usages: the slope is the difference of the medians, 70 W - 50 W. It is that of the
 * lower half of 24 rows, and of the 10 rows of the window where the half is less. The
 * window has 50 W at usage 1 and up to 70 W at usage 2, so that 30 W is the median at
 * rest.
 */
static void the_slope_is_of_the_half_or_of_the_window(void **state)
{
	static const struct {
		size_t rows, low; /* and rows of 60 W among those of usage 2 */
		double want;
	} cases[] = {
		{ 24, 3, (20 + 5 * 30) / 6.0 },
		{ 12, 1, 30 },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct machine m;

		for (size_t r = 0; r < cases[i].rows; r++) {
			m.use[r] = r < 5 ? 1 : r < cases[i].rows / 2 || r < 10 ? 2 : 3;
			m.watts[r] = r < 5 ? 50 : r < 5 + cases[i].low ? 60 : 70;
			if (m.use[r] == 3)
				m.watts[r] = 100;
			/* Rows of equal usage would all be in the window. */
			m.use[r] += 1e-12 * (double)r;
		}
		assert_float_equal(find(&m, cases[i].rows).watts, cases[i].want, 1e-9);
	}
}

/* Lines of 8 W to 12 W a unit are equally near: the median residual stays between two
 * rows. */
static void the_flattest_of_equally_near_lines_counts(void **state)
{
	static const struct machine m = { { 1, 1, 2, 2 }, { 10, 10, 18, 22 } };

	(void)state;
	assert_float_equal(find(&m, 4).watts, 2, 1e-9);
}

/*
 * The lower half is 39 rows at 1 W a unit and one of much usage and little power. Four
 * times (88 W - 50 W) / (210 - 10) is less than 1 W a unit.
 */
static void the_slope_is_at_most_four_times_that_of_the_range(void **state)
{
	struct machine m;

	(void)state;
	for (size_t r = 0; r < 80; r++) {
		m.use[r] = r < 39 ? 10 + (double)r : r < 40 ? 210 : 300;
		m.watts[r] = r < 39 ? 50 + (double)r : r < 40 ? 50 : 100;
	}
	/* The middle six of the window are 52 W to 57 W at usages of 12 to 17. */
	assert_float_equal(find(&m, 80).watts, 54.5 - 0.76 * 14.5, 1e-9);
}

/*
 * The middle is the mean of the inner half; noise reaches 3 * 1.4826 times the (lower)
 * median deviation below it.
 */
static void power_within_three_deviations_is_noise(void **state)
{
	static const struct {
		size_t rows;
		struct machine m;
		double middle;
		bool by_use;
	} cases[] = {
		/* Deviations of 6, 2, 1, 1, 4: noise begins at -1.9 W. */
		{ 5, { { 1, 2, 3, 4, 5 }, { 11, 8, 8, 5, 1 } }, 7, true },
		/* 9, 1, 1, 2, 6: at 7.1 W. */
		{ 5, { { 1, 2, 3, 4, 5 }, { 22, 18, 15, 15, 7 } }, 16, false },
		/* 10, 1, 1, 5: at 5.6 W. */
		{ 4, { { 1, 2, 3, 4 }, { 15, 11, 9, 0 } }, 10, false },
		/* The row of the least usage counts, too. */
		{ 6, { { 1, 2, 3, 4, 5, 6 }, { 0, 10, 10, 10, 10, 10 } }, 10, false },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const struct tw_idle_power p = find(&cases[i].m, cases[i].rows);

		assert_int_equal(p.by_use, cases[i].by_use);
		assert_float_equal(p.watts, cases[i].middle, 1e-9);
	}
}

/* The window has all 20 rows, 101 W to 120 W, in any order: noise is not power. */
static void of_equal_usage_all_rows_count(void **state)
{
	(void)state;
	for (size_t stride = 1; stride < 20; stride += 6) {
		struct machine m;
		struct tw_idle_power p;

		for (size_t r = 0; r < 20; r++) {
			m.use[r] = 5;
			m.watts[r] = (double)(120 - r * stride % 20);
		}
		p = find(&m, 20);
		assert_true(p.by_use);
		assert_float_equal(p.watts, 110.5, 1e-9);
	}
}

/* Rest of 50 W, and work of 120 W or 150 W that usage does not see. */
static void work_that_usage_misses_is_no_rest(void **state)
{
	static const struct {
		size_t rest, unseen; /* rows without usage; the others have some */
		double watts;
	} cases[] = { { 200, 100, 120 }, { 500, 500, 150 } };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct machine m;
		struct tw_idle_power p;
		uint64_t seed = 1;

		for (size_t r = 0; r < ROWS; r++) {
			const size_t k = r * 37 % ROWS;

			m.use[r] = k < cases[i].rest + cases[i].unseen ? 0 : (double)k;
			m.watts[r] = (k < cases[i].rest ? 50 : cases[i].watts) +
				     draw(&seed) - 0.5;
		}
		p = find(&m, ROWS);
		assert_true(p.rested && fabs(p.watts - 50) < 1);
	}
}

/* 5 % of the rows count as lowest, though a third has the usage of the window's last. */
static void the_lowest_power_is_that_of_few_rows(void **state)
{
	struct machine m;
	struct tw_idle_power p;

	(void)state;
	for (size_t r = 0; r < ROWS; r++) {
		m.use[r] = r % 3 == 0 ? 1 : 2 + (double)r;
		m.watts[r] = r % 3 == 0 ? 90 : r % 10 == 1 ? 30 : 120;
	}
	p = find(&m, ROWS);
	assert_false(p.by_use);
	assert_float_equal(p.watts, 30, 1e-9);
}

/* One row of 80 is 13 of 1000; 5 % of the largest usage is 50. */
static void a_machine_rests_if_one_row_of_80_has_next_to_no_usage(void **state)
{
	static const struct {
		size_t rows;
		double use;
		bool rested;
	} cases[] = { { 13, 50, true }, { 13, 51, false }, { 12, 50, false } };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct machine m;

		for (size_t r = 0; r < ROWS; r++) {
			m.use[r] = r < cases[i].rows ? cases[i].use : 1 + (double)r;
			if (r >= cases[i].rows && r < 100)
				m.use[r] = 100;
			m.watts[r] = 50 + 0.1 * m.use[r];
		}
		assert_int_equal(find(&m, ROWS).rested, cases[i].rested);
	}
}

/* The ten lowest of 37 rows are 30 W to 39 W, in any order and at the highest usage. */
static void the_lowest_power_is_an_interquartile_mean(void **state)
{
	(void)state;
	for (size_t stride = 1; stride < 25; stride++) {
		struct machine m;
		struct tw_idle_power p;

		if (stride % 5 == 0)
			continue; /* does not meet all of 25 rows */
		for (size_t r = 0; r < 37; r++) {
			m.use[r] = (double)(r + 1);
			m.watts[r] = r < 12 ? 100 : 30 + (double)((r - 12) * stride % 25);
		}
		p = find(&m, 37);
		assert_false(p.by_use);
		assert_float_equal(p.watts, 34.5, 1e-9);
	}
}

/*
 * Without one of three rows the means are 11.5 W, 11 W and 10.5 W. By the jackknife the
 * standard error is sqrt(2 / 3 * 0.5) W; Student's t by two degrees of freedom is 4.303.
 */
static void the_interval_of_three_rows_is_that_of_pencil_and_paper(void **state)
{
	static const struct machine m = { { 0, 1, 2 }, { 12, 11, 10 } };
	const struct tw_idle_power p = find(&m, 3);

	(void)state;
	assert_true(p.rested);
	assert_float_equal(p.watts, 11, 1e-9);
	assert_float_equal(p.low, 11 - 4.303 / sqrt(3), 1e-9);
	assert_float_equal(p.high, 11 + 4.303 / sqrt(3), 1e-9);
}

/* The line is 50 W at zero usage; one row is 1 W below it. */
static void without_rest_the_interval_ends_at_the_lowest_power(void **state)
{
	(void)state;
	for (size_t low = 0; low < 3; low++) {
		struct machine m;
		struct tw_idle_power p;

		for (size_t r = 0; r < ROWS; r++) {
			m.use[r] = 500 + (double)r / 2;
			m.watts[r] = 50 + 0.1 * m.use[r] - (r == low ? 1 : 0);
		}
		p = find(&m, ROWS);
		assert_float_equal(p.watts, 50, 1e-6);
		assert_float_equal(p.high, 99 + 0.05 * (double)low, 1e-9);
	}
}

/* Of the first 50 rows a quarter draws more and a quarter less, in any order. */
static void the_outer_quarters_do_not_count(void **state)
{
	(void)state;
	for (size_t stride = 1; stride < 50; stride += 10) {
		struct machine m;

		for (size_t r = 0; r < ROWS; r++) {
			m.use[r] = (double)(r + 1);
			m.watts[r] = 105;
		}
		for (size_t i = 0; i < 24; i++)
			m.watts[i * stride % 50] = i % 2 == 0 ? 120 : 80;
		assert_true(find(&m, ROWS).watts == 105);
	}
}

/* Every tenth row draws 30 W more: the line of the others counts. */
static void rows_beside_a_line_do_not_move_it(void **state)
{
	struct machine m;

	(void)state;
	for (size_t r = 0; r < ROWS; r++) {
		m.use[r] = (double)((r * 37) % ROWS) + 10;
		m.watts[r] = 50 + 0.1 * m.use[r] + (r % 10 == 0 ? 30 : 0);
	}
	assert_true(fabs(find(&m, ROWS).watts - 50) < 1e-6);
}

/* A tenth of the rows is 1 W below the power at zero usage, which is known to 0.1 W. */
static void the_lowest_power_is_used_if_it_is_below_the_noise(void **state)
{
	struct machine m;
	struct tw_idle_power p;

	(void)state;
	for (size_t r = 0; r < ROWS; r++) {
		m.use[r] = (double)((r * 37) % ROWS);
		m.watts[r] = 50 + 0.1 * m.use[r] + (r % 3 == 0 ? 0.1 : 0);
		if (m.use[r] >= 500 && m.use[r] < 600)
			m.watts[r] = 49;
	}
	p = find(&m, ROWS);
	assert_false(p.by_use);
	assert_true(fabs(p.watts - 49) < 1e-9);
}

static void the_lowest_power_is_used_if_usage_is_uninformative(void **state)
{
	struct machine m;
	struct tw_idle_power p;

	(void)state;
	/* Idle for a third of the time, with higher usage than under load. */
	for (size_t r = 0; r < ROWS; r++) {
		m.use[r] = r % 3 == 0 ? 500 : 400 + (double)(r % 7);
		m.watts[r] = r % 3 == 0 ? 30 + (double)(r % 5) / 10 : 90;
	}
	p = find(&m, ROWS);
	assert_false(p.by_use);
	assert_true(p.watts >= 30 && p.watts < 30.5);
}

static void few_rows_have_no_interval(void **state)
{
	struct machine m = { { 1, 2, 3 }, { 10, 11, 12 } };
	struct tw_idle_power p = find(&m, 1);

	(void)state;
	assert_true(p.watts == 10 && isnan(p.low) && isnan(p.high));
	p = find(&m, 2);
	assert_true(fabs(p.watts - 9) < 1e-9 && isnan(p.low));
	p = find(&m, 3);
	assert_true(fabs(p.watts - 9) < 1e-9 && p.low <= 9 && p.high >= 9 - 1e-9);
	/* The line of least distance meets the outer ones: 9 W, 12 W and 9 W at rest. */
	m.watts[1] = 14;
	assert_true(fabs(find(&m, 3).watts - 10) < 1e-6);
}

static void the_estimate_is_never_negative_and_accepts_extremes(void **state)
{
	struct machine m;
	struct tw_idle_power p;

	(void)state;
	for (size_t r = 0; r < ROWS; r++) {
		m.use[r] = (double)(r + 100);
		m.watts[r] = (double)r;
	}
	p = find(&m, ROWS);
	assert_true(p.watts == 0 && p.low == 0);
	for (size_t r = 0; r < ROWS; r++) {
		m.use[r] = r % 2 ? 1e30 : 5e-324;
		m.watts[r] = r % 3 ? 1e30 : 0;
	}
	p = find(&m, ROWS);
	assert_true(p.watts >= 0 && p.watts <= 1e30);
}

static void every_failed_allocation_is_reported(void **state)
{
	struct machine m;

	(void)state;
	make_linear(&m, 0, 1);
	for (int n = 1;; n++) {
		struct tw_idle_power p = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_idle_power_find(m.use, m.watts, ROWS, &p, &err);
		if (!fail_alloc_told(rc, &err)) {
			assert_int_equal(n, 4);
			break;
		}
		assert_non_null(strstr(err.text, "idle power from 1000 rows"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_interval_contains_the_intercept_of_a_line),
		cmocka_unit_test(the_interval_is_as_wide_as_the_error_of_the_estimate),
		cmocka_unit_test(without_rest_the_interval_is_all_that_the_rows_support),
		cmocka_unit_test(the_estimate_is_exact_without_noise),
		cmocka_unit_test(a_curved_relation_does_not_bias_the_estimate),
		cmocka_unit_test(outliers_do_not_bias_the_estimate),
		cmocka_unit_test(without_a_slope_the_estimate_is_an_interquartile_mean),
		cmocka_unit_test(the_slope_is_of_the_half_or_of_the_window),
		cmocka_unit_test(the_flattest_of_equally_near_lines_counts),
		cmocka_unit_test(the_slope_is_at_most_four_times_that_of_the_range),
		cmocka_unit_test(power_within_three_deviations_is_noise),
		cmocka_unit_test(of_equal_usage_all_rows_count),
		cmocka_unit_test(work_that_usage_misses_is_no_rest),
		cmocka_unit_test(the_lowest_power_is_that_of_few_rows),
		cmocka_unit_test(a_machine_rests_if_one_row_of_80_has_next_to_no_usage),
		cmocka_unit_test(the_lowest_power_is_an_interquartile_mean),
		cmocka_unit_test(the_interval_of_three_rows_is_that_of_pencil_and_paper),
		cmocka_unit_test(without_rest_the_interval_ends_at_the_lowest_power),
		cmocka_unit_test(the_outer_quarters_do_not_count),
		cmocka_unit_test(rows_beside_a_line_do_not_move_it),
		cmocka_unit_test(the_lowest_power_is_used_if_it_is_below_the_noise),
		cmocka_unit_test(the_lowest_power_is_used_if_usage_is_uninformative),
		cmocka_unit_test(few_rows_have_no_interval),
		cmocka_unit_test(the_estimate_is_never_negative_and_accepts_extremes),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("idle_power", tests, NULL, NULL);
}
