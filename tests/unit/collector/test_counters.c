/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "collector/workloads/counters.h"
#include "lib/core/err.h"
#include "tests/unit/collector/kernel_pids.h"
#include "tests/unit/collector/bpf_lock.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

struct told {
	uint32_t tgid;
	bool lives;
	uint64_t count[TW_COUNTER_COUNT], others;
};

static enum tw_process_status on_counted(void *arg, uint32_t tgid,
					 const uint64_t more[TW_COUNTER_COUNT], bool last)
{
	struct told *told = arg;

	(void)last;
	if (tgid != told->tgid) {
		told->others += more[TW_COUNTER_CYCLES];
		return TW_PROCESS_LIVING;
	}
	for (int i = 0; i < TW_COUNTER_COUNT; i++)
		told->count[i] += more[i];
	return told->lives ? TW_PROCESS_LIVING : TW_PROCESS_ENDED;
}

static struct tw_counters *open_counters(void)
{
	const char *require = getenv("TW_REQUIRE");
	struct tw_counters *c = NULL;
	struct tw_err err = { 0 };

	need_kernel_pids("test_counters");
	if (tw_counters_open(true, &c, &err) == 0)
		return c;
	if (require != NULL && strstr(require, "bpf") != NULL &&
	    err.code != TW_UNSUPPORTED)
		fail_msg("TW_REQUIRE names bpf: %s", err.text);
	printf("SKIPPED: test_counters: %s\n", err.text);
	skip();
	return NULL;
}

static void read_counters(struct tw_counters *c, struct told *told)
{
	struct tw_err err = { 0 };

	if (tw_counters_read(c, on_counted, told, &err) < 0)
		fail_msg("%s", err.text);
}

static uint64_t own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

static void burn(uint64_t ns)
{
	const uint64_t until = own_cpu_ns() + ns;

	while (own_cpu_ns() < until)
		;
}

/*
 * The software event for cycles is a clock that runs while the process has the CPU,
 * including interrupts and time stolen by the hypervisor, which no clock of the process
 * includes. A switch that the kernel hides from BPF is missing.
 */
static void assert_clock(uint64_t ns, uint64_t least_ns, uint64_t most_ns)
{
	assert_in_range(ns, least_ns / 2, most_ns * 2 + 10 * MS);
}

/* The software event for cycles is a clock, so its count is known. */
static void a_running_process_is_counted_up_to_now(void **state)
{
	struct tw_counters *c = open_counters();
	struct told told = { .tgid = (uint32_t)getpid(), .lives = true };
	uint64_t least_ns, most_ns = own_cpu_ns();

	(void)state;
	read_counters(c, &told);
	memset(told.count, 0, sizeof(told.count));
	least_ns = own_cpu_ns();
	burn(50 * MS);
	least_ns = own_cpu_ns() - least_ns;
	read_counters(c, &told);
	most_ns = own_cpu_ns() - most_ns;
	assert_clock(told.count[TW_COUNTER_CYCLES], least_ns, most_ns);
	assert_int_equal(told.count[TW_COUNTER_REF_CYCLES], 0);
	assert_true(tw_counters_have(c, TW_COUNTER_INSTRUCTIONS));
	assert_false(tw_counters_have(c, TW_COUNTER_REF_CYCLES));
	tw_counters_close(c);
}

static void an_ended_process_is_reported_once(void **state)
{
	struct tw_counters *c = open_counters();
	struct told told = { 0 };
	const pid_t pid = fork();
	struct rusage use;
	uint64_t first, used_ns;

	(void)state;
	if (pid == 0) {
		burn(30 * MS);
		_exit(0);
	}
	told.tgid = (uint32_t)pid;
	assert_int_equal(wait4(pid, NULL, 0, &use), pid);
	used_ns = (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000 * MS +
		  (uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1000;
	read_counters(c, &told);
	first = told.count[TW_COUNTER_CYCLES];
	assert_clock(first, used_ns, used_ns);
	for (int i = 0; i < 3; i++)
		read_counters(c, &told);
	assert_int_equal(told.count[TW_COUNTER_CYCLES], first);
	tw_counters_close(c);
}

/* More processes than rows: rows move from one map to the other. */
static void many_processes_are_counted_separately(void **state)
{
	struct tw_counters *c = open_counters();
	struct told told = { .lives = true };
	uint64_t failed, lost;

	(void)state;
	read_counters(c, &told);
	told.others = 0;
	for (int i = 0; i < 3 * TW_COUNT_ROWS; i++) {
		const pid_t pid = fork();

		if (pid == 0) {
			burn(MS / 2);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
	read_counters(c, &told);
	assert_true(told.others >= 3 * TW_COUNT_ROWS * MS / 2 / 2);
	tw_counters_stats(c, &failed, &lost);
	assert_int_equal(lost, 0);
	tw_counters_close(c);
}

struct seen {
	uint32_t tgid;
	uint64_t ns, all_ns; /* samples in which it runs, and all */
};

static void on_sampled(void *arg, const uint32_t *tgid, size_t cpus, uint64_t ns)
{
	struct seen *seen = arg;
	bool runs = false;

	assert_true(cpus > 0);
	for (size_t c = 0; c < cpus; c++)
		runs = runs || tgid[c] == seen->tgid;
	seen->ns += runs ? ns : 0;
	seen->all_ns += ns;
}

/* Naps are context switches, without which there are no samples. */
static void samples_say_what_runs(void **state)
{
	const struct timespec nap = { .tv_nsec = (long)MS / 10 };
	struct tw_counters *c = open_counters();
	struct seen seen = { .tgid = (uint32_t)getpid() }, none = { .tgid = UINT32_MAX };

	(void)state;
	assert_true(tw_counters_sampled_cpus(c) > 0);
	for (int i = 0; i < 2000 && seen.ns < 50 * MS; i++) {
		burn(5 * MS);
		nanosleep(&nap, NULL);
		tw_counters_samples(c, on_sampled, &seen);
	}
	assert_true(seen.ns >= 50 * MS);
	assert_true(seen.all_ns >= seen.ns);
	tw_counters_samples(c, on_sampled, &none);
	assert_int_equal(none.ns, 0);
	tw_counters_close(c);
}

/* Whether all counters are there, if this process may have this many open files. */
static bool counts_with_files(rlim_t soft, rlim_t hard, struct tw_err *err)
{
	const struct rlimit l = { .rlim_cur = soft, .rlim_max = hard };
	struct tw_counters *c;
	bool all;

	if (setrlimit(RLIMIT_NOFILE, &l) < 0)
		return tw_fail_errno(err, errno, "setrlimit") == 0;
	if (tw_counters_open(true, &c, err) < 0)
		return false;
	all = tw_counters_have(c, TW_COUNTER_CYCLES) &&
	      tw_counters_have(c, TW_COUNTER_CACHE_MISSES);
	tw_counters_close(c);
	return all;
}

/* An event of each kind and CPU is a file: a machine may have more than the limit. */
static void counters_raise_the_limit_of_files(void **state)
{
	const rlim_t few = (rlim_t)dup(STDERR_FILENO) + 2;
	struct tw_err err = { 0 };
	struct rlimit before;
	pid_t pid;
	int status;

	(void)state;
	tw_counters_close(open_counters());
	close((int)few - 2);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	/* In a child: a hard limit does not rise again. */
	pid = fork();
	if (pid == 0) {
		if (!counts_with_files(few, before.rlim_max, &err))
			_exit(1);
		/* Counters of some CPUs only would lose the work on others. */
		if (counts_with_files(few, few, &err))
			_exit(2);
		_exit(strstr(err.text, " CPUs: Too many open files") == NULL ? 3 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_running_process_is_counted_up_to_now),
		cmocka_unit_test(an_ended_process_is_reported_once),
		cmocka_unit_test(many_processes_are_counted_separately),
		cmocka_unit_test(samples_say_what_runs),
		cmocka_unit_test(counters_raise_the_limit_of_files),
	};

	return cmocka_run_group_tests(tests, bpf_lock, NULL);
}
