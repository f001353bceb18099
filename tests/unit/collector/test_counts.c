/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "collector/workloads/counts.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The kernel is not involved: deletions from the map are recorded. */
static uint32_t deleted[4096];
static size_t deleted_count;

int __wrap_bpf_map_delete_elem(int map, const void *key);

int __wrap_bpf_map_delete_elem(int map, const void *key)
{
	assert_int_equal(map, 7);
	assert_true(deleted_count < TW_COUNT(deleted));
	memcpy(&deleted[deleted_count++], key, sizeof(deleted[0]));
	return 0;
}

static const struct tw_counts_kinds kinds = {
	.kind = { TW_COUNTER_CYCLES, TW_COUNTER_CACHE_MISSES }, .count = 2
};

#define IDS 64

/* Reported counts of each process, and the answer to a report. */
struct listener {
	enum tw_process_status whose[IDS];
	uint64_t told[IDS][TW_COUNTER_COUNT]; /* taken */
	unsigned calls, last;
};

static enum tw_process_status hear(void *arg, uint32_t tgid,
				   const uint64_t more[TW_COUNTER_COUNT], bool last)
{
	struct listener *l = arg;

	assert_true(tgid < IDS);
	l->calls++;
	l->last += last;
	if (l->whose[tgid] != TW_PROCESS_UNKNOWN || last)
		for (int i = 0; i < TW_COUNTER_COUNT; i++)
			l->told[tgid][i] += more[i];
	return l->whose[tgid];
}

static void begin(struct tw_counts *c)
{
	struct tw_err err = { 0 };

	assert_int_equal(tw_counts_begin(c, &err), 0);
}

static void add(struct tw_counts *c, uint32_t tgid, uint64_t first, uint64_t second,
		bool map)
{
	const struct tw_counts_of of = { .count = { first, second } };
	struct tw_err err = { 0 };

	assert_int_equal(tw_counts_add(c, tgid, &of, map, &err), 0);
}

static void parts_of_a_total_add_up_and_differences_are_reported(void **state)
{
	struct listener l = { .calls = 0 };
	struct tw_counts c = { .now = { .at = NULL } };

	(void)state;
	begin(&c);
	add(&c, 1, 10, 1, false);
	add(&c, 1, 5, 0, false);
	add(&c, 2, 7, 0, true);
	tw_counts_report(&c, &kinds, 7, hear, &l);
	assert_int_equal(l.told[1][TW_COUNTER_CYCLES], 15);
	assert_int_equal(l.told[1][TW_COUNTER_CACHE_MISSES], 1);
	assert_int_equal(l.told[2][TW_COUNTER_CYCLES], 7);
	/* Counters that the program does not count are not reported. */
	assert_int_equal(l.told[1][TW_COUNTER_INSTRUCTIONS], 0);
	begin(&c);
	add(&c, 1, 100, 1, false);
	tw_counts_report(&c, &kinds, 7, hear, &l);
	assert_int_equal(l.told[1][TW_COUNTER_CYCLES], 100);
	assert_int_equal(l.told[1][TW_COUNTER_CACHE_MISSES], 1);
	tw_counts_release(&c);
}

static void a_total_that_falls_for_one_read_is_made_up_for(void **state)
{
	struct listener l = { .calls = 0 };
	struct tw_counts c = { .now = { .at = NULL } };
	const uint64_t seen[] = { 100, 60, 110 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		begin(&c);
		add(&c, 1, seen[i], 0, false);
		tw_counts_report(&c, &kinds, 7, hear, &l);
		assert_int_equal(l.told[1][TW_COUNTER_CYCLES], i < 2 ? 100 : 110);
	}
	tw_counts_release(&c);
}

/* A row that is moving between the maps is in neither. */
static void an_entry_missing_from_one_read_is_not_reported_again(void **state)
{
	struct listener l = { .calls = 0 };
	struct tw_counts c = { .now = { .at = NULL } };
	const uint64_t seen[] = { 100, 0, 110, 0, 0, 120 };
	const uint64_t told[] = { 100, 100, 110, 110, 110, 230 };

	(void)state;
	for (int i = 0; i < 6; i++) {
		begin(&c);
		add(&c, 2, 1, 0, false);
		if (seen[i] != 0)
			add(&c, 1, seen[i], 0, false);
		tw_counts_report(&c, &kinds, 7, hear, &l);
		assert_int_equal(l.told[1][TW_COUNTER_CYCLES], told[i]);
	}
	tw_counts_release(&c);
}

static void an_ended_process_is_deleted_from_the_map(void **state)
{
	struct listener l = { .whose = {
				      [3] = TW_PROCESS_ENDED, [4] = TW_PROCESS_ENDED } };
	struct tw_counts c = { .now = { .at = NULL } };

	(void)state;
	deleted_count = 0;
	begin(&c);
	add(&c, 3, 9, 0, true);
	add(&c, 4, 9, 0, false);
	add(&c, 5, 9, 0, true);
	tw_counts_report(&c, &kinds, 7, hear, &l);
	assert_int_equal(deleted_count, 1);
	assert_int_equal(deleted[0], 3);
	tw_counts_release(&c);
}

static void counts_of_an_unknown_process_are_reported_three_times(void **state)
{
	struct listener l = { .whose = { [6] = TW_PROCESS_UNKNOWN } };
	struct tw_counts c = { .now = { .at = NULL } };

	(void)state;
	for (int read = 1; read <= 3; read++) {
		begin(&c);
		add(&c, 6, 40, 0, false);
		tw_counts_report(&c, &kinds, 7, hear, &l);
		assert_int_equal(l.calls, read);
		assert_int_equal(l.last, read == 3);
		assert_int_equal(l.told[6][TW_COUNTER_CYCLES], read == 3 ? 40 : 0);
	}
	/* A process whose exit comes in time gets all of its counts. */
	l = (struct listener){ .whose = { [8] = TW_PROCESS_UNKNOWN } };
	begin(&c);
	add(&c, 8, 40, 0, false);
	tw_counts_report(&c, &kinds, 7, hear, &l);
	l.whose[8] = TW_PROCESS_LIVING;
	begin(&c);
	add(&c, 8, 50, 0, false);
	tw_counts_report(&c, &kinds, 7, hear, &l);
	assert_int_equal(l.told[8][TW_COUNTER_CYCLES], 50);
	tw_counts_release(&c);
}

/* For living processes the reported sum is the highest total that was seen. */
static void reported_differences_add_up_to_the_totals(void **state)
{
	struct listener l = { .calls = 0 };
	struct tw_counts c = { .now = { .at = NULL } };
	uint64_t total[IDS] = { 0 }, highest[IDS] = { 0 };

	(void)state;
	srand(11);
	for (int read = 0; read < 500; read++) {
		begin(&c);
		for (uint32_t id = 1; id < IDS; id++) {
			const bool lower = rand() % 8 == 0 && total[id] > 0;
			uint64_t seen, rest;

			total[id] += (uint64_t)(rand() % 1000);
			seen = lower ? total[id] / 2 : total[id];
			/* In parts, as the CPUs and the map have them. */
			rest = seen > 0 ? (uint64_t)rand() % seen : 0;
			add(&c, id, rest, 0, rand() % 2 == 0);
			add(&c, id, seen - rest, 0, false);
			if (seen > highest[id])
				highest[id] = seen;
		}
		tw_counts_report(&c, &kinds, 7, hear, &l);
		for (uint32_t id = 1; id < IDS; id++)
			assert_int_equal(l.told[id][TW_COUNTER_CYCLES], highest[id]);
	}
	tw_counts_release(&c);
}

static void the_table_grows(void **state)
{
	struct tw_counts c = { .now = { .at = NULL } };
	struct tw_counts_of of = { .count = { 1 } };
	struct tw_err err = { 0 };

	(void)state;
	begin(&c);
	for (uint32_t id = 1; id <= 5000; id++)
		assert_int_equal(tw_counts_add(&c, id, &of, false, &err), 0);
	assert_int_equal(c.now.count, 5000);
	assert_true(c.now.size >= 10000);
	tw_counts_release(&c);
}

static void without_memory_it_fails(void **state)
{
	struct tw_counts c = { .now = { .at = NULL } };
	struct tw_counts_of of = { .count = { 1 } };
	struct tw_err err = { 0 };
	int rc = 0;

	(void)state;
	fail_alloc_at(1);
	assert_int_equal(tw_counts_begin(&c, &err), -1);
	assert_true(fail_alloc_hit());
	assert_int_equal(err.code, TW_NOMEM);
	begin(&c);
	fail_alloc_at(1);
	for (uint32_t id = 1; id <= 5000 && rc == 0; id++)
		rc = tw_counts_add(&c, id, &of, false, &err);
	assert_true(fail_alloc_hit());
	assert_int_equal(rc, -1);
	assert_int_equal(c.now.count, 512);
	tw_counts_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_of_a_total_add_up_and_differences_are_reported),
		cmocka_unit_test(a_total_that_falls_for_one_read_is_made_up_for),
		cmocka_unit_test(an_entry_missing_from_one_read_is_not_reported_again),
		cmocka_unit_test(an_ended_process_is_deleted_from_the_map),
		cmocka_unit_test(counts_of_an_unknown_process_are_reported_three_times),
		cmocka_unit_test(reported_differences_add_up_to_the_totals),
		cmocka_unit_test(the_table_grows),
		cmocka_unit_test(without_memory_it_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
