/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "collector/power/track.h"

#include <string.h>

#define S UINT64_C(1000000000)
#define J UINT64_C(1000000)

struct tracked {
	struct tw_track track;
	struct tw_zone zone;
	uint64_t now_ns, sample;
};

static struct tracked of_power(void)
{
	return (struct tracked){ .zone = { .kind = TW_ZONE_PLATFORM,
					   .reports_power = true },
				 .now_ns = 100 * S };
}

/* A reading after so long; power_w below 0: the zone is unreadable. */
static struct tw_span take(struct tracked *t, double power_w, uint64_t tick_ns)
{
	const struct tw_reading r = { .readable = power_w >= 0,
				      .power_w = power_w,
				      .sample = ++t->sample,
				      .why = "the controller is busy" };

	t->now_ns += tick_ns;
	return tw_track_take(&t->track, &t->zone, &r, t->now_ns, tick_ns);
}

static struct tw_span take_energy(struct tracked *t, uint64_t energy_uj, uint64_t tick_ns)
{
	const struct tw_reading r = { .readable = true, .energy_uj = energy_uj };

	t->now_ns += tick_ns;
	return tw_track_take(&t->track, &t->zone, &r, t->now_ns, tick_ns);
}

static void power_is_energy_over_the_tick(void **state)
{
	struct tracked t = of_power();
	struct tw_span s;

	(void)state;
	s = take(&t, 80, 0);
	assert_false(s.known);
	assert_string_equal(s.why, "read once only");
	s = take(&t, 80, S / 2);
	assert_true(s.known && !s.lost && !s.gap);
	assert_int_equal(s.energy_uj, 40 * J);
	assert_int_equal(s.of_ns, S / 2);
}

static void fractions_of_a_microjoule_are_carried_on(void **state)
{
	struct tracked t = of_power();
	uint64_t sum_uj = 0;

	(void)state;
	for (int i = 0; i < 1000; i++)
		sum_uj += take(&t, 0.0333, 1000000).energy_uj; /* 33.3 uJ */
	assert_in_range(sum_uj, 33299, 33300);
}

/* From 60 W to 100 W in 3 s that nobody has read: 240 J, and 100 J of the tick. */
static void power_in_a_gap_is_the_mean_of_both_ends(void **state)
{
	struct tracked t = of_power();
	struct tw_span s;

	(void)state;
	take(&t, 60, S);
	for (int i = 0; i < 3; i++) {
		s = take(&t, -1, S);
		assert_false(s.known);
		assert_string_equal(s.why, "the controller is busy");
	}
	s = take(&t, 100, S);
	assert_true(s.known && s.gap && !s.lost);
	assert_int_equal(s.energy_uj, 340 * J);
	assert_int_equal(s.of_ns, 4 * S);
	assert_int_equal(s.over_ns, 4 * S);
	s = take(&t, 100, S);
	assert_false(s.gap);
	assert_int_equal(s.energy_uj, 100 * J);
}

/* A refused reading is a gap, too: 0 W, and a jump until another reading has it. */
static void refused_readings_are_a_gap(void **state)
{
	struct tracked t = of_power();
	struct tw_span s;

	(void)state;
	take(&t, 100, S);
	assert_string_equal(take(&t, 0, S).why, "it reports 0 W");
	assert_int_equal(take(&t, 100, S).energy_uj, 200 * J);
	assert_false(take(&t, 2000, S).known);
	s = take(&t, 2000, S);
	assert_true(s.known && s.gap);
	assert_int_equal(s.energy_uj, 2000 * J + (100 + 2000) / 2 * J);
	assert_int_equal(t.track.refused, 2);
}

static void energy_before_the_first_reading_is_unknown(void **state)
{
	struct tracked t = of_power();
	struct tw_span s;

	(void)state;
	take(&t, -1, 0);
	take(&t, -1, S);
	s = take(&t, 100, S);
	assert_true(s.known && s.lost && !s.gap);
	assert_int_equal(s.energy_uj, 100 * J);
}

/* 60 s and ten ticks are the limit, as of counters. */
static void power_in_a_long_gap_is_unknown(void **state)
{
	static const struct {
		uint64_t tick_s, ticks;
		bool lost;
	} gaps[] = {
		{ 1, 60, false }, { 1, 61, true }, { 20, 10, false }, { 20, 11, true }
	};

	(void)state;
	for (size_t g = 0; g < sizeof(gaps) / sizeof(gaps[0]); g++) {
		const uint64_t tick_ns = gaps[g].tick_s * S;
		struct tracked t = of_power();
		struct tw_span s;

		take(&t, 10, tick_ns);
		for (uint64_t i = 0; i < gaps[g].ticks; i++)
			take(&t, -1, tick_ns);
		s = take(&t, 10, tick_ns);
		assert_int_equal(s.lost, gaps[g].lost);
		assert_int_equal(s.gap, !gaps[g].lost);
		assert_int_equal(s.energy_uj,
				 10 * J * gaps[g].tick_s *
					 (gaps[g].lost ? 1 : gaps[g].ticks + 1));
	}
}

/* The clock of readings counts a suspend; the ticks' does not. */
static void a_suspend_is_no_gap(void **state)
{
	struct tracked t = of_power();

	(void)state;
	take(&t, 100, S);
	t.now_ns += 1000 * S;
	assert_int_equal(take(&t, 100, S).energy_uj, 100 * J);
}

static void a_counter_says_where_its_energy_is_lost(void **state)
{
	struct tracked t = { .zone = { .kind = TW_ZONE_PACKAGE, .range_uj = 1000 * J } };
	struct tw_span s;

	(void)state;
	assert_true(take_energy(&t, 500 * J, 0).lost);
	assert_false(take_energy(&t, 510 * J, S).lost);
	take(&t, -1, S);
	s = take_energy(&t, 530 * J, S);
	assert_true(s.known && s.gap && !s.lost);
	assert_int_equal(s.energy_uj, 20 * J);
	/* Around its range it would have used 991 J in a second: it was reset. */
	t.zone.range_uj = 100000 * J;
	s = take_energy(&t, J, S);
	assert_true(!s.known && s.lost);
	assert_int_equal(t.track.resets, 1);
	t.now_ns += 100 * S;
	s = take_energy(&t, 3 * J, S);
	assert_true(!s.known && s.lost);
	assert_string_equal(s.why, "its readings were gone for too long");
}

static void watch(struct tracked *t, uint64_t energy_uj, uint64_t after_ns)
{
	const struct tw_reading r = { .readable = true, .energy_uj = energy_uj };

	t->now_ns += after_ns;
	tw_track_watch(&t->track, &t->zone, &r, t->now_ns);
}

/* 300 W and ticks of ten minutes: the counter of 65.5 kJ wraps around nearly thrice. */
static void a_counter_that_wraps_more_than_once_is_watched(void **state)
{
	const uint64_t range_uj = 65532610987;
	struct tracked t = { .zone = { .kind = TW_ZONE_PACKAGE, .range_uj = range_uj } };
	uint64_t uj = 1000 * J, resets;
	struct tw_span s;

	(void)state;
	take_energy(&t, uj, 0);
	for (int tick = 0; tick < 3; tick++) {
		for (int i = 0; i < 29; i++)
			watch(&t, (uj += 6000 * J) % (range_uj + 1), 20 * S);
		t.now_ns -= 580 * S; /* take_energy() adds the whole tick */
		s = take_energy(&t, (uj += 6000 * J) % (range_uj + 1), 600 * S);
		assert_true(s.known && !s.lost && !s.gap);
		assert_int_equal(s.energy_uj, 180000 * J);
		assert_int_equal(s.of_ns, 600 * S);
	}
	assert_int_equal(t.track.wraps, uj / (range_uj + 1));
	/* A counter that was set back between is no wrap-around. */
	resets = t.track.resets;
	watch(&t, 0, 20 * S);
	watch(&t, 6000 * J, 20 * S);
	t.now_ns -= 40 * S;
	s = take_energy(&t, 12000 * J, 600 * S);
	assert_true(!s.known && s.lost);
	assert_int_equal(t.track.resets, resets + 1);
	s = take_energy(&t, 18000 * J, 20 * S);
	assert_true(s.known);
	assert_int_equal(s.energy_uj, 6000 * J);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(power_is_energy_over_the_tick),
		cmocka_unit_test(fractions_of_a_microjoule_are_carried_on),
		cmocka_unit_test(power_in_a_gap_is_the_mean_of_both_ends),
		cmocka_unit_test(refused_readings_are_a_gap),
		cmocka_unit_test(energy_before_the_first_reading_is_unknown),
		cmocka_unit_test(power_in_a_long_gap_is_unknown),
		cmocka_unit_test(a_suspend_is_no_gap),
		cmocka_unit_test(a_counter_says_where_its_energy_is_lost),
		cmocka_unit_test(a_counter_that_wraps_more_than_once_is_watched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
