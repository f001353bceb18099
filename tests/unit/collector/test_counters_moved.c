/* SPDX-License-Identifier: Apache-2.0 */
/* Counts that move from one map to the other while both are read. */
#include "tests/unit/tw_test.h"

#include "collector/workloads/counters.h"
#include "lib/core/err.h"
#include "tests/unit/fork_as.h"
#include "tests/unit/collector/kernel_pids.h"
#include "tests/unit/collector/bpf_lock.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

/* Runs processes that replace the rows, once, between the reads of the two maps. */
static pid_t next_id;
static int first_map = -1;

int __real_bpf_map_lookup_elem(int map, const void *key, void *value);
int __wrap_bpf_map_lookup_elem(int map, const void *key, void *value);
int __real_bpf_map_get_next_key(int map, const void *key, void *next);
int __wrap_bpf_map_get_next_key(int map, const void *key, void *next);

static void burn(uint64_t ns)
{
	struct timespec t;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	while ((uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec < ns);
}

static pid_t run_as(pid_t id, uint64_t ns)
{
	const pid_t pid = fork_as(id);

	if (pid == 0) {
		burn(ns);
		_exit(0);
	}
	if (pid > 0)
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static void before_read_of(int map)
{
	if (first_map < 0)
		first_map = map;
	if (next_id == 0 || map == first_map)
		return;
	assert_int_equal(run_as(next_id, MS), next_id);
	next_id = 0;
}

int __wrap_bpf_map_lookup_elem(int map, const void *key, void *value)
{
	before_read_of(map);
	return __real_bpf_map_lookup_elem(map, key, value);
}

int __wrap_bpf_map_get_next_key(int map, const void *key, void *next)
{
	before_read_of(map);
	return __real_bpf_map_get_next_key(map, key, next);
}

struct told {
	uint32_t tgid;
	uint64_t cycles;
};

static enum tw_process_status on_counted(void *arg, uint32_t tgid,
					 const uint64_t more[TW_COUNTER_COUNT], bool last)
{
	struct told *told = arg;

	(void)last;
	if (tgid == told->tgid)
		told->cycles += more[TW_COUNTER_CYCLES];
	return TW_PROCESS_LIVING;
}

static void skip_test(const char *why)
{
	const char *require = getenv("TW_REQUIRE");

	if (require != NULL && strstr(require, "bpf") != NULL)
		fail_msg("TW_REQUIRE names bpf: %s", why);
	printf("SKIPPED: test_counters_moved: %s\n", why);
	skip();
}

static struct tw_counters *open_counters(void)
{
	struct tw_counters *c = NULL;
	struct tw_err err = { 0 };

	need_kernel_pids("test_counters_moved");
	if (tw_counters_open(true, &c, &err) < 0)
		skip_test(err.text);
	return c;
}

static void read_counters(struct tw_counters *c, struct told *told)
{
	struct tw_err err = { 0 };

	first_map = -1;
	if (tw_counters_read(c, on_counted, told, &err) < 0)
		fail_msg("%s", err.text);
}

/* All rows of this test are on one CPU. */
static void stay_on_this_cpu(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

/* Two free ids that share a row. */
static bool find_ids(pid_t id[2])
{
	for (id[0] = 2000; id[0] < 20000; id[0]++) {
		id[1] = id[0] + TW_COUNT_ROWS;
		if (run_as(id[0], 0) > 0 && run_as(id[1], 0) > 0)
			return true;
		if (errno != EEXIST)
			return false;
	}
	return false;
}

static void a_row_that_is_spilled_during_a_read_is_counted_once(void **state)
{
	struct tw_counters *c = open_counters();
	struct told told = { 0 };
	pid_t id[2];

	(void)state;
	stay_on_this_cpu();
	if (!find_ids(id)) {
		tw_counters_close(c);
		printf("SKIPPED: test_counters_moved: ids cannot be chosen\n");
		skip();
	}
	told.tgid = (uint32_t)id[0];
	read_counters(c, &told);
	told.cycles = 0;
	assert_int_equal(run_as(id[0], 50 * MS), id[0]);
	read_counters(c, &told);
	assert_in_range(told.cycles, 25 * MS, 10000 * MS);
	told.cycles = 0;
	next_id = id[1];
	read_counters(c, &told);
	assert_int_equal(next_id, 0);
	/* It may have run for the last time just now. */
	assert_in_range(told.cycles, 0, 10 * MS);
	/* Nor when it is in a read again. */
	read_counters(c, &told);
	read_counters(c, &told);
	assert_in_range(told.cycles, 0, 10 * MS);
	tw_counters_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_that_is_spilled_during_a_read_is_counted_once),
	};

	return cmocka_run_group_tests(tests, bpf_lock, NULL);
}
