/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "collector/system/roots.h"
#include "collector/workloads/tasks.h"
#include "lib/core/err.h"
#include "tests/unit/collector/kernel_pids.h"
#include "tests/unit/collector/bpf_lock.h"

#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

/*
 * In a child, ThreadSanitizer has a thread of its own. Its exit takes 10 to 25 us, which
 * the kernel's counts include, and the times that wait4() reports do not.
 */
#ifdef __SANITIZE_THREAD__
#define OTHER_THREADS_NS 200000
#else
#define OTHER_THREADS_NS 0
#endif

static const struct tw_roots roots = { .proc = "/proc", .sys = "/sys", .dev = "/dev" };

/* An exited child. */
struct child {
	uint32_t tgid;
	uint64_t used_ns, told_ns; /* told_ns 0: its exit was not reported individually */
};

#define CROWD 400

/* Reports about one process and about a crowd, and the number of other reports. */
struct told {
	uint32_t tgid;
	struct tw_task alive, left, ended;
	size_t alive_count, left_count, ended_count, others;
	struct child *crowd; /* CROWD of them, or NULL */
	uint64_t lost_ns, lost;
};

static void on_alive(void *arg, const struct tw_task *t)
{
	struct told *told = arg;

	told->others++;
	if (t->tgid != told->tgid)
		return;
	told->alive = *t;
	told->alive_count++;
}

static void on_left(void *arg, const struct tw_task *t)
{
	struct told *told = arg;

	if (t->tgid != told->tgid)
		return;
	told->left = *t;
	told->left_count++;
}

static void on_ended(void *arg, const struct tw_task *t)
{
	struct told *told = arg;

	for (size_t i = 0; told->crowd != NULL && i < CROWD; i++)
		if (told->crowd[i].tgid == t->tgid)
			told->crowd[i].told_ns = t->cpu_ns;
	if (t->tgid != told->tgid)
		return;
	told->ended = *t;
	told->ended_count++;
}

static void on_overflow(void *arg, uint64_t cgroup_id, const struct tw_task_overflow *o)
{
	struct told *told = arg;

	(void)cgroup_id;
	told->lost += o->ended;
	told->lost_ns += o->cpu_ns;
}

static void read_source(const struct tw_task_source *s, void *source, struct told *told)
{
	const struct tw_task_sink sink = { .arg = told,
					   .alive = on_alive,
					   .left = on_left,
					   .ended = on_ended,
					   .overflowed = on_overflow };
	struct tw_err err = { 0 };

	told->others = 0;
	if (s->read(source, &sink, &err) < 0)
		fail_msg("%s: %s", s->name, err.text);
}

/* Open the source; skip the test if this machine or user cannot. */
static void *open_source(const struct tw_task_source *s, uint32_t walk_max,
			 uint32_t events_max)
{
	const struct tw_task_config c = { .roots = &roots,
					  .walk_max = walk_max,
					  .events_max = events_max };
	const char *require = getenv("TW_REQUIRE");
	struct tw_err err = { 0 };
	void *source = NULL;

	if (s->reports_exits)
		need_kernel_pids("test_tasks");
	if (s->open(&c, &source, &err) == 0)
		return source;
	if (require != NULL && strstr(require, "bpf") != NULL)
		fail_msg("TW_REQUIRE names bpf: %s: %s", s->name, err.text);
	printf("SKIPPED: test_tasks: %s: %s\n", s->name, err.text);
	skip();
	return NULL;
}

/* CPU time of this process. */
static uint64_t own_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

static void burn(uint64_t ns)
{
	while (own_ns() < ns)
		;
}

/* A child that runs for a while and then waits for a byte or the end of the pipe. */
static pid_t start_child(uint64_t ns, int *go)
{
	int down[2], up[2];
	char byte = 0;
	pid_t pid;

	assert_int_equal(pipe(down), 0);
	assert_int_equal(pipe(up), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(down[1]);
		burn(ns);
		if (write(up[1], &byte, 1) == 1 && read(down[0], &byte, 1) >= 0)
			_exit(0);
		_exit(1);
	}
	close(down[0]);
	close(up[1]);
	*go = down[1];
	assert_int_equal(read(up[0], &byte, 1), 1);
	close(up[0]);
	return pid;
}

/* Its CPU time as wait4() reports it. */
static uint64_t wait_child(pid_t pid)
{
	struct rusage use;
	int status;

	assert_int_equal(wait4(pid, &status, 0, &use), pid);
	return (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000 * MS +
	       (uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1000;
}

static uint64_t end_child(pid_t pid, int go)
{
	close(go);
	return wait_child(pid);
}

static void assert_about(uint64_t ns, uint64_t want_ns, uint64_t slack_ns)
{
	if (ns + slack_ns < want_ns || ns > want_ns + slack_ns)
		fail_msg("%llu ns, want %llu", (unsigned long long)ns,
			 (unsigned long long)want_ns);
}

/* Read until the child's exit is reported: it comes an RCU grace period late. */
static bool read_until_ended(const struct tw_task_source *s, void *source,
			     struct told *told)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (int i = 0; i < 1000 && told->ended_count == 0; i++) {
		read_source(s, source, told);
		nanosleep(&pause, NULL);
	}
	return told->ended_count == 1;
}

/* Whether its exit was reported, if the source reports exits. */
static bool watch_child(const struct tw_task_source *s, void *source)
{
	struct told told = { 0 };
	uint64_t used_ns;
	bool ended = true;
	int go;

	told.tgid = (uint32_t)start_child(50 * MS, &go);
	read_source(s, source, &told);
	assert_int_equal(told.alive_count, 1);
	/* A running task's time is at most a tick old; /proc rounds down to 10 ms. */
	assert_about(told.alive.cpu_ns, 55 * MS, 30 * MS);
	assert_int_equal(told.alive.parent, getpid());
	assert_int_equal(told.alive.flags, 0);
	assert_string_equal(told.alive.comm, "test_tasks");
	used_ns = end_child((pid_t)told.tgid, go);
	if (s->reports_exits)
		ended = read_until_ended(s, source, &told);
	if (s->reports_exits && ended) {
		/* Both are the scheduler's sum; one is rounded down to us. */
		assert_about(told.ended.cpu_ns, used_ns, 2000 + OTHER_THREADS_NS);
		assert_int_equal(told.ended.start_ns, told.alive.start_ns);
		assert_int_equal(told.ended.cgroup_id, told.alive.cgroup_id);
		assert_true(told.ended.cgroup_id != 0);
	}
	told.alive_count = 0;
	read_source(s, source, &told);
	assert_int_equal(told.alive_count, 0);
	return ended;
}

/* A virtual machine's kernel may hide an event from BPF now and then. */
#define CHILDREN_MAX 5

static void check_child(const char *name)
{
	const struct tw_task_source *s = tw_task_source_find(name);
	void *source;
	int n = 1;

	if (s == NULL) {
		printf("SKIPPED: test_tasks: built without BPF: no %s\n", name);
		skip();
		return;
	}
	source = open_source(s, 0, 0);
	while (!watch_child(s, source))
		if (n++ == CHILDREN_MAX)
			fail_msg("%s: no end of %d children was told", name,
				 CHILDREN_MAX);
	s->close(source);
}

static void the_walk_reports_a_child_and_its_exit(void **state)
{
	(void)state;
	check_child("bpf-walk");
}

static void the_iterator_reports_a_child_and_its_exit(void **state)
{
	(void)state;
	check_child("bpf-iter");
}

/* Even if the kernel hides the moment when the process is freed, its time is known. */
static void an_exit_is_reported_before_the_process_is_freed(void **state)
{
	const struct tw_task_source *s = tw_task_source_find("bpf-walk");
	struct told told = { 0 };
	uint64_t used_ns;
	void *source;
	int go;

	(void)state;
	if (s == NULL) {
		printf("SKIPPED: test_tasks: built without BPF: no bpf-walk\n");
		skip();
		return;
	}
	source = open_source(s, 0, 0);
	told.tgid = (uint32_t)start_child(50 * MS, &go);
	used_ns = end_child((pid_t)told.tgid, go);
	read_source(s, source, &told);
	assert_int_equal(told.left_count, 1);
	/* The tick of up to 10 ms that a running task's time may be old, and the exit's
	 * rest. */
	assert_in_range(told.left.cpu_ns, used_ns - 25 * MS, used_ns + 2000);
	s->close(source);
}

static void proc_reports_a_running_child(void **state)
{
	(void)state;
	check_child("proc");
}

/* Otherwise all would have exited and started again a moment later. */
static void proc_fails_where_it_cannot_open_files(void **state)
{
	const struct tw_task_source *s = tw_task_source_find("proc");
	void *source = open_source(s, 0, 0);
	const struct tw_task_sink sink = { .arg = NULL };
	struct rlimit before, none;
	struct tw_err err = { 0 };
	int rc;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	rc = s->read(source, &sink, &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	s->close(source);
	assert_int_equal(rc, -1);
	assert_int_equal(err.code, TW_IO);
	assert_non_null(strstr(err.text, "/stat': "));
}

static void *run_thread(void *arg)
{
	struct timespec t;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while ((uint64_t)t.tv_nsec < *(uint64_t *)arg);
	return NULL;
}

/* Living processes, and exited ones. */
static void threads_are_counted_with_their_process(void **state)
{
	uint64_t ns = 20 * MS;

	(void)state;
	for (size_t i = 0; i < tw_task_source_count(); i++) {
		const struct tw_task_source *s = tw_task_source_at(i);
		struct told told = { .tgid = (uint32_t)getpid() };
		void *source = open_source(s, 0, 0);
		uint64_t told_ns, least_ns, most_ns;
		pthread_t thread;

		most_ns = own_ns();
		read_source(s, source, &told);
		told_ns = told.alive.cpu_ns;
		least_ns = own_ns();
		for (int n = 0; n < 5; n++) {
			assert_int_equal(pthread_create(&thread, NULL, run_thread, &ns),
					 0);
			pthread_join(thread, NULL);
		}
		least_ns = own_ns() - least_ns;
		read_source(s, source, &told);
		most_ns = own_ns() - most_ns;
		assert_int_equal(told.alive_count, 2);
		assert_true(least_ns >= 100 * MS);
		told_ns = told.alive.cpu_ns - told_ns;
		assert_in_range(told_ns, least_ns - 40 * MS, most_ns + 40 * MS);
		s->close(source);
	}
}

static bool is_within_a_quarter(size_t n, size_t of)
{
	return n >= of - of / 4 && n <= of + of / 4;
}

/* Other programs start and stop: the walks are repeated until two large ones agree. */
static void several_small_walks_report_the_same_as_one(void **state)
{
	const struct tw_task_source *s = tw_task_source_find("bpf-walk");
	const struct told none = { .tgid = (uint32_t)getpid() };
	struct told before, few, after;
	void *small, *large;
	int tries = 20;

	(void)state;
	if (s == NULL)
		skip();
	small = open_source(s, 4, 0);
	large = open_source(s, 0, 0);
	do {
		before = few = after = none;
		read_source(s, large, &before);
		read_source(s, small, &few);
		read_source(s, large, &after);
		assert_int_equal(few.alive_count, 1);
	} while (!is_within_a_quarter(before.others, after.others) && --tries > 0);
	assert_true(before.others > 8);
	assert_true(is_within_a_quarter(few.others, before.others) ||
		    is_within_a_quarter(few.others, after.others));
	s->close(small);
	s->close(large);
}

/* Exits reach BPF in order if one CPU has waited for all of them. */
static void stay_on_this_cpu(cpu_set_t *before)
{
	cpu_set_t one;

	assert_int_equal(sched_getaffinity(0, sizeof(*before), before), 0);
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

/* Spawned, not forked: a sanitizer's shadow takes long to copy. */
static pid_t start_other(void)
{
	char name[] = "true", *argv[] = { name, NULL }, *none[] = { NULL };
	pid_t pid = 0;

	assert_int_equal(posix_spawnp(&pid, name, NULL, NULL, argv, none), 0);
	return pid;
}

static void end_crowd(struct child crowd[CROWD])
{
	for (size_t i = 0; i < CROWD; i++) {
		const pid_t pid = start_other();

		crowd[i] = (struct child){ .tgid = (uint32_t)pid };
		crowd[i].used_ns = wait_child(pid);
	}
}

/* Do not read meanwhile. Returns how many exits had no event. */
static uint64_t wait_for_lost(const struct tw_task_source *s, void *source, uint64_t want)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct tw_task_stats stats;

	for (int i = 0; i < 10000; i++) {
		s->stats(source, &stats);
		if (stats.lost >= want)
			break;
		nanosleep(&pause, NULL);
	}
	return stats.lost;
}

/* Until a process that exited after all others is reported. */
static bool read_to_the_end(const struct tw_task_source *s, void *source,
			    struct told *told)
{
	for (int n = 0; n < CHILDREN_MAX; n++) {
		told->tgid = (uint32_t)start_other();
		wait_child((pid_t)told->tgid);
		told->ended_count = 0;
		if (read_until_ended(s, source, told))
			return true;
	}
	return false;
}

static int by_use(const void *a, const void *b)
{
	const struct child *c = a, *d = b;

	return (c->used_ns > d->used_ns) - (c->used_ns < d->used_ns);
}

/* The smallest sum of this many processes without an exit event. Sorts them. */
static uint64_t least_of_unnamed(struct child crowd[CROWD], uint64_t count)
{
	uint64_t ns = 0;

	qsort(crowd, CROWD, sizeof(*crowd), by_use);
	for (size_t i = 0; i < CROWD && count != 0; i++)
		if (crowd[i].told_ns == 0) {
			ns += crowd[i].used_ns;
			count--;
		}
	return ns;
}

/*
 * More exits than the ring buffer holds: names are lost, time is not. An exit that the
 * virtual machine's kernel hides from BPF is in no sum, and it is unknown which one, so
 * the sum must be at least that of the same number of smallest processes. A tenth may be
 * other programs' processes, which used less.
 */
static void exits_without_room_are_reported_as_a_sum(void **state)
{
	const struct tw_task_source *s = tw_task_source_find("bpf-walk");
	struct child crowd[CROWD];
	struct told told = { .crowd = crowd };
	struct tw_task_stats stats;
	cpu_set_t cpus;
	uint64_t lost;
	void *source;
	bool all;

	(void)state;
	if (s == NULL)
		skip();
	source = open_source(s, 0, 1);
	stay_on_this_cpu(&cpus);
	end_crowd(crowd);
	lost = wait_for_lost(s, source, 300);
	all = read_to_the_end(s, source, &told);
	s->stats(source, &stats);
	s->close(source);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	assert_true(all);
	assert_true(lost >= 300);
	/* Others exit after the last read. */
	assert_in_range(told.lost, lost, stats.lost);
	/* A page holds 56 events, possibly all of other programs. */
	for (size_t i = 0; i < CROWD; i++)
		if (crowd[i].told_ns != 0)
			assert_about(crowd[i].told_ns, crowd[i].used_ns, 2000);
	assert_true(told.lost_ns + told.lost * 1000 >=
		    least_of_unnamed(crowd, told.lost) / 10 * 9);
}

static void a_source_is_found_by_its_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < tw_task_source_count(); i++) {
		const struct tw_task_source *s = tw_task_source_at(i);

		assert_ptr_equal(tw_task_source_find(s->name), s);
		assert_true(s->summary[0] != '\0');
	}
	assert_null(tw_task_source_find("bpf"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_walk_reports_a_child_and_its_exit),
		cmocka_unit_test(the_iterator_reports_a_child_and_its_exit),
		cmocka_unit_test(an_exit_is_reported_before_the_process_is_freed),
		cmocka_unit_test(proc_reports_a_running_child),
		cmocka_unit_test(proc_fails_where_it_cannot_open_files),
		cmocka_unit_test(threads_are_counted_with_their_process),
		cmocka_unit_test(several_small_walks_report_the_same_as_one),
		cmocka_unit_test(exits_without_room_are_reported_as_a_sum),
		cmocka_unit_test(a_source_is_found_by_its_name),
	};

	return cmocka_run_group_tests(tests, bpf_lock, NULL);
}
