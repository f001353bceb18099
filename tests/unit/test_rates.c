/* SPDX-License-Identifier: Apache-2.0 */
/* Rates of features, and the rows that they make. See also test_extract. */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/field/dataset.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/sampled.h"
#include "trainer/extract/extract.h"
#include "trainer/extract/prom.h"
#include "trainer/extract/quality.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CPU_MS "kepler_container_bpf_cpu_time_ms_total"
#define HITS "kepler_container_bpf_page_cache_hit_total"
#define PLATFORM "kepler_node_platform_joules_total"
#define ID(id) "'container_id':'" id "'"
#define ACPI "'source':'acpi','mode':'dynamic'"

static struct tw_extract_args make_args(void)
{
	return (struct tw_extract_args){
		.source = tw_energy_source_find("acpi"),
		.group = tw_feature_group_find("BPFOnly"),
		.level = TW_LEVEL_NODE,
	};
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

static void expect(const struct tw_dataset *d, const char *column, const double *want,
		   size_t rows)
{
	const double *v = tw_dataset_find(d, column);

	assert_non_null(v);
	assert_int_equal(d->rows, rows);
	for (size_t k = 0; k < rows; k++)
		if (fabs(v[k] - want[k]) > 1e-9 * fabs(want[k]))
			fail_msg("%s: row %zu is %.17g, not %.17g", column, k, v[k],
				 want[k]);
}

/* Counters are sampled at other times than energy: a line joins their samples. */
static void increases_are_spread_over_the_rows_that_they_meet(void **state)
{
	static const struct sampled series[] = {
		{ CPU_MS, ID("a"), "100,0 104,4000 112,20000" },
		{ HITS, ID("a"), "100,0 100.5,8 112,8" },
		{ PLATFORM, ACPI, "100,0 103,30 106,90 112,120" },
	};
	const struct tw_extract_args args = make_args();
	struct tw_dataset d = { 0 };

	(void)state;
	extract(series, 3, &args, &d);
	expect(&d, "bpf_cpu_time_ms",
	       (const double[]){ 1000, (1 * 1000 + 2 * 2000) / 3.0, 2000 }, 3);
	expect(&d, "bpf_page_cache_hit", (const double[]){ 8 / 3.0, 0, 0 }, 3);
	expect(&d, "platform_power", (const double[]){ 10, 20, 5 }, 3);
	tw_dataset_release(&d);
}

static void an_increase_counts_in_a_row_that_it_meets_for_a_millisecond(void **state)
{
	static const struct sampled series[] = {
		{ CPU_MS, ID("a"), "100,0 103.001,3001 106,3001" },
		{ HITS, ID("a"), "100,0 103,3 106,9" },
		{ PLATFORM, ACPI, "100,0 103,30 106,90" },
	};
	const struct tw_extract_args args = make_args();
	struct tw_dataset d = { 0 };

	(void)state;
	extract(series, 3, &args, &d);
	expect(&d, "bpf_cpu_time_ms", (const double[]){ 1000, 1 / 3.0 }, 2);
	tw_dataset_release(&d);
}

/* Rows before the first and after the last sample of a feature have no rate. */
static void rows_are_those_of_power_and_features(void **state)
{
	static const struct sampled series[] = {
		{ CPU_MS, ID("a"), "103,0 106,3000 109,9000" },
		{ HITS, ID("a"), "103,0 106,3 109,3" },
		{ PLATFORM, ACPI, "97,0 100,30 103,60 106,120 109,150 112,180" },
	};
	static const struct sampled apart[] = {
		{ CPU_MS, ID("a"), "203,0 206,3000" },
		{ CPU_MS, ID("b"), "200,0 209,3000" },
		{ HITS, ID("a"), "203,0 206,3" },
		{ PLATFORM, ACPI, "97,0 100,30 103,60" },
	};
	const struct tw_extract_args args = make_args();
	struct tw_dataset d = { 0 };
	struct tw_prom *p = sampled_response(apart, 4);
	struct tw_err err = { 0 };

	(void)state;
	extract(series, 3, &args, &d);
	expect(&d, "bpf_cpu_time_ms", (const double[]){ 1000, 2000 }, 2);
	expect(&d, "platform_power", (const double[]){ 20, 10 }, 2);
	assert_int_equal(d.time_ms[0], 106000);
	tw_dataset_release(&d);
	assert_int_equal(tw_extract(p, &args, &d, &err), -1);
	assert_string_equal(err.text, "no row is left: power is known from 100 to 103, "
				      "features from 200 to 209 (seconds)");
	tw_prom_free(p);
}

/* kepler-model-server's arithmetic: the first sample has rate 0, a fall repeats. */
static void compatible_rates_are_differences_by_their_own_step(void **state)
{
	static const struct sampled series[] = {
		{ CPU_MS, ID("a"), "100,0 103,3000 106,1000 112,7000" },
		{ HITS, ID("a"), "100,6 103,6 106,12 112,12" },
		{ PLATFORM, ACPI, "100,0 103,30 106,90 112,120" },
	};
	struct tw_extract_args args = make_args();
	struct tw_dataset d = { 0 };

	(void)state;
	args.compat = TW_COMPAT_KMS;
	extract(series, 3, &args, &d);
	expect(&d, "bpf_cpu_time_ms", (const double[]){ 1000, 1000, 1000 }, 3);
	expect(&d, "bpf_page_cache_hit", (const double[]){ 0, 2, 0 }, 3);
	tw_dataset_release(&d);
}

/* The column with most falls counts: an exporter's restart is in several columns. */
static void restarts_of_the_exporter_are_counted(void **state)
{
	static const struct sampled series[] = {
		{ CPU_MS, ID("a"), "100,0 103,3000 106,100 109,3000 112,200 115,300" },
		{ CPU_MS, ID("b"), "100,0 103,3000 106,3000 109,4000 112,5000 115,6000" },
		{ HITS, ID("a"), "100,0 103,30 106,1 109,20 112,40 115,50" },
		{ PLATFORM, ACPI, "100,0 103,30 106,90 109,120 112,120 115,150" },
	};
	struct tw_quality q = { 0 };
	struct tw_extract_args args = make_args();
	struct tw_dataset d = { 0 };

	(void)state;
	args.resets = TW_RESETS_CARRY;
	args.quality = &q;
	extract(series, 4, &args, &d);
	assert_int_equal(q.restarts, 2);
	assert_int_equal(q.repeats, 1);
	assert_true(q.energy_meter_j == 150);
	assert_int_equal(q.missing.count, 0);
	tw_quality_release(&q);
	tw_dataset_release(&d);
}

/* Two of three series fall, both times. */
static void restarts_are_counted_by_time(void **state)
{
	static const struct sampled series[] = {
		{ CPU_MS, ID("a"), "100,0 103,3000 106,100 109,3000 112,200 115,300" },
		{ CPU_MS, ID("b"), "100,0 103,3000 106,200 109,4000 112,300 115,600" },
		{ CPU_MS, ID("c"), "100,0 103,0 106,0 109,0 112,0 115,0" },
		{ HITS, ID("a"), "100,0 103,30 106,30 109,30 112,40 115,50" },
		{ PLATFORM, ACPI, "100,0 103,30 106,90 109,120 112,120 115,150" },
	};
	struct tw_quality q = { 0 };
	struct tw_extract_args args = make_args();
	struct tw_dataset d = { 0 };

	(void)state;
	args.resets = TW_RESETS_CARRY;
	args.quality = &q;
	extract(series, 5, &args, &d);
	assert_int_equal(q.restarts, 2);
	tw_quality_release(&q);
	tw_dataset_release(&d);
}

/* Exporters may lack the page cache. */
static void features_that_the_exporter_lacks_are_missing(void **state)
{
	static const struct sampled series[] = {
		{ CPU_MS, ID("a"), "100,0 103,3000" },
		{ CPU_MS, ID("b"), "103,0 106,3000" },
		{ PLATFORM, ACPI, "100,0 103,30 106,90" },
	};
	struct tw_quality q = { 0 };
	struct tw_extract_args args = make_args();
	struct tw_dataset d = { 0 };

	(void)state;
	args.quality = &q;
	extract(series, 3, &args, &d);
	assert_int_equal(q.missing.count, 1);
	assert_string_equal(q.missing.at[0], "bpf_page_cache_hit");
	assert_null(tw_dataset_find(&d, "bpf_page_cache_hit"));
	expect(&d, "bpf_cpu_time_ms", (const double[]){ 1000, 1000 }, 2);
	tw_quality_release(&q);
	tw_dataset_release(&d);
	args.quality = NULL;
	/* b began at 103, and used nothing before. */
	args.level = TW_LEVEL_CONTAINER;
	extract(series, 3, &args, &d);
	expect(&d, "bpf_cpu_time_ms", (const double[]){ 1000, 0, 1000 }, 3);
	tw_dataset_release(&d);
}

#define RISE "100,10 103,11 106,12"

/* Counters of the node do not fall unless the machine restarts. */
static void a_counter_of_the_node_that_falls_is_refused(void **state)
{
	static const struct sampled series[] = {
		{ "node_context_switches_total", "", "100,10 103,2 106,4" },
		{ "node_cpu_seconds_total", "'cpu':'0','mode':'idle'", RISE },
		{ "node_cpu_seconds_total", "'cpu':'0','mode':'irq'", RISE },
		{ "node_cpu_seconds_total", "'cpu':'0','mode':'nice'", RISE },
		{ "node_cpu_seconds_total", "'cpu':'0','mode':'softirq'", RISE },
		{ "node_cpu_seconds_total", "'cpu':'0','mode':'system'", RISE },
		{ "node_cpu_seconds_total", "'cpu':'0','mode':'user'", RISE },
		{ "node_intr_total", "", RISE },
		{ "node_vmstat_pgfault", "", "100,10 103,40 106,100" },
		{ "node_rapl_package_joules_total", "'index':'0'", RISE },
	};
	struct tw_prom *p = sampled_response(series, sizeof(series) / sizeof(series[0]));
	struct tw_extract_args args = make_args();
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	args.source = tw_energy_source_find("rapl-sysfs");
	args.group = tw_feature_group_find("NodeCPU");
	assert_int_equal(tw_extract(p, &args, &d, &err), -1);
	assert_string_equal(err.text,
			    "node_context_switches_total (): counter falls from "
			    "10 to 2 at time 103; --resets carry accepts it");
	args.resets = TW_RESETS_CARRY;
	err = (struct tw_err){ 0 };
	if (tw_extract(p, &args, &d, &err) < 0)
		fail_msg("%s", err.text);
	expect(&d, "node_page_faults", (const double[]){ 10, 20 }, 2);
	tw_dataset_release(&d);
	tw_prom_free(p);
}

#define ROWS 80

/* Power follows the load by two rows; both are written as counters. */
static struct tw_prom *lagging_response(void)
{
	static char cpu[32 * (ROWS + 1)], hits[32 * (ROWS + 1)], joules[32 * (ROWS + 1)];
	const struct sampled series[] = {
		{ CPU_MS, ID("a"), cpu },
		{ HITS, ID("a"), hits },
		{ PLATFORM, ACPI, joules },
	};
	size_t at[3] = { 0 };
	double load_ms[ROWS], used_ms = 0, energy_j = 0;

	for (size_t k = 0; k <= ROWS; k++) {
		const size_t time_s = 1000 + 3 * k;

		at[0] += (size_t)sprintf(cpu + at[0], "%zu,%.15g ", time_s, used_ms);
		at[1] += (size_t)sprintf(hits + at[1], "%zu,%zu ", time_s, k);
		at[2] += (size_t)sprintf(joules + at[2], "%zu,%.15g ", time_s, energy_j);
		if (k == ROWS)
			break;
		load_ms[k] = 1000 * (double)(k / 5 * 7 % 4);
		used_ms += 3 * load_ms[k];
		energy_j += 3 * (10 + 5e-3 * load_ms[k < 2 ? 0 : k - 2]);
	}
	return sampled_response(series, 3);
}

static void power_is_moved_to_the_load_that_caused_it(void **state)
{
	struct tw_prom *p = lagging_response();
	struct tw_extract_args args = make_args();
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };
	const double *rate, *power_w;

	(void)state;
	args.correct_lag = true;
	assert_int_equal(tw_extract(p, &args, &d, &err), 0);
	assert_in_range(d.rows, ROWS - 3, ROWS - 2);
	rate = tw_dataset_find(&d, "bpf_cpu_time_ms");
	power_w = tw_dataset_find(&d, "platform_power");
	for (size_t k = 0; k < d.rows; k++)
		if (fabs(power_w[k] - (10 + 5e-3 * rate[k])) > 1e-6)
			fail_msg("row %zu: %g W at %g ms", k, power_w[k], rate[k]);
	tw_dataset_release(&d);
	args.compat = TW_COMPAT_KMS;
	assert_int_equal(tw_extract(p, &args, &d, &err), 0);
	assert_int_equal(d.rows, ROWS);
	tw_dataset_release(&d);
	tw_prom_free(p);
}

static void every_failed_allocation_is_reported(void **state)
{
	struct tw_prom *p = lagging_response();
	struct tw_extract_args args = make_args();

	(void)state;
	args.correct_lag = true;
	for (int n = 1;; n++) {
		struct tw_quality q = { 0 };
		struct tw_dataset d = { 0 };
		struct tw_err err = { 0 };
		int rc;

		args.quality = &q;
		fail_alloc_at(n);
		rc = tw_extract(p, &args, &d, &err);
		tw_dataset_release(&d);
		tw_quality_release(&q);
		if (!fail_alloc_told(rc, &err)) {
			assert_true(n > 40);
			break;
		}
	}
	tw_prom_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(increases_are_spread_over_the_rows_that_they_meet),
		cmocka_unit_test(
			an_increase_counts_in_a_row_that_it_meets_for_a_millisecond),
		cmocka_unit_test(rows_are_those_of_power_and_features),
		cmocka_unit_test(compatible_rates_are_differences_by_their_own_step),
		cmocka_unit_test(restarts_of_the_exporter_are_counted),
		cmocka_unit_test(restarts_are_counted_by_time),
		cmocka_unit_test(features_that_the_exporter_lacks_are_missing),
		cmocka_unit_test(a_counter_of_the_node_that_falls_is_refused),
		cmocka_unit_test(power_is_moved_to_the_load_that_caused_it),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("rates", tests, NULL, NULL);
}
