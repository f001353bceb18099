/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time that no walk of /proc sees, charged by cgroups with known totals. */
#include "tests/unit/tw_test.h"

#include "collector/system/process.h"
#include "collector/system/roots.h"
#include "collector/workloads/workload.h"
#include "lib/core/err.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/scratch.h"
#include "tests/unit/collector/scripted_tasks.h"
#include "tests/unit/collector/workload_fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define GROUPS 4
#define PROCESSES 24
#define TICKS 300
#define SERIALS 4096

/* The second is a descendant of the first. */
static const char *const paths[GROUPS] = { "/a.slice", "/a.slice/b.scope", "/c.slice",
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

static void set_up(struct machine *m)
{
	struct tw_roots roots;
	struct tw_workloads_config c = {
		.roots = &roots, .source = &m->source, .keep_ms = 1000, .ended_max = 5
	};
	struct tw_err err = { 0 };

	*m = (struct machine){ .f = { .dir = scratch_new(), .now_ns = LATER },
			       .source = scripted_tasks,
			       .tgid = 100 };
	m->source.reports_exits = false;
	roots = (struct tw_roots){ .proc = m->f.dir, .sys = m->f.dir, .dev = m->f.dir };
	tree_write(m->f.dir, "fs/cgroup/cgroup.controllers", "cpu\n");
	for (int g = 0; g < GROUPS; g++)
		m->ran_ns[g] = random_ns(100 * S);
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

/* What living processes may lack: two roundings each, and the microseconds of totals. */
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

static void a_cgroup_that_was_unreadable_is_charged_later(void **state)
{
	static struct machine m;
	uint64_t ran_ns;

	(void)state;
	set_up(&m);
	m.ran_ns[2] += 5 * S;
	tick(&m);
	ran_ns = all_ns(&m) - m.began_ns;
	assert_in_range(check_level(&m, TW_LEVEL_CGROUP), ran_ns - 4000, ran_ns + 4000);
	m.ran_ns[2] += 3 * S;
	write_totals(&m);
	tree_remove(m.f.dir, "fs/cgroup/c.slice/cpu.stat");
	tree_write(m.f.dir, "fs/cgroup/c.slice/cpu.stat", "rubbish\n");
	workloads_tick(&m.f);
	assert_in_range(check_level(&m, TW_LEVEL_CGROUP), ran_ns - 4000, ran_ns + 4000);
	tick(&m);
	ran_ns = all_ns(&m) - m.began_ns;
	assert_in_range(check_level(&m, TW_LEVEL_CGROUP), ran_ns - 4000, ran_ns + 4000);
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
	assert_in_range(check_level(&m, TW_LEVEL_CGROUP), ran_ns - 4000, ran_ns + 4000);
	tear_down(&m);
}

/* Those that work lack some time by rounding, as they did at the start. */
static void working_processes_hide_little_time(void **state)
{
	static struct machine m;
	const uint64_t tick_ns = S / tw_proc_ticks_per_s();
	uint64_t ran_ns, told_ns;

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
	tick(&m);
	ran_ns = all_ns(&m) - m.began_ns;
	told_ns = check_level(&m, TW_LEVEL_CGROUP);
	/* The square root of 3 * 24 is 8.5; the worst case is 48. */
	assert_in_range(told_ns, ran_ns - 9 * tick_ns, ran_ns + 4000);
	tear_down(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unseen_time_is_charged_once_and_no_total_falls),
		cmocka_unit_test(a_cgroup_that_was_unreadable_is_charged_later),
		cmocka_unit_test(processes_at_rest_hide_no_time),
		cmocka_unit_test(working_processes_hide_little_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
