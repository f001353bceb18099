/* SPDX-License-Identifier: Apache-2.0 */
/* See also test_quality and tests/integration/test_mass_balance.py. */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "trainer/extract/lag.h"
#include "trainer/extract/node_rows.h"
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
	int64_t from_ms[ROWS], time_ms[ROWS];
	bool filled[ROWS];
	double *feature[2];
	struct tw_measured_rows rows;
};

static double find(const struct recording *r)
{
	struct tw_err err = { 0 };
	double lag_ms;

	if (tw_lag_find(&r->rows, STEP_MS, &lag_ms, &err) < 0)
		fail_msg("%s", err.text);
	return lag_ms / STEP_MS;
}

static void set_up(struct recording *r, double lag)
{
	*r = (struct recording){ .feature = { r->noise, r->load } };
	for (size_t k = 0; k < ROWS; k++) {
		r->load[k] = load_at((double)k);
		r->noise[k] = (double)(k * 37 % 23);
		r->watts[k] = 10 + 5 * load_at((double)k - lag);
		r->from_ms[k] = STEP_MS * (int64_t)k;
		r->time_ms[k] = r->from_ms[k] + STEP_MS;
		r->filled[k] = true;
	}
	r->rows = (struct tw_measured_rows){
		.rows = ROWS,
		.from_ms = r->from_ms,
		.time_ms = r->time_ms,
		.filled = r->filled,
		.feature = r->feature,
		.features = 2,
		.watts = r->watts,
	};
}

static void whole_and_fractional_lags_are_found(void **state)
{
	static const double lags[] = { -5, -3, -1.5, -1, 0, 0.4, 1, 2, 2.7, 4.5 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(lags); i++) {
		struct recording r;

		set_up(&r, lags[i]);
		assert_float_equal(find(&r), lags[i], 0.11);
	}
}

static void a_lag_that_cannot_be_seen_is_none(void **state)
{
	struct recording r;

	(void)state;
	set_up(&r, 2);
	r.rows.rows = 29; /* too few to compare with every lag */
	assert_true(find(&r) == 0);
	r.rows.rows = ROWS;
	for (size_t k = 0; k < ROWS; k++)
		r.watts[k] = 50;
	assert_true(find(&r) == 0);
	/* Noise fits best somewhere. */
	for (size_t k = 0; k < ROWS; k++)
		r.watts[k] = 50 + (double)((k * 7919 + 13) * 104729 % 101);
	assert_true(find(&r) == 0);
	r.rows.features = 0;
	assert_true(find(&r) == 0);
}

/* Rows without features are not looked at. */
static void only_rows_with_features_are_compared(void **state)
{
	struct recording r;

	(void)state;
	set_up(&r, 1);
	for (size_t k = 0; k < ROWS; k++)
		if (k < 10 || k == 50 || k >= 100) {
			r.watts[k] = r.load[k] = NAN;
			r.filled[k] = false;
		}
	assert_float_equal(find(&r), 1, 0.11);
}

/*
 * Phases of 12 rows with a pause of up to two rows between them, which is one long row:
 * time counts, not the number of rows.
 */
static void rows_of_different_lengths_keep_their_times(void **state)
{
	struct recording r;
	int64_t now_ms = 0;

	(void)state;
	set_up(&r, 0);
	for (size_t k = 0; k < ROWS; k++) {
		r.from_ms[k] = now_ms;
		now_ms += STEP_MS + (k % 12 == 0 ? (int64_t)(k % 5) * STEP_MS / 2 : 0);
		r.time_ms[k] = now_ms;
		r.load[k] = (double)(k / 12 * 5 % 3);
	}
	for (size_t k = 0; k < ROWS; k++) {
		double sum = 0;

		/* Power of 4 s before, in steps of 100 ms. */
		for (int64_t t = r.from_ms[k]; t < r.time_ms[k]; t += 100) {
			size_t at = 0;

			while (at + 1 < ROWS && r.time_ms[at] <= t - 4000)
				at++;
			sum += r.load[at] * 100;
		}
		r.watts[k] = 10 + 5 * sum / (double)(r.time_ms[k] - r.from_ms[k]);
	}
	assert_float_equal(find(&r) * STEP_MS, 4000, 350);
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
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		struct recording r;
		double lag_ms;

		set_up(&r, 1);
		fail_alloc_at(n);
		if (!fail_alloc_told(tw_lag_find(&r.rows, STEP_MS, &lag_ms, &err), &err))
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_and_fractional_lags_are_found),
		cmocka_unit_test(a_lag_that_cannot_be_seen_is_none),
		cmocka_unit_test(only_rows_with_features_are_compared),
		cmocka_unit_test(rows_of_different_lengths_keep_their_times),
		cmocka_unit_test(power_is_shifted_and_rows_at_edges_are_dropped),
		cmocka_unit_test(memory_that_runs_out_is_an_error),
	};

	return cmocka_run_group_tests_name("lag", tests, NULL, NULL);
}
