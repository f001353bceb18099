/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "tests/unit/extract/rows_fixture.h"
#include "tests/unit/fail_alloc.h"
#include "trainer/extract/judged_rows.h"

#include <math.h>
#include <string.h>

static void expect_near(double got, double want)
{
	if (!(fabs(got - want) < 1e-9))
		fail_msg("%.12g, not %.12g", got, want);
}

static void a_quantile_is_a_value(void **state)
{
	static const struct {
		double q, want;
	} cases[] = {
		{ 0, 1 }, { 0.24, 1 }, { 0.25, 2 }, { 0.5, 3 }, { 0.9, 4 }, { 1, 9 }
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		double v[] = { 9, 2, 4, 1, 3 };

		assert_true(tw_judged_quantile(v, 5, cases[i].q) == cases[i].want);
		assert_true(tw_judged_quantile(&(double){ 7 }, 1, cases[i].q) == 7);
	}
}

/* Rows within the features' ticks that a workload has. */
static void rows_with_features_are_judged(void **state)
{
	static struct rows_fixture f;

	(void)state;
	rows_write(&f);
	f.rates.first = 3;
	f.rates.end = 50;
	f.filled[3] = f.filled[7] = f.filled[49] = false;
	rows_judge(&f);
	assert_int_equal(f.j.count, 50 - 3 - 3);
	for (size_t i = 0; i < f.j.count; i++) {
		assert_int_equal(f.j.row[i], i < 3 ? i + 4 : i + 5);
		assert_true(f.j.watts[i] == f.watts[0][f.j.row[i]]);
		assert_int_equal(f.j.fate[i], TW_ROW_KEPT);
	}
	tw_judged_close(&f.j);
}

static void no_rows_have_no_load(void **state)
{
	static struct rows_fixture f;

	(void)state;
	rows_write(&f);
	memset(f.filled, 0, sizeof(f.filled));
	rows_judge(&f);
	assert_int_equal(f.j.count, 0);
	tw_judged_close(&f.j);
	f.rates.end = 0;
	f.power.times = 0;
	rows_judge(&f);
	tw_judged_close(&f.j);
}

/* Of 60 rows the 90th percentile is the sixth from the top. */
static void load_is_a_share_of_the_usual_range(void **state)
{
	static const struct {
		bool cpu;             /* there is a feature of CPU time */
		double cpu_ms, other; /* in each second row; 0 in the others */
		size_t rows;          /* rows that have it, at most */
		double load;          /* of those rows */
	} cases[] = {
		{ true, 2000, 0, ROWS, 1 },
		{ true, 0.25, 0, ROWS, 1 },
		/* Rarely above 0: of all of the range. */
		{ true, 2000, 0, 2, 1 },
		{ true, 0.25, 0, 2, 1 },
		/* CPU time alone counts, unless it is always 0. */
		{ true, 2000, 7, ROWS, 1 },
		{ true, 0, 7, ROWS, 2 },
		/* The loads of three features add up, two of which are the same. */
		{ false, 2000, 0, ROWS, 1 },
		{ false, 2000, 7, ROWS, 3 },
		{ false, 0, 7, 2, 2 },
		{ false, 0, 0, 2, 0 },
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++) {
		static struct rows_fixture f;
		double *features[] = { cases[k].cpu ? f.feature[0] : f.cpu_ms,
				       f.feature[1], f.watts[1] };

		rows_write(&f);
		if (!cases[k].cpu)
			f.rows.cpu_ms = NULL;
		f.rows.feature = features;
		f.rows.features = 3;
		for (size_t i = 0; i < ROWS; i++) {
			const bool has = i % 2 == 0 && i / 2 < cases[k].rows;

			f.cpu_ms[i] = has ? cases[k].cpu_ms : 0;
			f.feature[1][i] = f.watts[1][i] = has ? cases[k].other : 0;
			f.feature[0][i] = 0;
		}
		rows_judge(&f);
		for (size_t i = 0; i < ROWS; i++)
			expect_near(f.j.load[i], i % 2 == 0 && i / 2 < cases[k].rows
							 ? cases[k].load
							 : 0);
		expect_near(f.j.busy, cases[k].rows == ROWS ? cases[k].load : 0);
		tw_judged_close(&f.j);
	}
}

/* Up to a quarter of wrong rows, wherever they are. The 90th percentile of CPU time is
 * 2 CPUs, which is a load of 1. */
static void wrong_rows_do_not_bend_the_line(void **state)
{
	static const struct {
		size_t rows, from, every, wrong;
		double watts;
	} cases[] = {
		{ ROWS, 0, 1, 0, 0 },   { ROWS, 0, 1, 15, 500 }, { ROWS, 45, 1, 15, 500 },
		{ ROWS, 20, 1, 15, 0 }, { ROWS, 0, 4, 15, 1e9 }, { ROWS, 3, 4, 15, 0 },
		{ 48, 0, 1, 12, 500 },  { 24, 5, 1, 4, 500 },
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++) {
		static struct rows_fixture f;

		rows_write(&f);
		f.rates.end = cases[k].rows;
		for (size_t n = 0; n < cases[k].wrong; n++)
			f.watts[0][cases[k].from + n * cases[k].every] = cases[k].watts;
		rows_judge(&f);
		expect_near(f.j.at_rest, REST_W);
		expect_near(f.j.slope, 2 * CPU_W);
		expect_near(tw_judged_line_at(&f.j, 0.5), REST_W + CPU_W);
		expect_near(f.j.deviation, 0);
		tw_judged_close(&f.j);
	}
}

/* The median of distances of a normal distribution times 1.4826 is its deviation. */
static void the_deviation_is_that_of_noise(void **state)
{
	static struct rows_fixture f;

	(void)state;
	rows_write(&f);
	for (size_t i = 0; i < ROWS; i++)
		f.watts[0][i] = 50 + (i % 2 == 0 ? 1 : -1);
	for (size_t i = 0; i < ROWS; i++)
		f.cpu_ms[i] = 500;
	rows_judge(&f);
	expect_near(f.j.usual, 51);
	expect_near(f.j.slope, 0);
	expect_near(f.j.at_rest, 49);
	expect_near(f.j.deviation, 0);
	tw_judged_close(&f.j);
	for (size_t i = 0; i < ROWS; i++)
		f.watts[0][i] = 50 + (double)(i % 3) - 1;
	rows_judge(&f);
	expect_near(f.j.at_rest, 50);
	expect_near(f.j.deviation, 1.4826);
	tw_judged_close(&f.j);
}

static void power_that_falls_with_load_has_a_flat_line(void **state)
{
	static struct rows_fixture f;

	(void)state;
	rows_write(&f);
	for (size_t i = 0; i < ROWS; i++)
		f.watts[0][i] = 100 - f.cpu_ms[i] / 100;
	rows_judge(&f);
	expect_near(f.j.slope, 0);
	expect_near(f.j.at_rest, 90);
	tw_judged_close(&f.j);
}

/* Rows that are not kept go with their energy; rows that are not judged stay. */
static void rows_are_dropped_with_their_energy(void **state)
{
	static struct rows_fixture f;
	double left_j = 0;
	size_t n = 0;

	(void)state;
	rows_write(&f);
	for (size_t i = 0; i < ROWS; i++) {
		f.filled[i] = i != 0 && i != 20 && i != 59;
		f.watts[1][i] = (double)i;
	}
	f.power.grown_j = 0;
	for (size_t i = 0; i < ROWS; i++)
		f.power.grown_j += f.watts[0][i];
	rows_judge(&f);
	for (size_t i = 0; i < f.j.count; i++)
		if (f.j.row[i] == 1 || f.j.row[i] == 30 || f.j.row[i] == 58)
			f.j.fate[i] = i == 0 ? TW_ROW_OUTLIER : TW_ROW_UNSEEN;
	tw_judged_drop(&f.j);
	tw_judged_close(&f.j);
	assert_int_equal(f.power.times, ROWS - 3);
	for (size_t i = 0; i < ROWS; i++) {
		if (i == 1 || i == 30 || i == 58)
			continue;
		assert_true(f.watts[1][n] == (double)i);
		assert_int_equal(f.time_ms[n], (i + 1) * 1000);
		assert_int_equal(f.from_ms[n], i * 1000);
		left_j += f.watts[0][n++];
	}
	expect_near(f.power.grown_j, left_j);
}

static void without_memory_nothing_is_judged(void **state)
{
	static struct rows_fixture f;

	(void)state;
	rows_write(&f);
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_judged_open(&f.j, &f.power, &f.rows, &f.rates, &err);
		if (rc == 0) {
			tw_judged_find_load(&f.j);
			rc = tw_judged_find_line(&f.j, &err);
		}
		tw_judged_close(&f.j);
		if (!fail_alloc_told(rc, &err))
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quantile_is_a_value),
		cmocka_unit_test(rows_with_features_are_judged),
		cmocka_unit_test(no_rows_have_no_load),
		cmocka_unit_test(load_is_a_share_of_the_usual_range),
		cmocka_unit_test(wrong_rows_do_not_bend_the_line),
		cmocka_unit_test(the_deviation_is_that_of_noise),
		cmocka_unit_test(power_that_falls_with_load_has_a_flat_line),
		cmocka_unit_test(rows_are_dropped_with_their_energy),
		cmocka_unit_test(without_memory_nothing_is_judged),
	};

	return cmocka_run_group_tests_name("judged_rows", tests, NULL, NULL);
}
