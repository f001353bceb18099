/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the workloads that had an id a series is of. */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "trainer/extract/starts.h"
#include "trainer/response/prom_store.h"
#include "trainer/response/schema.h"

#include <stdio.h>
#include <string.h>

#define SAMPLES 5
#define PIDS 20

static struct tw_err err;

static struct tw_prom *response(void)
{
	struct tw_prom *p = tw_prom_new(&err);

	assert_non_null(p);
	return p;
}

/* A series of a metric with one label, or none. */
static void add(struct tw_prom *p, const char *metric, const char *label,
		const char *text, const double *value)
{
	static const double ms[SAMPLES] = { 1000, 2000, 3000, 4000, 5000 };
	const struct tw_label l = { label, text != NULL ? tw_intern(&p->shared, text,
								    strlen(text), &err)
							: NULL };
	size_t at;

	assert_int_equal(tw_prom_add_metric(p, metric, strlen(metric), &at, &err), 0);
	assert_int_equal(
		tw_prom_add_series(p, at, &l, label != NULL, ms, value, SAMPLES, &err),
		0);
}

static int64_t start_of(const struct tw_prom *p, const struct tw_starts *s, size_t i,
			int64_t ms)
{
	size_t count;
	const struct tw_series *of = tw_prom_series(p, "watched", &count);

	assert_in_range(i, 0, count - 1);
	return tw_start_of(s, &of[i], ms);
}

/* Each of many pids starts twice; others' starts and times do not matter. */
static void the_last_start_of_an_id_counts(void **state)
{
	static const double values[SAMPLES] = { 1, 2, 3, 4, 5 };
	struct tw_prom *p = response();
	struct tw_starts s;

	(void)state;
	for (int pid = 0; pid < PIDS; pid++) {
		char text[16];

		snprintf(text, sizeof(text), "%d", pid);
		add(p, "watched", "pid", text, values);
	}
	for (int i = 0; i < PIDS; i++) {
		/* In another order than that of the texts' addresses. */
		const int pid = i * 7 % PIDS;
		const double starts[SAMPLES] = { 10 + pid, 10 + pid, 30 + pid, 30 + pid,
						 30 + pid };
		char text[16];

		snprintf(text, sizeof(text), "%d", pid);
		add(p, TW_SCHEMA_STARTS, "pid", text, starts);
	}
	assert_int_equal(tw_starts_find(p, &s, &err), 0);
	assert_int_equal(s.count, 2 * PIDS);
	for (int pid = 0; pid < PIDS; pid++) {
		const int64_t first = 1000 * (10 + pid), second = 1000 * (30 + pid);

		assert_int_equal(start_of(p, &s, (size_t)pid, first - 1),
				 TW_START_UNKNOWN);
		assert_int_equal(start_of(p, &s, (size_t)pid, first), first);
		assert_int_equal(start_of(p, &s, (size_t)pid, second - 1), first);
		assert_int_equal(start_of(p, &s, (size_t)pid, second), second);
		assert_int_equal(start_of(p, &s, (size_t)pid, INT64_MAX), second);
	}
	assert_int_equal(start_of(p, NULL, 0, INT64_MAX), TW_START_UNKNOWN);
	tw_starts_release(&s);
	tw_prom_free(p);
}

/* Times that are none, series without an id, an id that never started. */
static void other_values_are_no_start(void **state)
{
	static const double wrong[SAMPLES] = { 0, -5, 1e12, 1e300, 7 };
	static const double none[SAMPLES] = { 9, 9, 9, 9, 9 };
	struct tw_prom *p = response();
	struct tw_starts s;

	(void)state;
	add(p, TW_SCHEMA_STARTS, "container_id", "box", wrong);
	add(p, TW_SCHEMA_STARTS, NULL, NULL, none);
	add(p, "watched", "container_id", "box", none);
	add(p, "watched", "container_id", "other", none);
	add(p, "watched", NULL, NULL, none);
	assert_int_equal(tw_starts_find(p, &s, &err), 0);
	assert_int_equal(s.count, 1);
	assert_int_equal(start_of(p, &s, 0, 7000), 7000);
	assert_int_equal(start_of(p, &s, 1, 7000), TW_START_UNKNOWN);
	assert_int_equal(start_of(p, &s, 2, 7000), TW_START_UNKNOWN);
	tw_starts_release(&s);
	tw_prom_free(p);
}

static void without_starts_nothing_is_known(void **state)
{
	static const double none[SAMPLES] = { 9, 9, 9, 9, 9 };
	struct tw_prom *p = response();
	struct tw_starts s;

	(void)state;
	add(p, "watched", "pid", "1", none);
	assert_int_equal(tw_starts_find(p, &s, &err), 0);
	assert_int_equal(start_of(p, &s, 0, 9000), TW_START_UNKNOWN);
	tw_starts_release(&s);
	tw_prom_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_start_of_an_id_counts),
		cmocka_unit_test(other_values_are_no_start),
		cmocka_unit_test(without_starts_nothing_is_known),
	};

	return cmocka_run_group_tests_name("starts", tests, NULL, NULL);
}
