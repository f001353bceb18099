/* SPDX-License-Identifier: Apache-2.0 */
/* Extraction by schemas other than kepler-legacy, and of one of several machines. */
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "trainer/extract/extract.h"
#include "trainer/extract/prom.h"

#include <math.h>
#include <string.h>

/* Series of times 100 and 110: {"metric":[{labels, two values},..],..} by a format. */
#define SERIES(labels, from, to) \
	"{\"metric\":{" labels "},\"values\":[[100,\"" from "\"],[110,\"" to "\"]]}"

static const char kepler[] =
	"{\"kepler_process_cpu_seconds_total\":[" SERIES("\"pid\":\"1\"", "0", "5") "," SERIES(
		"\"pid\":\"2\",\"container_id\":\"c\"", "1",
		"3") "],"
		     "\"kepler_container_cpu_seconds_total\":[" SERIES(
			     "\"container_id\":\"c\"", "1",
			     "3") "],"
				  "\"kepler_node_cpu_joules_total\":[" SERIES(
					  "\"zone\":\"package\",\"path\":\"/0\"", "0",
					  "100") "," SERIES("\"zone\":\"package\","
							    "\"path\":\"/1\"",
							    "50",
							    "350") "," SERIES("\"zone\":"
									      "\"core\","
									      "\"path\":"
									      "\"/0:0\"",
									      "0",
									      "60") "," SERIES("\"zone\":\"psys\",\"path\":\"/2\"",
											       "0",
											       "900") "],"
												      "\"kepler_platform_watts\":[" SERIES(
													      "\"source\":\"redfish\",\"bmc_id\":\"x\"",
													      "80",
													      "95") "," SERIES("\"source\":\"redfish\",\"bmc_id\":\"y\"",
															       "10",
															       "5") "]}";

#define CPU "\"cpu\":"
#define MODES(cpu, from, to)                                                             \
	SERIES(CPU cpu ",\"mode\":\"irq\"", from, to)                                    \
	"," SERIES(CPU cpu ",\"mode\":\"nice\"", from, to) "," SERIES(                   \
		CPU cpu ",\"mode\":\"softirq\"", from,                                   \
		to) "," SERIES(CPU cpu ",\"mode\":\"system\"", from,                     \
			       to) "," SERIES(CPU cpu ",\"mode\":\"user\"", from,        \
					      to) "," SERIES(CPU cpu                     \
							     ",\"mode\":\"idle\"",       \
							     "7",                        \
							     "9") "," SERIES(CPU cpu     \
									     ",\"mode\"" \
									     ":\"iowait" \
									     "\"",       \
									     "9", "8")

static const char node_exporter[] = "{\"node_cpu_seconds_total\":[" MODES("\"0\"", "0", "2") "," MODES(
	"\"1\"", "4",
	"5") "],"
	     "\"node_context_switches_total\":[" SERIES(
		     "", "0",
		     "1000") "],"
			     "\"node_intr_total\":[" SERIES(
				     "", "0",
				     "500") "],"
					    "\"node_vmstat_pgfault\":[" SERIES(
						    "", "0",
						    "70") "],"
							  "\"node_cpu_scaling_frequency_"
							  "hertz\":[" SERIES(CPU "\"0\"", "5", "2000") "," SERIES(
								  CPU "\"1\"", "5",
								  "1000") "],"
									  "\"node_rapl_"
									  "package_"
									  "joules_"
									  "total\":"
									  "[" SERIES(
										  "\"inde"
										  "x\":"
										  "\"0\"",
										  "0",
										  "100") "],"
											 "\"node_hwmon_power_average_watt\":[" SERIES(
												 "\"chip\":\"lnxsybus:00_acpi000d:00\"",
												 "50",
												 "60") "," SERIES("\"chip\":\"0000:03:00_0\"",
														  "9",
														  "9") "]}";

static struct tw_prom *parse(const char *text)
{
	struct tw_prom *p = NULL;
	struct tw_err err = { 0 };

	if (tw_prom_parse(text, strlen(text), &p, &err) < 0)
		fail_msg("%s", err.text);
	return p;
}

static struct tw_extract_args make_args(const char *source, const char *group)
{
	return (struct tw_extract_args){ .source = tw_energy_source_find(source),
					 .group = tw_feature_group_find(group) };
}

static void extract(const char *text, const struct tw_extract_args *args,
		    struct tw_dataset *out)
{
	struct tw_prom *p = parse(text);
	struct tw_err err = { 0 };

	if (tw_extract(p, args, out, &err) < 0)
		fail_msg("%s", err.text);
	tw_prom_free(p);
}

/* The column's value in the only row; NAN without the column. */
static double value(const struct tw_dataset *d, const char *column)
{
	const double *v = tw_dataset_find(d, column);

	assert_int_equal(d->rows, 1);
	return v != NULL ? v[0] : NAN;
}

static void expect_failure(const char *text, const struct tw_extract_args *args,
			   enum tw_code code, const char *want)
{
	struct tw_prom *p = parse(text);
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_extract(p, args, &d, &err), -1);
	assert_int_equal(err.code, code);
	assert_string_equal(err.text, want);
	tw_prom_free(p);
}

static void kepler_zones_are_separate_components(void **state)
{
	const struct tw_extract_args args = make_args("rapl-sysfs", "BPFOnly");
	struct tw_dataset d = { 0 };

	(void)state;
	extract(kepler, &args, &d);
	/* Processes include those of containers: (5 + 2) s in 10 s. */
	assert_true(fabs(value(&d, "bpf_cpu_time_ms") - 700) < 1e-9);
	assert_true(isnan(value(&d, "bpf_page_cache_hit")));
	/* Packages add up, zones do not. */
	assert_true(fabs(value(&d, "package_power") - 40) < 1e-9);
	assert_true(fabs(value(&d, "core_power") - 6) < 1e-9);
	assert_true(isnan(value(&d, "dram_power")) && isnan(value(&d, "uncore_power")));
	tw_dataset_release(&d);
}

static void platform_power_is_a_gauge_or_the_zone_psys(void **state)
{
	struct tw_extract_args args = make_args("redfish", "BPFOnly");
	struct tw_dataset d = { 0 };

	(void)state;
	extract(kepler, &args, &d);
	assert_true(value(&d, "platform_power") == 100);
	tw_dataset_release(&d);
	args = make_args("psys", "BPFOnly");
	extract(kepler, &args, &d);
	assert_true(fabs(value(&d, "platform_power") - 90) < 1e-9);
	tw_dataset_release(&d);
}

static void node_exporter_has_processor_time_by_mode(void **state)
{
	static const char *const modes[] = { "node_cpu_irq_ms", "node_cpu_nice_ms",
					     "node_cpu_softirq_ms", "node_cpu_system_ms",
					     "node_cpu_user_ms" };
	struct tw_extract_args args = make_args("rapl-sysfs", "NodeCPUFreq");
	struct tw_dataset d = { 0 };

	(void)state;
	extract(node_exporter, &args, &d);
	/* (2 + 1) s in 10 s. */
	for (size_t i = 0; i < 5; i++)
		assert_true(fabs(value(&d, modes[i]) - 300) < 1e-9);
	assert_true(value(&d, "node_context_switches") == 100);
	assert_true(value(&d, "node_interrupts") == 50);
	assert_true(value(&d, "node_page_faults") == 7);
	/* A gauge: the mean of the CPUs. */
	assert_true(value(&d, "cpu_scaling_frequency_hertz") == 1500);
	assert_true(value(&d, "package_power") == 10);
	tw_dataset_release(&d);

	args = make_args("acpi", "NodeCPU");
	extract(node_exporter, &args, &d);
	assert_true(value(&d, "platform_power") == 60);
	assert_true(isnan(value(&d, "cpu_scaling_frequency_hertz")));
	tw_dataset_release(&d);
}

/* One process in a container; the process of a VM is not counted twice. */
static const char ours[] =
	"{\"tallywatt_process_cpu_seconds_total\":[{\"metric\":{\"pid\":\"1\","
	"\"container_id\":\"c\"},\"values\":[[100,\"0\"],[110,\"5\"]]}],"
	"\"tallywatt_container_cpu_seconds_total\":[{\"metric\":{\"container_id\":"
	"\"c\"},\"values\":[[100,\"0\"],[110,\"5\"]]}],"
	"\"tallywatt_vm_cpu_cycles_total\":[{\"metric\":{\"vm_id\":\"v\"},"
	"\"values\":[[100,\"0\"],[110,\"30\"]]}],"
	"\"tallywatt_node_energy_joules_total\":["
	"{\"metric\":{\"zone\":\"package\",\"mode\":\"idle\",\"path\":\"0\","
	"\"source\":\"rapl-msr\"},\"values\":[[100,\"0\"],[110,\"100\"]]},"
	"{\"metric\":{\"zone\":\"package\",\"mode\":\"dynamic\",\"path\":\"0\","
	"\"source\":\"rapl-msr\"},\"values\":[[100,\"0\"],[110,\"50\"]]},"
	"{\"metric\":{\"zone\":\"dram\",\"mode\":\"idle\",\"path\":\"0\","
	"\"source\":\"rapl-msr\"},\"values\":[[100,\"0\"],[110,\"20\"]]},"
	"{\"metric\":{\"zone\":\"gpu\",\"mode\":\"idle\",\"source\":\"nvml\"},"
	"\"values\":[[100,\"0\"],[110,\"900\"]]},"
	"{\"metric\":{\"zone\":\"psys\",\"mode\":\"idle\",\"source\":"
	"\"rapl-sysfs\"},\"values\":[[100,\"0\"],[110,\"400\"]]},"
	"{\"metric\":{\"zone\":\"platform\",\"mode\":\"idle\",\"source\":"
	"\"redfish\"},\"values\":[[100,\"0\"],[110,\"500\"]]}]}";

static void tw_collector_has_energy_by_zone_source_and_mode(void **state)
{
	struct tw_extract_args args = make_args("rapl-msr", "BPFOnly");
	struct tw_dataset d = { 0 };

	(void)state;
	extract(ours, &args, &d);
	assert_true(fabs(value(&d, "bpf_cpu_time_ms") - 500) < 1e-9);
	assert_true(fabs(value(&d, "package_power") - 15) < 1e-9);
	assert_true(fabs(value(&d, "dram_power") - 2) < 1e-9);
	assert_true(isnan(value(&d, "core_power")));
	tw_dataset_release(&d);
	args = make_args("psys", "BPFOnly");
	extract(ours, &args, &d);
	assert_true(fabs(value(&d, "platform_power") - 40) < 1e-9);
	tw_dataset_release(&d);
	args = make_args("redfish", "BPFOnly");
	extract(ours, &args, &d);
	assert_true(fabs(value(&d, "platform_power") - 50) < 1e-9);
	tw_dataset_release(&d);
	args = make_args("rapl-sysfs", "CounterOnly");
	expect_failure(ours, &args, TW_NOTFOUND,
		       "response has no series of tallywatt_process_cache_misses_total, "
		       "tallywatt_process_cpu_instructions_total, "
		       "tallywatt_node_energy_joules_total{zone=\"package\"}");
}

static void missing_metrics_have_the_exporters_names(void **state)
{
	struct tw_extract_args args = make_args("rapl-sysfs", "NodeCPU");

	(void)state;
	expect_failure(
		"{\"node_intr_total\":[" SERIES(
			"", "0",
			"1") "],"
			     "\"node_context_switches_total\":[" SERIES(
				     "", "0",
				     "1") "],"
					  "\"node_vmstat_pgfault\":[" SERIES(
						  "", "0",
						  "1") "],"
						       "\"node_cpu_seconds_total\":"
						       "[" SERIES("\"mode\":\"user\"",
								  "0", "1") "]}",
		&args, TW_NOTFOUND,
		"response has no series of node_cpu_seconds_total{mode=\"irq\"}, "
		"node_cpu_seconds_total{mode=\"nice\"}, "
		"node_cpu_seconds_total{mode=\"softirq\"}, "
		"node_cpu_seconds_total{mode=\"system\"}, "
		"node_rapl_package_joules_total");
	args.level = TW_LEVEL_CONTAINER;
	expect_failure(node_exporter, &args, TW_INVALID,
		       "NodeCPU has no features of containers: extract it at node level");
	args = make_args("rapl-sysfs", "BPFOnly");
	expect_failure("{\"kepler_node_cpu_joules_total\":[" SERIES("\"zone\":\"core\"",
								    "0", "1") "]}",
		       &args, TW_NOTFOUND,
		       "response has no series of kepler_process_cpu_seconds_total, "
		       "kepler_node_cpu_joules_total{zone=\"package\"}");
}

static void groups_and_sources_belong_to_one_exporter(void **state)
{
	const struct tw_feature_group *bpf = tw_feature_group_find("BPFOnly");
	const struct tw_feature_group *node = tw_feature_group_find("NodeCPU");
	const struct tw_energy_source *redfish = tw_energy_source_find("redfish");
	struct tw_buf both = { 0 };
	struct tw_prom *p;

	(void)state;
	tw_buf_add(&both, kepler, strlen(kepler) - 1);
	tw_buf_adds(&both, ",");
	tw_buf_adds(&both, node_exporter + 1);
	p = parse(both.data);
	assert_true(tw_extract_has_group(p, bpf) && tw_extract_has_group(p, node));
	assert_true(tw_extract_has_source(p, redfish));
	assert_true(tw_extract_has_both(p, bpf, redfish));
	assert_false(tw_extract_has_both(p, node, redfish));
	assert_true(tw_extract_has_both(p, node, tw_energy_source_find("rapl-sysfs")));
	assert_false(tw_extract_has_group(p, tw_feature_group_find("Basic")));
	tw_prom_free(p);
	tw_buf_clear(&both);
}

static const char two[] = "{\"kepler_process_cpu_seconds_total\":[" SERIES(
	"\"node_name\":\"a\"", "0",
	"1") "," SERIES("\"node_name\":\"b\"", "0",
			"2") "],"
			     "\"kepler_platform_watts\":[" SERIES(
				     "\"node_name\":\"a\",\"source\":\"redfish\"", "10",
				     "10") "," SERIES("\"node_name\":\"b\",\"source\":"
						      "\"redfish\"",
						      "20", "20") "]}";

static void one_machine_of_several_is_selected_by_name(void **state)
{
	struct tw_extract_args args = make_args("redfish", "BPFOnly");
	struct tw_dataset d = { 0 };

	(void)state;
	expect_failure(two, &args, TW_INVALID,
		       "the response has several machines ('a' and 'b'): name "
		       "one with --machine");
	args.machine = "b";
	extract(two, &args, &d);
	assert_true(value(&d, "bpf_cpu_time_ms") == 200);
	assert_true(value(&d, "platform_power") == 20);
	tw_dataset_release(&d);
	args.machine = "c";
	expect_failure(two, &args, TW_NOTFOUND,
		       "response has no machine 'c': it has 'a', 'b'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kepler_zones_are_separate_components),
		cmocka_unit_test(platform_power_is_a_gauge_or_the_zone_psys),
		cmocka_unit_test(node_exporter_has_processor_time_by_mode),
		cmocka_unit_test(tw_collector_has_energy_by_zone_source_and_mode),
		cmocka_unit_test(missing_metrics_have_the_exporters_names),
		cmocka_unit_test(groups_and_sources_belong_to_one_exporter),
		cmocka_unit_test(one_machine_of_several_is_selected_by_name),
	};

	return cmocka_run_group_tests_name("exporters", tests, NULL, NULL);
}
