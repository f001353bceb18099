/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "trainer/fit/score.h"

#include <math.h>

static void assert_near(double got, double want)
{
	if (!(fabs(got - want) <= 1e-12))
		fail_msg("%.17g is not %.17g", got, want);
}

static void the_figures_are_those_of_pencil_and_paper(void **state)
{
	/* Errors 1, -2, 0, 4; the second row is the idle one by load. */
	static const double y[] = { 10, 0.5, 40, 20 }, p[] = { 11, -1.5, 40, 24 };
	static const double load[] = { 5, 1, 9, 7 };
	struct tw_score s;
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_score(y, p, load, 4, &s, &err), 0);
	assert_int_equal(s.rows, 4);
	assert_near(s.mae, 7.0 / 4);
	assert_near(s.rmse, sqrt(21.0 / 4));
	/* mean 17.625, squares 58.140625 + 293.265625 + 500.640625 + 5.640625 */
	assert_near(s.r2, 1 - 21.0 / 857.6875);
	assert_near(s.bias, 3.0 / 4);
	assert_near(s.p95, 4);
	/* The floor is 1 W: 1 % of the range is 0.395. */
	assert_near(s.mape_floor, 1);
	assert_near(s.mape, 100 * (1.0 / 10 + 0 + 4.0 / 20) / 3);
	assert_near(s.mape_left_out, 0.25);
	assert_near(s.idle_bias, -2);
}

static void a_wide_range_raises_the_floor(void **state)
{
	static const double y[] = { 0, 1000, 10, 11 }, p[] = { 0, 900, 0, 22 };
	struct tw_score s;
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_score(y, p, NULL, 4, &s, &err), 0);
	assert_near(s.mape_floor, 10);
	/* A row at the floor is left out. */
	assert_near(s.mape_left_out, 0.5);
	assert_near(s.mape, 100 * (0.1 + 1.0) / 2);
}

/* The row of the most power and of the largest error. */
static void the_first_row_counts(void **state)
{
	static const double y[] = { 1000, 500 }, p[] = { 900, 500 };
	struct tw_score s;
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_score(y, p, NULL, 2, &s, &err), 0);
	assert_near(s.mape_floor, 5);
	assert_near(s.p95, 100);
	assert_near(s.idle_bias, 0);
}

/*
 * Errors are in some order and fall with load. 95 % and 5 % are rounded up: 95 and 5 of
 * 100 rows, 20 of 21 and 2, 95 of 99 and 5, 238 of 250 and 13.
 */
static void percentiles_go_by_nearest_rank(void **state)
{
	static const struct {
		size_t rows, of; /* errors are i * 37 % of + 1 */
		double p95, idle;
	} cases[] = {
		{ 100, 100, 95, 98 }, /* 96 to 100 */
		{ 21, 100, 93, (97 + 93) / 2.0 },
		{ 99, 100, 96, 98 },    /* all but 64 */
		{ 250, 250, 238, 244 }, /* 238 to 250 */
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++) {
		double y[250] = { 0 }, p[250], load[250];
		struct tw_score s;
		struct tw_err err = { 0 };

		for (size_t i = 0; i < cases[k].rows; i++) {
			p[i] = (double)(i * 37 % cases[k].of + 1);
			load[i] = 1000 - p[i];
		}
		assert_int_equal(tw_score(y, p, load, cases[k].rows, &s, &err), 0);
		assert_near(s.p95, cases[k].p95);
		assert_near(s.idle_bias, cases[k].idle);
	}
}

/* Memory behind the rows is not read. */
static void only_the_rows_count(void **state)
{
	static const double y[] = { 50, 100, NAN }, p[] = { 40, 100, NAN };
	static const double load[] = { 3, 7, NAN };
	struct tw_score s;
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_score(y, p, load, 2, &s, &err), 0);
	assert_near(s.mae, 5);
	assert_near(s.r2, 1 - 100 / 1250.0);
	assert_near(s.mape, 10);
	assert_near(s.p95, 10);
	assert_near(s.idle_bias, -10);
	assert_int_equal(tw_score(y, p, NULL, 1, &s, &err), 0);
	assert_near(s.mae, 10);
	assert_near(s.mape, 20);
	assert_near(s.mape_floor, 1);
	assert_true(isnan(s.r2));
}

static void among_equal_loads_the_first_rows_are_at_rest(void **state)
{
	double y[40] = { 0 }, p[40];
	struct tw_score s;
	struct tw_err err = { 0 };

	(void)state;
	for (int i = 0; i < 40; i++)
		p[i] = i;
	assert_int_equal(tw_score(y, p, NULL, 40, &s, &err), 0);
	assert_near(s.idle_bias, 0.5);
}

/* Errors of the parts cancel out in the whole. */
static void biases_of_parts_are_told_apart(void **state)
{
	double y[100], p[100];
	struct tw_score s;
	struct tw_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < 100; i++) {
		y[i] = (double)(i % 50 * 2);
		p[i] = y[i] + (y[i] < 20 ? 3 : y[i] >= 80 ? -3 : 0) + (i < 50 ? -1 : 1);
	}
	assert_int_equal(tw_score(y, p, NULL, 100, &s, &err), 0);
	assert_near(s.bias, 0);
	assert_near(s.bias_low, 3);
	assert_near(s.bias_high, -3);
	assert_near(s.bias_drift, 2);
}

static void undefined_values_are_null_in_json(void **state)
{
	static const double y[] = { 0, 0 }, p[] = { 0.25, -0.25 };
	struct tw_score s;
	struct tw_err err = { 0 };
	json_t *obj;

	(void)state;
	assert_int_equal(tw_score(y, p, NULL, 2, &s, &err), 0);
	assert_true(isnan(s.r2));
	assert_true(isnan(s.mape));
	assert_near(s.mape_left_out, 1);
	obj = tw_score_to_json(&s);
	assert_true(json_is_null(json_object_get(obj, "r2")));
	assert_true(json_is_null(json_object_get(obj, "mape")));
	assert_near(json_real_value(json_object_get(obj, "mae")), 0.25);
	assert_int_equal(json_object_size(obj), 9);
	json_decref(obj);
}

static void json_figures_have_four_decimals(void **state)
{
	static const double y[] = { 1, 2, 4 }, p[] = { 1.1, 2.00004, 4.3 };
	struct tw_score s;
	struct tw_err err = { 0 };
	json_t *obj;

	(void)state;
	assert_int_equal(tw_score(y, p, NULL, 3, &s, &err), 0);
	obj = tw_score_to_json(&s);
	assert_near(json_real_value(json_object_get(obj, "mae")), 0.1333);
	json_decref(obj);
}

/* The mean of equal values is off by rounding: so is each value's distance from it. */
static void constant_power_has_no_r2(void **state)
{
	static const double watts[] = { 0.1, 3e12 + 0.3 };

	(void)state;
	for (size_t k = 0; k < TW_COUNT(watts); k++) {
		double y[30], p[30];
		struct tw_score s;
		struct tw_err err = { 0 };

		for (int i = 0; i < 30; i++) {
			y[i] = watts[k];
			p[i] = 2 * watts[k];
		}
		assert_int_equal(tw_score(y, p, NULL, 30, &s, &err), 0);
		assert_true(isnan(s.r2));
	}
}

static void a_malformed_number_is_rejected(void **state)
{
	static const struct {
		double y[2], p[2];
		const char *error;
	} cases[] = {
		{ { 1, 2 }, { 1, NAN }, "row 1: measured 2, predicted nan" },
		{ { NAN, 2 }, { 1, 2 }, "row 0: measured nan, predicted 1" },
		{ { 1, 2 }, { INFINITY, 2 }, "row 0: measured 1, predicted inf" },
	};
	struct tw_score s = { .rows = 7 };
	struct tw_err none = { 0 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };

		assert_int_equal(tw_score(cases[i].y, cases[i].p, NULL, 2, &s, &err), -1);
		assert_int_equal(err.code, TW_INVALID);
		assert_string_equal(err.text, cases[i].error);
	}
	assert_int_equal(tw_score(cases[0].y, cases[0].p, NULL, 0, &s, &none), -1);
	assert_string_equal(none.text, "no rows to score");
	assert_int_equal(s.rows, 7);
}

static void memory_that_runs_out_is_an_error(void **state)
{
	static const double y[] = { 1, 2 }, p[] = { 1, 1 };
	struct tw_score s;
	struct tw_err err = { 0 };

	(void)state;
	fail_alloc_at(1);
	assert_int_equal(tw_score(y, p, NULL, 2, &s, &err), -1);
	assert_true(fail_alloc_hit());
	assert_int_equal(err.code, TW_NOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_figures_are_those_of_pencil_and_paper),
		cmocka_unit_test(a_wide_range_raises_the_floor),
		cmocka_unit_test(the_first_row_counts),
		cmocka_unit_test(percentiles_go_by_nearest_rank),
		cmocka_unit_test(only_the_rows_count),
		cmocka_unit_test(among_equal_loads_the_first_rows_are_at_rest),
		cmocka_unit_test(biases_of_parts_are_told_apart),
		cmocka_unit_test(undefined_values_are_null_in_json),
		cmocka_unit_test(json_figures_have_four_decimals),
		cmocka_unit_test(constant_power_has_no_r2),
		cmocka_unit_test(a_malformed_number_is_rejected),
		cmocka_unit_test(memory_that_runs_out_is_an_error),
	};

	return cmocka_run_group_tests_name("score", tests, NULL, NULL);
}
