/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "trainer/extract/steady.h"

#include <math.h>

#define COUNT 120

struct rows {
	double load[COUNT], watts[COUNT];
	bool unsteady[COUNT];
};

static const struct tw_inertia none = { 0, 0 };

static double load_at(size_t i, size_t length)
{
	static const double load[] = { 0, 2, 1, 0.5 };

	return load[i / length % 4];
}

/* 30 W and 20 W a busy CPU of `lag` rows ago, and a meter's noise. Loads last so long. */
static void run(struct rows *r, size_t length, size_t lag)
{
	for (size_t i = 0; i < COUNT; i++) {
		r->load[i] = load_at(i, length);
		r->watts[i] = (30 + 20 * load_at(i > lag ? i - lag : 0, length)) *
			      (1 + 0.02 * sin((double)(i * i)));
		r->unsteady[i] = false;
	}
}

static enum tw_steady find(struct rows *r)
{
	return tw_steady_find(r->load, r->watts, COUNT, none, r->unsteady);
}

static size_t count_unsteady(const struct rows *r)
{
	size_t n = 0;

	for (size_t i = 0; i < COUNT; i++)
		n += r->unsteady[i];
	return n;
}

static void rows_of_their_own_time_stay(void **state)
{
	struct rows r;

	(void)state;
	run(&r, 12, 0);
	assert_int_equal(find(&r), TW_STEADY_ALL);
	/* An inertia that makes no difference. */
	assert_int_equal(tw_steady_find(r.load, r.watts, COUNT,
					(struct tw_inertia){ 1, 0 }, r.unsteady),
			 TW_STEADY_ALL);
	assert_int_equal(count_unsteady(&r), 0);
}

/* Each change of load is in the rows before and after it, and as long as the lag. */
static void rows_of_other_times_are_marked(void **state)
{
	(void)state;
	for (size_t lag = 1; lag <= 3; lag++) {
		struct rows r;

		run(&r, 12, lag);
		assert_int_equal(find(&r), TW_STEADY_MOST);
		for (size_t i = 0; i < COUNT; i++) {
			const double wanted = 30 + 20 * r.load[i];

			if (!r.unsteady[i] && fabs(r.watts[i] - wanted) > 0.03 * wanted)
				fail_msg("lag %zu, row %zu: %g W for %g", lag, i,
					 r.watts[i], wanted);
		}
		assert_in_range(count_unsteady(&r), 9 * (lag + 1), 9 * 4);
	}
}

/* An instant at the end of a row in which the load changes. */
static void instants_are_marked(void **state)
{
	struct rows r;

	(void)state;
	run(&r, 12, 0);
	for (size_t i = 12; i < COUNT; i += 12)
		r.load[i] = (2 * load_at(i - 1, 12) + load_at(i, 12)) / 3;
	assert_int_equal(find(&r), TW_STEADY_MOST);
	for (size_t i = 12; i < COUNT; i += 12)
		assert_true(r.unsteady[i]);
}

/* Rest lasts three rows. With two rows before it none is steady. The others are a little
 * nearer to their line then, which says less of rest. */
static void rows_at_rest_stay_if_the_line_is_less_certain_without(void **state)
{
	size_t at_rest = 0;
	struct rows r;

	(void)state;
	run(&r, 12, 0);
	for (size_t i = 0; i < COUNT; i++)
		if (r.load[i] == 0 && i % 12 > 2)
			r.load[i] = 2;
	for (size_t i = 0; i < COUNT; i++)
		r.watts[i] = (30 + 20 * r.load[i > 0 ? i - 1 : 0]) *
			     (1 + 0.02 * sin((double)(i * i)));
	for (size_t i = 1; i < COUNT; i += 12)
		r.watts[i] += r.load[i] > 0 ? 2.5 : 0;
	assert_int_equal(find(&r), TW_STEADY_MOST);
	for (size_t i = 12; i < COUNT; i++)
		at_rest += r.load[i] == 0 && !r.unsteady[i];
	assert_true(at_rest > 0);
}

/* The changes of load are up and down alike, so that the line of all rows is right. */
static void rows_without_which_the_line_is_more_certain_are_marked(void **state)
{
	struct rows r;

	(void)state;
	run(&r, 12, 0);
	for (size_t i = 0; i < COUNT; i++) {
		r.load[i] = i % 24 < 12 ? 0 : 2;
		r.watts[i] = (30 + 20 * r.load[i]) * (1 + 0.02 * sin((double)(i * i)));
	}
	for (size_t i = 12; i < COUNT; i += 24) {
		r.load[i - 1] = r.load[i] = 0.7;
		r.watts[i - 1] = 30;
		r.watts[i] = 58;
	}
	assert_int_equal(find(&r), TW_STEADY_MOST);
	assert_true(r.unsteady[11] && r.unsteady[12]);
}

static void a_load_that_is_never_steady_is_told(void **state)
{
	struct rows r;

	(void)state;
	run(&r, 2, 1);
	assert_int_equal(find(&r), TW_STEADY_FEW);
	assert_int_equal(count_unsteady(&r), 0);
}

/* Two stretches are steady, of 14 rows in all, which is too few for a line. */
static void a_few_steady_rows_are_no_line(void **state)
{
	struct rows r;

	(void)state;
	run(&r, 2, 0);
	for (size_t i = 40; i < 50; i++)
		r.load[i] = i < 45 ? 0 : 2;
	for (size_t i = 0; i < COUNT; i++)
		r.watts[i] = (30 + 20 * r.load[i > 0 ? i - 1 : 0]) *
			     (1 + 0.02 * sin((double)(i * i)));
	assert_int_equal(find(&r), TW_STEADY_FEW);
	assert_int_equal(count_unsteady(&r), 0);
}

/* A meter that shows the mean of its row and of some rows before. */
static void rows_of_a_meter_with_inertia_are_steady_for_as_long(void **state)
{
	(void)state;
	for (size_t before = 1; before <= 4; before++) {
		struct rows r;

		run(&r, 12, 0);
		for (size_t i = before; i < COUNT; i++) {
			double load = 0;

			for (size_t k = 0; k <= before; k++)
				load += r.load[i - k] / (double)(before + 1);
			r.watts[i] = (30 + 20 * load) * (1 + 0.02 * sin((double)(i * i)));
		}
		assert_int_equal(tw_steady_find(r.load, r.watts, COUNT,
						(struct tw_inertia){ before, 0 },
						r.unsteady),
				 TW_STEADY_MOST);
		for (size_t i = 0; i < COUNT; i++) {
			const double wanted = 30 + 20 * r.load[i];

			if (!r.unsteady[i] && fabs(r.watts[i] - wanted) > 0.03 * wanted)
				fail_msg("%zu before, row %zu: %g W for %g", before, i,
					 r.watts[i], wanted);
		}
		assert_in_range(count_unsteady(&r), 9 * before, 9 * (before + 2));
	}
}

/* Distances of a law that bends do not follow the change of load. */
static void a_bend_is_no_other_time(void **state)
{
	struct rows r;

	(void)state;
	run(&r, 12, 0);
	for (size_t i = 0; i < COUNT; i++)
		r.watts[i] = 30 + 30 * sqrt(r.load[i]);
	assert_int_equal(find(&r), TW_STEADY_ALL);
}

static void few_rows_and_one_load_stay(void **state)
{
	struct rows r;

	(void)state;
	run(&r, 12, 2);
	assert_int_equal(tw_steady_find(r.load, r.watts, 19, none, r.unsteady),
			 TW_STEADY_ALL);
	assert_int_equal(tw_steady_find(r.load, r.watts, 0, none, r.unsteady),
			 TW_STEADY_ALL);
	for (size_t i = 0; i < COUNT; i++)
		r.load[i] = 1;
	assert_int_equal(find(&r), TW_STEADY_ALL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_their_own_time_stay),
		cmocka_unit_test(rows_of_other_times_are_marked),
		cmocka_unit_test(instants_are_marked),
		cmocka_unit_test(rows_at_rest_stay_if_the_line_is_less_certain_without),
		cmocka_unit_test(rows_without_which_the_line_is_more_certain_are_marked),
		cmocka_unit_test(a_load_that_is_never_steady_is_told),
		cmocka_unit_test(a_few_steady_rows_are_no_line),
		cmocka_unit_test(rows_of_a_meter_with_inertia_are_steady_for_as_long),
		cmocka_unit_test(a_bend_is_no_other_time),
		cmocka_unit_test(few_rows_and_one_load_stay),
	};

	return cmocka_run_group_tests_name("steady", tests, NULL, NULL);
}
