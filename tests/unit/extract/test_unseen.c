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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_without_a_workload_that_works_lack_work),
		cmocka_unit_test(rows_without_an_idle_workload_lack_none),
		cmocka_unit_test(another_kind_of_work_is_no_lack),
		cmocka_unit_test(few_rows_after_it_have_no_line),
	};

	return cmocka_run_group_tests_name("unseen", tests, NULL, NULL);
}
