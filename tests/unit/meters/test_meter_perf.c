/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RAPL by perf events. The tree names an event of the kernel's software PMU, which counts
 * the nanoseconds of a CPU: at 1e-7 J each, that is 100 W.
 */
#include "lib/core/array.h"
#include "tests/unit/meters/meter_fixture.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/tw_test.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PMU "bus/event_source/devices/power/"

static bool may_count(void)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_CPU_CLOCK };
	const int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void write_pmu(const struct meter_fixture *f, const char *mask)
{
	tree_write(f->dir, PMU "type", "1\n");
	tree_write(f->dir, PMU "cpumask", mask);
	tree_write(f->dir, PMU "events/energy-pkg", "event=0x00\n");
	tree_write(f->dir, PMU "events/energy-pkg.scale", "1e-7\n");
	tree_write(f->dir, "devices/system/cpu/cpu0/topology/physical_package_id", "0\n");
}

static void events_are_zones_in_their_unit(void **state)
{
	struct meter_fixture *f = *state;
	const struct tw_power_zone *z;

	if (!may_count())
		skip();
	write_pmu(f, "0\n");
	meters_open(f);
	z = meters_zone(f, "package-0", 0);
	assert_non_null(z);
	assert_string_equal(z->meter->name, "rapl-perf");
	assert_string_equal(z->source, "rapl-sysfs");
	meters_tick(f);
	usleep(100000);
	meters_tick(f);
	/* 10 J in a tenth of a second, or more if it took longer. */
	assert_true(meters_ticked(f, TW_ZONE_PACKAGE) >= WATTS(9));
}

/* The counters of powercap are the same: they are not read twice. */
static void powercap_comes_first(void **state)
{
	struct meter_fixture *f = *state;

	write_pmu(f, "0\n");
	write_socket(f, 0, WATTS(1));
	meters_open(f);
	assert_string_equal(meters_zone(f, "package-0", 0)->meter->name, "rapl-sysfs");
	assert_non_null(strstr(f->passed, "rapl-perf: other meters of RAPL already"));
}

static void files_that_are_no_events_are_no_meter(void **state)
{
	static const struct {
		const char *file, *text;
	} cases[] = {
		{ PMU "type", "x\n" },
		{ PMU "cpumask", "none\n" },
		{ PMU "events/energy-pkg", "event=2\n" },
		{ PMU "events/energy-pkg", "event=0x\n" },
		{ PMU "events/energy-pkg.scale", "-1\n" },
		{ PMU "events/energy-pkg.scale", "J\n" },
	};
	struct meter_fixture *f = *state;

	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		write_pmu(f, "0\n");
		tree_write(f->dir, cases[i].file, cases[i].text);
		meters_open(f);
		assert_non_null(strstr(f->passed, "rapl-perf: no PMU 'power' below"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		METER_TEST(events_are_zones_in_their_unit),
		METER_TEST(powercap_comes_first),
		METER_TEST(files_that_are_no_events_are_no_meter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
