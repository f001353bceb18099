/* SPDX-License-Identifier: Apache-2.0 */
/* The trees of virtual machines: how many there are, and when they end. */
#include "tests/unit/tw_test.h"

#include "collector/powercap.h"
#include "collector/power/node.h"
#include "collector/power/power.h"
#include "collector/system/roots.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "tests/unit/collector/scripted_tasks.h"
#include "tests/unit/collector/workload_fixture.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/scratch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZONE "class/powercap/intel-rapl:1"
#define VMS 10

/* Nothing here waits for the disk. */
int fsync(int fd)
{
	(void)fd;
	return 0;
}

struct machine {
	struct workload_fixture *f;
	struct tw_roots roots;
	struct tw_node node;
	struct tw_power *power;
	struct tw_powercap pc;
	char *dir, *node_dir;
	char path[VMS][64];
	uint64_t uj; /* of each VM in a tick */
};

static int setup(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));
	struct tw_power_config pc = {
		.meter = { .roots = &m->roots, .node = &m->node, .nvml = "/nonexistent" }
	};
	struct tw_err err = { 0 };
	void *fixture = NULL;

	assert_non_null(m);
	workloads_setup(&fixture);
	m->f = fixture;
	m->roots = (struct tw_roots){ .proc = m->f->dir,
				      .sys = m->f->dir,
				      .dev = m->f->dir };
	tree_write(m->f->dir, "class/hwmon/hwmon0/name", "power_meter\n");
	tree_write(m->f->dir, "class/hwmon/hwmon0/power1_average", "100000000\n");
	if (tw_node_open(&m->node, &m->roots, &err) < 0 ||
	    tw_power_open(&pc, &m->power, &err) < 0)
		fail_msg("%s", err.text);
	tw_power_tick(m->power, m->f->now_ns, 0, -1, NULL);
	m->uj = 1;
	m->dir = scratch_path(m->f->dir, "trees");
	m->node_dir = scratch_path(m->f->dir, "own");
	m->pc = (struct tw_powercap){ .vm_dir = m->dir,
				      .trees_max = 20,
				      .keep_ns = KEEP_S * S };
	for (size_t i = 0; i < VMS; i++)
		snprintf(m->path[i], sizeof(m->path[i]),
			 "/machine.slice/machine-qemu\\x2d%zu\\x2dvm%zu.scope", i, i);
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	struct machine *m = *state;
	void *fixture = m->f;

	tw_powercap_release(&m->pc);
	tw_power_close(m->power);
	tw_node_release(&m->node);
	workloads_teardown(&fixture);
	free(m->dir);
	free(m->node_dir);
	free(m);
	return 0;
}

/* A tick in which the first `count` VMs use m->uj, to be written in a second. */
static int begin_tick(struct machine *m, size_t count, struct tw_err *err)
{
	struct tw_charge charge = { 0 };
	const struct tw_slice *s;
	size_t slices;

	for (size_t i = 0; i < count; i++)
		say(ALIVE, 100 + (uint32_t)i, LATER + 1, 10 + i,
		    m->f->now_ns / S - LATER / S + 100);
	workloads_tick(m->f);
	for (int kind = 0; kind < TW_ZONE_PLATFORM; kind++)
		charge.dynamic_uj[kind] = m->uj * (uint64_t)(10 + kind);
	charge.dynamic_uj[TW_ZONE_PLATFORM] = m->uj - m->uj / 4;
	charge.idle_uj[TW_ZONE_PLATFORM] = m->uj / 4;
	s = tw_workloads_slices(m->f->t, &slices);
	for (size_t i = 0; i < slices; i++)
		tw_workloads_charge(m->f->t, &s[i], &charge, &charge);
	tw_workloads_scraped(m->f->t);
	tw_power_tick(m->power, m->f->now_ns, S, -1, NULL);
	return tw_powercap_tick(&m->pc, m->power, m->f->t, m->f->now_ns, S, err);
}

/* A tick and its second. */
static void tick(struct machine *m, size_t count)
{
	struct tw_err err = { 0 };

	if (begin_tick(m, count, &err) != 0)
		fail_msg("%s", err.text);
	tw_powercap_step(&m->pc, m->f->now_ns + S);
}

static size_t trees(const struct machine *m)
{
	struct tw_strs names = { 0 };
	struct tw_err ignored = { 0 };
	size_t count;

	tw_dir_list(m->dir, &names, &ignored);
	count = names.count;
	tw_strs_clear(&names);
	return count;
}

/* By mkdir(2): tw_dir_make() waits for the disk. */
static void make_old_trees(const struct machine *m, size_t count)
{
	static const char *const parts[] = { "", "/class", "/class/powercap" };
	char path[512];

	mkdir(m->dir, 0755);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < 3; k++) {
			snprintf(path, sizeof(path), "%s/old%zu%s", m->dir, i, parts[k]);
			assert_int_equal(mkdir(path, 0755), 0);
		}
}

/* A file of a zone of a tree, without its end of line. "": there is none. */
static const char *read_zone(const char *dir, const char *file)
{
	static char text[128];
	struct tw_err err = { 0 };
	char path[1100];
	size_t len;

	snprintf(path, sizeof(path), "%s/" ZONE "/%s", dir, file);
	if (tw_file_read_at(-100, path, text, sizeof(text), &len, &err) < 0)
		return "";
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static uint64_t energy_of(const struct machine *m, const char *vm)
{
	char dir[512];

	snprintf(dir, sizeof(dir), "%s/%s", m->dir, vm);
	assert_string_not_equal(read_zone(dir, "energy_uj"), "");
	return strtoull(read_zone(dir, "energy_uj"), NULL, 10);
}

static void begin(struct machine *m, size_t vms)
{
	for (size_t i = 0; i < vms; i++)
		say_path(10 + i, m->path[i]);
}

/* The last VM ends, and its tree is kept for KEEP_S. */
static void end_vm(struct machine *m)
{
	say(ENDED, 100, LATER + 1, 10, 0);
	for (int i = 0; i < 2; i++)
		tick(m, 0);
	m->f->now_ns += KEEP_S * S;
	for (int i = 0; i < 8; i++)
		tick(m, 0);
}

static void trees_are_made_in_turn_and_end_with_their_vms(void **state)
{
	struct machine *m = *state;

	begin(m, VMS);
	tick(m, VMS);
	assert_int_equal(trees(m), 8);
	assert_int_equal(m->pc.left_out, VMS - 8);
	tick(m, VMS);
	assert_int_equal(trees(m), VMS);
	assert_int_equal(m->pc.left_out, 0);
	assert_int_equal(energy_of(m, "vm0"), 2);
	assert_int_equal(energy_of(m, "vm9"), 2);
	/* All but one end, and are exported for a while. */
	for (uint32_t i = 1; i < VMS; i++)
		say(ENDED, 100 + i, LATER + 1, 10 + i, 0);
	for (int i = 0; i < 2; i++)
		tick(m, 1);
	assert_int_equal(trees(m), VMS);
	m->f->now_ns += KEEP_S * S;
	for (int i = 0; i < 8; i++)
		tick(m, 1);
	assert_int_equal(trees(m), 1);
	assert_int_equal(energy_of(m, "vm0"), 12);
	end_vm(m);
	assert_int_equal(trees(m), 0);
}

static void a_tree_of_an_earlier_collector_goes_on_or_ends(void **state)
{
	struct machine *m = *state;
	char node[512];

	make_old_trees(m, 3);
	tree_write(m->dir, "vm0/" ZONE "/energy_uj", "5000\n");
	tree_write(m->dir, "node/" ZONE "/energy_uj", "1\n");
	tree_write(m->dir, "notes/text", "of somebody\n");
	snprintf(node, sizeof(node), "%s/./node", m->dir);
	m->pc.node_dir = node;
	begin(m, 1);
	tick(m, 1);
	assert_int_equal(trees(m), 6);
	tick(m, 1);
	assert_int_equal(energy_of(m, "vm0"), 5002);
	m->f->now_ns += KEEP_S * S;
	tick(m, 1);
	/* What is not a tree, and the machine's own, is nobody's to remove. */
	assert_int_equal(trees(m), 3);
	assert_int_equal(energy_of(m, "vm0"), 5003);
	assert_int_equal(access(node, F_OK), 0);
}

static void there_are_only_so_many_trees(void **state)
{
	struct machine *m = *state;

	make_old_trees(m, m->pc.trees_max + 2);
	begin(m, 1);
	tick(m, 1);
	tick(m, 1);
	assert_int_equal(m->pc.vms, m->pc.trees_max);
	assert_int_equal(m->pc.left_out, 1);
	m->f->now_ns += KEEP_S * S;
	tick(m, 1);
	tick(m, 1);
	assert_int_equal(m->pc.left_out, 0);
	assert_int_equal(m->pc.vms, 1);
	assert_int_equal(trees(m), 3);
}

static void an_id_that_is_no_name_of_a_file_has_no_tree(void **state)
{
	struct machine *m = *state;

	say_path(10, "/machine.slice/machine-qemu\\x2d1\\x2d...scope");
	tick(m, 1);
	tick(m, 1);
	assert_int_equal(tw_workloads_count(m->f->t, TW_LEVEL_VM), 1);
	assert_int_equal(m->pc.left_out, 1);
	assert_int_equal(trees(m), 0);
}

/* In steps, from one tick to the next, and no more often than files may be written. */
static void a_counter_advances_between_ticks(void **state)
{
	struct machine *m = *state;
	struct tw_err err = { 0 };
	const uint64_t least_ns = TW_POWERCAP_FILE_NS;
	const mode_t mask = umask(0);
	char file[512];
	struct stat st;
	uint64_t now_ns;

	begin(m, 1);
	m->uj = 1000000;
	assert_int_equal(begin_tick(m, 1, &err), 0);
	now_ns = m->f->now_ns;
	assert_int_equal(energy_of(m, "vm0"), 0);
	assert_true(tw_powercap_step(&m->pc, now_ns + S / 4));
	assert_int_equal(energy_of(m, "vm0"), 250000);
	assert_int_equal(m->pc.stepped, 1);
	assert_true(tw_powercap_step(&m->pc, now_ns + S / 4 + least_ns - 1));
	assert_int_equal(energy_of(m, "vm0"), 250000);
	tw_powercap_step(&m->pc, now_ns + S / 4 + least_ns);
	assert_int_equal(energy_of(m, "vm0"), 251000);
	/* The next tick goes on from there, and may come late. */
	m->f->now_ns = now_ns - S / 2; /* a tick is a second later */
	assert_int_equal(begin_tick(m, 1, &err), 0);
	now_ns = m->f->now_ns;
	assert_int_equal(energy_of(m, "vm0"), 500000);
	tw_powercap_step(&m->pc, now_ns);
	assert_int_equal(m->pc.stepped, 0);
	tw_powercap_step(&m->pc, now_ns + S / 2);
	assert_int_equal(energy_of(m, "vm0"), 1250000);
	tw_powercap_step(&m->pc, now_ns + 5 * S);
	assert_int_equal(energy_of(m, "vm0"), 2000000);
	/* What is written is not written again. */
	assert_false(tw_powercap_step(&m->pc, now_ns + 6 * S));
	assert_int_equal(m->pc.stepped, 0);
	/* Each user may read it, and the collector's alone may write. */
	snprintf(file, sizeof(file), "%s/vm0/" ZONE "/energy_uj", m->dir);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	umask(mask);
}

/*
 * Kepler's arithmetic at its defaults: the difference of two reads by the time between
 * them, which is 5 s, or down to 0.5 s before a scrape. A tick of 3 s is a second of the
 * fixture, so a quarter of a step of 25 ms is a 480th of it.
 */
static void kepler_reads_a_constant_power(void **state)
{
	enum { TICK = 480, STEP = 4, READS = 40 };
	static const unsigned pauses[] = { 81, 800 }; /* 0.506 s, 5 s */
	struct machine *m = *state;
	struct tw_err err = { 0 };
	unsigned last = 0;
	uint64_t last_uj = 0;

	begin(m, 1);
	m->uj = 5600000 * 3;
	for (unsigned now = 0, reads = 0; reads < READS + 2; now++) {
		const double seconds = (now - last) / 160.0;

		if (now % TICK == 0)
			assert_int_equal(begin_tick(m, 1, &err), 0);
		if (now % STEP == 0)
			tw_powercap_step(&m->pc, m->f->now_ns + S / TICK * (now % TICK));
		if (now - last < pauses[reads % 2])
			continue;
		/* The first two are before power is known, as Kepler's own first. */
		if (reads++ >= 2)
			assert_float_equal((double)(energy_of(m, "vm0") - last_uj) / 1e6 /
						   seconds,
					   5.6, 0.05 * 5.6);
		last_uj = energy_of(m, "vm0");
		last = now;
	}
}

static void a_tree_looks_like_the_kernels(void **state)
{
	struct machine *m = *state;
	char dir[512], text[32];

	m->pc.node_dir = m->node_dir;
	begin(m, 1);
	tick(m, 1);
	snprintf(dir, sizeof(dir), "%s/vm0", m->dir);
	for (int i = 0; i < 2; i++) {
		const char *tree = i == 0 ? dir : m->node_dir;

		snprintf(text, sizeof(text), "%llu",
			 (unsigned long long)TW_POWERCAP_RANGE_UJ);
		assert_string_equal(read_zone(tree, "name"), "psys");
		assert_string_equal(read_zone(tree, "max_energy_range_uj"), text);
		assert_string_equal(read_zone(tree, "source"), "acpi");
		assert_string_not_equal(read_zone(tree, "energy_uj"), "");
	}
	/* The origin is written when it changes: not each time. */
	tree_write(dir, ZONE "/source", "kept\n");
	tick(m, 1);
	assert_string_equal(read_zone(dir, "source"), "kept");
	/* A tree that was removed is made again. */
	tree_remove(dir, ZONE "/energy_uj");
	tree_remove(dir, ZONE "/name");
	tick(m, 1);
	assert_string_equal(read_zone(dir, "name"), "psys");
	assert_string_equal(read_zone(dir, "source"), "acpi");
}

/* A RAPL package of these joules, and its parts; with psys, one for all of them. */
static void write_rapl(const struct machine *m, bool psys, unsigned long long joules)
{
	static const char *const zones[][2] = { { "0", "package-0" },
						{ "0:0", "core" },
						{ "0:1", "uncore" },
						{ "0:2", "dram" },
						{ "1", "psys" } };
	char path[64];

	for (size_t i = 0; i < TW_COUNT(zones) - !psys; i++) {
		snprintf(path, sizeof(path), "class/powercap/intel-rapl:%s", zones[i][0]);
		tree_rapl(m->f->dir, path, zones[i][1], joules * 1000000,
			  UINT64_C(262143328850));
	}
}

static const char *read_place(const struct machine *m, const char *zone, const char *file)
{
	static char text[64];
	struct tw_err err = { 0 };
	char path[512];
	size_t len;

	snprintf(path, sizeof(path), "%s/vm0/class/powercap/%s/%s", m->dir, zone, file);
	if (tw_file_read_at(-100, path, text, sizeof(text), &len, &err) < 0)
		fail_msg("%s", err.text);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static void check_places(struct machine *m, bool psys)
{
	const struct {
		const char *zone, *name, *source;
		uint64_t uj;
	} places[] = { { "intel-rapl:0", "package-0", "rapl-sysfs", 20 },
		       { "intel-rapl:0:0", "core", "rapl-sysfs", 22 },
		       { "intel-rapl:0:1", "uncore", "rapl-sysfs", 24 },
		       { "intel-rapl:0:2", "dram", "rapl-sysfs", 26 },
		       { "intel-rapl:1", "psys", psys ? "rapl-sysfs" : "acpi",
			 psys ? 28 : 2 } };
	struct tw_power_config pc = {
		.meter = { .roots = &m->roots, .node = &m->node, .nvml = "/nonexistent" }
	};
	struct tw_err err = { 0 };

	tw_power_close(m->power);
	write_rapl(m, psys, 100);
	assert_int_equal(tw_power_open(&pc, &m->power, &err), 0);
	tw_power_tick(m->power, m->f->now_ns, 0, -1, NULL);
	begin(m, 1);
	for (unsigned i = 1; i <= 3; i++) {
		write_rapl(m, psys, 100 + 5 * i);
		m->uj = i > 1;
		tick(m, 1);
	}
	assert_int_equal(m->pc.stepped, 5);
	for (size_t i = 0; i < TW_COUNT(places); i++) {
		const char *zone = places[i].zone;

		assert_string_equal(read_place(m, zone, "name"), places[i].name);
		assert_string_equal(read_place(m, zone, "source"), places[i].source);
		assert_int_equal(strtoull(read_place(m, zone, "energy_uj"), NULL, 10),
				 places[i].uj);
	}
}

/* Zones of RAPL, of which the core is in the package, beside the inlet's. */
static void each_kind_has_its_place(void **state)
{
	check_places(*state, false);
}

/* The inlet has the same place as psys, whose meter comes first. */
static void psys_comes_before_the_inlet(void **state)
{
	check_places(*state, true);
}

/* Files of all trees count, so that a step is longer for many. */
static void a_step_counts_all_files(void **state)
{
	struct machine *m = *state;

	m->pc.node_dir = m->node_dir;
	begin(m, 3);
	tick(m, 3);
	tick(m, 3);
	assert_int_equal(m->pc.stepped, 4);
}

/* The files of a machine that ended may be deleted: nobody makes new ones. */
static void an_ended_machine_has_no_new_files(void **state)
{
	struct machine *m = *state;

	begin(m, 1);
	tick(m, 1);
	say(ENDED, 100, LATER + 1, 10, 0);
	tick(m, 0);
	tree_remove(m->dir, "vm0");
	tick(m, 0);
	assert_int_equal(m->pc.vms, 1);
	assert_int_equal(trees(m), 0);
}

/* 100 W of the meter for some seconds. */
static void the_machines_tree_has_all_energy(void **state)
{
	struct machine *m = *state;
	uint64_t before;

	m->pc.node_dir = m->node_dir;
	tick(m, 0);
	before = strtoull(read_zone(m->node_dir, "energy_uj"), NULL, 10);
	tick(m, 0);
	tick(m, 0);
	assert_int_equal(strtoull(read_zone(m->node_dir, "energy_uj"), NULL, 10) - before,
			 2 * 100000000);
}

static uint64_t energy_of_node(const struct machine *m)
{
	assert_string_not_equal(read_zone(m->node_dir, "energy_uj"), "");
	return strtoull(read_zone(m->node_dir, "energy_uj"), NULL, 10);
}

static void the_machines_counter_advances_between_ticks(void **state)
{
	struct machine *m = *state;
	struct tw_err err = { 0 };
	uint64_t before;

	m->pc.node_dir = m->node_dir;
	tick(m, 0);
	before = energy_of_node(m);
	assert_int_equal(begin_tick(m, 0, &err), 0);
	assert_int_equal(energy_of_node(m), before);
	tw_powercap_step(&m->pc, m->f->now_ns + S / 4);
	assert_int_equal(energy_of_node(m), before + 25000000);
}

/* Energy is both: above idle power, and idle, once that is learned. */
static void the_machines_tree_has_idle_energy(void **state)
{
	struct machine *m = *state;
	struct tw_err err = { 0 };
	const struct tw_power_zone *z;
	size_t count;

	m->pc.node_dir = m->node_dir;
	for (int i = 0; i < 60; i++) {
		m->f->now_ns += S;
		tw_power_tick(m->power, m->f->now_ns, S, 0.01, NULL);
		if (tw_powercap_tick(&m->pc, m->power, m->f->t, m->f->now_ns, S, &err) <
		    0)
			fail_msg("%s", err.text);
		tw_powercap_step(&m->pc, m->f->now_ns + S);
	}
	z = tw_power_zones(m->power, &count);
	assert_true(z[0].idle_uj > 0);
	assert_int_equal(energy_of_node(m), UINT64_C(60) * 100000000);
}

/* Only trees of an earlier collector wait for a while. */
static void a_tree_of_our_own_ends_with_its_machine(void **state)
{
	struct machine *m = *state;

	m->pc.keep_ns = 100 * KEEP_S * S;
	make_old_trees(m, 1);
	begin(m, 1);
	for (int i = 0; i < 2; i++)
		tick(m, 1);
	assert_int_equal(trees(m), 2);
	end_vm(m);
	assert_int_equal(trees(m), 1);
	m->f->now_ns += 100 * KEEP_S * S;
	tick(m, 0);
	assert_int_equal(trees(m), 0);
}

/* Of a killed collector, else of one that ended, else 0; a counter wraps around. */
static void a_counter_goes_on_from_the_last_collectors(void **state)
{
	static const struct {
		const char *energy, *last;
		uint64_t then;
	} cases[] = {
		{ "5000\n", "7\n", 5100 },
		{ NULL, "7\n", 107 },
		{ "word\n", "7\n", 107 },
		{ "-5\n", "7\n", 107 },
		{ "99999999999999999999\n", "7\n", 107 },
		{ "\n", NULL, 100 },
		{ "262143328850\n", NULL, 99 },
		{ "262143328851\n", "7\n", 107 },
		{ NULL, "262143328851\n", 100 },
	};
	struct machine *m = *state;
	char file[64];

	m->uj = 100;
	begin(m, TW_COUNT(cases));
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		snprintf(file, sizeof(file), "vm%zu/class/powercap", i);
		tree_write(m->dir, strcat(file, "/x"), "");
		snprintf(file, sizeof(file), "vm%zu/" ZONE "/energy_uj", i);
		if (cases[i].energy != NULL)
			tree_write(m->dir, file, cases[i].energy);
		snprintf(file, sizeof(file), "vm%zu/" ZONE "/last_uj", i);
		if (cases[i].last != NULL)
			tree_write(m->dir, file, cases[i].last);
	}
	tick(m, TW_COUNT(cases));
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		snprintf(file, sizeof(file), "vm%zu", i);
		assert_int_equal(energy_of(m, file), cases[i].then);
	}
	/* A tick writes the same values as its steps. */
	m->f->now_ns += 5 * S;
	m->uj = 0;
	tick(m, TW_COUNT(cases));
	assert_int_equal(energy_of(m, "vm6"), 99);
}

/* A file that cannot be read or written fails the tick; all other trees are written. */
static void a_tree_that_fails_stops_no_other(void **state)
{
	static const char *const files[] = {
		"energy_uj", "last_uj", "model", "source", "name", "max_energy_range_uj"
	};
	struct machine *m = *state;
	struct tw_err err = { 0 };
	char file[64];

	m->uj = 100;
	begin(m, TW_COUNT(files) + 1);
	for (size_t i = 0; i < TW_COUNT(files); i++) {
		snprintf(file, sizeof(file), "vm%zu/" ZONE "/%s/x", i, files[i]);
		tree_write(m->dir, file, "");
	}
	assert_int_equal(begin_tick(m, TW_COUNT(files) + 1, &err), -1);
	assert_string_not_equal(err.text, "");
	tw_powercap_step(&m->pc, m->f->now_ns + S);
	assert_int_equal(energy_of(m, "vm6"), 100);
	for (size_t i = 1; i < TW_COUNT(files); i++) {
		snprintf(file, sizeof(file), "%s/vm%zu", m->dir, i);
		assert_string_equal(read_zone(file, "energy_uj"), "");
	}
}

/* The machine's own, too, with trees of VMs and without. */
static void the_machines_tree_may_fail(void **state)
{
	struct machine *m = *state;
	struct tw_err err = { 0 };

	tree_write(m->node_dir, ZONE "/energy_uj/x", "");
	m->pc.node_dir = m->node_dir;
	assert_int_equal(begin_tick(m, 0, &err), -1);
	m->pc.vm_dir = NULL;
	assert_int_equal(begin_tick(m, 0, &err), -1);
	m->pc.node_dir = NULL;
	assert_int_equal(begin_tick(m, 0, &err), 0);
}

/* A step that cannot write is made up for by the next. */
static void a_file_that_cannot_be_written_waits(void **state)
{
	struct machine *m = *state;
	struct tw_err err = { 0 };

	m->uj = 100;
	begin(m, 1);
	assert_int_equal(begin_tick(m, 1, &err), 0);
	tree_write(m->dir, "vm0/" ZONE "/.energy_uj/x", "");
	tw_powercap_step(&m->pc, m->f->now_ns + S);
	assert_int_equal(m->pc.stepped, 0);
	assert_int_equal(energy_of(m, "vm0"), 0);
	tree_remove(m->dir, "vm0/" ZONE "/.energy_uj/x");
	tree_remove(m->dir, "vm0/" ZONE "/.energy_uj");
	tw_powercap_step(&m->pc, m->f->now_ns + 2 * S);
	assert_int_equal(energy_of(m, "vm0"), 100);
}

/* Nor is a counter replaced by what a full disk has left of it. */
static void a_full_disk_leaves_the_last_counter(void **state)
{
	struct machine *m = *state;
	struct tw_err err = { 0 };
	struct rlimit was, full;

	m->uj = 100;
	begin(m, 1);
	tick(m, 1);
	assert_int_equal(begin_tick(m, 1, &err), 0);
	getrlimit(RLIMIT_FSIZE, &was);
	full = (struct rlimit){ 0, was.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &full);
	tw_powercap_step(&m->pc, m->f->now_ns + S);
	setrlimit(RLIMIT_FSIZE, &was);
	assert_int_equal(m->pc.stepped, 0);
	assert_int_equal(energy_of(m, "vm0"), 100);
	tw_powercap_step(&m->pc, m->f->now_ns + 2 * S);
	assert_int_equal(energy_of(m, "vm0"), 200);
}

/* The energy of a machine that has the id of an earlier one is added to its tree's. */
static void a_machine_goes_on_in_the_tree_of_its_id(void **state)
{
	struct machine *m = *state;

	m->uj = 100;
	begin(m, 1);
	for (int i = 0; i < 3; i++)
		tick(m, 1);
	assert_int_equal(energy_of(m, "vm0"), 300);
	say(ENDED, 100, LATER + 1, 10, 0);
	say_path(50, m->path[0]);
	for (uint64_t i = 1; i <= 3; i++) {
		say(ALIVE, 500, LATER + 1, 50, 7 * i);
		tick(m, 0);
		assert_int_equal(energy_of(m, "vm0"), 300 + 100 * i);
	}
	assert_int_equal(trees(m), 1);
}

/* The machine's tree may lie among those of VMs: none writes there. */
static void no_machine_has_the_hosts_tree(void **state)
{
	struct machine *m = *state;
	char *vm0 = scratch_path(m->dir, "vm0");

	m->pc.node_dir = vm0;
	m->uj = 100;
	begin(m, 2);
	tick(m, 2);
	tick(m, 2);
	assert_int_equal(energy_of(m, "vm0"), UINT64_C(2) * 100000000);
	assert_int_equal(energy_of(m, "vm1"), 200);
	assert_int_equal(m->pc.left_out, 1);
	m->pc.node_dir = NULL;
	free(vm0);
}

/* A tick syncs 64 trees, the next one goes on behind them. */
static void trees_are_synced_in_turn(void **state)
{
	struct machine *m = *state;

	m->pc.trees_max = 100;
	make_old_trees(m, 70);
	begin(m, 1);
	tick(m, 1);
	assert_int_equal(m->pc.vms, 71);
	assert_int_equal(trees(m), 70);
	tick(m, 1);
	assert_int_equal(trees(m), 71);
	/* Energy of all ticks. */
	assert_int_equal(energy_of(m, "vm0"), 2);
}

/* A directory of a tree may be so long that the path of a zone has 1023 bytes. */
static void a_tree_has_a_longest_path(void **state)
{
	struct machine *m = *state;
	const size_t longest = 1023 - strlen("/" ZONE);

	for (size_t len = longest; len <= longest + 1; len++) {
		struct tw_err err = { 0 };
		char dir[1100];
		size_t at;

		at = (size_t)snprintf(dir, sizeof(dir), "%s", m->node_dir);
		while (at < len)
			dir[at++] = '/';
		for (size_t i = strlen(m->node_dir) + 1; i < len; i++)
			dir[i] = i % 200 == 199 && i + 2 < len ? '/' : 'd';
		dir[len] = '\0';
		m->pc.node_dir = dir;
		assert_int_equal(begin_tick(m, 0, &err), len == longest ? 0 : -1);
		tw_powercap_step(&m->pc, m->f->now_ns + S);
		if (len == longest)
			assert_string_not_equal(read_zone(dir, "energy_uj"), "");
		else
			assert_non_null(strstr(err.text, "too long a path"));
		tw_powercap_release(&m->pc);
		if (len == longest)
			assert_string_not_equal(read_zone(dir, "last_uj"), "");
		m->pc = (struct tw_powercap){ .vm_dir = m->dir,
					      .trees_max = 20,
					      .keep_ns = KEEP_S * S };
	}
}

/* A collector that ends writes all that it knows, and names the counters so. */
static void counters_have_another_name_without_a_collector(void **state)
{
	struct machine *m = *state;
	struct tw_err err = { 0 };
	char dir[512];

	m->pc.node_dir = m->node_dir;
	m->uj = 1000;
	begin(m, 1);
	tick(m, 1);
	assert_int_equal(begin_tick(m, 1, &err), 0);
	tw_powercap_release(&m->pc);
	assert_int_equal(m->pc.vms, 0);
	assert_null(m->pc.vm);
	snprintf(dir, sizeof(dir), "%s/vm0", m->dir);
	assert_string_equal(read_zone(dir, "last_uj"), "2000");
	assert_string_equal(read_zone(dir, "energy_uj"), "");
	assert_string_not_equal(read_zone(m->node_dir, "last_uj"), "");
	assert_string_equal(read_zone(m->node_dir, "energy_uj"), "");
}

#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(trees_are_made_in_turn_and_end_with_their_vms),
		TREE_TEST(a_tree_of_an_earlier_collector_goes_on_or_ends),
		TREE_TEST(there_are_only_so_many_trees),
		TREE_TEST(an_id_that_is_no_name_of_a_file_has_no_tree),
		TREE_TEST(a_counter_advances_between_ticks),
		TREE_TEST(kepler_reads_a_constant_power),
		TREE_TEST(a_tree_looks_like_the_kernels),
		TREE_TEST(each_kind_has_its_place),
		TREE_TEST(psys_comes_before_the_inlet),
		TREE_TEST(a_step_counts_all_files),
		TREE_TEST(an_ended_machine_has_no_new_files),
		TREE_TEST(the_machines_tree_has_all_energy),
		TREE_TEST(the_machines_counter_advances_between_ticks),
		TREE_TEST(the_machines_tree_has_idle_energy),
		TREE_TEST(a_tree_of_our_own_ends_with_its_machine),
		TREE_TEST(a_counter_goes_on_from_the_last_collectors),
		TREE_TEST(a_tree_that_fails_stops_no_other),
		TREE_TEST(the_machines_tree_may_fail),
		TREE_TEST(a_file_that_cannot_be_written_waits),
		TREE_TEST(a_full_disk_leaves_the_last_counter),
		TREE_TEST(a_machine_goes_on_in_the_tree_of_its_id),
		TREE_TEST(no_machine_has_the_hosts_tree),
		TREE_TEST(trees_are_synced_in_turn),
		TREE_TEST(a_tree_has_a_longest_path),
		TREE_TEST(counters_have_another_name_without_a_collector),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
