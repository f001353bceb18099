/* SPDX-License-Identifier: Apache-2.0 */
/* See also test_quality and tests/integration/test_mass_balance.py. */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "trainer/extract/lag.h"
#include "trainer/extract/power_series.h"

#include <math.h>

#define ROWS 120
#define STEP_MS 3000

/* A load of three levels, and its power by a law of 10 W and 5 W a unit. */
static double load_at(double row)
{
	const double at = fmin(fmax(row, 0), ROWS - 1), low = floor(at);
	const double before = (int)low / 7 * 5 % 3, after = (int)ceil(at) / 7 * 5 % 3;

	return before + (at - low) * (after - before);
}

struct recording {
	double load[ROWS], noise[ROWS], watts[ROWS];
	double *feature[2];
	struct tw_lag_rows rows;
};

static void set_up(struct recording *r, double lag)
{
	*r = (struct recording){ .feature = { r->noise, r->load } };
	for (size_t k = 0; k < ROWS; k++) {
		r->load[k] = load_at((double)k);
		r->noise[k] = (double)(k * 37 % 23);
		r->watts[k] = 10 + 5 * load_at((double)k - lag);
	}
	r->rows = (struct tw_lag_rows){
		.end = ROWS, .feature = r->feature, .features = 2, .watts = r->watts
	};
}

static void whole_and_fractional_lags_are_found(void **state)
{
	static const double lags[] = { -3, -1.5, -1, 0, 0.4, 1, 2, 2.7 };

	(void)state;
	for (size_t i = 0; i < sizeof(lags) / sizeof(lags[0]); i++) {
		struct recording r;

		set_up(&r, lags[i]);
		assert_float_equal(tw_lag_find(&r.rows), lags[i], 0.11);
	}
}

static void a_lag_that_cannot_be_seen_is_none(void **state)
{
	struct recording r;

	(void)state;
	set_up(&r, 2);
	r.rows.end = 29; /* too few rows */
	assert_true(tw_lag_find(&r.rows) == 0);
	r.rows.end = ROWS;
	for (size_t k = 0; k < ROWS; k++)
		r.watts[k] = 50;
	assert_true(tw_lag_find(&r.rows) == 0);
	r.rows.features = 0;
	assert_true(tw_lag_find(&r.rows) == 0);
}

/* Rows outside of the span are not looked at. */
static void only_the_span_is_compared(void **state)
{
	struct recording r;

	(void)state;
	set_up(&r, 1);
	r.rows.first = 10;
	r.rows.end = 100;
	for (size_t k = 0; k < ROWS; k++)
		if (k < 10 || k >= 100)
			r.watts[k] = r.load[k] = NAN;
	assert_float_equal(tw_lag_find(&r.rows), 1, 0.11);
}

struct series {
	int64_t from_ms[6], time_ms[6];
	double watts[6];
	struct tw_power_column column;
	struct tw_power_series p;
};

/* Rows of 3 s, with a gap of 3 s before the fifth. */
static void fill(struct series *s)
{
	static const double watts[] = { 10, 20, 40, 80, 10, 30 };

	*s = (struct series){ .column = { .watts = s->watts } };
	for (size_t k = 0; k < 6; k++) {
		s->from_ms[k] = STEP_MS * (int64_t)(k + (k >= 4));
		s->time_ms[k] = s->from_ms[k] + STEP_MS;
		s->watts[k] = watts[k];
	}
	s->p = (struct tw_power_series){ .times = 6,
					 .from_ms = s->from_ms,
					 .time_ms = s->time_ms,
					 .column = &s->column,
					 .columns = 1,
					 .grown_j = 600 };
}

static void expect(struct series *s, double lag_ms, size_t rows, const int64_t *from_ms,
		   const double *watts)
{
	struct tw_err err = { 0 };

	fill(s);
	assert_int_equal(tw_lag_correct(&s->p, lag_ms, &err), 0);
	assert_int_equal(s->p.times, rows);
	for (size_t k = 0; k < rows; k++) {
		assert_int_equal(s->from_ms[k], from_ms[k]);
		assert_int_equal(s->time_ms[k], from_ms[k] + STEP_MS);
		assert_float_equal(s->watts[k], watts[k], 1e-9);
	}
}

static void power_is_shifted_and_rows_at_edges_are_dropped(void **state)
{
	struct series s;

	(void)state;
	expect(&s, 3000, 4, (const int64_t[]){ 0, 3000, 6000, 15000 },
	       (const double[]){ 20, 40, 80, 30 });
	/* The rows that are left have 3 s of 170 W; the meter grew by 600 J, 60 of them
	 * (10 W twice) are out. */
	assert_float_equal(s.p.grown_j, 600 - 3 * (10 + 10), 1e-9);
	expect(&s, -3000, 4, (const int64_t[]){ 3000, 6000, 9000, 18000 },
	       (const double[]){ 10, 20, 40, 10 });
	expect(&s, 1000, 4, (const int64_t[]){ 0, 3000, 6000, 15000 },
	       (const double[]){ 40 / 3.0, 80 / 3.0, 160 / 3.0, 50 / 3.0 });
	expect(&s, 1e9, 0, NULL, NULL);
}

static void memory_that_runs_out_is_an_error(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		struct series s;

		fill(&s);
		fail_alloc_at(n);
		if (!fail_alloc_told(tw_lag_correct(&s.p, 3000, &err), &err))
			break;
		assert_int_equal(s.p.times, 6);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_and_fractional_lags_are_found),
		cmocka_unit_test(a_lag_that_cannot_be_seen_is_none),
		cmocka_unit_test(only_the_span_is_compared),
		cmocka_unit_test(power_is_shifted_and_rows_at_edges_are_dropped),
		cmocka_unit_test(memory_that_runs_out_is_an_error),
	};

	return cmocka_run_group_tests_name("lag", tests, NULL, NULL);
}
