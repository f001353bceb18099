/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "collector/roots.h"
#include "collector/workload.h"
#include "collector/workload_parts.h"
#include "lib/err.h"
#include "lib/file.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"
#include "tests/unit/scripted_tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)
#define S (1000 * MS)
#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* ---- what is under test ---- */

/* No process of a script began before the table was opened. */
#define LATER (UINT64_C(1) << 60)

struct fixture {
	char *dir;
	struct tw_workloads *t;
	uint64_t now_ns;
};

static struct tw_workloads *open_table(const char *dir, uint32_t ended_max)
{
	const struct tw_roots roots = { .proc = dir, .sys = dir, .dev = dir };
	const struct tw_workloads_config c = { .roots = &roots,
					       .source = &scripted_tasks,
					       .keep_ms = 3600 * 1000,
					       .ended_max = ended_max };
	struct tw_workloads *t = NULL;
	struct tw_err err = { 0 };

	if (tw_workloads_open(&c, &t, &err) < 0)
		fail_msg("%s", err.text);
	return t;
}

static void tick(struct fixture *f)
{
	struct tw_err err = { 0 };

	f->now_ns += S;
	if (tw_workloads_tick(f->t, f->now_ns, &err) < 0)
		fail_msg("%s", err.text);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	script_len = 0;
	f->dir = scratch_new();
	f->t = open_table(f->dir, 1000);
	f->now_ns = LATER;
	tick(f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tw_workloads_close(f->t);
	scratch_free(f->dir);
	free(f);
	return 0;
}

static uint64_t sum(const struct tw_workloads *t, enum tw_level level)
{
	const struct tw_workload *w = NULL;
	uint64_t ns = 0;

	while ((w = tw_workloads_next(t, level, w)) != NULL)
		ns += w->used.cpu_ns;
	return ns;
}

static const struct tw_workload *find(const struct tw_workloads *t, enum tw_level level,
				      uint64_t key)
{
	const struct tw_workload *w = NULL;

	while ((w = tw_workloads_next(t, level, w)) != NULL)
		if ((level == TW_LEVEL_PROCESS ? w->tgid : w->cgroup_id) == key)
			return w;
	return NULL;
}

static uint64_t used_by(const struct fixture *f, enum tw_level level, uint64_t key)
{
	const struct tw_workload *w = find(f->t, level, key);

	return w != NULL ? w->used.cpu_ns : 0;
}

static uint64_t slices_ns(const struct fixture *f)
{
	const struct tw_slice *s;
	uint64_t ns = 0;
	size_t count;

	s = tw_workloads_slices(f->t, &count);
	for (size_t i = 0; i < count; i++)
		ns += s[i].used.cpu_ns;
	return ns;
}

/* ---- tests ---- */

static void differences_of_totals_are_slices(void **state)
{
	struct fixture *f = *state;

	say(ALIVE, 7, LATER + 1, 1, 100);
	tick(f);
	assert_int_equal(slices_ns(f), 100);
	say(ALIVE, 7, LATER + 1, 1, 130);
	tick(f);
	assert_int_equal(slices_ns(f), 30);
	say(ALIVE, 7, LATER + 1, 1, 130);
	tick(f);
	assert_int_equal(slices_ns(f), 0);
	/* A total that falls is made up for, and never told twice. */
	say(ALIVE, 7, LATER + 1, 1, 120);
	tick(f);
	say(ALIVE, 7, LATER + 1, 1, 150);
	tick(f);
	assert_int_equal(slices_ns(f), 20);
	assert_int_equal(used_by(f, TW_LEVEL_PROCESS, 7), 150);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 1), 150);
}

static void what_ran_before_the_first_tick_is_not_told(void **state)
{
	struct fixture *f = *state;
	struct tw_workloads *fresh = open_table(f->dir, 10);
	struct tw_err err = { 0 };

	say(ALIVE, 7, LATER + 1, 1, 100);
	assert_int_equal(tw_workloads_tick(fresh, LATER, &err), 0);
	assert_int_equal(sum(fresh, TW_LEVEL_PROCESS), 0);
	say(ALIVE, 7, LATER + 1, 1, 101);
	/* It began before, and was not seen: its total is not ours. */
	say(ALIVE, 8, 1, 1, 5000);
	assert_int_equal(tw_workloads_tick(fresh, LATER + S, &err), 0);
	assert_int_equal(sum(fresh, TW_LEVEL_PROCESS), 1);
	tw_workloads_close(fresh);
}

static void one_that_began_and_ended_between_two_ticks_is_told(void **state)
{
	struct fixture *f = *state;
	const struct tw_workload *w;

	say(ENDED, 9, LATER + 5, 3, 44);
	tick(f);
	w = find(f->t, TW_LEVEL_PROCESS, 9);
	assert_non_null(w);
	assert_true(w->ended);
	assert_int_equal(w->used.cpu_ns, 44);
	assert_int_equal(slices_ns(f), 44);
}

static void a_used_tgid_is_another_process(void **state)
{
	struct fixture *f = *state;

	say(ALIVE, 7, LATER + 1, 1, 100);
	tick(f);
	say(ENDED, 7, LATER + 1, 1, 110);
	say(ALIVE, 7, LATER + 9, 1, 5);
	tick(f);
	assert_int_equal(slices_ns(f), 15);
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_PROCESS), 2);
}

static void an_exec_keeps_the_process_and_changes_its_name(void **state)
{
	struct fixture *f = *state;
	const struct tw_workload *w;

	say(ALIVE, 7, LATER + 1, 1, 100);
	tick(f);
	say(ALIVE, 7, LATER + 1, 1, 140);
	memcpy(script[0].task.comm, "other", 6);
	script[0].task.execs = 1;
	tick(f);
	w = find(f->t, TW_LEVEL_PROCESS, 7);
	assert_string_equal(w->comm, "other");
	assert_int_equal(w->used.cpu_ns, 140);
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_PROCESS), 1);
}

static void a_move_leaves_behind_what_was_used(void **state)
{
	struct fixture *f = *state;
	const struct tw_slice *s;
	size_t count;

	say(ALIVE, 7, LATER + 1, 1, 100);
	tick(f);
	say(MOVED, 7, LATER + 1, 2, 160);
	say(ALIVE, 7, LATER + 1, 2, 190);
	tick(f);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 1), 160);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 2), 30);
	assert_int_equal(used_by(f, TW_LEVEL_PROCESS, 7), 190);
	s = tw_workloads_slices(f->t, &count);
	assert_int_equal(count, 2);
	assert_int_equal(s[0].cgroup->cgroup_id, 1);
	assert_int_equal(s[1].cgroup->cgroup_id, 2);
	assert_int_equal(find(f->t, TW_LEVEL_CGROUP, 1)->members, 0);
	assert_int_equal(find(f->t, TW_LEVEL_CGROUP, 2)->members, 1);
}

static void what_a_new_process_ran_before_a_move_is_its_parents(void **state)
{
	struct fixture *f = *state;

	say(ALIVE, 7, LATER + 1, 1, 100);
	tick(f);
	say(MOVED, 8, LATER + 2, 2, 25);
	script[0].task.parent = 7;
	say(ENDED, 8, LATER + 2, 2, 60);
	say(ALIVE, 7, LATER + 1, 1, 100);
	tick(f);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 1), 125);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 2), 35);
}

/* The kernel gives a child its parent's cgroup after it has put it on the list of tasks.
 */
static void a_child_seen_before_it_has_its_cgroup_ends_in_its_own(void **state)
{
	struct fixture *f = *state;

	say(ALIVE, 8, LATER + 2, 1, 0);
	tick(f);
	say(ENDED, 8, LATER + 2, 2, 60);
	tick(f);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 1), 0);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 2), 60);
	assert_int_equal(used_by(f, TW_LEVEL_PROCESS, 8), 60);
	assert_int_equal(find(f->t, TW_LEVEL_CGROUP, 1)->members, 0);
	assert_int_equal(find(f->t, TW_LEVEL_CGROUP, 2)->members, 0);
	/* Without a cgroup it stays where it was. */
	say(ALIVE, 9, LATER + 3, 2, 10);
	tick(f);
	say(ENDED, 9, LATER + 3, 0, 30);
	tick(f);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 2), 90);
}

/* Processes that live on are seen in a walk; these are in none, and no end is told. */
static void those_lost_with_their_cgroup_are_told_once(void **state)
{
	struct fixture *f = *state;
	const struct tw_workload *rest;

	say(ALIVE, 7, LATER + 1, 1, 100);
	say(ALIVE, 8, LATER + 1, 1, 100);
	tick(f);
	/* 7 ended with 130, and three others with 10 each, and room for none of them. */
	say(OVERFLOW, 4, 0, 1, 160);
	say(ALIVE, 8, LATER + 1, 1, 100);
	tick(f);
	assert_int_equal(slices_ns(f), 60);
	rest = find(f->t, TW_LEVEL_PROCESS, 0);
	assert_non_null(rest);
	assert_int_equal(rest->used.cpu_ns, 60);
	assert_string_equal(rest->comm, "ended");
	/* After its time 7 counts as ended, and nothing is told again. */
	for (int i = 0; i < 15; i++) {
		say(ALIVE, 8, LATER + 1, 1, 100);
		tick(f);
		assert_int_equal(slices_ns(f), 0);
	}
	assert_true(find(f->t, TW_LEVEL_PROCESS, 7)->ended);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 1), 260);
}

/* It came, moved and was lost between two ticks: what it had before is not told twice. */
static void one_lost_after_a_move_is_told_once(void **state)
{
	struct fixture *f = *state;

	say(ALIVE, 7, LATER + 1, 2, 0);
	tick(f);
	say(MOVED, 8, LATER + 2, 1, 40);
	script[0].task.parent = 7;
	say(OVERFLOW, 1, 0, 1, 100);
	say(ALIVE, 7, LATER + 1, 2, 0);
	tick(f);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 2), 40);
	assert_int_equal(used_by(f, TW_LEVEL_CGROUP, 1), 60);
}

static void what_ended_stays_until_it_was_scraped(void **state)
{
	struct fixture *f = *state;

	say_path(3, "/system.slice/docker-" HEX ".scope");
	say(ENDED, 9, LATER + 5, 3, 44);
	tick(f);
	for (int i = 0; i < 5; i++)
		tick(f);
	assert_non_null(find(f->t, TW_LEVEL_PROCESS, 9));
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_CONTAINER), 1);
	tw_workloads_scraped(f->t);
	for (int i = 0; i < 10; i++) {
		tick(f);
		tw_workloads_scraped(f->t);
	}
	assert_null(find(f->t, TW_LEVEL_PROCESS, 9));
	assert_null(find(f->t, TW_LEVEL_CGROUP, 3));
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_CONTAINER), 0);
}

static void one_that_ends_after_a_scrape_waits_for_the_next(void **state)
{
	struct fixture *f = *state;

	say(ENDED, 9, LATER + 5, 3, 44);
	tw_workloads_drain(f->t);
	tw_workloads_scraped(f->t);
	tick(f);
	tick(f);
	assert_non_null(find(f->t, TW_LEVEL_PROCESS, 9));
}

/* Threads that were freed late make it more, once. */
static void an_end_that_is_told_again_waits_for_the_next_scrape(void **state)
{
	struct fixture *f = *state;
	const struct tw_workload *w;

	say(ENDED, 9, LATER + 5, 3, 44);
	tick(f);
	tw_workloads_scraped(f->t);
	say(ENDED, 9, LATER + 5, 3, 60);
	script[0].task.flags = TW_TASK_AGAIN;
	tick(f);
	assert_int_equal(slices_ns(f), 16);
	w = find(f->t, TW_LEVEL_PROCESS, 9);
	assert_non_null(w);
	assert_int_equal(w->used.cpu_ns, 60);
	tick(f);
	assert_non_null(find(f->t, TW_LEVEL_PROCESS, 9));
	tw_workloads_scraped(f->t);
	tick(f);
	assert_null(find(f->t, TW_LEVEL_PROCESS, 9));
	/* Who is forgotten does not come back. */
	say(ENDED, 9, LATER + 5, 3, 70);
	script[0].task.flags = TW_TASK_AGAIN;
	tick(f);
	assert_null(find(f->t, TW_LEVEL_PROCESS, 9));
	assert_int_equal(slices_ns(f), 0);
}

static void those_that_are_too_many_give_what_they_had_to_their_cgroup(void **state)
{
	struct fixture *f = *state;
	struct tw_workloads_stats stats;

	tw_workloads_close(f->t);
	f->t = open_table(f->dir, 10);
	tick(f);
	for (uint32_t i = 1; i <= 100; i++)
		say(ENDED, i, LATER + i, 3, 7);
	tick(f);
	tick(f);
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_PROCESS), 11);
	assert_int_equal(sum(f->t, TW_LEVEL_PROCESS), 700);
	assert_int_equal(used_by(f, TW_LEVEL_PROCESS, 0), 630);
	tw_workloads_stats(f->t, &stats);
	assert_int_equal(stats.folded, 90);
}

static void a_cgroups_path_says_whose_its_processes_are(void **state)
{
	struct fixture *f = *state;
	const struct tw_workload *w;

	say_path(3,
		 "/kubepods.slice/kubepods-pod8f3b1c52_7e0d_4b59_9a4e_0d1c2b3a4f5e.slice/"
		 "cri-containerd-" HEX ".scope");
	say_path(4,
		 "/kubepods.slice/kubepods-pod8f3b1c52_7e0d_4b59_9a4e_0d1c2b3a4f5e.slice/"
		 "cri-containerd-" HEX ".scope/inner");
	say(ALIVE, 7, LATER + 1, 3, 100);
	say(ALIVE, 8, LATER + 1, 4, 10);
	tick(f);
	w = tw_workloads_next(f->t, TW_LEVEL_CONTAINER, NULL);
	assert_non_null(w);
	assert_null(w->next);
	assert_string_equal(w->who->id, HEX);
	assert_int_equal(w->used.cpu_ns, 110);
	assert_int_equal(w->members, 2);
	assert_ptr_equal(w->pod, tw_workloads_next(f->t, TW_LEVEL_POD, NULL));
	assert_string_equal(w->pod->who->pod_uid, "8f3b1c52-7e0d-4b59-9a4e-0d1c2b3a4f5e");
	assert_int_equal(w->pod->used.cpu_ns, 110);
	assert_int_equal(w->pod->members, 2);
}

static void write_proc(const struct fixture *f, const char *pid, const char *name,
		       const char *data, size_t len)
{
	struct tw_err err = { 0 };
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", f->dir, pid);
	if (tw_dir_make(path, &err) < 0)
		fail_msg("%s", err.text);
	snprintf(path, sizeof(path), "%s/%s/%s", f->dir, pid, name);
	if (tw_file_replace(path, data, len, &err) < 0)
		fail_msg("%s", err.text);
}

static void a_process_is_a_vm_by_its_command_line(void **state)
{
	static const char command[] = "kvm\0-name\0web\0-uuid\0"
				      "11111111-2222-3333-4444-555555555555";
	static const char stat[] =
		"77 (kvm) S 1 1 1 0 -1 0 1 2 3 4 1 1 7 8 20 0 1 0 500 1";
	struct fixture *f = *state;
	const struct tw_workload *w;

	write_proc(f, "77", "cmdline", command, sizeof(command));
	write_proc(f, "77", "stat", stat, sizeof(stat) - 1);
	/* The same tgid, but another process: pids of another namespace, say. */
	write_proc(f, "78", "cmdline", command, sizeof(command));
	write_proc(f, "78", "stat", stat, sizeof(stat) - 1);
	for (uint64_t i = 1; i <= 3; i++) {
		say(ALIVE, 77, 5 * S, 1, 100 * i);
		say(ALIVE, 78, 6 * S, 1, 100 * i);
		tick(f);
	}
	assert_int_equal(tw_workloads_count(f->t, TW_LEVEL_VM), 1);
	w = tw_workloads_next(f->t, TW_LEVEL_VM, NULL);
	assert_string_equal(w->who->id, "11111111-2222-3333-4444-555555555555");
	assert_string_equal(w->who->name, "web");
	assert_string_equal(w->who->runtime, "qemu");
	assert_int_equal(w->members, 1);
	assert_int_equal(w->used.cpu_ns, 200);
	assert_ptr_equal(find(f->t, TW_LEVEL_PROCESS, 77)->owner, w);
	assert_null(find(f->t, TW_LEVEL_PROCESS, 78)->owner);
}

static void energy_goes_to_all_that_a_slice_is_of(void **state)
{
	struct tw_charge charge = { { 0 }, { 0 } };
	struct fixture *f = *state;
	const struct tw_workload *w;
	const struct tw_slice *s;
	size_t count;

	say_path(3, "/docker/" HEX);
	say(ALIVE, 7, LATER + 1, 3, 100);
	tick(f);
	s = tw_workloads_slices(f->t, &count);
	assert_int_equal(count, 1);
	charge.dynamic_uj[TW_ZONE_PACKAGE] = 11;
	charge.idle_uj[TW_ZONE_DRAM] = 5;
	tw_workloads_charge(f->t, s, &charge);
	tw_workloads_charge(f->t, s, &charge);
	w = find(f->t, TW_LEVEL_PROCESS, 7);
	assert_int_equal(w->charged.dynamic_uj[TW_ZONE_PACKAGE], 22);
	assert_int_equal(w->cgroup->charged.idle_uj[TW_ZONE_DRAM], 10);
	assert_int_equal(w->owner->charged.dynamic_uj[TW_ZONE_PACKAGE], 22);
	assert_int_equal(tw_workloads_ticked(f->t, w)->idle_uj[TW_ZONE_DRAM], 10);
	tick(f);
	assert_int_equal(tw_workloads_ticked(f->t, w)->idle_uj[TW_ZONE_DRAM], 0);
	assert_int_equal(w->charged.idle_uj[TW_ZONE_DRAM], 10);
}

/* By tgid: of the one that lives, or that ended since the last tick. */
static void counts_are_the_processes_of_their_tgids(void **state)
{
	const uint64_t more[TW_COUNTER_COUNT] = { [TW_COUNTER_CYCLES] = 1000 };
	const uint64_t none[TW_COUNTER_COUNT] = { 0 };
	struct fixture *f = *state;
	const struct tw_slice *s;
	size_t count;

	say(ALIVE, 7, LATER + 1, 1, 100);
	say(ENDED, 9, LATER + 1, 1, 100);
	tick(f);
	say(ENDED, 8, LATER + 2, 1, 50);
	tw_workloads_drain(f->t);
	assert_int_equal(tw_workloads_counted(f->t, 7, more, false), TW_WHOSE_LIVING);
	assert_int_equal(tw_workloads_counted(f->t, 7, none, false), TW_WHOSE_LIVING);
	assert_int_equal(tw_workloads_counted(f->t, 8, more, false), TW_WHOSE_ENDED);
	assert_int_equal(tw_workloads_counted(f->t, 9, more, true), TW_WHOSE_UNKNOWN);
	assert_int_equal(tw_workloads_counted(f->t, 10, more, false), TW_WHOSE_UNKNOWN);
	assert_int_equal(tw_workloads_counted(f->t, 10, more, true), TW_WHOSE_UNKNOWN);
	assert_int_equal(tw_workloads_counted(f->t, 10, none, true), TW_WHOSE_UNKNOWN);
	say(ALIVE, 7, LATER + 1, 1, 100);
	tick(f);
	s = tw_workloads_slices(f->t, &count);
	assert_int_equal(count, 3);
	/* Who is not known, or not any more, counts all the same. */
	assert_int_equal(s[2].process->tgid, 0);
	assert_int_equal(s[2].cgroup->cgroup_id, 0);
	assert_int_equal(s[2].used.counter[TW_COUNTER_CYCLES], 2000);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(s[i].used.counter[TW_COUNTER_CYCLES], 1000);
	assert_int_equal(find(f->t, TW_LEVEL_CGROUP, 1)->used.counter[TW_COUNTER_CYCLES],
			 2000);
	assert_int_equal(find(f->t, TW_LEVEL_PROCESS, 9)->used.counter[TW_COUNTER_CYCLES],
			 0);
}

/* ---- a machine of chance ---- */

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

/* Births, deaths, moves, walks that miss one: nothing is lost, and nothing told twice. */
static void all_that_ran_is_in_each_level_once(void **state)
{
	struct fixture *f = *state;
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
		tick(f);
		shown += slices_ns(f);
		assert_int_equal(sum(f->t, TW_LEVEL_CGROUP), shown);
		assert_true(shown <= truth);
	}
	assert_int_equal(shown, truth);
	assert_int_equal(sum(f->t, TW_LEVEL_PROCESS), truth);
}

static void without_memory_nothing_is_lost(void **state)
{
	struct fixture *f = *state;

	for (int n = 1;; n++) {
		struct tw_workloads *t = open_table(f->dir, 10);
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
		assert_int_equal(sum(t, TW_LEVEL_PROCESS), 150);
		assert_int_equal(sum(t, TW_LEVEL_CGROUP), 150);
		tw_workloads_close(t);
		if (!hit)
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(differences_of_totals_are_slices),
		TEST(what_ran_before_the_first_tick_is_not_told),
		TEST(one_that_began_and_ended_between_two_ticks_is_told),
		TEST(a_used_tgid_is_another_process),
		TEST(an_exec_keeps_the_process_and_changes_its_name),
		TEST(a_move_leaves_behind_what_was_used),
		TEST(what_a_new_process_ran_before_a_move_is_its_parents),
		TEST(those_lost_with_their_cgroup_are_told_once),
		TEST(one_lost_after_a_move_is_told_once),
		TEST(a_child_seen_before_it_has_its_cgroup_ends_in_its_own),
		TEST(what_ended_stays_until_it_was_scraped),
		TEST(one_that_ends_after_a_scrape_waits_for_the_next),
		TEST(an_end_that_is_told_again_waits_for_the_next_scrape),
		TEST(those_that_are_too_many_give_what_they_had_to_their_cgroup),
		TEST(a_cgroups_path_says_whose_its_processes_are),
		TEST(a_process_is_a_vm_by_its_command_line),
		TEST(energy_goes_to_all_that_a_slice_is_of),
		TEST(counts_are_the_processes_of_their_tgids),
		TEST(all_that_ran_is_in_each_level_once),
		TEST(without_memory_nothing_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
