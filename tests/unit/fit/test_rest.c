/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "trainer/fit/rest.h"
#include "trainer/fit/trainer.h"

#include <math.h>

#define ROWS 200

static const char *const names[] = { "bpf_cpu_time_ms", "cpu_cycles" };

/* A machine of 10 W at rest that draws 4 W for 1e9 cycles/s; 2e9 fit into 1000 ms/s. */
static void make_samples(double least_cycles, double *x, double *y)
{
	for (size_t r = 0; r < ROWS; r++) {
		/* A third of the rows are as low as it gets. */
		const double cycles =
			r % 3 == 0 ? least_cycles : least_cycles + 1e8 * (double)(r % 97);

		x[2 * r] = cycles / 2e6;
		x[2 * r + 1] = cycles;
		y[r] = 10 + 4e-9 * cycles + 0.05 * sin((double)r);
	}
}

static struct tw_samples samples_of(const double *x, const double *y)
{
	return (struct tw_samples){
		.rows = ROWS, .cols = 2, .x = x, .y = y, .features = names
	};
}

static struct tw_rest find(const struct tw_samples *s)
{
	struct tw_rest rest = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_rest_find(s, &rest, &err), 0);
	return rest;
}

static void rest_in_the_rows_gives_a_narrow_interval(void **state)
{
	double x[2 * ROWS], y[ROWS];
	struct tw_samples s = samples_of(x, y);
	struct tw_rest rest;

	(void)state;
	make_samples(1e7, x, y);
	rest = find(&s);
	assert_true(rest.rested && rest.shown && !rest.contradicted);
	assert_int_equal(rest.load, 1);
	/* The lowest load draws 0.04 W. */
	assert_true(rest.low <= 10.05 && rest.high >= 9.95);
	assert_true(rest.high - rest.low < 0.5);
	assert_true(rest.watts >= rest.low && rest.watts <= rest.high);
	assert_true(rest.low_load == 1e7);
}

static void a_machine_that_never_rests_supports_all_below_its_lowest_loads(void **state)
{
	double x[2 * ROWS], y[ROWS], low = 0, count = 0;
	struct tw_samples s = samples_of(x, y);
	struct tw_rest rest;

	(void)state;
	make_samples(5e9, x, y);
	for (size_t r = 0; r < ROWS; r++) {
		if (r % 3 != 0 && r % 97 != 0)
			continue;
		low += y[r];
		count++;
	}
	rest = find(&s);
	assert_false(rest.rested);
	assert_true(rest.low == 0.0 && fabs(rest.high - low / count) < 1e-9);
	assert_true(rest.watts >= rest.low && rest.watts <= rest.high);
}

static void power_from_zero_rests_at_zero(void **state)
{
	double x[2 * ROWS], y[ROWS];
	struct tw_samples s = samples_of(x, y);
	struct tw_rest rest;

	(void)state;
	make_samples(1e7, x, y);
	s.from_zero = true;
	rest = find(&s);
	assert_true(rest.watts == 0.0 && rest.low == 0.0 && rest.high == 0.0);
	assert_true(rest.shown);
}

static void busy_rows_without_cpu_time_do_not_show_rest(void **state)
{
	double x[2 * ROWS], y[ROWS];
	struct tw_samples s = samples_of(x, y);

	(void)state;
	make_samples(1e7, x, y);
	/* The work of every eighth row is lost, but not its power. */
	for (size_t r = 1; r < ROWS; r += 8) {
		x[2 * r] = x[2 * r + 1] = 0.0;
		y[r] = 48.0;
	}
	assert_false(find(&s).shown);
	s.from_zero = true;
	assert_false(find(&s).shown);
}

static void more_cycles_than_cpu_time_can_hold_are_a_contradiction(void **state)
{
	double x[2 * ROWS], y[ROWS];
	struct tw_samples s = samples_of(x, y);

	(void)state;
	make_samples(1e7, x, y);
	/* One row is an accident. */
	x[2 * 96] = 1.0;
	assert_false(find(&s).contradicted);
	for (size_t r = 0; r < ROWS; r += 2)
		x[2 * r] /= 4;
	assert_true(find(&s).contradicted);
}

static void memory_that_runs_out_is_an_error(void **state)
{
	double x[2 * ROWS], y[ROWS];
	struct tw_samples s = samples_of(x, y);
	int failures = 0;

	(void)state;
	make_samples(1e7, x, y);
	for (int n = 1;; n++, failures++) {
		struct tw_rest rest = { .watts = 7 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_rest_find(&s, &rest, &err);
		if (!fail_alloc_told(rc, &err))
			break;
		assert_true(rest.watts == 7);
	}
	assert_true(failures > 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rest_in_the_rows_gives_a_narrow_interval),
		cmocka_unit_test(
			a_machine_that_never_rests_supports_all_below_its_lowest_loads),
		cmocka_unit_test(power_from_zero_rests_at_zero),
		cmocka_unit_test(busy_rows_without_cpu_time_do_not_show_rest),
		cmocka_unit_test(more_cycles_than_cpu_time_can_hold_are_a_contradiction),
		cmocka_unit_test(memory_that_runs_out_is_an_error),
	};

	return cmocka_run_group_tests_name("rest", tests, NULL, NULL);
}
