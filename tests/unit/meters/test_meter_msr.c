/* SPDX-License-Identifier: Apache-2.0 */
/* RAPL by its registers: what machines have, and what it counts. */
#include "tests/unit/meters/meter_fixture.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/meters/msr_fixture.h"
#include "tests/unit/tw_test.h"

#include <string.h>

ssize_t __real_pread(int fd, void *buf, size_t len, off_t at);
ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t at);

ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t at)
{
	return msr_pread(fd, buf, len, at, __real_pread);
}

static void one_socket_has_its_parts(void **state)
{
	struct meter_fixture *f = *state;

	msr_model(f, "GenuineIntel", 6, 0x9e);
	msr_cpu(f, 0, 0, 0, 0);
	msr_cpu(f, 1, 0, 0, 1); /* has no file: it is not asked */
	msr_client(f, 0, 16384 * 8);
	meters_open(f);
	assert_int_equal(meters_zones(f), 5);
	meters_tick(f);
	assert_untold(f, "package-0", "read once only");
	msr_client(f, 0, 16384 * 48);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), WATTS(40));
	assert_int_equal(meters_ticked(f, TW_ZONE_CORE), WATTS(20));
	assert_int_equal(meters_ticked(f, TW_ZONE_UNCORE), WATTS(10));
	assert_int_equal(meters_ticked(f, TW_ZONE_DRAM), WATTS(5));
	assert_int_equal(meters_ticked(f, TW_ZONE_PSYS), WATTS(80));
	assert_string_equal(tw_power_meter(f->power, TW_ZONE_DRAM)->name, "rapl-msr");
	assert_non_null(
		strstr(meters_zone(f, "dram", 0)->zone->path, "/cpu/0/msr:0x619"));
}

static void two_sockets_are_apart_and_add_up(void **state)
{
	struct meter_fixture *f = *state;

	msr_model(f, "GenuineIntel", 6, 0x8f);
	for (unsigned cpu = 0; cpu < 4; cpu++)
		msr_cpu(f, cpu, cpu % 2, 0, (int)cpu / 2);
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		msr_register(f, cpu, 0x606, MSR_UNIT);
		msr_register(f, cpu, 0x611, 16384 * (cpu + 1));
		msr_register(f, cpu, 0x64d, 1000);
	}
	meters_open(f);
	/* Two packages; the whole machine once, though both tell it. */
	assert_int_equal(meters_zones(f), 3);
	assert_int_equal(meters_zone(f, "psys", -2)->zone->package, -1);
	meters_tick(f);
	msr_register(f, 0, 0x611, 16384 * 11);
	msr_register(f, 1, 0x611, 16384 * 32);
	msr_register(f, 0, 0x64d, 1090);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), WATTS(40));
	assert_int_equal(zone_energy(meters_zone(f, "package-1", 1)), WATTS(30));
	/* Of this model in J. */
	assert_int_equal(meters_ticked(f, TW_ZONE_PSYS), WATTS(90));
}

static void dies_of_intel_are_apart(void **state)
{
	struct meter_fixture *f = *state;

	msr_model(f, "GenuineIntel", 6, 0x55);
	for (unsigned cpu = 0; cpu < 4; cpu++) {
		msr_cpu(f, cpu, 0, (int)cpu / 2, (int)cpu);
		msr_register(f, cpu, 0x606, MSR_UNIT);
		msr_register(f, cpu, 0x611, 16384 * (cpu + 1));
		msr_register(f, cpu, 0x619, 1000 * (cpu + 1));
	}
	meters_open(f);
	assert_int_equal(meters_zones(f), 4);
	meters_tick(f);
	msr_register(f, 0, 0x611, 16384 * 11);
	msr_register(f, 2, 0x611, 16384 * 23);
	msr_register(f, 0, 0x619, 2000);
	meters_tick(f);
	assert_int_equal(zone_energy(meters_zone(f, "package-0-die-0", 0)), WATTS(10));
	assert_int_equal(zone_energy(meters_zone(f, "package-0-die-1", 0)), WATTS(20));
	/* 1000 of the 15.3 uJ that this model's dram is counted in. */
	assert_int_equal(zone_energy(meters_zone(f, "dram", 0)), 15300);
}

/* Of any other: each die shows the package's registers. */
static void other_dies_are_one_package(void **state)
{
	struct meter_fixture *f = *state;

	msr_model(f, "GenuineIntel", 6, 0xad);
	for (unsigned cpu = 0; cpu < 4; cpu++) {
		msr_cpu(f, cpu, 0, (int)cpu, (int)cpu);
		msr_register(f, cpu, 0x606, MSR_UNIT);
		msr_register(f, cpu, 0x611, 16384);
	}
	meters_open(f);
	assert_int_equal(meters_zones(f), 1);
	assert_non_null(meters_zone(f, "package-0", 0));
}

static void amd_is_by_package_and_by_core(void **state)
{
	struct meter_fixture *f = *state;

	msr_model(f, "AuthenticAMD", 25, 1);
	/* Two packages of two dies, a core with two threads each. */
	for (unsigned cpu = 0; cpu < 8; cpu++) {
		msr_cpu(f, cpu, (int)cpu / 4, (int)cpu / 2 % 2, (int)cpu / 2 % 2);
		msr_register(f, cpu, 0, 0);
	}
	for (unsigned cpu = 0; cpu < 8; cpu += 2) {
		msr_script(cpu, 0xc0010299, MSR_UNIT, 0);
		msr_script(cpu, 0xc001029a, 16384 + cpu, 0);
	}
	msr_script(0, 0xc001029b, 16384 * 10, 0);
	msr_script(4, 0xc001029b, 16384 * 20, 0);
	meters_open(f);
	assert_int_equal(meters_zones(f), 6);
	meters_tick(f);
	msr_script(0, 0xc001029b, 16384 * 40, 0);
	msr_script(4, 0xc001029b, 16384 * 60, 0);
	msr_script(6, 0xc001029a, 16384 * 2 + 6, 0);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), WATTS(70));
	assert_int_equal(zone_energy(meters_zone(f, "core-1", 1)), WATTS(1));
	assert_false(tw_power_complete(f->power, TW_ZONE_CORE));
}

static void chips_that_powercap_covers_are_left_to_it(void **state)
{
	struct meter_fixture *f = *state;

	msr_model(f, "GenuineIntel", 6, 0x9e);
	msr_cpu(f, 0, 0, 0, 0);
	msr_client(f, 0, 16384 * 8);
	write_socket(f, 0, WATTS(1));
	meters_open(f);
	/* Package, core and dram, and what powercap has not got. */
	assert_int_equal(meters_zones(f), 5);
	assert_string_equal(tw_power_meter(f->power, TW_ZONE_PACKAGE)->name,
			    "rapl-sysfs");
	assert_string_equal(tw_power_meter(f->power, TW_ZONE_PSYS)->name, "rapl-msr");
	tree_rapl(f->dir, CAP "intel-rapl:1", "psys", 7, RANGE);
	tree_rapl(f->dir, CAP "intel-rapl:0:2", "uncore", 7, RANGE);
	meters_open(f);
	assert_int_equal(meters_zones(f), 5);
	assert_non_null(
		strstr(f->passed, "rapl-msr: powercap already provides all its zones"));
}

static void a_counter_that_wraps_in_mid_interval_loses_nothing(void **state)
{
	struct meter_fixture *f = *state;

	msr_model(f, "GenuineIntel", 6, 0x9e);
	msr_cpu(f, 0, 0, 0, 0);
	msr_register(f, 0, 0x606, MSR_UNIT);
	msr_register(f, 0, 0x611, UINT32_MAX - 16383);
	meters_open(f);
	meters_tick(f);
	msr_register(f, 0, 0x611, UINT64_C(0xdead00000000) + 16384 * 9);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), WATTS(10));
	assert_int_equal(meters_zone(f, "package-0", 0)->track.wraps, 1);
	assert_int_equal(meters_zone(f, "package-0", 0)->zone->range_uj, 262143999999);
}

static void a_counter_that_is_reset_is_a_gap_and_no_energy(void **state)
{
	struct meter_fixture *f = *state;

	msr_model(f, "GenuineIntel", 6, 0x9e);
	msr_cpu(f, 0, 0, 0, 0);
	msr_register(f, 0, 0x606, MSR_UNIT);
	msr_register(f, 0, 0x611, UINT32_MAX / 2);
	meters_open(f);
	meters_tick(f);
	msr_register(f, 0, 0x611, 16384);
	meters_tick(f);
	assert_untold(f, "package-0", "set to another value");
	msr_register(f, 0, 0x611, 16384 * 3);
	meters_tick(f);
	assert_int_equal(zone_energy(meters_zone(f, "package-0", 0)), WATTS(2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MSR_TEST(one_socket_has_its_parts),
		MSR_TEST(two_sockets_are_apart_and_add_up),
		MSR_TEST(dies_of_intel_are_apart),
		MSR_TEST(other_dies_are_one_package),
		MSR_TEST(amd_is_by_package_and_by_core),
		MSR_TEST(chips_that_powercap_covers_are_left_to_it),
		MSR_TEST(a_counter_that_wraps_in_mid_interval_loses_nothing),
		MSR_TEST(a_counter_that_is_reset_is_a_gap_and_no_energy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
