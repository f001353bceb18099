/* SPDX-License-Identifier: Apache-2.0 */
/* See also tests/cases/prom (run by test_prom) and test_golden. */
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "trainer/extract/extract.h"
#include "trainer/extract/prom.h"
#include "trainer/extract/sample_sums.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Builds a response. Values are at times 100, 103, ..; a negative value is a gap. */
struct response {
	struct tw_buf text;
	const char *metric; /* whose list is open */
};

static void add_series(struct response *r, const char *metric, const char *labels,
		       const int *value, size_t count)
{
	const char *comma = "";

	if (r->metric == NULL || strcmp(r->metric, metric) != 0)
		tw_buf_addf(&r->text, "%s\"%s\":[", r->metric == NULL ? "{" : "],",
			    metric);
	else
		tw_buf_adds(&r->text, ",");
	r->metric = metric;
	tw_buf_addf(&r->text, "{\"metric\":{%s},\"values\":[", labels);
	for (size_t i = 0; i < count; i++) {
		if (value[i] < 0)
			continue;
		tw_buf_addf(&r->text, "%s[%zu,\"%d\"]", comma, 100 + 3 * i, value[i]);
		comma = ",";
	}
	tw_buf_adds(&r->text, "]}");
}

static struct tw_prom *end_response(struct response *r)
{
	struct tw_prom *p = NULL;
	struct tw_err err = { 0 };

	tw_buf_adds(&r->text, "]}");
	if (tw_prom_parse(r->text.data, r->text.len, &p, &err) < 0)
		fail_msg("%s", err.text);
	tw_buf_clear(&r->text);
	return p;
}

#define ADD(r, metric, labels, ...)                                 \
	add_series(r, metric, labels, (const int[]){ __VA_ARGS__ }, \
		   sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

#define CPU_MS "kepler_container_bpf_cpu_time_ms_total"
#define CPU_US "kepler_container_bpf_cpu_time_us_total"
#define HITS "kepler_container_bpf_page_cache_hit_total"
#define PLATFORM "kepler_node_platform_joules_total"
#define ACPI "\"source\":\"acpi\",\"mode\":\"dynamic\""

static struct tw_extract_args make_args(const char *source)
{
	const struct tw_extract_args args = {
		.source = tw_energy_source_find(source),
		.group = tw_feature_group_find("BPFOnly"),
		.level = TW_LEVEL_NODE,
	};

	return args;
}

/* Extract, and compare a column's values. Frees p. */
static void expect_column(struct tw_prom *p, const struct tw_extract_args *args,
			  const char *column, const double *want, size_t count)
{
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };
	const double *v;

	if (tw_extract(p, args, &d, &err) < 0)
		fail_msg("%s", err.text);
	v = tw_dataset_find(&d, column);
	assert_non_null(v);
	assert_int_equal(d.rows, count);
	for (size_t i = 0; i < count; i++)
		if (fabs(v[i] - want[i]) > 1e-12 * fabs(want[i]))
			fail_msg("row %zu is %.17g, not %.17g", i, v[i], want[i]);
	tw_dataset_release(&d);
	tw_prom_free(p);
}

#define EXPECT(p, args, column, ...)                                    \
	expect_column(p, args, column, (const double[]){ __VA_ARGS__ }, \
		      sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double))

static void add_two_containers(struct response *r, const char *cpu)
{
	ADD(r, cpu, "\"container_id\":\"a\"", 0, 3000, 9000);
	ADD(r, cpu, "\"container_id\":\"b\"", -1, 6000, 12000);
	ADD(r, HITS, "\"container_id\":\"a\"", 0, 0, 3);
}

static void node_level_is_the_sum_over_containers(void **state)
{
	const struct tw_extract_args args = make_args("acpi");
	struct response r = { 0 };

	(void)state;
	add_two_containers(&r, CPU_MS);
	ADD(&r, PLATFORM, ACPI, 0, 30, 90);
	/* b began after 100: it counts from 0. */
	EXPECT(end_response(&r), &args, "bpf_cpu_time_ms", 3000, 4000);
}

static void the_old_metric_of_cpu_time_is_in_milliseconds(void **state)
{
	const struct tw_extract_args args = make_args("acpi");
	struct response r = { 0 };

	(void)state;
	add_two_containers(&r, CPU_US);
	ADD(&r, PLATFORM, ACPI, 0, 30, 90);
	EXPECT(end_response(&r), &args, "bpf_cpu_time_ms", 3000, 4000);
}

static void every_generation_of_rapl_is_rapl_sysfs(void **state)
{
	static const char *const labels[] = { "rapl", "intel_rapl", "rapl-sysfs" };
	static const char *const metrics[] = { "kepler_node_package_joules_total",
					       "kepler_node_core_joules_total",
					       "kepler_node_uncore_joules_total",
					       "kepler_node_dram_joules_total" };
	const struct tw_extract_args args = make_args("rapl-sysfs");

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct response r = { 0 };
		struct tw_prom *p;
		char source[64];

		snprintf(source, sizeof(source), "\"source\":\"%s\"", labels[i]);
		add_two_containers(&r, CPU_MS);
		for (int k = 0; k < 4; k++)
			ADD(&r, metrics[k], source, 0, 30 * k, 90 * k);
		p = end_response(&r);
		assert_true(tw_extract_has_source(p, args.source));
		assert_false(tw_extract_has_source(p, tw_energy_source_find("rapl-msr")));
		assert_false(tw_extract_has_source(p, tw_energy_source_find("acpi")));
		EXPECT(p, &args, "dram_power", 30, 60);
	}
}

static void a_response_has_a_group_if_it_has_all_its_features(void **state)
{
	struct response r = { 0 };
	struct tw_prom *p;

	(void)state;
	add_two_containers(&r, CPU_US);
	p = end_response(&r);
	assert_true(tw_extract_has_group(p, tw_feature_group_find("BPFOnly")));
	assert_false(tw_extract_has_group(p, tw_feature_group_find("BPFIRQ")));
	assert_false(tw_extract_has_group(p, tw_feature_group_find("AcceleratorOnly")));
	tw_prom_free(p);
}

static struct tw_prom *response_with_resets(void)
{
	struct response r = { 0 };

	ADD(&r, CPU_MS, "\"container_id\":\"a\"", 0, 3000, 60, 3060);
	ADD(&r, HITS, "\"container_id\":\"a\"", 0, 0, 3, 3);
	ADD(&r, PLATFORM, ACPI, 0, 30, 90, 5);
	return end_response(&r);
}

static void resets_are_carried_where_asked_for(void **state)
{
	struct tw_extract_args args = make_args("acpi");
	struct tw_prom *p = response_with_resets();
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_extract(p, &args, &d, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_non_null(strstr(err.text, "counter falls from 90 to 5 at time 109"));
	tw_prom_free(p);

	args.resets = TW_RESETS_CARRY;
	EXPECT(response_with_resets(), &args, "bpf_cpu_time_ms", 1000, 1000, 1000);
	EXPECT(response_with_resets(), &args, "platform_power", 10, 20, 20);
}

static struct tw_prom *response_with_a_gap(void)
{
	struct response r = { 0 };

	ADD(&r, CPU_MS, "\"container_id\":\"a\"", 0, 3, 6, 9, 12);
	ADD(&r, HITS, "\"container_id\":\"a\"", 0, 0, 3, 6, 9);
	ADD(&r, PLATFORM, ACPI, 0, 30, -1, 90, 120);
	ADD(&r, PLATFORM, "\"source\":\"acpi\",\"mode\":\"idle\"", 0, 60, 120, 180, 240);
	return end_response(&r);
}

static void each_power_difference_has_its_own_step(void **state)
{
	const struct tw_extract_args args = make_args("acpi");

	(void)state;
	/* 106 lacks the dynamic part: no total. 103 to 109: (270 - 90) / 6. */
	EXPECT(response_with_a_gap(), &args, "platform_power", 30, 30, 30);
}

static void compatible_power_uses_the_mean_step_and_incomplete_sums(void **state)
{
	struct tw_extract_args args = make_args("acpi");

	(void)state;
	args.compat = TW_COMPAT_KMS;
	/* Totals 0, 90, 120, 270, 360; the mean step is 3 s. */
	EXPECT(response_with_a_gap(), &args, "platform_power", 30, 10, 50, 30);
}

static struct tw_prom *response_of_host_and_vm(void)
{
	struct response r = { 0 };

	ADD(&r, CPU_MS, "\"container_id\":\"a\",\"instance\":\"host\"", 0, 3, 6);
	ADD(&r, CPU_MS, "\"container_id\":\"a\",\"job\":\"vm\",\"instance\":\"vm\"", 0,
	    300, 900);
	ADD(&r, HITS, "\"container_id\":\"a\",\"instance\":\"host\"", 0, 0, 3);
	ADD(&r, HITS, "\"container_id\":\"a\",\"job\":\"vm\",\"instance\":\"vm\"", 0, 30,
	    90);
	ADD(&r, PLATFORM, ACPI ",\"instance\":\"host\"", 0, 30, 90);
	return end_response(&r);
}

static void series_of_a_vm_are_extracted_only_on_request(void **state)
{
	struct tw_extract_args args = make_args("acpi");

	(void)state;
	EXPECT(response_of_host_and_vm(), &args, "bpf_cpu_time_ms", 1, 1);
	args.vm_metrics = true;
	EXPECT(response_of_host_and_vm(), &args, "bpf_cpu_time_ms", 100, 200);
}

/* The series of the old pod overlap those of the new pod for a while, unchanged. */
static void series_of_two_exporter_pods_are_one_counter(void **state)
{
	const struct tw_extract_args args = make_args("acpi");
	struct response r = { 0 };

	(void)state;
	ADD(&r, CPU_MS, "\"container_id\":\"a\",\"pod\":\"x\"", 0, 30, 30, -1);
	ADD(&r, CPU_MS, "\"container_id\":\"a\",\"pod\":\"y\"", -1, -1, 6, 36);
	ADD(&r, HITS, "\"container_id\":\"a\"", 0, 0, 3, 6);
	ADD(&r, PLATFORM, ACPI, 0, 30, 90, 120);
	/* The new pod's series counts from 0. */
	EXPECT(end_response(&r), &args, "bpf_cpu_time_ms", 10, 2, 10);
}

/* Milliseconds of CPU, and joules of the platform; -1: no sample at that time. */
static void sample_sums_are_of_each_metric_at_each_time(void **state)
{
	const struct tw_extract_args args = make_args("acpi");
	static const double cpu[] = { 5, 37, 30 }, joules[] = { -1, 30, 90 };
	struct response r = { 0 };
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };
	struct tw_prom *p;

	(void)state;
	ADD(&r, CPU_MS, "\"container_id\":\"a\"", 5, 30, 30);
	ADD(&r, CPU_MS, "\"container_id\":\"b\"", -1, 7, -1);
	ADD(&r, CPU_MS, "\"container_id\":\"c\",\"job\":\"vm\"", 1, 1, 1);
	ADD(&r, HITS, "\"container_id\":\"a\"", 0, 0, 3);
	ADD(&r, PLATFORM, ACPI, -1, 30, 90);
	p = end_response(&r);
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

/* Samples of 40 ticks: `per_tick` more at each, none from 5 to before `back`. */
static void add_absent(struct response *r, const char *metric, const char *labels,
		       int per_tick, int back, bool loses)
{
	int value[40];

	for (int i = 0; i < 40; i++)
		value[i] = i >= 5 && i < back ? -1 : per_tick * i;
	for (int i = back; loses && i < 40; i++)
		value[i] -= per_tick * (back - 5);
	add_series(r, metric, labels, value, 40);
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
	double watts[40];

	(void)state;
	for (size_t i = 0; i < 40; i++)
		watts[i] = 10;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const int back = cases[i].features_back;
		struct response r = { 0 };

		add_absent(&r, CPU_MS, "\"container_id\":\"a\"", 3000, back, false);
		add_absent(&r, HITS, "\"container_id\":\"a\"", 3, back, false);
		add_absent(&r, PLATFORM, ACPI, 30, cases[i].power_back, cases[i].loses);
		expect_column(end_response(&r), &args, "platform_power", watts,
			      cases[i].rows);
	}
}

static void every_failed_allocation_is_reported(void **state)
{
	struct tw_extract_args args = make_args("acpi");
	struct tw_prom *p = response_with_a_gap();

	(void)state;
	args.level = TW_LEVEL_CONTAINER;
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
		cmocka_unit_test(resets_are_carried_where_asked_for),
		cmocka_unit_test(each_power_difference_has_its_own_step),
		cmocka_unit_test(compatible_power_uses_the_mean_step_and_incomplete_sums),
		cmocka_unit_test(series_of_a_vm_are_extracted_only_on_request),
		cmocka_unit_test(series_of_two_exporter_pods_are_one_counter),
		cmocka_unit_test(sample_sums_are_of_each_metric_at_each_time),
		cmocka_unit_test(a_meter_that_was_absent_for_long_has_no_row_of_it),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("extract", tests, NULL, NULL);
}
