/* SPDX-License-Identifier: Apache-2.0 */
/* RAPL by its registers: recorded ones in files, and such as fail. */
#include "lib/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/meter_fixture.h"
#include "tests/unit/meter_tree.h"
#include "tests/unit/tw_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of energy: J / 2^14, as nearly all have it. */
#define UNIT 0xa0e03

#define COUNTS_TO_UJ(n) ((n)*UINT64_C(1000000) / 16384)

/*
 * Registers that are not in files: AMD's have numbers so near each other that those of
 * eight bytes overlap in a file.
 */
static struct scripted {
	unsigned cpu;
	uint32_t at;
	uint64_t value;
	int errnum;
} scripted[16];

ssize_t __real_pread(int fd, void *buf, size_t len, off_t at);
ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t at);

ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t at)
{
	char link[64], path[1024] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, path, sizeof(path) - 1) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(scripted) / sizeof(scripted[0]); i++) {
		char end[32];
		const struct scripted *r = &scripted[i];

		snprintf(end, sizeof(end), "/cpu/%u/msr", r->cpu);
		if (r->at != (uint32_t)at || strstr(path, end) == NULL)
			continue;
		if (r->errnum != 0) {
			errno = r->errnum;
			return -1;
		}
		memcpy(buf, &r->value, len);
		return (ssize_t)len;
	}
	return __real_pread(fd, buf, len, at);
}

static int setup(void **state)
{
	memset(scripted, 0, sizeof(scripted));
	return meters_setup(state);
}

static void script(unsigned cpu, uint32_t at, uint64_t value, int errnum)
{
	size_t i = 0;

	while (scripted[i].at != 0 && (scripted[i].cpu != cpu || scripted[i].at != at))
		i++;
	scripted[i] = (struct scripted){ cpu, at, value, errnum };
}

static void write_cpu(const struct meter_fixture *f, unsigned cpu, int package, int die,
		      int core)
{
	static const char *const files[] = { "physical_package_id", "die_id", "core_id" };
	const int values[] = { package, die, core };

	for (int i = 0; i < 3; i++) {
		char path[128], text[16];

		snprintf(path, sizeof(path), "devices/system/cpu/cpu%u/topology/%s", cpu,
			 files[i]);
		snprintf(text, sizeof(text), "%d\n", values[i]);
		tree_write(f->dir, path, text);
	}
}

static void write_model(const struct meter_fixture *f, const char *vendor, int family,
			int model)
{
	char text[128];

	snprintf(text, sizeof(text),
		 "processor : 0\nvendor_id : %s\ncpu family : %d\nmodel : %d\n", vendor,
		 family, model);
	tree_write(f->dir, "cpuinfo", text);
}

/* The file is made, and kept as it is but for this register. */
static void write_register(const struct meter_fixture *f, unsigned cpu, uint32_t at,
			   uint64_t value)
{
	char path[1024];
	int fd;

	snprintf(path, sizeof(path), "%s/cpu", f->dir);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/cpu/%u", f->dir, cpu);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/cpu/%u/msr", f->dir, cpu);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &value, sizeof(value), (off_t)at), sizeof(value));
	close(fd);
}

/* Intel's, with all that a client has. */
static void write_client(const struct meter_fixture *f, unsigned cpu, uint64_t count)
{
	write_register(f, cpu, 0x606, UNIT);
	write_register(f, cpu, 0x611, count);
	write_register(f, cpu, 0x639, count / 2);
	write_register(f, cpu, 0x641, count / 4);
	write_register(f, cpu, 0x619, count / 8);
	write_register(f, cpu, 0x64d, count * 2);
}

static void one_socket_has_its_parts(void **state)
{
	struct meter_fixture *f = *state;

	write_model(f, "GenuineIntel", 6, 0x9e);
	write_cpu(f, 0, 0, 0, 0);
	write_cpu(f, 1, 0, 0, 1); /* has no file: it is not asked */
	write_client(f, 0, 16384 * 8);
	meters_open(f);
	assert_int_equal(meters_zones(f), 5);
	meters_tick(f);
	assert_untold(f, "package-0", "read once only");
	write_client(f, 0, 16384 * 48);
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

	write_model(f, "GenuineIntel", 6, 0x8f);
	for (unsigned cpu = 0; cpu < 4; cpu++)
		write_cpu(f, cpu, cpu % 2, 0, (int)cpu / 2);
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		write_register(f, cpu, 0x606, UNIT);
		write_register(f, cpu, 0x611, 16384 * (cpu + 1));
		write_register(f, cpu, 0x64d, 1000);
	}
	meters_open(f);
	/* Two packages; the whole machine once, though both tell it. */
	assert_int_equal(meters_zones(f), 3);
	assert_int_equal(meters_zone(f, "psys", -2)->zone->package, -1);
	meters_tick(f);
	write_register(f, 0, 0x611, 16384 * 11);
	write_register(f, 1, 0x611, 16384 * 32);
	write_register(f, 0, 0x64d, 1090);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), WATTS(40));
	assert_int_equal(zone_energy(meters_zone(f, "package-1", 1)), WATTS(30));
	/* Of this model in J. */
	assert_int_equal(meters_ticked(f, TW_ZONE_PSYS), WATTS(90));
}

static void dies_of_intel_are_apart(void **state)
{
	struct meter_fixture *f = *state;

	write_model(f, "GenuineIntel", 6, 0x55);
	for (unsigned cpu = 0; cpu < 4; cpu++) {
		write_cpu(f, cpu, 0, (int)cpu / 2, (int)cpu);
		write_register(f, cpu, 0x606, UNIT);
		write_register(f, cpu, 0x611, 16384 * (cpu + 1));
		write_register(f, cpu, 0x619, 1000 * (cpu + 1));
	}
	meters_open(f);
	assert_int_equal(meters_zones(f), 4);
	meters_tick(f);
	write_register(f, 0, 0x611, 16384 * 11);
	write_register(f, 2, 0x611, 16384 * 23);
	write_register(f, 0, 0x619, 2000);
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

	write_model(f, "GenuineIntel", 6, 0xad);
	for (unsigned cpu = 0; cpu < 4; cpu++) {
		write_cpu(f, cpu, 0, (int)cpu, (int)cpu);
		write_register(f, cpu, 0x606, UNIT);
		write_register(f, cpu, 0x611, 16384);
	}
	meters_open(f);
	assert_int_equal(meters_zones(f), 1);
	assert_non_null(meters_zone(f, "package-0", 0));
}

static void a_register_that_fails_or_is_0_is_not_there(void **state)
{
	struct meter_fixture *f = *state;

	write_model(f, "GenuineIntel", 6, 0x3f);
	write_cpu(f, 0, 0, 0, 0);
	write_client(f, 0, 16384);
	script(0, 0x641, 0, EIO);
	script(0, 0x639, 0, 0);
	/* What is above the counter is not it. */
	script(0, 0x64d, UINT64_C(7) << 32, 0);
	meters_open(f);
	assert_int_equal(meters_zones(f), 2);
	assert_non_null(meters_zone(f, "package-0", 0));
	assert_non_null(meters_zone(f, "dram", 0));
}

static void a_counter_that_wraps_in_mid_interval_loses_nothing(void **state)
{
	struct meter_fixture *f = *state;

	write_model(f, "GenuineIntel", 6, 0x9e);
	write_cpu(f, 0, 0, 0, 0);
	write_register(f, 0, 0x606, UNIT);
	write_register(f, 0, 0x611, UINT32_MAX - 16383);
	meters_open(f);
	meters_tick(f);
	write_register(f, 0, 0x611, UINT64_C(0xdead00000000) + 16384 * 9);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), WATTS(10));
	assert_int_equal(meters_zone(f, "package-0", 0)->track.wraps, 1);
	assert_int_equal(meters_zone(f, "package-0", 0)->zone->range_uj, 262143999999);
}

static void a_counter_that_is_reset_is_a_gap_and_no_energy(void **state)
{
	struct meter_fixture *f = *state;

	write_model(f, "GenuineIntel", 6, 0x9e);
	write_cpu(f, 0, 0, 0, 0);
	write_register(f, 0, 0x606, UNIT);
	write_register(f, 0, 0x611, UINT32_MAX / 2);
	meters_open(f);
	meters_tick(f);
	write_register(f, 0, 0x611, 16384);
	meters_tick(f);
	assert_untold(f, "package-0", "set to another value");
	write_register(f, 0, 0x611, 16384 * 3);
	meters_tick(f);
	assert_int_equal(zone_energy(meters_zone(f, "package-0", 0)), WATTS(2));
}

static void files_that_vanish_and_come_back_are_said_to_be_gone(void **state)
{
	struct meter_fixture *f = *state;

	write_model(f, "GenuineIntel", 6, 0x9e);
	write_cpu(f, 0, 0, 0, 0);
	write_client(f, 0, 16384 * 8);
	meters_open(f);
	meters_tick(f);
	tree_remove(f->dir, "cpu/0");
	meters_tick(f);
	assert_untold(f, "package-0", "cannot open");
	write_client(f, 0, 16384 * 18);
	meters_tick(f);
	assert_int_equal(zone_energy(meters_zone(f, "package-0", 0)), WATTS(10));
	/* A CPU that is switched off. */
	script(0, 0x611, 0, ENXIO);
	meters_tick(f);
	assert_untold(f, "package-0", "register 0x611");
	assert_true(tw_power_tells(f->power, TW_ZONE_CORE));
	memset(scripted, 0, sizeof(scripted));
	/* A recording that ends before the register. */
	tree_write(f->dir, "cpu/0/msr", "x");
	meters_tick(f);
	assert_untold(f, "package-0", "is cut");
}

/* As the kernel does it: the directory goes, who has the file open gets ENXIO. */
static void another_cpu_is_asked_while_one_is_switched_off(void **state)
{
	struct meter_fixture *f = *state;
	const struct tw_power_zone *z;

	write_model(f, "GenuineIntel", 6, 0x9e);
	for (unsigned cpu = 0; cpu < 3; cpu++) {
		write_cpu(f, cpu, cpu == 2, 0, (int)cpu);
		write_client(f, cpu, 16384 * 8);
	}
	meters_open(f);
	meters_tick(f);
	tree_remove(f->dir, "cpu/0");
	write_client(f, 1, 16384 * 18);
	write_client(f, 2, 16384 * 8);
	meters_tick(f);
	z = meters_zone(f, "package-0", 0);
	assert_true(z->told);
	assert_int_equal(zone_energy(z), WATTS(10));
	assert_int_equal(z->track.resets, 0);
	/* The machine's is asked of any package. */
	assert_int_equal(zone_energy(meters_zone(f, "psys", -2)), WATTS(20));
	/* Back, and the other one off. */
	write_client(f, 0, 16384 * 28);
	script(1, 0x611, 0, ENXIO);
	meters_tick(f);
	assert_int_equal(zone_energy(z), WATTS(20));
	assert_int_equal(z->track.resets, 0);
	/* None of the package: of another one nobody is asked for it. */
	tree_remove(f->dir, "cpu/0");
	tree_remove(f->dir, "cpu/1");
	meters_tick(f);
	assert_untold(f, "package-0", "cannot open");
}

static void amd_is_by_package_and_by_core(void **state)
{
	struct meter_fixture *f = *state;

	write_model(f, "AuthenticAMD", 25, 1);
	/* Two packages of two dies, a core with two threads each. */
	for (unsigned cpu = 0; cpu < 8; cpu++) {
		write_cpu(f, cpu, (int)cpu / 4, (int)cpu / 2 % 2, (int)cpu / 2 % 2);
		write_register(f, cpu, 0, 0);
	}
	for (unsigned cpu = 0; cpu < 8; cpu += 2) {
		script(cpu, 0xc0010299, UNIT, 0);
		script(cpu, 0xc001029a, 16384 + cpu, 0);
	}
	script(0, 0xc001029b, 16384 * 10, 0);
	script(4, 0xc001029b, 16384 * 20, 0);
	meters_open(f);
	assert_int_equal(meters_zones(f), 6);
	meters_tick(f);
	script(0, 0xc001029b, 16384 * 40, 0);
	script(4, 0xc001029b, 16384 * 60, 0);
	script(6, 0xc001029a, 16384 * 2 + 6, 0);
	meters_tick(f);
	assert_int_equal(meters_ticked(f, TW_ZONE_PACKAGE), WATTS(70));
	assert_int_equal(zone_energy(meters_zone(f, "core-1", 1)), WATTS(1));
	assert_false(tw_power_tells(f->power, TW_ZONE_CORE));
}

static void what_powercap_tells_is_left_to_it(void **state)
{
	struct meter_fixture *f = *state;

	write_model(f, "GenuineIntel", 6, 0x9e);
	write_cpu(f, 0, 0, 0, 0);
	write_client(f, 0, 16384 * 8);
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
	assert_non_null(strstr(f->passed, "rapl-msr: powercap tells all that it could"));
}

/* Of each: how the machine is, and why there is no meter. */
static void what_is_missing_is_said(void **state)
{
	struct meter_fixture *f = *state;

	meters_open(f);
	assert_non_null(strstr(f->passed, "rapl-msr: cannot open"));
	write_model(f, "GenuineIntel", 6, 0x9e);
	meters_open(f);
	assert_non_null(strstr(f->passed, "/devices/system/cpu'"));
	write_cpu(f, 0, 0, 0, 0);
	meters_open(f);
	assert_non_null(
		strstr(f->passed, "msr': No such file or directory (module msr)"));
	write_register(f, 0, 0x606, 0);
	write_register(f, 0, 0x64d, 0);
	meters_open(f);
	/* A virtual machine's, of which the host passes on nothing. */
	assert_non_null(strstr(f->passed, "rapl-msr: all registers are 0"));
	script(0, 0x606, 0, EIO);
	meters_open(f);
	assert_non_null(strstr(f->passed, "register 0x606 of"));
	assert_non_null(strstr(f->passed, "Input/output error"));
	write_model(f, "CentaurHauls", 6, 15);
	meters_open(f);
	assert_non_null(strstr(f->passed, "no registers are known of processors "
					  "'CentaurHauls', family '6'"));
}

static bool is_passed_over_for_want_of_rights(struct meter_fixture *f)
{
	meters_open(f);
	return meters_zones(f) == 0 &&
	       strstr(f->passed, "/cpu/0/msr': Permission denied") != NULL;
}

static void what_may_not_be_read_is_passed_over_with_the_reason(void **state)
{
	struct meter_fixture *f = *state;
	char path[1024];

	write_model(f, "GenuineIntel", 6, 0x9e);
	write_cpu(f, 0, 0, 0, 0);
	write_client(f, 0, 16384);
	snprintf(path, sizeof(path), "%s/cpu/0/msr", f->dir);
	assert_int_equal(chmod(path, 0), 0);
	assert_true(holds_for_nobody(f, is_passed_over_for_want_of_rights));
}

/* What was opened by root is read by who is not root any more. */
static bool is_still_read(struct meter_fixture *f)
{
	meters_tick(f);
	return tw_power_tells(f->power, TW_ZONE_PACKAGE) &&
	       meters_ticked(f, TW_ZONE_PACKAGE) == WATTS(10);
}

static void a_register_is_read_after_root_is_given_up(void **state)
{
	struct meter_fixture *f = *state;
	char path[1024];

	write_model(f, "GenuineIntel", 6, 0x9e);
	write_cpu(f, 0, 0, 0, 0);
	write_client(f, 0, 16384 * 8);
	meters_open(f);
	meters_tick(f);
	write_client(f, 0, 16384 * 18);
	snprintf(path, sizeof(path), "%s/cpu/0/msr", f->dir);
	assert_int_equal(chmod(path, 0), 0);
	assert_true(holds_for_nobody(f, is_still_read));
}

/* Those are open, too, though none of them has been asked before. */
static void another_cpu_is_asked_after_root_is_given_up(void **state)
{
	struct meter_fixture *f = *state;

	write_model(f, "GenuineIntel", 6, 0x9e);
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		char path[1024];

		write_cpu(f, cpu, 0, 0, (int)cpu);
		write_client(f, cpu, 16384 * 8);
		snprintf(path, sizeof(path), "%s/cpu/%u/msr", f->dir, cpu);
		assert_int_equal(chmod(path, 0), 0);
	}
	meters_open(f);
	meters_tick(f);
	write_client(f, 1, 16384 * 18);
	tree_remove(f->dir, "cpu/0");
	assert_true(holds_for_nobody(f, is_still_read));
}

static void opening_without_memory_fails(void **state)
{
	struct meter_fixture *f = *state;
	const struct tw_meter_config c = { .roots = &f->roots, .node = &f->node };

	write_model(f, "GenuineIntel", 6, 0x9e);
	write_cpu(f, 0, 0, 0, 0);
	write_client(f, 0, 16384);
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		void *meter = NULL;
		int rc;

		fail_alloc_at(n);
		rc = tw_meter_rapl_msr.open(&c, &meter, &err);
		if (!fail_alloc_told(rc, &err)) {
			tw_meter_rapl_msr.close(meter);
			break;
		}
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, meters_teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_socket_has_its_parts),
		TEST(two_sockets_are_apart_and_add_up),
		TEST(dies_of_intel_are_apart),
		TEST(other_dies_are_one_package),
		TEST(a_register_that_fails_or_is_0_is_not_there),
		TEST(a_counter_that_wraps_in_mid_interval_loses_nothing),
		TEST(a_counter_that_is_reset_is_a_gap_and_no_energy),
		TEST(files_that_vanish_and_come_back_are_said_to_be_gone),
		TEST(another_cpu_is_asked_while_one_is_switched_off),
		TEST(amd_is_by_package_and_by_core),
		TEST(what_powercap_tells_is_left_to_it),
		TEST(what_is_missing_is_said),
		TEST(what_may_not_be_read_is_passed_over_with_the_reason),
		TEST(a_register_is_read_after_root_is_given_up),
		TEST(another_cpu_is_asked_after_root_is_given_up),
		TEST(opening_without_memory_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
