/* SPDX-License-Identifier: Apache-2.0 */
/* Threads whose ids are below their leader's, as the task iterator lists them. */
#include "tests/unit/tw_test.h"

#include "collector/system/roots.h"
#include "collector/workloads/tasks.h"
#include "lib/core/err.h"
#include "tests/unit/fork_as.h"
#include "tests/unit/collector/bpf_lock.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

/* Processes with ids between those of a leader and of its threads. */
#define SLEEPERS 400

/*
 * The source counts the last microseconds of exited threads, which the process's clock
 * omits: 2 us a thread on a loaded machine, and more. Long threads keep the sum of them
 * far below half a thread.
 */
#define THREAD_NS (16 * MS)

/* Children exit by themselves if the test is killed. */
#define ALARM_S 300

static const struct tw_roots roots = { .proc = "/proc", .sys = "/sys", .dev = "/dev" };

static void skip_test(const char *what, const char *why)
{
	const char *require = getenv("TW_REQUIRE");

	if (require != NULL && strstr(require, "bpf") != NULL)
		fail_msg("TW_REQUIRE names bpf: %s: %s", what, why);
	printf("SKIPPED: test_tasks_iter: %s: %s\n", what, why);
	skip();
}

static void *open_source(const struct tw_task_source *s)
{
	const struct tw_task_config c = { .roots = &roots };
	struct tw_err err = { 0 };
	void *source = NULL;

	if (s == NULL)
		skip_test("bpf-iter", "built without BPF");
	else if (s->open(&c, &source, &err) < 0)
		skip_test(s->name, err.text);
	return source;
}

static void on_alive(void *arg, const struct tw_task *t)
{
	struct tw_task *told = arg;

	if (t->tgid == told->tgid)
		*told = *t;
}

static void *run_thread(void *arg)
{
	struct timespec t;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while ((uint64_t)t.tv_nsec < *(uint64_t *)arg);
	return NULL;
}

static uint64_t ns_of(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	assert_int_equal(clock_gettime(clock, &t), 0);
	return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

static pid_t highest_id(void)
{
	FILE *f = fopen("/proc/sys/kernel/pid_max", "r");
	int most = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &most), 1);
	fclose(f);
	return most - 1;
}

/* A child with the highest free id below id; -1: ids cannot be chosen. */
static pid_t fork_below(pid_t *id)
{
	pid_t pid;

	do
		pid = fork_as(--*id);
	while (pid < 0 && errno == EEXIST && *id > 1);
	return pid;
}

/* One thread after the other, for a limited time. */
static void run_threads(uint64_t ns)
{
	pthread_t thread;

	alarm(ALARM_S);
	while (pthread_create(&thread, NULL, run_thread, &ns) == 0)
		pthread_join(thread, NULL);
	_exit(1);
}

static void start_sleepers(pid_t *pid, size_t count, pid_t *id)
{
	for (size_t i = 0; i < count; i++) {
		pid[i] = fork_below(id);
		if (pid[i] == 0) {
			alarm(ALARM_S);
			pause();
			_exit(0);
		}
	}
}

static void kill_child(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* How often the source reports more than the process ran, by half a thread or more. */
static int count_told_twice(const struct tw_task_source *s, void *source, pid_t pid)
{
	struct tw_task told = { .tgid = (uint32_t)pid };
	const struct tw_task_sink sink = { .arg = &told, .alive = on_alive };
	struct tw_err err = { 0 };
	int twice = 0;

	for (int i = 0; i < 1000; i++) {
		if (s->read(source, &sink, &err) < 0)
			fail_msg("%s: %s", s->name, err.text);
		twice += told.cpu_ns > ns_of(pid) + THREAD_NS / 2;
	}
	return twice;
}

/*
 * After ids have wrapped around, the iterator lists threads before their leader, and
 * other processes in between: a thread that exits meanwhile is counted as living or as
 * exited, never as both.
 */
static void a_thread_that_exits_during_a_walk_is_counted_once(void **state)
{
	const struct tw_task_source *s = tw_task_source_find("bpf-iter");
	void *source = open_source(s);
	pid_t id = highest_id() + 1, pid, sleeper[SLEEPERS];
	int twice;

	(void)state;
	pid = fork_below(&id);
	if (pid == 0)
		run_threads(THREAD_NS);
	if (pid < 0) {
		s->close(source);
		printf("SKIPPED: test_tasks_iter: ids cannot be chosen\n");
		skip();
	}
	start_sleepers(sleeper, SLEEPERS, &id);
	twice = count_told_twice(s, source, pid);
	kill_child(pid);
	for (size_t i = 0; i < SLEEPERS; i++)
		kill_child(sleeper[i]);
	s->close(source);
	assert_int_equal(twice, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_that_exits_during_a_walk_is_counted_once),
	};

	return cmocka_run_group_tests(tests, bpf_lock, NULL);
}
