/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of an agent's answers, what its host passed on, and its watts. */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "tests/unit/collector/agent_fixture.h"
#include "tests/unit/fail_alloc.h"

#include <stdlib.h>
#include <string.h>

#define UJ_OF_S (UINT64_C(100000) * 1000000) /* 100 kW */

static struct tw_answer_rows rows_of(const struct agent_fixture *f)
{
	return (struct tw_answer_rows){ f->row, f->rows };
}

static int check(struct agent_fixture *f)
{
	const struct tw_answer_rows rows = rows_of(f);
	struct tw_err err = { 0 };

	return tw_agent_check(&f->agent, &rows, &f->answer, f->now_ns, &err);
}

/* A second kind of zone of the last row. */
static void add_dram(struct agent_fixture *f, uint64_t uj)
{
	struct tw_ask_row *r = &f->row[f->rows - 1];

	r->energy[r->energies] = r->energy[0];
	strcpy(r->energy[r->energies].zone, "dram");
	r->energy[r->energies].dynamic_uj = uj;
	r->energies++;
}

/* A counter that began after the sums, or after the last answer, counts from 0. */
static void uptime_tells_what_was_seen(void **state)
{
	static const struct {
		uint64_t first_ms, then_ms; /* uptimes, after 10 s and 10 s more */
		uint64_t all_uj;
	} cases[] = {
		{ 11000, 11000, 100 + 70 }, { 11001, 11000, 70 }, { 11000, 11001, 100 },
		{ 20000, 20000, 0 },        { 5000, 15000, 100 },
	};

	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct agent_fixture *f = *state;

		node_answers(f, "i1", 0, 100);
		f->answer.uptime_ms = cases[i].first_ms;
		take(f, 10);
		node_answers(f, "i2", 0, 70);
		f->answer.uptime_ms = cases[i].then_ms;
		take(f, 10);
		assert_int_equal(all_energy(f), cases[i].all_uj);
		assert_int_equal(f->agent.restarts, 1);
		agent_tear_down(state);
		agent_set_up(state);
	}
}

/* A zone that a new process does not have yet has no value of the old one. */
static void zones_of_another_process_begin_anew(void **state)
{
	struct agent_fixture *f = *state;

	node_answers(f, "i1", 1, 0);
	add_row(f, "pod", "p", "", "rapl", 10);
	add_dram(f, 100);
	take(f, 2);
	node_answers(f, "i2", 1, 0);
	add_row(f, "pod", "p", "", "rapl", 10);
	take(f, 10);
	node_answers(f, "i2", 11, 0);
	add_row(f, "pod", "p", "", "rapl", 10);
	add_dram(f, 150);
	take(f, 10);
	assert_int_equal(energy_of(f, TW_SUM_POD, "p"), 20 + 250);
	/* Of the same process they go on. */
	node_answers(f, "i2", 21, 0);
	add_row(f, "pod", "p", "", "rapl", 10);
	take(f, 10);
	node_answers(f, "i2", 31, 0);
	add_row(f, "pod", "p", "", "rapl", 10);
	add_dram(f, 153);
	take(f, 10);
	assert_int_equal(energy_of(f, TW_SUM_POD, "p"), 20 + 253);
}

/* So is a zone of the node that the new process has only later. */
static void a_zone_that_comes_back_in_another_process_begins_anew(void **state)
{
	struct agent_fixture *f = *state;

	node_answers(f, "i1", 1, 0);
	add_row(f, "node", "second", "", "rapl", 100);
	take(f, 2);
	/* Within a process it goes on. */
	node_answers(f, "i1", 11, 0);
	take(f, 10);
	node_answers(f, "i1", 21, 0);
	add_row(f, "node", "second", "", "rapl", 130);
	take(f, 10);
	assert_int_equal(all_energy(f), 130);
	node_answers(f, "i2", 1, 0);
	take(f, 10);
	node_answers(f, "i2", 11, 0);
	add_row(f, "node", "second", "", "rapl", 150);
	take(f, 10);
	assert_int_equal(all_energy(f), 130 + 150);
}

/* Ids are told apart to their last byte, and levels by all of their text. */
static void long_ids_are_whole(void **state)
{
	struct agent_fixture *f = *state;
	char id[TW_ASK_ID];

	memset(id, 'x', sizeof(id) - 1);
	id[sizeof(id) - 1] = '\0';
	node_answers(f, "i1", 1, 0);
	add_row(f, "container", id, "", "rapl", 5);
	id[sizeof(id) - 2] = 'y';
	add_row(f, "container", id, "", "rapl", 70);
	add_row(f, "pod", id, "", "rapl", 900);
	take(f, 2);
	assert_int_equal(energy_of(f, TW_SUM_CONTAINER, id), 70);
	assert_int_equal(energy_of(f, TW_SUM_CONTAINER, f->row[1].id), 5);
	assert_int_equal(energy_of(f, TW_SUM_POD, id), 900);
}

/* The first of a kind counts, in the check and in the sums. */
static void a_kind_that_comes_twice_counts_once(void **state)
{
	struct agent_fixture *f = *state;

	node_answers(f, "i1", 1, 7);
	add_dram(f, 20);
	add_dram(f, 3000);
	take(f, 2);
	assert_int_equal(all_energy(f), 27);
}

/* Exactly 100 kW since the last answer and its tick, on each level and kind alone. */
static void a_budget_is_of_a_level_and_a_kind(void **state)
{
	static const struct {
		const char *level;
		uint64_t elapsed_ms, over_uj;
		bool ok;
	} cases[] = {
		/* 10 s, and a second of slack. */
		{ "node", 0, 0, true },
		{ "node", 0, 1, false },
		{ "node", 500, 0, true },
		{ "node", 500, 1, false },
		{ "job", 0, 0, true },
		{ "job", 0, 1, false },
		/* An agent ticks once an hour, and no later. */
		{ "pod", 3700000, 0, true },
		{ "pod", 3700000, 1, false },
		{ "pod", 9999999, 0, true },
		{ "pod", 9999999, 1, false },
	};

	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct agent_fixture *f = *state;
		const uint64_t tick_ms =
			cases[i].elapsed_ms < 3700000 ? cases[i].elapsed_ms : 3700000;
		const uint64_t uj = UJ_OF_S * 11 + UJ_OF_S / 1000 * tick_ms;

		f->agent.began_ns = 5000 * SECOND;
		f->now_ns = 10000 * SECOND;
		for (int answer = 0; answer < 2; answer++) {
			node_answers(f, "i1", 1 + 10 * (uint64_t)answer, 0);
			f->rows = 0;
			add_row(f, cases[i].level, "x", "", "rapl", 0);
			add_dram(f, 0);
			f->answer.elapsed_ms = cases[i].elapsed_ms;
			if (answer == 0)
				take(f, 2);
		}
		f->now_ns += 10 * SECOND;
		f->row[0].energy[0].dynamic_uj = uj - 1000;
		f->row[0].energy[0].idle_uj = 1000 + cases[i].over_uj;
		f->row[0].energy[1].dynamic_uj = uj;
		assert_int_equal(check(f), cases[i].ok ? 0 : -1);
		assert_int_equal(tw_agent_is_barred(&f->agent, f->now_ns), !cases[i].ok);
		/* What was taken is spent; the other kind's is not. */
		if (cases[i].ok) {
			take(f, 0);
			f->row[0].energy[0].dynamic_uj += 200;
			assert_int_equal(check(f), -1);
		}
		agent_tear_down(state);
		agent_set_up(state);
	}
}

static void watts_have_a_limit_of_their_own(void **state)
{
	struct agent_fixture *f = *state;

	node_answers(f, "i1", 1, 0);
	f->row[0].energy[0].watts = 100000;
	f->now_ns += 2 * SECOND;
	assert_int_equal(check(f), 0);
	f->row[0].energy[0].watts = 100000.5;
	assert_int_equal(check(f), -1);
	assert_false(tw_agent_is_barred(&f->agent, f->now_ns));
	/* Watts of a level are the sum of its rows. */
	f->row[0].energy[0].watts = 60000;
	assert_int_equal(check(f), 0);
	add_row(f, "node", "zone2", "", "rapl", 0);
	f->row[1].energy[0].watts = 60000;
	assert_int_equal(check(f), -1);
	strcpy(f->row[1].level, "vm");
	assert_int_equal(check(f), 0);
	strcpy(f->row[1].level, "all");
	assert_int_equal(check(f), -1);
	strcpy(f->row[1].level, "namespace");
	assert_int_equal(check(f), -1);
}

/* A new process has no kind that was there unseen: all of its energy is judged. */
static void a_new_process_hides_no_energy(void **state)
{
	struct agent_fixture *f = *state;

	node_answers(f, "i1", 5000, 0);
	take(f, 10);
	node_answers(f, "i2", 1, 0);
	add_dram(f, UINT64_C(1) << 59);
	f->now_ns += 10 * SECOND;
	assert_int_equal(check(f), -1);
}

static void an_agent_is_barred_for_ten_minutes(void **state)
{
	struct agent_fixture *f = *state;

	assert_false(tw_agent_is_barred(&f->agent, 5));
	node_answers(f, "i1", 1, UINT64_C(1) << 59);
	assert_int_equal(check(f), -1);
	assert_true(tw_agent_is_barred(&f->agent, f->now_ns + TW_AGENT_BARRED_NS - 1));
	assert_false(tw_agent_is_barred(&f->agent, f->now_ns + TW_AGENT_BARRED_NS));
}

/* Sums of a barred agent's workloads end, and begin again. */
static void a_barred_agent_has_no_watts_in_sums(void **state)
{
	struct agent_fixture *f = *state;
	const struct tw_answer_rows rows = { f->row, 1 };

	node_answers(f, "i1", 1, 1000);
	take(f, 2);
	node_answers(f, "i1", 3, UINT64_C(1) << 59);
	assert_int_equal(check(f), -1);
	tw_agent_take(&f->agent, f->sums, &rows, &f->answer, BOTH, f->now_ns);
	assert_int_equal(find_sum(f, TW_SUM_NODE, "n1")->users, 0);
	tw_agent_add_power(&f->agent, f->sums);
	assert_false(find_sum(f, TW_SUM_NODE, "n1")->part[0].powered);
}

/* Rows for which there was no room have counted before they are seen. */
static void rows_without_room_are_no_jump(void **state)
{
	struct agent_fixture *f = *state;
	size_t *used = &tw_sums_quota(f->sums)->used[TW_QUOTA_ROWS];

	node_answers(f, "i1", 1, 0);
	take(f, 2);
	*used += 500000;
	node_answers(f, "i1", 11, 10);
	add_row(f, "pod", "p", "shop", "rapl", 5000);
	take(f, 10);
	*used -= 500000;
	node_answers(f, "i1", 21, 20);
	add_row(f, "pod", "p", "shop", "rapl", 6000);
	take(f, 10);
	node_answers(f, "i1", 31, 30);
	add_row(f, "pod", "p", "shop", "rapl", 6007);
	take(f, 10);
	assert_int_equal(energy_of(f, TW_SUM_POD, "p"), 7);
	/* Others go on. */
	assert_int_equal(all_energy(f), 30);
}

static void without_memory_a_row_has_no_place(void **state)
{
	struct agent_fixture *f = *state;
	const size_t *used = tw_sums_quota(f->sums)->used;

	node_answers(f, "i1", 1, 0);
	take(f, 2);
	node_answers(f, "i1", 11, 0);
	add_row(f, "pod", "p", "shop", "rapl", 5000);
	fail_alloc_at(1);
	tw_agent_take(&f->agent, f->sums, &(const struct tw_answer_rows){ f->row, 2 },
		      &f->answer, BOTH, f->now_ns);
	assert_true(fail_alloc_hit());
	assert_int_equal(used[TW_QUOTA_ROWS], 1);
	assert_true(f->agent.cut);
}

/* ---- where energy is ---- */

static void namespaces_have_the_energy_of_pods_alone(void **state)
{
	struct agent_fixture *f = *state;

	node_answers(f, "i1", 1, 0);
	add_row(f, "pod", "p", "shop", "rapl", 5);
	add_row(f, "container", "c", "shop", "rapl", 30);
	add_row(f, "vm", "v", "shop", "rapl", 200);
	add_row(f, "job", "j", "", "rapl", 1000);
	add_row(f, "pod", "p2", "", "rapl", 7);
	add_row(f, "pod", "p3", "x", "rapl", 8);
	take(f, 2);
	assert_int_equal(energy_of(f, TW_SUM_NAMESPACE, "shop"), 5);
	assert_int_equal(energy_of(f, TW_SUM_NAMESPACE, "x"), 8);
	assert_int_equal(energy_of(f, TW_SUM_CONTAINER, "c"), 30);
	/* A machine and a job are on any node, others on theirs. */
	assert_string_equal(find_sum(f, TW_SUM_VM, "v")->names.node, "");
	assert_string_equal(find_sum(f, TW_SUM_JOB, "j")->names.node, "");
	assert_string_equal(find_sum(f, TW_SUM_POD, "p")->names.node, "n1");
	assert_string_equal(find_sum(f, TW_SUM_CONTAINER, "c")->names.node, "n1");
	assert_int_equal(find_sum(f, TW_SUM_NAMESPACE, "shop")->users, 1);
	assert_null(tw_sums_next(f->sums, TW_SUM_NAMESPACE,
				 find_sum(f, TW_SUM_NAMESPACE, "shop")));
	tw_agent_clear(&f->agent, f->sums, f->now_ns);
	assert_int_equal(find_sum(f, TW_SUM_NAMESPACE, "shop")->users, 0);
	assert_null(f->agent.quota);
	assert_int_equal(tw_sums_quota(f->sums)->users, 0);
	assert_int_equal(tw_sums_quota(f->sums)->used[TW_QUOTA_ROWS], 0);
}

static void a_node_without_a_name_of_its_own_has_its_url(void **state)
{
	static const struct {
		const char *node;
		bool nameless;
		const char *want;
	} cases[] = { { "n1", false, "n1" },
		      { "n1", true, "http://n1:8103" },
		      { "", false, "http://n1:8103" } };

	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct agent_fixture *f = *state;
		struct tw_agent_part part = BOTH;

		node_answers(f, "i1", 1, 10);
		strcpy(f->answer.node, cases[i].node);
		part.nameless = cases[i].nameless;
		tw_agent_take(&f->agent, f->sums,
			      &(const struct tw_answer_rows){ f->row, 1 }, &f->answer,
			      part, f->now_ns + 2 * SECOND);
		assert_non_null(find_sum(f, TW_SUM_NODE, cases[i].want));
		assert_int_equal(f->agent.quota->left_out[TW_LEFT_NODE],
				 cases[i].nameless);
		agent_tear_down(state);
		agent_set_up(state);
	}
}

/* Zones of a kind and source are one part; watts are those of zones that answer now. */
static void parts_of_a_node_are_its_zones(void **state)
{
	struct agent_fixture *f = *state;
	struct tw_sum_part part[TW_SUM_PARTS_MAX];

	node_answers(f, "i1", 1, 100);
	f->row[0].energy[0].idle_uj = 11;
	add_row(f, "node", "zone2", "", "rapl", 20);
	add_row(f, "node", "zone3", "", "ipmi", 3);
	f->row[2].energy[0].watts = 40;
	add_row(f, "node", "zone4", "", "rapl", 9);
	strcpy(f->row[3].energy[0].zone, "dram");
	add_row(f, "pod", "p", "", "rapl", 9999);
	take(f, 2);
	assert_int_equal(tw_agent_parts(&f->agent, true, part), 3);
	assert_int_equal(part[2].kind, TW_ZONE_DRAM);
	assert_int_equal(part[2].dynamic_uj, 9);
	assert_int_equal(part[0].dynamic_uj, 120);
	assert_int_equal(part[0].idle_uj, 11);
	assert_true(part[0].watts == 10 && part[0].powered);
	assert_string_equal(part[1].source, "ipmi");
	assert_true(part[1].watts == 40);
	assert_int_equal(tw_agent_parts(&f->agent, false, part), 3);
	assert_true(part[0].watts == 0 && !part[0].powered);
	/* A zone that the answer lacks has its energy, and no watts. */
	node_answers(f, "i1", 11, 105);
	take(f, 10);
	assert_int_equal(tw_agent_parts(&f->agent, true, part), 3);
	assert_int_equal(part[0].dynamic_uj, 125);
	assert_true(part[0].watts == 5);
	assert_int_equal(part[1].dynamic_uj, 3);
	assert_false(part[1].powered);
}

/* ---- guests ---- */

static void a_host_passed_on_all_energy_or_not(void **state)
{
	static const struct {
		struct {
			const char *level, *source;
			uint32_t energies, powered;
		} row[2];
		bool passed_on;
	} cases[] = {
		{ { { "node", "passthrough", 1, 1 }, { "pod", "rapl", 1, 1 } }, true },
		{ { { "node", "passthrough", 1, 1 }, { "node", "rapl", 1, 1 } }, false },
		{ { { "node", "rapl", 1, 1 }, { "node", "passthrough", 1, 1 } }, false },
		{ { { "node", "passthrough", 1, 1 }, { "node", "rapl", 1, 0 } }, true },
		{ { { "node", "passthrough", 1, 1 }, { "node", "rapl", 0, 1 } }, true },
		{ { { "node", "passthrough", 1, 0 }, { "node", "rapl", 0, 1 } }, false },
		{ { { "pod", "passthrough", 1, 1 }, { "vm", "passthrough", 1, 1 } },
		  false },
	};

	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct agent_fixture *f = *state;

		node_answers(f, "i1", 1, 0);
		f->rows = 0;
		for (size_t k = 0; k < 2; k++) {
			add_row(f, cases[i].row[k].level, "x", "", cases[i].row[k].source,
				0);
			f->row[k].id[0] = (char)('x' + k);
			f->row[k].energies = cases[i].row[k].energies;
			f->row[k].energy[0].powered = cases[i].row[k].powered;
		}
		/* What follows in memory is not a row. */
		add_row(f, "node", "z", "", cases[i].passed_on ? "rapl" : "passthrough",
			0);
		f->rows--;
		take(f, 2);
		if (f->agent.passed_on != cases[i].passed_on)
			fail_msg("case %zu", i);
		agent_tear_down(state);
		agent_set_up(state);
	}
}

/* Energy that hosts passed on is in the sum of all if guests are to be added. */
static void what_a_host_passed_on_is_added_on_demand(void **state)
{
	struct agent_fixture *f = *state;

	node_answers(f, "i1", 1, 1000);
	add_row(f, "node", "given", "", "passthrough", 30);
	take(f, 2);
	assert_int_equal(all_energy(f), 1030);
	tw_agent_add_power_to_all(&f->agent, f->sums, BOTH);
	assert_int_equal(tw_sums_all(f->sums)->parts, 2);
	assert_true(tw_sums_all(f->sums)->part[1].watts == 5);
}

/* Of 5 W the host's machine has 3 W, and of 100 uJ it has 40. */
static void the_rest_of_a_guest_is_in_the_sum_of_all(void **state)
{
	struct agent_fixture *f = *state;
	struct tw_sum_part vm = {
		.kind = TW_ZONE_PACKAGE, .dynamic_uj = 40, .watts = 3, .powered = true
	};
	const struct tw_sum host = { .part = &vm, .parts = 1 };
	const struct tw_agent_part part = { .vm = &host };
	const struct tw_sum *all = tw_sums_all(f->sums);

	node_answers(f, "i1", 1, 100);
	tw_agent_take(&f->agent, f->sums, &(const struct tw_answer_rows){ f->row, 1 },
		      &f->answer, part, f->now_ns + 2 * SECOND);
	tw_agent_add_power_to_all(&f->agent, f->sums, part);
	assert_int_equal(all->parts, 1);
	assert_true(all->part[0].watts == 2 && all->part[0].powered);
	tw_agent_settle(&f->agent, f->sums, part, f->now_ns, 0);
	assert_int_equal(all->part[0].dynamic_uj, 60);
	tw_sums_power_begin(f->sums);
	vm.watts = 4.5;
	tw_agent_add_power_to_all(&f->agent, f->sums, part);
	assert_true(all->part[0].watts == 0.5 && all->part[0].powered);
	/* A guest that is covered is not a part of it. */
	tw_sums_power_begin(f->sums);
	vm.watts = 5;
	tw_agent_add_power_to_all(&f->agent, f->sums, part);
	assert_false(all->part[0].powered);
}

/* The zone of a node is in the sum before it has used energy, a guest's is not. */
static void a_node_at_zero_is_in_the_sum_of_all(void **state)
{
	struct agent_fixture *f = *state;
	const struct tw_sum none = { .parts = 0 };
	const struct tw_agent_part part = { .vm = &none };

	node_answers(f, "i1", 1, 0);
	tw_agent_take(&f->agent, f->sums, &(const struct tw_answer_rows){ f->row, 1 },
		      &f->answer, part, f->now_ns + 2 * SECOND);
	tw_agent_settle(&f->agent, f->sums, part, f->now_ns, 0);
	assert_int_equal(tw_sums_all(f->sums)->parts, 0);
	f->row[0].energy[0].watts = 0;
	take(f, 2);
	assert_int_equal(tw_sums_all(f->sums)->parts, 1);
	assert_int_equal(all_energy(f), 0);
	tw_agent_add_power_to_all(&f->agent, f->sums, BOTH);
	assert_true(tw_sums_all(f->sums)->part[0].powered);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, agent_set_up, agent_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(uptime_tells_what_was_seen),
		TEST(zones_of_another_process_begin_anew),
		TEST(a_zone_that_comes_back_in_another_process_begins_anew),
		TEST(long_ids_are_whole),
		TEST(a_kind_that_comes_twice_counts_once),
		TEST(a_budget_is_of_a_level_and_a_kind),
		TEST(watts_have_a_limit_of_their_own),
		TEST(a_new_process_hides_no_energy),
		TEST(an_agent_is_barred_for_ten_minutes),
		TEST(a_barred_agent_has_no_watts_in_sums),
		TEST(rows_without_room_are_no_jump),
		TEST(without_memory_a_row_has_no_place),
		TEST(namespaces_have_the_energy_of_pods_alone),
		TEST(a_node_without_a_name_of_its_own_has_its_url),
		TEST(parts_of_a_node_are_its_zones),
		TEST(a_host_passed_on_all_energy_or_not),
		TEST(what_a_host_passed_on_is_added_on_demand),
		TEST(the_rest_of_a_guest_is_in_the_sum_of_all),
		TEST(a_node_at_zero_is_in_the_sum_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
