/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "collector/power/attribute.h"
#include "collector/power/track.h"
#include "collector/system/roots.h"
#include "collector/workloads/workload.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/field/rate.h"
#include "tests/unit/chance.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/scratch.h"
#include "tests/unit/collector/scripted_tasks.h"

#include <stdlib.h>
#include <string.h>

#define S UINT64_C(1000000000)
#define LATER (UINT64_C(1) << 60)
#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct fixture {
	char *dir;
	struct tw_workloads *t;
	struct tw_attribution *a;
	uint64_t now_ns;
};

static void open_all(struct fixture *f, enum tw_idle_by idle_by)
{
	const struct tw_roots roots = { .proc = f->dir, .sys = f->dir, .dev = f->dir };
	const struct tw_workloads_config c = { .roots = &roots,
					       .source = &scripted_tasks,
					       .keep_ms = 1000,
					       .ended_max = 20,
					       .events_max = 100 };
	struct tw_err err = { 0 };

	if (tw_workloads_open(&c, &f->t, &err) < 0 ||
	    tw_attribution_open(idle_by, &f->a, &err) < 0)
		fail_msg("%s", err.text);
	f->now_ns = S;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->dir = scratch_new();
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tw_workloads_close(f->t);
	tw_attribution_close(f->a);
	scratch_free(f->dir);
	free(f);
	return 0;
}

static void tick(struct fixture *f, const struct tw_charge *energy)
{
	struct tw_err err = { 0 };

	f->now_ns += S;
	if (tw_workloads_tick(f->t, f->now_ns, &err) < 0 ||
	    tw_attribute(f->a, f->t, energy, NULL, S, &err) < 0)
		fail_msg("%s", err.text);
}

static const struct tw_workload *process(const struct fixture *f, uint32_t tgid)
{
	const struct tw_workload *w = NULL;

	while ((w = tw_workloads_next(f->t, TW_LEVEL_PROCESS, w)) != NULL)
		if (w->tgid == tgid)
			return w;
	fail_msg("no process %u", tgid);
	return NULL;
}

static struct tw_charge charged(const struct fixture *f, enum tw_level level)
{
	struct tw_charge sum = { 0 };
	const struct tw_workload *w = NULL;

	while ((w = tw_workloads_next(f->t, level, w)) != NULL)
		tw_charge_add(&sum, &w->charged);
	return sum;
}

static void dynamic_goes_by_cpu_time(void **state)
{
	struct fixture *f = *state;
	const struct tw_charge none = { 0 };
	struct tw_charge energy = { 0 };

	open_all(f, TW_IDLE_BY_USE);
	tick(f, &none);
	say(ALIVE, 7, LATER, 3, 3 * S);
	say(ALIVE, 8, LATER, 4, 1 * S);
	energy.dynamic_uj[TW_ZONE_PACKAGE] = 1000;
	energy.idle_uj[TW_ZONE_DRAM] = 100;
	energy.dynamic_uj[TW_ZONE_GPU] = 5;
	tick(f, &energy);
	assert_int_equal(process(f, 7)->charged.dynamic_uj[TW_ZONE_PACKAGE], 750);
	assert_int_equal(process(f, 8)->charged.dynamic_uj[TW_ZONE_PACKAGE], 250);
	assert_int_equal(process(f, 8)->charged.idle_uj[TW_ZONE_DRAM], 25);
	assert_int_equal(charged(f, TW_LEVEL_PROCESS).dynamic_uj[TW_ZONE_GPU], 0);
	assert_int_equal(tw_attribution_stats(f->a)->waiting.dynamic_uj[TW_ZONE_GPU], 5);
	/* Sums over all ticks; a part of 1 uJ is given, too. */
	say(ALIVE, 7, LATER, 3, 4 * S);
	say(ALIVE, 8, LATER, 4, 1 * S);
	energy.dynamic_uj[TW_ZONE_PACKAGE] = 1;
	energy.idle_uj[TW_ZONE_DRAM] = 0;
	tick(f, &energy);
	assert_int_equal(process(f, 7)->charged.dynamic_uj[TW_ZONE_PACKAGE], 751);
	/* The energy of a tick is charged once. */
	assert_int_equal(process(f, 8)->charged.dynamic_uj[TW_ZONE_PACKAGE], 250);
	assert_int_equal(process(f, 7)->charged.idle_uj[TW_ZONE_DRAM], 75);
	assert_int_equal(process(f, 8)->charged.idle_uj[TW_ZONE_DRAM], 25);
	assert_int_equal(tw_attribution_stats(f->a)->given.dynamic_uj[TW_ZONE_PACKAGE],
			 1001);
	assert_int_equal(tw_attribution_stats(f->a)->errors, 0);
}

static void energy_of_a_tick_in_which_nothing_ran_waits(void **state)
{
	struct fixture *f = *state;
	const struct tw_charge none = { 0 };
	struct tw_charge energy = { 0 };

	open_all(f, TW_IDLE_BY_USE);
	energy.idle_uj[TW_ZONE_PACKAGE] = 99;
	tick(f, &energy);
	assert_int_equal(tw_attribution_stats(f->a)->waiting.idle_uj[TW_ZONE_PACKAGE],
			 99);
	say(ALIVE, 7, LATER, 3, S);
	tick(f, &none);
	assert_int_equal(tw_attribution_stats(f->a)->waiting.idle_uj[TW_ZONE_PACKAGE], 0);
	assert_int_equal(process(f, 7)->charged.idle_uj[TW_ZONE_PACKAGE], 99);
}

static uint64_t ticked(const struct fixture *f, uint32_t tgid)
{
	return tw_workloads_ticked(f->t, process(f, tgid))->idle_uj[TW_ZONE_PACKAGE];
}

/* Where CPU time has steps of 10 ms, nothing seems to run in most ticks of a machine at
 * rest. */
static void energy_that_waited_is_power_of_the_ticks_it_waited(void **state)
{
	struct fixture *f = *state;
	struct tw_charge energy = { 0 };

	open_all(f, TW_IDLE_BY_USE);
	energy.idle_uj[TW_ZONE_PACKAGE] = 90;
	for (int ticks = 0; ticks < 3; ticks++) {
		tick(f, &energy);
		assert_int_equal(
			tw_attribution_stats(f->a)->ticked.idle_uj[TW_ZONE_PACKAGE], 0);
	}
	say(ALIVE, 7, LATER, 3, S);
	say(ALIVE, 8, LATER, 4, 2 * S);
	tick(f, &energy);
	assert_int_equal(process(f, 7)->charged.idle_uj[TW_ZONE_PACKAGE], 120);
	assert_int_equal(process(f, 8)->charged.idle_uj[TW_ZONE_PACKAGE], 240);
	assert_int_equal(ticked(f, 7), 30);
	assert_int_equal(ticked(f, 8), 60);
	assert_int_equal(tw_attribution_stats(f->a)->ticked.idle_uj[TW_ZONE_PACKAGE], 90);
	/* The next tick has its own energy only. */
	say(ALIVE, 7, LATER, 3, 2 * S);
	say(ALIVE, 8, LATER, 4, 3 * S);
	tick(f, &energy);
	assert_int_equal(ticked(f, 7), 45);
	assert_int_equal(tw_attribution_stats(f->a)->ticked.idle_uj[TW_ZONE_PACKAGE], 90);
	assert_int_equal(tw_attribution_stats(f->a)->errors, 0);
}

static void energy_has_the_tariff_of_its_tick(void **state)
{
	static const double first[TW_TARIFF_COUNT] = { 100, 0.0015 };
	static const double then[TW_TARIFF_COUNT] = { 1, 0 };
	struct fixture *f = *state;
	const struct tw_charge none = { 0 };
	struct tw_charge energy = { 0 };

	open_all(f, TW_IDLE_BY_USE);
	tick(f, &none);
	energy.dynamic_uj[TW_ZONE_PACKAGE] = 1000;
	energy.idle_uj[TW_ZONE_PACKAGE] = 200;
	energy.dynamic_uj[TW_ZONE_CORE] = 500; /* a part of the package */
	tw_attribution_set_tariff(f->a, 1U << TW_ZONE_PACKAGE, first);
	say(ALIVE, 7, LATER, 3, 3 * S);
	say(ALIVE, 8, LATER, 4, 1 * S);
	tick(f, &energy);
	assert_int_equal(process(f, 7)->charged.tariff_pico[TW_TARIFF_CO2E], 90000);
	assert_int_equal(process(f, 8)->charged.tariff_pico[TW_TARIFF_CO2E], 30000);
	/* 1.35 and 0.45 are rounded. */
	assert_int_equal(process(f, 7)->charged.tariff_pico[TW_TARIFF_PRICE], 1);
	assert_int_equal(process(f, 8)->charged.tariff_pico[TW_TARIFF_PRICE], 0);
	tw_attribution_set_tariff(f->a, 1U << TW_ZONE_PACKAGE, then);
	say(ALIVE, 7, LATER, 3, 4 * S);
	say(ALIVE, 8, LATER, 4, 1 * S);
	tick(f, &energy);
	assert_int_equal(process(f, 7)->charged.tariff_pico[TW_TARIFF_CO2E], 91200);
	assert_int_equal(charged(f, TW_LEVEL_CGROUP).tariff_pico[TW_TARIFF_CO2E], 121200);
	assert_int_equal(charged(f, TW_LEVEL_PROCESS).tariff_pico[TW_TARIFF_PRICE], 1);
}

/* At the highest rates that are accepted: a price of 10^6, and what 10 kW emits of coal.
 */
static void counts_of_decades_never_fall(void **state)
{
	const double per_uj[TW_TARIFF_COUNT] = { 1000 * 1e12 / (TW_J_PER_KWH * 1e6),
						 TW_RATE_MAX * 1e12 /
							 (TW_J_PER_KWH * 1e6) };
	const struct tw_charge day = { .dynamic_uj[TW_ZONE_PACKAGE] =
					       UINT64_C(10000) * 86400 * 1000000 };
	struct tw_charge total = { 0 };

	(void)state;
	for (int n = 1; n <= 40 * 365; n++) {
		const struct tw_charge before = total;
		struct tw_charge more = day;

		tw_charge_add_tariff(&more, 1U << TW_ZONE_PACKAGE, per_uj);
		tw_charge_add(&total, &more);
		assert_true(total.tariff_pico[TW_TARIFF_CO2E] >
			    before.tariff_pico[TW_TARIFF_CO2E]);
		assert_true(total.tariff_pico[TW_TARIFF_PRICE] >
			    before.tariff_pico[TW_TARIFF_PRICE]);
	}
	/* 240 kWh a day. */
	assert_float_equal((double)total.tariff_pico[TW_TARIFF_CO2E] / 1e12,
			   240e3 * 40 * 365, 1);
	assert_float_equal((double)total.tariff_pico[TW_TARIFF_PRICE] / 1e12,
			   240e6 * 40 * 365, 1000);
}

/* Two cgroups, 3 to 1 by shares, whatever they use; within one by use. */
static void idle_goes_by_requested_share_where_that_is_wanted(void **state)
{
	struct fixture *f = *state;
	const struct tw_charge none = { 0 };
	struct tw_charge energy = { 0 };

	tree_write(f->dir, "fs/cgroup/cgroup.controllers", "cpu\n");
	tree_write(f->dir, "fs/cgroup/a/cpu.weight", "300\n");
	tree_write(f->dir, "fs/cgroup/b/cpu.weight", "100\n");
	open_all(f, TW_IDLE_BY_SHARE);
	tick(f, &none);
	say_path(3, "/a");
	say_path(4, "/b");
	say(ALIVE, 7, LATER, 3, S);
	say(ALIVE, 8, LATER, 3, S);
	say(ALIVE, 9, LATER, 4, 8 * S);
	energy.idle_uj[TW_ZONE_PACKAGE] = 4000;
	tick(f, &energy);
	if (process(f, 7)->cgroup->cpu_shares == 0)
		fail_msg("no shares were read");
	assert_in_range(process(f, 9)->charged.idle_uj[TW_ZONE_PACKAGE], 900, 1100);
	assert_in_range(process(f, 7)->charged.idle_uj[TW_ZONE_PACKAGE], 1450, 1550);
	assert_in_range(process(f, 8)->charged.idle_uj[TW_ZONE_PACKAGE], 1450, 1550);
}

/* More cgroups than places of the hash table, so that some of those that run collide. */
static void many_cgroups_have_their_own_shares(void **state)
{
	struct fixture *f = *state;
	const struct tw_charge none = { 0 };
	struct tw_charge energy = { 0 };
	const uint32_t cgroups = 1200, step = 6;

	open_all(f, TW_IDLE_BY_SHARE);
	tick(f, &none);
	for (uint32_t i = 0; i < cgroups; i++)
		say(ALIVE, 100 + i, LATER, 10 + i, i % step == 0 ? S + i : 0);
	energy.idle_uj[TW_ZONE_PACKAGE] = 1000 * (cgroups / step);
	tick(f, &energy);
	for (uint32_t i = 0; i < cgroups; i += step)
		assert_int_equal(process(f, 100 + i)->charged.idle_uj[TW_ZONE_PACKAGE],
				 1000);
	/* Shares are those of a tick, whatever ran in the one before. */
	for (uint32_t i = 0; i < cgroups; i++)
		say(ALIVE, 100 + i, LATER, 10 + i,
		    i % step == 0 ? (2 + i % 7) * S + i : 0);
	tick(f, &energy);
	for (uint32_t i = 0; i < cgroups; i += step)
		assert_int_equal(process(f, 100 + i)->charged.idle_uj[TW_ZONE_PACKAGE],
				 2000);
	assert_int_equal(tw_attribution_stats(f->a)->errors, 0);
}

/* Counts of processes by their pid, which no BPF program makes here. */
static uint64_t counts_of[10][TW_COUNTER_COUNT];

/* GPU energy of processes by their pid, which no GPU measures here. */
static uint64_t gpu_dynamic_uj_of[10], gpu_idle_uj_of[10];

/* The process whose slices have counts only. */
static uint32_t without_cpu_time;

const struct tw_slice *__real_tw_workloads_slices(const struct tw_workloads *t,
						  size_t *count);
const struct tw_slice *__wrap_tw_workloads_slices(const struct tw_workloads *t,
						  size_t *count);

const struct tw_slice *__wrap_tw_workloads_slices(const struct tw_workloads *t,
						  size_t *count)
{
	static struct tw_slice slice[2001];
	const struct tw_slice *real = __real_tw_workloads_slices(t, count);

	assert_true(*count <= 2000);
	for (size_t i = 0; i < *count; i++) {
		const uint32_t tgid = real[i].process->tgid;

		slice[i] = real[i];
		if (tgid == without_cpu_time)
			slice[i].used.cpu_ns = 0;
		if (tgid < 10) {
			memcpy(slice[i].used.counter, counts_of[tgid],
			       sizeof(counts_of[tgid]));
			slice[i].gpu_dynamic_uj = gpu_dynamic_uj_of[tgid];
			slice[i].gpu_idle_uj = gpu_idle_uj_of[tgid];
		}
	}
	/* Nothing may count that stands behind the slices. */
	if (*count > 0) {
		slice[*count] = slice[0];
		slice[*count].gpu_dynamic_uj = slice[*count].gpu_idle_uj = 1000000;
		for (int c = 0; c < TW_COUNTER_COUNT; c++)
			slice[*count].used.counter[c] = 1;
	}
	return slice;
}

static void a_cgroup_without_cpu_time_has_no_share(void **state)
{
	struct fixture *f = *state;
	const struct tw_charge none = { 0 };
	struct tw_charge energy = { 0 };

	open_all(f, TW_IDLE_BY_SHARE);
	tick(f, &none);
	say(ALIVE, 7, LATER, 3, S);
	say(ALIVE, 8, LATER, 4, S);
	without_cpu_time = 8;
	energy.idle_uj[TW_ZONE_PACKAGE] = 1000;
	tick(f, &energy);
	without_cpu_time = 0;
	assert_int_equal(process(f, 7)->charged.idle_uj[TW_ZONE_PACKAGE], 1000);
	assert_int_equal(process(f, 8)->charged.idle_uj[TW_ZONE_PACKAGE], 0);
}

static void energy_waits_for_cpu_time(void **state)
{
	struct fixture *f = *state;
	const struct tw_charge none = { 0 };
	struct tw_charge energy = { 0 };

	open_all(f, TW_IDLE_BY_USE);
	tick(f, &none);
	say(ALIVE, 7, LATER, 3, S);
	energy.dynamic_uj[TW_ZONE_CORE] = 10;
	tick(f, &energy);
	say(ALIVE, 7, LATER, 3, 2 * S);
	without_cpu_time = 7;
	tick(f, &energy);
	without_cpu_time = 0;
	assert_int_equal(process(f, 7)->charged.dynamic_uj[TW_ZONE_CORE], 10);
	assert_int_equal(tw_attribution_stats(f->a)->waiting.dynamic_uj[TW_ZONE_CORE],
			 10);
	say(ALIVE, 7, LATER, 3, 3 * S);
	tick(f, &none);
	assert_int_equal(process(f, 7)->charged.dynamic_uj[TW_ZONE_CORE], 20);
}

static void run_three(struct fixture *f, uint64_t cpu_ns, const struct tw_charge *energy)
{
	say(ALIVE, 7, LATER, 3, cpu_ns);
	say(ALIVE, 8, LATER, 4, cpu_ns);
	say(ALIVE, 9, LATER, 4, cpu_ns);
	tick(f, energy);
}

static void gpu_energy_goes_to_its_processes_up_to_what_waits(void **state)
{
	struct fixture *f = *state;
	const struct tw_charge none = { 0 };
	struct tw_charge energy = { 0 };
	const struct tw_attribution_stats *stats;

	open_all(f, TW_IDLE_BY_USE);
	stats = tw_attribution_stats(f->a);
	tick(f, &none);
	for (uint32_t tgid = 7; tgid <= 9; tgid++) {
		gpu_dynamic_uj_of[tgid] = 10 * (tgid - 6);
		gpu_idle_uj_of[tgid] = tgid - 6;
	}
	energy.dynamic_uj[TW_ZONE_GPU] = 65;
	energy.idle_uj[TW_ZONE_GPU] = 6;
	run_three(f, S, &energy);
	run_three(f, 2 * S, &energy);
	for (uint32_t tgid = 7; tgid <= 9; tgid++) {
		const struct tw_charge *c = &process(f, tgid)->charged;

		assert_int_equal(c->dynamic_uj[TW_ZONE_GPU], 20 * (tgid - 6));
		assert_int_equal(c->idle_uj[TW_ZONE_GPU], 2 * (tgid - 6));
	}
	assert_int_equal(stats->given.dynamic_uj[TW_ZONE_GPU], 120);
	assert_int_equal(stats->waiting.dynamic_uj[TW_ZONE_GPU], 10);
	assert_int_equal(stats->given.idle_uj[TW_ZONE_GPU], 12);
	assert_int_equal(stats->waiting.idle_uj[TW_ZONE_GPU], 0);
	assert_int_equal(stats->errors, 0);
	/* Charging more than waits, of either kind, is an error and changes nothing. */
	energy = none;
	energy.dynamic_uj[TW_ZONE_PACKAGE] = 3;
	run_three(f, 3 * S, &energy);
	run_three(f, 4 * S, &energy);
	memset(gpu_dynamic_uj_of, 0, sizeof(gpu_dynamic_uj_of));
	memset(gpu_idle_uj_of, 0, sizeof(gpu_idle_uj_of));
	assert_int_equal(stats->errors, 4);
	assert_int_equal(stats->given.dynamic_uj[TW_ZONE_GPU], 120);
	assert_int_equal(charged(f, TW_LEVEL_PROCESS).idle_uj[TW_ZONE_GPU], 12);
}

/* A process without misses has no part in DRAM while another has, wherever its slice
 * stands. */
static void misses_of_one_process_take_all_of_the_dram(void **state)
{
	struct fixture *f = *state;
	const struct tw_charge none = { 0 };
	struct tw_charge energy = { 0 };

	open_all(f, TW_IDLE_BY_USE);
	tick(f, &none);
	energy.dynamic_uj[TW_ZONE_DRAM] = 100;
	for (uint32_t tgid = 7; tgid <= 9; tgid++) {
		counts_of[tgid][TW_COUNTER_CACHE_MISSES] = 1;
		run_three(f, tgid * S, &energy);
		counts_of[tgid][TW_COUNTER_CACHE_MISSES] = 0;
		assert_int_equal(process(f, tgid)->charged.dynamic_uj[TW_ZONE_DRAM], 100);
	}
}

/* Work, misses and CPU time divide energy in three different ratios. */
static void each_kind_goes_by_the_usage_that_drives_it(void **state)
{
	static const struct {
		enum tw_zone_kind kind;
		uint64_t seven, eight;
	} want[] = {
		{ TW_ZONE_PACKAGE, 600, 400 }, { TW_ZONE_CORE, 600, 400 },
		{ TW_ZONE_DRAM, 200, 800 },    { TW_ZONE_UNCORE, 750, 250 },
		{ TW_ZONE_PSYS, 750, 250 },    { TW_ZONE_PLATFORM, 750, 250 },
		{ TW_ZONE_OTHER, 750, 250 },
	};
	struct fixture *f = *state;
	const struct tw_charge none = { 0 };
	struct tw_charge energy = { 0 };

	open_all(f, TW_IDLE_BY_USE);
	tick(f, &none);
	say(ALIVE, 7, LATER, 3, 3 * S);
	say(ALIVE, 8, LATER, 4, 1 * S);
	counts_of[7][TW_COUNTER_CYCLES] = 100;
	counts_of[7][TW_COUNTER_INSTRUCTIONS] = 500;
	counts_of[7][TW_COUNTER_CACHE_MISSES] = 1;
	counts_of[8][TW_COUNTER_CYCLES] = 300;
	counts_of[8][TW_COUNTER_INSTRUCTIONS] = 100;
	counts_of[8][TW_COUNTER_CACHE_MISSES] = 4;
	for (size_t i = 0; i < TW_COUNT(want); i++)
		energy.dynamic_uj[want[i].kind] = energy.idle_uj[want[i].kind] = 1000;
	tick(f, &energy);
	memset(counts_of, 0, sizeof(counts_of));
	for (size_t i = 0; i < TW_COUNT(want); i++) {
		const struct tw_charge *seven = &process(f, 7)->charged;
		const struct tw_charge *eight = &process(f, 8)->charged;

		assert_int_equal(seven->dynamic_uj[want[i].kind], want[i].seven);
		assert_int_equal(eight->dynamic_uj[want[i].kind], want[i].eight);
		assert_int_equal(seven->idle_uj[want[i].kind], 750);
		assert_int_equal(eight->idle_uj[want[i].kind], 250);
	}
}

/*
 * A container's own shares count for all its cgroups; without any, those of each cgroup.
 * A cgroup without shares counts as one with the usual 100 of cpu.weight.
 */
static void shares_are_those_of_the_container_else_of_the_cgroup(void **state)
{
	/* Shares of a weight, as the kubelet converts them: KEP-2254. */
	const double a = 2 + 399 * 262142.0 / 9999, b = 2 + 299 * 262142.0 / 9999;
	const double usual = 1024, want[] = { a / 4, a * 3 / 4, b, usual };
	struct fixture *f = *state;
	const struct tw_charge none = { 0 };
	struct tw_charge energy = { 0 };

	tree_write(f->dir, "fs/cgroup/cgroup.controllers", "cpu\n");
	tree_write(f->dir, "fs/cgroup/docker/" HEX "/cpu.weight", "400\n");
	tree_write(f->dir, "fs/cgroup/docker/" HEX "/x/cpu.weight", "9000\n");
	tree_write(f->dir, "fs/cgroup/docker/" HEX "/y/cpu.weight", "9000\n");
	tree_write(f->dir, "fs/cgroup/docker/" OTHER "/z/cpu.weight", "300\n");
	tree_write(f->dir, "fs/cgroup/plain/none", "");
	open_all(f, TW_IDLE_BY_SHARE);
	tick(f, &none);
	say_path(3, "/docker/" HEX "/x");
	say_path(4, "/docker/" HEX "/y");
	say_path(5, "/docker/" OTHER "/z");
	say_path(6, "/plain");
	say(ALIVE, 6, LATER, 3, 1 * S);
	say(ALIVE, 7, LATER, 4, 3 * S);
	say(ALIVE, 8, LATER, 5, 5 * S);
	say(ALIVE, 9, LATER, 6, 7 * S);
	energy.idle_uj[TW_ZONE_PACKAGE] = 8000;
	tick(f, &energy);
	for (uint32_t tgid = 6; tgid <= 9; tgid++)
		assert_float_equal(process(f, tgid)->charged.idle_uj[TW_ZONE_PACKAGE],
				   8000 * want[tgid - 6] / (a + b + usual), 1.01);
}

/* ---- a machine of chance ---- */

#define PLAYERS 40
#define RANGE UINT64_C(1000000000)

static void play(uint64_t *seed, uint64_t *births)
{
	static struct {
		uint64_t start, cpu_ns, cgroup;
		bool lives;
	} p[PLAYERS];

	for (uint32_t i = 0; i < PLAYERS; i++) {
		const uint64_t what = chance(seed, 12);

		if (!p[i].lives && what < 5) {
			p[i].lives = true;
			p[i].start = LATER + ++*births;
			p[i].cpu_ns = 0;
			p[i].cgroup = 1 + chance(seed, 6);
		} else if (!p[i].lives) {
			continue;
		}
		if (what % 3 != 0)
			p[i].cpu_ns += chance(seed, 50000000);
		if (what == 7)
			p[i].cgroup = 1 + chance(seed, 6);
		if (what == 8) {
			say(ENDED, i + 1, p[i].start, p[i].cgroup, p[i].cpu_ns);
			p[i].lives = false;
		} else {
			say(what == 7 ? MOVED : ALIVE, i + 1, p[i].start, p[i].cgroup,
			    p[i].cpu_ns);
		}
	}
}

/* No counter of a workload that is still there has fallen. */
static void check_growth(const struct fixture *f, struct tw_charge *seen, size_t size)
{
	for (int level = 0; level < TW_LEVEL_COUNT; level++) {
		const struct tw_workload *w = NULL;

		while ((w = tw_workloads_next(f->t, (enum tw_level)level, w)) != NULL) {
			assert_true(w->serial < size);
			for (int k = 0; k < TW_ZONE_KIND_COUNT; k++) {
				assert_true(w->charged.dynamic_uj[k] >=
					    seen[w->serial].dynamic_uj[k]);
				assert_true(w->charged.idle_uj[k] >=
					    seen[w->serial].idle_uj[k]);
			}
			seen[w->serial] = w->charged;
		}
	}
}

/*
 * Births, deaths, moves, counters that wrap, readings that fail: at each tick, what all
 * processes have is what all cgroups have, and that is what the zone had.
 */
static void energy_is_conserved_over_all_time(void **state)
{
	enum { ROUNDS = 600, SERIALS = 100000 };
	static struct tw_charge seen[SERIALS];
	const struct tw_zone z = { .kind = TW_ZONE_PACKAGE, .range_uj = RANGE };
	struct fixture *f = *state;
	struct tw_track track = { .based = false };
	uint64_t seed = 4711, births = 0, counter = 5, whole = 0, told = 0, wraps = 0;

	open_all(f, TW_IDLE_BY_USE);
	say_path(2, "/docker/" HEX);
	for (int round = 0; round < ROUNDS; round++) {
		struct tw_charge energy = { 0 }, sum;
		const uint64_t used = chance(&seed, 90000000);
		const struct tw_reading r = {
			.readable = chance(&seed, 20) != 0,
			.energy_uj = counter = (counter + used) % (RANGE + 1),
		};
		const struct tw_span s = tw_track_take(&track, &z, &r, f->now_ns + S, S);

		whole += round > 0 ? used : 0;
		if (s.known) {
			told += s.energy_uj;
			energy.idle_uj[TW_ZONE_PACKAGE] = s.energy_uj / 3;
			energy.dynamic_uj[TW_ZONE_PACKAGE] =
				s.energy_uj - s.energy_uj / 3;
			energy.dynamic_uj[TW_ZONE_DRAM] = chance(&seed, 1000);
		}
		play(&seed, &births);
		tick(f, &energy);
		check_growth(f, seen, SERIALS);
		for (int level = TW_LEVEL_PROCESS; level <= TW_LEVEL_CGROUP; level++) {
			sum = charged(f, (enum tw_level)level);
			tw_charge_add(&sum, &tw_attribution_stats(f->a)->waiting);
			assert_int_equal(sum.dynamic_uj[TW_ZONE_PACKAGE] +
						 sum.idle_uj[TW_ZONE_PACKAGE],
					 told);
		}
		wraps = track.wraps;
	}
	assert_true(wraps > 10);
	/* The first reading is a baseline; the last may be one that was not there. */
	assert_true(told <= whole && whole - told < 20 * 90000000u);
	assert_int_equal(tw_attribution_stats(f->a)->errors, 0);
}

static void without_memory_energy_waits(void **state)
{
	struct fixture *f = *state;
	const struct tw_charge none = { 0 };
	struct tw_charge energy = { 0 };

	open_all(f, TW_IDLE_BY_USE);
	tick(f, &none);
	energy.dynamic_uj[TW_ZONE_CORE] = 10;
	say(ALIVE, 7, LATER, 3, S);
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		int rc;

		f->now_ns += S;
		say(ALIVE, 7, LATER, 3, (uint64_t)n * S);
		assert_int_equal(tw_workloads_tick(f->t, f->now_ns, &err), 0);
		fail_alloc_at(n);
		rc = tw_attribute(f->a, f->t, &energy, NULL, 0, &err);
		if (!fail_alloc_hit()) {
			assert_int_equal(rc, 0);
			assert_int_equal(process(f, 7)->charged.dynamic_uj[TW_ZONE_CORE],
					 10 * n);
			break;
		}
		assert_int_equal(rc, -1);
		assert_int_equal(err.code, TW_NOMEM);
	}
}

/* Room for one process is left for room for 300, which there is not. */
static void attribution_goes_on_after_it_could_not_grow(void **state)
{
	struct fixture *f = *state;
	const struct tw_charge none = { 0 };
	struct tw_charge energy = { 0 };
	struct tw_err err = { 0 };

	open_all(f, TW_IDLE_BY_USE);
	tick(f, &none);
	energy.dynamic_uj[TW_ZONE_CORE] = 10;
	say(ALIVE, 7, LATER, 3, S);
	tick(f, &energy);
	/* As many as before need no memory. */
	f->now_ns += S;
	say(ALIVE, 7, LATER, 3, 2 * S);
	assert_int_equal(tw_workloads_tick(f->t, f->now_ns, &err), 0);
	fail_alloc_at(1);
	assert_int_equal(tw_attribute(f->a, f->t, &energy, NULL, 0, &err), 0);
	assert_false(fail_alloc_hit());
	f->now_ns += S;
	for (uint32_t i = 0; i < 300; i++)
		say(ALIVE, 100 + i, LATER, 3, S);
	assert_int_equal(tw_workloads_tick(f->t, f->now_ns, &err), 0);
	fail_alloc_at(1);
	assert_int_equal(tw_attribute(f->a, f->t, &energy, NULL, 0, &err), -1);
	assert_true(fail_alloc_hit());
	say(ALIVE, 7, LATER, 3, 3 * S);
	tick(f, &none);
	assert_int_equal(process(f, 7)->charged.dynamic_uj[TW_ZONE_CORE], 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(dynamic_goes_by_cpu_time),
		TEST(energy_of_a_tick_in_which_nothing_ran_waits),
		TEST(energy_that_waited_is_power_of_the_ticks_it_waited),
		TEST(energy_has_the_tariff_of_its_tick),
		TEST(counts_of_decades_never_fall),
		TEST(idle_goes_by_requested_share_where_that_is_wanted),
		TEST(many_cgroups_have_their_own_shares),
		TEST(a_cgroup_without_cpu_time_has_no_share),
		TEST(energy_waits_for_cpu_time),
		TEST(gpu_energy_goes_to_its_processes_up_to_what_waits),
		TEST(misses_of_one_process_take_all_of_the_dram),
		TEST(each_kind_goes_by_the_usage_that_drives_it),
		TEST(shares_are_those_of_the_container_else_of_the_cgroup),
		TEST(energy_is_conserved_over_all_time),
		TEST(without_memory_energy_waits),
		TEST(attribution_goes_on_after_it_could_not_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
