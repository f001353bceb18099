/* SPDX-License-Identifier: Apache-2.0 */
/* See also tests/cases/prom (run by test_prom) and test_golden. */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/sampled.h"
#include "trainer/extract/extract.h"
#include "trainer/extract/quality.h"
#include "trainer/extract/sample_sums.h"
#include "trainer/response/prom.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CPU_MS "kepler_container_bpf_cpu_time_ms_total"
#define CPU_US "kepler_container_bpf_cpu_time_us_total"
#define HITS "kepler_container_bpf_page_cache_hit_total"
#define PLATFORM "kepler_node_platform_joules_total"
#define ID(id) "'container_id':'" id "'"
#define ACPI "'source':'acpi','mode':'dynamic'"

static struct tw_extract_args make_args(const char *source)
{
	const struct tw_extract_args args = {
		.source = tw_energy_source_find(source),
		.group = tw_feature_group_find("BPFOnly"),
		.level = TW_ROWS_NODE,
	};

	return args;
}

/* Extract, and compare a column's values. */
static void expect_column(const struct sampled *series, size_t count,
			  const struct tw_extract_args *args, const char *column,
			  const double *want, size_t rows)
{
	struct tw_prom *p = sampled_response(series, count);
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };
	const double *v;

	if (tw_extract(p, args, &d, &err) < 0)
		fail_msg("%s", err.text);
	v = tw_dataset_find(&d, column);
	assert_non_null(v);
	assert_int_equal(d.rows, rows);
	for (size_t i = 0; i < rows; i++)
		if (fabs(v[i] - want[i]) > 1e-12 * fabs(want[i]))
			fail_msg("row %zu is %.17g, not %.17g", i, v[i], want[i]);
	tw_dataset_release(&d);
	tw_prom_free(p);
}

#define EXPECT(series, args, column, ...)                     \
	expect_column(series, TW_COUNT(series), args, column, \
		      (const double[]){ __VA_ARGS__ },        \
		      TW_COUNT(((const double[]){ __VA_ARGS__ })))

/* CPU time of two containers. b began after 100: it counts from 0. */
#define A_MS "100,0 103,3000 106,9000"
#define B_MS "103,6000 106,12000"

static void node_level_is_the_sum_over_containers(void **state)
{
	static const struct sampled series[] = {
		{ CPU_MS, ID("a"), A_MS },
		{ CPU_MS, ID("b"), B_MS },
		{ HITS, ID("a"), "100,0 103,0 106,3" },
		{ PLATFORM, ACPI, "100,0 103,30 106,90" },
	};
	const struct tw_extract_args args = make_args("acpi");

	(void)state;
	EXPECT(series, &args, "bpf_cpu_time_ms", 3000, 4000);
}

static void the_old_metric_of_cpu_time_is_in_milliseconds(void **state)
{
	static const struct sampled series[] = {
		{ CPU_US, ID("a"), A_MS },
		{ CPU_US, ID("b"), B_MS },
		{ HITS, ID("a"), "100,0 103,0 106,3" },
		{ PLATFORM, ACPI, "100,0 103,30 106,90" },
	};
	const struct tw_extract_args args = make_args("acpi");

	(void)state;
	EXPECT(series, &args, "bpf_cpu_time_ms", 3000, 4000);
}

static void every_generation_of_rapl_is_rapl_sysfs(void **state)
{
	static const char *const labels[] = { "'source':'rapl'", "'source':'intel_rapl'",
					      "'source':'rapl-sysfs'" };
	const struct tw_extract_args args = make_args("rapl-sysfs");

	(void)state;
	for (size_t i = 0; i < TW_COUNT(labels); i++) {
		const struct sampled series[] = {
			{ CPU_MS, ID("a"), A_MS },
			{ CPU_MS, ID("b"), B_MS },
			{ HITS, ID("a"), "100,0 103,0 106,3" },
			{ "kepler_node_package_joules_total", labels[i],
			  "100,0 103,0 106,0" },
			{ "kepler_node_core_joules_total", labels[i],
			  "100,0 103,30 106,90" },
			{ "kepler_node_uncore_joules_total", labels[i],
			  "100,0 103,60 106,180" },
			{ "kepler_node_dram_joules_total", labels[i],
			  "100,0 103,90 106,270" },
		};
		struct tw_prom *p = sampled_response(series, TW_COUNT(series));

		assert_true(tw_extract_has_source(p, args.source));
		assert_false(tw_extract_has_source(p, tw_energy_source_find("rapl-msr")));
		assert_false(tw_extract_has_source(p, tw_energy_source_find("acpi")));
		tw_prom_free(p);
		EXPECT(series, &args, "dram_power", 30, 60);
	}
}

static void a_response_has_a_group_if_it_has_all_its_features(void **state)
{
	static const struct sampled series[] = {
		{ CPU_US, ID("a"), A_MS },
		{ CPU_US, ID("b"), B_MS },
		{ HITS, ID("a"), "100,0 103,0 106,3" },
	};
	struct tw_prom *p = sampled_response(series, TW_COUNT(series));

	(void)state;
	assert_true(tw_extract_has_group(p, tw_feature_group_find("BPFOnly")));
	assert_false(tw_extract_has_group(p, tw_feature_group_find("BPFIRQ")));
	assert_false(tw_extract_has_group(p, tw_feature_group_find("AcceleratorOnly")));
	tw_prom_free(p);
}

/* The query was faster than the scrapes: two of seven samples repeat the one before. */
static void repeats_are_those_of_the_rows_in_the_spans(void **state)
{
#define SAMPLES(unit)                                                              \
	"100,0 103,3" unit " 104,3" unit " 106,6" unit " 109,9" unit " 110,9" unit \
	" 112,12" unit
	static const struct sampled series[] = {
		{ CPU_MS, ID("a"), SAMPLES("000") },
		{ HITS, ID("a"), SAMPLES("") },
		{ PLATFORM, ACPI, SAMPLES("0") },
	};
	static const struct tw_time_span span = { 106000, 120000 };
	struct tw_prom *p = sampled_response(series, TW_COUNT(series));
	struct tw_extract_args args = make_args("acpi");

	(void)state;
	for (size_t spans = 0; spans < 2; spans++) {
		struct tw_quality q = { 0 };
		struct tw_dataset d = { 0 };
		struct tw_err err = { 0 };

		args.quality = &q;
		args.span = spans > 0 ? &span : NULL;
		args.spans = spans;
		if (tw_extract(p, &args, &d, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(d.rows, spans > 0 ? 2 : 4);
		assert_int_equal(q.repeats, spans > 0 ? 1 : 2);
		tw_quality_release(&q);
		tw_dataset_release(&d);
	}
	tw_prom_free(p);
}

static void resets_are_carried_where_asked_for(void **state)
{
	static const struct sampled series[] = {
		{ CPU_MS, ID("a"), "100,0 103,3000 106,60 109,3060" },
		{ HITS, ID("a"), "100,0 103,0 106,3 109,3" },
		{ PLATFORM, ACPI, "100,0 103,30 106,90 109,5" },
	};
	struct tw_prom *p = sampled_response(series, TW_COUNT(series));
	struct tw_extract_args args = make_args("acpi");
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	args.resets = TW_RESETS_REFUSE;
	assert_int_equal(tw_extract(p, &args, &d, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_non_null(strstr(err.text, "counter falls from 3000 to 60 at time 106"));
	tw_prom_free(p);

	args.resets = TW_RESETS_DROP;
	EXPECT(series, &args, "bpf_cpu_time_ms", 1000);
	EXPECT(series, &args, "platform_power", 10);
	args.resets = TW_RESETS_CARRY;
	EXPECT(series, &args, "bpf_cpu_time_ms", 1000, 1000, 1000);
	EXPECT(series, &args, "platform_power", 10, 20, 20);
}

/* The fall of one package's counter is hidden by the growth of the other one's. */
static void where_energy_falls_its_power_is_not_known(void **state)
{
	static const struct sampled series[] = {
		{ CPU_MS, ID("a"), "100,0 103,3000 106,6000 109,9000" },
		{ HITS, ID("a"), "100,0 103,0 106,3 109,3" },
		{ PLATFORM, "'source':'acpi','package':'0'",
		  "100,0 103,30 106,5 109,35" },
		{ PLATFORM, "'source':'acpi','package':'1'",
		  "100,0 103,30 106,90 109,120" },
	};
	struct tw_extract_args args = make_args("acpi");

	(void)state;
	EXPECT(series, &args, "platform_power", 20, 20);
	args.resets = TW_RESETS_CARRY;
	EXPECT(series, &args, "platform_power", 20, 35.0 / 3, 20);
}

/* A restart gave the exporter another pod's name. */
static void where_the_next_series_counts_from_zero_its_power_is_not_known(void **state)
{
	static const struct sampled series[] = {
		{ CPU_MS, ID("a"), "100,0 103,3000 106,6000 109,9000" },
		{ HITS, ID("a"), "100,0 103,0 106,3 109,3" },
		{ PLATFORM, "'source':'acpi','pod':'a'", "100,50 103,80" },
		{ PLATFORM, "'source':'acpi','pod':'b'", "106,5 109,65" },
	};
	struct tw_extract_args args = make_args("acpi");

	(void)state;
	EXPECT(series, &args, "platform_power", 10, 20);
	args.resets = TW_RESETS_CARRY;
	EXPECT(series, &args, "platform_power", 10, 10, 20);
}

/* At 106 the dynamic part is missing. */
static const struct sampled with_a_gap[] = {
	{ CPU_MS, ID("a"), "100,0 103,3 106,6 109,9 112,12" },
	{ HITS, ID("a"), "100,0 103,0 106,3 109,6 112,9" },
	{ PLATFORM, ACPI, "100,0 103,30 109,90 112,120" },
	{ PLATFORM, "'source':'acpi','mode':'idle'",
	  "100,0 103,60 106,120 109,180 112,240" },
};

static void each_power_difference_has_its_own_step(void **state)
{
	const struct tw_extract_args args = make_args("acpi");

	(void)state;
	/* At 106 there is no total. 103 to 109: (270 - 90) / 6. */
	EXPECT(with_a_gap, &args, "platform_power", 30, 30, 30);
}

static void compatible_power_uses_the_mean_step_and_incomplete_sums(void **state)
{
	struct tw_extract_args args = make_args("acpi");

	(void)state;
	args.compat = TW_COMPAT_KMS;
	/* Totals 0, 90, 120, 270, 360; the mean step is 3 s. */
	EXPECT(with_a_gap, &args, "platform_power", 30, 10, 50, 30);
}

static void series_of_a_vm_are_extracted_only_on_request(void **state)
{
	static const struct sampled series[] = {
		{ CPU_MS, ID("a") ",'instance':'host'", "100,0 103,3 106,6" },
		{ CPU_MS, ID("a") ",'job':'vm','instance':'vm'",
		  "100,0 103,300 106,900" },
		{ HITS, ID("a") ",'instance':'host'", "100,0 103,0 106,3" },
		{ HITS, ID("a") ",'job':'vm','instance':'vm'", "100,0 103,30 106,90" },
		{ PLATFORM, ACPI ",'instance':'host'", "100,0 103,30 106,90" },
	};
	struct tw_extract_args args = make_args("acpi");

	(void)state;
	EXPECT(series, &args, "bpf_cpu_time_ms", 1, 1);
	args.vm_metrics = true;
	EXPECT(series, &args, "bpf_cpu_time_ms", 100, 200);
}

static void counters_of_two_vms_are_refused(void **state)
{
	static const struct sampled series[] = {
		{ CPU_MS, ID("a") ",'job':'vm','instance':'vm1'", "100,0 103,300" },
		{ CPU_MS, ID("b") ",'job':'vm','instance':'vm2'", "100,0 103,300" },
		{ HITS, ID("a") ",'job':'vm','instance':'vm1'", "100,0 103,30" },
		{ PLATFORM, ACPI ",'instance':'host'", "100,0 103,30" },
	};
	struct tw_extract_args args = make_args("acpi");
	struct tw_prom *p = sampled_response(series, TW_COUNT(series));
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	args.vm_metrics = true;
	assert_int_equal(tw_extract(p, &args, &d, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_string_equal(err.text, "the response has several machines (instance 'vm1' "
				      "and 'vm2'): name one with --machine");
	tw_prom_free(p);
}

/* The series of the old pod overlap those of the new pod for a while, unchanged. */
static void series_of_two_exporter_pods_are_one_counter(void **state)
{
	static const struct sampled series[] = {
		{ CPU_MS, ID("a") ",'pod':'x'", "100,0 103,30 106,30" },
		{ CPU_MS, ID("a") ",'pod':'y'", "106,6 109,36" },
		{ HITS, ID("a"), "100,0 103,0 106,3 109,6" },
		{ PLATFORM, ACPI, "100,0 103,30 106,90 109,120" },
	};
	struct tw_extract_args args = make_args("acpi");

	(void)state;
	/* The old pod's last sample is repeated beside the new pod's first one. The
	 * counter falls with the exporter. */
	EXPECT(series, &args, "bpf_cpu_time_ms", 10, 10);
	args.resets = TW_RESETS_CARRY;
	EXPECT(series, &args, "bpf_cpu_time_ms", 10, 10, 10);
}

/* Milliseconds of CPU, and joules of the platform; -1: no sample at that time. */
static void sample_sums_are_of_each_metric_at_each_time(void **state)
{
	static const struct sampled series[] = {
		{ CPU_MS, ID("a"), "100,5 103,30 106,30" },
		{ CPU_MS, ID("b"), "103,7" },
		{ CPU_MS, ID("c") ",'job':'vm'", "100,1 103,1 106,1" },
		{ HITS, ID("a"), "100,0 103,0 106,3" },
		{ PLATFORM, ACPI, "103,30 106,90" },
	};
	static const double cpu[] = { 5, 37, 30 }, joules[] = { -1, 30, 90 };
	const struct tw_extract_args args = make_args("acpi");
	struct tw_prom *p = sampled_response(series, TW_COUNT(series));
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	if (tw_sample_sums(p, &args, &d, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(d.rows, 3);
	for (size_t i = 0; i < d.rows; i++) {
		const double j = tw_dataset_find(&d, "platform_joules")[i];

		assert_int_equal(d.time_ms[i], 100000 + 3000 * i);
		assert_true(tw_dataset_find(&d, "bpf_cpu_time_ms")[i] == cpu[i]);
		assert_true(joules[i] < 0 ? isnan(j) : j == joules[i]);
	}
	tw_dataset_release(&d);
	tw_prom_free(p);
}

#define TICKS 40

/* Samples of 40 ticks: `per_tick` more at each, without those from 5 to before `back`. */
static const char *make_absent(char text[32 * TICKS], int per_tick, int back, bool loses)
{
	size_t at = 0;

	for (int i = 0; i < TICKS; i++)
		if (i < 5 || i >= back)
			at += (size_t)sprintf(
				text + at, "%d,%d ", 100 + 3 * i,
				per_tick * (loses && i >= back ? i - (back - 5) : i));
	return text;
}

/* The growth of a meter that lost the energy of its absence is not its power. */
static void a_meter_that_was_absent_for_long_has_no_row_of_it(void **state)
{
	static const struct {
		int power_back, features_back;
		bool loses;
		size_t rows;
	} cases[] = {
		{ 30, 5, true, 4 + 9 },
		{ 23, 5, false, 4 + 1 + 16 },
		/* The exporter was not read. */
		{ 30, 30, false, 4 + 1 + 9 },
	};
	const struct tw_extract_args args = make_args("acpi");
	double watts[TICKS];

	(void)state;
	for (size_t i = 0; i < TICKS; i++)
		watts[i] = 10;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const int back = cases[i].features_back;
		char cpu[32 * TICKS], hits[32 * TICKS], joules[32 * TICKS];
		const struct sampled series[] = {
			{ CPU_MS, ID("a"), make_absent(cpu, 3000, back, false) },
			{ HITS, ID("a"), make_absent(hits, 3, back, false) },
			{ PLATFORM, ACPI,
			  make_absent(joules, 30, cases[i].power_back, cases[i].loses) },
		};

		expect_column(series, TW_COUNT(series), &args, "platform_power", watts,
			      cases[i].rows);
	}
}

static void every_failed_allocation_is_reported(void **state)
{
	struct tw_extract_args args = make_args("acpi");
	struct tw_prom *p = sampled_response(with_a_gap, TW_COUNT(with_a_gap));

	(void)state;
	args.level = TW_ROWS_CONTAINER;
	for (int n = 1;; n++) {
		struct tw_dataset d = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_extract(p, &args, &d, &err);
		tw_dataset_release(&d);
		if (rc == 0) {
			rc = tw_sample_sums(p, &args, &d, &err);
			tw_dataset_release(&d);
		}
		if (!fail_alloc_told(rc, &err)) {
			assert_true(n > 20);
			break;
		}
	}
	tw_prom_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(node_level_is_the_sum_over_containers),
		cmocka_unit_test(the_old_metric_of_cpu_time_is_in_milliseconds),
		cmocka_unit_test(every_generation_of_rapl_is_rapl_sysfs),
		cmocka_unit_test(a_response_has_a_group_if_it_has_all_its_features),
		cmocka_unit_test(repeats_are_those_of_the_rows_in_the_spans),
		cmocka_unit_test(resets_are_carried_where_asked_for),
		cmocka_unit_test(where_energy_falls_its_power_is_not_known),
		cmocka_unit_test(
			where_the_next_series_counts_from_zero_its_power_is_not_known),
		cmocka_unit_test(each_power_difference_has_its_own_step),
		cmocka_unit_test(compatible_power_uses_the_mean_step_and_incomplete_sums),
		cmocka_unit_test(series_of_a_vm_are_extracted_only_on_request),
		cmocka_unit_test(counters_of_two_vms_are_refused),
		cmocka_unit_test(series_of_two_exporter_pods_are_one_counter),
		cmocka_unit_test(sample_sums_are_of_each_metric_at_each_time),
		cmocka_unit_test(a_meter_that_was_absent_for_long_has_no_row_of_it),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("extract", tests, NULL, NULL);
}
