/* SPDX-License-Identifier: Apache-2.0 */
/* RAPL by registers that fail, vanish, are not there or may not be read. */
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/meters/meter_fixture.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/meters/msr_fixture.h"
#include "tests/unit/tw_test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

ssize_t __real_pread(int fd, void *buf, size_t len, off_t at);
ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t at);

ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t at)
{
	return msr_pread(fd, buf, len, at, __real_pread);
}

static void a_register_that_fails_or_is_0_is_not_there(void **state)
{
	struct meter_fixture *f = *state;

	msr_model(f, "GenuineIntel", 6, 0x3f);
	msr_cpu(f, 0, 0, 0, 0);
	msr_client(f, 0, 16384);
	msr_script(0, 0x641, 0, EIO);
	msr_script(0, 0x639, 0, 0);
	/* What is above the counter is not it. */
	msr_script(0, 0x64d, UINT64_C(7) << 32, 0);
	meters_open(f);
	assert_int_equal(meters_zones(f), 2);
	assert_non_null(meters_zone(f, "package-0", 0));
	assert_non_null(meters_zone(f, "dram", 0));
}

static void vanished_files_are_reported_until_they_come_back(void **state)
{
	struct meter_fixture *f = *state;

	msr_model(f, "GenuineIntel", 6, 0x9e);
	msr_cpu(f, 0, 0, 0, 0);
	msr_client(f, 0, 16384 * 8);
	meters_open(f);
	meters_tick(f);
	tree_remove(f->dir, "cpu/0");
	meters_tick(f);
	assert_untold(f, "package-0", "cannot open");
	msr_client(f, 0, 16384 * 18);
	meters_tick(f);
	assert_int_equal(zone_energy(meters_zone(f, "package-0", 0)), WATTS(10));
	/* A CPU that is switched off. */
	msr_script(0, 0x611, 0, ENXIO);
	meters_tick(f);
	assert_untold(f, "package-0", "register 0x611");
	assert_true(tw_power_complete(f->power, TW_ZONE_CORE));
	msr_unscript();
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

	msr_model(f, "GenuineIntel", 6, 0x9e);
	for (unsigned cpu = 0; cpu < 3; cpu++) {
		msr_cpu(f, cpu, cpu == 2, 0, (int)cpu);
		msr_client(f, cpu, 16384 * 8);
	}
	meters_open(f);
	meters_tick(f);
	tree_remove(f->dir, "cpu/0");
	msr_client(f, 1, 16384 * 18);
	msr_client(f, 2, 16384 * 8);
	meters_tick(f);
	z = meters_zone(f, "package-0", 0);
	assert_true(z->fresh);
	assert_int_equal(zone_energy(z), WATTS(10));
	assert_int_equal(z->track.resets, 0);
	/* The machine's is asked of any package. */
	assert_int_equal(zone_energy(meters_zone(f, "psys", -2)), WATTS(20));
	/* Back, and the other one off. */
	msr_client(f, 0, 16384 * 28);
	msr_script(1, 0x611, 0, ENXIO);
	meters_tick(f);
	assert_int_equal(zone_energy(z), WATTS(20));
	assert_int_equal(z->track.resets, 0);
	/* None of the package: of another one nobody is asked for it. */
	tree_remove(f->dir, "cpu/0");
	tree_remove(f->dir, "cpu/1");
	meters_tick(f);
	assert_untold(f, "package-0", "cannot open");
}

/* Of each: how the machine is, and why there is no meter. */
static void missing_parts_are_reported(void **state)
{
	struct meter_fixture *f = *state;

	meters_open(f);
	assert_non_null(strstr(f->passed, "rapl-msr: cannot open"));
	msr_model(f, "GenuineIntel", 6, 0x9e);
	meters_open(f);
	assert_non_null(strstr(f->passed, "/devices/system/cpu'"));
	msr_cpu(f, 0, 0, 0, 0);
	meters_open(f);
	assert_non_null(strstr(f->passed,
			       "msr': No such file or directory (load the module msr)"));
	msr_register(f, 0, 0x606, 0);
	msr_register(f, 0, 0x64d, 0);
	meters_open(f);
	/* A virtual machine's, of which the host passes on nothing. */
	assert_non_null(strstr(f->passed, "rapl-msr: all registers are 0"));
	msr_script(0, 0x606, 0, EIO);
	meters_open(f);
	assert_non_null(strstr(f->passed, "register 0x606 of"));
	assert_non_null(strstr(f->passed, "Input/output error"));
	msr_model(f, "CentaurHauls", 6, 15);
	meters_open(f);
	assert_non_null(strstr(f->passed, "no known RAPL registers for processors "
					  "'CentaurHauls', family '6'"));
}

static bool is_passed_over_for_want_of_rights(struct meter_fixture *f)
{
	meters_open(f);
	return meters_zones(f) == 0 &&
	       strstr(f->passed, "/cpu/0/msr': Permission denied") != NULL;
}

static void an_unreadable_meter_is_skipped_with_the_reason(void **state)
{
	struct meter_fixture *f = *state;
	char path[1024];

	msr_model(f, "GenuineIntel", 6, 0x9e);
	msr_cpu(f, 0, 0, 0, 0);
	msr_client(f, 0, 16384);
	snprintf(path, sizeof(path), "%s/cpu/0/msr", f->dir);
	assert_int_equal(chmod(path, 0), 0);
	assert_true(holds_for_nobody(f, is_passed_over_for_want_of_rights));
}

/* What was opened by root is read by who is not root any more. */
static bool is_still_read(struct meter_fixture *f)
{
	meters_tick(f);
	return tw_power_complete(f->power, TW_ZONE_PACKAGE) &&
	       meters_ticked(f, TW_ZONE_PACKAGE) == WATTS(10);
}

static void a_register_is_read_after_root_is_given_up(void **state)
{
	struct meter_fixture *f = *state;
	char path[1024];

	msr_model(f, "GenuineIntel", 6, 0x9e);
	msr_cpu(f, 0, 0, 0, 0);
	msr_client(f, 0, 16384 * 8);
	meters_open(f);
	meters_tick(f);
	msr_client(f, 0, 16384 * 18);
	snprintf(path, sizeof(path), "%s/cpu/0/msr", f->dir);
	assert_int_equal(chmod(path, 0), 0);
	assert_true(holds_for_nobody(f, is_still_read));
}

/* Those are open, too, though none of them has been asked before. */
static void another_cpu_is_asked_after_root_is_given_up(void **state)
{
	struct meter_fixture *f = *state;
	char path[1024];

	msr_model(f, "GenuineIntel", 6, 0x9e);
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		msr_cpu(f, cpu, 0, 0, (int)cpu);
		msr_client(f, cpu, 16384 * 8);
	}
	meters_open(f);
	meters_tick(f);
	msr_client(f, 1, 16384 * 18);
	tree_remove(f->dir, "cpu/0");
	snprintf(path, sizeof(path), "%s/cpu/1/msr", f->dir);
	assert_int_equal(chmod(path, 0), 0);
	assert_true(holds_for_nobody(f, is_still_read));
}

static void opening_without_memory_fails(void **state)
{
	struct meter_fixture *f = *state;
	const struct tw_meter_config c = { .roots = &f->roots, .node = &f->node };

	msr_model(f, "GenuineIntel", 6, 0x9e);
	msr_cpu(f, 0, 0, 0, 0);
	msr_client(f, 0, 16384);
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
	const struct CMUnitTest tests[] = {
		MSR_TEST(a_register_that_fails_or_is_0_is_not_there),
		MSR_TEST(vanished_files_are_reported_until_they_come_back),
		MSR_TEST(another_cpu_is_asked_while_one_is_switched_off),
		MSR_TEST(missing_parts_are_reported),
		MSR_TEST(an_unreadable_meter_is_skipped_with_the_reason),
		MSR_TEST(a_register_is_read_after_root_is_given_up),
		MSR_TEST(another_cpu_is_asked_after_root_is_given_up),
		MSR_TEST(opening_without_memory_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
