/* SPDX-License-Identifier: Apache-2.0 */
/* Meters together: order, choice, the simulated one. */
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/meters/meter_fixture.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/tw_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void of_two_meters_of_a_kind_one_is_believed(void **state)
{
	struct meter_fixture *f = *state;

	write_socket(f, 0, WATTS(1));
	tree_write(f->dir, "class/hwmon/hwmon0/name", "fam15h_power\n");
	tree_write(f->dir, "class/hwmon/hwmon0/power1_input", "50000000\n");
	meters_open(f);
	meters_tick(f);
	write_socket(f, 0, WATTS(31));
	meters_tick(f);
	assert_int_equal(meters_zones(f), 4);
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), WATTS(30));
}

/* The first look at RAPL tells none, nor does a tick without the platform's. */
static void platform_power_beyond_the_other_zones_is_other(void **state)
{
	static const struct {
		const char *inlet_uw;
		unsigned long long package_uj, dram_uj;
		long long other_uj; /* -1: not told */
	} ticks[] = {
		{ "90000000", 1000, 1000, -1 },
		{ "90000000", 30001000, 10001000, 50000000 },
		/* 60 W more than the inlet tells: owed, and taken off what comes then. */
		{ "90000000", 180001000, 10001000, 0 },
		{ "90000000", 190001000, 20001000, 10000000 },
		/* The inlet's 90 J, and 20 J of the others, wait for the next tick. */
		{ "0", 200001000, 30001000, -1 },
		{ "90000000", 240001000, 40001000, 110000000 },
	};
	struct meter_fixture *f = *state;

	tree_write(f->dir, "class/hwmon/hwmon2/name", "power_meter\n");
	for (size_t i = 0; i < TW_COUNT(ticks); i++) {
		tree_write(f->dir, "class/hwmon/hwmon2/power1_average",
			   ticks[i].inlet_uw);
		tree_rapl(f->dir, CAP "intel-rapl:0", "package-0", ticks[i].package_uj,
			  RANGE);
		tree_rapl(f->dir, CAP "intel-rapl:0:0", "dram", ticks[i].dram_uj, RANGE);
		if (i == 0)
			meters_open(f);
		meters_tick(f);
		assert_int_equal(tw_power_complete(f->power, TW_ZONE_OTHER),
				 ticks[i].other_uj >= 0);
		assert_int_equal(meters_zone(f, "other", -2)->fresh,
				 ticks[i].other_uj >= 0);
		assert_int_equal(meters_ticked(f, TW_ZONE_OTHER),
				 ticks[i].other_uj > 0 ? ticks[i].other_uj : 0);
	}
	assert_int_equal(zone_energy(meters_zone(f, "other", -2)), 170000000);
	assert_float_equal(meters_zone(f, "other", -2)->power_w, 55, 1e-6);
	assert_string_equal(tw_power_meter(f->power, TW_ZONE_OTHER)->name, "acpi");
}

/* The package's energy before its reset is unknown: "other" begins anew. */
static void energy_lost_of_a_part_is_not_other(void **state)
{
	struct meter_fixture *f = *state;
	static const struct {
		unsigned long long package_uj;
		long long other_uj; /* -1: not told */
	} ticks[] = {
		{ WATTS(1), -1 },
		{ WATTS(31), 60000000 },
		{ WATTS(11), -1 }, /* reset: what it used is unknown */
		{ WATTS(41), 60000000 },
	};

	tree_write(f->dir, "class/hwmon/hwmon2/name", "power_meter\n");
	tree_write(f->dir, "class/hwmon/hwmon2/power1_average", "90000000");
	for (size_t i = 0; i < TW_COUNT(ticks); i++) {
		tree_rapl(f->dir, CAP "intel-rapl:0", "package-0", ticks[i].package_uj,
			  WATTS(1000000));
		if (i == 0)
			meters_open(f);
		meters_tick(f);
		assert_int_equal(meters_zone(f, "other", -2)->fresh,
				 ticks[i].other_uj >= 0);
		assert_int_equal(meters_ticked(f, TW_ZONE_OTHER),
				 ticks[i].other_uj > 0 ? ticks[i].other_uj : 0);
	}
	assert_int_equal(meters_zone(f, "package-0", -2)->track.resets, 1);
}

#define BIT(kind) (1U << TW_ZONE_##kind)

/* hwmonN: power1_average of that chip. */
static void write_power(const struct meter_fixture *f, int n, const char *chip,
			const char *uw)
{
	char path[64];

	snprintf(path, sizeof(path), "class/hwmon/hwmon%d/name", n);
	tree_write(f->dir, path, chip);
	snprintf(path, sizeof(path), "class/hwmon/hwmon%d/power1_average", n);
	tree_write(f->dir, path, uw);
}

/* Five ticks of 150 W of the package. */
static void tick_package(struct meter_fixture *f)
{
	static unsigned long long seconds = 1;

	for (int i = 0; i < 5; i++, seconds++) {
		tree_rapl(f->dir, CAP "intel-rapl:0", "package-0", WATTS(150 * seconds),
			  WATTS(1000000000));
		if (f->power == NULL)
			meters_open(f);
		meters_tick(f);
	}
}

/* Idle power is not known yet: all energy is dynamic. */
static void each_package_has_its_own_energy(void **state)
{
	struct meter_fixture *f = *state;
	struct tw_package_energy e;

	/* The second reading is of a time before the first tick, too; the last stands
	 * still. */
	for (unsigned long long second = 1; second <= 4; second++) {
		write_socket(f, 0, WATTS(10 * second));
		write_socket(f, 1, WATTS(30 * (second < 4 ? second : 3)));
		if (f->power == NULL)
			meters_open(f);
		meters_tick(f);
		tw_power_package(f->power, 1, false, &e);
		assert_int_equal(e.whole[TW_ZONE_PACKAGE], second == 3);
		assert_int_equal(e.dynamic_uj[TW_ZONE_PACKAGE],
				 second == 2 || second == 3 ? WATTS(30) : 0);
	}
	tw_power_package(f->power, 0, false, &e);
	assert_true(e.whole[TW_ZONE_PACKAGE]);
	assert_false(e.idle_known[TW_ZONE_PACKAGE]);
	assert_int_equal(e.dynamic_uj[TW_ZONE_PACKAGE], WATTS(10));
	assert_int_equal(e.dynamic_uj[TW_ZONE_DRAM], WATTS(1));
	tw_power_package(f->power, 2, true, &e);
	assert_int_equal(e.dynamic_uj[TW_ZONE_PACKAGE], 0);
	assert_false(e.whole[TW_ZONE_PACKAGE]);
}

/* The second die of an MI250, dram of a board without it. */
static void parts_that_never_have_a_reading_leave_the_rest_known(void **state)
{
	struct meter_fixture *f = *state;

	write_power(f, 0, "power_meter\n", "800000000");
	write_power(f, 1, "amdgpu\n", "300000000");
	write_power(f, 2, "amdgpu\n", "0");
	tree_rapl(f->dir, CAP "intel-rapl:0:0", "dram", 0, RANGE);
	tick_package(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_OTHER), WATTS(350));
	assert_true(tw_power_complete(f->power, TW_ZONE_GPU));
	assert_false(tw_power_complete(f->power, TW_ZONE_DRAM));
	assert_int_equal(tw_power_sum_kinds(f->power),
			 BIT(PACKAGE) | BIT(GPU) | BIT(OTHER));
	assert_string_equal(meters_zone(f, "dram", 0)->why,
			    "its counter has not moved yet");
	/* It is read: from now on its energy is known, and missed. */
	write_power(f, 2, "amdgpu\n", "50000000");
	tick_package(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_OTHER), WATTS(300));
	tree_remove(f->dir, "class/hwmon/hwmon2/power1_average");
	tick_package(f);
	assert_false(meters_zone(f, "other", -2)->fresh);
	assert_false(tw_power_complete(f->power, TW_ZONE_GPU));
}

static void a_gpu_that_sleeps_has_no_energy_of_that_time(void **state)
{
	struct meter_fixture *f = *state;
	uint64_t before_uj;

	write_power(f, 0, "power_meter\n", "800000000");
	write_power(f, 1, "amdgpu\n", "300000000");
	tick_package(f);
	before_uj = zone_energy(meters_zone(f, "power1", -1));
	write_power(f, 0, "power_meter\n", "500000000");
	write_power(f, 1, "amdgpu\n", "0");
	tick_package(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_OTHER), WATTS(350));
	assert_int_equal(tw_power_sum_kinds(f->power), BIT(PACKAGE) | BIT(OTHER));
	write_power(f, 1, "amdgpu\n", "300000000");
	meters_tick(f);
	assert_int_equal(zone_energy(meters_zone(f, "power1", -1)) - before_uj,
			 WATTS(300));
}

/* The machine is its parts, and without their sum the whole, or what is left. */
static void the_sum_is_of_kinds_that_have_readings(void **state)
{
	struct meter_fixture *f = *state;

	tree_rapl(f->dir, CAP "intel-rapl:0:0", "dram", 0, RANGE);
	write_power(f, 0, "power_meter\n", "0");
	tick_package(f);
	assert_int_equal(tw_power_sum_kinds(f->power), BIT(PACKAGE));
	/* A package whose counter stands still from the start. */
	tree_remove(f->dir, CAP "intel-rapl:0");
	tree_rapl(f->dir, CAP "intel-rapl:0", "package-15", 0, RANGE);
	write_power(f, 0, "power_meter\n", "90000000");
	meters_open(f);
	for (int i = 0; i < 5; i++)
		meters_tick(f);
	assert_int_equal(tw_power_sum_kinds(f->power), BIT(PLATFORM));
	assert_int_equal(meters_ticked(f, TW_ZONE_PLATFORM), WATTS(90));
}

static void a_package_that_cannot_be_read_is_missed(void **state)
{
	struct meter_fixture *f = *state;

	tree_rapl(f->dir, CAP "intel-rapl:1", "package-1", 1, RANGE);
	tree_remove(f->dir, CAP "intel-rapl:1/energy_uj");
	tick_package(f);
	assert_false(tw_power_complete(f->power, TW_ZONE_PACKAGE));
	tree_rapl(f->dir, CAP "intel-rapl:1", "package-1", 1, RANGE);
	tick_package(f);
	assert_true(tw_power_complete(f->power, TW_ZONE_PACKAGE));
}

static void the_fake_follows_its_law_and_is_asked_for_only(void **state)
{
	struct meter_fixture *f = *state;
	struct tw_power_config c = {
		.meter = { .roots = &f->roots, .node = &f->node, .nvml = f->nvml }
	};
	struct tw_strs names = { 0 };
	struct tw_err err = { 0 };
	double sum_w = 0;

	assert_int_equal(tw_strs_adds(&names, "fake", &err), 0);
	c.meters = &names;
	f->node.used.cpu_ns = 2 * S;
	assert_int_equal(tw_power_open(&c, &f->power, &err), 0);
	meters_tick(f);
	for (int i = 0; i < 1000; i++) {
		meters_tick(f);
		sum_w += (double)meters_ticked(f, TW_ZONE_PACKAGE) / 1e6;
	}
	/* 1000 noises of 2 % even: their mean is within 0.2 %. */
	assert_float_equal(sum_w / 1000, 4 * (3 + 9 * pow(0.5, 0.8)), 0.06);
	assert_string_equal(tw_power_meter(f->power, TW_ZONE_PACKAGE)->name, "fake");
	tw_strs_clear(&names);
	assert_int_equal(tw_strs_adds(&names, "sundial", &err), 0);
	assert_int_equal(tw_power_open(&c, &f->power, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_string_equal(err.text, "no meter 'sundial'");
	tw_strs_clear(&names);
}

static void the_registry_has_no_name_twice(void **state)
{
	(void)state;
	for (size_t i = 0; i < tw_meter_count(); i++)
		assert_ptr_equal(tw_meter_find(tw_meter_at(i)->name), tw_meter_at(i));
	assert_null(tw_meter_find("sundial"));
}

static void opening_without_memory_fails(void **state)
{
	struct meter_fixture *f = *state;
	const struct tw_power_config c = {
		.meter = { .roots = &f->roots, .node = &f->node, .nvml = f->nvml }
	};

	write_socket(f, 0, 1);
	tree_write(f->dir, "class/hwmon/hwmon0/name", "power_meter\n");
	tree_write(f->dir, "class/hwmon/hwmon0/power1_average", "20000000\n");
	for (int n = 1;; n++) {
		struct tw_power *p = NULL;
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_power_open(&c, &p, &err);
		if (!fail_alloc_told(rc, &err)) {
			tw_power_close(p);
			break;
		}
	}
}

/* A platform that lags leaves nothing for "other" in a tick: its idle power stays known.
 */
static void idle_power_of_other_is_known_with_the_platform_s(void **state)
{
	struct meter_fixture *f = *state;
	const struct tw_power_zone *other;
	unsigned long long joules = 0;

	tree_write(f->dir, "class/hwmon/hwmon0/name", "power_meter\n");
	tree_write(f->dir, "class/hwmon/hwmon0/power1_average", "100000000\n");
	for (int tick = 0; tick < 10; tick++) {
		joules += tick < 9 ? 60 : 140;
		tree_rapl(f->dir, CAP "intel-rapl:0", "package-0", WATTS(joules), RANGE);
		if (tick == 0)
			meters_open(f);
		f->now_ns += S;
		tw_power_tick(f->power, f->now_ns, tick == 0 ? 0 : S, 0.01, NULL);
		other = meters_zone(f, "other", -2);
		if (tick == 2)
			assert_false(tw_power_knows_idle(f->power, other));
		if (tick >= 8)
			assert_true(tw_power_knows_idle(f->power, other));
	}
	assert_float_equal(other->idle_w, 0, 0);
	assert_float_equal(other->power_w, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		METER_TEST(idle_power_of_other_is_known_with_the_platform_s),
		METER_TEST(of_two_meters_of_a_kind_one_is_believed),
		METER_TEST(platform_power_beyond_the_other_zones_is_other),
		METER_TEST(energy_lost_of_a_part_is_not_other),
		METER_TEST(parts_that_never_have_a_reading_leave_the_rest_known),
		METER_TEST(a_gpu_that_sleeps_has_no_energy_of_that_time),
		METER_TEST(the_sum_is_of_kinds_that_have_readings),
		METER_TEST(a_package_that_cannot_be_read_is_missed),
		METER_TEST(each_package_has_its_own_energy),
		METER_TEST(the_fake_follows_its_law_and_is_asked_for_only),
		METER_TEST(the_registry_has_no_name_twice),
		METER_TEST(opening_without_memory_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
