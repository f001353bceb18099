/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "collector/power/track.h"
#include "lib/core/array.h"

#include <math.h>
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

/* A reading after this time; power_w below 0: the zone is unreadable. */
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
	for (size_t g = 0; g < TW_COUNT(gaps); g++) {
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
		assert_int_equal(s.over_ns,
				 tick_ns * (gaps[g].lost ? 1 : gaps[g].ticks + 1));
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

/* ---- limits ---- */

/* Below the limit of its kind a power counts, at it none. */
static void a_kind_has_a_limit_of_power(void **state)
{
	static const struct {
		enum tw_zone_kind kind;
		double limit_w;
	} cases[] = {
		{ TW_ZONE_PACKAGE, 2000 }, { TW_ZONE_CORE, 2000 },
		{ TW_ZONE_UNCORE, 1000 },  { TW_ZONE_DRAM, 1000 },
		{ TW_ZONE_PSYS, 10000 },   { TW_ZONE_PLATFORM, 50000 },
		{ TW_ZONE_GPU, 4000 },     { TW_ZONE_OTHER, 50000 },
		{ TW_ZONE_SENSOR, 50000 },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const uint64_t joules = (uint64_t)cases[i].limit_w;
		struct tracked t = of_power();
		struct tracked c = { .zone = { .range_uj = UINT64_C(1) << 50 } };

		t.zone.kind = c.zone.kind = cases[i].kind;
		assert_false(take(&t, cases[i].limit_w, S).known);
		assert_int_equal(t.track.refused, 1);
		assert_true(take(&t, cases[i].limit_w - 0.001, S).known);
		/* A counter may tell the energy of two seconds at once. */
		take_energy(&c, J, 0);
		assert_true(take_energy(&c, J + 2 * joules * J - 1, S).known);
		assert_true(take_energy(&c, J + 2 * joules * J, S).known);
		assert_int_equal(c.track.resets, 0);
		assert_false(take_energy(&c, J + 4 * joules * J, S).known);
		assert_int_equal(c.track.resets, 1);
		assert_true(take_energy(&c, J + 9 * joules * J - 1, 5 * S).known);
		assert_false(take_energy(&c, J + 14 * joules * J, 5 * S).known);
	}
}

/* More than ten times as much, and more than 50 W: read twice, by two samples. */
static void a_jump_of_power_is_read_twice(void **state)
{
	static const struct {
		double from_w, to_w;
		bool jumps;
	} cases[] = { { 10, 100, false },   { 10, 100.1, true }, { 5, 55, false },
		      { 5, 55.1, true },    { 1, 51, false },    { 1, 51.1, true },
		      { 100, 1000, false }, { 100, 1001, true }, { 100, 1, false } };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tracked t = of_power();

		take(&t, cases[i].from_w, S);
		assert_int_equal(take(&t, cases[i].to_w, S).known, !cases[i].jumps);
		assert_int_equal(t.track.refused, cases[i].jumps);
		/* The same sample again is no other reading. */
		if (cases[i].jumps) {
			t.sample--;
			assert_false(take(&t, cases[i].to_w, S).known);
			assert_int_equal(t.track.refused, 1);
		}
		assert_true(take(&t, cases[i].to_w, S).known);
		/* A meter that numbers no samples. */
		t = of_power();
		take(&t, cases[i].from_w, S);
		t.sample = UINT64_MAX;
		assert_int_equal(take(&t, cases[i].to_w, S).known, !cases[i].jumps);
		t.sample = UINT64_MAX;
		assert_true(take(&t, cases[i].to_w, S).known);
		/* An estimate may jump. */
		t = of_power();
		t.zone.estimated = true;
		take(&t, cases[i].from_w, S);
		assert_true(take(&t, cases[i].to_w, S).known);
	}
}

static void zero_watts_are_of_an_estimate_alone(void **state)
{
	struct tracked t = of_power();

	(void)state;
	t.zone.estimated = true;
	assert_true(take(&t, 0, S).known);
	assert_false(take(&t, (double)NAN, S).known);
	t.zone.estimated = false;
	assert_string_equal(take(&t, 0, S).why, "it reports 0 W");
	assert_int_equal(t.track.refused, 1);
}

/* ---- counters ---- */

/* At its range a counter may be, above it not; without a range it may not fall. */
static void a_counter_has_a_range(void **state)
{
	struct tracked t = { .zone = { .kind = TW_ZONE_PACKAGE, .range_uj = 1000 } };
	struct tw_span s;

	(void)state;
	take_energy(&t, 1000, 0);
	s = take_energy(&t, 0, S);
	assert_true(s.known);
	assert_int_equal(s.energy_uj, 1);
	assert_int_equal(t.track.wraps, 1);
	s = take_energy(&t, 999, S);
	assert_int_equal(s.energy_uj, 999);
	assert_int_equal(t.track.wraps, 1);
	assert_string_equal(take_energy(&t, 1001, S).why,
			    "its counter is above its range");
	assert_int_equal(t.track.refused, 1);
	t = (struct tracked){ .zone = { .kind = TW_ZONE_PACKAGE } };
	take_energy(&t, 1000, 0);
	assert_true(take_energy(&t, 1001, S).known);
	s = take_energy(&t, 1000, S);
	assert_false(s.known);
	assert_string_equal(s.why, "its counter was set to another value");
	/* The range has become smaller than the last value. */
	t = (struct tracked){ .zone = { .kind = TW_ZONE_PACKAGE, .range_uj = 1000 } };
	take_energy(&t, 900, 0);
	t.zone.range_uj = 800;
	assert_false(take_energy(&t, 10, S).known);
}

/* How long it may stand still: 30 s, or as long as its meter's window. */
static void a_counter_that_stands_still_is_unknown(void **state)
{
	static const struct {
		uint64_t window_ms, still_s;
	} cases[] = { { 0, 30 }, { 29000, 30 }, { 31000, 31 } };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tracked t = { .zone = { .kind = TW_ZONE_PACKAGE,
					       .window_ms = cases[i].window_ms } };
		struct tw_span s;

		take_energy(&t, J, 0);
		assert_string_equal(take_energy(&t, J, S).why,
				    "its counter has not moved yet");
		assert_true(take_energy(&t, 2 * J, S).known);
		for (uint64_t k = 0; k < cases[i].still_s; k++) {
			s = take_energy(&t, 2 * J, S);
			assert_true(s.known);
			assert_int_equal(s.energy_uj, 0);
			assert_int_equal(s.over_ns, S);
			assert_int_equal(s.of_ns, 0);
		}
		assert_string_equal(take_energy(&t, 2 * J, S).why,
				    "its counter stands still");
		/* What it grows by then is of the last tick alone. */
		s = take_energy(&t, 3 * J, S);
		assert_true(s.known);
		assert_int_equal(s.of_ns, S);
		/* After a short rest it is of all of it. */
		take_energy(&t, 3 * J, S);
		s = take_energy(&t, 4 * J, S);
		assert_int_equal(s.of_ns, 2 * S);
		assert_int_equal(s.over_ns, S);
	}
}

/* An uncore without load uses nothing: its counter may rest for ever. */
static void an_uncore_may_rest(void **state)
{
	struct tracked t = { .zone = { .kind = TW_ZONE_UNCORE } };
	struct tw_span s;

	(void)state;
	take_energy(&t, J, 0);
	take_energy(&t, 2 * J, S);
	for (int i = 0; i < 100; i++) {
		s = take_energy(&t, 2 * J, S);
		assert_true(s.known);
		assert_int_equal(s.of_ns, S);
	}
	assert_int_equal(take_energy(&t, 3 * J, S).of_ns, S);
	take_energy(&t, 3 * J, S);
	assert_int_equal(take_energy(&t, 4 * J, S).of_ns, S);
}

/* A plug counts while the machine sleeps, the machine's own counter does not. */
static void a_suspend_is_of_a_plug(void **state)
{
	(void)state;
	for (int keeps = 0; keeps < 2; keeps++) {
		struct tracked t = { .zone = { .kind = TW_ZONE_PLATFORM,
					       .keeps_counting = keeps } };
		struct tw_span s;

		take_energy(&t, J, 0);
		take_energy(&t, 2 * J, S);
		t.now_ns += 50 * S;
		s = take_energy(&t, 3 * J, S);
		assert_true(s.known);
		assert_int_equal(s.over_ns, keeps ? 51 * S : S);
		t.now_ns += 100 * S;
		s = take_energy(&t, 4 * J, S);
		assert_int_equal(s.known, keeps);
		assert_int_equal(t.track.resets, !keeps);
		/* From here on it is read as before. */
		s = take_energy(&t, 9 * J, S);
		assert_true(s.known);
		assert_int_equal(s.energy_uj, 5 * J);
		assert_int_equal(s.over_ns, S);
	}
}

/* What is watched between two ticks: a counter with a range, at a possible value. */
static void only_a_counter_with_a_range_is_watched(void **state)
{
	static const struct {
		uint64_t range_uj, uj;
		bool power, unbased, watched;
	} cases[] = {
		{ 1000, 900, false, false, true },   { 1000, 1000, false, false, true },
		{ 1000, 1001, false, false, false }, { 0, 900, false, false, false },
		{ 1000, 900, true, false, false },   { 1000, 900, false, true, false },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tracked t = { .zone = { .kind = TW_ZONE_PACKAGE,
					       .range_uj = cases[i].range_uj } };

		if (!cases[i].unbased)
			take_energy(&t, 100, 0);
		t.zone.reports_power = cases[i].power;
		watch(&t, cases[i].uj, S);
		assert_int_equal(t.track.ahead_uj,
				 cases[i].watched ? cases[i].uj - 100 : 0);
		assert_int_equal(t.track.watched_uj == cases[i].uj, cases[i].watched);
		assert_false(t.track.broken);
	}
}

/* 2 kW since the last time that it was watched, not since the tick. */
static void what_is_watched_must_be_possible(void **state)
{
	static const struct {
		uint64_t joules;
		bool broken;
	} cases[] = { { 3999, false }, { 4000, true } };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tracked t = { .zone = { .kind = TW_ZONE_PACKAGE,
					       .range_uj = UINT64_C(1) << 50 } };

		take_energy(&t, J, 0);
		watch(&t, 2 * J, 20 * S);
		watch(&t, (2 + cases[i].joules) * J, S);
		assert_int_equal(t.track.broken, cases[i].broken);
		assert_int_equal(take_energy(&t, 5000 * J, 9 * S).known,
				 !cases[i].broken);
		assert_false(t.track.broken);
	}
}

/* ---- idle power ---- */

static void learn(struct tw_idle *i, double load, double power_w, int samples)
{
	for (int k = 0; k < samples; k++)
		tw_idle_learn(i, (uint64_t)(power_w * 1e6), S, load);
}

/* The line through the lowest and the highest load with five samples each. */
static void idle_power_is_where_the_line_has_no_load(void **state)
{
	static const struct {
		double low, low_w, high, high_w;
		int samples;
		double idle_w;
	} cases[] = {
		{ 0.25, 40, 0.75, 80, 5, 20 },
		{ 0.25, 40, 0.75, 80, 4, 0 },
		{ 0.02, 21, 0.99, 99, 5, 19.392 },
		{ 0.01, 30, 0.01, 30, 5, 30 },
		{ 0.06, 30, 0.06, 30, 5, 0 },
		{ 0.25, 40, 1.0, 70, 5, 30 },
		/* Less power at more load: as much as at the least. */
		{ 0.25, 40, 0.75, 30, 5, 40 },
		/* No machine has less than nothing. */
		{ 0.5, 10, 0.99, 90, 5, 0 },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_idle idle = { 0 };

		learn(&idle, cases[i].low, cases[i].low_w, cases[i].samples);
		learn(&idle, cases[i].high, cases[i].high_w, cases[i].samples);
		if (!(fabs(idle.idle_w - cases[i].idle_w) < 0.1))
			fail_msg("case %zu: %g W", i, idle.idle_w);
	}
}

/* A sample is a second or more, and ends with energy. */
static void samples_of_idle_power_are_a_second(void **state)
{
	struct tw_idle i = { 0 };

	(void)state;
	for (int k = 0; k < 5; k++) {
		tw_idle_learn(&i, 0, S, 0.01);
		assert_int_equal(i.seen[0], k);
		tw_idle_learn(&i, 10 * J, S / 2, 0.03);
		assert_int_equal(i.seen[0], k + 1);
		assert_true(fabs(i.power_w[0][k] - 20 / 3.0) < 1e-4);
		assert_true(fabs(i.load[0][k] - 0.025 / 1.5) < 1e-4);
		assert_true(i.energy_uj == 0 && i.load_ns == 0 && i.over_ns == 0);
	}
	assert_true(fabs(i.idle_w - 20 / 3.0) < 1e-4);
	tw_idle_learn(&i, J, S - 1, 0.01);
	assert_int_equal(i.seen[0], 5);
}

/* Outliers do not count: the middle of the last samples does. */
static void idle_power_is_of_the_median(void **state)
{
	struct tw_idle i = { 0 };

	(void)state;
	learn(&i, 0.01, 500, 2);
	learn(&i, 0.01, 30, 2);
	learn(&i, 0.01, 10, 1);
	assert_true(fabs(i.idle_w - 30) < 1e-4);
	learn(&i, 0.01, 20, 1);
	assert_true(fabs(i.idle_w - 30) < 1e-4);
	learn(&i, 0.01, 20, 2);
	assert_true(fabs(i.idle_w - 25) < 1e-4);
	learn(&i, 0.01, 70, TW_IDLE_KEPT);
	assert_true(fabs(i.idle_w - 70) < 1e-4);
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
		cmocka_unit_test(a_kind_has_a_limit_of_power),
		cmocka_unit_test(a_jump_of_power_is_read_twice),
		cmocka_unit_test(zero_watts_are_of_an_estimate_alone),
		cmocka_unit_test(a_counter_has_a_range),
		cmocka_unit_test(a_counter_that_stands_still_is_unknown),
		cmocka_unit_test(an_uncore_may_rest),
		cmocka_unit_test(a_suspend_is_of_a_plug),
		cmocka_unit_test(only_a_counter_with_a_range_is_watched),
		cmocka_unit_test(what_is_watched_must_be_possible),
		cmocka_unit_test(idle_power_is_where_the_line_has_no_load),
		cmocka_unit_test(samples_of_idle_power_are_a_second),
		cmocka_unit_test(idle_power_is_of_the_median),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
