/* SPDX-License-Identifier: Apache-2.0 */
/* Sensors of hwmon, over trees as machines have them. */
#include "lib/core/array.h"
#include "tests/unit/meters/meter_fixture.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/tw_test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file has a text at any time; a driver may have none. */
static bool no_data;

ssize_t __real_pread(int fd, void *buf, size_t len, off_t at);
ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t at);

ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t at)
{
	if (!no_data)
		return __real_pread(fd, buf, len, at);
	errno = ENODATA;
	return -1;
}

static void write_sensor(const struct meter_fixture *f, int n, const char *chip,
			 const char *file, const char *value)
{
	char path[128], line[64];

	snprintf(path, sizeof(path), "class/hwmon/hwmon%d/name", n);
	snprintf(line, sizeof(line), "%s\n", chip);
	tree_write(f->dir, path, line);
	snprintf(path, sizeof(path), "class/hwmon/hwmon%d/%s", n, file);
	snprintf(line, sizeof(line), "%s\n", value);
	tree_write(f->dir, path, line);
}

/* "interval = 4294967.29 s" of sensors(1). */
static void a_window_of_weeks_is_unknown(void **state)
{
	struct meter_fixture *f = *state;

	tree_write(f->dir, "class/hwmon/hwmon2/name", "power_meter\n");
	tree_write(f->dir, "class/hwmon/hwmon2/power1_average", "250000000\n");
	tree_write(f->dir, "class/hwmon/hwmon2/power1_average_interval", "4294967295\n");
	meters_open(f);
	assert_int_equal(meters_zone(f, "power1", -2)->zone->window_ms, 0);
}

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
	/* Of the three ticks between: 255 W each. */
	assert_int_equal(zone_energy(meters_zone(f, "power1", -2)), WATTS(510 + 3 * 255));
}

/* As NVIDIA's firmware has them; socket 1 first. levels: as many, innermost first. */
static void write_grace(const struct meter_fixture *f, int levels)
{
	static const struct {
		const char *info, *uw;
	} meters[] = {
		{ "SysIO Power Socket", "6000000" },
		{ "CPU Power Socket", "52000000" },
		{ "Grace Power Socket", "100000000" },
		{ "Module Power Socket", "640000000" },
	};

	for (int i = 0; i < 2 * levels; i++) {
		char path[80], info[64];

		snprintf(path, sizeof(path), "class/hwmon/hwmon%d/device/name", i);
		tree_write(f->dir, path, "power_meter\n");
		snprintf(path, sizeof(path), "class/hwmon/hwmon%d/device/power1_average",
			 i);
		tree_write(f->dir, path, meters[i / 2].uw);
		snprintf(path, sizeof(path), "class/hwmon/hwmon%d/device/power1_oem_info",
			 i);
		snprintf(info, sizeof(info), "%s %d\n", meters[i / 2].info, 1 - i % 2);
		tree_write(f->dir, path, info);
	}
}

static void meters_of_grace_within_each_other_count_once(void **state)
{
	/* In W, by the number of levels. */
	static const unsigned package_w[] = { 0, 0, 104, 200, 200 },
			      platform_w[] = { 0, 0, 0, 0, 1280 };
	struct meter_fixture *f = *state;

	for (int levels = 2; levels <= 4; levels++) {
		write_grace(f, levels);
		meters_open(f);
		meters_tick(f);
		meters_tick(f);
		assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE),
				 WATTS(package_w[levels]));
		assert_int_equal(meters_ticked(f, TW_ZONE_PLATFORM),
				 WATTS(platform_w[levels]));
		assert_int_equal(meters_ticked(f, TW_ZONE_UNCORE), WATTS(12));
	}
	assert_int_equal(meters_ticked(f, TW_ZONE_CORE), WATTS(104));
	assert_int_equal(meters_ticked(f, TW_ZONE_OTHER), WATTS(1080));
	assert_non_null(meters_zone(f, "Grace Power Socket 1", 1));
	assert_non_null(meters_zone(f, "Module Power Socket 0", 0));
	/* A meter beside them may contain them, or be a part of one. */
	write_sensor(f, 8, "power_meter", "power1_average", "2000000000");
	meters_open(f);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PLATFORM), WATTS(1280));
}

static void several_acpi_meters_without_a_known_name_are_no_platform(void **state)
{
	struct meter_fixture *f = *state;

	write_sensor(f, 0, "power_meter", "power1_average", "250000000");
	write_sensor(f, 1, "power_meter", "power1_average", "240000000");
	write_sensor(f, 1, "power_meter", "power1_oem_info", "PMT1");
	meters_open(f);
	meters_tick(f);
	assert_null(tw_power_meter(f->power, TW_ZONE_PLATFORM));
	assert_int_equal(zone_energy(meters_zone(f, "power_meter:power1", -1)),
			 WATTS(250));
	assert_non_null(strstr(meters_zone(f, "power_meter:PMT1", -1)->zone->note,
			       "may contain each other"));
	/* A battery is not a meter of the machine. */
	write_sensor(f, 1, "power_meter", "power1_is_battery", "1");
	meters_open(f);
	meters_tick(f);
	assert_int_equal(meters_zones(f), 1);
	assert_int_equal(meters_ticked(f, TW_ZONE_PLATFORM), WATTS(250));
}

static void a_driver_without_data_is_a_meter_that_will_tell(void **state)
{
	struct meter_fixture *f = *state;

	tree_write(f->dir, "class/hwmon/hwmon0/name", "power_meter\n");
	tree_write(f->dir, "class/hwmon/hwmon0/power1_average", "\n");
	no_data = true;
	meters_open(f);
	no_data = false;
	assert_int_equal(meters_zones(f), 1);
	meters_tick(f);
	assert_untold(f, "power1", "want a number");
	tree_write(f->dir, "class/hwmon/hwmon0/power1_average", "250000000\n");
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PLATFORM), WATTS(250));
}

static void a_jump_of_power_is_believed_at_the_second_reading(void **state)
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
	/* Of the tick in doubt: the mean of 20 and 900 W. */
	assert_int_equal(meters_ticked(f, TW_ZONE_PLATFORM), WATTS(900 + 460));
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

static void ampere_reports_cpus_and_io_by_socket(void **state)
{
	struct meter_fixture *f = *state;

	for (int i = 0; i < 2; i++) {
		write_sensor(f, i, "apm_xgene", "power1_label", "CPU power");
		write_sensor(f, i, "apm_xgene", "power1_input", "60000000");
		write_sensor(f, i, "apm_xgene", "power2_label", "IO power");
		write_sensor(f, i, "apm_xgene", "power2_input", "15000000");
	}
	meters_open(f);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), WATTS(120));
	assert_int_equal(meters_ticked(f, TW_ZONE_UNCORE), WATTS(30));
	assert_non_null(meters_zone(f, "CPU power", 1));
}

static void amd_energy_is_counters_of_cores_and_sockets(void **state)
{
	static const struct {
		const char *label, *label_file, *file, *before, *after;
	} sensors[] = {
		{ "Ecore000", "energy1_label", "energy1_input", "100", "110" },
		{ "Ecore001", "energy2_label", "energy2_input", "200", "220" },
		{ "Esocket0", "energy3_label", "energy3_input", "1000", "1300" },
	};
	struct meter_fixture *f = *state;

	for (int i = 0; i < 3; i++) {
		write_sensor(f, 0, "amd_energy", sensors[i].label_file, sensors[i].label);
		write_sensor(f, 0, "amd_energy", sensors[i].file, sensors[i].before);
	}
	meters_open(f);
	meters_tick(f);
	for (int i = 0; i < 3; i++)
		write_sensor(f, 0, "amd_energy", sensors[i].file, sensors[i].after);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_CORE), 30);
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), 300);
}

/* One device has the counters of all sockets; the numbers of cores go on. */
static void sockets_of_one_device_are_packages(void **state)
{
	static const struct {
		const char *chip, *label, *name;
		int package;
	} sensors[] = {
		{ "amd_energy", "Ecore064", "Ecore064", -1 },
		{ "amd_energy", "Esocket0", "Esocket0", 0 },
		{ "amd_energy", "Esocket1", "Esocket1", 1 },
		{ "amd_energy", "Esocket12", "Esocket12", 12 },
		{ "amd_energy", "Esocket511", "Esocket511", TW_ZONES_MAX - 1 },
		/* No package has such a number. */
		{ "amd_energy", "Esocket512", "Esocket512", -1 },
		{ "amd_energy", "Esocket99999999999", "Esocket99999999999", -1 },
		{ "ibmpowernv", "Chip 0 ", "Chip 0", 0 },
		{ "ibmpowernv", "Chip 8 ", "Chip 8", 8 },
		{ "ibmpowernv", "Chip 8 Memory", "Chip 8 Memory", 8 },
		{ "ibmpowernv", "Chip 8 Vdd", "ibmpowernv:Chip 8 Vdd", -1 },
	};
	struct meter_fixture *f = *state;

	for (size_t i = 0; i < TW_COUNT(sensors); i++) {
		const int device = sensors[i].chip[0] == 'a' ? 0 : 1;
		char file[32];

		snprintf(file, sizeof(file), "energy%zu_label", i + 1);
		write_sensor(f, device, sensors[i].chip, file, sensors[i].label);
		snprintf(file, sizeof(file), "energy%zu_input", i + 1);
		write_sensor(f, device, sensors[i].chip, file, "100");
	}
	meters_open(f);
	assert_int_equal(meters_zones(f), TW_COUNT(sensors));
	for (size_t i = 0; i < TW_COUNT(sensors); i++)
		if (meters_zone(f, sensors[i].name, sensors[i].package) == NULL)
			fail_msg("%s is not of package %d", sensors[i].name,
				 sensors[i].package);
}

/* in4 to in7 are voltages of shunts, and curr4 is the sum of the currents. */
static void shunts_of_an_ina3221_are_no_rails(void **state)
{
	struct meter_fixture *f = *state;

	for (int n = 1; n <= 7; n++) {
		char file[32];

		snprintf(file, sizeof(file), "in%d_input", n);
		write_sensor(f, 0, "ina3221", file, "5000");
		snprintf(file, sizeof(file), "curr%d_input", n);
		if (n <= 4)
			write_sensor(f, 0, "ina3221", file, "1000");
	}
	meters_open(f);
	assert_int_equal(meters_zones(f), 3);
}

/* Work is divided by package: the numbers are those of the kernel. */
static void supplies_and_cards_do_not_shift_packages(void **state)
{
	struct meter_fixture *f = *state;

	write_sensor(f, 0, "corsairpsu", "power1_label", "power total");
	write_sensor(f, 0, "corsairpsu", "power1_input", "400000000");
	write_sensor(f, 1, "amdgpu", "power1_average", "55000000");
	write_sensor(f, 2, "amd_hsmp_hwmon", "power1_input", "150000000");
	write_sensor(f, 3, "amd_hsmp_hwmon", "power1_input", "151000000");
	meters_open(f);
	assert_non_null(strstr(meters_zone(f, "power1", 0)->zone->path, "/hwmon2/"));
	assert_non_null(strstr(meters_zone(f, "power1", 1)->zone->path, "/hwmon3/"));
}

/* As a board with three rails has them, one with a counter. */
static void unknown_chips_are_listed_and_never_summed(void **state)
{
	struct meter_fixture *f = *state;

	write_sensor(f, 0, "ina226", "power1_input", "5000000");
	write_sensor(f, 1, "ina226", "power1_input", "2000000");
	write_sensor(f, 2, "ltc4282", "power1_label", "VIN");
	write_sensor(f, 2, "ltc4282", "power1_input", "1000000");
	write_sensor(f, 2, "ltc4282", "power1_average", "9000000");
	write_sensor(f, 3, "crps", "energy1_input", "7");
	write_sensor(f, 4, "coretemp", "temp1_input", "30000");
	meters_open(f);
	assert_int_equal(meters_zones(f), 4);
	meters_tick(f);
	write_sensor(f, 3, "crps", "energy1_input", "3000007");
	meters_tick(f);
	/* Two of a name, which their paths tell apart. */
	assert_int_equal(zone_energy(meters_zone(f, "ina226:power1", -1)), WATTS(10));
	assert_int_equal(zone_energy(meters_zone(f, "ina226:power1", -1) + 1), WATTS(4));
	assert_non_null(strstr((meters_zone(f, "ina226:power1", -1) + 1)->zone->path,
			       "/hwmon1/power1_input"));
	assert_int_equal(zone_energy(meters_zone(f, "ltc4282:VIN", -2)), WATTS(18));
	assert_int_equal(zone_energy(meters_zone(f, "crps:energy1", -2)), WATTS(3));
	assert_int_equal(meters_zone(f, "crps:energy1", -2)->zone->kind, TW_ZONE_SENSOR);
	assert_int_equal(meters_ticked(f, TW_ZONE_SENSOR), 0);
	for (int kind = 0; kind < TW_ZONE_SENSOR; kind++)
		assert_null(tw_power_meter(f->power, (enum tw_zone_kind)kind));
}

/* Of each: what it is, and whether there is a zone of it. */
static void known_chips_and_stores_of_energy_are_no_sensors(void **state)
{
	struct meter_fixture *f = *state;

	write_sensor(f, 0, "BAT0", "power1_input", "12000000");
	tree_write(f->dir, "class/hwmon/hwmon0/device/type", "Battery\n");
	write_sensor(f, 1, "ucsi_source_psy_1", "power1_input", "12000000");
	tree_write(f->dir, "class/hwmon/hwmon1/device/type", "USB\n");
	write_sensor(f, 3, "ucsi_source_psy_2", "power1_input", "45000000");
	tree_write(f->dir, "class/hwmon/hwmon3/device/type", "USB_PD\n");
	/* The chip of a card, which contains it. */
	write_sensor(f, 2, "xe", "energy1_label", "card");
	write_sensor(f, 2, "xe", "energy1_input", "12000000");
	write_sensor(f, 2, "xe", "energy2_label", "pkg");
	write_sensor(f, 2, "xe", "energy2_input", "12000000");
	meters_open(f);
	assert_int_equal(meters_zones(f), 1);
	assert_int_equal(meters_zone(f, "card", -1)->zone->kind, TW_ZONE_GPU);
	assert_string_equal(meters_zone(f, "card", -1)->zone->gpu.vendor, "intel");
	assert_non_null(strstr(f->passed, "hwmon-any: no sensor of hwmon-any"));
}

/* What it tells is in the package's energy: the sum of package and gpu had it twice. */
static void a_gpu_in_the_processor_is_no_gpu_beside_it(void **state)
{
	struct meter_fixture *f = *state;

	write_sensor(f, 0, "amdgpu", "power1_average", "12000000");
	write_sensor(f, 0, "amdgpu", "power1_label", "PPT");
	write_sensor(f, 0, "amdgpu", "in1_label", "vddnb");
	write_sensor(f, 1, "amdgpu", "power1_average", "80000000");
	write_sensor(f, 1, "amdgpu", "power1_label", "PPT");
	meters_open(f);
	assert_int_equal(meters_zones(f), 2);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_GPU), WATTS(80));
	assert_int_equal(meters_zone(f, "amdgpu:PPT", -2)->zone->kind, TW_ZONE_SENSOR);
}

/* As a firmware does that has no value, or garbage. */
static void an_impossible_value_is_absent(void **state)
{
	static const struct {
		const char *value, *why;
	} cases[] = {
		{ "4294967295000", "more W than there can be" },
		{ "0", "0 W" },
		{ "-5", "want a number" },
		{ "N/A", "want a number" },
	};
	struct meter_fixture *f = *state;

	write_sensor(f, 0, "ina226", "power1_input", "5000000");
	meters_open(f);
	meters_tick(f);
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		write_sensor(f, 0, "ina226", "power1_input", cases[i].value);
		meters_tick(f);
		assert_untold(f, "ina226:power1", cases[i].why);
	}
	tree_remove(f->dir, "class/hwmon/hwmon0");
	meters_tick(f);
	assert_untold(f, "ina226:power1", "cannot open");
	write_sensor(f, 0, "ina226", "power1_input", "6000000");
	meters_tick(f);
	/* Of the five ticks between: 5.5 W each. */
	assert_int_equal(zone_energy(meters_zone(f, "ina226:power1", -2)), WATTS(77) / 2);
}

static bool is_passed_over_for_want_of_rights(struct meter_fixture *f)
{
	meters_open(f);
	return meters_zones(f) == 0 && strstr(f->passed, "acpi: ") != NULL &&
	       strstr(f->passed, "power1_average': Permission denied") != NULL;
}

static void an_unreadable_meter_is_skipped_with_the_reason(void **state)
{
	struct meter_fixture *f = *state;
	char path[1024];

	write_sensor(f, 0, "power_meter", "power1_average", "90000000");
	snprintf(path, sizeof(path), "%s/class/hwmon/hwmon0/power1_average", f->dir);
	assert_int_equal(chmod(path, 0), 0);
	assert_true(holds_for_nobody(f, is_passed_over_for_want_of_rights));
}

/* A GPU that works while the processors rest is not at rest. */
static void the_load_of_the_processors_is_not_a_gpu_s(void **state)
{
	struct meter_fixture *f = *state;

	write_sensor(f, 0, "amdgpu", "power1_average", "200000000");
	meters_open(f);
	for (int i = 0; i < 20; i++) {
		f->now_ns += S;
		tw_power_tick(f->power, f->now_ns, S, 0.01, NULL);
	}
	assert_int_equal(meters_ticked(f, TW_ZONE_GPU), WATTS(200));
	assert_float_equal(meters_zone(f, "power1", -2)->idle_w, 0, 0);
}

/* Tick a GPU of that power and load, beside processors that are half busy. */
static void tick_gpu(struct meter_fixture *f, const char *power_uw, const char *percent)
{
	tree_write(f->dir, "class/hwmon/hwmon0/power1_average", power_uw);
	tree_write(f->dir, "class/hwmon/hwmon0/device/gpu_busy_percent", percent);
	f->now_ns += S;
	tw_power_tick(f->power, f->now_ns, S, 0.5, NULL);
}

/* Power is 20 W and 1.8 W for each percent of the GPU's own load. */
static void idle_power_of_a_gpu_follows_its_own_load(void **state)
{
	struct meter_fixture *f = *state;

	write_sensor(f, 0, "amdgpu", "power1_average", "20000000");
	meters_open(f);
	for (int i = 0; i < 40; i++) {
		tick_gpu(f, "20000000", "0");
		tick_gpu(f, "110000000", "50");
		tick_gpu(f, "200000000", "100");
	}
	assert_float_equal(meters_zone(f, "power1", -2)->idle_w, 20, 0.1);
	/* Firmware may count above 100, and a load that cannot be read is unknown. */
	tick_gpu(f, "200000000", "101\n");
	tick_gpu(f, "200000000", "busy");
	assert_float_equal(meters_zone(f, "power1", -2)->idle_w, 20, 0.1);
	assert_int_equal(meters_ticked(f, TW_ZONE_GPU), WATTS(200));
}

static void link_device(const struct meter_fixture *f, const char *device, int n)
{
	char target[128], at[1024];

	snprintf(target, sizeof(target), "../../%s", device);
	snprintf(at, sizeof(at), "%s/class/hwmon/hwmon%d", f->dir, n);
	unlink(at);
	assert_int_equal(symlink(target, at), 0);
}

/*
 * Two GPUs whose driver was loaded again, the second one first: hwmon0 is the other one.
 * The third GPU is gone, and a device that is no GPU has its number.
 */
static void a_device_in_the_place_of_another_is_not_that_one(void **state)
{
	struct meter_fixture *f = *state;
	static const char *const files[][2] = {
		{ "devices/a/name", "amdgpu\n" },
		{ "devices/a/power1_average", "50000000\n" },
		{ "devices/b/name", "amdgpu\n" },
		{ "devices/b/power1_average", "300000000\n" },
		{ "devices/c/name", "power_meter\n" },
		{ "devices/c/power1_average", "900000000\n" },
		{ "class/hwmon/hwmon9/name", "coretemp\n" },
	};
	uint64_t before_uj;

	for (size_t i = 0; i < TW_COUNT(files); i++)
		tree_write(f->dir, files[i][0], files[i][1]);
	link_device(f, "devices/a", 0);
	link_device(f, "devices/b", 1);
	meters_open(f);
	assert_int_equal(meters_zones(f), 2);
	for (int i = 0; i < 3; i++)
		meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_GPU), WATTS(350));
	before_uj = zone_energy(meters_zone(f, "power1", -2));
	link_device(f, "devices/b", 0);
	link_device(f, "devices/c", 1);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_GPU), 0);
	assert_untold(f, "power1", "another device has its place");
	/* The second GPU is found under its new number, and has the energy of the gap. */
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_GPU), WATTS(300 * 2));
	assert_int_equal(zone_energy(meters_zone(f, "power1", -2)), before_uj);
	assert_untold(f, "power1", "another device has its place");
	/* The first is back in its place, and the second follows. */
	link_device(f, "devices/a", 0);
	link_device(f, "devices/b", 1);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_GPU), WATTS(50 * 3));
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_GPU), WATTS(50 + 300 * 2));
}

/* The chip of a driver that was loaded again has another number; then two are alike. */
static void a_device_is_found_under_another_number(void **state)
{
	struct meter_fixture *f = *state;

	tree_write(f->dir, "devices/gpu/hwmon/hwmon3/name", "amdgpu\n");
	tree_write(f->dir, "devices/gpu/hwmon/hwmon3/power1_average", "50000000\n");
	tree_write(f->dir, "devices/gpu/hwmon/hwmon7/name", "amdgpu\n");
	tree_write(f->dir, "devices/gpu/hwmon/hwmon7/power1_average", "60000000\n");
	tree_write(f->dir, "devices/gpu/hwmon/hwmon8/name", "other\n");
	tree_write(f->dir, "class/hwmon/hwmon9/name", "coretemp\n");
	link_device(f, "devices/gpu/hwmon/hwmon3", 3);
	meters_open(f);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_GPU), WATTS(50));
	tree_remove(f->dir, "class/hwmon/hwmon3");
	link_device(f, "devices/gpu/hwmon/hwmon8", 8);
	for (int i = 0; i < 5; i++)
		meters_tick(f);
	assert_untold(f, "power1", "cannot open");
	link_device(f, "devices/gpu/hwmon/hwmon7", 7);
	for (int i = 0; i < 10; i++)
		meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_GPU), WATTS(60));
	assert_non_null(strstr(meters_zone(f, "power1", -2)->zone->path, "/hwmon7/"));
	/* Which of two is it? */
	tree_remove(f->dir, "class/hwmon/hwmon7");
	link_device(f, "devices/gpu/hwmon/hwmon3", 3);
	link_device(f, "devices/gpu/hwmon/hwmon7", 4);
	for (int i = 0; i < 12; i++)
		meters_tick(f);
	assert_untold(f, "power1", "cannot open");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		METER_TEST(the_load_of_the_processors_is_not_a_gpu_s),
		METER_TEST(idle_power_of_a_gpu_follows_its_own_load),
		METER_TEST(a_device_in_the_place_of_another_is_not_that_one),
		METER_TEST(a_device_is_found_under_another_number),
		METER_TEST(an_acpi_power_meter_is_the_platform),
		METER_TEST(a_window_of_weeks_is_unknown),
		METER_TEST(meters_of_grace_within_each_other_count_once),
		METER_TEST(several_acpi_meters_without_a_known_name_are_no_platform),
		METER_TEST(a_driver_without_data_is_a_meter_that_will_tell),
		METER_TEST(a_jump_of_power_is_believed_at_the_second_reading),
		METER_TEST(older_drivers_have_their_files_in_the_device),
		METER_TEST(ampere_reports_cpus_and_io_by_socket),
		METER_TEST(amd_energy_is_counters_of_cores_and_sockets),
		METER_TEST(sockets_of_one_device_are_packages),
		METER_TEST(shunts_of_an_ina3221_are_no_rails),
		METER_TEST(supplies_and_cards_do_not_shift_packages),
		METER_TEST(unknown_chips_are_listed_and_never_summed),
		METER_TEST(known_chips_and_stores_of_energy_are_no_sensors),
		METER_TEST(a_gpu_in_the_processor_is_no_gpu_beside_it),
		METER_TEST(an_impossible_value_is_absent),
		METER_TEST(an_unreadable_meter_is_skipped_with_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
