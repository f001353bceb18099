/* SPDX-License-Identifier: Apache-2.0 */
/* Rates of features, and the rows that they make. See also test_extract. */
#include "tests/unit/tw_test.h"

#include "lib/core/arena.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/field/dataset.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/sampled.h"
#include "trainer/extract/clock.h"
#include "trainer/extract/extract.h"
#include "trainer/extract/power_series.h"
#include "trainer/response/prom.h"
#include "trainer/extract/quality.h"
#include "trainer/extract/rates.h"

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
		.level = TW_ROWS_NODE,
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

/* Features begin within the row of 100 to 103, and end a millisecond before that of 106
 * to 109: their rates in these rows are not known for all of the row's time. */
static void a_row_that_features_meet_in_part_is_left_out(void **state)
{
	static const struct sampled series[] = {
		{ CPU_MS, ID("a"), "101,0 104,3000 107,9000 108.999,9000" },
		{ HITS, ID("a"), "101,0 104,3 107,3 108.999,3" },
		{ PLATFORM, ACPI, "97,0 100,30 103,60 106,120 109,150" },
	};
	static const struct sampled ended[] = {
		{ CPU_MS, ID("a"), "100,0 102,3000" },
		{ HITS, ID("a"), "100,0 102,3" },
		{ PLATFORM, ACPI, "100,0 103,30 106,60" },
	};
	const struct tw_extract_args args = make_args();
	struct tw_prom *p = sampled_response(ended, 3);
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	extract(series, 3, &args, &d);
	expect(&d, "bpf_cpu_time_ms", (const double[]){ (1 * 1000 + 2 * 2000) / 3.0 }, 1);
	expect(&d, "bpf_page_cache_hit", (const double[]){ 1 / 3.0 }, 1);
	assert_int_equal(d.time_ms[0], 106000);
	tw_dataset_release(&d);
	assert_int_equal(tw_extract(p, &args, &d, &err), -1);
	assert_string_equal(err.text, "no row is left: power is known from 103 to 106, "
				      "features from 100 to 102 (seconds)");
	tw_prom_free(p);
}

/* A CPU bounds the time of a process that begins, and nothing else. */
static void only_cpu_time_is_bounded_by_the_cpus(void **state)
{
	static const struct sampled series[] = {
		{ CPU_MS, ID("a"), "100,0 103,0 106,0" },
		{ HITS, ID("a"), "106,90000" },
		{ "node_cpu_seconds_total", "'cpu':'0','mode':'idle'", "100,0 106,6" },
		{ PLATFORM, ACPI, "100,0 103,30 106,60" },
	};
	const struct tw_extract_args args = make_args();
	struct tw_dataset d = { 0 };

	(void)state;
	extract(series, 4, &args, &d);
	expect(&d, "bpf_page_cache_hit", (const double[]){ 0, 30000 }, 2);
	tw_dataset_release(&d);
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
	args.level = TW_ROWS_CONTAINER;
	extract(series, 3, &args, &d);
	expect(&d, "bpf_cpu_time_ms", (const double[]){ 1000, 0, 1000 }, 3);
	tw_dataset_release(&d);
}

#define RISE "100,10 103,11 106,12"

/* Counters of the node do not fall unless the machine restarts. */
static void a_step_in_which_the_node_restarts_has_no_row(void **state)
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
	struct tw_prom *p = sampled_response(series, TW_COUNT(series));
	struct tw_extract_args args = make_args();
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	args.source = tw_energy_source_find("rapl-sysfs");
	args.group = tw_feature_group_find("NodeCPU");
	if (tw_extract(p, &args, &d, &err) < 0)
		fail_msg("%s", err.text);
	expect(&d, "node_page_faults", (const double[]){ 20 }, 1);
	tw_dataset_release(&d);
	args.resets = TW_RESETS_REFUSE;
	assert_int_equal(tw_extract(p, &args, &d, &err), -1);
	assert_string_equal(err.text,
			    "node_context_switches_total (): counter falls from "
			    "10 to 2 at time 103; --resets drop leaves that step out");
	args.resets = TW_RESETS_CARRY;
	err = (struct tw_err){ 0 };
	if (tw_extract(p, &args, &d, &err) < 0)
		fail_msg("%s", err.text);
	expect(&d, "node_page_faults", (const double[]){ 10, 20 }, 2);
	tw_dataset_release(&d);
	tw_prom_free(p);
}

/* One CPU's counter falls and two do not: that is not a restart of the exporter. */
static void a_counter_of_one_cpu_that_falls_carries_its_rate_on(void **state)
{
	static const struct sampled series[] = {
		{ "node_context_switches_total", "", RISE },
		{ "node_cpu_seconds_total", "'cpu':'0','mode':'irq'", RISE },
		{ "node_cpu_seconds_total", "'cpu':'0','mode':'nice'", RISE },
		{ "node_cpu_seconds_total", "'cpu':'0','mode':'softirq'", RISE },
		{ "node_cpu_seconds_total", "'cpu':'0','mode':'system'", RISE },
		{ "node_cpu_seconds_total", "'cpu':'0','mode':'user'",
		  "100,10 103,2 106,4" },
		{ "node_cpu_seconds_total", "'cpu':'1','mode':'user'", RISE },
		{ "node_cpu_seconds_total", "'cpu':'2','mode':'user'", RISE },
		{ "node_intr_total", "", RISE },
		{ "node_vmstat_pgfault", "", RISE },
		{ "node_rapl_package_joules_total", "'index':'0'", RISE },
	};
	struct tw_prom *p = sampled_response(series, TW_COUNT(series));
	struct tw_extract_args args = make_args();
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	args.source = tw_energy_source_find("rapl-sysfs");
	args.group = tw_feature_group_find("NodeCPU");
	args.resets = TW_RESETS_REFUSE;
	assert_int_equal(tw_extract(p, &args, &d, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_non_null(strstr(err.text, "node_cpu_seconds_total (cpu=0 mode=user): "
					 "counter falls from 10 to 2 at time 103"));
	/* As in kepler-model-server the previous rate is repeated, here 0: 2 CPUs at 1 s
	 * in 3 s; then CPU 0, too, with 2 s in 3 s. */
	args.resets = TW_RESETS_DROP;
	for (int kms = 0; kms < 2; kms++) {
		args.compat = kms ? TW_COMPAT_KMS : TW_COMPAT_NONE;
		assert_int_equal(tw_extract(p, &args, &d, &err), 0);
		expect(&d, "node_cpu_user_ms",
		       (const double[]){ 2 * 1000 / 3.0, (2 * 1000 + 2000) / 3.0 }, 2);
		tw_dataset_release(&d);
	}
	tw_dataset_release(&d);
	tw_prom_free(p);
}

/* A workload of two counters, of which the set has one: the other is not read. */
static void a_workload_ends_with_the_set(void **state)
{
	static const double ms[] = { 0, 1000 }, v[] = { 0, 5 };
	static const struct tw_schema_metric metric = { .name = "m",
							.feature = "m",
							.factor = 1 };
	const struct tw_metric_series feature[] = { { .metric = &metric },
						    { .metric = &metric } };
	const struct tw_extract_args args = make_args();
	int64_t from_ms[] = { 0 }, time_ms[] = { 1000 };
	const struct tw_power_series power = { .times = 1,
					       .from_ms = from_ms,
					       .time_ms = time_ms };
	const struct tw_clock clock = { 0 };
	double rate[2] = { NAN, NAN }, *column[] = { &rate[0], &rate[1] };
	struct tw_arena arena = { 0 };
	struct tw_series series = { 0 };
	struct tw_counter_series at[] = { { "a", 0, &series }, { NULL, 1, &series } };
	const struct tw_counter_set set = { .at = at, .count = 1 };
	struct tw_rates r = { 0 };
	struct tw_err err = { 0 };
	size_t i = 0;

	(void)state;
	at[1].key = at[0].key;
	assert_int_equal(tw_pack(ms, 2, &arena, &series.time_ms, &err), 0);
	assert_int_equal(tw_pack(v, 2, &arena, &series.value, &err), 0);
	assert_int_equal(
		tw_rates_init(&r, &power, &set, feature, NULL, &clock, &args, &err), 0);
	assert_int_equal(tw_rates_next(&r, &i, column, (const size_t[]){ 0 }, &err), 0);
	assert_int_equal(i, 1);
	assert_true(rate[0] == 5 && isnan(rate[1]));
	assert_int_equal(r.count, 1);
	tw_rates_release(&r);
	tw_arena_release(&arena);
}

/* ---- third-party metrics and those of a schema ---- */

enum { FEATURES = 3, SERIES = 4 };

/* Features 0, 1, ..: 's' of a schema, 't' third-party. The one after them is not to be
 * read; it has the kind `after`. */
static void make_features(const char *kinds, char after,
			  struct tw_metric_series out[FEATURES + 1])
{
	static const struct tw_schema_metric metric[] = {
		{ .name = "m0" }, { .name = "m1" }, { .name = "m2" }, { .name = "m3" }
	};
	const size_t count = strlen(kinds);

	for (size_t f = 0; f <= count; f++)
		out[f] = (struct tw_metric_series){
			.metric = &metric[f],
			.thirdparty = (f < count ? kinds[f] : after) == 't',
		};
}

static void third_party_metrics_need_a_workload_with_the_others(void **state)
{
	/* Counters "a0": of workload a and feature 0. lonely: the metric that is refused.
	 */
	static const struct {
		const char *kinds, *counters, *lonely;
	} cases[] = {
		{ "st", "a0 a1", NULL },
		{ "ts", "a0 a1", NULL },
		{ "tst", "a0 a1 a2", NULL },
		{ "st", "a0 b0 b1", NULL },
		{ "st", "a0 b1", "m1" },
		{ "ts", "a0 b1", "m0" },
		{ "ts", "a1 b0", "m0" },
		{ "tst", "a0 a1 b2", "m2" },
		{ "tts", "a0 a1 b2", "m0" },
		{ "st", "a0", "m1" },
		/* Nothing to go with: metrics of one kind. */
		{ "tt", "a0 b1", NULL },
		{ "t", "a0", NULL },
		{ "ss", "a0", NULL },
		{ "s", "", NULL },
	};
	static const char *const keys[] = { "a", "b" };

	(void)state;
	for (size_t n = 0; n < 2 * TW_COUNT(cases); n++) {
		const size_t i = n / 2;
		struct tw_metric_series feature[FEATURES + 1];
		struct tw_counter_series at[SERIES];
		struct tw_counter_set set = { .at = at };
		struct tw_err err = { 0 };
		int status;

		make_features(cases[i].kinds, n % 2 == 0 ? 's' : 't', feature);
		for (const char *c = cases[i].counters; *c != '\0';
		     c += c[2] != '\0' ? 3 : 2)
			at[set.count++] = (struct tw_counter_series){
				.key = keys[c[0] - 'a'], .column = (size_t)(c[1] - '0')
			};
		status = tw_thirdparty_metrics_check(feature, strlen(cases[i].kinds),
						     &set, &err);
		if (status != (cases[i].lonely == NULL ? 0 : -1))
			fail_msg("case %zu: %d", i, status);
		if (cases[i].lonely == NULL)
			continue;
		assert_int_equal(err.code, TW_INVALID);
		assert_memory_equal(err.text, "no workload has both 'm", 23);
		assert_memory_equal(err.text + 22, cases[i].lonely, 2);
	}
}

/* A row at a time: values of features "sst", and power. */
struct settled {
	int64_t time_ms;
	uint32_t id;
	double value[FEATURES + 1];
};

static void make_rows(const struct settled *row, size_t rows, struct tw_dataset *d)
{
	static const char *const name[] = { "f0", "f1", "f2", "power" };
	struct tw_err err = { 0 };

	assert_int_equal(tw_dataset_init(d, rows, true, &err), 0);
	for (size_t f = 0; f <= FEATURES; f++) {
		double *v;

		assert_int_equal(tw_dataset_add(d, name[f], &v, &err), 0);
		for (size_t r = 0; r < rows; r++)
			v[r] = row[r].value[f];
	}
	for (size_t r = 0; r < rows; r++) {
		d->time_ms[r] = row[r].time_ms;
		d->id[r] = row[r].id;
	}
}

static void expect_rows(const struct tw_dataset *d, const struct settled *row,
			size_t rows)
{
	assert_int_equal(d->rows, rows);
	for (size_t r = 0; r < rows; r++) {
		assert_int_equal(d->time_ms[r], row[r].time_ms);
		assert_int_equal(d->id[r], row[r].id);
		for (size_t f = 0; f < FEATURES; f++)
			assert_true(d->col[f].v[r] == row[r].value[f]);
	}
}

/*
 * Workload 7 has the third-party metric at 2 s and 4 s, workload 8 at 4 s: the rows of 1
 * s and 3 s go, and 8 has none of it at 2 s. Power is not a feature, and may be missing.
 */
static void rows_without_a_third_party_sample_go(void **state)
{
	static const struct settled row[] = {
		{ 1000, 7, { 1, 10, NAN, 0 } },   { 2000, 7, { 2, NAN, 200, NAN } },
		{ 2000, 8, { 3, 30, NAN, NAN } }, { 3000, 8, { 4, 40, NAN, 0 } },
		{ 4000, 7, { 5, 50, 500, NAN } }, { 4000, 8, { 6, 60, 600, NAN } },
	};
	static const struct settled want[] = {
		{ 2000, 7, { 2, 0, 200, 0 } },
		{ 2000, 8, { 3, 30, 0, 0 } },
		{ 4000, 7, { 5, 50, 500, 0 } },
		{ 4000, 8, { 6, 60, 600, 0 } },
	};
	struct tw_metric_series feature[FEATURES + 1];
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	make_features("sst", 't', feature);
	make_rows(row, TW_COUNT(row), &d);
	assert_int_equal(tw_thirdparty_metrics_settle(feature, 3, &d, &err), 0);
	expect_rows(&d, want, TW_COUNT(want));
	/* Once more changes nothing. Rows after the last one are still in memory. */
	assert_int_equal(tw_thirdparty_metrics_settle(feature, 3, &d, &err), 0);
	expect_rows(&d, want, TW_COUNT(want));
	/* A row of the time of the last that is no longer counted. */
	d.rows = 3;
	assert_int_equal(tw_thirdparty_metrics_settle(feature, 3, &d, &err), 0);
	expect_rows(&d, want, 3);
	d.rows = 0;
	assert_int_equal(tw_thirdparty_metrics_settle(feature, 3, &d, &err), 0);
	tw_dataset_release(&d);
}

static void rows_of_a_schemas_features_stay_as_they_are(void **state)
{
	static const struct settled row[] = { { 1000, 7, { 1, NAN, 3, 0 } } };
	struct tw_metric_series feature[FEATURES + 1];
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	make_features("sss", 't', feature);
	make_rows(row, 1, &d);
	assert_int_equal(tw_thirdparty_metrics_settle(feature, 3, &d, &err), 0);
	assert_int_equal(d.rows, 1);
	assert_true(isnan(d.col[1].v[0]));
	tw_dataset_release(&d);
}

static void the_metric_that_leaves_no_row_is_named(void **state)
{
	/* Values of features "stt" in rows, each at its own time. */
	static const struct {
		size_t rows;
		double value[2][FEATURES];
		const char *text;
	} cases[] = {
		{ 2,
		  { { 1, 2, NAN }, { 3, 4, NAN } },
		  "no row is left: 'm2' has no sample at the times of the other "
		  "metrics" },
		{ 2,
		  { { 1, NAN, 2 }, { 3, NAN, 4 } },
		  "no row is left: 'm1' has no sample at the times of the other "
		  "metrics" },
		{ 1,
		  { { 1, NAN, 2 } },
		  "no row is left: 'm1' has no sample at the times of the other "
		  "metrics" },
		{ 2,
		  { { NAN, 1, NAN }, { NAN, NAN, 2 } },
		  "no row is left: the third-party metrics have no sample at the same "
		  "time" },
		{ 2,
		  { { 1, NAN, 2 }, { 3, 4, NAN } },
		  "no row is left: the third-party metrics have no sample at the same "
		  "time" },
	};
	struct tw_metric_series feature[FEATURES + 1];

	(void)state;
	make_features("stt", 't', feature);
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct settled row[] = { { .time_ms = 1000 }, { .time_ms = 2000 } };
		struct tw_dataset d = { 0 };
		struct tw_err err = { 0 };

		for (size_t r = 0; r < 2; r++) {
			memcpy(row[r].value, cases[i].value[r],
			       sizeof(cases[i].value[r]));
			row[r].value[FEATURES] = NAN; /* power is not a feature */
		}
		make_rows(row, cases[i].rows, &d);
		assert_int_equal(tw_thirdparty_metrics_settle(feature, 3, &d, &err), -1);
		assert_int_equal(err.code, TW_INVALID);
		assert_string_equal(err.text, cases[i].text);
		tw_dataset_release(&d);
	}
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
		cmocka_unit_test(a_row_that_features_meet_in_part_is_left_out),
		cmocka_unit_test(only_cpu_time_is_bounded_by_the_cpus),
		cmocka_unit_test(compatible_rates_are_differences_by_their_own_step),
		cmocka_unit_test(restarts_of_the_exporter_are_counted),
		cmocka_unit_test(restarts_are_counted_by_time),
		cmocka_unit_test(features_that_the_exporter_lacks_are_missing),
		cmocka_unit_test(a_step_in_which_the_node_restarts_has_no_row),
		cmocka_unit_test(a_counter_of_one_cpu_that_falls_carries_its_rate_on),
		cmocka_unit_test(a_workload_ends_with_the_set),
		cmocka_unit_test(third_party_metrics_need_a_workload_with_the_others),
		cmocka_unit_test(rows_without_a_third_party_sample_go),
		cmocka_unit_test(rows_of_a_schemas_features_stay_as_they_are),
		cmocka_unit_test(the_metric_that_leaves_no_row_is_named),
		cmocka_unit_test(power_is_moved_to_the_load_that_caused_it),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("rates", tests, NULL, NULL);
}
