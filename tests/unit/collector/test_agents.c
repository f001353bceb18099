/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of agents: growth over restarts, and what is refused. */
#include "tests/unit/tw_test.h"

#include "collector/agents/agent.h"
#include "collector/agents/sums.h"
#include "lib/core/err.h"
#include "tests/unit/collector/agent_fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void energy_before_the_sums_began_is_not_counted(void **state)
{
	struct agent_fixture *f = *state;

	node_answers(f, "i1", 5000, 900000000);
	take(f, 10);
	assert_int_equal(all_energy(f), 0);
	node_answers(f, "i1", 5010, 900000500);
	take(f, 10);
	assert_int_equal(all_energy(f), 500);
	assert_int_equal(energy_of(f, TW_SUM_NODE, "n1"), 500);
}

static void an_agent_that_started_later_is_counted_from_its_start(void **state)
{
	struct agent_fixture *f = *state;

	node_answers(f, "i1", 7, 700);
	take(f, 10);
	assert_int_equal(all_energy(f), 700);
}

static void a_restart_loses_and_repeats_nothing(void **state)
{
	struct agent_fixture *f = *state;

	node_answers(f, "i1", 1, 1000);
	take(f, 2);
	/* The new process has counted more than the old one. */
	node_answers(f, "i2", 20, 5000);
	take(f, 30);
	assert_int_equal(all_energy(f), 6000);
	assert_int_equal(f->agent.restarts, 1);
	/* Another machine at that address has run for long. */
	node_answers(f, "i3", 99999, 777777);
	take(f, 10);
	assert_int_equal(all_energy(f), 6000);
	assert_int_equal(f->agent.restarts, 2);
	/* A counter that falls without another instance has begun at 0. */
	node_answers(f, "i3", 100009, 7);
	take(f, 10);
	assert_int_equal(all_energy(f), 6007);
	assert_int_equal(f->agent.restarts, 2);
}

static void an_absence_is_made_up_for(void **state)
{
	struct agent_fixture *f = *state;

	node_answers(f, "i1", 1, 1000);
	take(f, 2);
	node_answers(f, "i1", 3601, 9000);
	take(f, 3600);
	assert_int_equal(all_energy(f), 9000);
}

static void a_zone_that_was_missing_goes_on(void **state)
{
	struct agent_fixture *f = *state;

	node_answers(f, "i1", 1, 1000);
	add_row(f, "node", "zone2", "", "rapl", 50);
	take(f, 2);
	node_answers(f, "i1", 11, 2000);
	take(f, 10);
	node_answers(f, "i1", 21, 3000);
	add_row(f, "node", "zone2", "", "rapl", 70);
	take(f, 10);
	assert_int_equal(all_energy(f), 3070);
}

/*
 * An agent has run for long when the sums begin, and its second zone has no reading just
 * then. Its counter, and those of the workloads, have counted before.
 */
static void a_zone_that_was_missing_at_first_is_no_jump(void **state)
{
	struct agent_fixture *f = *state;

	node_answers(f, "i1", 5000, 1000);
	add_row(f, "node", "zone2", "", "rapl", 0);
	f->row[1].energies = 0;
	add_row(f, "container", "c1", "", "rapl", 0);
	f->row[2].energies = 0;
	take(f, 10);
	node_answers(f, "i1", 5010, 2000);
	add_row(f, "node", "zone2", "", "rapl", 800000000);
	add_row(f, "container", "c1", "", "rapl", 700000000);
	/* A container that began since counts from 0, and a zone that nobody has seen. */
	add_row(f, "container", "c2", "", "rapl", 50);
	add_row(f, "node", "zone3", "", "rapl", 60);
	take(f, 10);
	assert_int_equal(energy_of(f, TW_SUM_CONTAINER, "c1"), 0);
	assert_int_equal(energy_of(f, TW_SUM_CONTAINER, "c2"), 50);
	assert_int_equal(all_energy(f), 1060);
	node_answers(f, "i1", 5020, 3000);
	add_row(f, "node", "zone2", "", "rapl", 800000070);
	add_row(f, "container", "c1", "", "rapl", 700000009);
	take(f, 10);
	assert_int_equal(energy_of(f, TW_SUM_CONTAINER, "c1"), 9);
	assert_int_equal(all_energy(f), 2130);
}

static void pods_that_end_stay_in_their_namespace(void **state)
{
	struct agent_fixture *f = *state;

	node_answers(f, "i1", 1, 1000);
	add_row(f, "pod", "u1", "shop", "rapl", 300);
	add_row(f, "pod", "u2", "shop", "rapl", 400);
	/* The same pod again: an answer must not count it twice. */
	add_row(f, "pod", "u2", "shop", "rapl", 400);
	take(f, 2);
	assert_int_equal(energy_of(f, TW_SUM_NAMESPACE, "shop"), 700);
	assert_int_equal(energy_of(f, TW_SUM_POD, "u1"), 300);
	node_answers(f, "i1", 11, 2000);
	add_row(f, "pod", "u3", "shop", "rapl", 50);
	take(f, 10);
	assert_int_equal(energy_of(f, TW_SUM_NAMESPACE, "shop"), 750);
	/* The ended pods are kept for a while. */
	tw_sums_expire(f->sums, f->now_ns + 100 * SECOND, 120 * SECOND);
	assert_non_null(find_sum(f, TW_SUM_POD, "u1"));
	tw_sums_expire(f->sums, f->now_ns + 130 * SECOND, 120 * SECOND);
	assert_null(find_sum(f, TW_SUM_POD, "u1"));
	assert_non_null(find_sum(f, TW_SUM_POD, "u3"));
	assert_int_equal(energy_of(f, TW_SUM_NAMESPACE, "shop"), 750);
}

static int check(struct agent_fixture *f, uint64_t after_s, struct tw_err *err)
{
	const struct tw_answer_rows rows = { f->row, f->rows };

	tw_err_clear(err);
	return tw_agent_check(&f->agent, &rows, &f->answer, f->now_ns + after_s * SECOND,
			      err);
}

static void impossible_power_is_refused(void **state)
{
	struct agent_fixture *f = *state;
	struct tw_err err = { 0 };

	node_answers(f, "i1", 1, 1000);
	take(f, 2);
	/* 200 kW over 11 s. */
	node_answers(f, "i1", 11, UINT64_C(2200000000000));
	assert_int_equal(check(f, 10, &err), -1);
	assert_non_null(
		strstr(err.text, "impossible power, over 100 kW: package of node"));
	assert_true(tw_agent_is_barred(&f->agent, f->now_ns + 10 * SECOND));
	/* Over an hour, that is possible. */
	assert_int_equal(check(f, 3600, &err), 0);
	f->row[0].energy[0].watts = 1e6;
	assert_int_equal(check(f, 3600, &err), -1);
	strcpy(f->row[0].energy[0].zone, "moon");
	assert_int_equal(check(f, 3600, &err), -1);
	assert_non_null(strstr(err.text, "unknown zone 'moon'"));
}

/* 90 kW of each of 4 pods are 360 kW. */
static void power_is_that_of_all_rows_of_a_level(void **state)
{
	struct agent_fixture *f = *state;
	struct tw_err err = { 0 };

	for (int watts = 0; watts < 2; watts++) {
		node_answers(f, "i1", 1, 0);
		for (int i = 0; i < 4; i++) {
			add_row(f, "pod", (const char *[]){ "a", "b", "c", "d" }[i], "",
				"rapl", watts ? 0 : UINT64_C(90000000000) * 2);
			f->row[1 + i].energy[0].watts = watts ? 90000 : 1;
		}
		assert_int_equal(check(f, 2, &err), -1);
		assert_non_null(strstr(err.text, "package of pod"));
	}
}

/* What it says of its own ticks adds one of them, once, whatever it says each time. */
static void energy_is_bounded_by_our_own_clock(void **state)
{
	struct agent_fixture *f = *state;
	struct tw_err err = { 0 };
	uint64_t uj = 0;
	int taken = 0;

	f->now_ns += 10000 * SECOND;
	node_answers(f, "i1", 5000, 0);
	f->answer.elapsed_ms = 3600000;
	take(f, 10);
	/* An hour of 90 kW each 10 s; a tick has 3,600 s. */
	for (int i = 0; i < 5; i++) {
		uj += UINT64_C(90000) * 3600 * 1000000;
		node_answers(f, "i1", 5010, uj);
		f->answer.elapsed_ms = 3600000;
		if (check(f, 10, &err) == 0) {
			take(f, 10);
			taken++;
		}
	}
	assert_int_equal(taken, 1);
	assert_int_equal(all_energy(f), UINT64_C(90000) * 3600 * 1000000);
}

static void a_budget_is_what_was_not_spent(void **state)
{
	(void)state;
	assert_int_equal(tw_agent_budget_uj(5, 3), 0);
	assert_int_equal(tw_agent_budget_uj(SECOND, 2 * SECOND),
			 UINT64_C(100000) * 1000000);
	assert_int_equal(tw_agent_budget_spend(SECOND, 101), SECOND + 2);
	assert_int_equal(tw_agent_budget_uj(tw_agent_budget_spend(0, 700), 17), 1000);
	assert_int_equal(tw_agent_budget_uj(0, UINT64_MAX),
			 UINT64_C(366) * 24 * 3600 * SECOND * 100);
}

/* Its counters go on meanwhile, so that nothing is made up for. */
static void a_barred_agent_counts_nothing_and_comes_back(void **state)
{
	struct agent_fixture *f = *state;
	const struct tw_answer_rows rows = { f->row, 1 };
	struct tw_err err = { 0 };

	node_answers(f, "i1", 1, 1000);
	take(f, 2);
	node_answers(f, "i1", 11, UINT64_C(1) << 59);
	assert_int_equal(check(f, 10, &err), -1);
	f->now_ns += 10 * SECOND;
	tw_agent_take(&f->agent, f->sums, &rows, &f->answer, BOTH, f->now_ns);
	node_answers(f, "i1", 21, (UINT64_C(1) << 59) + 5);
	take(f, 10);
	assert_int_equal(all_energy(f), 1000);
	assert_int_equal(f->agent.quota->left_out[TW_LEFT_ENERGY], 2);
	node_answers(f, "i1", 631, (UINT64_C(1) << 59) + 50);
	take(f, TW_AGENT_BARRED_NS / SECOND);
	assert_int_equal(all_energy(f), 1045);
	assert_int_equal(energy_of(f, TW_SUM_NODE, "n1"), 1045);
}

/* What was left out for want of room has counted before it is seen. */
static void a_row_that_was_cut_is_no_jump(void **state)
{
	struct agent_fixture *f = *state;

	node_answers(f, "i1", 1, 0);
	f->answer.rows_cut = 1;
	take(f, 2);
	node_answers(f, "i1", 11, 0);
	add_row(f, "pod", "p", "shop", "rapl", 5000);
	take(f, 10);
	assert_int_equal(energy_of(f, TW_SUM_POD, "p"), 0);
	node_answers(f, "i1", 21, 0);
	add_row(f, "pod", "p", "shop", "rapl", 5007);
	add_row(f, "pod", "new", "shop", "rapl", 30);
	take(f, 10);
	assert_int_equal(energy_of(f, TW_SUM_POD, "p"), 7);
	assert_int_equal(energy_of(f, TW_SUM_POD, "new"), 30);
	assert_int_equal(f->agent.quota->left_out[TW_QUOTA_ROWS], 1);
	/* A process that began since has counted nothing unseen. */
	f->answer.rows_cut = 1;
	take(f, 10);
	node_answers(f, "i2", 1, 0);
	add_row(f, "pod", "late", "shop", "rapl", 12);
	take(f, 10);
	assert_int_equal(energy_of(f, TW_SUM_POD, "late"), 12);
}

static void a_share_stays_free_for_each_agent(void **state)
{
	struct tw_quota q = { 0 };
	struct tw_quota_user *greedy = tw_quota_join(&q), *late = tw_quota_join(&q);
	size_t of_greedy = 0, of_late = 0;

	(void)state;
	assert_non_null(greedy);
	assert_non_null(late);
	while (tw_quota_take(&q, greedy, TW_QUOTA_SOURCES))
		of_greedy++;
	assert_int_equal(greedy->left_out[TW_QUOTA_SOURCES], 1);
	/* Half of the table is for the shares of two. */
	assert_int_equal(of_greedy, TW_SUM_SOURCES_MAX / 4);
	while (tw_quota_take(&q, late, TW_QUOTA_SOURCES))
		of_late++;
	assert_int_equal(of_late, of_greedy);
	tw_quota_leave(&q, greedy);
	for (; of_greedy > 0; of_greedy--)
		tw_quota_give(&q, greedy, TW_QUOTA_SOURCES);
	for (; of_late > 0; of_late--)
		tw_quota_give(&q, late, TW_QUOTA_SOURCES);
	assert_int_equal(q.used[TW_QUOTA_SOURCES], 0);
	tw_quota_leave(&q, late);
	assert_int_equal(q.users, 0);
}

/* Its energy counts; only its source is told no more. */
static void sources_beyond_the_quota_are_other(void **state)
{
	struct agent_fixture *f = *state;
	const struct tw_sum *all;
	size_t named = 0;

	for (uint64_t i = 0; i < 40; i++) {
		char source[TW_ASK_WORD];

		node_answers(f, "i1", 1 + i, 10 * (i + 1));
		snprintf(source, sizeof(source), "made-up-%d", (int)i);
		strcpy(f->row[0].energy[0].source, source);
		take(f, 2);
	}
	all = find_sum(f, TW_SUM_ALL, "");
	for (size_t i = 0; i < all->parts; i++)
		named += strncmp(all->part[i].source, "made-up-", 8) == 0;
	assert_true(named > 0 && named < all->parts && all->parts < 40);
	assert_int_equal(all_energy(f), 400);
	assert_int_equal(f->agent.quota->left_out[TW_QUOTA_SOURCES], 40 - named);
}

static void energy_that_a_host_passed_on_is_in_no_sum_over_all_agents(void **state)
{
	struct agent_fixture *f = *state;
	const struct tw_answer_rows rows = { f->row, 2 };
	const struct tw_agent_part alone = { .passed_on = false };

	node_answers(f, "i1", 1, 1000);
	add_row(f, "node", "given", "", "passthrough", 30);
	f->now_ns += 2 * SECOND;
	tw_agent_take(&f->agent, f->sums, &rows, &f->answer, alone, f->now_ns);
	assert_false(f->agent.passed_on);
	tw_agent_settle(&f->agent, f->sums, alone, f->now_ns, 0);
	assert_int_equal(all_energy(f), 1000);
	assert_int_equal(energy_of(f, TW_SUM_NODE, "n1"), 1030);
}

/* The agent of the fixture is the guest of another agent, whose machine "u" used so much.
 */
static void host_answers(struct agent_fixture *f, struct tw_agent *host, uint64_t after_s,
			 uint64_t uj)
{
	const struct tw_answer_rows rows = { f->row, 1 };

	f->now_ns += after_s * SECOND;
	f->rows = 0;
	add_row(f, "vm", "u", "", "rapl", uj);
	f->row[0].energy[0].watts = 3;
	f->answer = (struct tw_ask_answer){ .uptime_ms = 1000,
					    .elapsed_ms = f->host_elapsed_ms };
	strcpy(f->answer.node, "host");
	strcpy(f->answer.instance, "h1");
	tw_agent_take(host, f->sums, &rows, &f->answer, BOTH, f->now_ns);
}

#define WAIT (30 * SECOND)

static void guest_answers(struct agent_fixture *f, uint64_t after_s, uint64_t uj)
{
	const struct tw_agent_part part = { .vm = tw_sums_vm(f->sums, "u") };
	const struct tw_answer_rows rows = { f->row, 1 };

	assert_non_null(part.vm);
	f->now_ns += after_s * SECOND;
	node_answers(f, "i1", 1, uj);
	tw_agent_take(&f->agent, f->sums, &rows, &f->answer, part, f->now_ns);
	tw_agent_settle(&f->agent, f->sums, part, f->now_ns, WAIT);
}

static void a_guest_is_left_out_as_far_as_its_host_has_its_energy(void **state)
{
	struct agent_fixture *f = *state;
	struct tw_agent host = { .began_ns = f->now_ns, .url = "http://n2:8103" };
	const uint64_t *beyond = f->agent.cover.beyond_uj;

	host_answers(f, &host, 2, 30);
	guest_answers(f, 1, 100);
	/* The host may tell the rest yet. */
	assert_int_equal(all_energy(f), 0);
	host_answers(f, &host, 10, 30);
	guest_answers(f, 21, 100);
	assert_int_equal(all_energy(f), 70);
	assert_int_equal(beyond[TW_ZONE_PACKAGE], 70);
	/* A host that answers later than its guest. */
	guest_answers(f, 10, 150);
	host_answers(f, &host, 10, 80);
	guest_answers(f, 30, 150);
	assert_int_equal(all_energy(f), 70);
	/* What the host counted before its guest did. */
	host_answers(f, &host, 10, 200);
	guest_answers(f, 10, 270);
	host_answers(f, &host, 30, 200);
	guest_answers(f, 30, 270);
	assert_int_equal(all_energy(f), 70);
	guest_answers(f, 10, 271);
	host_answers(f, &host, 30, 200);
	guest_answers(f, 30, 271);
	assert_int_equal(all_energy(f), 71);
	assert_int_equal(beyond[TW_ZONE_PACKAGE], 71);
	assert_int_equal(energy_of(f, TW_SUM_NODE, "n1"), 271);
	tw_agent_clear(&host, f->sums, f->now_ns);
}

/* Else its energy of that time would be counted by both. */
static void a_host_that_is_silent_is_waited_for(void **state)
{
	struct agent_fixture *f = *state;
	struct tw_agent host = { .began_ns = f->now_ns, .url = "http://n2:8103" };

	host_answers(f, &host, 2, 30);
	guest_answers(f, 1, 30);
	guest_answers(f, 10, 130);
	guest_answers(f, 300, 930);
	assert_int_equal(all_energy(f), 0);
	host_answers(f, &host, 1, 920);
	guest_answers(f, 1, 930);
	assert_int_equal(all_energy(f), 10);
	/* Its counters may be as old as its tick is long. */
	f->host_elapsed_ms = 60000;
	guest_answers(f, 10, 1030);
	host_answers(f, &host, 50, 920);
	guest_answers(f, 1, 1030);
	assert_int_equal(all_energy(f), 10);
	host_answers(f, &host, 60, 1020);
	guest_answers(f, 1, 1030);
	assert_int_equal(all_energy(f), 10);
	/* It never tells again. */
	guest_answers(f, 10, 1100);
	guest_answers(f, 3699, 1100);
	assert_int_equal(all_energy(f), 10);
	guest_answers(f, 1, 1100);
	assert_int_equal(all_energy(f), 80);
	tw_agent_clear(&host, f->sums, f->now_ns);
}

/* A guest that reads its host's meter has no energy of its own. */
static void a_guest_that_shows_its_whole_host_is_left_out(void **state)
{
	struct tw_sum_part host = { .kind = TW_ZONE_PACKAGE,
				    .watts = 24,
				    .powered = true },
			   guest = { .kind = TW_ZONE_PACKAGE,
				     .watts = 27,
				     .powered = true },
			   dram = { .kind = TW_ZONE_DRAM, .watts = 27, .powered = true };
	struct tw_cover c = { .like = 0 };

	(void)state;
	tw_cover_compare(&c, &dram, 1, &host, 1);
	assert_int_equal(c.like, 0);
	for (int i = 0; i < 5; i++)
		tw_cover_compare(&c, &guest, 1, &host, 1);
	assert_int_equal(c.like, 3);
	guest.watts = 28;
	for (int i = 0; i < 3; i++)
		tw_cover_compare(&c, &guest, 1, &host, 1);
	assert_int_equal(c.like, 0);
	guest.watts = 20;
	for (int i = 0; i < 5; i++)
		tw_cover_compare(&c, &guest, 1, &host, 1);
	assert_int_equal(c.like, -3);
}

/* A zone that the host does not have is in its others, as much as they are. */
static void a_kind_that_the_host_lacks_is_covered_as_the_others(void **state)
{
	struct tw_sum_part vm = { .kind = TW_ZONE_PACKAGE,
				  .idle_uj = 10,
				  .dynamic_uj = 20,
				  .watts = 3,
				  .powered = true };
	const struct tw_sum host = { .part = &vm, .parts = 1 };
	struct tw_sum_part of[] = {
		{ .kind = TW_ZONE_PACKAGE,
		  .dynamic_uj = 60,
		  .watts = 6,
		  .powered = true },
		{ .kind = TW_ZONE_PLATFORM,
		  .idle_uj = 80,
		  .dynamic_uj = 20,
		  .watts = 10,
		  .powered = true },
	};
	struct tw_sum_part other = { .kind = TW_ZONE_PLATFORM, .dynamic_uj = 100 };
	struct tw_cover c = { .since_ns = 0 };

	(void)state;
	tw_cover_take_watts(&host, of, 2);
	assert_float_equal(of[0].watts, 3, 1e-9);
	assert_float_equal(of[1].watts, 5, 1e-9);
	tw_cover_take(&c, &host, of, 2);
	assert_int_equal(of[0].dynamic_uj, 30);
	assert_int_equal(of[1].idle_uj, 30);
	assert_int_equal(of[1].dynamic_uj, 20);
	/* All of it is used up. */
	tw_cover_take(&c, &host, of, 2);
	assert_int_equal(of[0].dynamic_uj, 30);
	assert_int_equal(of[1].idle_uj, 30);
	/* The machine was away, and its sum is new. */
	vm.dynamic_uj = 5;
	tw_cover_take(&c, &host, of, 2);
	assert_int_equal(of[0].dynamic_uj, 15);
	/* No kind is the same. */
	c = (struct tw_cover){ .since_ns = 0 };
	tw_cover_take(&c, &host, &other, 1);
	assert_int_equal(other.dynamic_uj, 85);
	tw_cover_take(&c, &host, &other, 1);
	assert_int_equal(other.dynamic_uj, 85);
}

/* Idle energy is energy: of new rows, and of what a host lacks. */
static void idle_energy_counts(void **state)
{
	struct agent_fixture *f = *state;
	struct tw_agent host = { .began_ns = f->now_ns, .url = "http://n2:8103" };
	struct tw_agent_part part = { .name_spaces = true };
	const struct tw_answer_rows rows = { f->row, 1 };

	node_answers(f, "i1", 1, 20);
	f->row[0].energy[0].idle_uj = 30;
	take(f, 2);
	node_answers(f, "i1", 11, 20);
	f->row[0].energy[0].idle_uj = 37;
	add_row(f, "node", "new", "", "rapl", 0);
	f->row[1].energy[0].idle_uj = 5;
	take(f, 10);
	assert_int_equal(all_energy(f), 62);
	host_answers(f, &host, 10, 0);
	part.vm = tw_sums_vm(f->sums, "u");
	node_answers(f, "i1", 21, 24);
	f->row[0].energy[0].idle_uj = 41;
	tw_agent_take(&f->agent, f->sums, &rows, &f->answer, part, f->now_ns);
	tw_agent_settle(&f->agent, f->sums, part, f->now_ns, WAIT);
	host_answers(f, &host, 20, 0);
	f->now_ns += WAIT;
	tw_agent_settle(&f->agent, f->sums, part, f->now_ns, WAIT);
	assert_int_equal(all_energy(f), 70);
	tw_agent_clear(&host, f->sums, f->now_ns);
}

/* A zone of a row may lack a reading for a while; its counter goes on. */
static void a_kind_that_was_missing_goes_on(void **state)
{
	struct agent_fixture *f = *state;
	struct tw_ask_energy *dram = &f->row[0].energy[1];

	for (int i = 0; i < 3; i++) {
		node_answers(f, "i1", 1 + 10 * (uint64_t)i, 1000);
		*dram = f->row[0].energy[0];
		strcpy(dram->zone, "dram");
		dram->dynamic_uj = i == 0 ? 50 : 70;
		f->row[0].energies = i == 1 ? 1 : 2;
		take(f, 10);
		assert_int_equal(all_energy(f), i == 2 ? 1070 : 1050);
	}
}

/* It waits anew once its machine is known again. */
static void a_guest_may_lose_its_host(void **state)
{
	struct agent_fixture *f = *state;
	struct tw_agent host = { .began_ns = f->now_ns, .url = "http://n2:8103" };
	const struct tw_agent_part alone = { .name_spaces = true };

	host_answers(f, &host, 2, 0);
	guest_answers(f, 1, 10);
	tw_agent_clear(&host, f->sums, f->now_ns);
	host = (struct tw_agent){ .began_ns = f->now_ns, .url = "http://n2:8103" };
	tw_agent_settle(&f->agent, f->sums, alone, f->now_ns, WAIT);
	assert_int_equal(all_energy(f), 10);
	host_answers(f, &host, 20, 0);
	host_answers(f, &host, 20, 0);
	guest_answers(f, 1, 30);
	assert_int_equal(all_energy(f), 10);
	host_answers(f, &host, 20, 0);
	guest_answers(f, 10, 30);
	assert_int_equal(all_energy(f), 30);
	tw_agent_clear(&host, f->sums, f->now_ns);
}

/* KubeVirt: the host's pod has the energy of the pods in the virtual machine. */
static void pods_of_a_guest_in_a_pod_are_in_no_namespace(void **state)
{
	struct agent_fixture *f = *state;
	const struct tw_answer_rows rows = { f->row, 2 };
	struct tw_agent_part part = BOTH;

	node_answers(f, "i1", 1, 0);
	add_row(f, "pod", "p1", "shop", "rapl", 100);
	take(f, 2);
	assert_int_equal(energy_of(f, TW_SUM_NAMESPACE, "shop"), 100);
	node_answers(f, "i1", 11, 0);
	add_row(f, "pod", "p1", "shop", "rapl", 250);
	part.name_spaces = false;
	tw_agent_take(&f->agent, f->sums, &rows, &f->answer, part, f->now_ns + SECOND);
	assert_int_equal(energy_of(f, TW_SUM_NAMESPACE, "shop"), 100);
	assert_int_equal(energy_of(f, TW_SUM_POD, "p1"), 250);
}

static void a_vm_says_whether_a_pod_runs_it(void **state)
{
	struct agent_fixture *f = *state;

	node_answers(f, "i1", 1, 0);
	add_row(f, "vm", "in", "", "rapl", 100);
	f->row[1].in_pod = 1;
	add_row(f, "vm", "out", "", "rapl", 100);
	take(f, 2);
	assert_true(tw_sums_vm(f->sums, "in")->in_pod);
	assert_false(tw_sums_vm(f->sums, "out")->in_pod);
}

static void a_vm_that_moves_is_one_sum(void **state)
{
	struct agent_fixture *f = *state;
	struct tw_agent other = { .began_ns = f->now_ns, .url = "http://n2:8103" };

	node_answers(f, "i1", 1, 0);
	add_row(f, "vm", "abc-D", "", "rapl", 100);
	take(f, 2);
	assert_non_null(tw_sums_vm(f->sums, "ABC-d"));
	assert_null(tw_sums_vm(f->sums, "abc"));
	/* It is on another host now, where its counter began at 0. */
	{
		const struct tw_answer_rows rows = { f->row, 2 };

		strcpy(f->answer.node, "n2");
		strcpy(f->answer.instance, "i9");
		f->row[1].energy[0].dynamic_uj = 11;
		tw_agent_take(&other, f->sums, &rows, &f->answer, BOTH, f->now_ns);
	}
	node_answers(f, "i1", 11, 0);
	take(f, 10);
	assert_int_equal(energy_of(f, TW_SUM_VM, "abc-D"), 111);
	assert_non_null(tw_sums_vm(f->sums, "abc-d"));
	tw_agent_clear(&other, f->sums, f->now_ns);
	assert_null(tw_sums_vm(f->sums, "abc-d"));
}

static void watts_are_those_of_the_last_answer(void **state)
{
	struct agent_fixture *f = *state;
	const struct tw_sum *all;

	node_answers(f, "i1", 1, 1000);
	add_row(f, "pod", "u1", "shop", "rapl", 300);
	take(f, 2);
	tw_sums_power_begin(f->sums);
	tw_agent_add_power(&f->agent, f->sums);
	tw_agent_add_power_to_all(&f->agent, f->sums, BOTH);
	all = find_sum(f, TW_SUM_ALL, "");
	assert_int_equal(all->parts, 1);
	assert_true(all->part[0].powered && all->part[0].watts == 5);
	/* An agent that is down has none. */
	tw_sums_power_begin(f->sums);
	assert_false(all->part[0].powered);
	/* Nor has a zone without a reading: it is unknown, not 0 W. */
	node_answers(f, "i1", 11, 0);
	f->row[0].energies = 0;
	add_row(f, "pod", "u1", "shop", "rapl", 0);
	f->row[1].energies = 0;
	take(f, 10);
	tw_agent_add_power(&f->agent, f->sums);
	tw_agent_add_power_to_all(&f->agent, f->sums, BOTH);
	assert_false(all->part[0].powered);
	assert_false(find_sum(f, TW_SUM_POD, "u1")->part[0].powered);
	assert_int_equal(all->part[0].dynamic_uj, 1000);
	/* Nor one that has stopped: its energy counts, and it has no power. */
	node_answers(f, "i1", 21, 1500);
	f->row[0].energy[0].watts = f->row[0].energy[0].powered = 0;
	take(f, 10);
	tw_sums_power_begin(f->sums);
	tw_agent_add_power(&f->agent, f->sums);
	tw_agent_add_power_to_all(&f->agent, f->sums, BOTH);
	assert_int_equal(all->part[0].dynamic_uj, 1500);
	assert_false(all->part[0].powered);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_budget_is_what_was_not_spent),
		cmocka_unit_test(a_share_stays_free_for_each_agent),
#define TEST(name) cmocka_unit_test_setup_teardown(name, agent_set_up, agent_tear_down)
		TEST(energy_before_the_sums_began_is_not_counted),
		TEST(an_agent_that_started_later_is_counted_from_its_start),
		TEST(a_restart_loses_and_repeats_nothing),
		TEST(an_absence_is_made_up_for),
		TEST(a_zone_that_was_missing_goes_on),
		TEST(a_zone_that_was_missing_at_first_is_no_jump),
		TEST(pods_that_end_stay_in_their_namespace),
		TEST(impossible_power_is_refused),
		TEST(power_is_that_of_all_rows_of_a_level),
		TEST(energy_is_bounded_by_our_own_clock),
		TEST(a_barred_agent_counts_nothing_and_comes_back),
		TEST(a_row_that_was_cut_is_no_jump),
		TEST(sources_beyond_the_quota_are_other),
		TEST(energy_that_a_host_passed_on_is_in_no_sum_over_all_agents),
		TEST(a_guest_is_left_out_as_far_as_its_host_has_its_energy),
		TEST(a_host_that_is_silent_is_waited_for),
		TEST(a_guest_that_shows_its_whole_host_is_left_out),
		TEST(a_kind_that_the_host_lacks_is_covered_as_the_others),
		TEST(idle_energy_counts),
		TEST(a_kind_that_was_missing_goes_on),
		TEST(a_guest_may_lose_its_host),
		TEST(pods_of_a_guest_in_a_pod_are_in_no_namespace),
		TEST(a_vm_says_whether_a_pod_runs_it),
		TEST(a_vm_that_moves_is_one_sum),
		TEST(watts_are_those_of_the_last_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
