/* SPDX-License-Identifier: Apache-2.0 */
/* See also tests/integration/test_mass_balance.py. */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "trainer/extract/extract.h"
#include "trainer/extract/prom.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define METRIC(name, series) "\"" name "\":[" series "]"
#define SERIES(labels, values) "{\"metric\":{" labels "},\"values\":[" values "]}"
#define JOULES                                                                        \
	METRIC("kepler_node_cpu_joules_total",                                        \
	       SERIES("\"zone\":\"package\"", "[100,\"0\"],[103,\"30\"],[106,\"60\"]" \
					      ",[109,\"90\"],[112,\"120\"]"))
#define CPU(series) "{" METRIC("kepler_process_cpu_seconds_total", series) "," JOULES "}"
#define INIT                    \
	SERIES("\"pid\":\"1\"", \
	       "[100,\"9\"],[103,\"9\"],[106,\"9\"],[109,\"9\"],[112,\"9\"]")

static struct tw_extract_args make_args(const char *group, const char *source)
{
	const struct tw_extract_args args = {
		.source = tw_energy_source_find(source),
		.group = tw_feature_group_find(group),
		.level = TW_LEVEL_NODE,
	};

	return args;
}

static int extract(const char *text, const struct tw_extract_args *args,
		   struct tw_dataset *out, struct tw_err *err)
{
	struct tw_prom *p = NULL;
	int status;

	if (tw_prom_parse(text, strlen(text), &p, err) < 0)
		return -1;
	status = tw_extract(p, args, out, err);
	tw_prom_free(p);
	return status;
}

/* CPU time of the rows at 103, 106, .., in ms a second. */
static void expect(const char *text, const struct tw_extract_args *args,
		   const double *want, size_t rows)
{
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };
	const double *v;

	if (extract(text, args, &d, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(d.rows, rows);
	v = tw_dataset_find(&d, "bpf_cpu_time_ms");
	assert_non_null(v);
	for (size_t i = 0; i < rows; i++)
		if (fabs(v[i] - want[i]) > 1e-9)
			fail_msg("row %zu is %.17g, not %.17g", i, v[i], want[i]);
	tw_dataset_release(&d);
}

#define EXPECT(text, ...)                                                               \
	do {                                                                            \
		const struct tw_extract_args args = make_args("BPFOnly", "rapl-sysfs"); \
		const double want[] = { __VA_ARGS__ };                                  \
                                                                                        \
		expect(text, &args, want, sizeof(want) / sizeof(want[0]));              \
	} while (0)

static void a_process_of_one_sample_counts_whole(void **state)
{
	(void)state;
	EXPECT(CPU(INIT "," SERIES("\"pid\":\"2\"", "[106,\"1.5\"]")), 0, 500, 0, 0);
}

static void a_series_that_begins_late_counts_from_zero(void **state)
{
	(void)state;
	EXPECT(CPU(INIT "," SERIES("\"pid\":\"2\"", "[106,\"0.6\"],[109,\"1.2\"]")), 0,
	       200, 200, 0);
}

static void a_process_continues_under_another_command(void **state)
{
	(void)state;
	EXPECT(CPU(INIT "," SERIES("\"pid\":\"2\",\"comm\":\"sh\"",
				   "[100,\"3\"],[103,\"3."
				   "3\"]") "," SERIES("\"pid\":\"2\",\"comm\":\"ls\"",
						      "[106,\"3.6\"],[109,\"4.2\"]")),
	       100, 100, 200, 0);
}

static void a_process_goes_back_to_its_first_command(void **state)
{
	(void)state;
	EXPECT(CPU(INIT "," SERIES("\"pid\":\"2\",\"comm\":\"sh\"",
				   "[100,\"3\"],[103,\"3.3\"],[109,\"4.2\"],[112,\"4."
				   "5\"]") "," SERIES("\"pid\":\"2\",\"comm\":\"ls\"",
						      "[106,\"3.6\"]")),
	       100, 100, 200, 100);
}

/* ls continues sh, which ended last; cat continues make after a pause of 9 s. */
static void a_process_continues_the_command_that_ended_last(void **state)
{
	(void)state;
	EXPECT(CPU(INIT "," SERIES(
		       "\"pid\":\"2\",\"comm\":\"sh\"",
		       "[100,\"1\"],[103,"
		       "\"1.2\"],[106,\"1."
		       "5\"]") "," SERIES("\"pid\":\"2\",\"comm\":\"make\"",
					  "[100,\"3\"],[103,\"3.3\"]") "," SERIES("\"pid"
										  "\":"
										  "\"2\","
										  "\"comm"
										  "\":"
										  "\"ls"
										  "\"",
										  "[109,"
										  "\"1."
										  "8\"],["
										  "112,"
										  "\"1."
										  "9\"]") "," SERIES("\"pid"
												     "\":"
												     "\"2\","
												     "\"comm"
												     "\":"
												     "\"cat"
												     "\"",
												     "[112,"
												     "\"3."
												     "6\""
												     "]")),
	       500 / 3.0, 400 / 3.0, 400 / 3.0, 200 / 3.0);
}

#define IDLE(cpu) \
	SERIES("\"cpu\":\"" cpu "\",\"mode\":\"idle\"", "[100,\"0\"],[109,\"9\"]")
#define BUSY SERIES("\"pid\":\"2\"", "[106,\"4.5\"],[109,\"5.1\"]")

/* 4.5 s of CPU time within 3 s on 2 CPUs. */
static void a_process_may_use_all_processors(void **state)
{
	static const char text[] =
		"{" METRIC("kepler_process_cpu_seconds_total", INIT "," BUSY) "," METRIC(
			"node_cpu_seconds_total", IDLE("0") "," IDLE("1")) "," JOULES "}";

	(void)state;
	EXPECT(text, 0, 1500, 200, 0);
}

static void a_reused_pid_counts_from_zero(void **state)
{
	(void)state;
	EXPECT(CPU(INIT
		   "," SERIES("\"pid\":\"2\"",
			      "[100,\"3\"],[103,\"3.3\"],[106,\"0."
			      "3\"]") "," SERIES("\"pid\":\"3\"",
						 "[100,\"3\"],[103,\"3\"],[106,\"3\"]")),
	       100, 100, 0, 0);
}

static void a_series_with_a_pause_is_spread_over_the_pause(void **state)
{
	(void)state;
	EXPECT(CPU(INIT "," SERIES("\"pid\":\"2\"", "[100,\"3\"],[109,\"3.9\"]")), 100,
	       100, 100, 0);
}

/* 30 s of CPU time on 2 CPUs within 3 s: the process was there before, unexported. */
static void a_series_that_appears_with_an_impossible_value_does_not_count(void **state)
{
	(void)state;
	EXPECT("{" METRIC(
		       "kepler_process_cpu_seconds_total",
		       INIT "," SERIES(
			       "\"pid\":\"2\"",
			       "[106,\"30\"],[109,\"30.6\"]")) "," METRIC("node_cpu_"
									  "seconds_total",
									  SERIES("\"cpu"
										 "\":"
										 "\"0\","
										 "\"mode"
										 "\":"
										 "\"idle"
										 "\"",
										 "[100,"
										 "\"0\"]"
										 ",[103,"
										 "\"3\"]"
										 ",[106,"
										 "\"6\"]"
										 ",[109,"
										 "\"9\""
										 "]") "," SERIES("\"cpu\":\"1\",\"mode\":\"idle\"",
												 "[100,\"0\"],[103,\"3\"],[106,\"6\"],[109,\"9\"]")) "," JOULES
																		     "}",
	       0, 0, 200, 0);
}

#define RESTART                                                                          \
	CPU(SERIES("\"pid\":\"1\"",                                                      \
		   "[100,\"9\"],[103,\"9.3\"],[106,\"0.1\"],"                            \
		   "[109,\"0.7\"],[112,\"0.7\"]") "," SERIES("\"pid\":\"2\"",            \
							     "[100,\"5\"],[103,\"5.6\"]" \
							     ",[106,\"0.2\"],"           \
							     "[109,\"0.2\"],[112,\"0."   \
							     "2\"]") "," SERIES("\"pid"  \
										"\":"    \
										"\"3\"", \
										"[100,"  \
										"\"0\"]" \
										",[103," \
										"\"0\"]" \
										",[106," \
										"\"0\"]" \
										",[109," \
										"\"0\"]" \
										","      \
										"[112,"  \
										"\"0\""  \
										"]"))

static void a_restart_continues_the_rates_where_it_is_accepted(void **state)
{
	struct tw_extract_args args = make_args("BPFOnly", "rapl-sysfs");
	const double want[] = { 300, 300, 200, 0 };
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(extract(RESTART, &args, &d, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_non_null(strstr(err.text, "counter falls from 9.3 to 0.1 at time 106; "
					 "--resets carry accepts it"));
	args.resets = TW_RESETS_CARRY;
	expect(RESTART, &args, want, 4);
}

/* The collector's tick of 106 was late: counters and energy of two ticks came at 109. */
static void rates_are_divided_by_the_published_time_of_the_ticks(void **state)
{
	const struct tw_extract_args args = make_args("BPFOnly", "rapl-sysfs");
	static const char text[] = "{" METRIC(
		"tallywatt_collector_tick_time_seconds",
		SERIES("",
		       "[100,\"50\"],[103,\"53\"],[106,\"53\"],"
		       "[109,\"59\"],[112,\"62\"]")) "," METRIC("tallywatt_"
								"process_cpu_"
								"seconds_total",
								SERIES("\"pid\":"
								       "\"1\"",
								       "[100,"
								       "\"0\"],["
								       "103,"
								       "\"3\"],["
								       "106,"
								       "\"3\"],["
								       "109,"
								       "\"9\"],"
								       "[112,"
								       "\"12\""
								       "]")) "," METRIC("tallywatt_node_energy_joules_total",
											SERIES("\"zone\":\"package\",\"source\":\"rapl-sysfs\"",
											       "[100,\"0\"],[103,\"30\"],[106,\"30\"],[109,\"90\"],"
											       "[112,\"120\"]")) "}";
	const double want[] = { 1000, 1000, 1000 };
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	expect(text, &args, want, 3);
	assert_int_equal(extract(text, &args, &d, &err), 0);
	for (size_t i = 0; i < d.rows; i++)
		assert_true(fabs(tw_dataset_find(&d, "package_power")[i] - 10) < 1e-9);
	tw_dataset_release(&d);
}

#define LEGACY(name, value)                       \
	METRIC("kepler_container_" name "_total", \
	       SERIES("\"container_id\":\"a\"", "[100,\"0\"],[103,\"" value "\"]"))
#define LEGACY_JOULES                                                \
	METRIC("kepler_node_package_joules_total",                   \
	       SERIES("\"source\":\"rapl-sysfs\",\"package\":\"0\"", \
		      "[100,\"0\"],[103,\"30\"]"))

static void a_counter_that_the_exporter_omits_is_zero(void **state)
{
	const struct tw_extract_args args = make_args("BPFIRQ", "rapl-sysfs");
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	if (extract("{" LEGACY("bpf_cpu_time_ms", "30") "," LEGACY(
			    "bpf_net_rx_irq", "6") "," LEGACY_JOULES "}",
		    &args, &d, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(d.rows, 1);
	assert_true(tw_dataset_find(&d, "bpf_net_rx_irq")[0] == 2);
	assert_true(tw_dataset_find(&d, "bpf_block_irq")[0] == 0);
	tw_dataset_release(&d);
	/* Without any softirq the exporter does not count them. */
	assert_int_equal(extract("{" LEGACY("bpf_cpu_time_ms", "30") "," LEGACY_JOULES
								     "}",
				 &args, &d, &err),
			 -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_non_null(strstr(err.text, "kepler_container_bpf_block_irq_total"));
}

static void every_failed_allocation_is_reported(void **state)
{
	struct tw_extract_args args = make_args("BPFOnly", "rapl-sysfs");
	struct tw_prom *p = NULL;
	struct tw_err err = { 0 };

	(void)state;
	args.resets = TW_RESETS_CARRY;
	assert_int_equal(tw_prom_parse(RESTART, strlen(RESTART), &p, &err), 0);
	for (int n = 1;; n++) {
		struct tw_dataset d = { 0 };
		struct tw_err why = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_extract(p, &args, &d, &why);
		tw_dataset_release(&d);
		if (!fail_alloc_told(rc, &why)) {
			assert_true(n > 20);
			break;
		}
	}
	tw_prom_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_of_one_sample_counts_whole),
		cmocka_unit_test(a_series_that_begins_late_counts_from_zero),
		cmocka_unit_test(a_process_continues_under_another_command),
		cmocka_unit_test(a_process_goes_back_to_its_first_command),
		cmocka_unit_test(a_process_continues_the_command_that_ended_last),
		cmocka_unit_test(a_process_may_use_all_processors),
		cmocka_unit_test(a_reused_pid_counts_from_zero),
		cmocka_unit_test(a_series_with_a_pause_is_spread_over_the_pause),
		cmocka_unit_test(
			a_series_that_appears_with_an_impossible_value_does_not_count),
		cmocka_unit_test(a_restart_continues_the_rates_where_it_is_accepted),
		cmocka_unit_test(rates_are_divided_by_the_published_time_of_the_ticks),
		cmocka_unit_test(a_counter_that_the_exporter_omits_is_zero),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("increments", tests, NULL, NULL);
}
