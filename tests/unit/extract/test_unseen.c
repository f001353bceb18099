/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "trainer/extract/unseen.h"

#include <math.h>

#define COUNT 120

struct rows {
	double load[COUNT], watts[COUNT];
};

/* 30 W and 20 W a busy CPU, and a meter's noise. The rows before `first` show this share
 * of the work. */
static void run(struct rows *r, size_t first, double share)
{
	for (size_t i = 0; i < COUNT; i++) {
		const double load = (double)(i * 17 % 40) / 13;

		r->load[i] = i < first ? share * load : load;
		r->watts[i] = (30 + 20 * load) * (1 + 0.01 * sin((double)(i * i)));
	}
}

static void expect(size_t first, double share, enum tw_unseen_work wanted)
{
	struct rows r;

	run(&r, first, share);
	assert_int_equal(tw_unseen_find(r.load, r.watts, COUNT, first), wanted);
}

static void rows_without_a_workload_that_works_lack_work(void **state)
{
	(void)state;
	expect(60, 0.67, TW_UNSEEN_WORK);
	expect(60, 0.9, TW_UNSEEN_WORK);
	expect(21, 0.67, TW_UNSEEN_WORK);
}

static void rows_without_an_idle_workload_lack_none(void **state)
{
	(void)state;
	expect(60, 1, TW_UNSEEN_NONE);
	expect(110, 1, TW_UNSEEN_NONE);
}

/* Rows that lack work have more power for a load, not less. */
static void another_kind_of_work_is_no_lack(void **state)
{
	(void)state;
	expect(60, 1.2, TW_UNSEEN_NONE);
	expect(110, 1.2, TW_UNSEEN_NONE);
}

/* At the end, few rows tell that the others are wrong. At the beginning, few are wrong.
 */
static void few_rows_after_it_have_no_line(void **state)
{
	(void)state;
	expect(110, 0.67, TW_UNSEEN_FEW);
	expect(COUNT, 0.67, TW_UNSEEN_NONE);
	expect(19, 0.67, TW_UNSEEN_NONE);
	expect(0, 1, TW_UNSEEN_NONE);
}

/* 100 rows of 30 W and 20 W a busy CPU, exact or not, then others: so many times the
 * power. */
static void add_rows(struct rows *r, double noise, size_t count, double load,
		     double times)
{
	for (size_t i = 0; i < 100 + count; i++) {
		r->load[i] = i < 100 ? (double)(i % 10) / 5 : load;
		r->watts[i] = (30 + 20 * r->load[i]) *
			      (i < 100 ? 1 + noise * (i % 2 == 0 ? 1 : -1) : times);
	}
}

static void expect_of(double noise, size_t count, double load, double times,
		      enum tw_unseen_work wanted)
{
	struct rows r;

	add_rows(&r, noise, count, load, times);
	assert_int_equal(tw_unseen_find(r.load, r.watts, 100 + count, 100), wanted);
}

/* 1 % of power is no difference, however exact the line; nor is what its noise explains.
 */
static void few_rows_are_below_by_power_and_by_noise(void **state)
{
	(void)state;
	expect_of(0, 10, 1, 0.995, TW_UNSEEN_NONE);
	expect_of(0, 10, 1, 0.97, TW_UNSEEN_FEW);
	expect_of(0, 10, 1, 1.03, TW_UNSEEN_NONE);
	expect_of(0.2, 4, 1, 0.9, TW_UNSEEN_NONE);
	expect_of(0.2, 4, 1, 0.4, TW_UNSEEN_FEW);
	expect_of(0, 2, 1, 0.5, TW_UNSEEN_NONE);
	expect_of(0, 3, 1, 0.9, TW_UNSEEN_FEW);
}

/* Each of a few rows counts, the first one too. */
static void one_row_of_three_is_enough(void **state)
{
	struct rows r;

	(void)state;
	for (size_t low = 100; low < 103; low++) {
		add_rows(&r, 0, 3, 1, 1);
		r.watts[low] = 40;
		assert_int_equal(tw_unseen_find(r.load, r.watts, 103, 100),
				 TW_UNSEEN_FEW);
	}
}

/* 20 rows of nearly one load have no line. */
static void rows_of_one_load_are_few(void **state)
{
	struct rows r;

	(void)state;
	add_rows(&r, 0, 20, 1, 0.9);
	for (size_t i = 100; i < 120; i++)
		r.load[i] += 0.001 * (double)(i % 7);
	assert_int_equal(tw_unseen_find(r.load, r.watts, 120, 100), TW_UNSEEN_FEW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_without_a_workload_that_works_lack_work),
		cmocka_unit_test(rows_without_an_idle_workload_lack_none),
		cmocka_unit_test(another_kind_of_work_is_no_lack),
		cmocka_unit_test(few_rows_after_it_have_no_line),
		cmocka_unit_test(few_rows_are_below_by_power_and_by_noise),
		cmocka_unit_test(one_row_of_three_is_enough),
		cmocka_unit_test(rows_of_one_load_are_few),
	};

	return cmocka_run_group_tests_name("unseen", tests, NULL, NULL);
}
