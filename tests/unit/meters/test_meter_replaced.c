/* SPDX-License-Identifier: Apache-2.0 */
/* Meters that are wrong or dead for a while, and others that count meanwhile. */
#include "collector/power/guard.h"
#include "lib/core/array.h"
#include "tests/unit/meters/meter_fixture.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/tw_test.h"

#include <stdio.h>
#include <string.h>

#define BIT(kind) (1U << TW_ZONE_##kind)
#define SPAN_TICKS ((int)(TW_GUARD_SPAN_NS / S))

static void write_package(const struct meter_fixture *f, double joules)
{
	tree_rapl(f->dir, CAP "intel-rapl:0", "package-0",
		  1000000 + (unsigned long long)(joules * 1e6), RANGE);
}

/* By the energy of a tick: that of one meter, or of none. */
static int counting_of(const struct meter_fixture *f, const unsigned *watts, size_t count)
{
	const uint64_t uj = meters_ticked(f, TW_ZONE_PLATFORM);

	for (size_t i = 0; i < count; i++)
		if (uj == WATTS(watts[i]))
			return (int)i;
	assert_int_equal(uj, 0);
	return -1;
}

/* Energy of all zones of the kind that have counted. */
static uint64_t exported_uj(const struct meter_fixture *f, enum tw_zone_kind kind)
{
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(f->power, &count);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		if (z[i].zone->kind == kind && (z[i].counts || z[i].superseded))
			sum += zone_energy(&z[i]);
	return sum;
}

static void write_board(const struct meter_fixture *f, const char *uw)
{
	tree_write(f->dir, "class/hwmon/hwmon0/name", "power_meter\n");
	tree_write(f->dir, "class/hwmon/hwmon0/power1_average", uw);
}

/* The machine's sensor of a POWER9, less trusted than the meter of the board. */
static void write_system(const struct meter_fixture *f)
{
	tree_write(f->dir, "class/hwmon/hwmon1/name", "ibmpowernv\n");
	tree_write(f->dir, "class/hwmon/hwmon1/power1_label", "System\n");
	tree_write(f->dir, "class/hwmon/hwmon1/power1_input", "412000000\n");
}

/*
 * The firmware of a board's meter reports 0.4 W for a while. The meter that it had
 * replaced counts meanwhile; then the board's does, again, and "other" with it. Each tick
 * has the energy of one meter, and no counter falls.
 */
static void a_platform_counts_again_once_it_is_plausible(void **state)
{
	enum { LATE = 10, FALSE_AT = 100, TRUE_AT = 300, TICKS_ALL = 500 };
	static const unsigned watts[] = { 412, 400 };
	struct meter_fixture *f = *state;
	uint64_t sum[2] = { 0, 0 };
	int seen[4] = { 0, 0, 0, 0 }, phase = 0;

	write_system(f);
	write_package(f, 100);
	meters_open(f);
	for (int i = 0; i < TICKS_ALL; i++) {
		int at;

		write_package(f, 100 * (i + 2));
		if (i == LATE || i == TRUE_AT)
			write_board(f, "400000000\n");
		if (i == FALSE_AT)
			write_board(f, "400000\n");
		meters_tick(f);
		sum[0] += meters_ticked(f, TW_ZONE_PLATFORM);
		sum[1] += meters_ticked(f, TW_ZONE_OTHER);
		assert_int_equal(exported_uj(f, TW_ZONE_PLATFORM), sum[0]);
		assert_int_equal(exported_uj(f, TW_ZONE_OTHER), sum[1]);
		/* Until two spans have shown that it is false, and in the next tick. */
		if (i >= FALSE_AT && phase == 1 &&
		    meters_ticked(f, TW_ZONE_PLATFORM) == 400000)
			continue;
		at = counting_of(f, watts, TW_COUNT(watts));
		if (at >= 0 && at != (phase & 1)) {
			phase++;
			assert_true(phase < 4);
			seen[phase] = i;
		}
		/* A new meter, or one that was stopped, is read once. */
		if (at < 0)
			assert_true(i == 0 || (phase == 1 && i > FALSE_AT));
	}
	assert_int_equal(phase, 3);
	assert_in_range(seen[1], 30, 35);
	assert_in_range(seen[2], FALSE_AT + 2 * SPAN_TICKS,
			FALSE_AT + 3 * SPAN_TICKS + 2);
	assert_in_range(seen[3], TRUE_AT + 4 * SPAN_TICKS, TRUE_AT + 5 * SPAN_TICKS + 2);
	assert_int_equal(meters_ticked(f, TW_ZONE_OTHER), WATTS(300));
	assert_string_equal(meters_zone(f, "power1", -2)->doubt, "");
}

/* ---- meters that die ---- */

#define DEAD_AT 100
#define BACK_AT 300
static const unsigned two_meters[] = { 412, 400 };

/*
 * The less trusted meter counts once the board's was dead for two spans, and until it was
 * back for four. Each tick has the energy of one meter, and no counter falls.
 */
static void check_replaced(struct meter_fixture *f, int board_at)
{
	int at = -1, changed[4] = { 0 }, changes = 0;
	uint64_t sum = 0;

	write_system(f);
	for (int i = 0; i < BACK_AT + 6 * SPAN_TICKS; i++) {
		int now;

		if (i == board_at || i == BACK_AT)
			write_board(f, "400000000\n");
		if (i == DEAD_AT)
			write_board(f, "no power\n");
		if (i == 0)
			meters_open(f);
		meters_tick(f);
		sum += meters_ticked(f, TW_ZONE_PLATFORM);
		assert_int_equal(exported_uj(f, TW_ZONE_PLATFORM), sum);
		now = counting_of(f, two_meters, TW_COUNT(two_meters));
		if (now >= 0 && now != at && i > board_at + 2 * SPAN_TICKS) {
			changed[changes++] = i;
			assert_true(changes < 4);
		}
		at = now >= 0 ? now : at;
		if (i == BACK_AT - 1) {
			const struct tw_power_zone *board = meters_zone(f, "power1", -2);

			assert_string_equal(board->meter->name, "acpi");
			assert_non_null(strstr(board->why, "not read for a minute: '"));
			assert_non_null(strstr(board->why, "want a number"));
			assert_string_equal(board->doubt, "");
			assert_true(tw_power_complete(f->power, TW_ZONE_PLATFORM));
			assert_string_equal(tw_power_source(f->power, TW_ZONE_PLATFORM),
					    "hwmon");
		}
	}
	assert_int_equal(changes, 2);
	assert_in_range(changed[0], DEAD_AT + 2 * SPAN_TICKS,
			DEAD_AT + 3 * SPAN_TICKS + 2);
	assert_in_range(changed[1], BACK_AT + 4 * SPAN_TICKS,
			BACK_AT + 5 * SPAN_TICKS + 2);
	assert_int_equal(at, 1);
}

static void another_meter_counts_while_one_is_dead(void **state)
{
	check_replaced(*state, 0);
}

static void a_replaced_meter_counts_while_its_successor_is_dead(void **state)
{
	check_replaced(*state, 10);
}

/* The other meter dies, too: the first one is waited for no longer than a span. */
static void a_meter_that_is_back_alone_counts_soon(void **state)
{
	enum { OTHER_DEAD_AT = DEAD_AT + 4 * SPAN_TICKS };
	struct meter_fixture *f = *state;
	int counts_at = 0;

	write_system(f);
	for (int i = 0; counts_at == 0 && i < BACK_AT + 6 * SPAN_TICKS; i++) {
		if (i == 0 || i == BACK_AT)
			write_board(f, "400000000\n");
		if (i == DEAD_AT)
			write_board(f, "no power\n");
		if (i == OTHER_DEAD_AT)
			tree_write(f->dir, "class/hwmon/hwmon1/power1_input", "none\n");
		if (i == 0)
			meters_open(f);
		meters_tick(f);
		if (i == OTHER_DEAD_AT - 1)
			assert_int_equal(counting_of(f, two_meters, 2), 0);
		if (i > OTHER_DEAD_AT && counting_of(f, two_meters, 2) == 1)
			counts_at = i;
	}
	assert_in_range(counts_at, BACK_AT + SPAN_TICKS, BACK_AT + 2 * SPAN_TICKS + 2);
}

/* Nothing else reads the same, or not for long enough: the meter is waited for. */
static void a_meter_that_is_away_for_a_while_counts_on(void **state)
{
	struct meter_fixture *f = *state;

	for (int other = 0; other < 2; other++) {
		if (other)
			write_system(f);
		for (int i = 0; i < 5 * SPAN_TICKS; i++) {
			if (i % (other ? 2 * SPAN_TICKS : 5 * SPAN_TICKS) == 0)
				write_board(f, "400000000\n");
			if (i % (other ? 2 * SPAN_TICKS : 5 * SPAN_TICKS) == 5)
				write_board(f, "no power\n");
			if (i == 0)
				meters_open(f);
			meters_tick(f);
			assert_true(meters_zone(f, "power1", -2)->counts);
		}
	}
}

static void write_energy(const struct meter_fixture *f, int joules)
{
	char text[64];

	snprintf(text, sizeof(text), "%d J 1 us\n", joules);
	tree_write(f->dir, "cray/pm_counters/energy", text);
}

/*
 * A counter that stands still is dead, if it belongs to the machine. A plug's has the
 * energy at its next step, however late.
 */
static void a_plug_between_two_steps_is_not_dead(void **state)
{
	enum { STILL_AT = 100, STEP_AT = 300 };
	struct meter_fixture *f = *state;

	write_system(f);
	for (int plug = 0; plug < 2; plug++) {
		uint64_t sum = 0;

		write_energy(f, 0);
		meters_open(f);
		((struct tw_zone *)(uintptr_t)meters_zone(f, "energy", -2)->zone)
			->keeps_counting = plug;
		for (int i = 1; i <= STEP_AT; i++) {
			if (i <= STILL_AT || i == STEP_AT)
				write_energy(f, 400 * i);
			meters_tick(f);
			sum += meters_ticked(f, TW_ZONE_PLATFORM);
			if (i == STEP_AT - 1)
				assert_int_equal(meters_zone(f, "energy", -2)->counts,
						 plug);
		}
		if (plug)
			assert_int_equal(sum, WATTS(400) * (STEP_AT - 1));
	}
}

/*
 * A platform that had less power than its parts for a while: "other" begins with it once
 * it has more, and does not make up for what was missing.
 */
static void a_doubt_that_ends_leaves_no_debt(void **state)
{
	enum { LOW = 300, ALL = LOW + 2 * (int)(TW_GUARD_SPAN_NS / S) };
	struct meter_fixture *f = *state;

	for (int i = 0; i < ALL; i++) {
		write_package(f, 100 * (i + 2));
		write_board(f, i < LOW ? "50000000\n" : "300000000\n");
		if (i == 0)
			meters_open(f);
		meters_tick(f);
		if (i == LOW - 1) {
			assert_non_null(strstr(meters_zone(f, "power1", -2)->doubt,
					       "package, dram and gpu have"));
			assert_int_equal(tw_power_sum_kinds(f->power), BIT(PLATFORM));
		}
	}
	assert_string_equal(meters_zone(f, "power1", -2)->doubt, "");
	assert_int_equal(tw_power_sum_kinds(f->power), BIT(PACKAGE) | BIT(OTHER));
	assert_int_equal(meters_ticked(f, TW_ZONE_OTHER), WATTS(200));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		METER_TEST(a_platform_counts_again_once_it_is_plausible),
		METER_TEST(another_meter_counts_while_one_is_dead),
		METER_TEST(a_replaced_meter_counts_while_its_successor_is_dead),
		METER_TEST(a_meter_that_is_back_alone_counts_soon),
		METER_TEST(a_meter_that_is_away_for_a_while_counts_on),
		METER_TEST(a_plug_between_two_steps_is_not_dead),
		METER_TEST(a_doubt_that_ends_leaves_no_debt),
	};

	return cmocka_run_group_tests_name("meters replaced", tests, NULL, NULL);
}
