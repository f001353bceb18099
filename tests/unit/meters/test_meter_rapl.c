/* SPDX-License-Identifier: Apache-2.0 */
/* RAPL by powercap, over trees as machines have them. */
#include "collector/workloads/schedule.h"
#include "lib/core/array.h"
#include "tests/unit/meters/meter_fixture.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/tw_test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void one_socket_has_its_parts(void **state)
{
	struct meter_fixture *f = *state;

	write_socket(f, 0, WATTS(100));
	meters_open(f);
	assert_int_equal(meters_zones(f), 3);
	meters_tick(f);
	assert_untold(f, "package-0", "read once only");
	write_socket(f, 0, WATTS(140));
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), WATTS(40));
	assert_int_equal(meters_ticked(f, TW_ZONE_CORE), WATTS(20));
	assert_int_equal(meters_ticked(f, TW_ZONE_DRAM), WATTS(4));
	assert_true(tw_power_complete(f->power, TW_ZONE_CORE));
	assert_false(tw_power_complete(f->power, TW_ZONE_UNCORE));
	assert_float_equal(meters_zone(f, "package-0", 0)->power_w, 40, 1e-9);
	assert_string_equal(tw_power_meter(f->power, TW_ZONE_DRAM)->name, "rapl-sysfs");
}

/* The host's collector has written a zone; RAPL beside it stays RAPL. */
static void a_tree_of_another_collector_has_its_origin(void **state)
{
	struct meter_fixture *f = *state;
	const struct tw_power_zone *z;

	write_socket(f, 0, WATTS(100));
	tree_rapl(f->dir, CAP "intel-rapl:1", "psys", WATTS(1), RANGE);
	tree_write(f->dir, CAP "intel-rapl:1/source", "model\n");
	tree_write(f->dir, CAP "intel-rapl:1/model", "Tree\033[1m_0\n");
	meters_open(f);
	assert_int_equal(meters_zones(f), 4);
	assert_string_equal(meters_zone(f, "package-0", 0)->meter->name, "rapl-sysfs");
	assert_string_equal(meters_zone(f, "package-0", 0)->zone->origin.source, "");
	z = meters_zone(f, "psys", -2);
	assert_string_equal(z->meter->name, "passthrough");
	assert_true(z->zone->estimated);
	assert_string_equal(z->zone->origin.source, "model");
	assert_string_equal(z->zone->origin.model, "Tree?[1m_0");
	/* The host has another model, then a meter. */
	tree_write(f->dir, CAP "intel-rapl:1/model", "Other_1\n");
	meters_tick(f);
	assert_string_equal(z->zone->origin.model, "Other_1");
	tree_write(f->dir, CAP "intel-rapl:1/model", "\n");
	meters_tick(f);
	assert_string_equal(z->zone->origin.model, "");
}

static void two_sockets_are_apart_and_add_up(void **state)
{
	struct meter_fixture *f = *state;

	write_socket(f, 0, WATTS(100));
	write_socket(f, 1, WATTS(500));
	meters_open(f);
	assert_int_equal(meters_zones(f), 6);
	meters_tick(f);
	write_socket(f, 0, WATTS(110));
	write_socket(f, 1, WATTS(530));
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), WATTS(40));
	assert_int_equal(zone_energy(meters_zone(f, "core", 0)), WATTS(5));
	assert_int_equal(zone_energy(meters_zone(f, "core", 1)), WATTS(15));
}

/* A socket that never rests, and another: 20 W, and 60 W more at full load. */
static void idle_power_of_a_socket_is_by_its_own_load(void **state)
{
	struct meter_fixture *f = *state;
	struct tw_schedule ran = {
		.package = { 1, 0 }, .packages = 2, .cpus_of = { 2, 4 }, .ns = S
	};
	struct tw_package_energy e;
	double uj[] = { WATTS(1), WATTS(1) };

	write_socket(f, 0, WATTS(1));
	write_socket(f, 1, WATTS(1));
	meters_open(f);
	for (int i = 0; i < 400; i++) {
		const double load[] = { 0.4 + i * 7 % 13 * 0.05, i * 5 % 11 * 0.1 };

		for (int socket = 0; socket < 2; socket++) {
			uj[socket] += (20 + 60 * load[socket]) * 1e6;
			write_socket(f, socket, (unsigned long long)uj[socket]);
		}
		ran.all[1].alone_ns = (uint64_t)(load[0] * 4 * S);
		ran.all[0].shared_ns = (uint64_t)(load[1] * 2 * S);
		f->now_ns += S;
		tw_power_tick(f->power, f->now_ns, S, (2 * load[0] + load[1]) / 3, &ran);
	}
	assert_float_equal(meters_zone(f, "package-0", 0)->idle_w, 20, 0.1);
	assert_float_equal(meters_zone(f, "package-1", 1)->idle_w, 20, 0.1);
	tw_power_package(f->power, 1, false, &e);
	assert_true(e.idle_known[TW_ZONE_PACKAGE]);
}

static void dies_of_a_socket_are_apart(void **state)
{
	struct meter_fixture *f = *state;

	tree_rapl(f->dir, CAP "intel-rapl:0", "package-0-die-0", 1000, RANGE);
	tree_rapl(f->dir, CAP "intel-rapl:1", "package-0-die-1", 5000, RANGE);
	meters_open(f);
	meters_tick(f);
	tree_rapl(f->dir, CAP "intel-rapl:0", "package-0-die-0", 1100, RANGE);
	tree_rapl(f->dir, CAP "intel-rapl:1", "package-0-die-1", 5011, RANGE);
	meters_tick(f);
	assert_int_equal(zone_energy(meters_zone(f, "package-0-die-0", 0)), 100);
	assert_int_equal(zone_energy(meters_zone(f, "package-0-die-1", 0)), 11);
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), 111);
}

/* Each die of two sockets has 30 J of package and 4 J of dram. */
static void write_dies(const struct meter_fixture *f, unsigned long long uj)
{
	for (int i = 0; i < 8; i++) {
		char path[64], name[64];

		snprintf(path, sizeof(path), CAP "intel-rapl:%d", i);
		snprintf(name, sizeof(name), "package-%d-die-%d", i / 4, i % 4);
		tree_rapl(f->dir, path, name, WATTS(1) + 30 * uj, RANGE);
		snprintf(path, sizeof(path), CAP "intel-rapl:%d:0", i);
		tree_rapl(f->dir, path, "dram", WATTS(1) + 4 * uj, RANGE);
	}
}

static void dies_that_show_the_counter_of_their_package_count_once(void **state)
{
	static const struct {
		const char *cpuinfo;
		unsigned counted;
	} cases[] = {
		{ "vendor_id : AuthenticAMD\ncpu family : 25\nmodel : 17\n", 2 },
		{ "vendor_id : HygonGenuine\ncpu family : 24\nmodel : 1\n", 2 },
		{ "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 143\n", 2 },
		/* Cascade Lake-AP, and a processor of which nothing is known. */
		{ "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 85\n", 8 },
		{ "", 8 },
	};
	struct meter_fixture *f = *state;

	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		char cpuinfo[128];

		snprintf(cpuinfo, sizeof(cpuinfo), "processor : 0\n%s", cases[i].cpuinfo);
		tree_write(f->dir, "cpuinfo", cpuinfo);
		write_dies(f, 0);
		meters_open(f);
		meters_tick(f);
		write_dies(f, WATTS(1));
		meters_tick(f);
		assert_int_equal(meters_zones(f), 2 * cases[i].counted);
		assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE),
				 WATTS(30 * cases[i].counted));
		assert_int_equal(meters_ticked(f, TW_ZONE_DRAM),
				 WATTS(4 * cases[i].counted));
		assert_non_null(meters_zone(f, "package-1-die-0", 1));
	}
}

/* The counter is of the machine, in whatever package. */
static void psys_of_another_package_is_psys_and_counts_once(void **state)
{
	struct meter_fixture *f = *state;

	write_socket(f, 0, WATTS(1));
	tree_rapl(f->dir, CAP "intel-rapl:2", "psys-1", WATTS(1), RANGE);
	meters_open(f);
	meters_tick(f);
	tree_rapl(f->dir, CAP "intel-rapl:2", "psys-1", WATTS(401), RANGE);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PSYS), WATTS(400));
	tree_rapl(f->dir, CAP "intel-rapl:1", "psys", WATTS(1), RANGE);
	meters_open(f);
	assert_non_null(meters_zone(f, "psys", -2));
	assert_null(meters_zone(f, "psys-1", -2));
}

static void a_socket_without_dram_has_none(void **state)
{
	struct meter_fixture *f = *state;

	tree_rapl(f->dir, CAP "intel-rapl:0", "package-0", WATTS(1), RANGE);
	meters_open(f);
	meters_tick(f);
	tree_rapl(f->dir, CAP "intel-rapl:0", "package-0", WATTS(31), RANGE);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), WATTS(30));
	assert_null(tw_power_meter(f->power, TW_ZONE_DRAM));
	assert_false(tw_power_complete(f->power, TW_ZONE_DRAM));
	assert_int_equal(meters_ticked(f, TW_ZONE_DRAM), 0);
}

static void psys_is_no_package_and_the_mmio_twin_is_left_out(void **state)
{
	struct meter_fixture *f = *state;

	write_socket(f, 0, WATTS(1));
	tree_rapl(f->dir, CAP "intel-rapl:1", "psys", 7, RANGE);
	tree_rapl(f->dir, CAP "intel-rapl-mmio:0", "package-0", WATTS(1), RANGE);
	tree_write(f->dir, CAP "intel-rapl/enabled", "1\n");
	meters_open(f);
	assert_int_equal(meters_zones(f), 4);
	assert_int_equal(meters_zone(f, "psys", -2)->zone->kind, TW_ZONE_PSYS);
	assert_int_equal(meters_zone(f, "psys", -2)->zone->package, -1);
}

static void zones_within_zones_and_links_to_them_are_the_same(void **state)
{
	struct meter_fixture *f = *state;
	char from[1024], to[1024];

	tree_rapl(f->dir, "v/intel-rapl:0", "package-0", 1, RANGE);
	tree_rapl(f->dir, "v/intel-rapl:0/intel-rapl:0:0", "core", 1, RANGE);
	tree_write(f->dir, CAP "readme", "x");
	snprintf(from, sizeof(from), "%s/v/intel-rapl:0", f->dir);
	snprintf(to, sizeof(to), "%s/" CAP "intel-rapl:0", f->dir);
	assert_int_equal(symlink(from, to), 0);
	snprintf(from, sizeof(from), "%s/v/intel-rapl:0/intel-rapl:0:0", f->dir);
	snprintf(to, sizeof(to), "%s/" CAP "intel-rapl:0:0", f->dir);
	assert_int_equal(symlink(from, to), 0);
	meters_open(f);
	assert_int_equal(meters_zones(f), 2);
	tw_power_close(f->power);
	f->power = NULL;
	/* What a container is given: devices/virtual/powercap, without the links. */
	tree_rapl(f->dir, "n/intel-rapl/intel-rapl:0", "package-0", 1, RANGE);
	tree_rapl(f->dir, "n/intel-rapl/intel-rapl:0/intel-rapl:0:0", "core", 1, RANGE);
	snprintf(to, sizeof(to), "%s/n", f->dir);
	f->roots.powercap = to;
	meters_open(f);
	assert_int_equal(meters_zones(f), 2);
	assert_int_equal(meters_zone(f, "core", 0)->zone->kind, TW_ZONE_CORE);
}

static void a_counter_that_wraps_in_mid_interval_loses_nothing(void **state)
{
	struct meter_fixture *f = *state;

	tree_rapl(f->dir, CAP "intel-rapl:0", "package-0", RANGE - 999, RANGE);
	meters_open(f);
	meters_tick(f);
	tree_rapl(f->dir, CAP "intel-rapl:0", "package-0", 1000, RANGE);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), 2000);
	assert_int_equal(meters_zone(f, "package-0", 0)->track.wraps, 1);
}

/* What a host writes each 3 s, read each second: 10 W and no load. */
static void a_counter_that_is_renewed_seldom_is_of_all_the_time_between(void **state)
{
	struct meter_fixture *f = *state;
	const struct tw_power_zone *z;
	uint64_t idle_uj;

	tree_rapl(f->dir, CAP "intel-rapl:0", "package-0", WATTS(5), RANGE);
	meters_open(f);
	for (unsigned i = 0; i < 90; i++) {
		tree_rapl(f->dir, CAP "intel-rapl:0", "package-0", WATTS(5 + i / 3 * 30),
			  RANGE);
		f->now_ns += S;
		tw_power_tick(f->power, f->now_ns, S, 0.01, NULL);
		z = meters_zone(f, "package-0", 0);
		if (z->fresh && i > 5)
			assert_float_equal(z->power_w, 10, 1e-9);
	}
	assert_float_equal(z->idle_w, 10, 1e-6);
	idle_uj = z->idle_uj;
	for (unsigned i = 90; i < 93; i++) {
		tree_rapl(f->dir, CAP "intel-rapl:0", "package-0", WATTS(5 + i / 3 * 30),
			  RANGE);
		meters_tick(f);
	}
	assert_in_range(z->idle_uj - idle_uj, WATTS(30) - 2, WATTS(30));
}

/* 1 kW that a host writes each 10 s is more than a package could have in a second. */
static void a_counter_that_is_renewed_seldom_may_step_far(void **state)
{
	struct meter_fixture *f = *state;

	tree_rapl(f->dir, CAP "intel-rapl:0", "package-0", WATTS(5), RANGE);
	meters_open(f);
	for (unsigned i = 0; i < 30; i++) {
		tree_rapl(f->dir, CAP "intel-rapl:0", "package-0",
			  WATTS(5 + i / 10 * 10000), RANGE);
		meters_tick(f);
	}
	assert_int_equal(zone_energy(meters_zone(f, "package-0", 0)), WATTS(20000));
	assert_int_equal(meters_zone(f, "package-0", 0)->track.resets, 0);
}

static void a_counter_that_is_reset_is_a_gap_and_no_energy(void **state)
{
	struct meter_fixture *f = *state;

	tree_rapl(f->dir, CAP "intel-rapl:0", "package-0", RANGE / 2, RANGE);
	meters_open(f);
	meters_tick(f);
	tree_rapl(f->dir, CAP "intel-rapl:0", "package-0", 1000, RANGE);
	meters_tick(f);
	assert_untold(f, "package-0", "set to another value");
	assert_int_equal(meters_zone(f, "package-0", 0)->track.resets, 1);
	assert_int_equal(zone_energy(meters_zone(f, "package-0", 0)), 0);
	tree_rapl(f->dir, CAP "intel-rapl:0", "package-0", 1500, RANGE);
	meters_tick(f);
	assert_int_equal(zone_energy(meters_zone(f, "package-0", 0)), 500);
}

static void vanished_files_are_reported_until_they_come_back(void **state)
{
	struct meter_fixture *f = *state;

	write_socket(f, 0, WATTS(1));
	meters_open(f);
	meters_tick(f);
	write_socket(f, 0, WATTS(11));
	meters_tick(f);
	tree_remove(f->dir, CAP "intel-rapl:0");
	meters_tick(f);
	assert_untold(f, "package-0", "cannot open");
	assert_true(tw_power_complete(f->power, TW_ZONE_DRAM));
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), 0);
	assert_int_equal(zone_energy(meters_zone(f, "package-0", 0)), WATTS(10));
	write_socket(f, 0, WATTS(31));
	meters_tick(f);
	/* The counter went on: so does its energy, over both ticks. */
	assert_int_equal(zone_energy(meters_zone(f, "package-0", 0)), WATTS(30));
	assert_float_equal(meters_zone(f, "package-0", 0)->power_w, 10, 1e-9);
	tree_remove(f->dir, CAP "intel-rapl:0");
	f->now_ns += 100 * S;
	write_socket(f, 0, WATTS(3000));
	meters_tick(f);
	assert_untold(f, "package-0", "gone for too long");
}

static bool is_passed_over_for_want_of_rights(struct meter_fixture *f)
{
	meters_open(f);
	return meters_zones(f) == 0 && strstr(f->passed, "rapl-sysfs: ") != NULL &&
	       strstr(f->passed, "energy_uj': Permission denied") != NULL;
}

static void an_unreadable_meter_is_skipped_with_the_reason(void **state)
{
	struct meter_fixture *f = *state;
	char path[1024];

	tree_rapl(f->dir, CAP "intel-rapl:0", "package-0", 1, RANGE);
	snprintf(path, sizeof(path), "%s/" CAP "intel-rapl:0/energy_uj", f->dir);
	assert_int_equal(chmod(path, 0), 0);
	assert_true(holds_for_nobody(f, is_passed_over_for_want_of_rights));
}

/* What is shown there is the counter of a single one. */
static void core_of_amd_is_left_out(void **state)
{
	struct meter_fixture *f = *state;
	char powercap[1024];

	write_socket(f, 0, WATTS(1));
	tree_write(f->dir, "cpuinfo", "processor : 0\nvendor_id : AuthenticAMD\n");
	meters_open(f);
	assert_null(meters_zone(f, "core", -2));
	assert_non_null(meters_zone(f, "package-0", 0));
	/* But for what a host gives. */
	snprintf(powercap, sizeof(powercap), "%s/class/powercap", f->dir);
	f->roots.powercap = powercap;
	meters_open(f);
	assert_non_null(meters_zone(f, "core", 0));
}

/* What a file that fails to be read is for everybody: a directory in its place. */
static void an_unreadable_value_is_absent_with_the_reason(void **state)
{
	struct meter_fixture *f = *state;

	write_socket(f, 0, WATTS(1));
	meters_open(f);
	meters_tick(f);
	tree_remove(f->dir, CAP "intel-rapl:0/energy_uj");
	tree_write(f->dir, CAP "intel-rapl:0/energy_uj/x", "");
	meters_tick(f);
	assert_untold(f, "package-0", "cannot read");
}

static void garbage_is_absent_with_the_reason(void **state)
{
	static const char *const texts[] = { "",      "\n",    "-5\n",
					     "12a\n", "1 2\n", "1.5",
					     "0x10",  "nan\n", "99999999999999999999" };
	struct meter_fixture *f = *state;

	write_socket(f, 0, WATTS(1));
	meters_open(f);
	meters_tick(f);
	for (size_t i = 0; i < TW_COUNT(texts); i++) {
		tree_write(f->dir, CAP "intel-rapl:0/energy_uj", texts[i]);
		meters_tick(f);
		assert_untold(f, "package-0", "want a number");
	}
	tree_write(f->dir, CAP "intel-rapl:0/energy_uj", "262143328851\n");
	meters_tick(f);
	assert_untold(f, "package-0", "above its range");
	/* What firmware has for "no value". */
	tree_write(f->dir, CAP "intel-rapl:0/energy_uj", "4294967295000\n");
	meters_tick(f);
	assert_untold(f, "package-0", "above its range");
	assert_int_equal(zone_energy(meters_zone(f, "package-0", 0)), 0);
}

static void an_invalid_name_is_no_zone(void **state)
{
	struct meter_fixture *f = *state;

	write_socket(f, 0, 1);
	tree_rapl(f->dir, CAP "intel-rapl:0:2", "", 1, RANGE);
	tree_rapl(f->dir, CAP "intel-rapl:0:3", "flux", 1, RANGE);
	tree_rapl(f->dir, CAP "intel-rapl:x", "core", 1, RANGE);
	tree_rapl(f->dir, CAP "intel-rapl:99999999999", "core", 1, RANGE);
	meters_open(f);
	assert_int_equal(meters_zones(f), 3);
}

/* Docker and containerd hide /sys/devices/virtual/powercap: the links lead nowhere. */
static void zones_that_a_container_runtime_hides_are_named(void **state)
{
	struct meter_fixture *f = *state;
	char link[1024];

	tree_write(f->dir, CAP "readme", "x");
	snprintf(link, sizeof(link), "%s/" CAP "intel-rapl:0", f->dir);
	assert_int_equal(symlink("../../devices/virtual/powercap/intel-rapl:0", link), 0);
	meters_open(f);
	assert_int_equal(meters_zones(f), 0);
	assert_non_null(strstr(f->passed, "intel-rapl:0' has no name: in a container"));
	assert_non_null(strstr(f->passed, "passthrough: no zones that a collector"));
}

static void without_powercap_the_error_names_it(void **state)
{
	struct meter_fixture *f = *state;

	meters_open(f);
	assert_int_equal(meters_zones(f), 0);
	assert_non_null(strstr(f->passed, "rapl-sysfs: cannot open"));
	assert_non_null(strstr(f->passed, "acpi: cannot open"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		METER_TEST(one_socket_has_its_parts),
		METER_TEST(a_tree_of_another_collector_has_its_origin),
		METER_TEST(two_sockets_are_apart_and_add_up),
		METER_TEST(idle_power_of_a_socket_is_by_its_own_load),
		METER_TEST(dies_of_a_socket_are_apart),
		METER_TEST(dies_that_show_the_counter_of_their_package_count_once),
		METER_TEST(psys_of_another_package_is_psys_and_counts_once),
		METER_TEST(a_socket_without_dram_has_none),
		METER_TEST(psys_is_no_package_and_the_mmio_twin_is_left_out),
		METER_TEST(zones_within_zones_and_links_to_them_are_the_same),
		METER_TEST(a_counter_that_wraps_in_mid_interval_loses_nothing),
		METER_TEST(a_counter_that_is_renewed_seldom_is_of_all_the_time_between),
		METER_TEST(a_counter_that_is_renewed_seldom_may_step_far),
		METER_TEST(a_counter_that_is_reset_is_a_gap_and_no_energy),
		METER_TEST(vanished_files_are_reported_until_they_come_back),
		METER_TEST(an_unreadable_meter_is_skipped_with_the_reason),
		METER_TEST(core_of_amd_is_left_out),
		METER_TEST(an_unreadable_value_is_absent_with_the_reason),
		METER_TEST(garbage_is_absent_with_the_reason),
		METER_TEST(an_invalid_name_is_no_zone),
		METER_TEST(zones_that_a_container_runtime_hides_are_named),
		METER_TEST(without_powercap_the_error_names_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
