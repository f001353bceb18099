/* SPDX-License-Identifier: Apache-2.0 */
/* The trees of virtual machines: how many there are, and when they end. */
#include "tests/unit/tw_test.h"

#include "collector/powercap.h"
#include "collector/power/node.h"
#include "collector/power/power.h"
#include "collector/system/roots.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "tests/unit/collector/scripted_tasks.h"
#include "tests/unit/collector/workload_fixture.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZONE "class/powercap/intel-rapl:1"
#define VMS 10

struct machine {
	struct workload_fixture *f;
	struct tw_roots roots;
	struct tw_node node;
	struct tw_power *power;
	struct tw_powercap pc;
	char *dir;
	char path[VMS][64];
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
	tw_power_tick(m->power, m->f->now_ns, 0, -1);
	m->dir = scratch_path(m->f->dir, "trees");
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
	free(m);
	return 0;
}

/* A tick in which the first `count` VMs use 1 uJ. */
static void tick(struct machine *m, size_t count)
{
	struct tw_charge charge = { { 0 }, { 0 } };
	const struct tw_slice *s;
	struct tw_err err = { 0 };
	size_t slices;

	for (size_t i = 0; i < count; i++)
		say(ALIVE, 100 + (uint32_t)i, LATER + 1, 10 + i,
		    m->f->now_ns / S - LATER / S + 100);
	workloads_tick(m->f);
	charge.dynamic_uj[TW_ZONE_PLATFORM] = 1;
	s = tw_workloads_slices(m->f->t, &slices);
	for (size_t i = 0; i < slices; i++)
		tw_workloads_charge(m->f->t, &s[i], &charge);
	tw_workloads_scraped(m->f->t);
	tw_power_tick(m->power, m->f->now_ns, S, -1);
	if (tw_powercap_tick(&m->pc, m->power, m->f->t, m->f->now_ns, S, &err) < 0)
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

static uint64_t energy_of(const struct machine *m, const char *vm)
{
	struct tw_err err = { 0 };
	char path[512], text[32];
	size_t len;

	snprintf(path, sizeof(path), "%s/%s/" ZONE "/energy_uj", m->dir, vm);
	if (tw_file_read_at(-100, path, text, sizeof(text), &len, &err) < 0)
		fail_msg("%s", err.text);
	return strtoull(text, NULL, 10);
}

static void begin(struct machine *m, size_t vms)
{
	for (size_t i = 0; i < vms; i++)
		say_path(10 + i, m->path[i]);
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
	/* What is no tree, and the machine's own, is nobody's to remove. */
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

#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(trees_are_made_in_turn_and_end_with_their_vms),
		TREE_TEST(a_tree_of_an_earlier_collector_goes_on_or_ends),
		TREE_TEST(there_are_only_so_many_trees),
		TREE_TEST(an_id_that_is_no_name_of_a_file_has_no_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
