/* SPDX-License-Identifier: Apache-2.0 */
/* What the users of a zone take, learned: laws that the module does not know. */
#include "collector/power/unit_power.h"
#include "tests/unit/tw_test.h"

#include <math.h>
#include <string.h>

#define S UINT64_C(1000000000)
#define MOST_USERS 40

struct law {
	struct tw_unit_power learned;
	uint64_t seed;
	size_t first; /* of those in a tick */
	double awake_w, takes_w[MOST_USERS];
	double truth_j[MOST_USERS], got_j[MOST_USERS];
};

static double chance(struct law *l)
{
	l->seed = l->seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (double)(l->seed >> 33) / (double)(UINT64_C(1) << 31);
}

/* The parts of `samples` that are each one's, if the zone is sampled. */
static void sample(struct law *l, const double *part, size_t count, int samples,
		   double *seen)
{
	double busy = 0;

	for (size_t i = 0; i < count; i++)
		busy += part[i];
	memset(seen, 0, count * sizeof(*seen));
	for (int n = 0; n < samples; n++) {
		double at = chance(l) * busy;
		size_t i = 0;

		while (i + 1 < count && at >= part[i])
			at -= part[i++];
		seen[i] += busy / samples;
	}
}

/*
 * A tick of 3 s in which each works for a part of the time; unit ids are 1, 2, .. after
 * those before the first.
 */
static void tick(struct law *l, const double *part, size_t count, int samples)
{
	struct tw_zone_user user[MOST_USERS] = { { 0 } };
	uint64_t weight[MOST_USERS] = { 0 };
	double seen[MOST_USERS], energy_j = 3 * l->awake_w, sum = 0;
	bool some_none = count == 0;

	if (samples > 0)
		sample(l, part, count, samples, seen);
	else
		memcpy(seen, part, count * sizeof(*seen));
	for (size_t i = 0; i < count; i++) {
		const double own_j = 3 * part[i] * l->takes_w[l->first + i];
		const uint32_t id = (uint32_t)(l->first + i) + 1;

		energy_j += own_j;
		l->truth_j[l->first + i] += own_j + 3 * l->awake_w / (double)count;
		user[i] = (struct tw_zone_user){ id, id, (uint64_t)(3e9 * seen[i]) + 1,
						 3 * S, samples > 0 };
	}
	tw_unit_power_weigh(&l->learned, user, count, (uint64_t)(energy_j * 1e6), 3 * S,
			    weight);
	for (size_t i = 0; i < count; i++) {
		sum += (double)weight[i];
		some_none = some_none || weight[i] == 0;
	}
	/* The powers, in nW, are that of the zone, unless one would be below 0. */
	if (!some_none && l->learned.energy_j > 0 &&
	    fabs(sum * 3e-9 / energy_j - 1) > 1e-6)
		fail_msg("%f J of %f J", sum * 3e-9, energy_j);
	for (size_t i = 0; i < count; i++)
		l->got_j[l->first + i] += energy_j * (double)weight[i] / sum;
}

static void ticks(struct law *l, int n, const double *part, size_t count, int samples)
{
	memset(l->truth_j, 0, sizeof(l->truth_j));
	memset(l->got_j, 0, sizeof(l->got_j));
	for (int i = 0; i < n; i++)
		tick(l, part, count, samples);
}

static void assert_within(const struct law *l, size_t count, double percent)
{
	for (size_t i = 0; i < count; i++)
		if (fabs(l->got_j[i] / l->truth_j[i] - 1) > percent / 100)
			fail_msg("%zu: %f J instead of %f J", i, l->got_j[i],
				 l->truth_j[i]);
}

/* One has run alone before: the rest is the other's. */
static void who_has_run_alone_is_known(void **state)
{
	struct law l = { .seed = 1, .takes_w = { 300, 600 } };

	(void)state;
	ticks(&l, 10, (double[]){ 0.9 }, 1, 15);
	ticks(&l, 200, (double[]){ 0.5, 0.5 }, 2, 15);
	assert_within(&l, 2, 5);
	ticks(&l, 1000, (double[]){ 0.7, 0.2 }, 2, 15);
	assert_within(&l, 2, 5);
}

/* For a day: what was learned is not lost. */
static void chance_makes_units_not_alike(void **state)
{
	struct law l = { .seed = 8, .takes_w = { 300, 600 } };

	(void)state;
	ticks(&l, 10, (double[]){ 0.9 }, 1, 15);
	ticks(&l, 28800, (double[]){ 0.5, 0.5 }, 2, 15);
	ticks(&l, 1000, (double[]){ 0.5, 0.5 }, 2, 15);
	assert_within(&l, 2, 10);
}

/* Nothing tells them apart but time; and by time it was before. */
static void those_that_always_run_together_are_by_time(void **state)
{
	struct law l = { .seed = 2, .takes_w = { 300, 600 } };

	(void)state;
	ticks(&l, 300, (double[]){ 0.5, 0.25 }, 2, 15);
	assert_in_range((uint64_t)(100 * l.got_j[0] / (l.got_j[0] + l.got_j[1])), 64, 69);
}

/* Also by exact parts; then neither needs to have run alone. */
static void parts_that_change_tell_units_apart(void **state)
{
	struct law l = { .seed = 3, .takes_w = { 100, 500, 900 } };

	(void)state;
	for (int pass = 0; pass < 2; pass++) {
		ticks(&l, 0, NULL, 0, 0);
		for (int i = 0; i < 60; i++)
			tick(&l,
			     (double[]){ chance(&l) / 3, chance(&l) / 3, chance(&l) / 3 },
			     3, 0);
	}
	assert_within(&l, 3, 3);
}

static void what_it_takes_to_be_awake_is_of_all_alike(void **state)
{
	struct law l = { .seed = 4, .awake_w = 43, .takes_w = { 200, 200 } };

	(void)state;
	ticks(&l, 10, (double[]){ 0, 0 }, 2, 0);
	assert_within(&l, 2, 1);
	ticks(&l, 20, (double[]){ 0.5, 0 }, 2, 0);
	assert_within(&l, 2, 1);
	ticks(&l, 20, (double[]){ 0.5, 0.1 }, 2, 0);
	assert_within(&l, 2, 2);
}

/* 5 serves 7 and 8, which hold the zone, too, and has passed on what it used. */
static void a_process_awakes_a_zone_once(void **state)
{
	static const uint32_t tgid[] = { 5, 7, 8, 9, 7, 8 },
			      unit[] = { 5, 7, 8, 9, 5, 5 };
	static const uint64_t used_ns[] = { 0, 1, 1, 1, S / 4, S / 4 };
	struct tw_unit_power u = { .awake_w = 60, .rests = 1 };
	struct tw_zone_user user[6];
	uint64_t weight[6];

	(void)state;
	for (int i = 0; i < 6; i++)
		user[i] = (struct tw_zone_user){ tgid[i], unit[i], used_ns[i], S, true };
	tw_unit_power_weigh(&u, user, 6, 160 * 1000000, S, weight);
	assert_int_equal(weight[0], 0);
	assert_float_equal((double)(weight[1] + weight[4]) / 1e9, 20 + 50, 0.1);
	assert_float_equal((double)(weight[2] + weight[5]) / 1e9, 20 + 50, 0.1);
	assert_float_equal((double)weight[3] / 1e9, 20, 0.1);
}

/* How far a tick of 10 % more power than expected moves the power of a unit that is
 * known, beside one of this power. */
static double moved(double other_w, bool sampled)
{
	const struct tw_zone_user user[] = { { 1, 1, 2 * S, 3 * S, sampled },
					     { 2, 2, S, 3 * S, sampled } };
	struct law l = { .takes_w = { 300, other_w } };
	const double watts = (2 * 300 + other_w) / 3;
	uint64_t weight[2];

	for (size_t i = 0; i < 2; i++) {
		l.first = i;
		ticks(&l, 30, (double[]){ 0.9 }, 1, 15);
	}
	assert_float_equal(l.learned.unit[0].now_w, 300, 1);
	tw_unit_power_weigh(&l.learned, user, 2, (uint64_t)(3.3e6 * watts), 3 * S,
			    weight);
	return l.learned.unit[0].now_w - 300;
}

/* Few samples mistake one unit for another, which is an error of unlike units only. */
static void a_short_sampled_row_of_unlike_units_has_less_weight(void **state)
{
	static const double unlike[] = { 30, 900, 2000 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const double exact_w = moved(unlike[i], false),
			     sampled_w = moved(unlike[i], true);

		if (!(exact_w > 0 && sampled_w > 0 && sampled_w < exact_w / 2))
			fail_msg("%g W: %g and %g W", unlike[i], exact_w, sampled_w);
	}
	if (!(moved(300, true) > 0.8 * moved(300, false)))
		fail_msg("%g and %g W", moved(300, true), moved(300, false));
}

/* The pid of a process that has ended is another one's now. */
static void a_unit_that_is_another_one_is_learned_again(void **state)
{
	struct law l = { .seed = 5, .takes_w = { 300, 600 } };

	(void)state;
	ticks(&l, 50, (double[]){ 0.9 }, 1, 15);
	l.takes_w[0] = 600;
	l.takes_w[1] = 300;
	ticks(&l, 50, (double[]){ 0.9 }, 1, 15);
	ticks(&l, 200, (double[]){ 0.5, 0.5 }, 2, 15);
	assert_within(&l, 2, 5);
}

/* As many as there are GPUs' contexts; more than are learned count as the mean. */
static void more_units_than_are_learned_have_their_part(void **state)
{
	struct law l = { .seed = 6 };
	double part[MOST_USERS];

	(void)state;
	for (int i = 0; i < MOST_USERS; i++) {
		part[i] = 1.0 / MOST_USERS;
		l.takes_w[i] = 400;
	}
	ticks(&l, 100, part, MOST_USERS, 0);
	assert_within(&l, MOST_USERS, 1);
}

/* Those that are long gone make room for others. */
static void what_has_ended_is_forgotten(void **state)
{
	struct law l = { .seed = 7 };
	double part[MOST_USERS];
	int known = 0;

	(void)state;
	for (int i = 0; i < MOST_USERS; i++) {
		part[i] = 0.01;
		l.takes_w[i] = 400;
	}
	ticks(&l, 10, part, MOST_USERS, 0);
	ticks(&l, 400, part, 1, 0);
	for (int i = 0; i < TW_UNITS_MAX; i++)
		known += l.learned.unit[i].id != 0;
	assert_int_equal(known, 1);
}

/* Ticks of some units, each as busy as the others. */
static void ticks_of(struct law *l, int n, size_t first, size_t count, double busy)
{
	double part[MOST_USERS];

	for (size_t i = 0; i < count; i++)
		part[i] = busy / (double)count;
	l->first = first;
	ticks(l, n, part, count, 0);
}

static bool knows(const struct law *l, uint32_t id)
{
	for (int i = 0; i < TW_UNITS_MAX; i++)
		if (l->learned.unit[i].id == id)
			return true;
	return false;
}

/* One after another, as jobs are: of more than are learned, the last are. */
static void what_was_away_the_longest_makes_room(void **state)
{
	struct law l = { .seed = 9 };

	(void)state;
	for (size_t i = 0; i < MOST_USERS; i++)
		l.takes_w[i] = i == 18 ? 100 : 300;
	for (size_t i = 0; i < 19; i++)
		ticks_of(&l, 3, i, 1, 0.9);
	for (size_t i = 3; i < 19; i++)
		assert_true(knows(&l, (uint32_t)i + 1));
	ticks_of(&l, 30, 17, 2, 0.9);
	assert_float_equal(l.got_j[17] / l.truth_j[17], 1, 0.05);
	assert_float_equal(l.got_j[18] / l.truth_j[18], 1, 0.05);
}

/* B takes 100 W in a twentieth of the time, which is nothing of what A takes. */
static void who_is_away_keeps_its_power(void **state)
{
	struct law l = { .seed = 11, .takes_w = { 30, 2000 } };

	(void)state;
	ticks_of(&l, 30, 0, 1, 0.9);
	ticks_of(&l, 3, 1, 1, 0.05);
	assert_float_equal(l.learned.unit[0].now_w, 30, 1);
}

/* All that are learned worked a tick ago, so there is no room for those of now. */
static void a_tick_of_nobody_learned_teaches_nothing(void **state)
{
	struct law l = { .seed = 10 };

	(void)state;
	for (size_t i = 0; i < MOST_USERS; i++)
		l.takes_w[i] = i == 16 ? 100 : 300;
	ticks_of(&l, 1, 0, 16, 0.9);
	ticks_of(&l, 1, 16, 1, 0.9);
	assert_float_equal(l.got_j[16] / l.truth_j[16], 1, 1e-6);
	for (int i = 0; i < TW_UNITS_MAX; i++)
		assert_float_equal(l.learned.unit[i].now_w, 300, 1);
	ticks_of(&l, 3, 16, 1, 0.9);
	ticks_of(&l, 30, 15, 2, 0.9);
	assert_float_equal(l.got_j[15] / l.truth_j[15], 1, 0.05);
	assert_float_equal(l.got_j[16] / l.truth_j[16], 1, 0.05);
}

/* While nobody works: 10, 20 and 60 W; of many ticks the last ones count. */
static void awake_power_is_a_mean_of_the_last_rests(void **state)
{
	struct law l = { .seed = 12 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		l.awake_w = (double[]){ 10, 20, 60 }[i];
		tick(&l, (double[]){ 0 }, 0, 0);
	}
	assert_float_equal(l.learned.awake_w, 30, 1e-6);
	l.awake_w = 100;
	for (int i = 0; i < 100; i++)
		tick(&l, (double[]){ 0 }, 0, 0);
	assert_float_equal(l.learned.awake_w, 100, 1);
}

/* A tick without energy, or of which nothing may be learned, is divided by time. */
static void nothing_to_learn_from_is_by_time(void **state)
{
	static const struct tw_zone_user user[] = { { 1, 1, 5, 10, true },
						    { 2, 2, 3, 10, true } };
	struct tw_unit_power u = { .rests = 0 };
	uint64_t weight[2];

	(void)state;
	tw_unit_power_weigh(&u, user, 2, 0, S, weight);
	assert_int_equal(weight[0], 5);
	tw_unit_power_weigh(&u, user, 2, 1000, 0, weight);
	assert_int_equal(weight[1], 3);
	assert_int_equal(u.unit[0].id, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_has_run_alone_is_known),
		cmocka_unit_test(chance_makes_units_not_alike),
		cmocka_unit_test(those_that_always_run_together_are_by_time),
		cmocka_unit_test(parts_that_change_tell_units_apart),
		cmocka_unit_test(what_it_takes_to_be_awake_is_of_all_alike),
		cmocka_unit_test(a_process_awakes_a_zone_once),
		cmocka_unit_test(a_short_sampled_row_of_unlike_units_has_less_weight),
		cmocka_unit_test(a_unit_that_is_another_one_is_learned_again),
		cmocka_unit_test(more_units_than_are_learned_have_their_part),
		cmocka_unit_test(what_has_ended_is_forgotten),
		cmocka_unit_test(what_was_away_the_longest_makes_room),
		cmocka_unit_test(who_is_away_keeps_its_power),
		cmocka_unit_test(a_tick_of_nobody_learned_teaches_nothing),
		cmocka_unit_test(awake_power_is_a_mean_of_the_last_rests),
		cmocka_unit_test(nothing_to_learn_from_is_by_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
