/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "trainer/extract/inertia.h"
#include "trainer/extract/steady.h"

#include <math.h>

#define COUNT 240
#define LENGTH 30

/* Around the memory, where nothing may be read. */
#define GUARD 64

struct rows {
	double load[COUNT], watts[COUNT], memory[GUARD + 2 * COUNT + 1 + GUARD];
};

/* A load lasts for 30 rows. */
static double load_at(ptrdiff_t i)
{
	static const double load[] = { 0, 2, 1, 2.5, 0.5, 0, 2.5, 1.5 };

	return load[i < 0 ? 0 : (size_t)i / LENGTH % 8];
}

/* 30 W and 20 W a busy CPU: of the mean load of `length` rows, the last of which is `lag`
 * rows ago, and a meter's noise. */
static void run(struct rows *r, ptrdiff_t length, ptrdiff_t lag)
{
	for (ptrdiff_t i = 0; i < COUNT; i++) {
		double mean = 0;

		for (ptrdiff_t k = i - lag - length + 1; k <= i - lag; k++)
			mean += load_at(k) / (double)length;
		r->load[i] = load_at(i);
		r->watts[i] = (30 + 20 * mean) * (1 + 0.01 * sin((double)(i * i)));
	}
}

static struct tw_inertia find(struct rows *r, size_t count)
{
	for (size_t i = 0; i < TW_COUNT(r->memory); i++)
		r->memory[i] = NAN;
	return tw_inertia_find(r->load, r->watts, count, r->memory + GUARD);
}

static void expect(struct rows *r, size_t count, size_t before, size_t after)
{
	const struct tw_inertia n = find(r, count);

	if (n.before != before || n.after != after)
		fail_msg("%zu before, %zu after: not %zu, %zu", n.before, n.after, before,
			 after);
}

static void a_meter_of_each_row_has_none(void **state)
{
	struct rows r;

	(void)state;
	run(&r, 1, 0);
	expect(&r, COUNT, 0, 0);
	for (size_t i = 0; i < COUNT; i++)
		r.watts[i] = 30 + 20 * sqrt(r.load[i]);
	expect(&r, COUNT, 0, 0);
	for (size_t i = 0; i < COUNT; i++)
		r.watts[i] = 30 + 20 * cos((double)(i * i));
	expect(&r, COUNT, 0, 0);
}

static void a_lag_and_a_mean_are_found(void **state)
{
	struct rows r;

	(void)state;
	run(&r, 1, 6);
	expect(&r, COUNT, 6, 0);
	run(&r, 1, -4);
	expect(&r, COUNT, 0, 4);
	run(&r, 8, 0);
	expect(&r, COUNT, 7, 0);
	run(&r, 4, 3);
	expect(&r, COUNT, 6, 0);
	expect(&r, 59, 0, 0);
	run(&r, 24, 1);
	expect(&r, COUNT, 24, 0);
	run(&r, 1, 6);
	expect(&r, 60, 6, 0);
	run(&r, 1, 12); /* as far as 60 rows reach */
	expect(&r, 60, 12, 0);
}

/* A mean that explains a little more than the load does is chance. */
static void what_the_load_explains_is_no_inertia(void **state)
{
	struct rows r;

	(void)state;
	run(&r, 1, 1);
	for (size_t i = 0; i < COUNT; i++)
		r.watts[i] += i % 2 == 0 ? 8 : -8;
	expect(&r, COUNT, 0, 0);
}

/* A load that rises and falls at one rate has the same line with a lag. */
static void a_lag_that_cancels_out_does_no_harm(void **state)
{
	struct rows r;

	(void)state;
	for (size_t lag = 0; lag < 2; lag++) {
		for (size_t i = 0; i < COUNT; i++)
			r.load[i] = fabs(60 - (double)(i % 120));
		for (size_t i = 0; i < COUNT; i++)
			r.watts[i] = 30 + r.load[i < 2 * lag ? i : i - 2 * lag];
		expect(&r, COUNT, 0, 0);
	}
}

/* After four of its lengths it is over. */
static void an_exponential_mean_is_found(void **state)
{
	double mean = 0;
	struct rows r;

	(void)state;
	run(&r, 1, 0);
	for (size_t i = 0; i < COUNT; i++) {
		mean += (r.load[i] - mean) / 5;
		r.watts[i] = 30 + 20 * mean;
	}
	expect(&r, COUNT, 20, 0);
}

/* The rows that are steady for as long obey the law; none is, if loads are shorter. */
static void rows_without_its_trace_are_left(void **state)
{
	bool unsteady[COUNT] = { false };
	size_t left = 0;
	struct rows r;

	(void)state;
	run(&r, 8, 0);
	assert_int_equal(
		tw_steady_find(r.load, r.watts, COUNT, find(&r, COUNT), unsteady),
		TW_STEADY_MOST);
	for (size_t i = 0; i < COUNT; i++) {
		const double wanted = 30 + 20 * r.load[i];

		left += !unsteady[i];
		if (!unsteady[i] && fabs(r.watts[i] - wanted) > 0.011 * wanted)
			fail_msg("row %zu: %g W for %g", i, r.watts[i], r.load[i]);
	}
	assert_in_range(left, COUNT - 8 * 9, COUNT - 1);
	assert_int_equal(tw_steady_find(r.load, r.watts, COUNT,
					(struct tw_inertia){ LENGTH, 0 }, unsteady),
			 TW_STEADY_FEW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_meter_of_each_row_has_none),
		cmocka_unit_test(a_lag_and_a_mean_are_found),
		cmocka_unit_test(what_the_load_explains_is_no_inertia),
		cmocka_unit_test(a_lag_that_cancels_out_does_no_harm),
		cmocka_unit_test(an_exponential_mean_is_found),
		cmocka_unit_test(rows_without_its_trace_are_left),
	};

	return cmocka_run_group_tests_name("inertia", tests, NULL, NULL);
}
