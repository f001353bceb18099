/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time that no walk of /proc sees, charged by cgroups with known totals. */
#include "tests/unit/tw_test.h"

#include "collector/system/process.h"
#include "collector/system/roots.h"
#include "collector/workloads/workload.h"
#include "lib/core/array.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/scratch.h"
#include "tests/unit/collector/scripted_tasks.h"
#include "tests/unit/collector/workload_fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#define GROUPS 4
#define PROCESSES 24
#define TICKS 300
#define SERIALS 4096

/* The second is a descendant of the first. The third is not, but its name sorts between
 * theirs. */
static const char *const paths[GROUPS] = { "/a.slice", "/a.slice/b.scope", "/a.slice-c",
					   "/d.slice" };
static const int above[GROUPS] = { -1, 0, -1, -1 };

struct process {
	uint32_t tgid; /* 0: none */
	int group;
	uint64_t start_ns, ran_ns;
};

struct machine {
	struct workload_fixture f;
	struct tw_task_source source;
	uint64_t id[GROUPS];
	uint64_t ran_ns[GROUPS]; /* without descendants */
	bool unlisted[GROUPS];   /* by the source: no process has run there */
	uint64_t began_ns;       /* sum of all, when the table was opened */
	struct process process[PROCESSES];
	uint32_t tgid;
	uint64_t seen[SERIALS]; /* of a workload, at the last check */
};

static uint64_t random_ns(uint64_t below_ns)
{
	return (uint64_t)rand() % below_ns;
}

static uint64_t all_ns(const struct machine *m)
{
	uint64_t sum = 0;

	for (int g = 0; g < GROUPS; g++)
		sum += m->ran_ns[g];
	return sum;
}

static void write_totals(const struct machine *m)
{
	for (int g = 0; g < GROUPS; g++) {
		uint64_t ns = m->ran_ns[g];
		char path[128], text[64];

		for (int b = 0; b < GROUPS; b++)
			ns += above[b] == g ? m->ran_ns[b] : 0;
		snprintf(path, sizeof(path), "fs/cgroup%s/cpu.stat", paths[g]);
		snprintf(text, sizeof(text), "usage_usec %" PRIu64 "\nuser_usec 0\n",
			 ns / 1000);
		tree_write(m->f.dir, path, text);
	}
}

/* Times are rounded down, as in /proc. */
static void say_living(const struct machine *m)
{
	const uint64_t tick_ns = S / tw_proc_ticks_per_s();

	for (int g = 0; g < GROUPS; g++)
		if (!m->unlisted[g])
			say_path(m->id[g], paths[g]);
	for (int i = 0; i < PROCESSES; i++) {
		const struct process *p = &m->process[i];

		if (p->tgid != 0)
			say(ALIVE, p->tgid, p->start_ns, m->id[p->group],
			    p->ran_ns / tick_ns * tick_ns);
	}
}

static void tick(struct machine *m)
{
	write_totals(m);
	say_living(m);
	workloads_tick(&m->f);
}

/* A machine before the collector starts. */
static void boot(struct machine *m)
{
	*m = (struct machine){ .f = { .dir = scratch_new(), .now_ns = LATER },
			       .source = scripted_tasks,
			       .tgid = 100 };
	m->source.reports_exits = false;
	tree_write(m->f.dir, "fs/cgroup/cgroup.controllers", "cpu\n");
	for (int g = 0; g < GROUPS; g++)
		m->ran_ns[g] = random_ns(100 * S);
}

static void start(struct machine *m)
{
	const struct tw_roots roots = { .proc = m->f.dir,
					.sys = m->f.dir,
					.dev = m->f.dir };
	const struct tw_workloads_config c = {
		.roots = &roots, .source = &m->source, .keep_ms = 1000, .ended_max = 5
	};
	struct tw_err err = { 0 };

	write_totals(m);
	for (int g = 0; g < GROUPS; g++) {
		char path[1024];
		struct stat st;

		snprintf(path, sizeof(path), "%s/fs/cgroup%s", m->f.dir, paths[g]);
		assert_int_equal(stat(path, &st), 0);
		m->id[g] = st.st_ino;
	}
	script_len = 0;
	if (tw_workloads_open(&c, &m->f.t, &err) < 0)
		fail_msg("%s", err.text);
	m->began_ns = all_ns(m);
	tick(m);
}

static void set_up(struct machine *m)
{
	boot(m);
	start(m);
}

static void tear_down(struct machine *m)
{
	tw_workloads_close(m->f.t);
	scratch_free(m->f.dir);
}

/* A second of forks, exits and work, part of it unseen. */
static void live(struct machine *m)
{
	for (int i = 0; i < PROCESSES; i++) {
		struct process *p = &m->process[i];
		const uint64_t ns = random_ns(60 * MS);

		if (p->tgid == 0 && rand() % 4 == 0)
			*p = (struct process){ .tgid = ++m->tgid,
					       .group = rand() % GROUPS,
					       .start_ns = m->f.now_ns };
		if (p->tgid == 0)
			continue;
		p->ran_ns += ns;
		m->ran_ns[p->group] += ns;
		if (rand() % 8 == 0)
			p->tgid = 0;
	}
	for (int g = 0; g < GROUPS; g++)
		m->ran_ns[g] += rand() % 3 == 0 ? random_ns(300 * MS) : 0;
}

/* The sum of a level; no workload's total has fallen. */
static uint64_t check_level(struct machine *m, enum tw_level level)
{
	const struct tw_workload *w = NULL;
	uint64_t sum = 0;

	while ((w = tw_workloads_next(m->f.t, level, w)) != NULL) {
		assert_true(w->serial < SERIALS);
		assert_true(w->used.cpu_ns >= m->seen[w->serial]);
		m->seen[w->serial] = w->used.cpu_ns;
		sum += w->used.cpu_ns;
	}
	return sum;
}

/* The cgroups have that time, but for the microseconds of their totals. */
static void assert_charged(struct machine *m, uint64_t ran_ns)
{
	assert_in_range(check_level(m, TW_LEVEL_CGROUP), ran_ns - 4000, ran_ns + 4000);
}

/* The most that living processes may lack: two roundings each, and the microseconds of
 * totals. */
static uint64_t slack_ns(const struct machine *m)
{
	uint64_t ns = GROUPS * 1000;

	for (int i = 0; i < PROCESSES; i++)
		ns += m->process[i].tgid != 0 ? 2 * S / tw_proc_ticks_per_s() : 0;
	return ns;
}

static void unseen_time_is_charged_once_and_no_total_falls(void **state)
{
	static struct machine m;
	struct tw_workloads_stats stats;

	(void)state;
	srand(5);
	set_up(&m);
	for (int i = 0; i < TICKS; i++) {
		uint64_t ran_ns, told_ns;

		live(&m);
		tick(&m);
		ran_ns = all_ns(&m) - m.began_ns;
		told_ns = check_level(&m, TW_LEVEL_CGROUP);
		assert_int_equal(check_level(&m, TW_LEVEL_PROCESS), told_ns);
		if (told_ns > ran_ns + GROUPS * 1000)
			fail_msg("tick %d: %" PRIu64 " ns too much", i, told_ns - ran_ns);
		if (told_ns + slack_ns(&m) < ran_ns)
			fail_msg("tick %d: %" PRIu64 " ns are missing", i,
				 ran_ns - told_ns);
	}
	tw_workloads_stats(m.f.t, &stats);
	assert_true(stats.unseen_ns > 10 * S);
	assert_true(stats.folded > 0);
	assert_int_equal(stats.dropped, 0);
	tear_down(&m);
}

static void spoil_total(const struct machine *m, int g)
{
	char path[128];

	snprintf(path, sizeof(path), "fs/cgroup%s/cpu.stat", paths[g]);
	tree_remove(m->f.dir, path);
	tree_write(m->f.dir, path, "rubbish\n");
}

/* What is charged in a cgroup, without its descendants. */
static void expect_charged(const struct machine *m, int g, uint64_t ns)
{
	const uint64_t used_ns = used_by(&m->f, TW_LEVEL_CGROUP, m->id[g]);

	/* Totals have microseconds. */
	if (used_ns + 2000 < ns || used_ns > ns + 2000)
		fail_msg("%s: %" PRIu64 " ns, not %" PRIu64, paths[g], used_ns, ns);
}

static void a_cgroup_that_was_unreadable_is_charged_later(void **state)
{
	static struct machine m;
	uint64_t ran_ns;

	(void)state;
	set_up(&m);
	m.ran_ns[2] += 5 * S;
	tick(&m);
	ran_ns = all_ns(&m) - m.began_ns;
	assert_charged(&m, ran_ns);
	m.ran_ns[2] += 3 * S;
	write_totals(&m);
	spoil_total(&m, 2);
	workloads_tick(&m.f);
	assert_charged(&m, ran_ns);
	tick(&m);
	ran_ns = all_ns(&m) - m.began_ns;
	assert_charged(&m, ran_ns);
	tear_down(&m);
}

/*
 * Processes that were there at the start and use nothing lack nothing that they did not
 * lack then, so time of others is charged in the tick in which it is used.
 */
static void processes_at_rest_hide_no_time(void **state)
{
	static struct machine m;
	uint64_t ran_ns;

	(void)state;
	srand(7);
	set_up(&m);
	for (int i = 0; i < PROCESSES; i++)
		m.process[i] = (struct process){ .tgid = ++m.tgid,
						 .group = 2,
						 .start_ns = 1,
						 .ran_ns = random_ns(S) };
	tick(&m);
	m.ran_ns[2] += 1 * S;
	tick(&m);
	ran_ns = all_ns(&m) - m.began_ns;
	assert_charged(&m, ran_ns);
	tear_down(&m);
}

/* Those that work lack some time by rounding, as they did at the start. */
static void working_processes_hide_little_time(void **state)
{
	static struct machine m;
	const uint64_t tick_ns = S / tw_proc_ticks_per_s();
	uint64_t ran_ns, told_ns, slow_ns;

	(void)state;
	srand(9);
	set_up(&m);
	for (int i = 0; i < PROCESSES; i++)
		m.process[i] = (struct process){ .tgid = ++m.tgid,
						 .group = 2,
						 .start_ns = 1,
						 .ran_ns = random_ns(S) };
	tick(&m);
	for (int i = 0; i < PROCESSES; i++) {
		const uint64_t ns = tick_ns + random_ns(S);

		m.process[i].ran_ns += ns;
		m.ran_ns[2] += ns;
	}
	m.ran_ns[2] += 1 * S;
	slow_ns = tw_now_ns();
	tick(&m);
	slow_ns = tw_now_ns() - slow_ns;
	ran_ns = all_ns(&m) - m.began_ns;
	told_ns = check_level(&m, TW_LEVEL_CGROUP);
	/*
	 * The square root of 3 * 24 is 8.5; the worst case is 48. Time of the walk, of a
	 * tick of 1 s, may be that of the processes.
	 */
	slow_ns = (uint64_t)((double)ran_ns * (double)slow_ns / S);
	assert_in_range(told_ns, ran_ns - 9 * tick_ns - slow_ns, ran_ns + 4000);
	tear_down(&m);
}

static void all_time_without_processes_is_unseen(void **state)
{
	static struct machine m;
	struct tw_workloads_stats stats;

	(void)state;
	set_up(&m);
	for (int g = 0; g < GROUPS; g++)
		m.ran_ns[g] += (uint64_t)(g + 1) * S;
	tick(&m);
	for (int g = 0; g < GROUPS; g++)
		expect_charged(&m, g, (uint64_t)(g + 1) * S);
	m.ran_ns[3] += S;
	tick(&m);
	expect_charged(&m, 3, 5 * S);
	tw_workloads_stats(m.f.t, &stats);
	assert_int_equal(stats.unseen_ns, workloads_sum(m.f.t, TW_LEVEL_CGROUP));
	tear_down(&m);
}

/* A cgroup without a known ancestor appears with a process, whose time is charged and is
 * part of the cgroup's first total. */
static void time_before_the_first_total_is_not_owed(void **state)
{
	static struct machine m;

	(void)state;
	boot(&m);
	m.unlisted[3] = true;
	start(&m);
	m.unlisted[3] = false;
	m.process[0] = (struct process){
		.tgid = 200, .group = 3, .start_ns = LATER, .ran_ns = S
	};
	m.ran_ns[3] += 5 * S;
	tick(&m);
	expect_charged(&m, 3, S);
	m.process[0].tgid = 0;
	m.ran_ns[3] += 2 * S;
	tick(&m);
	expect_charged(&m, 3, 3 * S);
	tear_down(&m);
}

/* A new cgroup counts from 0, also in the first tick after the start. Of one that was
 * there before, no more counts than the growth of its ancestor. */
static void the_time_of_a_new_cgroup_is_its_own(void **state)
{
	static const struct {
		uint64_t before_s, own_s, above_s;
	} cases[] = { { 0, 1, 2 }, { 50, 3, 0 } };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		static struct machine m;

		boot(&m);
		m.unlisted[1] = true;
		m.ran_ns[1] = cases[i].before_s * S;
		start(&m);
		m.unlisted[1] = false;
		m.ran_ns[0] += cases[i].above_s * S;
		m.ran_ns[1] += cases[i].own_s * S;
		tick(&m);
		expect_charged(&m, 0, cases[i].above_s * S);
		expect_charged(&m, 1, cases[i].own_s * S);
		tear_down(&m);
	}
}

/* Two roundings of a process are not charged, unless the total cannot be read. */
static void owed_time_of_an_unreadable_cgroup_passes_to_its_ancestor_once(void **state)
{
	const uint64_t owed_ns = S / tw_proc_ticks_per_s();
	static struct machine m;

	(void)state;
	set_up(&m);
	m.process[0] = (struct process){ .tgid = 200, .group = 1, .start_ns = LATER };
	tick(&m);
	m.ran_ns[1] += owed_ns;
	tick(&m);
	assert_int_equal(workloads_sum(m.f.t, TW_LEVEL_CGROUP), 0);
	for (int i = 0; i < 3; i++) {
		spoil_total(&m, 1);
		say_living(&m);
		workloads_tick(&m.f);
		expect_charged(&m, 0, owed_ns);
		m.process[0].tgid = 0;
	}
	tick(&m);
	expect_charged(&m, 0, owed_ns);
	expect_charged(&m, 1, 0);
	tear_down(&m);
}

/* A walk of 100 ms, a tenth of the tick. */
static int read_slowly(void *state, const struct tw_task_sink *sink, struct tw_err *err)
{
	const struct timespec pause = { .tv_nsec = 100000000 };

	nanosleep(&pause, NULL);
	return scripted_tasks.read(state, sink, err);
}

/* Totals are read after the walk: the time between is that of living processes. */
static void time_after_a_slow_walk_is_not_unseen(void **state)
{
	static struct machine m;
	struct tw_workloads_stats stats;

	(void)state;
	srand(11);
	set_up(&m);
	m.source.read = read_slowly;
	m.process[0] = (struct process){ .tgid = ++m.tgid, .group = 2, .start_ns = 1 };
	tick(&m);
	for (int i = 0; i < 3; i++) {
		m.process[0].ran_ns += 10 * S;
		m.ran_ns[2] += 10 * S + (i == 0 ? 9 * S / 10 : 0);
		tick(&m);
	}
	tw_workloads_stats(m.f.t, &stats);
	assert_int_equal(stats.unseen_ns, 0);
	tear_down(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unseen_time_is_charged_once_and_no_total_falls),
		cmocka_unit_test(a_cgroup_that_was_unreadable_is_charged_later),
		cmocka_unit_test(processes_at_rest_hide_no_time),
		cmocka_unit_test(working_processes_hide_little_time),
		cmocka_unit_test(time_after_a_slow_walk_is_not_unseen),
		cmocka_unit_test(all_time_without_processes_is_unseen),
		cmocka_unit_test(time_before_the_first_total_is_not_owed),
		cmocka_unit_test(the_time_of_a_new_cgroup_is_its_own),
		cmocka_unit_test(
			owed_time_of_an_unreadable_cgroup_passes_to_its_ancestor_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
