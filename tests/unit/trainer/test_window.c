/* SPDX-License-Identifier: Apache-2.0 */
/* Which segments are alike, which cover the machine, and what a segment is. */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/field/feature.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/sampled.h"
#include "trainer/online/window.h"
#include "trainer/response/prom.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SEGMENTS 12
#define DIMENSIONS 3

/* Features, and means of as many. Held out: 'h' in `held`, else '-'. */
struct given {
	const char *held;
	size_t count;
	const char *feature[MAX_SEGMENTS]; /* letters of features below */
	double mean[MAX_SEGMENTS][DIMENSIONS];
	size_t surplus;
};

static const char *const names[] = { ['t'] = "bpf_cpu_time_ms",
				     ['n'] = "node_cpu_nice_ms",
				     ['c'] = "cpu_cycles",
				     ['m'] = "cache_miss" };

static void add(struct tw_segments *w, const char *features, const double *mean,
		bool held)
{
	struct tw_segment g = { .from_ms = 1000 * (int64_t)w->count,
				.to_ms = 1000 * (int64_t)w->count + 1000,
				.rows = 10,
				.held = held,
				.features = strlen(features) };
	struct tw_err err = { 0 };

	for (size_t i = 0; i < g.features; i++) {
		g.feature[i] = tw_feature_find(names[(unsigned char)features[i]]);
		g.mean[i] = mean[i];
	}
	assert_int_equal(tw_segments_add(w, &g, &err), 0);
}

static void make_window(const struct given *c, struct tw_segments *w)
{
	for (size_t i = 0; i < c->count; i++)
		add(w, c->feature[i], c->mean[i], c->held[i] == 'h');
}

static const struct given likes[] = {
	/* Each feature by its largest, whatever its unit: cycles are no more than others.
	 */
	{ "---",
	  3,
	  { "mct", "mct", "mct" },
	  { { 7, 1.001e9, 0.5 }, { 7, 1e9, 0.1 }, { 7, 0.5e9, 0.1 } },
	  1 },
	/* A feature that is always 0. */
	{ "---", 3, { "tc", "tc", "tc" }, { { 1, 0 }, { 5, 0 }, { 5.1, 0 } }, 1 },
	/* All features count. */
	{ "---", 3, { "tc", "tc", "tc" }, { { 1, 5 }, { 9, 5 }, { 9.1, 6 } }, 1 },
	/* The largest may be the first. */
	{ "-----",
	  5,
	  { "tcm", "tcm", "tcm", "tcm", "tcm" },
	  { { 1000, 1, 1 }, { 20, 1, 1 }, { 10, 1, 0 }, { 20, .95, 1 }, { 20, 1, 0 } },
	  2 },
	{ "----", 4, { "t", "t", "t", "t" }, { { 5 }, { 9 }, { 5.1 }, { 8.5 } }, 0 },
	/* or a later one. */
	{ "----",
	  4,
	  { "tc", "tc", "tc", "tc" },
	  { { 0.1, 10 }, { 0.2, 10 }, { 1, 10 }, { 1, 8.5 } },
	  0 },
	/* The last two, and of equals the oldest. */
	{ "----", 4, { "t", "t", "t", "t" }, { { 1 }, { 5 }, { 9 }, { 9.1 } }, 2 },
	{ "---", 3, { "t", "t", "t" }, { { 0 }, { 4 }, { 8 } }, 0 },
	/* Other features are apart: another one, or one more. */
	{ "---", 3, { "t", "t", "n" }, { { 3 }, { 9 }, { 5 } }, 0 },
	{ "---", 3, { "t", "t", "tc" }, { { 3 }, { 9 }, { 9, 1 } }, 0 },
	{ "---", 3, { "tc", "t", "t" }, { { 9, 1 }, { 9 }, { 3 } }, 1 },
	/* Of four one is held out: no more. */
	{ "h---", 4, { "t", "t", "t", "t" }, { { 1 }, { 5 }, { 5 }, { 9 } }, 1 },
	{ "hh--", 4, { "t", "t", "t", "t" }, { { 1 }, { 9 }, { 5 }, { 5 } }, 0 },
	/* No two are comparable: the oldest of the kind, but never the last. */
	{ "-h", 2, { "t", "t" }, { { 1 }, { 1 } }, 0 },
	{ "-h-", 3, { "t", "t", "t" }, { { 1 }, { 1 }, { 1 } }, 1 },
	{ "hh-", 3, { "t", "n", "t" }, { { 1 }, { 1 }, { 1 } }, 0 },
	{ "h-h", 3, { "t", "t", "n" }, { { 1 }, { 1 }, { 1 } }, 0 },
};

static void of_the_two_most_alike_the_older_is_forgotten(void **state)
{
	(void)state;
	for (size_t i = 0; i < TW_COUNT(likes); i++) {
		struct tw_segments w = { 0 };
		size_t got;

		make_window(&likes[i], &w);
		got = tw_window_surplus(&w);
		if (got != likes[i].surplus)
			fail_msg("case %zu: %zu, want %zu", i, got, likes[i].surplus);
		tw_segments_release(&w);
	}
}

/* As many features as a summary has, in as many segments. */
static void segments_may_have_all_features(void **state)
{
	static const struct tw_feature any[TW_SEGMENT_FEATURES_MAX];
	struct tw_segments w = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct tw_segment g = { .rows = 10, .features = TW_SEGMENT_FEATURES_MAX };

		for (size_t f = 0; f < g.features; f++) {
			g.feature[f] = &any[f];
			g.mean[f] = i == 0 ? 1 : 5;
		}
		assert_int_equal(tw_segments_add(&w, &g, &err), 0);
	}
	assert_int_equal(tw_window_surplus(&w), 1);
	tw_segments_release(&w);
}

static void without_memory_the_oldest_of_the_kind_is_forgotten(void **state)
{
	struct tw_segments w = { 0 };

	(void)state;
	make_window(&likes[4], &w);
	w.at[1].held = w.at[2].held = true;
	fail_alloc_at(1);
	assert_int_equal(tw_window_surplus(&w), 1);
	assert_true(fail_alloc_hit());
	fail_alloc_at(1);
	assert_false(tw_window_covers(&w, 0));
	assert_true(fail_alloc_hit());
	tw_segments_release(&w);
}

/* What follows in memory is not a part of the window. */
static void a_window_ends_at_its_count(void **state)
{
	const struct tw_window_choice all = { 0 };
	struct tw_segments w = { 0 };
	struct tw_window_run run;
	size_t at = 0;

	(void)state;
	make_window(&likes[0], &w);
	w.count--;
	assert_int_equal(tw_window_rows(&w, all), 20);
	assert_true(tw_window_next_run(&w, 0, &at, &run));
	assert_int_equal(run.first, 0);
	assert_int_equal(run.last, 1);
	assert_int_equal(at, 2);
	assert_false(tw_window_next_run(&w, 0, &at, &run));
	tw_segments_release(&w);
}

/* Ranges of load; those from the place `after` on shall cover all of them. */
static const struct {
	size_t count;
	double range[MAX_SEGMENTS][2];
	size_t after;
	bool covers;
} ranges[] = {
	{ 0, { { 0 } }, 0, false },
	{ 1, { { 100, 900 } }, 0, true },
	{ 1, { { 100, 900 } }, 1, false },
	{ 2, { { 100, 900 }, { 180, 740 } }, 1, true },
	{ 2, { { 100, 900 }, { 181, 740 } }, 1, false },
	{ 2, { { 100, 900 }, { 180, 739 } }, 1, false },
	{ 2, { { 100, 900 }, { 400, 500 } }, 1, false },
	{ 3, { { 100, 900 }, { 100, 110 }, { 800, 900 } }, 1, true },
	/* One in eleven is a spike, one in ten is a state. */
	{ 11,
	  { { 0, 1000 },
	    { 400, 600 },
	    { 400, 600 },
	    { 400, 600 },
	    { 400, 600 },
	    { 400, 600 },
	    { 400, 600 },
	    { 400, 600 },
	    { 400, 600 },
	    { 400, 600 },
	    { 400, 600 } },
	  10,
	  true },
	{ 10,
	  { { 0, 600 },
	    { 400, 600 },
	    { 400, 600 },
	    { 400, 600 },
	    { 400, 600 },
	    { 400, 600 },
	    { 400, 600 },
	    { 400, 600 },
	    { 400, 600 },
	    { 400, 600 } },
	  9,
	  false },
};

static void loads_that_reach_the_ends_cover_the_machine(void **state)
{
	static const double none = 0;

	(void)state;
	for (size_t i = 0; i < TW_COUNT(ranges); i++) {
		struct tw_segments w = { 0 };

		for (size_t k = 0; k < ranges[i].count; k++) {
			add(&w, "t", &none, false);
			w.at[k].load_low = ranges[i].range[k][0];
			w.at[k].load_high = ranges[i].range[k][1];
		}
		if (tw_window_covers(&w, 1000 * (int64_t)ranges[i].after) !=
		    ranges[i].covers)
			fail_msg("case %zu", i);
		/* A segment without features tells nothing of the load. */
		add(&w, "", NULL, false);
		w.at[ranges[i].count].load_high = 99999;
		assert_int_equal(tw_window_covers(&w, 1000 * (int64_t)ranges[i].after),
				 ranges[i].covers);
		tw_segments_release(&w);
	}
}

/* ---- summaries ---- */

#define CPU "kepler_container_bpf_cpu_time_ms_total"
#define HITS "kepler_container_bpf_page_cache_hit_total"
#define CYCLES "kepler_container_cpu_cycles_total"
#define JOULES(what) "kepler_node_" what "_joules_total"
#define C "'container_id':'a'"
#define RAPL "'source':'rapl-sysfs','mode':'dynamic'"
#define ACPI "'source':'acpi','mode':'dynamic'"
#define MODEL "'source':'trained_power_model','mode':'dynamic'"

static int summarize(const struct sampled *series, size_t count, struct tw_segment *s)
{
	struct tw_prom *p = sampled_response(series, count);
	struct tw_err err = { 0 };
	const int rc = tw_segment_summarize(p, s, &err);

	if (rc < 0)
		assert_int_equal(err.code, TW_NOTFOUND);
	tw_prom_free(p);
	return rc;
}

/* assert_float_equal() takes a NAN for any number. */
static void check_near(double got, double want)
{
	assert_true(fabs(got - want) < 1e-9);
}

static void a_summary_has_means_load_and_power(void **state)
{
	static const struct sampled series[] = {
		{ CPU, C, "100,0 103,3000 106,9000 109,13500" },
		{ HITS, C, "100,0 103,30 106,60 109,180" },
		{ JOULES("core"), RAPL, "100,0 103,3 106,6 109,9" },
		{ JOULES("package"), RAPL, "100,0 103,30 106,90 109,240" },
	};
	struct tw_segment s = { .features = 9, .rows = 9, .watts = 9 };

	(void)state;
	assert_int_equal(summarize(series, TW_COUNT(series), &s), 0);
	assert_int_equal(s.rows, 3);
	assert_int_equal(s.features, 2);
	assert_string_equal(s.feature[0]->name, "bpf_cpu_time_ms");
	assert_string_equal(s.feature[1]->name, "bpf_page_cache_hit");
	check_near(s.mean[0], 1500);
	check_near(s.mean[1], 20);
	check_near(s.load_low, 1000);
	check_near(s.load_high, 2000);
	check_near(s.watts, 80.0 / 3);
}

/* Of the groups the one with most features, of the sources the first that measures. */
static void a_summary_is_of_the_group_with_most_features(void **state)
{
	static const struct sampled series[] = {
		{ CPU, C, "100,0 103,3000 106,6000" },
		{ HITS, C, "100,0 103,30 106,60" },
		{ "kepler_container_cache_miss_total", C, "100,0 103,300 106,600" },
		{ CYCLES, C, "100,0 103,9000 106,18000" },
		{ "kepler_container_cpu_instructions_total", C,
		  "100,0 103,12000 106,15000" },
		{ JOULES("platform"), ACPI, "100,0 103,300 106,600" },
		{ JOULES("package"), RAPL, "100,0 103,30 106,60" },
	};
	struct tw_segment s;

	(void)state;
	assert_int_equal(summarize(series, TW_COUNT(series), &s), 0);
	assert_int_equal(s.features, 5);
	check_near(s.watts, 100);
	/* The main feature is instructions, not the first. */
	check_near(s.load_low, 1000);
	check_near(s.load_high, 4000);
}

/* A processor of 85 W does not take 3000 W: such a row is left out, if that is known. */
static void the_design_power_bounds_a_row(void **state)
{
	static const char *const processors[] = {
		"'processor':'intel_xeon_e5_2620v3','chips':'1'",
		"'processor':'unheard of','chips':'1'"
	};
	struct sampled series[] = {
		{ CPU, C, "100,0 103,3000 106,9000 109,13500 112,15000" },
		{ HITS, C, "100,0 103,30 106,60 109,180 112,190" },
		{ JOULES("package"), RAPL, "100,0 103,30 106,9030 109,9180 112,9210" },
		{ "tallywatt_node_info", NULL, "100,1 112,1" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(processors); i++) {
		struct tw_segment s;

		series[3].labels = processors[i];
		assert_int_equal(summarize(series, TW_COUNT(series), &s), 0);
		assert_int_equal(s.rows, i == 0 ? 3 : 4);
		check_near(s.watts, i == 0 ? 70.0 / 3 : 9210.0 / 12);
	}
}

static void what_is_not_measured_has_no_summary(void **state)
{
	static const struct sampled modelled[] = {
		{ CPU, C, "100,0 103,3000 106,6000" },
		{ HITS, C, "100,0 103,30 106,60" },
		{ JOULES("package"), MODEL, "100,0 103,30 106,60" },
	};
	static const struct sampled no_work[] = {
		{ JOULES("package"), RAPL, "100,0 103,30 106,60" },
	};
	struct tw_segment s = { .features = 9, .rows = 9, .watts = 9 };

	(void)state;
	assert_int_equal(summarize(modelled, TW_COUNT(modelled), &s), -1);
	assert_int_equal(s.features, 0);
	assert_int_equal(s.rows, 0);
	assert_true(isnan(s.watts));
	assert_int_equal(summarize(no_work, TW_COUNT(no_work), &s), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_the_two_most_alike_the_older_is_forgotten),
		cmocka_unit_test(segments_may_have_all_features),
		cmocka_unit_test(without_memory_the_oldest_of_the_kind_is_forgotten),
		cmocka_unit_test(a_window_ends_at_its_count),
		cmocka_unit_test(loads_that_reach_the_ends_cover_the_machine),
		cmocka_unit_test(a_summary_has_means_load_and_power),
		cmocka_unit_test(the_design_power_bounds_a_row),
		cmocka_unit_test(a_summary_is_of_the_group_with_most_features),
		cmocka_unit_test(what_is_not_measured_has_no_summary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
