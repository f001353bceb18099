/* SPDX-License-Identifier: Apache-2.0 */
/* A tick: what its time is. */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "collector/collector.h"
#include "collector/expose/expose.h"
#include "collector/power/attribute.h"
#include "collector/power/power.h"
#include "collector/power/power_history.h"
#include "collector/workloads/workload_state.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/scratch.h"
#include "tests/unit/collector/scripted_tasks.h"
#include "tests/unit/collector/workload_fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <time.h>

#define RANGE 262143328850ull

static uint64_t awake_ns, slept_ns;

int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

/* Of this machine; it may sleep. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
	const uint64_t ns = clock == CLOCK_MONOTONIC  ? awake_ns
			    : clock == CLOCK_BOOTTIME ? awake_ns + slept_ns
						      : 0;

	*out = (struct timespec){ .tv_sec = (time_t)(ns / S), .tv_nsec = (long)(ns % S) };
	return 0;
}

struct machine {
	char *dir;
	struct tw_collector c;
};

static void tick(struct machine *m)
{
	struct tw_err err = { 0 };

	awake_ns += 3 * S;
	if (tw_collector_tick(&m->c, 0, 0, &err) < 0)
		fail_msg("%s", err.text);
}

static void write_package(const struct machine *m, unsigned long long uj)
{
	tree_rapl(m->dir, "class/powercap/intel-rapl:0", "package-0", uj, RANGE);
}

static int setup(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));
	struct tw_power_config pc = { .meter = { .roots = &m->c.roots,
						 .node = &m->c.node,
						 .nvml = "/nonexistent" } };
	struct tw_err err = { 0 };

	assert_non_null(m);
	script_len = 0;
	script_fails = false;
	awake_ns = 1000 * S;
	slept_ns = 0;
	m->dir = scratch_new();
	m->c.roots = (struct tw_roots){ .proc = m->dir, .sys = m->dir, .dev = m->dir };
	m->c.workloads = workloads_open(m->dir, 1000);
	tree_write(m->dir, "class/hwmon/hwmon0/name", "power_meter\n");
	tree_write(m->dir, "class/hwmon/hwmon0/power1_average", "100000000\n");
	write_package(m, RANGE / 2);
	if (tw_node_open(&m->c.node, &m->c.roots, &err) < 0 ||
	    tw_attribution_open(TW_IDLE_BY_USE, &m->c.attribution, &err) < 0 ||
	    tw_power_open(&pc, &m->c.power, &err) < 0 ||
	    tw_power_history_new(&m->c.history, &err) < 0)
		fail_msg("%s", err.text);
	tick(m);
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	struct machine *m = *state;

	tw_power_history_free(m->c.history);
	tw_power_close(m->c.power);
	tw_attribution_close(m->c.attribution);
	tw_node_release(&m->c.node);
	tw_workloads_close(m->c.workloads);
	scratch_free(m->dir);
	free(m);
	return 0;
}

static const struct tw_power_zone *zone_of(const struct machine *m,
					   enum tw_zone_kind kind)
{
	size_t count, i = 0;
	const struct tw_power_zone *z = tw_power_zones(m->c.power, &count);

	while (i < count && z[i].zone->kind != kind)
		i++;
	assert_true(i < count);
	return &z[i];
}

static uint64_t energy_of(const struct machine *m, enum tw_zone_kind kind)
{
	const struct tw_power_zone *z = zone_of(m, kind);

	return z->dynamic_uj + z->idle_uj;
}

static void a_power_is_not_of_the_time_that_the_machine_slept(void **state)
{
	struct machine *m = *state;

	tick(m);
	assert_int_equal(energy_of(m, TW_ZONE_PLATFORM), 300000000);
	slept_ns += 8 * 3600 * S;
	tick(m);
	assert_int_equal(energy_of(m, TW_ZONE_PLATFORM), 600000000);
	assert_float_equal(zone_of(m, TW_ZONE_PLATFORM)->power_w, 100, 1e-9);
	assert_int_equal(m->c.elapsed_ns, 3 * S);
}

static void a_counter_that_began_again_while_the_machine_slept_did_not_wrap(void **state)
{
	struct machine *m = *state;

	write_package(m, RANGE / 2 + 3000000);
	tick(m);
	assert_int_equal(energy_of(m, TW_ZONE_PACKAGE), 3000000);
	slept_ns += 8 * 3600 * S;
	write_package(m, 2000000);
	tick(m);
	assert_false(zone_of(m, TW_ZONE_PACKAGE)->fresh);
	assert_int_equal(energy_of(m, TW_ZONE_PACKAGE), 3000000);
	write_package(m, 5000000);
	tick(m);
	assert_int_equal(energy_of(m, TW_ZONE_PACKAGE), 6000000);
	assert_float_equal(zone_of(m, TW_ZONE_PACKAGE)->power_w, 1, 1e-9);
}

/*
 * A counter goes on after a nap. Its energy is that of the time awake: 20 W, as before,
 * and its idle part does not grow by the nap.
 */
static void a_power_of_a_counter_is_not_of_a_nap_either(void **state)
{
	struct machine *m = *state;
	unsigned long long uj = RANGE / 2;

	for (int i = 0; i < 20; i++) {
		uj += 60000000;
		write_package(m, uj);
		tick(m);
	}
	assert_float_equal(zone_of(m, TW_ZONE_PACKAGE)->power_w, 20, 1e-9);
	slept_ns += 40 * S;
	uj += 60000000;
	write_package(m, uj);
	tick(m);
	assert_int_equal(energy_of(m, TW_ZONE_PACKAGE), 21 * 60000000);
	assert_float_equal(zone_of(m, TW_ZONE_PACKAGE)->power_w, 20, 1e-9);
}

/* It may have come late: that was not asleep, and nobody knows better. */
static void a_tick_that_is_late_is_of_the_time_that_it_took(void **state)
{
	struct machine *m = *state;

	awake_ns += 27 * S;
	write_package(m, RANGE / 2 + 60000000);
	tick(m);
	assert_int_equal(energy_of(m, TW_ZONE_PLATFORM), 3000000000);
	assert_float_equal(zone_of(m, TW_ZONE_PACKAGE)->power_w, 2, 1e-9);
}

/* All CPUs work half of the time. The task source fails, as for want of descriptors. */
static void work(struct machine *m, uint64_t *cpu_ns, unsigned long long *uj, bool fails)
{
	struct tw_err err = { 0 };

	*cpu_ns += 3 * S * m->c.node.cpus / 2;
	*uj += 180000000;
	write_package(m, *uj);
	script_fails = fails;
	script_len = 0;
	say(ALIVE, 7, LATER, 1, *cpu_ns);
	awake_ns += 3 * S;
	assert_int_equal(tw_collector_tick(&m->c, 0, 0, &err), fails ? -1 : 0);
}

/* Nobody knows what ran: that is not rest, and no idle power is learned from it. */
static void ticks_without_tasks_are_not_idle(void **state)
{
	struct machine *m = *state;
	unsigned long long uj = RANGE / 2;
	uint64_t cpu_ns = 0;

	for (int i = 0; i < 3; i++)
		work(m, &cpu_ns, &uj, false);
	assert_float_equal(tw_node_load(&m->c.node), 0.5, 1e-9);
	for (int i = 0; i < 10; i++) {
		work(m, &cpu_ns, &uj, true);
		assert_true(tw_node_load(&m->c.node) < 0);
	}
	/* The work of eleven ticks is no load of 1 either. */
	work(m, &cpu_ns, &uj, false);
	assert_float_equal(tw_node_load(&m->c.node), 0.5, 1e-9);
	assert_int_equal(energy_of(m, TW_ZONE_PACKAGE), 14 * 180000000ull);
	assert_float_equal(zone_of(m, TW_ZONE_PACKAGE)->idle_w, 0, 1e-9);
}

/* The exported energy of the package at a level. */
static uint64_t exported_uj(struct machine *m, const char *family)
{
	struct tw_buf b = { 0 };
	struct tw_expo e = { .out = &b };
	struct tw_exposure x;
	struct tw_err err = { 0 };
	uint64_t uj = 0;

	assert_int_equal(tw_exposure_begin(&x, &m->c, &e, &err), 0);
	tw_exposure_choose(&x, &m->c);
	tw_expose_workloads(&x);
	for (char *line = strtok(b.data, "\n"); line != NULL; line = strtok(NULL, "\n"))
		if (strncmp(line, family, strlen(family)) == 0 &&
		    strstr(line, "zone=\"package\"") != NULL)
			uj += (uint64_t)(strtod(strrchr(line, ' '), NULL) * 1e6 + 0.5);
	tw_buf_clear(&b);
	return uj;
}

/* Counts of a process that came and went unseen are not among the top. */
static void energy_without_cpu_time_is_exported(void **state)
{
	const uint64_t most[TW_COUNTER_COUNT] = { [TW_COUNTER_CYCLES] = 3000 },
		       few[TW_COUNTER_COUNT] = { [TW_COUNTER_CYCLES] = 1000 };
	struct machine *m = *state;

	m->c.show.level[TW_LEVEL_PROCESS] = m->c.show.level[TW_LEVEL_CGROUP] = true;
	m->c.show.top = 1;
	say(ALIVE, 7, LATER, 1, S);
	tick(m);
	tw_workloads_counted(m->c.workloads, 7, most, false);
	tw_workloads_counted(m->c.workloads, 99, few, true);
	write_package(m, RANGE / 2 + 180000000);
	say(ALIVE, 7, LATER, 1, 2 * S);
	tick(m);
	assert_int_equal(energy_of(m, TW_ZONE_PACKAGE), 180000000);
	assert_int_equal(exported_uj(m, "tallywatt_process_energy_joules"), 180000000);
	assert_int_equal(exported_uj(m, "tallywatt_cgroup_energy_joules"), 180000000);
}

static uint64_t written_uj(const struct machine *m)
{
	struct tw_err err = { 0 };
	char path[512], text[32];
	uint64_t uj = 0;
	size_t len;

	snprintf(path, sizeof(path), "%s/tree/class/powercap/intel-rapl:1/energy_uj",
		 m->dir);
	if (tw_file_read_at(AT_FDCWD, path, text, sizeof(text), &len, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(tw_parse_u64(text, len - 1, &uj));
	return uj;
}

/* A tenth of a second more: a tick each 3 s, else a step. */
static void run_on(struct machine *m, unsigned *tenths)
{
	struct tw_err err = { 0 };

	awake_ns += S / 10;
	if (++*tenths % 30 != 0)
		tw_powercap_step(&m->c.powercap, awake_ns);
	else if (tw_collector_tick(&m->c, 0, 0, &err) < 0)
		fail_msg("%s", err.text);
}

/*
 * As Kepler reads it: each 5 s, and at a scrape if its last reading is older than half a
 * second. By ticks alone, a reading after 1.1 s has 0 or 300 J of 110.
 */
static void a_reader_between_ticks_sees_the_power_of_the_virtual_counter(void **state)
{
	static const unsigned after[] = { 50, 50, 11, 39, 50, 7, 43, 50, 23, 27 };
	struct machine *m = *state;
	char *dir = scratch_path(m->dir, "tree");
	unsigned tenths = 0;
	uint64_t last;

	m->c.powercap.node_dir = dir;
	m->c.interval_ms = 3000;
	for (int i = 0; i < 67; i++)
		run_on(m, &tenths);
	last = written_uj(m);
	for (size_t i = 0; i < TW_COUNT(after); i++) {
		uint64_t now;
		double watts;

		for (unsigned k = 0; k < after[i]; k++)
			run_on(m, &tenths);
		now = written_uj(m);
		watts = (double)(now - last) / 1e5 / after[i];
		if (watts < 99.9 || watts > 100.1)
			fail_msg("%g W in %u00 ms", watts, after[i]);
		last = now;
	}
	tw_powercap_release(&m->c.powercap);
	free(dir);
}

static void a_virtual_counter_has_the_energy_of_the_tick_before(void **state)
{
	struct machine *m = *state;
	char *dir = scratch_path(m->dir, "tree");
	char *path = scratch_path(m->dir, "tree/class/powercap/intel-rapl:1/energy_uj");
	uint64_t before_uj = 0, last = 0;

	m->c.powercap.node_dir = dir;
	m->c.interval_ms = 3000;
	for (int i = 0; i < 4; i++) {
		/* The power rises, falls to 0, and a tick is late. */
		static const char *const watts[] = { "100000000\n", "700000000\n", "0\n",
						     "5000000\n" };

		tree_write(m->dir, "class/hwmon/hwmon0/power1_average", watts[i]);
		tick(m);
		assert_int_equal(written_uj(m), before_uj);
		before_uj = energy_of(m, TW_ZONE_PLATFORM);
		for (int k = 0; k < 10; k++) {
			awake_ns += i == 1 && k == 9 ? S : 0;
			tw_powercap_step(&m->c.powercap, awake_ns + (uint64_t)k * S / 3);
			assert_true(written_uj(m) >= last);
			assert_true(written_uj(m) <= before_uj);
			last = written_uj(m);
		}
		assert_int_equal(last, before_uj);
	}
	/* The end leaves nothing for the next collector to lose. */
	tree_write(m->dir, "class/hwmon/hwmon0/power1_average", "50000000\n");
	tick(m);
	assert_true(written_uj(m) < energy_of(m, TW_ZONE_PLATFORM));
	before_uj = energy_of(m, TW_ZONE_PLATFORM);
	tw_powercap_release(&m->c.powercap);
	/* Nobody takes the counter for one of 0 W. */
	assert_true(access(path, F_OK) != 0);
	/* The next one goes on from there. */
	m->c.powercap.node_dir = dir;
	tick(m);
	assert_int_equal(written_uj(m), before_uj);
	tw_powercap_release(&m->c.powercap);
	free(path);
	free(dir);
}

#define TICK_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TICK_TEST(a_power_is_not_of_the_time_that_the_machine_slept),
		TICK_TEST(
			a_counter_that_began_again_while_the_machine_slept_did_not_wrap),
		TICK_TEST(a_power_of_a_counter_is_not_of_a_nap_either),
		TICK_TEST(ticks_without_tasks_are_not_idle),
		TICK_TEST(energy_without_cpu_time_is_exported),
		TICK_TEST(a_tick_that_is_late_is_of_the_time_that_it_took),
		TICK_TEST(a_reader_between_ticks_sees_the_power_of_the_virtual_counter),
		TICK_TEST(a_virtual_counter_has_the_energy_of_the_tick_before),
	};

	return cmocka_run_group_tests_name("collector", tests, NULL, NULL);
}
