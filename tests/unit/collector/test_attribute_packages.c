/* SPDX-License-Identifier: Apache-2.0 */
/* Division of the energy of packages among what ran on each. */
#include "tests/unit/tw_test.h"

#include "collector/power/attribute.h"
#include "collector/workloads/schedule.h"
#include "collector/workloads/workload.h"
#include "lib/core/err.h"

#include <string.h>

#define S UINT64_C(1000000000)
#define SLICES 3
#define PACKAGES 2

struct fixture {
	struct tw_attribution *a;
	struct tw_workload group[SLICES];
	struct tw_slice slice[SLICES];
	struct tw_package_use use[SLICES][PACKAGES];
	struct tw_package_energy package[PACKAGES];
	struct tw_charge energy;
	const struct tw_charge *charge;
};

static int setup(void **state)
{
	static struct fixture f;
	struct tw_err err = { 0 };

	memset(&f, 0, sizeof(f));
	for (int i = 0; i < SLICES; i++)
		f.slice[i] = (struct tw_slice){ .cgroup = &f.group[i] };
	if (tw_attribution_open(TW_IDLE_BY_USE, &f.a, &err) < 0)
		fail_msg("%s", err.text);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tw_attribution_close(f->a);
	return 0;
}

static void run(struct fixture *f, int slice, int package, uint64_t alone_ns,
		uint64_t awake_ns)
{
	struct tw_package_use *u = &f->use[slice][package];

	*u = (struct tw_package_use){ .alone_ns = alone_ns,
				      .awake_ns = awake_ns,
				      .cycles = 2 * alone_ns,
				      .instructions = 4 * alone_ns };
	f->slice[slice].used.cpu_ns = 0;
	for (int p = 0; p < PACKAGES; p++)
		f->slice[slice].used.cpu_ns += f->use[slice][p].alone_ns;
	f->slice[slice].used.counter[TW_COUNTER_CYCLES] = 2 * f->slice[slice].used.cpu_ns;
}

static void divide(struct fixture *f, uint64_t uj0, uint64_t uj1)
{
	const uint64_t all = tw_charge_sum(&tw_attribution_stats(f->a)->waiting, ~0U) +
			     f->energy.dynamic_uj[TW_ZONE_PACKAGE];
	const struct tw_dividend d = { .energy = &f->energy,
				       .over_ns = S,
				       .slice = f->slice,
				       .count = SLICES,
				       .packages = PACKAGES,
				       .use = &f->use[0][0],
				       .package = f->package };
	struct tw_err err = { 0 };
	uint64_t sum = 0;

	f->package[0].dynamic_uj[TW_ZONE_PACKAGE] = uj0;
	f->package[1].dynamic_uj[TW_ZONE_PACKAGE] = uj1;
	for (int p = 0; p < PACKAGES; p++)
		f->package[p].whole[TW_ZONE_PACKAGE] = true;
	if (tw_attribution_divide(f->a, &d, &f->charge, &err) < 0)
		fail_msg("%s", err.text);
	for (int i = 0; i < SLICES; i++)
		sum += f->charge[i].dynamic_uj[TW_ZONE_PACKAGE];
	assert_int_equal(sum + tw_charge_sum(&tw_attribution_stats(f->a)->waiting, ~0U),
			 all);
	assert_int_equal(tw_attribution_stats(f->a)->errors, 0);
}

static uint64_t charged(const struct fixture *f, int slice)
{
	return f->charge[slice].dynamic_uj[TW_ZONE_PACKAGE];
}

static void energy_of_a_package_is_of_what_ran_there(void **state)
{
	struct fixture *f = *state;

	run(f, 0, 0, S, S);
	run(f, 1, 1, S, S / 2);
	run(f, 2, 1, 3 * S, S / 2);
	f->energy.dynamic_uj[TW_ZONE_PACKAGE] = 1400;
	divide(f, 1000, 400);
	assert_int_equal(charged(f, 0), 1000);
	assert_int_equal(charged(f, 1), 100);
	assert_int_equal(charged(f, 2), 300);
	assert_string_equal(tw_attribution_rule(f->a, TW_ZONE_PACKAGE), "package");
	assert_string_equal(tw_attribution_rule(f->a, TW_ZONE_DRAM), "plain");
}

/* Of a package on which nothing ran, and of zones whose package is unknown. */
static void energy_of_no_package_is_divided_as_a_whole(void **state)
{
	struct fixture *f = *state;

	run(f, 0, 0, S, S / 2);
	run(f, 1, 0, S, S / 2);
	f->energy.dynamic_uj[TW_ZONE_PACKAGE] = 1000;
	divide(f, 100, 300);
	assert_int_equal(charged(f, 0), 500);
	assert_int_equal(charged(f, 1), 500);
	assert_int_equal(charged(f, 2), 0);
}

/* A package may not give more than the machine has, whatever its zones say. */
static void packages_give_no_more_than_the_machine_has(void **state)
{
	struct fixture *f = *state;

	run(f, 0, 0, S, S);
	run(f, 1, 1, S, S);
	f->energy.dynamic_uj[TW_ZONE_PACKAGE] = 100;
	divide(f, 70, 70);
	assert_int_equal(charged(f, 0), 70);
	assert_int_equal(charged(f, 1), 30);
}

/* A tick with no more energy than at rest says nothing of the rule. */
static void a_tick_without_energy_leaves_the_rule(void **state)
{
	struct fixture *f = *state;

	run(f, 0, 0, S, S);
	f->energy.dynamic_uj[TW_ZONE_PACKAGE] = 100;
	divide(f, 70, 30);
	f->energy.dynamic_uj[TW_ZONE_PACKAGE] = 0;
	divide(f, 0, 0);
	assert_string_equal(tw_attribution_rule(f->a, TW_ZONE_PACKAGE), "package");
	f->energy.dynamic_uj[TW_ZONE_PACKAGE] = 100;
	divide(f, 0, 0);
	assert_string_equal(tw_attribution_rule(f->a, TW_ZONE_PACKAGE), "plain");
}

/* Packages take 20 W awake and 5 W a core; idle_uj more of package 1 are not known. */
static void learn(struct fixture *f, uint64_t idle_uj)
{
	for (uint64_t tick = 0; tick < 300; tick++) {
		const uint64_t a = S * (tick % 7) / 7, b = S * (1 + tick % 5) / 5,
			       awake = a > b ? a : b;

		run(f, 0, 0, 2 * a, a / 2);
		run(f, 1, 0, b, awake - a / 2);
		run(f, 2, 1, b, b);
		f->energy.dynamic_uj[TW_ZONE_PACKAGE] =
			(20 * awake + 10 * a + 10 * b + 20 * b) / 1000 + idle_uj;
		divide(f, (20 * awake + 10 * a + 5 * b) / 1000, 25 * b / 1000 + idle_uj);
	}
}

/* One alone pays all of the 20 W. */
static void check_weights(struct fixture *f)
{
	assert_string_equal(tw_attribution_rule(f->a, TW_ZONE_PACKAGE), "learned");
	run(f, 0, 0, 2 * S, S / 2);
	run(f, 1, 0, S, S / 2);
	run(f, 2, 1, S, S);
	f->energy.dynamic_uj[TW_ZONE_PACKAGE] = 60000000;
	divide(f, 35000000, 25000000);
	assert_int_equal(charged(f, 2), 25000000);
	assert_in_range(charged(f, 0), 19600000, 20400000);
	assert_in_range(charged(f, 1), 14600000, 15400000);
}

static void learned_weights_divide_once_they_are_known(void **state)
{
	struct fixture *f = *state;

	learn(f, 0);
	check_weights(f);
}

/* What was learned without any idle power is forgotten once one is known. */
static void weights_are_of_energy_above_idle(void **state)
{
	struct fixture *f = *state;

	learn(f, 15000000);
	f->package[0].idle_known[TW_ZONE_PACKAGE] = true;
	learn(f, 15000000);
	check_weights(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(energy_of_a_package_is_of_what_ran_there),
		TEST(energy_of_no_package_is_divided_as_a_whole),
		TEST(packages_give_no_more_than_the_machine_has),
		TEST(a_tick_without_energy_leaves_the_rule),
		TEST(learned_weights_divide_once_they_are_known),
		TEST(weights_are_of_energy_above_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
