/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/system/process.h"
#include "collector/system/roots.h"
#include "collector/workloads/cgroup.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/scratch.h"
#include "tests/unit/tw_test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BOX "/system.slice/box.scope"

static struct tw_cgroup_use read_use(const char *dir, const char *path)
{
	const struct tw_roots roots = { .proc = dir, .sys = dir, .dev = dir };
	struct tw_cgroup_tree *t = NULL;
	struct tw_cgroup_use use;
	struct tw_err err = { 0 };

	if (tw_cgroup_tree_open(&roots, TW_CGROUPS_AUTO, &t, &err) < 0)
		fail_msg("%s", err.text);
	tw_cgroup_use_read(t, path, &use);
	tw_cgroup_tree_close(t);
	return use;
}

static void expect(const struct tw_cgroup_use *use, enum tw_cgroup_figure figure,
		   uint64_t value)
{
	assert_true(use->known[figure]);
	assert_int_equal(use->of[figure], value);
}

static void version_2_has_all_figures(void **state)
{
	char *dir = scratch_new();
	struct tw_cgroup_use use;

	(void)state;
	tree_write(dir, "fs/cgroup/cgroup.controllers", "cpu memory\n");
	tree_write(dir, "fs/cgroup" BOX "/cpu.stat",
		   "usage_usec 3000001\nuser_usec 2000000\nsystem_usec 1000001\n");
	tree_write(dir, "fs/cgroup" BOX "/memory.current", "1000000\n");
	tree_write(dir, "fs/cgroup" BOX "/memory.stat",
		   "anon 1\ninactive_file 400000\nactive_file 3\n");
	use = read_use(dir, BOX);
	expect(&use, TW_CGROUP_CPU_US, 3000001);
	expect(&use, TW_CGROUP_USER_US, 2000000);
	expect(&use, TW_CGROUP_SYSTEM_US, 1000001);
	expect(&use, TW_CGROUP_MEMORY_BYTES, 1000000);
	expect(&use, TW_CGROUP_WORKING_SET_BYTES, 600000);
	/* The files are read one after the other. */
	tree_write(dir, "fs/cgroup" BOX "/memory.stat", "inactive_file 1000001\n");
	use = read_use(dir, BOX);
	expect(&use, TW_CGROUP_WORKING_SET_BYTES, 0);
	scratch_free(dir);
}

static void version_1_reports_three_controllers_in_other_units(void **state)
{
	char *dir = scratch_new();
	struct tw_cgroup_use use;

	(void)state;
	tree_write(dir, "fs/cgroup/cpuacct/cpuacct.usage", "1\n");
	tree_write(dir, "fs/cgroup/memory/memory.usage_in_bytes", "1\n");
	tree_write(dir, "fs/cgroup/cpuacct" BOX "/cpuacct.usage", "5000000999\n");
	tree_write(dir, "fs/cgroup/cpuacct" BOX "/cpuacct.stat", "user 300\nsystem 7\n");
	tree_write(dir, "fs/cgroup/memory" BOX "/memory.usage_in_bytes", "4096\n");
	tree_write(dir, "fs/cgroup/memory" BOX "/memory.stat",
		   "inactive_file 4000\ntotal_inactive_file 96\n");
	use = read_use(dir, BOX);
	expect(&use, TW_CGROUP_CPU_US, 5000000);
	expect(&use, TW_CGROUP_USER_US, 300 * 1000000 / tw_proc_ticks_per_s());
	expect(&use, TW_CGROUP_SYSTEM_US, 7 * 1000000 / tw_proc_ticks_per_s());
	expect(&use, TW_CGROUP_MEMORY_BYTES, 4096);
	expect(&use, TW_CGROUP_WORKING_SET_BYTES, 4000);
	scratch_free(dir);
}

static void a_file_that_cannot_be_read_is_unknown(void **state)
{
	char *dir = scratch_new();
	struct tw_cgroup_use use;

	(void)state;
	tree_write(dir, "fs/cgroup/cgroup.controllers", "cpu\n");
	tree_write(dir, "fs/cgroup" BOX "/cpu.stat", "usage_usec 3x\nuser_usec\n");
	tree_write(dir, "fs/cgroup" BOX "/memory.current", "-1\n");
	use = read_use(dir, BOX);
	for (int i = 0; i < TW_CGROUP_FIGURES; i++)
		assert_false(use.known[i]);
	/* Without memory.stat there is no working set. */
	tree_write(dir, "fs/cgroup" BOX "/memory.current", "7");
	use = read_use(dir, BOX);
	expect(&use, TW_CGROUP_MEMORY_BYTES, 7);
	assert_false(use.known[TW_CGROUP_WORKING_SET_BYTES]);
	use = read_use(dir, "/none");
	assert_false(use.known[TW_CGROUP_CPU_US]);
	scratch_free(dir);
}

static void a_line_is_found_by_its_whole_key(void **state)
{
	static const struct {
		const char *text;
		bool found;
		uint64_t value;
	} cases[] = {
		{ "", false, 0 },
		{ "file", false, 0 },
		{ "file ", false, 0 },
		{ "file 5", true, 5 },
		{ "inactive_file 4\nfile 5\n", true, 5 },
		{ "files 4\nfile 5", true, 5 },
		{ "file 5 6\n", false, 0 },
		{ "file\t5\n", false, 0 },
		{ "\n\nfile 18446744073709551615\n", true, UINT64_MAX },
		{ "file 18446744073709551616\n", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		uint64_t value = 0;

		assert_int_equal(tw_cgroup_stat_find(cases[i].text, strlen(cases[i].text),
						     "file", &value),
				 cases[i].found);
		if (cases[i].found)
			assert_int_equal(value, cases[i].value);
	}
}

/* The collector is in a container, and its cgroup namespace begins there. */
static void paths_of_a_namespace_are_those_of_the_machine(void **state)
{
	static const struct {
		const char *seen, *path;
	} cases[] = { { "/../../pod2/box", "/k/pod2/box" },
		      { "/../../../k/pod2/box", "/k/pod2/box" },
		      { "/../../..", "/" },
		      { "/", "/k/pod1/me" },
		      { "/sub", "/k/pod1/me/sub" },
		      { "/../..x", NULL } };
	char *dir = scratch_new(), text[64], path[TW_CGROUP_PATH], file[32];
	const struct tw_roots roots = { .proc = dir, .sys = dir, .dev = dir };
	struct tw_cgroup_tree *t = NULL;
	struct tw_err err = { 0 };
	const int other = getpid() + 1;

	(void)state;
	snprintf(file, sizeof(file), "%d/cgroup", other);
	tree_write(dir, "fs/cgroup/cgroup.controllers", "cpu\n");
	tree_write(dir, "fs/cgroup/cgroup.procs", "");
	snprintf(text, sizeof(text), "%d\n", other);
	tree_write(dir, "fs/cgroup/k/pod2/box/cgroup.procs", text);
	snprintf(text, sizeof(text), "%d\n", getpid());
	tree_write(dir, "fs/cgroup/k/pod1/me/cgroup.procs", text);
	tree_write(dir, "fs/cgroup/k/pod1/me/sub/cgroup.procs", "");
	tree_write(dir, "self/cgroup", "0::/\n");
	if (tw_cgroup_tree_open(&roots, TW_CGROUPS_AUTO, &t, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		uint64_t id;

		snprintf(text, sizeof(text), "0::%s\n", cases[i].seen);
		tree_write(dir, file, text);
		id = tw_cgroup_tree_id(t, other);
		tw_cgroup_tree_tick(t);
		if (cases[i].path != NULL) {
			assert_true(id >> 63 == 0);
			assert_true(tw_cgroup_tree_path(t, id, other, path));
			assert_string_equal(path, cases[i].path);
		} else {
			assert_true(id >> 63 == 1);
		}
	}
	tw_cgroup_tree_close(t);
	scratch_free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_2_has_all_figures),
		cmocka_unit_test(version_1_reports_three_controllers_in_other_units),
		cmocka_unit_test(a_file_that_cannot_be_read_is_unknown),
		cmocka_unit_test(a_line_is_found_by_its_whole_key),
		cmocka_unit_test(paths_of_a_namespace_are_those_of_the_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
