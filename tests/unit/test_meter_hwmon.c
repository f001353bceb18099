/* SPDX-License-Identifier: Apache-2.0 */
/* Sensors of hwmon, over trees as machines have them. */
#include "tests/unit/meter_fixture.h"
#include "tests/unit/meter_tree.h"
#include "tests/unit/tw_test.h"

#include <stdio.h>
#include <string.h>

static void an_acpi_power_meter_is_the_platform(void **state)
{
	struct meter_fixture *f = *state;

	tree_write(f->dir, "class/hwmon/hwmon0/name", "coretemp\n");
	tree_write(f->dir, "class/hwmon/hwmon2/name", "power_meter\n");
	tree_write(f->dir, "class/hwmon/hwmon2/power1_average", "250000000\n");
	tree_write(f->dir, "class/hwmon/hwmon2/power1_average_interval", "1000\n");
	meters_open(f);
	assert_int_equal(meters_zones(f), 1);
	assert_int_equal(meters_zone(f, "power1", -2)->zone->window_ms, 1000);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PLATFORM), WATTS(250));
	assert_string_equal(tw_power_meter(f->power, TW_ZONE_PLATFORM)->name, "acpi");
	tree_write(f->dir, "class/hwmon/hwmon2/power1_average", "4294967295000000\n");
	meters_tick(f);
	assert_untold(f, "power1", "more W than there can be");
	tree_write(f->dir, "class/hwmon/hwmon2/power1_average", "4294967295000\n");
	meters_tick(f);
	assert_untold(f, "power1", "more W than there can be");
	tree_write(f->dir, "class/hwmon/hwmon2/power1_average", "0\n");
	meters_tick(f);
	assert_untold(f, "power1", "0 W");
	tree_write(f->dir, "class/hwmon/hwmon2/power1_average", "260000000\n");
	meters_tick(f);
	assert_int_equal(zone_energy(meters_zone(f, "power1", -2)), WATTS(510));
}

static void a_power_that_jumps_is_believed_when_it_is_told_again(void **state)
{
	struct meter_fixture *f = *state;

	tree_write(f->dir, "class/hwmon/hwmon0/name", "power_meter\n");
	tree_write(f->dir, "class/hwmon/hwmon0/power1_average", "20000000\n");
	meters_open(f);
	meters_tick(f);
	tree_write(f->dir, "class/hwmon/hwmon0/power1_average", "900000000\n");
	meters_tick(f);
	assert_untold(f, "power1", "jumped");
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PLATFORM), WATTS(900));
}

static void older_drivers_have_their_files_in_the_device(void **state)
{
	struct meter_fixture *f = *state;

	tree_write(f->dir, "class/hwmon/hwmon3/device/name", "power_meter\n");
	tree_write(f->dir, "class/hwmon/hwmon3/device/power1_average", "90000000\n");
	meters_open(f);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PLATFORM), WATTS(90));
}

static void ampere_tells_its_cpus_and_io_by_socket(void **state)
{
	struct meter_fixture *f = *state;

	for (int i = 0; i < 2; i++) {
		char path[64];

		for (int n = 1; n <= 2; n++) {
			snprintf(path, sizeof(path), "class/hwmon/hwmon%d/power%d_label",
				 i, n);
			tree_write(f->dir, path, n == 1 ? "CPU power\n" : "IO power\n");
			snprintf(path, sizeof(path), "class/hwmon/hwmon%d/power%d_input",
				 i, n);
			tree_write(f->dir, path, n == 1 ? "60000000\n" : "15000000\n");
		}
		snprintf(path, sizeof(path), "class/hwmon/hwmon%d/name", i);
		tree_write(f->dir, path, "apm_xgene\n");
	}
	meters_open(f);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), WATTS(120));
	assert_int_equal(meters_ticked(f, TW_ZONE_UNCORE), WATTS(30));
	assert_non_null(meters_zone(f, "CPU power", 1));
}

static void amd_energy_is_counters_of_cores_and_sockets(void **state)
{
	struct meter_fixture *f = *state;

	tree_write(f->dir, "class/hwmon/hwmon0/name", "amd_energy\n");
	tree_write(f->dir, "class/hwmon/hwmon0/energy1_label", "Ecore000\n");
	tree_write(f->dir, "class/hwmon/hwmon0/energy1_input", "100\n");
	tree_write(f->dir, "class/hwmon/hwmon0/energy2_label", "Ecore001\n");
	tree_write(f->dir, "class/hwmon/hwmon0/energy2_input", "200\n");
	tree_write(f->dir, "class/hwmon/hwmon0/energy3_label", "Esocket0\n");
	tree_write(f->dir, "class/hwmon/hwmon0/energy3_input", "1000\n");
	meters_open(f);
	meters_tick(f);
	tree_write(f->dir, "class/hwmon/hwmon0/energy1_input", "110\n");
	tree_write(f->dir, "class/hwmon/hwmon0/energy2_input", "220\n");
	tree_write(f->dir, "class/hwmon/hwmon0/energy3_input", "1300\n");
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_CORE), 30);
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		METER_TEST(an_acpi_power_meter_is_the_platform),
		METER_TEST(a_power_that_jumps_is_believed_when_it_is_told_again),
		METER_TEST(older_drivers_have_their_files_in_the_device),
		METER_TEST(ampere_tells_its_cpus_and_io_by_socket),
		METER_TEST(amd_energy_is_counters_of_cores_and_sockets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
