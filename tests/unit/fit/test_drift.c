/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "trainer/fit/drift.h"
#include "trainer/fit/trainer.h"

#include <gsl/gsl_errno.h>
#include <math.h>

#define ROWS 1200
#define STEP_MS 3000
#define HOURS ((ROWS - 1) * STEP_MS / 3.6e6)

/* Uniform in [-1, 1): xorshift64 (G. Marsaglia, 2003). */
static double draw(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return (double)(*s >> 11) / 4503599627370496.0 - 1;
}

/* A machine whose kind of work, which no feature shows, changes every `held` rows. */
struct machine {
	double watts_per_hour;
	size_t held;
	bool rising;   /* the load rises during the recording */
	double bent;   /* W: power is so far from a line at half load */
	bool mixed;    /* load is low, half or full; half of it becomes rare */
	double jitter; /* share of a load that rises */
};

/* x: rows of `cols` features, of which the first is the load. */
static struct tw_drift find_in(const double *x, size_t cols, const double *watts,
			       const int64_t *time_ms, size_t rows)
{
	static const char *const features[] = { "cpu_cycles", "cache_miss" };
	const struct tw_samples s = { .rows = rows,
				      .cols = cols,
				      .x = x,
				      .y = watts,
				      .features = features,
				      .component = TW_PACKAGE,
				      .time_ms = time_ms };
	struct tw_drift d = { 1, 1 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_drift_find(&s, &d, &err), 0);
	return d;
}

static struct tw_drift find(const struct machine *m, uint64_t seed)
{
	static double measured[ROWS], loads[ROWS];
	static int64_t time_ms[ROWS];
	double load = 0, kind = 0;
	struct tw_drift d;

	for (size_t i = 0; i < ROWS; i++) {
		const double progress = (double)i / ROWS;

		if (i % 20 == 0)
			load = fmax(0, 0.65 + 0.65 * draw(&seed) - 0.3);
		if (m->rising)
			load = progress * (1 + m->jitter * draw(&seed));
		if (m->mixed)
			load = 0.02 * draw(&seed) + (draw(&seed) > 1.2 * progress - 0.6
							     ? 0.5
						     : draw(&seed) > 0 ? 1
								       : 0.1);
		if (i % m->held == 0)
			kind = draw(&seed);
		time_ms[i] = (int64_t)i * STEP_MS;
		loads[i] = load;
		measured[i] = 60 + 140 * load + (m->mixed ? 0 : 15) * load * kind +
			      draw(&seed) + 4 * m->bent * load * (1 - load) +
			      m->watts_per_hour * HOURS * progress;
	}
	d = find_in(loads, 1, measured, time_ms, ROWS);
	assert_true(fabs(d.watts - d.watts_per_hour * HOURS) < 1e-9);
	return d;
}

/* The kind of work, which no feature shows, hides the drift in some recordings. */
static void a_drift_is_found(void **state)
{
	static const struct machine up = { 12, 30, false, 0, false, 0 };
	static const struct machine down = { -12, 30, false, 0, false, 0 };
	size_t found = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		const double rise = find(&up, seed).watts_per_hour;

		if (rise != 0 && !(fabs(rise - 12) < 1))
			fail_msg("%g W an hour", rise);
		found += rise > 0;
		assert_true(find(&down, seed).watts_per_hour <= 0);
	}
	if (found < 18)
		fail_msg("%zu of 20", found);
}

/* Work that lasts is alike in many rows; a load that rises has the line's own errors. */
static void a_machine_that_does_not_change_has_no_drift(void **state)
{
	static const struct machine still[] = {
		{ 0, 1, false, 0, false, 0 },   { 0, 30, false, 0, false, 0 },
		{ 0, 100, false, 0, false, 0 }, { 0, 300, false, 0, false, 0 },
		{ 0, 30, true, 0, false, 0.1 }, { 0, 30, true, 5, false, 0.1 },
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(still); k++) {
		size_t found = 0;

		for (uint64_t seed = 1; seed <= 200; seed++)
			found += find(&still[k], seed * 7919).watts != 0;
		if (found > 4)
			fail_msg("machine %zu: %zu of 200", k, found);
	}
}

/* Each load comes once, so its distance from the line does not depend on time. */
static void a_load_that_only_rises_cannot_tell_a_drift(void **state)
{
	static const struct machine rising[] = {
		{ 0, 30, true, 5, false, 0 },
		{ 12, 30, true, 5, false, 0 },
		{ 0, 100, true, 0, false, 0 },
		{ 12, 100, true, 0, false, 0 },
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(rising); k++)
		for (uint64_t seed = 1; seed <= 100; seed++)
			assert_true(find(&rising[k], seed * 7919).watts == 0);
}

/* Loads between rest and full load become rare. Their error by the line is no trend: rows
 * of equal load are compared. */
static void a_mix_of_loads_that_changes_is_no_drift(void **state)
{
	static const struct machine still = { 0, 1, false, 40, true, 0 },
				    up = { 12, 1, false, 40, true, 0 };
	size_t found = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		assert_true(find(&still, seed).watts == 0);
		found += fabs(find(&up, seed).watts_per_hour - 12) < 1;
	}
	if (found < 18)
		fail_msg("%zu of 20", found);
}

struct rows {
	double watts[300], load[300];
	int64_t time_ms[300];
};

/* 1 W of noise at 50 and 100 W in turns, and what is added in half an hour. */
static struct rows make_rows(double watts, double noise)
{
	struct rows r;
	uint64_t seed = 1;

	for (size_t i = 0; i < 300; i++) {
		r.time_ms[i] = (int64_t)i * 6000;
		r.load[i] = i / 10 % 2 == 0 ? 50 : 100;
		r.watts[i] =
			r.load[i] + noise * draw(&seed) + watts * ((double)i / 300 - 0.5);
	}
	return r;
}

static double find_of(const struct rows *r, size_t rows)
{
	return find_in(r->load, 1, r->watts, r->time_ms, rows).watts;
}

static void the_whole_change_is_found(void **state)
{
	const struct rows r = make_rows(10, 1);

	(void)state;
	assert_true(fabs(find_of(&r, 300) - 10) < 0.3);
}

/* Watts of a board: a machine a hundredth as large has a hundredth of the drift. Rest is
 * quiet, and its bin counts for more. */
static void a_small_machine_drifts_as_a_large_one(void **state)
{
	struct rows large = make_rows(10, 1), small;

	(void)state;
	for (size_t i = 0; i < 300; i++)
		large.watts[i] += large.load[i] > 50 ? 5 * sin((double)(i * i)) : 0;
	small = large;
	for (size_t i = 0; i < 300; i++)
		small.watts[i] /= 100;
	assert_true(fabs(find_of(&large, 300) - 10) < 0.3);
	assert_true(fabs(100 * find_of(&small, 300) - find_of(&large, 300)) < 1e-6);
}

/* Power rises with time because another feature does. */
static void what_another_feature_explains_is_no_drift(void **state)
{
	struct rows r = make_rows(0, 1);
	double x[300][2];

	(void)state;
	for (size_t i = 0; i < 300; i++) {
		x[i][0] = r.load[i];
		x[i][1] = (double)i + 20 * sin((double)i);
		r.watts[i] += 0.1 * x[i][1];
	}
	assert_true(find_in(x[0], 2, r.watts, r.time_ms, 300).watts == 0);
	assert_true(find_of(&r, 300) != 0);
}

static void recordings_that_cannot_tell_have_no_drift(void **state)
{
	struct rows r = make_rows(0, 1);

	(void)state;
	assert_true(find_of(&r, 300) == 0);
	r = make_rows(0, 0);
	assert_true(find_of(&r, 300) == 0);
	assert_true(find_of(&r, 0) == 0);
	r = make_rows(10, 1);
	assert_true(find_of(&r, 96) != 0);
	assert_true(find_of(&r, 95) == 0);
}

/* What changes between two recordings is no drift: a pause is a sixth of the time or
 * more. */
static void a_change_over_a_pause_is_no_drift(void **state)
{
	static const struct {
		size_t at;
		int64_t pause_ms;
		bool found;
	} cases[] = {
		{ 150, 86400000, false }, /* another day */
		{ 1, 353000, false },     /* of 2,147 s */
		{ 299, 353000, false },   { 150, 353000, false },
		{ 150, 350000, true }, /* of 2,144 s */
		{ 1, 350000, true },      { 299, 350000, true },
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++) {
		struct rows r = make_rows(10, 1);

		for (size_t i = cases[k].at; i < 300; i++)
			r.time_ms[i] += cases[k].pause_ms;
		if (cases[k].pause_ms == 86400000)
			for (size_t i = 0; i < 300; i++)
				r.watts[i] = r.load[i] + (i < 150 ? 0 : 10) +
					     0.01 * (double)(i % 7);
		assert_int_equal(find_of(&r, 300) != 0, cases[k].found);
	}
}

/* No line can be fitted. */
static void a_value_that_is_not_finite_has_no_drift(void **state)
{
	struct rows r = make_rows(10, 1);

	(void)state;
	r.load[7] = NAN;
	assert_true(find_of(&r, 300) == 0);
}

static void without_memory_it_fails(void **state)
{
	static const char *const features[] = { "cpu_cycles" };
	const struct rows r = make_rows(10, 1);
	const struct tw_samples s = { .rows = 300,
				      .cols = 1,
				      .x = r.load,
				      .y = r.watts,
				      .features = features,
				      .component = TW_PACKAGE,
				      .time_ms = r.time_ms };
	unsigned failures = 0;

	(void)state;
	for (unsigned n = 1;; n++) {
		struct tw_drift d = { 1, 1 };
		struct tw_err err = { 0 };
		int status;

		fail_alloc_at(n);
		status = tw_drift_find(&s, &d, &err);
		if (!fail_alloc_told(status, &err))
			break;
		assert_true(d.watts == 1);
		failures++;
	}
	assert_true(failures > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_drift_is_found),
		cmocka_unit_test(a_machine_that_does_not_change_has_no_drift),
		cmocka_unit_test(a_load_that_only_rises_cannot_tell_a_drift),
		cmocka_unit_test(a_mix_of_loads_that_changes_is_no_drift),
		cmocka_unit_test(the_whole_change_is_found),
		cmocka_unit_test(a_small_machine_drifts_as_a_large_one),
		cmocka_unit_test(what_another_feature_explains_is_no_drift),
		cmocka_unit_test(recordings_that_cannot_tell_have_no_drift),
		cmocka_unit_test(a_change_over_a_pause_is_no_drift),
		cmocka_unit_test(a_value_that_is_not_finite_has_no_drift),
		cmocka_unit_test(without_memory_it_fails),
	};

	gsl_set_error_handler_off();
	return cmocka_run_group_tests_name("drift", tests, NULL, NULL);
}
