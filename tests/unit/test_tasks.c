/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "collector/proc_stat.h"
#include "collector/roots.h"
#include "collector/tasks.h"
#include "lib/err.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

static const struct tw_roots roots = { .proc = "/proc", .sys = "/sys", .dev = "/dev" };

/* What a source told of one process, and how many others it told of. */
struct told {
	uint32_t tgid;
	struct tw_task alive, ended;
	size_t alive_count, ended_count, others, all_ended;
	uint64_t all_ended_ns, lost,
		lost_ns; /* the lost of the last time any were told */
	bool fresh;
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

static void on_ended(void *arg, const struct tw_task *t)
{
	struct told *told = arg;

	told->all_ended++;
	told->all_ended_ns += t->cpu_ns;
	if (t->tgid != told->tgid)
		return;
	told->ended = *t;
	told->ended_count++;
}

static void on_overflow(void *arg, uint64_t cgroup_id, const struct tw_task_overflow *o)
{
	struct told *told = arg;

	(void)cgroup_id;
	if (told->fresh)
		told->lost = told->lost_ns = 0;
	told->fresh = false;
	told->lost += o->ended;
	told->lost_ns += o->cpu_ns;
}

static void read_source(const struct tw_task_source *s, void *source, struct told *told)
{
	const struct tw_task_sink sink = { .arg = told,
					   .alive = on_alive,
					   .ended = on_ended,
					   .overflowed = on_overflow };
	struct tw_err err = { 0 };

	told->others = 0;
	told->fresh = true;
	if (s->read(source, &sink, &err) < 0)
		fail_msg("%s: %s", s->name, err.text);
}

/* The source, opened; skips where this machine or user has none. */
static void *open_source(const struct tw_task_source *s, uint32_t walk_max,
			 uint32_t events_max)
{
	const struct tw_task_config c = { .roots = &roots,
					  .walk_max = walk_max,
					  .events_max = events_max };
	const char *require = getenv("TW_REQUIRE");
	struct tw_err err = { 0 };
	void *source = NULL;

	if (s->open(&c, &source, &err) == 0)
		return source;
	if (require != NULL && strstr(require, "bpf") != NULL)
		fail_msg("TW_REQUIRE names bpf: %s: %s", s->name, err.text);
	printf("SKIPPED: test_tasks: %s: %s\n", s->name, err.text);
	skip();
	return NULL;
}

static void burn(uint64_t ns)
{
	struct timespec t;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	while ((uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec < ns);
}

/* A child that runs for so long and waits for a byte, or for the end of the pipe. */
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

/* Its CPU time as the kernel tells its parent. */
static uint64_t end_child(pid_t pid, int go)
{
	struct rusage use;
	int status;

	close(go);
	assert_int_equal(wait4(pid, &status, 0, &use), pid);
	return (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000 * MS +
	       (uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1000;
}

static void assert_about(uint64_t ns, uint64_t want_ns, uint64_t slack_ns)
{
	if (ns + slack_ns < want_ns || ns > want_ns + slack_ns)
		fail_msg("%llu ns, want %llu", (unsigned long long)ns,
			 (unsigned long long)want_ns);
}

/* Read until the end of the child has been told: it comes an RCU grace period late. */
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

/* Whether its end was told, where the source tells of ends. */
static bool watch_child(const struct tw_task_source *s, void *source)
{
	struct told told = { 0 };
	uint64_t used_ns;
	bool ended = true;
	int go;

	told.tgid = (uint32_t)start_child(50 * MS, &go);
	read_source(s, source, &told);
	assert_int_equal(told.alive_count, 1);
	/* What a task that runs has used is at most a tick old; /proc's is cut to 10 ms.
	 */
	assert_about(told.alive.cpu_ns, 55 * MS, 30 * MS);
	assert_int_equal(told.alive.parent, getpid());
	assert_int_equal(told.alive.flags, 0);
	assert_string_equal(told.alive.comm, "test_tasks");
	used_ns = end_child((pid_t)told.tgid, go);
	if (s->tells_ends)
		ended = read_until_ended(s, source, &told);
	if (s->tells_ends && ended) {
		/* Both are the scheduler's sum; one is cut to whole us. */
		assert_about(told.ended.cpu_ns, used_ns, 2000);
		assert_int_equal(told.ended.start_ns, told.alive.start_ns);
		assert_int_equal(told.ended.cgroup_id, told.alive.cgroup_id);
		assert_true(told.ended.cgroup_id != 0);
	}
	told.alive_count = 0;
	read_source(s, source, &told);
	assert_int_equal(told.alive_count, 0);
	return ended;
}

/* The kernel of a virtual machine may hide an event from BPF, here and there. */
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

static void the_walk_tells_of_a_child_that_runs_and_ends(void **state)
{
	(void)state;
	check_child("bpf-walk");
}

static void the_iterator_tells_of_a_child_that_runs_and_ends(void **state)
{
	(void)state;
	check_child("bpf-iter");
}

static void proc_tells_of_a_child_that_runs(void **state)
{
	(void)state;
	check_child("proc");
}

static void *run_thread(void *arg)
{
	struct timespec t;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while ((uint64_t)t.tv_nsec < *(uint64_t *)arg);
	return NULL;
}

/* Those that live, and those that have ended. */
static void threads_are_counted_with_their_process(void **state)
{
	uint64_t ns = 20 * MS;

	(void)state;
	for (size_t i = 0; i < tw_task_source_count(); i++) {
		const struct tw_task_source *s = tw_task_source_at(i);
		struct told told = { .tgid = (uint32_t)getpid() };
		void *source = open_source(s, 0, 0);
		uint64_t before_ns;
		pthread_t thread;

		read_source(s, source, &told);
		before_ns = told.alive.cpu_ns;
		for (int n = 0; n < 5; n++) {
			assert_int_equal(pthread_create(&thread, NULL, run_thread, &ns),
					 0);
			pthread_join(thread, NULL);
		}
		read_source(s, source, &told);
		assert_int_equal(told.alive_count, 2);
		assert_about(told.alive.cpu_ns - before_ns, 110 * MS, 40 * MS);
		s->close(source);
	}
}

static void many_walks_tell_what_one_tells(void **state)
{
	const struct tw_task_source *s = tw_task_source_find("bpf-walk");
	struct told few = { .tgid = (uint32_t)getpid() }, all = few;
	void *small, *large;

	(void)state;
	if (s == NULL)
		skip();
	small = open_source(s, 4, 0);
	large = open_source(s, 0, 0);
	read_source(s, large, &all);
	read_source(s, small, &few);
	assert_int_equal(few.alive_count, 1);
	assert_true(all.others > 8);
	/* Other programs may start and stop meanwhile. */
	assert_in_range(few.others, all.others - all.others / 4,
			all.others + all.others / 4);
	s->close(small);
	s->close(large);
}

/* More ends than there is room for: names are lost, time is not. */
static void what_does_not_fit_is_told_as_a_sum(void **state)
{
	const struct tw_task_source *s = tw_task_source_find("bpf-walk");
	struct tw_task_stats stats;
	struct told told = { 0 };
	uint64_t used_ns = 0;
	void *source;
	int go;

	(void)state;
	if (s == NULL)
		skip();
	source = open_source(s, 0, 1);
	for (int i = 0; i < 400; i++) {
		const pid_t pid = start_child(MS / 10, &go);

		used_ns += end_child(pid, go);
	}
	for (int i = 0; i < 10000 && told.all_ended + told.lost < 400; i++) {
		const struct timespec pause = { .tv_nsec = 1000000 };

		read_source(s, source, &told);
		nanosleep(&pause, NULL);
	}
	s->stats(source, &stats);
	/* A page of events is 56 of them. */
	assert_in_range(told.all_ended, 50, 500);
	assert_true(stats.lost >= 300);
	assert_int_equal(told.lost, stats.lost);
	/* Others on this machine ended too. */
	assert_true(told.all_ended_ns + told.lost_ns + 400 * 1000 >= used_ns);
	s->close(source);
}

static void read_stat(const char *text, struct tw_task *out)
{
	struct tw_err err = { 0 };

	if (tw_proc_stat_parse(text, strlen(text), 100, out, &err) < 0)
		fail_msg("%s", err.text);
}

static void a_name_may_have_spaces_and_parentheses(void **state)
{
	struct tw_task t = { 0 };

	(void)state;
	read_stat(
		"4711 (a) b (c)) S 12 4711 4711 0 -1 4194560 1 2 3 4 150 50 7 8 20 0 1 0 "
		"12345 1 2 3\n",
		&t);
	assert_int_equal(t.tgid, 4711);
	assert_string_equal(t.comm, "a) b (c)");
	assert_int_equal(t.parent, 12);
	assert_int_equal(t.cpu_ns, 2000 * MS);
	assert_int_equal(t.start_ns, 123450 * MS);
	assert_int_equal(t.flags, 0);
	read_stat("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 1 0 0 20 0 1 0 2 0\n", &t);
	assert_int_equal(t.flags, TW_TASK_KERNEL);
}

static void what_is_no_stat_line_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"1",
		"1 (a",
		"1 a) S 1 1 1 0 -1 0 1 2 3 4 1 1 7 8 20 0 1 0 1 1",
		"0 (a) S 1 1 1 0 -1 0 1 2 3 4 1 1 7 8 20 0 1 0 1 1",
		"x (a) S 1 1 1 0 -1 0 1 2 3 4 1 1 7 8 20 0 1 0 1 1",
		"1 (a) S 1 1 1 0 -1 0 1 2 3 4 1 1 7 8 20 0 1 0",
		"1 (a) S 1 1 1 0 -1 0 1 2 3 4 -1 1 7 8 20 0 1 0 1 1",
		"1 (a) S 1 1 1 0 -1 0 1 2 3 4 99999999999999999999 1 7 8 20 0 1 0 1 1",
		"1 (a) S 1 1 1 0 -1 0 1 2 3 4 18446744073709551615 1 7 8 20 0 1 0 1 1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct tw_err err = { 0 };
		struct tw_task t;

		assert_int_equal(
			tw_proc_stat_parse(texts[i], strlen(texts[i]), 100, &t, &err),
			-1);
		assert_int_equal(err.code, TW_PARSE);
	}
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
		cmocka_unit_test(the_walk_tells_of_a_child_that_runs_and_ends),
		cmocka_unit_test(the_iterator_tells_of_a_child_that_runs_and_ends),
		cmocka_unit_test(proc_tells_of_a_child_that_runs),
		cmocka_unit_test(threads_are_counted_with_their_process),
		cmocka_unit_test(many_walks_tell_what_one_tells),
		cmocka_unit_test(what_does_not_fit_is_told_as_a_sum),
		cmocka_unit_test(a_name_may_have_spaces_and_parentheses),
		cmocka_unit_test(what_is_no_stat_line_is_refused),
		cmocka_unit_test(a_source_is_found_by_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
