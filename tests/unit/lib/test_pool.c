/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/pool.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define TASKS 1000

struct tally {
	atomic_uint calls[TASKS];
	double result[TASKS];
};

static void work(void *arg, size_t i)
{
	struct tally *t = arg;

	atomic_fetch_add(&t->calls[i], 1u);
	t->result[i] = (double)i * 0.5;
}

static void every_task_runs_once_with_any_number_of_threads(void **state)
{
	static const unsigned threads[] = { 0, 1, 2, 7, 5000 };

	(void)state;
	for (size_t k = 0; k < TW_COUNT(threads); k++) {
		struct tally *t = calloc(1, sizeof(*t));

		tw_pool_run(TASKS, threads[k], work, t);
		for (size_t i = 0; i < TASKS; i++) {
			assert_int_equal(atomic_load(&t->calls[i]), 1);
			assert_true(t->result[i] == (double)i * 0.5);
		}
		free(t);
	}
}

static void zero_tasks_run_nothing(void **state)
{
	(void)state;
	tw_pool_run(0, 4, work, NULL);
}

struct meeting {
	atomic_uint here;
};

/* Returns only if another thread runs a task at the same time. */
static void meet(void *arg, size_t i)
{
	struct meeting *m = arg;

	(void)i;
	atomic_fetch_add(&m->here, 1u);
	while (atomic_load(&m->here) < 2)
		;
}

static void two_threads_run_at_once(void **state)
{
	struct meeting m = { 0 };

	(void)state;
	tw_pool_run(2, 2, meet, &m);
	assert_int_equal(atomic_load(&m.here), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_task_runs_once_with_any_number_of_threads),
		cmocka_unit_test(zero_tasks_run_nothing),
		cmocka_unit_test(two_threads_run_at_once),
	};

	return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
