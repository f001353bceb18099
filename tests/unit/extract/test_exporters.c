/* SPDX-License-Identifier: Apache-2.0 */
/* Extraction by schemas other than kepler-legacy, and of one of several machines. */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "tests/unit/sampled.h"
#include "trainer/extract/extract.h"
#include "trainer/response/prom.h"
#include "trainer/extract/quality.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PROCESS "kepler_process_cpu_seconds_total"
#define ZONE "kepler_node_cpu_joules_total"
#define WATTS "kepler_platform_watts"

static const struct sampled kepler[] = {
	{ PROCESS, "'pid':'1'", "100,0 110,5" },
	{ PROCESS, "'pid':'2','container_id':'c'", "100,1 110,3" },
	{ "kepler_container_cpu_seconds_total", "'container_id':'c'", "100,1 110,3" },
	{ ZONE, "'zone':'package','path':'/0'", "100,0 110,100" },
	{ ZONE, "'zone':'package','path':'/1'", "100,50 110,350" },
	{ ZONE, "'zone':'core','path':'/0:0'", "100,0 110,60" },
	{ ZONE, "'zone':'psys','path':'/2'", "100,0 110,900" },
	{ WATTS, "'source':'redfish','bmc_id':'x'", "100,80 110,95" },
	{ WATTS, "'source':'redfish','bmc_id':'y'", "100,10 110,5" },
};

#define CPU "node_cpu_seconds_total"
#define HERTZ "node_cpu_scaling_frequency_hertz"
#define HWMON "node_hwmon_power_average_watt"

static const struct sampled node_exporter[] = {
	{ CPU, "'cpu':'0','mode':'irq'", "100,0 110,2" },
	{ CPU, "'cpu':'0','mode':'nice'", "100,0 110,2" },
	{ CPU, "'cpu':'0','mode':'softirq'", "100,0 110,2" },
	{ CPU, "'cpu':'0','mode':'system'", "100,0 110,2" },
	{ CPU, "'cpu':'0','mode':'user'", "100,0 110,2" },
	{ CPU, "'cpu':'0','mode':'idle'", "100,7 110,9" },
	{ CPU, "'cpu':'0','mode':'iowait'", "100,9 110,8" },
	{ CPU, "'cpu':'1','mode':'irq'", "100,4 110,5" },
	{ CPU, "'cpu':'1','mode':'nice'", "100,4 110,5" },
	{ CPU, "'cpu':'1','mode':'softirq'", "100,4 110,5" },
	{ CPU, "'cpu':'1','mode':'system'", "100,4 110,5" },
	{ CPU, "'cpu':'1','mode':'user'", "100,4 110,5" },
	{ CPU, "'cpu':'1','mode':'idle'", "100,7 110,9" },
	{ CPU, "'cpu':'1','mode':'iowait'", "100,9 110,8" },
	{ "node_context_switches_total", "", "100,0 110,1000" },
	{ "node_intr_total", "", "100,0 110,500" },
	{ "node_vmstat_pgfault", "", "100,0 110,70" },
	{ HERTZ, "'cpu':'0'", "100,5 110,2000" },
	{ HERTZ, "'cpu':'1'", "100,5 110,1000" },
	{ "node_rapl_package_joules_total", "'index':'0'", "100,0 110,100" },
	{ HWMON, "'chip':'lnxsybus:00_acpi000d:00'", "100,50 110,60" },
	{ HWMON, "'chip':'0000:03:00_0'", "100,9 110,9" },
	{ "ipmi_dcmi_power_consumption_watts", "", "104,90 109,80" },
};

static struct tw_extract_args make_args(const char *source, const char *group)
{
	return (struct tw_extract_args){ .source = tw_energy_source_find(source),
					 .group = tw_feature_group_find(group) };
}

static void extract(const struct sampled *series, size_t count,
		    const struct tw_extract_args *args, struct tw_dataset *out)
{
	struct tw_prom *p = sampled_response(series, count);
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

static void expect_failure(const struct sampled *series, size_t count,
			   const struct tw_extract_args *args, enum tw_code code,
			   const char *want)
{
	struct tw_prom *p = sampled_response(series, count);
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
	extract(kepler, TW_COUNT(kepler), &args, &d);
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
	extract(kepler, TW_COUNT(kepler), &args, &d);
	assert_true(value(&d, "platform_power") == 100);
	tw_dataset_release(&d);
	args = make_args("psys", "BPFOnly");
	extract(kepler, TW_COUNT(kepler), &args, &d);
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
	extract(node_exporter, TW_COUNT(node_exporter), &args, &d);
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
	extract(node_exporter, TW_COUNT(node_exporter), &args, &d);
	assert_true(value(&d, "platform_power") == 60);
	assert_true(isnan(value(&d, "cpu_scaling_frequency_hertz")));
	tw_dataset_release(&d);

	/* ipmi_exporter is scraped at times of its own. */
	args = make_args("ipmi", "NodeCPU");
	extract(node_exporter, TW_COUNT(node_exporter), &args, &d);
	assert_true(value(&d, "platform_power") == 80);
	assert_true(value(&d, "node_page_faults") == 7);
	tw_dataset_release(&d);
}

#define OUR_PROCESS "tallywatt_process_cpu_seconds_total"
#define ENERGY "tallywatt_node_energy_joules_total"
#define MSR(zone, mode) \
	"'zone':'" zone "','mode':'" mode "','path':'0','source':'rapl-msr'"

/* One process in a container; the process of a VM is not counted twice. */
static const struct sampled ours[] = {
	{ OUR_PROCESS, "'pid':'1','container_id':'c'", "100,0 110,5" },
	{ "tallywatt_container_cpu_seconds_total", "'container_id':'c'", "100,0 110,5" },
	{ "tallywatt_vm_cpu_cycles_total", "'vm_id':'v'", "100,0 110,30" },
	{ ENERGY, MSR("package", "idle"), "100,0 110,100" },
	{ ENERGY, MSR("package", "dynamic"), "100,0 110,50" },
	{ ENERGY, MSR("dram", "idle"), "100,0 110,20" },
	{ ENERGY, "'zone':'gpu','mode':'idle','source':'nvml'", "100,0 110,900" },
	{ ENERGY, "'zone':'psys','mode':'idle','source':'rapl-sysfs'", "100,0 110,400" },
	{ ENERGY, "'zone':'platform','mode':'idle','source':'redfish'", "100,0 110,500" },
};

static void tw_collector_has_energy_by_zone_source_and_mode(void **state)
{
	struct tw_extract_args args = make_args("rapl-msr", "BPFOnly");
	struct tw_dataset d = { 0 };

	(void)state;
	extract(ours, TW_COUNT(ours), &args, &d);
	assert_true(fabs(value(&d, "bpf_cpu_time_ms") - 500) < 1e-9);
	assert_true(fabs(value(&d, "package_power") - 15) < 1e-9);
	assert_true(fabs(value(&d, "dram_power") - 2) < 1e-9);
	assert_true(isnan(value(&d, "core_power")));
	tw_dataset_release(&d);
	args = make_args("psys", "BPFOnly");
	extract(ours, TW_COUNT(ours), &args, &d);
	assert_true(fabs(value(&d, "platform_power") - 40) < 1e-9);
	tw_dataset_release(&d);
	args = make_args("redfish", "BPFOnly");
	extract(ours, TW_COUNT(ours), &args, &d);
	assert_true(fabs(value(&d, "platform_power") - 50) < 1e-9);
	tw_dataset_release(&d);
	args = make_args("rapl-sysfs", "CounterOnly");
	expect_failure(ours, TW_COUNT(ours), &args, TW_NOTFOUND,
		       "response has no series of tallywatt_process_cache_misses_total, "
		       "tallywatt_process_cpu_instructions_total, "
		       "tallywatt_node_energy_joules_total{zone=\"package\"}; "
		       "sources of energy in the data: 'rapl-msr', 'nvml', 'redfish', "
		       "'psys' (see --source)");
}

static void readings_that_contradict_physics_are_not_learned(void **state)
{
	static const struct sampled contradictions[] = {
		{ "tallywatt_meter_violation",
		  "'zone':'psys','path':'/psys','source':'rapl-sysfs','reason':'its "
		  "packages "
		  "have 90.0 W, the psys 40.0 W'",
		  "100,1 110,1" },
		{ "tallywatt_meter_violation",
		  "'zone':'package','path':'/1','source':'rapl-msr','reason':'its "
		  "counter is that of package-0'",
		  "100,1 110,1" },
	};
	struct tw_extract_args args = make_args("rapl-msr", "BPFOnly");
	struct sampled all[TW_COUNT(ours) + TW_COUNT(contradictions)];
	struct tw_dataset d = { 0 };

	(void)state;
	memcpy(all, ours, sizeof(ours));
	memcpy(all + TW_COUNT(ours), contradictions, sizeof(contradictions));
	/* What psys shows spoils models of psys only. */
	extract(all, TW_COUNT(ours) + 1, &args, &d);
	tw_dataset_release(&d);
	expect_failure(all, TW_COUNT(all), &args, TW_INVALID,
		       "the recording's meters contradict physics: zone package, "
		       "/1: its counter is that of package-0 ('tallywatt probe "
		       "--explain' there shows the meters)");
	args = make_args("psys", "BPFOnly");
	expect_failure(
		all, TW_COUNT(ours) + 1, &args, TW_INVALID,
		"the recording's meters contradict physics: zone psys, /psys: its "
		"packages have 90.0 W, the psys 40.0 W ('tallywatt probe --explain' "
		"there shows the meters)");
}

static void missing_metrics_have_the_exporters_names(void **state)
{
	static const struct sampled user_time_only[] = {
		{ "node_intr_total", "", "100,0 110,1" },
		{ "node_context_switches_total", "", "100,0 110,1" },
		{ "node_vmstat_pgfault", "", "100,0 110,1" },
		{ CPU, "'mode':'user'", "100,0 110,1" },
	};
	static const struct sampled core_only = { ZONE, "'zone':'core'", "100,0 110,1" };
	struct tw_extract_args args = make_args("rapl-sysfs", "NodeCPU");

	(void)state;
	expect_failure(user_time_only, TW_COUNT(user_time_only), &args, TW_NOTFOUND,
		       "response has no series of node_cpu_seconds_total{mode=\"irq\"}, "
		       "node_cpu_seconds_total{mode=\"nice\"}, "
		       "node_cpu_seconds_total{mode=\"softirq\"}, "
		       "node_cpu_seconds_total{mode=\"system\"}, "
		       "node_rapl_package_joules_total");
	args.level = TW_ROWS_CONTAINER;
	expect_failure(node_exporter, TW_COUNT(node_exporter), &args, TW_INVALID,
		       "NodeCPU has no features of containers: extract it at node level");
	args = make_args("rapl-sysfs", "BPFOnly");
	expect_failure(&core_only, 1, &args, TW_NOTFOUND,
		       "response has no series of kepler_process_cpu_seconds_total, "
		       "kepler_node_cpu_joules_total{zone=\"package\"}");
}

static void groups_and_sources_belong_to_one_exporter(void **state)
{
	const struct tw_feature_group *bpf = tw_feature_group_find("BPFOnly");
	const struct tw_feature_group *node = tw_feature_group_find("NodeCPU");
	const struct tw_energy_source *redfish = tw_energy_source_find("redfish");
	struct sampled both[TW_COUNT(kepler) + TW_COUNT(node_exporter)];
	struct tw_prom *p;

	(void)state;
	memcpy(both, kepler, sizeof(kepler));
	memcpy(both + TW_COUNT(kepler), node_exporter, sizeof(node_exporter));
	p = sampled_response(both, TW_COUNT(both));
	assert_true(tw_extract_has_group(p, bpf) && tw_extract_has_group(p, node));
	assert_true(tw_extract_has_source(p, redfish));
	assert_true(tw_extract_has_both(p, bpf, redfish));
	assert_false(tw_extract_has_both(p, node, redfish));
	assert_true(tw_extract_has_both(p, node, tw_energy_source_find("rapl-sysfs")));
	assert_false(tw_extract_has_group(p, tw_feature_group_find("Basic")));
	tw_prom_free(p);
}

static const struct sampled two[] = {
	{ PROCESS, "'node_name':'a'", "100,0 110,1" },
	{ PROCESS, "'node_name':'b'", "100,0 110,2" },
	{ WATTS, "'node_name':'a','source':'redfish'", "100,10 110,10" },
	{ WATTS, "'node_name':'b','source':'redfish'", "100,20 110,20" },
};

#define OURS "tallywatt_node_energy_joules_total"
#define OURS_CPU "tallywatt_process_cpu_seconds_total"
#define OLD "kepler_node_package_joules_total"
#define OLD_CPU "kepler_container_bpf_cpu_time_ms_total"

/*
 * Power that is not a measurement, by the names of Kepler, of its old releases and ours.
 */
static void unmeasured_power_teaches_only_by_its_name(void **state)
{
	static const struct {
		struct sampled power, cpu;
		const char *source, *instead, *missing;
	} cases[] = {
		{ { ZONE, "'zone':'package','path':'model:rapl-sysfs'", "100,0 110,100" },
		  { PROCESS, "'pid':'1'", "100,0 110,5" },
		  "trained_power_model",
		  "rapl-sysfs",
		  ZONE "{zone=\"package\"}" },
		{ { ZONE, "'zone':'package','path':'fake:package-0'", "100,0 110,100" },
		  { PROCESS, "'pid':'1'", "100,0 110,5" },
		  "fake",
		  "rapl-sysfs",
		  ZONE "{zone=\"package\"}" },
		{ { ZONE, "'zone':'psys','path':'passthrough:/x/intel-rapl:1'",
		    "100,0 110,100" },
		  { PROCESS, "'pid':'1'", "100,0 110,5" },
		  "passthrough",
		  "psys",
		  ZONE "{zone=\"psys\"}" },
		{ { OURS, "'zone':'psys','source':'passthrough','path':'/x'",
		    "100,0 110,100" },
		  { OURS_CPU, "'pid':'1'", "100,0 110,5" },
		  "passthrough",
		  "psys",
		  OURS "{zone=\"platform\"}" },
		{ { OURS, "'zone':'package','source':'model','path':'model:acpi'",
		    "100,0 110,100" },
		  { OURS_CPU, "'pid':'1'", "100,0 110,5" },
		  "trained_power_model",
		  "rapl-sysfs",
		  OURS "{zone=\"package\"}" },
		{ { OLD, "'package':'0','mode':'dynamic','source':'passthrough'",
		    "100,0 110,100" },
		  { OLD_CPU, "'container_id':'c'", "100,0 110,5000" },
		  "passthrough",
		  "rapl-sysfs",
		  OLD "{source=\"rapl-sysfs\"}" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const struct sampled series[] = { cases[i].power, cases[i].cpu };
		const struct tw_extract_args named = make_args(cases[i].source,
							       "BPFOnly"),
					     other = make_args(cases[i].instead,
							       "BPFOnly");
		struct tw_dataset d = { 0 };
		char want[256];

		extract(series, 2, &named, &d);
		assert_int_equal(d.rows, 1);
		tw_dataset_release(&d);
		snprintf(want, sizeof(want),
			 "response has no series of %s; the energy of source '%s' is "
			 "estimated, simulated or passed on; to train on it, pass "
			 "--source %s",
			 cases[i].missing, cases[i].source, cases[i].source);
		expect_failure(series, 2, &other, TW_NOTFOUND, want);
	}
}

static void a_virtual_tree_is_doubted(void **state)
{
	static const char *const path[] = {
		"/sys/class/powercap/intel-rapl:0",
		"/run/host-power/class/powercap/intel-rapl:0"
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char labels[128];
		const struct sampled series[] = { { ZONE, labels, "100,0 110,100" },
						  { PROCESS, "'pid':'1'",
						    "100,0 110,5" } };
		struct tw_extract_args args = make_args("rapl-sysfs", "BPFOnly");
		struct tw_quality q = { 0 };
		struct tw_dataset d = { 0 };
		struct tw_buf text = { 0 };

		args.quality = &q;
		snprintf(labels, sizeof(labels), "'zone':'package','path':'%s'", path[i]);
		extract(series, 2, &args, &d);
		tw_quality_to_text(&q, &text);
		assert_true(
			(strstr(text.data,
				"warning: the meter's path "
				"'/run/host-power/class/powercap/intel-rapl:0' is not "
				"below /sys: a host or another program wrote it, and its "
				"power may be an estimate\n") != NULL) == (i == 1));
		tw_buf_clear(&text);
		tw_quality_release(&q);
		tw_dataset_release(&d);
	}
}

/* A second series of a process or of a package, beside those of job a. */
struct second {
	const char *metric, *labels, *samples;
	size_t merged; /* series that repeat another */
	bool once;     /* the first row is that of job a alone */
};

#define FIRST_CPU "100,10 110,15 120,17 130,26"
#define FIRST_JOULES "100,1000 110,1300 120,1500 130,2000"
#define WATTS_0 30

static void check_second(const struct second *c)
{
	const struct sampled cpu = { PROCESS,
				     "'pid':'1','comm':'x','job':'a','instance':'m:1'",
				     FIRST_CPU };
	const struct sampled joules = {
		ZONE, "'zone':'package','path':'/0','job':'a','instance':'m:1'",
		FIRST_JOULES
	};
	const struct sampled more = { c->metric, c->labels, c->samples };
	const bool of_cpu = strcmp(c->metric, PROCESS) == 0;
	const struct sampled series[] = { cpu, of_cpu ? more : joules,
					  of_cpu ? joules : more };
	struct tw_extract_args args = make_args("rapl-sysfs", "BPFOnly");
	struct tw_prom *p = sampled_response(series, TW_COUNT(series));
	struct tw_quality q = { 0 };
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	args.quality = &q;
	if (tw_extract(p, &args, &d, &err) < 0)
		fail_msg("%s: %s", c->labels, err.text);
	if (q.merged != c->merged)
		fail_msg("%s: merged %zu", c->labels, q.merged);
	if (c->once) {
		assert_true(fabs(tw_dataset_find(&d, "bpf_cpu_time_ms")[0] - 500) < 1e-9);
		assert_true(fabs(tw_dataset_find(&d, "package_power")[0] - WATTS_0) <
			    1e-9);
	}
	tw_quality_release(&q);
	tw_dataset_release(&d);
	tw_prom_free(p);
}

static void series_that_another_scrape_repeats_count_once(void **state)
{
	static const struct second seconds[] = {
		{ PROCESS, "'pid':'1','comm':'x','job':'b','instance':'m:1'", FIRST_CPU,
		  1, true },
		/* The other job's samples are later; the name of the process has changed.
		 */
		{ PROCESS, "'pid':'1','comm':'y','job':'b','instance':'m:1'",
		  "103,11.5 113,15.6 123,19.7 133,27", 1, false },
		{ PROCESS,
		  "'pid':'1','comm':'x','job':'a','instance':'m:1','pod':'p',"
		  "'service':'s'",
		  FIRST_CPU, 1, true },
		{ ZONE, "'zone':'package','path':'/0','job':'b','instance':'m:1'",
		  FIRST_JOULES, 1, true },
		/* Another package, with equal values; or of another exporter, without
		   any. */
		{ ZONE, "'zone':'package','path':'/1','job':'a','instance':'m:1'",
		  FIRST_JOULES, 0, false },
		{ ZONE, "'zone':'package','path':'/1','job':'b','instance':'m:1'",
		  "100,0 110,0 120,0 130,0", 1, true },
		/* Another process. */
		{ PROCESS, "'pid':'2','comm':'x','job':'b','instance':'m:1'", FIRST_CPU,
		  0, false },
		/* One job after the other: the last sample of the first is repeated. */
		{ PROCESS, "'pid':'1','comm':'x','job':'b','instance':'m:1'",
		  "130,26 140,30 150,31 160,38", 0, true },
		/* A new exporter counts from 0, beside the old one. */
		{ PROCESS, "'pid':'1','comm':'x','job':'b','instance':'m:1'",
		  "100,0 110,5 120,7 130,16", 0, false },
		/* It did not grow. */
		{ PROCESS, "'pid':'1','comm':'x','job':'b','instance':'m:1'",
		  "100,10 110,10 120,10 130,10", 0, true },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(seconds); i++)
		check_second(&seconds[i]);
}

/* The meters of two machines that share an instance. */
static void two_machines_behind_one_name_are_refused(void **state)
{
	static const struct sampled series[] = {
		{ PROCESS, "'pid':'1','job':'a'", FIRST_CPU },
		{ ZONE, "'zone':'package','path':'/0','job':'a'", FIRST_JOULES },
		{ ZONE, "'zone':'package','path':'/0','job':'b'",
		  "100,7 110,900 120,1200 130,4000" },
	};
	const struct tw_extract_args args = make_args("rapl-sysfs", "BPFOnly");

	(void)state;
	expect_failure(series, TW_COUNT(series), &args, TW_INVALID,
		       ZONE ": {job=\"a\"} and {job=\"b\"} differ at the same times: two "
			    "machines have one name; give each its own instance or "
			    "node_name, or choose one with --match");
}

/* So are readings of power, which may fall all the time. */
static void two_gauges_behind_one_name_are_refused(void **state)
{
	static const struct sampled series[] = {
		{ PROCESS, "'pid':'1','job':'a'", FIRST_CPU },
		{ WATTS, "'source':'redfish','job':'a','service':'s'",
		  "100,80 110,60 120,40 130,20" },
		{ WATTS, "'source':'redfish','job':'b','service':'t'",
		  "100,10 110,9 120,8 130,7" },
	};
	struct sampled still[TW_COUNT(series)];
	const struct tw_extract_args args = make_args("redfish", "BPFOnly");
	struct tw_dataset d = { 0 };

	(void)state;
	expect_failure(series, TW_COUNT(series), &args, TW_INVALID,
		       WATTS ": {job=\"a\",service=\"s\"} and {job=\"b\",service=\"t\"} "
			     "differ at the same times: two machines have one name; give "
			     "each its own instance or node_name, or choose one with "
			     "--match");
	/* A sensor that shows the same all the time is not a machine. */
	memcpy(still, series, sizeof(series));
	still[2].samples = "100,10 110,10 120,10 130,10";
	extract(still, TW_COUNT(still), &args, &d);
	tw_dataset_release(&d);
}

/* Entries of Redfish: a part of the machine is within its power, supplies add up. */
static void entries_of_parts_do_not_count(void **state)
{
#define ENTRY(id, name, type)                                                           \
	"'source':'redfish','chassis_id':'1','source_id':'" id "','source_name':'" name \
	"','source_type':'" type "'"
	static const struct sampled series[] = {
		{ PROCESS, "'pid':'1'", FIRST_CPU },
		{ WATTS, ENTRY("0", "Server Power Control", "PowerControl"),
		  "100,80 110,60 120,40 130,70" },
		{ WATTS, ENTRY("1", "CPU Sub-system Power", "PowerControl"),
		  "100,40 110,30 120,20 130,35" },
		{ WATTS, ENTRY("2", "Memory Sub-system Power", "PowerControl"),
		  "100,8 110,6 120,4 130,7" },
	};
	static const struct sampled supplies[] = {
		{ PROCESS, "'pid':'1'", FIRST_CPU },
		{ WATTS, ENTRY("0", "PSU1", "PowerSupply"),
		  "100,40 110,30 120,20 130,35" },
		{ WATTS, ENTRY("1", "PSU2", "PowerSupply"),
		  "100,40 110,30 120,20 130,35" },
	};
#undef ENTRY
	const struct tw_extract_args args = make_args("redfish", "BPFOnly");
	struct tw_dataset d[2] = { { 0 }, { 0 } };

	(void)state;
	extract(series, TW_COUNT(series), &args, &d[0]);
	extract(supplies, TW_COUNT(supplies), &args, &d[1]);
	for (size_t i = 0; i < TW_COUNT(d); i++) {
		const double *watts = tw_dataset_find(&d[i], "platform_power");

		assert_int_equal(d[i].rows, 3);
		assert_true(watts[0] == 60 && watts[1] == 40 && watts[2] == 70);
		tw_dataset_release(&d[i]);
	}
}

/* The clocks of their servers are apart. */
static void two_machines_of_other_times_are_refused(void **state)
{
	static const struct sampled series[] = {
		{ PROCESS, "'pid':'1'", FIRST_CPU },
		{ ZONE, "'zone':'package','path':'/0','cluster':'a'",
		  FIRST_JOULES " 140,2400" },
		{ ZONE, "'zone':'package','path':'/0','cluster':'b'",
		  "102,7 112,900 122,1200 132,4000" },
	};
	const struct tw_extract_args args = make_args("rapl-sysfs", "BPFOnly");

	(void)state;
	expect_failure(series, TW_COUNT(series), &args, TW_INVALID,
		       ZONE ": {cluster=\"a\"} and {cluster=\"b\"} differ at the same "
			    "times: two machines have one name; give each its own "
			    "instance or node_name, or choose one with --match");
}

/* A label of the server tells them apart, which is not kept. */
static void two_machines_of_one_name_are_named(void **state)
{
	static const struct sampled series[] = {
		{ PROCESS, "'pid':'1'", FIRST_CPU },
		{ ZONE, "'zone':'package','path':'/0','region':'a','instance':'n1'",
		  FIRST_JOULES " 140,2400" },
		{ ZONE, "'zone':'package','path':'/0','region':'b','instance':'n1'",
		  "102,7 112,900 122,1200 132,4000" },
	};
	const struct tw_extract_args args = make_args("rapl-sysfs", "BPFOnly");

	(void)state;
	expect_failure(series, TW_COUNT(series), &args, TW_INVALID,
		       ZONE ": two series {instance=\"n1\"} differ at the same times: "
			    "the label that tells two machines apart is not read; give "
			    "each its own instance or node_name");
}

/* A counter of 25 samples by one path, and by another one from another total on. Both
 * fall to 0 after `most`. */
static double watts_of_wrapping(const char *path, double factor, double most)
{
	struct tw_extract_args args = make_args("rapl-sysfs", "BPFOnly");
	struct tw_buf text[3] = { { 0 }, { 0 }, { 0 } };
	struct sampled series[] = {
		{ PROCESS, "'pid':'1'", NULL },
		{ ZONE, "'zone':'package','path':'/intel-rapl:0'", NULL },
		{ ZONE, path, NULL },
	};
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };
	struct tw_prom *p;
	double watts;

	for (int i = 0; i < 25; i++) {
		const double joules = 300 * i + 100 * sin(i);

		tw_buf_addf(&text[0], " %d,%d", 100 + 10 * i, 5 * i);
		tw_buf_addf(&text[1], " %d,%.3f", 100 + 10 * i,
			    fmod(1000 + joules, most));
		tw_buf_addf(&text[2], " %d,%.3f", 100 + 10 * i,
			    fmod(77 + factor * joules, most));
	}
	for (int i = 0; i < 3; i++)
		series[i].samples = text[i].data + 1;
	p = sampled_response(series, TW_COUNT(series));
	args.resets = TW_RESETS_CARRY;
	if (tw_extract(p, &args, &d, &err) < 0)
		fail_msg("%s", err.text);
	watts = tw_dataset_find(&d, "package_power")[0];
	tw_dataset_release(&d);
	tw_prom_free(p);
	for (int i = 0; i < 3; i++)
		tw_buf_clear(&text[i]);
	return watts;
}

static double watts_of_paths(const char *path, double factor)
{
	return watts_of_wrapping(path, factor, 1e6);
}

static void a_meter_of_two_paths_counts_once(void **state)
{
	static const char mapped[] = "'zone':'package','path':'/intel-rapl-mmio:0'";
	const double once = 30 + 10 * sin(1);

	(void)state;
	assert_true(fabs(watts_of_paths(mapped, 1) - once) < 0.01);
	assert_true(fabs(watts_of_paths(mapped, 1.01) - 2.01 * once) < 0.01);
	assert_true(fabs(watts_of_wrapping(mapped, 1, 5000) - once) < 0.01);
	/* Another package, which draws the same. */
	assert_true(fabs(watts_of_paths("'zone':'package','path':'/intel-rapl:1'", 1) -
			 2 * once) < 0.01);
}

/* A process has another name in two scrapes: its samples under that name count. */
static void samples_in_the_gaps_of_a_series_count(void **state)
{
	static const struct sampled series[] = {
		{ PROCESS, "'pid':'1','comm':'a'",
		  "100,0 110,2 130,14 140,15 150,16 170,30 180,31" },
		{ PROCESS, "'pid':'1','comm':'b'", "120,12 160,18" },
		{ ZONE, "'zone':'package','path':'/0'",
		  "100,0 110,300 120,600 130,900 140,1200 150,1500 160,1800 170,2100 "
		  "180,2400" },
	};
	const struct tw_extract_args args = make_args("rapl-sysfs", "BPFOnly");
	struct tw_dataset d = { 0 };

	(void)state;
	extract(series, TW_COUNT(series), &args, &d);
	assert_true(tw_dataset_find(&d, "bpf_cpu_time_ms")[1] == 1000);
	tw_dataset_release(&d);
}

static void one_machine_of_several_is_selected_by_name(void **state)
{
	struct tw_extract_args args = make_args("redfish", "BPFOnly");
	struct tw_dataset d = { 0 };

	(void)state;
	expect_failure(two, TW_COUNT(two), &args, TW_INVALID,
		       "the response has several machines ('a' and 'b'): name "
		       "one with --machine");
	args.machine = "b";
	extract(two, TW_COUNT(two), &args, &d);
	assert_true(value(&d, "bpf_cpu_time_ms") == 200);
	assert_true(value(&d, "platform_power") == 20);
	tw_dataset_release(&d);
	args.machine = "c";
	expect_failure(two, TW_COUNT(two), &args, TW_NOTFOUND,
		       "response has no machine 'c': it has 'a', 'b'");
}

/* Of the clocks, too: by the collector's ticks, and by the modes of CPUs. */
static void every_failed_allocation_is_reported(void **state)
{
	static const struct sampled ticks[] = {
		{ "tallywatt_collector_tick_time_seconds", "", "100,50 110,60" },
		{ "tallywatt_process_cpu_seconds_total", "'pid':'1'", "100,0 110,5" },
		{ "tallywatt_node_energy_joules_total",
		  "'zone':'package','source':'rapl-sysfs'", "100,0 110,100" },
	};
	static const struct {
		const struct sampled *series;
		size_t count;
		const char *group;
	} cases[] = { { ticks, TW_COUNT(ticks), "BPFOnly" },
		      { node_exporter, TW_COUNT(node_exporter), "NodeCPU" } };

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++) {
		const struct tw_extract_args args =
			make_args("rapl-sysfs", cases[k].group);
		struct tw_prom *p = sampled_response(cases[k].series, cases[k].count);

		sampled_extract_without_memory(p, &args);
		tw_prom_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kepler_zones_are_separate_components),
		cmocka_unit_test(every_failed_allocation_is_reported),
		cmocka_unit_test(platform_power_is_a_gauge_or_the_zone_psys),
		cmocka_unit_test(node_exporter_has_processor_time_by_mode),
		cmocka_unit_test(tw_collector_has_energy_by_zone_source_and_mode),
		cmocka_unit_test(missing_metrics_have_the_exporters_names),
		cmocka_unit_test(groups_and_sources_belong_to_one_exporter),
		cmocka_unit_test(unmeasured_power_teaches_only_by_its_name),
		cmocka_unit_test(a_virtual_tree_is_doubted),
		cmocka_unit_test(series_that_another_scrape_repeats_count_once),
		cmocka_unit_test(two_machines_behind_one_name_are_refused),
		cmocka_unit_test(two_gauges_behind_one_name_are_refused),
		cmocka_unit_test(entries_of_parts_do_not_count),
		cmocka_unit_test(two_machines_of_other_times_are_refused),
		cmocka_unit_test(two_machines_of_one_name_are_named),
		cmocka_unit_test(a_meter_of_two_paths_counts_once),
		cmocka_unit_test(readings_that_contradict_physics_are_not_learned),
		cmocka_unit_test(samples_in_the_gaps_of_a_series_count),
		cmocka_unit_test(one_machine_of_several_is_selected_by_name),
	};

	return cmocka_run_group_tests_name("exporters", tests, NULL, NULL);
}
