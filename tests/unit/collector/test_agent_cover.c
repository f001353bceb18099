/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a guest's energy its host has counted: no joule twice, none lost. */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "collector/agents/cover.h"

#include <math.h>

#define PACKAGE TW_ZONE_PACKAGE
#define DRAM TW_ZONE_DRAM
#define CORE TW_ZONE_CORE

static struct tw_sum machine(struct tw_sum_part *part, size_t parts)
{
	return (struct tw_sum){ .part = part, .parts = parts };
}

static void expect_uj(const struct tw_sum_part *p, uint64_t dynamic, uint64_t idle)
{
	assert_int_equal(p->dynamic_uj, dynamic);
	assert_int_equal(p->idle_uj, idle);
}

/* The machine's 100 uJ cover a guest's 60, then 40 of its next 60: idle energy first. */
static void a_machine_covers_its_energy_once(void **state)
{
	struct tw_sum_part host[] = {
		{ .kind = PACKAGE, .dynamic_uj = 70, .idle_uj = 30 },
	};
	const struct tw_sum vm = machine(host, 1);
	struct tw_cover c = { 0 };

	(void)state;
	for (int round = 0; round < 3; round++) {
		static const uint64_t left[] = { 0, 20, 60 };
		struct tw_sum_part guest[] = {
			{ .kind = PACKAGE, .dynamic_uj = 50, .idle_uj = 10 },
		};

		tw_cover_take(&c, &vm, guest, 1);
		expect_uj(&guest[0], left[round] < 50 ? left[round] : 50,
			  left[round] < 50 ? 0 : left[round] - 50);
	}
	assert_int_equal(c.taken_uj[PACKAGE], 100);
	host[0].dynamic_uj = 10; /* the machine was away: 40 uJ of a new sum */
	for (int round = 0; round < 2; round++) {
		struct tw_sum_part guest[] = { { .kind = PACKAGE, .dynamic_uj = 25 } };

		tw_cover_take(&c, &vm, guest, 1);
		expect_uj(&guest[0], round == 0 ? 0 : 10, 0);
	}
}

/* Covered energy is idle energy, and only the rest of it dynamic energy. */
static void the_last_joules_are_not_covered_twice(void **state)
{
	struct tw_sum_part host[] = { { .kind = PACKAGE, .dynamic_uj = 55 } };
	const struct tw_sum vm = machine(host, 1);
	struct tw_sum_part guest[] = {
		{ .kind = PACKAGE, .dynamic_uj = 50, .idle_uj = 10 },
		{ .kind = PACKAGE, .dynamic_uj = 7 },
	};
	struct tw_cover c = { 0 };

	(void)state;
	tw_cover_take(&c, &vm, guest, 2);
	expect_uj(&guest[0], 5, 0);
	expect_uj(&guest[1], 7, 0);
}

/* A part of the machine's sum that began again covers nothing, and takes nothing back. */
static void a_kind_that_began_again_covers_nothing(void **state)
{
	struct tw_sum_part host[] = { { .kind = PACKAGE, .dynamic_uj = 100 },
				      { .kind = DRAM, .dynamic_uj = 50 } };
	const struct tw_sum vm = machine(host, 2);
	struct tw_cover c = { 0 };

	(void)state;
	for (int round = 0; round < 2; round++) {
		struct tw_sum_part guest[] = { { .kind = DRAM, .dynamic_uj = 40 } };

		tw_cover_take(&c, &vm, guest, 1);
		expect_uj(&guest[0], round == 0 ? 0 : 40, 0);
		assert_int_equal(c.taken_uj[DRAM], 40);
		host[1].dynamic_uj = 20;
	}
}

/* Several parts of a kind, and kinds that the machine lacks. */
static void a_missing_kind_is_covered_like_the_others(void **state)
{
	struct tw_sum_part host[] = { { .kind = PACKAGE, .dynamic_uj = 90 } };
	const struct tw_sum vm = machine(host, 1);
	struct tw_sum_part guest[] = {
		{ .kind = PACKAGE, .dynamic_uj = 60 },
		{ .kind = DRAM, .dynamic_uj = 40 },
		{ .kind = PACKAGE, .dynamic_uj = 60 },
	};
	struct tw_cover c = { 0 };

	(void)state;
	tw_cover_take(&c, &vm, guest, TW_COUNT(guest));
	expect_uj(&guest[0], 0, 0);
	expect_uj(&guest[2], 30, 0);
	expect_uj(&guest[1], 10, 0);
	assert_int_equal(c.taken_uj[PACKAGE], 90);
	assert_int_equal(c.taken_uj[DRAM], 0);
}

/* Without a kind in common, each is covered by the machine's largest. */
static void other_kinds_are_covered_by_the_largest(void **state)
{
	struct tw_sum_part host[] = { { .kind = PACKAGE, .dynamic_uj = 50 },
				      { .kind = DRAM, .dynamic_uj = 20 } };
	const struct tw_sum vm = machine(host, 2);
	struct tw_cover c = { 0 };

	(void)state;
	for (int round = 0; round < 2; round++) {
		struct tw_sum_part guest[] = { { .kind = CORE, .dynamic_uj = 30 } };

		tw_cover_take(&c, &vm, guest, 1);
		expect_uj(&guest[0], round == 0 ? 0 : 10, 0);
	}
	assert_int_equal(c.taken_uj[CORE], 50);
}

static void watts_are_covered_as_energy_is(void **state)
{
	struct tw_sum_part host[] = { { .kind = PACKAGE, .watts = 5, .powered = true } };
	const struct tw_sum vm = machine(host, 1);
	struct tw_sum_part guest[] = {
		{ .kind = PACKAGE, .watts = 3, .powered = true },
		{ .kind = PACKAGE, .watts = 4, .powered = true },
	};

	(void)state;
	tw_cover_take_watts(&vm, guest, 2);
	assert_float_equal(guest[0].watts, 0, 1e-9);
	assert_float_equal(guest[1].watts, 2, 1e-9);
	host[0].powered = false;
	tw_cover_take_watts(&vm, guest, 2);
	assert_float_equal(guest[1].watts, 2, 1e-9);
}

/* A guest that shows its host's meter: within 15 % in most answers; six in a row at most.
 */
static void a_guest_that_reads_its_host_s_meter_is_like_it(void **state)
{
	struct tw_sum_part host[] = { { .kind = PACKAGE, .watts = 100, .powered = true },
				      { .kind = DRAM, .watts = 10, .powered = true } };
	struct tw_sum_part guest[] = { { .kind = PACKAGE, .watts = 115, .powered = true },
				       { .kind = CORE, .watts = 50, .powered = true } };
	struct tw_cover c = { 0 };

	(void)state;
	for (int i = 1; i <= 5; i++) {
		tw_cover_compare(&c, guest, 2, host, 2);
		assert_int_equal(c.like, i < 3 ? i : 3);
	}
	guest[0].watts = 84;
	for (int i = 1; i <= 8; i++) {
		tw_cover_compare(&c, guest, 2, host, 2);
		assert_int_equal(c.like, i < 6 ? 3 - i : -3);
	}
	/* Nothing to compare. */
	tw_cover_compare(&c, guest + 1, 1, host, 2);
	assert_int_equal(c.like, -3);
	guest[0].watts = 100;
	guest[0].powered = false;
	tw_cover_compare(&c, guest, 2, host, 2);
	assert_int_equal(c.like, -3);
}

static void what_is_not_covered_waits_and_is_counted(void **state)
{
	struct tw_sum_part part[] = { { .kind = PACKAGE, .dynamic_uj = 5, .idle_uj = 2 },
				      { .kind = DRAM, .idle_uj = 3 } };
	struct tw_sum_part none[] = { { .kind = PACKAGE } };
	struct tw_cover c = { 0 };

	(void)state;
	assert_false(tw_cover_waits(&c, none, 1, 100, 50));
	assert_int_equal(c.since_ns, 0);
	assert_true(tw_cover_waits(&c, part, 2, 100, 50));
	assert_true(tw_cover_waits(&c, part, 2, 149, 50));
	assert_int_equal(c.beyond_uj[PACKAGE], 0);
	assert_false(tw_cover_waits(&c, part, 2, 150, 50));
	assert_int_equal(c.beyond_uj[PACKAGE], 7);
	assert_int_equal(c.beyond_uj[DRAM], 3);
	assert_true(tw_cover_waits(&c, part, 2, 151, 50));
	assert_false(tw_cover_waits(&c, none, 1, 152, 50)); /* covered in time */
	assert_true(tw_cover_waits(&c, part, 2, 201, 50));
	assert_int_equal(c.beyond_uj[PACKAGE], 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_machine_covers_its_energy_once),
		cmocka_unit_test(the_last_joules_are_not_covered_twice),
		cmocka_unit_test(a_kind_that_began_again_covers_nothing),
		cmocka_unit_test(a_missing_kind_is_covered_like_the_others),
		cmocka_unit_test(other_kinds_are_covered_by_the_largest),
		cmocka_unit_test(watts_are_covered_as_energy_is),
		cmocka_unit_test(a_guest_that_reads_its_host_s_meter_is_like_it),
		cmocka_unit_test(what_is_not_covered_waits_and_is_counted),
	};

	return cmocka_run_group_tests_name("agent_cover", tests, NULL, NULL);
}
