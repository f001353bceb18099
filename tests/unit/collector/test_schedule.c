/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "collector/system/roots.h"
#include "collector/workloads/schedule.h"
#include "collector/workloads/workload.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/scratch.h"

#include <stdio.h>
#include <string.h>
#include <stdlib.h>

#define MS UINT64_C(1000000)
#define IDLE TW_SCHEDULE_IDLE

struct fixture {
	char *dir;
	struct tw_schedule s;
	struct tw_workload group[3];
	struct tw_slice slice[3];
};

static void write_cpu(const char *dir, int cpu, const char *package, const char *siblings)
{
	char path[96];

	snprintf(path, sizeof(path),
		 "devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
	tree_write(dir, path, package);
	snprintf(path, sizeof(path),
		 "devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
	tree_write(dir, path, siblings);
}

static int open_cpus(struct fixture *f, size_t cpus, struct tw_err *err)
{
	const struct tw_roots roots = { .proc = f->dir, .sys = f->dir, .dev = f->dir };

	return tw_schedule_open(&f->s, &roots, cpus, err);
}

/* Packages 1 and 0 of two CPUs each: 0 and 2 are a core, 1 and 3 are one each. CPU 4 is
 * offline. */
static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct tw_err err = { 0 };

	assert_non_null(f);
	f->dir = scratch_new();
	write_cpu(f->dir, 0, "1\n", "0,2\n");
	write_cpu(f->dir, 1, "0\n", "1\n");
	write_cpu(f->dir, 2, "1\n", "0,2\n");
	write_cpu(f->dir, 3, "0\n", "3\n");
	if (open_cpus(f, 5, &err) < 0)
		fail_msg("%s", err.text);
	for (int i = 0; i < 3; i++)
		f->slice[i] = (struct tw_slice){ .cgroup = &f->group[i] };
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tw_schedule_close(&f->s);
	scratch_free(f->dir);
	free(f);
	return 0;
}

static void take(struct fixture *f, uint32_t a, uint32_t b, uint32_t c, uint32_t d,
		 uint64_t ns)
{
	tw_schedule_take(&f->s, f->slice, (const uint32_t[]){ a, b, c, d, 0 }, ns);
}

static const struct tw_package_use *use(const struct fixture *f, size_t slice, size_t p)
{
	return &f->s.use[slice * f->s.packages + p];
}

static void packages_and_cores_are_those_of_the_machine(void **state)
{
	const struct fixture *f = *state;

	assert_int_equal(f->s.packages, 2);
	assert_int_equal(f->s.package[0], 1);
	assert_int_equal(f->s.package[1], 0);
	assert_int_equal(f->s.cpu[0].sibling, 2);
	assert_int_equal(f->s.cpu[2].sibling, 0);
	assert_int_equal(f->s.cpu[1].sibling, 1);
	assert_false(f->s.cpu[4].known);
}

static void time_is_of_the_package_and_of_the_core(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 3; i++)
		f->slice[i].used.cpu_ns = 20 * MS;
	f->slice[0].used.counter[TW_COUNTER_CYCLES] = 1000;
	tw_schedule_begin(&f->s, 3);
	take(f, 0, 2, 1, IDLE, 10 * MS);
	take(f, IDLE, 0, 1, 2, 10 * MS);
	tw_schedule_end(&f->s, f->slice);
	assert_int_equal(f->s.ns, 20 * MS);
	/* Slice 0: beside slice 1 on package 1, then alone on package 0. */
	assert_int_equal(use(f, 0, 0)->shared_ns, 10 * MS);
	assert_int_equal(use(f, 0, 0)->alone_ns, 0);
	assert_int_equal(use(f, 0, 1)->alone_ns, 10 * MS);
	assert_int_equal(use(f, 0, 0)->cycles, 500);
	assert_int_equal(use(f, 0, 1)->cycles, 500);
	assert_int_equal(use(f, 1, 0)->shared_ns, 10 * MS);
	assert_int_equal(use(f, 1, 0)->alone_ns, 10 * MS);
	assert_int_equal(use(f, 1, 1)->alone_ns, 0);
}

/* Small cores of a hybrid processor: their time is that of no sibling. */
static void time_on_small_cores_is_apart(void **state)
{
	static const struct {
		const char *cpus;
		unsigned small; /* by bits */
	} cases[] = { { "0,2-3\n", 13 }, { "1-2", 6 },        { "3", 8 },
		      { "2,99\n", 4 },   { "1-99999\n", 30 }, { "1,x\n", 2 },
		      { "0-\n", 0 },     { "", 0 },           { "\n", 0 } };
	struct fixture *f = *state;
	struct tw_err err = { 0 };

	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		tw_schedule_close(&f->s);
		tree_write(f->dir, "devices/cpu_atom/cpus", cases[i].cpus);
		assert_int_equal(open_cpus(f, 5, &err), 0);
		for (unsigned c = 0; c < 5; c++)
			assert_int_equal(f->s.cpu[c].small, cases[i].small >> c & 1);
	}
	/* A file too long is none of the kernel's. */
	for (size_t len = 4096; len <= 4097; len++) {
		char text[4098];

		tw_schedule_close(&f->s);
		memset(text, '\n', sizeof(text));
		text[0] = '1';
		text[len] = '\0';
		tree_write(f->dir, "devices/cpu_atom/cpus", text);
		assert_int_equal(open_cpus(f, 5, &err), 0);
		assert_int_equal(f->s.cpu[1].small, len == 4096);
	}
	tw_schedule_close(&f->s);
	tree_write(f->dir, "devices/cpu_atom/cpus", "2-3\n");
	assert_int_equal(open_cpus(f, 5, &err), 0);
	f->slice[0].used.cpu_ns = 20 * MS;
	f->slice[1].used.cpu_ns = 30 * MS;
	f->slice[0].used.counter[TW_COUNTER_CYCLES] = 1000;
	tw_schedule_begin(&f->s, 3);
	take(f, 0, IDLE, 1, 0, 10 * MS);
	take(f, 1, IDLE, 1, IDLE, 10 * MS);
	tw_schedule_end(&f->s, f->slice);
	assert_int_equal(use(f, 0, 0)->shared_ns, 10 * MS);
	assert_int_equal(use(f, 0, 1)->small_ns, 10 * MS);
	assert_int_equal(use(f, 0, 1)->cycles, 500);
	assert_int_equal(use(f, 1, 0)->small_ns, 20 * MS);
	assert_int_equal(use(f, 1, 0)->shared_ns, 10 * MS);
}

/* At an instant, awake packages are of all that run there, whatever number of CPUs each
 * has. */
static void time_awake_is_shared_by_containers(void **state)
{
	struct fixture *f = *state;
	struct tw_workload pod = { .level = TW_LEVEL_CONTAINER };

	f->slice[1].owner = f->slice[2].owner = &pod;
	f->slice[0].used.cpu_ns = 52 * MS;
	f->slice[1].used.cpu_ns = 20 * MS;
	f->slice[2].used.cpu_ns = 2 * 16 * MS;
	tw_schedule_begin(&f->s, 3);
	take(f, 0, 0, 1, IDLE, 12 * MS);
	take(f, IDLE, 0, IDLE, 0, 10 * MS);
	take(f, 1, 0, 2, 2, 8 * MS);
	tw_schedule_end(&f->s, f->slice);
	assert_int_equal(use(f, 0, 0)->awake_ns, 6 * MS);
	assert_int_equal(use(f, 1, 0)->awake_ns, 6 * MS + 4 * MS);
	assert_int_equal(use(f, 0, 1)->awake_ns, 12 * MS + 10 * MS + 4 * MS);
	/* It ran twice as long as samples saw. */
	assert_int_equal(use(f, 2, 0)->awake_ns, 2 * 4 * MS);
	assert_int_equal(use(f, 2, 1)->awake_ns, 2 * 4 * MS);
}

/* Exact CPU time is divided as samples say; what no sample saw, as all the others. */
static void cpu_time_is_exact(void **state)
{
	struct fixture *f = *state;

	f->slice[0].used.cpu_ns = 9 * MS;
	f->slice[1].used.cpu_ns = 100 * MS;
	f->slice[2].used.cpu_ns = 4 * MS;
	tw_schedule_begin(&f->s, 3);
	take(f, 0, 1, IDLE, IDLE, 10 * MS);
	take(f, IDLE, 0, IDLE, IDLE, 20 * MS);
	tw_schedule_end(&f->s, f->slice);
	assert_in_range(use(f, 0, 0)->alone_ns, 3 * MS - 1, 3 * MS + 1);
	assert_in_range(use(f, 0, 1)->alone_ns, 6 * MS - 1, 6 * MS + 1);
	assert_int_equal(use(f, 1, 1)->alone_ns, 100 * MS);
	assert_in_range(use(f, 2, 0)->alone_ns, 1 * MS - 1, 1 * MS + 1);
	assert_in_range(use(f, 2, 1)->alone_ns, 3 * MS - 1, 3 * MS + 1);
}

/* A process that exits before a sample sees it, or that left its cgroup: it pays for
 * siblings and for packages awake as the others do. */
static void what_no_sample_saw_ran_as_all_the_others(void **state)
{
	struct fixture *f = *state;

	f->slice[0].used.cpu_ns = 15 * MS;
	f->slice[1].used.cpu_ns = 5 * MS;
	f->slice[2].used.cpu_ns = 4 * MS;
	tw_schedule_begin(&f->s, 3);
	take(f, 0, IDLE, 1, IDLE, 5 * MS);
	take(f, IDLE, 0, IDLE, IDLE, 10 * MS);
	tw_schedule_end(&f->s, f->slice);
	/* Of 20 ms, 10 were on each package: beside a sibling, and alone. */
	assert_int_equal(use(f, 2, 0)->shared_ns, 2 * MS);
	assert_int_equal(use(f, 2, 0)->alone_ns, 0);
	assert_int_equal(use(f, 2, 1)->alone_ns, 2 * MS);
	/* Two shared one package's time, one had all of the other's. */
	assert_int_equal(use(f, 2, 0)->awake_ns, 1 * MS);
	assert_int_equal(use(f, 2, 1)->awake_ns, 2 * MS);
	/* Without any sample that saw something, nothing is known. */
	tw_schedule_begin(&f->s, 3);
	take(f, IDLE, IDLE, IDLE, IDLE, 5 * MS);
	tw_schedule_end(&f->s, f->slice);
	assert_int_equal(use(f, 0, 0)->alone_ns + use(f, 0, 1)->alone_ns, 0);
}

/* A CPU that was offline at the start, or whose package is unknown: its time is counted,
 * and placed where samples saw the process on other CPUs. */
static void time_on_an_unknown_cpu_is_not_lost(void **state)
{
	struct fixture *f = *state;

	f->slice[0].used.cpu_ns = 30 * MS;
	tw_schedule_begin(&f->s, 1);
	tw_schedule_take(&f->s, f->slice, (const uint32_t[]){ IDLE, 0, IDLE, IDLE, 0 },
			 10 * MS);
	tw_schedule_take(&f->s, f->slice, (const uint32_t[]){ IDLE, IDLE, IDLE, IDLE, 0 },
			 20 * MS);
	tw_schedule_end(&f->s, f->slice);
	assert_int_equal(use(f, 0, 1)->alone_ns, 30 * MS);
	assert_int_equal(use(f, 0, 1)->awake_ns, 30 * MS);
	assert_int_equal(use(f, 0, 0)->alone_ns, 0);
}

static void each_tick_has_its_own_samples(void **state)
{
	struct fixture *f = *state;

	tw_schedule_begin(&f->s, 3);
	take(f, 0, 1, 2, 2, 10 * MS);
	tw_schedule_end(&f->s, f->slice);
	tw_schedule_begin(&f->s, 3);
	tw_schedule_end(&f->s, f->slice);
	assert_int_equal(f->s.ns, 0);
	assert_int_equal(use(f, 2, 0)->awake_ns, 0);
	/* A slice that is none of this tick is nobody. */
	f->slice[0].used.cpu_ns = 10 * MS;
	tw_schedule_begin(&f->s, 1);
	take(f, 2, 0, IDLE, IDLE, 10 * MS);
	tw_schedule_end(&f->s, f->slice);
	assert_int_equal(use(f, 0, 1)->awake_ns, 10 * MS);
	assert_int_equal(use(f, 0, 0)->awake_ns, 0);
}

static void a_machine_of_too_many_packages_is_refused(void **state)
{
	struct fixture *f = *state;
	struct tw_err err = { 0 };
	char number[16];

	tw_schedule_close(&f->s);
	for (int cpu = 0; cpu <= TW_SCHEDULE_PACKAGES; cpu++) {
		snprintf(number, sizeof(number), "%d\n", cpu);
		write_cpu(f->dir, cpu, number, "x\n");
	}
	assert_int_equal(open_cpus(f, TW_SCHEDULE_PACKAGES + 1, &err), -1);
	assert_int_equal(err.code, TW_UNSUPPORTED);
	assert_int_equal(open_cpus(f, TW_SCHEDULE_PACKAGES, &err), 0);
	/* A malformed list of siblings is no sibling. */
	assert_int_equal(f->s.cpu[3].sibling, 3);
}

/* What the files of a CPU may say: sibling -1: the CPU is unknown. */
static void a_topology_is_read_or_not_known(void **state)
{
	static const struct {
		const char *package, *siblings;
		int sibling;
	} cases[] = {
		{ "0\n", "0,2\n", 2 },
		{ "0\n", "0-1\n", 1 },
		{ "0\n", "1,0\n", 1 },
		{ "0\n", "0\n", 0 },
		{ "0\n", "0,4\n", 4 },
		{ "0\n", "0,5\n", 0 },
		{ "0\n", "5,0\n", 0 },
		{ "0\n", "0,\n", 0 },
		{ "0\n", "0,x\n", 0 },
		{ "0\n", "", 0 },
		{ "1048575\n", "0,2\n", 2 },
		{ "1048576\n", "0,2\n", -1 },
		{ "-1\n", "0,2\n", -1 },
		{ "\n", "0,2\n", -1 },
		{ "99999999999999999999\n", "0\n", -1 },
	};
	struct fixture *f = *state;
	struct tw_err err = { 0 };

	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		tw_schedule_close(&f->s);
		write_cpu(f->dir, 0, cases[i].package, cases[i].siblings);
		assert_int_equal(open_cpus(f, 5, &err), 0);
		if (f->s.cpu[0].known != (cases[i].sibling >= 0) ||
		    (f->s.cpu[0].known && f->s.cpu[0].sibling != cases[i].sibling))
			fail_msg("case %zu: %d", i, f->s.cpu[0].sibling);
	}
}

/* Three CPUs of a package: two of a pod's, one of another cgroup. */
static void an_instant_is_of_containers_not_of_their_cpus(void **state)
{
	struct fixture *f = *state;
	struct tw_workload pod = { .level = TW_LEVEL_CONTAINER };
	struct tw_err err = { 0 };

	tw_schedule_close(&f->s);
	for (int cpu = 0; cpu < 4; cpu++)
		write_cpu(f->dir, cpu, "0\n", "x\n");
	assert_int_equal(open_cpus(f, 5, &err), 0);
	f->slice[1].owner = f->slice[2].owner = &pod;
	for (int i = 0; i < 3; i++)
		f->slice[i].used.cpu_ns = 12 * MS;
	tw_schedule_begin(&f->s, 3);
	take(f, 0, 1, 2, IDLE, 12 * MS);
	tw_schedule_end(&f->s, f->slice);
	assert_int_equal(use(f, 0, 0)->awake_ns, 6 * MS);
	assert_int_equal(use(f, 1, 0)->awake_ns, 3 * MS);
	assert_int_equal(use(f, 2, 0)->awake_ns, 3 * MS);
}

/* Counts of a slice are divided as its time is; none is lost or of another kind. */
static void counts_are_divided_by_time(void **state)
{
	struct fixture *f = *state;

	f->slice[0].used.cpu_ns = 40 * MS;
	f->slice[0].used.counter[TW_COUNTER_CYCLES] = 1000;
	f->slice[0].used.counter[TW_COUNTER_INSTRUCTIONS] = 2000;
	f->slice[0].used.counter[TW_COUNTER_CACHE_MISSES] = 80;
	tw_schedule_begin(&f->s, 3);
	take(f, 0, IDLE, IDLE, IDLE, 10 * MS);
	take(f, IDLE, 0, IDLE, IDLE, 30 * MS);
	tw_schedule_end(&f->s, f->slice);
	for (size_t p = 0; p < 2; p++) {
		const struct tw_package_use *u = use(f, 0, p);
		const uint64_t part = p == 0 ? 1 : 3;

		assert_int_equal(u->alone_ns, part * 10 * MS);
		assert_int_equal(u->cycles, part * 250);
		assert_int_equal(u->instructions, part * 500);
		assert_int_equal(u->misses, part * 20);
	}
	assert_int_equal(use(f, 1, 0)->cycles, 0);
}

static void without_memory_nothing_is_sampled(void **state)
{
	struct fixture *f = *state;

	fail_alloc_at(1);
	tw_schedule_begin(&f->s, 3);
	assert_true(fail_alloc_hit());
	take(f, 0, 1, 2, IDLE, 10 * MS);
	tw_schedule_end(&f->s, f->slice);
	assert_int_equal(f->s.ns, 0);
	assert_int_equal(f->s.slices, 0);
	/* The next tick may have some; then more slices, then fewer. */
	for (size_t slices = 1; slices <= 3; slices++) {
		tw_schedule_begin(&f->s, slices);
		take(f, 0, IDLE, IDLE, IDLE, 10 * MS);
		tw_schedule_end(&f->s, f->slice);
		assert_int_equal(f->s.ns, 10 * MS);
		assert_int_equal(use(f, slices - 1, 1)->awake_ns, 0);
	}
	tw_schedule_close(&f->s);
	/* Of its three tables; a file that cannot be read then is of an unknown CPU. */
	for (int n = 1; n <= 4; n++) {
		struct tw_err err = { 0 };

		fail_alloc_at(n);
		assert_int_equal(open_cpus(f, 5, &err), n <= 3 ? -1 : 0);
		assert_true(fail_alloc_hit());
		assert_int_equal(err.code, n <= 3 ? TW_NOMEM : TW_OK);
		assert_true((f->s.cpu == NULL) == (n <= 3));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(packages_and_cores_are_those_of_the_machine),
		TEST(time_is_of_the_package_and_of_the_core),
		TEST(time_on_small_cores_is_apart),
		TEST(time_awake_is_shared_by_containers),
		TEST(cpu_time_is_exact),
		TEST(what_no_sample_saw_ran_as_all_the_others),
		TEST(time_on_an_unknown_cpu_is_not_lost),
		TEST(each_tick_has_its_own_samples),
		TEST(a_machine_of_too_many_packages_is_refused),
		TEST(a_topology_is_read_or_not_known),
		TEST(an_instant_is_of_containers_not_of_their_cpus),
		TEST(counts_are_divided_by_time),
		TEST(without_memory_nothing_is_sampled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
