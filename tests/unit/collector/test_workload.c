/* SPDX-License-Identifier: Apache-2.0 */
/* Which process and cgroup get the time of a tick, and what a move leaves behind. */
#include "lib/core/err.h"
#include "tests/unit/collector/scripted_tasks.h"
#include "tests/unit/tw_test.h"
#include "tests/unit/collector/workload_fixture.h"

#include <stdbool.h>
#include <string.h>

static void differences_of_totals_are_slices(void **state)
{
	struct workload_fixture *f = *state;

	say(ALIVE, 7, LATER + 1, 1, 100);
	workloads_tick(f);
	assert_int_equal(slices_ns(f), 100);
	say(ALIVE, 7, LATER + 1, 1, 130);
	workloads_tick(f);
	assert_int_equal(slices_ns(f), 30);
	say(ALIVE, 7, LATER + 1, 1, 130);
	workloads_tick(f);
	assert_int_equal(slices_ns(f), 0);
	/* A total that falls is made up for, and never charged twice. */
	say(ALIVE, 7, LATER + 1, 1, 120);
	workloads_tick(f);
	say(ALIVE, 7, LATER + 1, 1, 150);
	workloads_tick(f);
	assert_int_equal(slices_ns(f), 20);
	assert_int_equal(used_by(f, TW_LEVEL_PROCESS, 7), 150);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 1), 150);
}

static void time_before_the_first_tick_is_not_charged(void **state)
{
	struct workload_fixture *f = *state;
	struct tw_workloads *fresh = workloads_open(f->dir, 10);
	struct tw_err err = { 0 };

	say(ALIVE, 7, LATER + 1, 1, 100);
	assert_int_equal(tw_workloads_tick(fresh, LATER, &err), 0);
	assert_int_equal(workloads_sum(fresh, TW_LEVEL_PROCESS), 0);
	say(ALIVE, 7, LATER + 1, 1, 101);
	/* A process older than the table: its earlier total is not charged. */
	say(ALIVE, 8, 1, 1, 5000);
	assert_int_equal(tw_workloads_tick(fresh, LATER + S, &err), 0);
	assert_int_equal(workloads_sum(fresh, TW_LEVEL_PROCESS), 1);
	tw_workloads_close(fresh);
}

static void a_process_between_two_ticks_is_charged(void **state)
{
	struct workload_fixture *f = *state;
	const struct tw_workload *w;

	say(ENDED, 9, LATER + 5, 3, 44);
	workloads_tick(f);
	w = workload_find(f->t, TW_LEVEL_PROCESS, 9);
	assert_non_null(w);
	assert_true(w->ended);
	assert_int_equal(w->used.cpu_ns, 44);
	assert_int_equal(slices_ns(f), 44);
}

static void a_reused_tgid_is_another_process(void **state)
{
	struct workload_fixture *f = *state;

	say(ALIVE, 7, LATER + 1, 1, 100);
	workloads_tick(f);
	say(ENDED, 7, LATER + 1, 1, 110);
	say(ALIVE, 7, LATER + 9, 1, 5);
	workloads_tick(f);
	assert_int_equal(slices_ns(f), 15);
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_PROCESS), 2);
}

static void an_exec_keeps_the_process_and_changes_its_name(void **state)
{
	struct workload_fixture *f = *state;
	const struct tw_workload *w;

	say(ALIVE, 7, LATER + 1, 1, 100);
	workloads_tick(f);
	say(ALIVE, 7, LATER + 1, 1, 140);
	memcpy(script[0].task.comm, "other", 6);
	script[0].task.execs = 1;
	workloads_tick(f);
	w = workload_find(f->t, TW_LEVEL_PROCESS, 7);
	assert_string_equal(w->comm, "other");
	assert_int_equal(w->used.cpu_ns, 140);
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_PROCESS), 1);
}

static void a_move_leaves_earlier_usage_in_the_old_cgroup(void **state)
{
	struct workload_fixture *f = *state;
	const struct tw_slice *s;
	size_t count;

	say(ALIVE, 7, LATER + 1, 1, 100);
	workloads_tick(f);
	say(MOVED, 7, LATER + 1, 2, 160);
	say(ALIVE, 7, LATER + 1, 2, 190);
	workloads_tick(f);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 1), 160);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 2), 30);
	assert_int_equal(used_by(f, TW_LEVEL_PROCESS, 7), 190);
	s = tw_workloads_slices(f->t, &count);
	assert_int_equal(count, 2);
	assert_int_equal(s[0].cgroup->cgroup_id, 1);
	assert_int_equal(s[1].cgroup->cgroup_id, 2);
	assert_int_equal(workload_find(f->t, TW_LEVEL_CGROUP, 1)->members, 0);
	assert_int_equal(workload_find(f->t, TW_LEVEL_CGROUP, 2)->members, 1);
}

static void time_before_the_first_move_is_the_parents_cgroups(void **state)
{
	struct workload_fixture *f = *state;

	say(ALIVE, 7, LATER + 1, 1, 100);
	workloads_tick(f);
	say(MOVED, 8, LATER + 2, 2, 25);
	script[0].task.parent = 7;
	say(ENDED, 8, LATER + 2, 2, 60);
	say(ALIVE, 7, LATER + 1, 1, 100);
	workloads_tick(f);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 1), 125);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 2), 35);
}

/* The kernel adds a child to the task list before it is in its parent's cgroup. */
static void a_child_seen_in_the_root_cgroup_exits_in_its_own(void **state)
{
	struct workload_fixture *f = *state;

	say(ALIVE, 8, LATER + 2, 1, 0);
	workloads_tick(f);
	say(ENDED, 8, LATER + 2, 2, 60);
	workloads_tick(f);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 1), 0);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 2), 60);
	assert_int_equal(used_by(f, TW_LEVEL_PROCESS, 8), 60);
	assert_int_equal(workload_find(f->t, TW_LEVEL_CGROUP, 1)->members, 0);
	assert_int_equal(workload_find(f->t, TW_LEVEL_CGROUP, 2)->members, 0);
	/* An event without a cgroup changes no cgroup. */
	say(ALIVE, 9, LATER + 3, 2, 10);
	workloads_tick(f);
	say(ENDED, 9, LATER + 3, 0, 30);
	workloads_tick(f);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 2), 90);
}

/* ---- random events ---- */

#define PLAYERS 60
#define CGROUPS 7

struct player {
	bool lives, hidden;
	uint64_t start, cpu_ns, cgroup;
};

static uint32_t chance(uint32_t *seed, uint32_t n)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % n;
}

/* Forks, exits, moves, incomplete walks: no time is lost or charged twice. */
static void each_level_has_all_cpu_time_once(void **state)
{
	struct workload_fixture *f = *state;
	struct player p[PLAYERS] = { { 0 } };
	uint64_t truth = 0, shown = 0, births = 0;
	uint32_t seed = 4711;

	for (int round = 0; round < 400; round++) {
		for (uint32_t i = 0; i < PLAYERS; i++) {
			const uint32_t what = chance(&seed, 10);
			const uint64_t ran = chance(&seed, 5000);

			if (!p[i].lives && what < 5) {
				p[i] = (struct player){ .lives = true,
							.start = LATER + ++births,
							.cgroup = 1 + chance(&seed,
									     CGROUPS) };
			} else if (!p[i].lives) {
				continue;
			}
			p[i].cpu_ns += ran;
			truth += ran;
			if (what == 7) {
				p[i].cgroup = 1 + chance(&seed, CGROUPS);
				say(MOVED, i + 1, p[i].start, p[i].cgroup, p[i].cpu_ns);
			} else if (what == 8) {
				say(ENDED, i + 1, p[i].start, p[i].cgroup, p[i].cpu_ns);
				p[i].lives = false;
			}
			p[i].hidden = what == 9;
		}
		if (round % 3 == 0)
			tw_workloads_drain(f->t);
		for (uint32_t i = 0; i < PLAYERS; i++)
			if (p[i].lives && (!p[i].hidden || round == 399))
				say(ALIVE, i + 1, p[i].start, p[i].cgroup, p[i].cpu_ns);
		workloads_tick(f);
		shown += slices_ns(f);
		assert_int_equal(workloads_sum(f->t, TW_LEVEL_CGROUP), shown);
		assert_true(shown <= truth);
	}
	assert_int_equal(shown, truth);
	assert_int_equal(workloads_sum(f->t, TW_LEVEL_PROCESS), truth);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORKLOAD_TEST(differences_of_totals_are_slices),
		WORKLOAD_TEST(time_before_the_first_tick_is_not_charged),
		WORKLOAD_TEST(a_process_between_two_ticks_is_charged),
		WORKLOAD_TEST(a_reused_tgid_is_another_process),
		WORKLOAD_TEST(an_exec_keeps_the_process_and_changes_its_name),
		WORKLOAD_TEST(a_move_leaves_earlier_usage_in_the_old_cgroup),
		WORKLOAD_TEST(time_before_the_first_move_is_the_parents_cgroups),
		WORKLOAD_TEST(a_child_seen_in_the_root_cgroup_exits_in_its_own),
		WORKLOAD_TEST(each_level_has_all_cpu_time_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
