/* SPDX-License-Identifier: Apache-2.0 */
/* See also test_extract, test_packages and test_lag. */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "tests/unit/sampled.h"
#include "trainer/extract/clock.h"
#include "trainer/extract/metric_series.h"
#include "trainer/extract/package_shares.h"
#include "trainer/extract/power_series.h"
#include "trainer/response/prom.h"
#include "trainer/response/schema.h"

#include <string.h>

#define PACKAGE "kepler_node_package_joules_total"
#define DRAM "kepler_node_dram_joules_total"
#define GAUGE "kepler_platform_watts"

#define RAPL(package) "'source':'rapl-sysfs','package':'" package "'"
#define ACPI "'source':'acpi'"

static struct tw_power_series extract(const struct sampled *meter, size_t count,
				      const enum tw_component *component,
				      size_t components, enum tw_compat compat)
{
	const struct tw_extract_args args = {
		.source = tw_energy_source_find(
			strcmp(meter->metric, GAUGE) == 0 ? "acpi" : "rapl-sysfs"),
		.compat = compat,
		.resets = TW_RESETS_CARRY,
	};
	struct tw_extract_input in = { .args = &args,
				       .schema = tw_schema_of_metric(meter[0].metric) };
	const struct tw_packages packages = { .count = 0 };
	const struct tw_clock clock = { .count = 0 };
	struct tw_prom *p = sampled_response(meter, count);
	struct tw_power_series out = { 0 };
	struct tw_err err = { 0 };

	in.prom = p;
	for (; in.components < components; in.components++)
		in.power[in.components] = tw_energy_series(
			p, in.schema, component[in.components], args.source);
	if (tw_power_series_extract(&in, &packages, &clock, &out, &err) < 0)
		fail_msg("%s", err.text);
	tw_prom_free(p);
	return out;
}

/* A row: from and to in seconds, and watts of each component. */
static void expect(struct tw_power_series *p, const double (*want)[4], size_t rows)
{
	assert_int_equal(p->times, rows);
	for (size_t k = 0; k < rows; k++) {
		assert_int_equal(p->from_ms[k], want[k][0] * 1e3);
		assert_int_equal(p->time_ms[k], want[k][1] * 1e3);
		for (size_t i = 0; i < p->columns; i++)
			if (p->column[i].watts[k] != want[k][2 + i])
				fail_msg("row %zu, column %zu: %g W, not %g W", k, i,
					 p->column[i].watts[k], want[k][2 + i]);
	}
	tw_power_series_release(p);
}

static const enum tw_component package_and_dram[] = { TW_PACKAGE, TW_DRAM };

static void power_is_energy_by_the_step(void **state)
{
	static const struct sampled m = { PACKAGE, RAPL("0"),
					  "100,5 103,35 105,95 115,195" };
	struct tw_power_series p = extract(&m, 1, package_and_dram, 1, TW_COMPAT_NONE);

	(void)state;
	assert_true(p.grown_j == 190);
	assert_int_equal(p.repeats, 0);
	assert_int_equal(p.columns, 1);
	assert_int_equal(p.column[0].component, TW_PACKAGE);
	expect(&p,
	       (const double[][4]){
		       { 100, 103, 10 }, { 103, 105, 30 }, { 105, 115, 10 } },
	       3);
	/* kepler-model-server divides by the mean step, 5 s. */
	p = extract(&m, 1, package_and_dram, 1, TW_COMPAT_KMS);
	expect(&p,
	       (const double[][4]){ { 100, 103, 6 }, { 103, 105, 12 }, { 105, 115, 20 } },
	       3);
}

static void a_fall_repeats_the_power_and_its_energy_counts_from_zero(void **state)
{
	static const struct sampled m = { PACKAGE, RAPL("0"),
					  "100,60 103,90 106,12 109,15" };
	static const struct sampled first = { PACKAGE, RAPL("0"),
					      "100,60 103,30 106,60" };
	struct tw_power_series p = extract(&m, 1, package_and_dram, 1, TW_COMPAT_NONE);

	(void)state;
	assert_true(p.grown_j == 30 + 12 + 3);
	expect(&p,
	       (const double[][4]){ { 100, 103, 10 }, { 103, 106, 10 }, { 106, 109, 1 } },
	       3);
	/* Nothing is before the first step: 0 W, which is not a row. */
	p = extract(&first, 1, package_and_dram, 1, TW_COMPAT_NONE);
	expect(&p, (const double[][4]){ { 103, 106, 10 } }, 1);
}

static void packages_add_up_where_all_have_samples(void **state)
{
	static const struct sampled m[] = {
		{ PACKAGE, RAPL("0"), "100,0 103,30 106,60 109,120" },
		{ PACKAGE, RAPL("1"), "100,0 103,60 109,120" },
	};
	struct tw_power_series p = extract(m, 2, package_and_dram, 1, TW_COMPAT_NONE);

	(void)state;
	expect(&p, (const double[][4]){ { 100, 103, 30 }, { 103, 109, 25 } }, 2);
	/* kepler-model-server adds what there is: 0, 90, 60 and 240 J. */
	p = extract(m, 2, package_and_dram, 1, TW_COMPAT_KMS);
	expect(&p,
	       (const double[][4]){
		       { 100, 103, 30 }, { 103, 106, 30 }, { 106, 109, 60 } },
	       3);
}

static void components_share_their_times(void **state)
{
	static const struct sampled m[] = {
		{ PACKAGE, RAPL("0"), "100,0 103,30 106,60 109,120 112,150" },
		{ DRAM, RAPL("0"), "97,0 100,3 106,15 109,18" },
	};
	struct tw_power_series p = extract(m, 2, package_and_dram, 2, TW_COMPAT_NONE);

	(void)state;
	assert_true(p.grown_j == 120);
	expect(&p, (const double[][4]){ { 100, 106, 10, 2 }, { 106, 109, 20, 1 } }, 2);
	/* kepler-model-server joins powers, each over its own step (3, 4 s). */
	p = extract(m, 2, package_and_dram, 2, TW_COMPAT_KMS);
	expect(&p, (const double[][4]){ { 103, 106, 10, 3 }, { 106, 109, 20, 0.75 } }, 2);
}

/* A meter that repeats its reading has the energy of both steps in the next one. */
static void a_repeated_reading_is_no_row(void **state)
{
	static const struct sampled m[] = {
		{ PACKAGE, RAPL("0"),
		  "100,0 103,30 106,30 109,90 112,90 115,90 118,180" },
		{ DRAM, RAPL("0"), "100,0 103,3 106,3 109,9 112,9 115,12 118,15" },
	};
	struct tw_power_series p = extract(m, 1, package_and_dram, 1, TW_COMPAT_NONE);

	(void)state;
	assert_int_equal(p.repeats, 3);
	assert_true(p.grown_j == 150);
	expect(&p, (const double[][4]){ { 103, 109, 10 }, { 109, 118, 10 } }, 2);
	/* Dram moves at 115. */
	p = extract(m, 2, package_and_dram, 2, TW_COMPAT_NONE);
	assert_int_equal(p.repeats, 2);
	expect(&p,
	       (const double[][4]){
		       { 103, 109, 10, 1 }, { 109, 115, 0, 0.5 }, { 115, 118, 30, 1 } },
	       3);
}

/* The first sample of a meter that is slower than the samples, or the first one after a
 * gap, shows a reading of some time before. */
static void a_reading_of_an_unknown_time_bounds_no_row(void **state)
{
	static const struct sampled slow = {
		PACKAGE, RAPL("0"),
		"10,0 15,150 20,150 25,150 30,300 35,300 40,300 "
		"50,450 55,450 60,600 65,600 70,600 75,750"
	};
	/* A reading that lasts as long as usual is of its first sample. */
	static const struct sampled whole = {
		PACKAGE, RAPL("0"),
		"0,0 5,0 10,0 15,150 20,150 25,150 30,300 45,450 50,450 "
		"55,450 60,600"
	};
	static const struct sampled fast = { PACKAGE, RAPL("0"),
					     "10,0 15,50 20,100 25,150 40,300 45,350" };
	struct tw_power_series p = extract(&slow, 1, package_and_dram, 1, TW_COMPAT_NONE);

	(void)state;
	assert_true(p.grown_j == 300);
	expect(&p, (const double[][4]){ { 15, 30, 10 }, { 60, 75, 10 } }, 2);
	p = extract(&whole, 1, package_and_dram, 1, TW_COMPAT_NONE);
	assert_int_equal(p.times, 4);
	tw_power_series_release(&p);
	p = extract(&fast, 1, package_and_dram, 1, TW_COMPAT_NONE);
	assert_int_equal(p.times, 5);
	tw_power_series_release(&p);
}

/* After 30 s, or after three of its usual intervals, a meter has stopped: what it grew by
 * is in no row. */
static void a_stopped_meter_has_no_power(void **state)
{
	static const struct sampled fast = {
		PACKAGE, RAPL("0"), "0,0 5,50 10,100 25,100 40,100 41,100 45,150"
	};
	static const struct sampled short_pause = {
		PACKAGE, RAPL("0"), "0,0 5,50 10,100 25,100 40,100 45,150"
	};
	static const struct sampled slow = {
		PACKAGE, RAPL("0"),
		"0,0 20,200 40,400 60,600 90,600 120,600 121,600 140,800"
	};
	struct tw_power_series p =
		extract(&short_pause, 1, package_and_dram, 1, TW_COMPAT_NONE);

	(void)state;
	assert_int_equal(p.repeats, 2);
	expect(&p,
	       (const double[][4]){ { 0, 5, 10 }, { 5, 10, 10 }, { 10, 45, 50.0 / 35 } },
	       3);
	p = extract(&fast, 1, package_and_dram, 1, TW_COMPAT_NONE);
	assert_int_equal(p.repeats, 3);
	assert_true(p.grown_j == 100);
	expect(&p, (const double[][4]){ { 0, 5, 10 }, { 5, 10, 10 } }, 2);
	p = extract(&slow, 1, package_and_dram, 1, TW_COMPAT_NONE);
	assert_int_equal(p.repeats, 3);
	expect(&p, (const double[][4]){ { 0, 20, 10 }, { 20, 40, 10 }, { 40, 60, 10 } },
	       3);
}

static void a_gauge_has_its_power_and_no_energy(void **state)
{
	static const struct sampled m = { GAUGE, ACPI, "100,50 103,60 106,60 109,70" };
	const enum tw_component platform = TW_PLATFORM;
	struct tw_power_series p = extract(&m, 1, &platform, 1, TW_COMPAT_NONE);

	(void)state;
	assert_true(p.grown_j == 0);
	assert_int_equal(p.repeats, 0);
	expect(&p,
	       (const double[][4]){
		       { 100, 103, 60 }, { 103, 106, 60 }, { 106, 109, 70 } },
	       3);
}

/* An update that renames all counters: what both grew by in between is not known. */
static void no_row_spans_two_views(void **state)
{
	static const struct sampled m[] = {
		{ PACKAGE, RAPL("0"), "100,0 103,30 106,60" },
		{ PACKAGE, RAPL("1"), "100,0 103,60 106,120" },
		{ PACKAGE, RAPL("sum"), "109,900 112,930 115,990" },
		{ DRAM, RAPL("0"), "100,0 103,3 106,6 109,9 112,15 115,18" },
	};
	struct tw_power_series p = extract(m, 4, package_and_dram, 2, TW_COMPAT_NONE);

	(void)state;
	assert_true(p.grown_j == 180 + 90);
	expect(&p,
	       (const double[][4]){ { 100, 103, 30, 1 },
				    { 103, 106, 30, 1 },
				    { 109, 112, 10, 2 },
				    { 112, 115, 20, 1 } },
	       4);
}

static void one_sample_is_no_power(void **state)
{
	static const struct sampled m = { PACKAGE, RAPL("0"), "100,5" };
	struct tw_power_series p = extract(&m, 1, package_and_dram, 1, TW_COMPAT_NONE);

	(void)state;
	assert_true(p.grown_j == 0);
	expect(&p, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(power_is_energy_by_the_step),
		cmocka_unit_test(
			a_fall_repeats_the_power_and_its_energy_counts_from_zero),
		cmocka_unit_test(packages_add_up_where_all_have_samples),
		cmocka_unit_test(components_share_their_times),
		cmocka_unit_test(a_repeated_reading_is_no_row),
		cmocka_unit_test(a_reading_of_an_unknown_time_bounds_no_row),
		cmocka_unit_test(a_stopped_meter_has_no_power),
		cmocka_unit_test(a_gauge_has_its_power_and_no_energy),
		cmocka_unit_test(no_row_spans_two_views),
		cmocka_unit_test(one_sample_is_no_power),
	};

	return cmocka_run_group_tests_name("power_series", tests, NULL, NULL);
}
