/* SPDX-License-Identifier: Apache-2.0 */
/* Meters over trees as machines have them, through the zones that come of it. */
#include "collector/meter.h"
#include "collector/node.h"
#include "collector/power.h"
#include "collector/roots.h"
#include "lib/err.h"
#include "lib/strs.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/meter_tree.h"
#include "tests/unit/scratch.h"
#include "tests/unit/tw_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define S UINT64_C(1000000000)
#define RANGE 262143328850ull
#define CAP "class/powercap/"
#define WATTS(w) ((unsigned long long)(w)*1000000)

struct fixture {
	char *dir;
	struct tw_roots roots;
	struct tw_node node;
	struct tw_power *power;
	char passed[2048];
	uint64_t now_ns;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->dir = scratch_new();
	f->roots = (struct tw_roots){ .proc = f->dir, .sys = f->dir, .dev = f->dir };
	f->node = (struct tw_node){ .cpus = 4, .elapsed_ns = S };
	f->now_ns = 1000 * S;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tw_power_close(f->power);
	scratch_free(f->dir);
	free(f);
	return 0;
}

static void note(void *arg, const char *meter, const struct tw_err *why)
{
	struct fixture *f = arg;
	const size_t used = strlen(f->passed);

	(void)meter;
	snprintf(f->passed + used, sizeof(f->passed) - used, "%s\n", why->text);
}

static void open_power(struct fixture *f)
{
	const struct tw_power_config c = { .meter = { .roots = &f->roots,
						      .node = &f->node },
					   .passed = note,
					   .passed_arg = f };
	struct tw_err err = { 0 };

	if (tw_power_open(&c, &f->power, &err) < 0)
		fail_msg("%s", err.text);
}

static void tick(struct fixture *f)
{
	f->now_ns += S;
	tw_power_tick(f->power, f->now_ns, S, 0.5);
}

/* By name and package; the first of its name: package -2. */
static const struct tw_power_zone *zone(const struct fixture *f, const char *name,
					int package)
{
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(f->power, &count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(z[i].zone->name, name) == 0 &&
		    (package == -2 || z[i].zone->package == package))
			return &z[i];
	return NULL;
}

static size_t zones(const struct fixture *f)
{
	size_t count;

	tw_power_zones(f->power, &count);
	return count;
}

static uint64_t energy(const struct tw_power_zone *z)
{
	assert_non_null(z);
	return z->dynamic_uj + z->idle_uj;
}

static uint64_t ticked(const struct fixture *f, enum tw_zone_kind kind)
{
	const struct tw_charge *c = tw_power_ticked(f->power);

	return c->dynamic_uj[kind] + c->idle_uj[kind];
}

static void assert_untold(const struct fixture *f, const char *name, const char *why)
{
	const struct tw_power_zone *z = zone(f, name, -2);

	assert_non_null(z);
	assert_false(z->told);
	if (strstr(z->why, why) == NULL)
		fail_msg("%s: '%s' has no '%s'", name, z->why, why);
	assert_false(tw_power_tells(f->power, z->zone->kind));
}

/* ---- RAPL ---- */

static void write_socket(const struct fixture *f, int socket, unsigned long long uj)
{
	char path[64], name[64];

	snprintf(path, sizeof(path), CAP "intel-rapl:%d", socket);
	snprintf(name, sizeof(name), "package-%d", socket);
	tree_rapl(f->dir, path, name, uj, RANGE);
	snprintf(path, sizeof(path), CAP "intel-rapl:%d:0", socket);
	tree_rapl(f->dir, path, "core", uj / 2, RANGE);
	snprintf(path, sizeof(path), CAP "intel-rapl:%d:1", socket);
	tree_rapl(f->dir, path, "dram", uj / 10, 65712999613ull);
}

static void one_socket_has_its_parts(void **state)
{
	struct fixture *f = *state;

	write_socket(f, 0, WATTS(100));
	open_power(f);
	assert_int_equal(zones(f), 3);
	tick(f);
	assert_untold(f, "package-0", "read once only");
	write_socket(f, 0, WATTS(140));
	tick(f);
	assert_int_equal(ticked(f, TW_ZONE_PACKAGE), WATTS(40));
	assert_int_equal(ticked(f, TW_ZONE_CORE), WATTS(20));
	assert_int_equal(ticked(f, TW_ZONE_DRAM), WATTS(4));
	assert_true(tw_power_tells(f->power, TW_ZONE_CORE));
	assert_false(tw_power_tells(f->power, TW_ZONE_UNCORE));
	assert_float_equal(zone(f, "package-0", 0)->power_w, 40, 1e-9);
	assert_string_equal(tw_power_meter(f->power, TW_ZONE_DRAM)->name, "rapl-sysfs");
}

static void two_sockets_are_apart_and_add_up(void **state)
{
	struct fixture *f = *state;

	write_socket(f, 0, WATTS(100));
	write_socket(f, 1, WATTS(500));
	open_power(f);
	assert_int_equal(zones(f), 6);
	tick(f);
	write_socket(f, 0, WATTS(110));
	write_socket(f, 1, WATTS(530));
	tick(f);
	assert_int_equal(ticked(f, TW_ZONE_PACKAGE), WATTS(40));
	assert_int_equal(energy(zone(f, "core", 0)), WATTS(5));
	assert_int_equal(energy(zone(f, "core", 1)), WATTS(15));
}

static void dies_of_a_socket_are_apart(void **state)
{
	struct fixture *f = *state;

	tree_rapl(f->dir, CAP "intel-rapl:0", "package-0-die-0", 1000, RANGE);
	tree_rapl(f->dir, CAP "intel-rapl:1", "package-0-die-1", 5000, RANGE);
	open_power(f);
	tick(f);
	tree_rapl(f->dir, CAP "intel-rapl:0", "package-0-die-0", 1100, RANGE);
	tree_rapl(f->dir, CAP "intel-rapl:1", "package-0-die-1", 5011, RANGE);
	tick(f);
	assert_int_equal(energy(zone(f, "package-0-die-0", 0)), 100);
	assert_int_equal(energy(zone(f, "package-0-die-1", 0)), 11);
	assert_int_equal(ticked(f, TW_ZONE_PACKAGE), 111);
}

static void psys_is_no_package_and_the_mmio_twin_is_left_out(void **state)
{
	struct fixture *f = *state;

	write_socket(f, 0, WATTS(1));
	tree_rapl(f->dir, CAP "intel-rapl:1", "psys", 7, RANGE);
	tree_rapl(f->dir, CAP "intel-rapl-mmio:0", "package-0", WATTS(1), RANGE);
	tree_write(f->dir, CAP "intel-rapl/enabled", "1\n");
	open_power(f);
	assert_int_equal(zones(f), 4);
	assert_int_equal(zone(f, "psys", -2)->zone->kind, TW_ZONE_PSYS);
	assert_int_equal(zone(f, "psys", -2)->zone->package, -1);
}

static void zones_within_zones_and_links_to_them_are_the_same(void **state)
{
	struct fixture *f = *state;
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
	open_power(f);
	assert_int_equal(zones(f), 2);
	tw_power_close(f->power);
	f->power = NULL;
	/* What a container is given: devices/virtual/powercap, without the links. */
	tree_rapl(f->dir, "n/intel-rapl/intel-rapl:0", "package-0", 1, RANGE);
	tree_rapl(f->dir, "n/intel-rapl/intel-rapl:0/intel-rapl:0:0", "core", 1, RANGE);
	snprintf(to, sizeof(to), "%s/n", f->dir);
	f->roots.powercap = to;
	open_power(f);
	assert_int_equal(zones(f), 2);
	assert_int_equal(zone(f, "core", 0)->zone->kind, TW_ZONE_CORE);
}

static void a_counter_that_wraps_in_mid_interval_loses_nothing(void **state)
{
	struct fixture *f = *state;

	tree_rapl(f->dir, CAP "intel-rapl:0", "package-0", RANGE - 999, RANGE);
	open_power(f);
	tick(f);
	tree_rapl(f->dir, CAP "intel-rapl:0", "package-0", 1000, RANGE);
	tick(f);
	assert_int_equal(ticked(f, TW_ZONE_PACKAGE), 2000);
	assert_int_equal(zone(f, "package-0", 0)->track.wraps, 1);
}

static void a_counter_that_is_reset_is_a_gap_and_no_energy(void **state)
{
	struct fixture *f = *state;

	tree_rapl(f->dir, CAP "intel-rapl:0", "package-0", RANGE / 2, RANGE);
	open_power(f);
	tick(f);
	tree_rapl(f->dir, CAP "intel-rapl:0", "package-0", 1000, RANGE);
	tick(f);
	assert_untold(f, "package-0", "set to another value");
	assert_int_equal(zone(f, "package-0", 0)->track.resets, 1);
	assert_int_equal(energy(zone(f, "package-0", 0)), 0);
	tree_rapl(f->dir, CAP "intel-rapl:0", "package-0", 1500, RANGE);
	tick(f);
	assert_int_equal(energy(zone(f, "package-0", 0)), 500);
}

static void files_that_vanish_and_come_back_are_said_to_be_gone(void **state)
{
	struct fixture *f = *state;

	write_socket(f, 0, WATTS(1));
	open_power(f);
	tick(f);
	write_socket(f, 0, WATTS(11));
	tick(f);
	tree_remove(f->dir, CAP "intel-rapl:0");
	tick(f);
	assert_untold(f, "package-0", "cannot open");
	assert_true(tw_power_tells(f->power, TW_ZONE_DRAM));
	assert_int_equal(ticked(f, TW_ZONE_PACKAGE), 0);
	assert_int_equal(energy(zone(f, "package-0", 0)), WATTS(10));
	write_socket(f, 0, WATTS(31));
	tick(f);
	/* The counter went on: so does its energy, over both ticks. */
	assert_int_equal(energy(zone(f, "package-0", 0)), WATTS(30));
	assert_float_equal(zone(f, "package-0", 0)->power_w, 10, 1e-9);
	tree_remove(f->dir, CAP "intel-rapl:0");
	f->now_ns += 100 * S;
	write_socket(f, 0, WATTS(3000));
	tick(f);
	assert_untold(f, "package-0", "gone for too long");
}

static void what_may_not_be_read_is_passed_over_with_the_reason(void **state)
{
	struct fixture *f = *state;
	char path[1024];

	if (geteuid() == 0) {
		print_message("skipped: root may read all\n");
		skip();
	}
	tree_rapl(f->dir, CAP "intel-rapl:0", "package-0", 1, RANGE);
	snprintf(path, sizeof(path), "%s/" CAP "intel-rapl:0/energy_uj", f->dir);
	assert_int_equal(chmod(path, 0), 0);
	open_power(f);
	assert_int_equal(zones(f), 0);
	assert_non_null(strstr(f->passed, "Permission denied"));
}

/* What a file that fails to be read is for everybody: a directory in its place. */
static void what_cannot_be_read_is_absent_with_the_reason(void **state)
{
	struct fixture *f = *state;

	write_socket(f, 0, WATTS(1));
	open_power(f);
	tick(f);
	tree_remove(f->dir, CAP "intel-rapl:0/energy_uj");
	tree_write(f->dir, CAP "intel-rapl:0/energy_uj/x", "");
	tick(f);
	assert_untold(f, "package-0", "cannot read");
}

static void garbage_is_absent_with_the_reason(void **state)
{
	static const char *const texts[] = { "",      "\n",    "-5\n",
					     "12a\n", "1 2\n", "1.5",
					     "0x10",  "nan\n", "99999999999999999999" };
	struct fixture *f = *state;

	write_socket(f, 0, WATTS(1));
	open_power(f);
	tick(f);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		tree_write(f->dir, CAP "intel-rapl:0/energy_uj", texts[i]);
		tick(f);
		assert_untold(f, "package-0", "want a number");
	}
	tree_write(f->dir, CAP "intel-rapl:0/energy_uj", "262143328851\n");
	tick(f);
	assert_untold(f, "package-0", "above its range");
	assert_int_equal(energy(zone(f, "package-0", 0)), 0);
}

static void a_name_that_is_none_is_no_zone(void **state)
{
	struct fixture *f = *state;

	write_socket(f, 0, 1);
	tree_rapl(f->dir, CAP "intel-rapl:0:2", "", 1, RANGE);
	tree_rapl(f->dir, CAP "intel-rapl:0:3", "flux", 1, RANGE);
	tree_rapl(f->dir, CAP "intel-rapl:x", "core", 1, RANGE);
	tree_rapl(f->dir, CAP "intel-rapl:99999999999", "core", 1, RANGE);
	open_power(f);
	assert_int_equal(zones(f), 3);
}

static void without_powercap_it_says_so(void **state)
{
	struct fixture *f = *state;

	open_power(f);
	assert_int_equal(zones(f), 0);
	assert_non_null(strstr(f->passed, "rapl-sysfs: cannot open"));
	assert_non_null(strstr(f->passed, "acpi: cannot open"));
}

/* ---- hwmon ---- */

static void an_acpi_power_meter_is_the_platform(void **state)
{
	struct fixture *f = *state;

	tree_write(f->dir, "class/hwmon/hwmon0/name", "coretemp\n");
	tree_write(f->dir, "class/hwmon/hwmon2/name", "power_meter\n");
	tree_write(f->dir, "class/hwmon/hwmon2/power1_average", "250000000\n");
	tree_write(f->dir, "class/hwmon/hwmon2/power1_average_interval", "1000\n");
	open_power(f);
	assert_int_equal(zones(f), 1);
	assert_int_equal(zone(f, "power1", -2)->zone->window_ms, 1000);
	tick(f);
	assert_int_equal(ticked(f, TW_ZONE_PLATFORM), WATTS(250));
	assert_string_equal(tw_power_meter(f->power, TW_ZONE_PLATFORM)->name, "acpi");
	tree_write(f->dir, "class/hwmon/hwmon2/power1_average", "4294967295000000\n");
	tick(f);
	assert_untold(f, "power1", "more W than there can be");
	tree_write(f->dir, "class/hwmon/hwmon2/power1_average", "4294967295000\n");
	tick(f);
	assert_untold(f, "power1", "more W than there can be");
	tree_write(f->dir, "class/hwmon/hwmon2/power1_average", "0\n");
	tick(f);
	assert_untold(f, "power1", "0 W");
	tree_write(f->dir, "class/hwmon/hwmon2/power1_average", "260000000\n");
	tick(f);
	assert_int_equal(energy(zone(f, "power1", -2)), WATTS(510));
}

static void a_power_that_jumps_is_believed_when_it_is_told_again(void **state)
{
	struct fixture *f = *state;

	tree_write(f->dir, "class/hwmon/hwmon0/name", "power_meter\n");
	tree_write(f->dir, "class/hwmon/hwmon0/power1_average", "20000000\n");
	open_power(f);
	tick(f);
	tree_write(f->dir, "class/hwmon/hwmon0/power1_average", "900000000\n");
	tick(f);
	assert_untold(f, "power1", "jumped");
	tick(f);
	assert_int_equal(ticked(f, TW_ZONE_PLATFORM), WATTS(900));
}

static void older_drivers_have_their_files_in_the_device(void **state)
{
	struct fixture *f = *state;

	tree_write(f->dir, "class/hwmon/hwmon3/device/name", "power_meter\n");
	tree_write(f->dir, "class/hwmon/hwmon3/device/power1_average", "90000000\n");
	open_power(f);
	tick(f);
	assert_int_equal(ticked(f, TW_ZONE_PLATFORM), WATTS(90));
}

static void ampere_tells_its_cpus_and_io_by_socket(void **state)
{
	struct fixture *f = *state;

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
	open_power(f);
	tick(f);
	assert_int_equal(ticked(f, TW_ZONE_PACKAGE), WATTS(120));
	assert_int_equal(ticked(f, TW_ZONE_UNCORE), WATTS(30));
	assert_non_null(zone(f, "CPU power", 1));
}

static void amd_energy_is_counters_of_cores_and_sockets(void **state)
{
	struct fixture *f = *state;

	tree_write(f->dir, "class/hwmon/hwmon0/name", "amd_energy\n");
	tree_write(f->dir, "class/hwmon/hwmon0/energy1_label", "Ecore000\n");
	tree_write(f->dir, "class/hwmon/hwmon0/energy1_input", "100\n");
	tree_write(f->dir, "class/hwmon/hwmon0/energy2_label", "Ecore001\n");
	tree_write(f->dir, "class/hwmon/hwmon0/energy2_input", "200\n");
	tree_write(f->dir, "class/hwmon/hwmon0/energy3_label", "Esocket0\n");
	tree_write(f->dir, "class/hwmon/hwmon0/energy3_input", "1000\n");
	open_power(f);
	tick(f);
	tree_write(f->dir, "class/hwmon/hwmon0/energy1_input", "110\n");
	tree_write(f->dir, "class/hwmon/hwmon0/energy2_input", "220\n");
	tree_write(f->dir, "class/hwmon/hwmon0/energy3_input", "1300\n");
	tick(f);
	assert_int_equal(ticked(f, TW_ZONE_CORE), 30);
	assert_int_equal(ticked(f, TW_ZONE_PACKAGE), 300);
}

static void of_two_meters_of_a_kind_one_is_believed(void **state)
{
	struct fixture *f = *state;

	write_socket(f, 0, WATTS(1));
	tree_write(f->dir, "class/hwmon/hwmon0/name", "fam15h_power\n");
	tree_write(f->dir, "class/hwmon/hwmon0/power1_input", "50000000\n");
	open_power(f);
	tick(f);
	write_socket(f, 0, WATTS(31));
	tick(f);
	assert_int_equal(zones(f), 4);
	assert_int_equal(ticked(f, TW_ZONE_PACKAGE), WATTS(30));
}

/* ---- the simulated one ---- */

static void the_fake_follows_its_law_and_is_asked_for_only(void **state)
{
	struct fixture *f = *state;
	struct tw_power_config c = { .meter = { .roots = &f->roots, .node = &f->node } };
	struct tw_strs names = { 0 };
	struct tw_err err = { 0 };
	double sum_w = 0;

	assert_int_equal(tw_strs_adds(&names, "fake", &err), 0);
	c.meters = &names;
	f->node.used.cpu_ns = 2 * S;
	assert_int_equal(tw_power_open(&c, &f->power, &err), 0);
	tick(f);
	for (int i = 0; i < 1000; i++) {
		tick(f);
		sum_w += (double)ticked(f, TW_ZONE_PACKAGE) / 1e6;
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
	struct fixture *f = *state;
	const struct tw_power_config c = { .meter = { .roots = &f->roots,
						      .node = &f->node } };

	write_socket(f, 0, 1);
	tree_write(f->dir, "class/hwmon/hwmon0/name", "power_meter\n");
	tree_write(f->dir, "class/hwmon/hwmon0/power1_average", "20000000\n");
	for (int n = 1;; n++) {
		struct tw_power *p = NULL;
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_power_open(&c, &p, &err);
		if (!fail_alloc_hit()) {
			assert_int_equal(rc, 0);
			tw_power_close(p);
			break;
		}
		assert_int_equal(rc, -1);
		assert_int_equal(err.code, TW_NOMEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(one_socket_has_its_parts),
		TEST(two_sockets_are_apart_and_add_up),
		TEST(dies_of_a_socket_are_apart),
		TEST(psys_is_no_package_and_the_mmio_twin_is_left_out),
		TEST(zones_within_zones_and_links_to_them_are_the_same),
		TEST(a_counter_that_wraps_in_mid_interval_loses_nothing),
		TEST(a_counter_that_is_reset_is_a_gap_and_no_energy),
		TEST(files_that_vanish_and_come_back_are_said_to_be_gone),
		TEST(what_may_not_be_read_is_passed_over_with_the_reason),
		TEST(what_cannot_be_read_is_absent_with_the_reason),
		TEST(garbage_is_absent_with_the_reason),
		TEST(a_name_that_is_none_is_no_zone),
		TEST(without_powercap_it_says_so),
		TEST(an_acpi_power_meter_is_the_platform),
		TEST(a_power_that_jumps_is_believed_when_it_is_told_again),
		TEST(older_drivers_have_their_files_in_the_device),
		TEST(ampere_tells_its_cpus_and_io_by_socket),
		TEST(amd_energy_is_counters_of_cores_and_sockets),
		TEST(of_two_meters_of_a_kind_one_is_believed),
		TEST(the_fake_follows_its_law_and_is_asked_for_only),
		TEST(the_registry_has_no_name_twice),
		TEST(opening_without_memory_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
