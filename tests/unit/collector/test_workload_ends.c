/* SPDX-License-Identifier: Apache-2.0 */
/* Exited processes: when they are charged, given up, folded and removed. */
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/collector/scripted_tasks.h"
#include "tests/unit/tw_test.h"
#include "tests/unit/collector/workload_fixture.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

/* Living processes are in a walk; these are in none, and have no exit event. */
static void overflowed_exits_are_charged_once(void **state)
{
	struct workload_fixture *f = *state;
	const struct tw_workload *rest;

	say(ALIVE, 7, LATER + 1, 1, 100);
	say(ALIVE, 8, LATER + 1, 1, 100);
	workloads_tick(f);
	/* Process 7 exited with 130, three others with 10 each; none has an event. */
	say(OVERFLOW, 4, 0, 1, 160);
	say(ALIVE, 8, LATER + 1, 1, 100);
	workloads_tick(f);
	assert_int_equal(slices_ns(f), 60);
	rest = workload_find(f->t, TW_LEVEL_PROCESS, 0);
	assert_non_null(rest);
	assert_int_equal(rest->used.cpu_ns, 60);
	assert_string_equal(rest->comm, "ended");
	/* After the waiting time 7 counts as exited, and nothing is charged again. */
	for (int i = 0; i < 35; i++) {
		say(ALIVE, 8, LATER + 1, 1, 100);
		workloads_tick(f);
		assert_int_equal(slices_ns(f), 0);
	}
	assert_true(workload_find(f->t, TW_LEVEL_PROCESS, 7)->ended);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 1), 260);
}

/*
 * The process starts, moves and overflows between two ticks: time before the move is not
 * charged twice.
 */
static void an_overflowed_exit_after_a_move_is_charged_once(void **state)
{
	struct workload_fixture *f = *state;

	say(ALIVE, 7, LATER + 1, 2, 0);
	workloads_tick(f);
	say(MOVED, 8, LATER + 2, 1, 40);
	script[0].task.parent = 7;
	say(OVERFLOW, 1, 0, 1, 100);
	say(ALIVE, 7, LATER + 1, 2, 0);
	workloads_tick(f);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 2), 40);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 1), 60);
}

/* Its time counts at release; the exit adds the rest. */
static void a_released_process_is_charged_once(void **state)
{
	struct workload_fixture *f = *state;

	say(LEFT, 9, LATER + 5, 3, 44);
	workloads_tick(f);
	assert_int_equal(slices_ns(f), 44);
	assert_false(workload_find(f->t, TW_LEVEL_PROCESS, 9)->ended);
	/* Lazy RCU takes so long. */
	for (int i = 0; i < 12; i++) {
		workloads_tick(f);
		tw_workloads_scraped(f->t);
	}
	say(ENDED, 9, LATER + 5, 3, 46);
	workloads_tick(f);
	assert_int_equal(slices_ns(f), 2);
	assert_true(workload_find(f->t, TW_LEVEL_PROCESS, 9)->ended);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 3), 46);
}

static void a_released_process_whose_exit_overflows_is_charged_once(void **state)
{
	struct workload_fixture *f = *state;

	say(LEFT, 9, LATER + 5, 3, 44);
	say(OVERFLOW, 1, 0, 3, 46);
	workloads_tick(f);
	assert_int_equal(used_by(f, TW_LEVEL_PROCESS, 9), 44);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 3), 46);
	for (int i = 0; i < 35; i++) {
		workloads_tick(f);
		assert_int_equal(slices_ns(f), 0);
	}
	assert_true(workload_find(f->t, TW_LEVEL_PROCESS, 9)->ended);
}

/* Tick until a process that no walk lists is given up. */
static void give_up(struct workload_fixture *f, uint32_t tgid)
{
	for (int i = 0; i < 35; i++)
		workloads_tick(f);
	assert_true(workload_find(f->t, TW_LEVEL_PROCESS, tgid)->ended);
}

/* Its exit is not a part of an overflow, so it hides no time of others. */
static void an_exit_after_giving_up_is_charged_once(void **state)
{
	struct workload_fixture *f = *state;

	say(ALIVE, 9, LATER + 5, 3, 100);
	workloads_tick(f);
	give_up(f, 9);
	say(ENDED, 9, LATER + 5, 3, 110);
	workloads_tick(f);
	assert_int_equal(slices_ns(f), 10);
	say(OVERFLOW, 1, 0, 3, 60);
	workloads_tick(f);
	assert_int_equal(slices_ns(f), 60);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 3), 170);
	assert_int_equal(used_by(f, TW_LEVEL_PROCESS, 9), 110);
}

/* Its slice is charged after the tick, so it is not removed in it. */
static void an_exit_after_its_time_to_stay_is_charged(void **state)
{
	struct workload_fixture *f = *state;

	say(ALIVE, 9, LATER + 5, 3, 100);
	workloads_tick(f);
	give_up(f, 9);
	f->now_ns += KEEP_S * S;
	say(ENDED, 9, LATER + 5, 3, 110);
	workloads_tick(f);
	assert_int_equal(slices_ns(f), 10);
	assert_int_equal(used_by(f, TW_LEVEL_PROCESS, 9), 110);
	workloads_tick(f);
	assert_null(workload_find(f->t, TW_LEVEL_PROCESS, 9));
}

/* As a process that hidepid hid for a while. */
static void a_process_that_comes_back_hides_no_time_of_others(void **state)
{
	struct workload_fixture *f = *state;

	say(ALIVE, 9, LATER + 5, 3, 100);
	workloads_tick(f);
	give_up(f, 9);
	say(ALIVE, 9, LATER + 5, 3, 130);
	say(OVERFLOW, 1, 0, 3, 60);
	workloads_tick(f);
	assert_int_equal(slices_ns(f), 90);
	assert_false(workload_find(f->t, TW_LEVEL_PROCESS, 9)->ended);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 3), 190);
}

/*
 * A zombie keeps its cgroup: Linux skips exiting tasks when it migrates a process
 * (kernel/cgroup/cgroup.c, cgroup_migrate_add_task()), but reports the move.
 */
static void a_zombie_that_moves_keeps_its_cgroup(void **state)
{
	struct workload_fixture *f = *state;

	say(ALIVE, 9, LATER + 5, 3, 100);
	workloads_tick(f);
	say(LEFT, 9, LATER + 5, 3, 120);
	say(MOVED, 9, LATER + 5, 3, 120);
	workloads_tick(f);
	assert_int_equal(slices_ns(f), 20);
	say(ENDED, 9, LATER + 5, 3, 120);
	workloads_tick(f);
	/* No event of a process follows its last one: the move holds a reference. */
	say(MOVED, 9, LATER + 5, 4, 120);
	workloads_tick(f);
	assert_int_equal(slices_ns(f), 0);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 3), 120);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 4), 0);
}

static void a_pid_that_is_used_three_times_in_a_tick_is_three_processes(void **state)
{
	struct workload_fixture *f = *state;
	const struct tw_workload *w = NULL;
	uint64_t sum = 0;
	int count = 0;

	say(ENDED, 9, LATER + 5, 3, 10);
	say(ENDED, 9, LATER + 6, 4, 200);
	say(ALIVE, 9, LATER + 7, 3, 3000);
	workloads_tick(f);
	assert_int_equal(slices_ns(f), 3210);
	while ((w = tw_workloads_next(f->t, TW_LEVEL_PROCESS, w)) != NULL) {
		count += w->tgid == 9;
		sum += w->used.cpu_ns;
		assert_int_equal(w->ended, w->start_ns != LATER + 7);
	}
	assert_int_equal(count, 3);
	assert_int_equal(sum, 3210);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 3), 3010);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 4), 200);
}

/* Suspended or stopped: RCU has made no progress meanwhile. */
static void a_process_is_kept_through_a_long_pause(void **state)
{
	struct workload_fixture *f = *state;

	say(ALIVE, 9, LATER + 5, 3, 30);
	workloads_tick(f);
	f->now_ns += 60 * S;
	say(LEFT, 9, LATER + 5, 3, 44);
	say(OVERFLOW, 20, 0, 3, 100);
	workloads_tick(f);
	assert_false(workload_find(f->t, TW_LEVEL_PROCESS, 9)->ended);
	say(ENDED, 9, LATER + 5, 3, 46);
	workloads_tick(f);
	assert_int_equal(used_by(f, TW_LEVEL_PROCESS, 9), 46);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 3), 146);
}

/* The cgroup is removed from the table; then more of its processes overflow. */
static void overflow_of_a_removed_cgroup_is_charged_once(void **state)
{
	struct workload_fixture *f = *state;

	say(OVERFLOW, 1, 0, 3, 60);
	workloads_tick(f);
	assert_int_equal(slices_ns(f), 60);
	workloads_tick(f);
	f->now_ns += KEEP_S * S;
	for (int i = 0; i < 10; i++) {
		tw_workloads_scraped(f->t);
		workloads_tick(f);
	}
	assert_null(workload_find(f->t, TW_LEVEL_CGROUP, 3));
	say(OVERFLOW, 1, 0, 3, 10);
	workloads_tick(f);
	assert_int_equal(slices_ns(f), 10);
	say(OVERFLOW, 1, 0, 3, 5);
	workloads_tick(f);
	assert_int_equal(slices_ns(f), 5);
}

/* Two Prometheus servers scrape the same collector. */
static void ended_workloads_stay_for_all_scrapers(void **state)
{
	struct workload_fixture *f = *state;

	say_path(3, "/system.slice/docker-" HEX ".scope");
	say(ENDED, 9, LATER + 5, 3, 44);
	workloads_tick(f);
	for (int i = 0; i < 10; i++) {
		workloads_tick(f);
		tw_workloads_scraped(f->t);
	}
	assert_non_null(workload_find(f->t, TW_LEVEL_PROCESS, 9));
	assert_non_null(workload_find(f->t, TW_LEVEL_CGROUP, 3));
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_CONTAINER), 1);
	f->now_ns += KEEP_S * S;
	for (int i = 0; i < 10; i++) {
		workloads_tick(f);
		tw_workloads_scraped(f->t);
	}
	assert_null(workload_find(f->t, TW_LEVEL_PROCESS, 9));
	assert_null(workload_find(f->t, TW_LEVEL_CGROUP, 3));
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_CONTAINER), 0);
}

static void a_process_that_ends_after_a_scrape_waits_for_the_next(void **state)
{
	struct workload_fixture *f = *state;

	say(ENDED, 9, LATER + 5, 3, 44);
	tw_workloads_drain(f->t);
	tw_workloads_scraped(f->t);
	workloads_tick(f);
	workloads_tick(f);
	assert_non_null(workload_find(f->t, TW_LEVEL_PROCESS, 9));
}

/* Threads that are freed late add their time once. */
static void late_time_waits_for_the_next_scrape(void **state)
{
	struct workload_fixture *f = *state;
	const struct tw_workload *w;

	say(ALIVE, 8, LATER + 1, 3, 0); /* keeps the cgroup */
	say(ENDED, 9, LATER + 5, 3, 44);
	workloads_tick(f);
	tw_workloads_scraped(f->t);
	say(LATE, 9, LATER + 5, 3, 60);
	script[0].more_ns = 16;
	workloads_tick(f);
	assert_int_equal(slices_ns(f), 16);
	w = workload_find(f->t, TW_LEVEL_PROCESS, 9);
	assert_non_null(w);
	assert_int_equal(w->used.cpu_ns, 60);
	workloads_tick(f);
	assert_non_null(workload_find(f->t, TW_LEVEL_PROCESS, 9));
	tw_workloads_scraped(f->t);
	f->now_ns += KEEP_S * S;
	say(ALIVE, 8, LATER + 1, 3, 0);
	workloads_tick(f);
	assert_null(workload_find(f->t, TW_LEVEL_PROCESS, 9));
	/* A removed process does not come back, and its late threads lose no time. */
	say(LATE, 9, LATER + 5, 3, 70);
	script[0].more_ns = 10;
	workloads_tick(f);
	assert_null(workload_find(f->t, TW_LEVEL_PROCESS, 9));
	assert_int_equal(slices_ns(f), 10);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 3), 70);
}

static void ended_processes_over_the_limit_are_folded_into_their_cgroup(void **state)
{
	struct workload_fixture *f = *state;
	struct tw_workloads_stats stats;

	tw_workloads_close(f->t);
	f->t = workloads_open(f->dir, 10);
	workloads_tick(f);
	for (uint32_t i = 1; i <= 100; i++)
		say(ENDED, i, LATER + i, 3, 7);
	workloads_tick(f);
	workloads_tick(f);
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_PROCESS), 11);
	assert_int_equal(workloads_sum(f->t, TW_LEVEL_PROCESS), 700);
	assert_int_equal(used_by(f, TW_LEVEL_PROCESS, 0), 630);
	tw_workloads_stats(f->t, &stats);
	assert_int_equal(stats.folded, 90);
}

static void without_memory_nothing_is_lost(void **state)
{
	struct workload_fixture *f = *state;

	for (int n = 1;; n++) {
		struct tw_workloads *t = workloads_open(f->dir, 10);
		struct tw_err err = { 0 };
		bool hit;

		assert_int_equal(tw_workloads_tick(t, LATER, &err), 0);
		say_path(3, "/docker/" HEX);
		say(ALIVE, 7, LATER + 1, 3, 100);
		fail_alloc_at(n);
		assert_int_equal(tw_workloads_tick(t, LATER + S, &err), 0);
		hit = fail_alloc_hit();
		say(ALIVE, 7, LATER + 1, 3, 150);
		assert_int_equal(tw_workloads_tick(t, LATER + 2 * S, &err), 0);
		assert_int_equal(workloads_sum(t, TW_LEVEL_PROCESS), 150);
		assert_int_equal(workloads_sum(t, TW_LEVEL_CGROUP), 150);
		tw_workloads_close(t);
		if (!hit)
			break;
	}
}

/* Without scrapes, ended containers and cgroups are not kept for ever. */
static void waiting_cgroups_are_limited(void **state)
{
	struct workload_fixture *f = *state;

	tw_workloads_close(f->t);
	f->t = workloads_open(f->dir, 10);
	workloads_tick(f);
	for (unsigned i = 0; i < 100; i++) {
		char path[96];

		snprintf(path, sizeof(path), "/docker/%04x%s", i, &HEX[4]);
		say_path(100 + i, path);
		say(ENDED, 1000 + i, LATER + 1, 100 + i, 10);
		workloads_tick(f);
	}
	for (int i = 0; i < 20; i++)
		workloads_tick(f);
	/* Ten of each level wait, and the workloads that contain them. */
	assert_in_range(tw_workloads_count(f->t, TW_LEVEL_CGROUP), 10, 21);
	assert_in_range(tw_workloads_count(f->t, TW_LEVEL_CONTAINER), 10, 31);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 199), 10);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 100), 0);
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define MALLOC_TRIMS 1
#else
#define MALLOC_TRIMS 0
#endif

/* Bytes of this process that are not shared and in memory. */
static size_t resident(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	size_t all, pages, shared;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%zu %zu %zu", &all, &pages, &shared), 3);
	fclose(file);
	return (pages - shared) * (size_t)sysconf(_SC_PAGESIZE);
}

/* Let 20,000 processes exit, in 20,000 cgroups. */
static void burst(struct workload_fixture *f)
{
	for (uint32_t i = 0; i < 20000; i += SCRIPT_MAX / 4) {
		for (uint32_t j = i; j < i + SCRIPT_MAX / 4; j++) {
			say_path(100 + j, "/system.slice/a-short-lived.service");
			say(ENDED, 1000 + j, LATER + j, 100 + j, 10);
		}
		workloads_tick(f);
	}
}

static void memory_of_a_burst_of_exits_is_returned(void **state)
{
	struct workload_fixture *f = *state;
	size_t before, most;

	if (!MALLOC_TRIMS)
		skip();
	tw_workloads_close(f->t);
	f->t = workloads_open(f->dir, 100000);
	workloads_tick(f);
	before = resident();
	burst(f);
	most = resident();
	assert_in_range(most, before + (10 << 20), before + (60 << 20));
	for (int i = 0; i < 3; i++) {
		tw_workloads_scraped(f->t);
		f->now_ns += KEEP_S * S;
		for (int j = 0; j < 6; j++)
			workloads_tick(f);
	}
	assert_in_range(tw_workloads_count(f->t, TW_LEVEL_PROCESS), 0, 10);
	assert_in_range(tw_workloads_count(f->t, TW_LEVEL_CGROUP), 0, 10);
	assert_in_range(resident(), 0, before + (most - before) / 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORKLOAD_TEST(overflowed_exits_are_charged_once),
		WORKLOAD_TEST(an_overflowed_exit_after_a_move_is_charged_once),
		WORKLOAD_TEST(a_released_process_is_charged_once),
		WORKLOAD_TEST(a_released_process_whose_exit_overflows_is_charged_once),
		WORKLOAD_TEST(an_exit_after_giving_up_is_charged_once),
		WORKLOAD_TEST(an_exit_after_its_time_to_stay_is_charged),
		WORKLOAD_TEST(a_process_that_comes_back_hides_no_time_of_others),
		WORKLOAD_TEST(a_zombie_that_moves_keeps_its_cgroup),
		WORKLOAD_TEST(
			a_pid_that_is_used_three_times_in_a_tick_is_three_processes),
		WORKLOAD_TEST(a_process_is_kept_through_a_long_pause),
		WORKLOAD_TEST(overflow_of_a_removed_cgroup_is_charged_once),
		WORKLOAD_TEST(ended_workloads_stay_for_all_scrapers),
		WORKLOAD_TEST(a_process_that_ends_after_a_scrape_waits_for_the_next),
		WORKLOAD_TEST(late_time_waits_for_the_next_scrape),
		WORKLOAD_TEST(
			ended_processes_over_the_limit_are_folded_into_their_cgroup),
		WORKLOAD_TEST(waiting_cgroups_are_limited),
		WORKLOAD_TEST(memory_of_a_burst_of_exits_is_returned),
		WORKLOAD_TEST(without_memory_nothing_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
