/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/node.h"
#include "collector/system/roots.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/scratch.h"
#include "tests/unit/tw_test.h"

#include <stdio.h>
#include <math.h>
#include <string.h>

#define S UINT64_C(1000000000)

static const char stat_text[] = "cpu  100 2 30 4000 5 6 7 8 9 0\n"
				"cpu0 50 1 15 2000 2 3 3 4 4 0\n"
				"cpu1 50 1 15 2000 3 3 4 4 5 0\n"
				"intr 1234 5 0 0\n"
				"ctxt 99\n"
				"btime 1\n"
				"softirq 100 1 2 30 40 5 0 6 7 8 9\n";

static void the_lines_of_proc_stat_are_counters(void **state)
{
	struct tw_node_counts c;
	struct tw_err err = { 0 };
	unsigned cpus;

	(void)state;
	assert_int_equal(tw_proc_node_stat_parse(stat_text, strlen(stat_text), 100, &c,
						 &cpus, &err),
			 0);
	assert_int_equal(cpus, 2);
	assert_int_equal(c.cpu_ms[TW_CPU_USER], 1000);
	assert_int_equal(c.cpu_ms[TW_CPU_STEAL], 80);
	assert_int_equal(c.context_switches, 99);
	assert_int_equal(c.interrupts, 1234);
	assert_int_equal(c.softirqs[TW_SOFTIRQ_NET_TX], 30);
	assert_int_equal(c.softirqs[TW_SOFTIRQ_NET_RX], 40);
	assert_int_equal(c.softirqs[TW_SOFTIRQ_BLOCK], 5);
	assert_string_equal(tw_softirq_names[TW_SOFTIRQ_NET_RX], "net_rx");
}

static void a_malformed_proc_stat_is_rejected(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "", "no line 'cpu'" },
		{ "cpu 1 2 3\n", "'cpu': want a number" },
		{ "cpu 1 2 3 x\n", "'cpu': want a number" },
		{ "cpu 1 2 3 18446744073709551615\n", "'cpu': a number is too large" },
		{ "cpu 1 2 3 4\nctxt -1\n", "'ctxt': want a number" },
		{ "cpu 1 2 3 4\nintr\n", "'intr': want a number" },
		{ "cpu 1 2 3 4\nsoftirq 1 2 3 4 5\n", "'softirq': want a number" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_node_counts c;
		struct tw_err err = { 0 };
		unsigned cpus;

		assert_int_equal(tw_proc_node_stat_parse(cases[i].text,
							 strlen(cases[i].text), 100, &c,
							 &cpus, &err),
				 -1);
		assert_int_equal(err.code, TW_PARSE);
		assert_string_equal(err.text, cases[i].why);
	}
}

static void a_tick_reports_differences_and_frequencies(void **state)
{
	char *dir = scratch_new();
	const struct tw_roots roots = { .proc = dir, .sys = dir, .dev = dir };
	const struct tw_usage used = { .cpu_ns = S / 2 };
	struct tw_err err = { 0 };
	struct tw_node n;

	(void)state;
	tree_write(dir, "stat", stat_text);
	tree_write(dir, "vmstat", "nr_free_pages 5\npgfault 70\npgmajfault 3\n");
	tree_write(dir, "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2400000\n");
	tree_write(dir, "devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "junk\n");
	assert_int_equal(tw_node_open(&n, &roots, &err), 0);
	assert_int_equal(tw_node_tick(&n, 0, &used, &err), 0);
	assert_int_equal(n.last.page_faults, 0);
	assert_int_equal(n.last_ns, 0);
	tree_write(dir, "stat", "cpu 150 2 30 3999\ncpu0 1\nintr 1240\nctxt 100\n");
	tree_write(dir, "vmstat", "pgfault 75");
	assert_int_equal(tw_node_tick(&n, S, &used, &err), 0);
	assert_int_equal(n.last.cpu_ms[TW_CPU_USER], 500);
	assert_int_equal(n.last.cpu_ms[TW_CPU_IDLE], 0);
	assert_int_equal(n.last.page_faults, 5);
	assert_int_equal(n.last.interrupts, 6);
	assert_int_equal(n.total.context_switches, 100);
	assert_int_equal(n.frequencies, 2);
	assert_int_equal(n.hz[0], 2400000000);
	assert_int_equal(n.hz[1], 0);
	assert_float_equal(tw_node_load(&n), 0.5, 1e-12);
	tree_remove(dir, "vmstat");
	assert_int_equal(tw_node_tick(&n, S, &used, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_false(n.fresh);

	/* The next reading is not an idle machine's, but of both ticks. */
	tree_write(dir, "vmstat", "pgfault 175");
	assert_int_equal(tw_node_tick(&n, S, &used, &(struct tw_err){ 0 }), 0);
	assert_true(n.fresh);
	assert_int_equal(n.last.page_faults, 100);
	assert_int_equal(n.last_ns, 2 * S);
	assert_int_equal(tw_node_tick(&n, S, &used, &(struct tw_err){ 0 }), 0);
	assert_int_equal(n.last_ns, S);
	tw_node_release(&n);
	scratch_free(dir);
}

/* As the exported gauges: the mean of the CPUs that have a frequency. */
static void an_offline_cpu_has_no_frequency(void **state)
{
	char *dir = scratch_new();
	const struct tw_roots roots = { .proc = dir, .sys = dir, .dev = dir };
	struct tw_err err = { 0 };
	struct tw_node n;

	(void)state;
	tree_write(dir, "stat", stat_text);
	tree_write(dir, "vmstat", "pgfault 70\n");
	tree_write(dir, "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2400000\n");
	tree_write(dir, "devices/system/cpu/cpu1/online", "0\n");
	tree_write(dir, "devices/system/cpu/cpu2/cpufreq/scaling_cur_freq", "1200000\n");
	tree_write(dir, "devices/system/cpu/cpu3/online", "0\n");
	assert_int_equal(tw_node_open(&n, &roots, &err), 0);
	assert_true(isnan(tw_node_frequency_hz(&n)));
	assert_int_equal(tw_node_tick(&n, 0, NULL, &err), 0);
	assert_int_equal(n.frequencies, 3);
	assert_float_equal(tw_node_frequency_hz(&n), 1.8e9, 1);
	tree_remove(dir, "devices/system/cpu/cpu2/cpufreq/scaling_cur_freq");
	assert_int_equal(tw_node_tick(&n, S, NULL, &err), 0);
	assert_float_equal(tw_node_frequency_hz(&n), 2.4e9, 1);
	tw_node_release(&n);
	scratch_free(dir);
}

static void without_memory_there_is_no_node(void **state)
{
	const struct tw_roots roots = { .proc = "/none", .sys = "/none", .dev = "/none" };

	(void)state;
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		struct tw_node node;
		int rc;

		fail_alloc_at(n);
		rc = tw_node_open(&node, &roots, &err);
		if (!fail_alloc_hit()) {
			assert_int_equal(rc, 0);
			tw_node_release(&node);
			break;
		}
		assert_int_equal(rc, -1);
		assert_int_equal(err.code, TW_NOMEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_lines_of_proc_stat_are_counters),
		cmocka_unit_test(a_malformed_proc_stat_is_rejected),
		cmocka_unit_test(a_tick_reports_differences_and_frequencies),
		cmocka_unit_test(an_offline_cpu_has_no_frequency),
		cmocka_unit_test(without_memory_there_is_no_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
