/* SPDX-License-Identifier: Apache-2.0 */
/* A machine whose readings contradict physics, in each way that power/guard.h knows. */
#include "tests/unit/meters/meter_fixture.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/tw_test.h"

#include <stdio.h>
#include <string.h>

#define BIT(kind) (1U << TW_ZONE_##kind)
#define TICKS 64

/* Watts of the machine's counters; 0: it is not there. The load varies by tick. */
struct machine {
	double package[2], core, dram, platform;
	double skew; /* of package 1: its power is not in step with package 0's */
	bool has_tdp;
};

static double load_at(int tick)
{
	return 1 + 0.3 * (tick * 7 % 10) / 10;
}

/* The second package has a load of its own. */
static double other_load_at(int tick)
{
	return 1 + 0.3 * (tick * 3 % 10) / 10;
}

static void write_counter(const struct meter_fixture *f, const char *dir,
			  const char *name, double joules)
{
	if (joules > 0)
		tree_rapl(f->dir, dir, name, 1000000 + (unsigned long long)(joules * 1e6),
			  RANGE);
}

static void write_machine(const struct meter_fixture *f, const struct machine *m,
			  double sum, double other_sum)
{
	const double second = m->skew > 0 ? other_sum : sum;
	char text[32];

	write_counter(f, CAP "intel-rapl:0", "package-0", m->package[0] * sum);
	write_counter(f, CAP "intel-rapl:0:0", "core", m->core * sum);
	write_counter(f, CAP "intel-rapl:0:1", "dram", m->dram * sum);
	write_counter(f, CAP "intel-rapl:1", "package-1", m->package[1] * second);
	if (m->has_tdp)
		tree_write(f->dir, CAP "intel-rapl:0/constraint_0_max_power_uw",
			   "150000000\n");
	if (!(m->platform > 0))
		return;
	snprintf(text, sizeof(text), "%.0f\n", m->platform * 1e6);
	tree_write(f->dir, "class/hwmon/hwmon0/name", "power_meter\n");
	tree_write(f->dir, "class/hwmon/hwmon0/power1_average", text);
}

/* Returns what the next tick multiplies the powers with. */
static double run(struct meter_fixture *f, const struct machine *m)
{
	double sum = 1, other_sum = 1;

	for (int i = 0; i < TICKS; i++) {
		write_machine(f, m, sum, other_sum);
		if (i == 0)
			meters_open(f);
		meters_tick(f);
		sum += load_at(i);
		other_sum += other_load_at(i);
	}
	return sum;
}

static const char *doubt_of(const struct meter_fixture *f, const char *name)
{
	return meters_zone(f, name, -2)->doubt;
}

static void assert_doubted(const struct meter_fixture *f, const char *name,
			   const char *text)
{
	if (strstr(doubt_of(f, name), text) == NULL)
		fail_msg("%s: '%s', want '%s'", name, doubt_of(f, name), text);
}

static void a_true_machine_is_not_doubted(void **state)
{
	static const struct machine m = { { 100, 110 }, 60, 20, 400, 1, true };
	struct meter_fixture *f = *state;

	run(f, &m);
	assert_string_equal(doubt_of(f, "package-0"), "");
	assert_string_equal(doubt_of(f, "package-1"), "");
	assert_string_equal(doubt_of(f, "power1"), "");
	assert_int_equal(tw_power_sum_kinds(f->power),
			 BIT(PACKAGE) | BIT(DRAM) | BIT(OTHER));
}

static void cores_may_not_have_more_than_their_package(void **state)
{
	static const struct machine m = { { 100, 0 }, 120, 20, 0, 0, false };
	struct meter_fixture *f = *state;

	run(f, &m);
	assert_doubted(f, "package-0", "core and uncore have 1");
	assert_int_equal(tw_power_sum_kinds(f->power), BIT(PACKAGE) | BIT(DRAM));
}

/* The platform counts alone: what is in it is not known. */
static void parts_may_not_have_more_than_the_platform(void **state)
{
	static const struct machine m = { { 100, 110 }, 60, 20, 150, 1, false };
	struct meter_fixture *f = *state;

	run(f, &m);
	assert_doubted(f, "power1", "package, dram and gpu have 2");
	assert_int_equal(tw_power_sum_kinds(f->power), BIT(PLATFORM));
}

/* Its counter is in a wrong unit: it is absent, not wrong. */
static void a_package_is_not_above_three_times_its_design_power(void **state)
{
	static const struct machine m = { { 700, 0 }, 60, 20, 0, 0, true };
	struct meter_fixture *f = *state;

	run(f, &m);
	assert_doubted(f, "package-0", "design power");
	assert_false(meters_zone(f, "package-0", -2)->counts);
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), 0);
}

static void a_package_at_rest_uses_some_power(void **state)
{
	static const struct machine m = { { 0.2, 0 }, 0, 20, 0, 0, true };
	struct meter_fixture *f = *state;

	run(f, &m);
	assert_doubted(f, "package-0", "at rest");
}

static void two_counters_in_step_are_one(void **state)
{
	static const struct machine m = { { 100, 100 }, 60, 20, 0, 0, false };
	struct meter_fixture *f = *state;
	double sum = run(f, &m);

	assert_doubted(f, "package-1", "its counter is that of package-0");
	assert_true(meters_zone(f, "package-0", -2)->counts);
	assert_false(meters_zone(f, "package-1", -2)->counts);
	write_machine(f, &m, sum, sum);
	meters_tick(f);
	write_machine(f, &m, sum + 1, sum + 1);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), WATTS(100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		METER_TEST(a_true_machine_is_not_doubted),
		METER_TEST(cores_may_not_have_more_than_their_package),
		METER_TEST(parts_may_not_have_more_than_the_platform),
		METER_TEST(a_package_is_not_above_three_times_its_design_power),
		METER_TEST(a_package_at_rest_uses_some_power),
		METER_TEST(two_counters_in_step_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
