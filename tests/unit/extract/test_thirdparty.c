/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/sampled.h"
#include "trainer/extract/extract.h"
#include "trainer/response/prom.h"
#include "trainer/response/thirdparty.h"

#include <stdlib.h>
#include <string.h>

/* ---- names and groups ---- */

static int make(struct tw_thirdparty *t, const char *text, struct tw_err *err)
{
	struct tw_strs names = { 0 };
	int status = tw_strs_split(&names, text, err);

	if (status == 0)
		status = tw_thirdparty_init(t, &names, err);
	tw_strs_clear(&names);
	return status;
}

static struct tw_thirdparty must_make(const char *text)
{
	struct tw_thirdparty t = { 0 };
	struct tw_err err = { 0 };

	if (make(&t, text, &err) < 0)
		fail_msg("%s", err.text);
	return t;
}

static void names_are_added_to_each_group_in_order(void **state)
{
	struct tw_thirdparty t = must_make("disk_io_total,cpu_a,disk_io_total");
	const struct tw_feature_group *g =
		tw_thirdparty_group(&t, tw_feature_group_find("CounterOnly"));
	static const char *const want[] = { "cache_miss", "cpu_a", "cpu_cycles",
					    "cpu_instructions", "disk_io_total" };

	(void)state;
	assert_ptr_equal(tw_thirdparty_group(&t, g), g);
	assert_string_equal(g->name, "CounterOnly");
	assert_int_equal(g->count, 5);
	for (size_t i = 0; i < g->count; i++)
		assert_string_equal(g->features[i], want[i]);
	g = tw_thirdparty_group(&t, tw_feature_group_find("ThirdParty"));
	assert_int_equal(g->count, 2);
	g = tw_thirdparty_group(&t, tw_feature_group_find("NodeCPU"));
	assert_true(g->of_node);
	tw_thirdparty_release(&t);
}

static void without_names_a_group_is_itself(void **state)
{
	const struct tw_feature_group *g = tw_feature_group_find("Basic");
	struct tw_thirdparty t = must_make("");

	(void)state;
	assert_ptr_equal(tw_thirdparty_group(&t, g), g);
	assert_ptr_equal(tw_thirdparty_group(NULL, g), g);
	assert_null(tw_thirdparty_group(&t, NULL));
	tw_thirdparty_release(&t);
}

static void invalid_names_are_rejected(void **state)
{
	static const char *const bad[][2] = {
		{ "9lives", "'9lives' is not a valid metric name" },
		{ "a-b", "'a-b' is not a valid metric name" },
		{ "cpu_cycles",
		  "'cpu_cycles' is a feature; name a metric of an exporter" },
		{ "package_power", "'package_power' is a reserved column name" },
		{ "package_usage", "'package_usage' is a reserved column name" },
		{ "kepler_node_package_joules_total",
		  "'kepler_node_package_joules_total' measures power and cannot be a "
		  "feature" },
		{ "timestamp", "'timestamp' is a reserved column name" },
		{ "node_type", "'node_type' is a reserved column name" },
	};
	char text[300];

	(void)state;
	for (size_t i = 0; i < TW_COUNT(bad); i++) {
		struct tw_thirdparty t = { 0 };
		struct tw_err err = { 0 };

		assert_int_equal(make(&t, bad[i][0], &err), -1);
		assert_int_equal(err.code, TW_INVALID);
		assert_string_equal(err.text, bad[i][1]);
		assert_null(t.group);
	}
	memset(text, 'a', 128);
	text[128] = '\0';
	{
		struct tw_thirdparty t = { 0 };
		struct tw_err err = { 0 };

		assert_int_equal(make(&t, text, &err), -1);
		assert_non_null(strstr(err.text, "is longer than 127 bytes"));
	}
}

static void more_names_than_the_limit_are_rejected(void **state)
{
	struct tw_thirdparty t = { 0 };
	struct tw_err err = { 0 };
	char text[400] = "a";

	(void)state;
	for (size_t i = 0; i < TW_THIRDPARTY_MAX; i++)
		strcat(text, ",b");
	assert_int_equal(make(&t, text, &err), -1);
	assert_string_equal(err.text, "33 metrics, limit is 32");
}

static void names_without_memory_are_an_error(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		struct tw_thirdparty t = { 0 };
		struct tw_err err = { 0 };
		int status;

		fail_alloc_at(n);
		status = make(&t, "a_total,b", &err);
		if (!fail_alloc_told(status, &err)) {
			tw_thirdparty_release(&t);
			assert_true(n > 4);
			break;
		}
	}
}

/* ---- extraction ---- */

#define CPU_MS "kepler_container_bpf_cpu_time_ms_total"
#define HITS "kepler_container_bpf_page_cache_hit_total"
#define PLATFORM "kepler_node_platform_joules_total"
#define ID(c) "'container_id':'" c "'"
#define RISE "100,0 103,30 106,90 109,120"

/* A third-party metric in a response of Kepler. */
struct wanted {
	struct sampled series[3]; /* of the metric; all but the first may be empty */
	const char *name;         /* to ask for; NULL: the metric's */
	const char *group;        /* NULL: BPFOnly */
	enum tw_row_level level;
	const char *load;  /* samples of the containers' counters; NULL: RISE */
	const char *power; /* samples of energy; NULL: RISE */
	enum tw_resets resets;
};

static const char *name_of(const struct wanted *w)
{
	return w->name != NULL ? w->name : w->series[0].metric;
}

static struct tw_prom *parse(const struct wanted *w, const struct tw_strs *names)
{
	const char *load = w->load != NULL ? w->load : RISE;
	const struct sampled series[] = {
		{ CPU_MS, ID("a"), load },
		{ CPU_MS, ID("b"), load },
		{ HITS, ID("a"), load },
		{ PLATFORM, "'source':'acpi','mode':'dynamic'",
		  w->power != NULL ? w->power : RISE },
		w->series[0],
		w->series[1],
		w->series[2],
	};
	const size_t more = (w->series[1].metric != NULL) + (w->series[2].metric != NULL);
	char *text = sampled_text(series, 5 + more);
	struct tw_prom *p = NULL;
	struct tw_err err = { 0 };

	if (tw_prom_parse_more(text, strlen(text), names, &p, &err) < 0)
		fail_msg("%s", err.text);
	free(text);
	return p;
}

/* gauge: the metric is declared one. */
static int extract(const struct wanted *w, bool gauge, struct tw_dataset *out,
		   struct tw_err *err)
{
	const char *group = w->group != NULL ? w->group : "BPFOnly";
	struct tw_thirdparty t = must_make(name_of(w));
	const struct tw_extract_args args = {
		.source = tw_energy_source_find("acpi"),
		.group = tw_thirdparty_group(&t, tw_feature_group_find(group)),
		.level = w->level,
		.resets = w->resets,
	};
	struct tw_prom *p = parse(w, &t.names);
	int status;

	if (gauge)
		tw_prom_declare_gauges(p, &t.names);
	status = tw_extract(p, &args, out, err);
	tw_prom_free(p);
	tw_thirdparty_release(&t);
	return status;
}

static void expect(const struct wanted *w, bool gauge, const double *want, size_t count)
{
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };
	const double *v;

	if (extract(w, gauge, &d, &err) < 0)
		fail_msg("%s", err.text);
	v = tw_dataset_find(&d, name_of(w));
	assert_non_null(v);
	assert_int_equal(d.rows, count);
	for (size_t i = 0; i < count; i++)
		assert_float_equal(v[i], want[i], 1e-9);
	tw_dataset_release(&d);
}

#define EXPECT_AS(w, gauge, ...)                          \
	expect(w, gauge, (const double[]){ __VA_ARGS__ }, \
	       sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double))
#define EXPECT(w, ...) EXPECT_AS(w, false, __VA_ARGS__)
#define EXPECT_GAUGE(w, ...) EXPECT_AS(w, true, __VA_ARGS__)

static void expect_error(const struct wanted *w, enum tw_code code, const char *text)
{
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(extract(w, false, &d, &err), -1);
	assert_int_equal(err.code, code);
	assert_string_equal(err.text, text);
}

static void a_counter_of_the_node_is_the_sum_of_its_series_rates(void **state)
{
	const struct wanted w = {
		.series = {
			{ "io_total", "'device':'sda'", RISE },
			{ "io_total", "'device':'sdb'", "103,5000 106,5030 109,5060" },
		},
	};

	(void)state;
	/* sdb was plugged in: its first value is not a difference. */
	EXPECT(&w, 10, 30, 20);
}

static void a_counter_has_no_rate_at_a_single_sample(void **state)
{
	const struct wanted one = { .series = { { "io_total", "", "106,40" } } };
	const struct wanted two = { .series = { { "io_total", "", "103,40 106,70" } } };

	(void)state;
	expect_error(&one, TW_INVALID,
		     "no row is left: 'io_total' has no sample at the times of the other "
		     "metrics");
	EXPECT(&two, 0, 10);
}

static void a_gauge_of_the_node_is_the_mean_of_its_series(void **state)
{
	const struct wanted w = {
		.series = {
			{ "celsius", "'sensor':'a'", "103,40 106,50 109,44" },
			{ "celsius", "'sensor':'b'", "103,60 106,50" },
		},
	};

	(void)state;
	EXPECT(&w, 50, 50, 44);
}

/* Of straight lines between samples, at times of their own. */
static void a_declared_gauge_is_averaged_over_each_step(void **state)
{
	const struct wanted w = {
		.series = { { "queue_total", "", "100,10 103,40 104,70 110,10" } },
	};
	const struct wanted counter = { .series = { { "queue_total", "", RISE } } };

	(void)state;
	/* 103 to 104: 55 in the mean; 104 to 106: 60; 106 to 109: 35. */
	EXPECT_GAUGE(&w, 25, (55 + 2 * 60) / 3.0, 35);
	EXPECT(&counter, 10, 20, 10);
}

static void a_declared_gauge_of_the_node_is_the_mean_of_its_series(void **state)
{
	const struct wanted w = {
		.series = {
			{ "queue_total", "'disk':'a'", "100,40 103,40 106,40 109,80" },
			{ "queue_total", "'disk':'b'", "100,60 103,60 106,60" },
		},
	};

	(void)state;
	/* 109 has the first disk alone: from 50 to 80. */
	EXPECT_GAUGE(&w, 50, 50, 65);
}

static void a_declared_gauge_of_containers_is_summed_over_them(void **state)
{
	const struct wanted w = {
		.series = {
			{ "memory_total", ID("a"), "100,40 109,40" },
			{ "memory_total", ID("b"), "105,7 109,7" },
		},
	};

	(void)state;
	EXPECT_GAUGE(&w, 40, 47, 47);
}

/* The collector's tick of 106 was late, so that the gauge jumps from 40 to 70 at once. */
static void a_declared_gauge_is_averaged_by_the_exporters_clock(void **state)
{
	static const struct sampled series[] = {
		{ "tallywatt_collector_tick_time_seconds", "",
		  "100,50 103,53 106,53 109,59 112,62" },
		{ "tallywatt_process_cpu_seconds_total", "'pid':'1'",
		  "100,0 103,3 106,3 109,9 112,12" },
		{ "tallywatt_node_energy_joules_total",
		  "'zone':'package','source':'rapl-sysfs'", "100,0 109,90 112,120" },
		{ "queue_total", "", "100,10 103,40 106,70 109,10 112,10" },
	};
	struct tw_thirdparty t = must_make("queue_total");
	const struct tw_extract_args args = {
		.source = tw_energy_source_find("rapl-sysfs"),
		.group = tw_thirdparty_group(&t, tw_feature_group_find("BPFOnly")),
	};
	char *text = sampled_text(series, TW_COUNT(series));
	struct tw_prom *p = NULL;
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_prom_parse_more(text, strlen(text), &t.names, &p, &err), 0);
	tw_prom_declare_gauges(p, &t.names);
	assert_int_equal(tw_extract(p, &args, &d, &err), 0);
	assert_int_equal(d.rows, 2);
	/* 3 s from 10 to 40, 6 s from 70 to 10; then 3 s of 10. */
	assert_float_equal(tw_dataset_find(&d, "queue_total")[0], (3 * 25 + 6 * 40) / 9.0,
			   1e-9);
	assert_float_equal(tw_dataset_find(&d, "queue_total")[1], 10, 1e-9);
	tw_dataset_release(&d);
	tw_prom_free(p);
	free(text);
	tw_thirdparty_release(&t);
}

/* The gauge meets the row of 103 to 106 for a millisecond. */
static void a_declared_gauge_has_the_mean_of_the_time_that_it_covers(void **state)
{
	const struct wanted w = {
		.series = { { "queue_total", "", "100,40 103.001,40" } },
	};
	const struct wanted ends = { .series = {
					     { "queue_total", "", "100,40 103,50" } } };

	(void)state;
	EXPECT_GAUGE(&w, 40, 40);
	EXPECT_GAUGE(&ends, 45);
}

/* Lines are joined by the time between samples, whatever the time of day. */
static void a_declared_gauge_is_joined_at_any_time(void **state)
{
	const struct wanted w = {
		.series = { { "queue_total", "", "1000,40 1299,60 1600,80" } },
		.load = "1000,0 1299,1 1600,2",
		.power = "1000,0 1299,30 1600,60",
	};
	const struct wanted limit = {
		.series = { { "queue_total", "", "1000,40 1300,60" } },
		.load = "1000,0 1300,1",
		.power = "1000,0 1300,30",
	};

	(void)state;
	/* From 1299 to 1600 are 301 s, and 300 s are the limit. */
	EXPECT_GAUGE(&w, 50);
	EXPECT_GAUGE(&limit, 50);
}

/* After more than 5 minutes without a sample, a straight line is a guess. */
static void a_declared_gauge_has_no_value_in_a_long_gap(void **state)
{
	const struct wanted w = {
		.series = { { "celsius", "", "100,40 103,50 500,90" } },
	};

	(void)state;
	EXPECT_GAUGE(&w, 45);
}

static void only_third_party_metrics_are_declared_gauges(void **state)
{
	struct tw_thirdparty t = must_make("a_total,b");
	struct tw_strs gauges = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_strs_split(&gauges, "b,a_total,b", &err), 0);
	assert_int_equal(tw_thirdparty_declare(&t, &gauges, &err), 0);
	assert_int_equal(t.gauges.count, 2);
	assert_string_equal(t.gauges.at[0], "a_total");
	assert_int_equal(tw_strs_adds(&gauges, "c", &err), 0);
	assert_int_equal(tw_thirdparty_declare(&t, &gauges, &err), -1);
	assert_string_equal(err.text, "'c' is not among the third-party metrics");
	tw_strs_clear(&gauges);
	tw_thirdparty_release(&t);
}

static void times_without_a_named_metric_are_left_out(void **state)
{
	const struct wanted w = { .series = { { "celsius", "", "104,40 106,50" } } };
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	EXPECT(&w, 50);
	/* The other columns have the rate and the power of that row. */
	assert_int_equal(extract(&w, false, &d, &err), 0);
	assert_int_equal(d.time_ms[0], 106000);
	assert_float_equal(tw_dataset_find(&d, "bpf_cpu_time_ms")[0], 40, 1e-9);
	assert_float_equal(tw_dataset_find(&d, "platform_power")[0], 20, 1e-9);
	tw_dataset_release(&d);
}

static void a_metric_of_other_times_leaves_no_row(void **state)
{
	const struct wanted w = { .series = { { "celsius", "", "104,40 107,50" } } };
	/* Before the features of the group, in order of names. */
	const struct wanted first = {
		.series = { { "a_celsius", "", "104,40 107,50" } },
	};

	(void)state;
	expect_error(&w, TW_INVALID,
		     "no row is left: 'celsius' has no sample at the times of the other "
		     "metrics");
	expect_error(&first, TW_INVALID,
		     "no row is left: 'a_celsius' has no sample at the times of the "
		     "other metrics");
}

/* The metric's exporter runs while Kepler is down. */
static void a_metric_of_the_node_makes_no_rows(void **state)
{
	struct wanted w = {
		.series = { { "celsius", "", "103,40 106,50 109,60" } },
		.load = "100,0 103,3",
	};

	(void)state;
	EXPECT(&w, 40);
	w.group = "ThirdParty";
	EXPECT(&w, 40, 50, 60);
}

static void metrics_of_containers_are_summed_at_node_level_only(void **state)
{
	struct wanted w = {
		.series = {
			{ "memory_bytes", ID("a"), "103,40 106,50" },
			{ "memory_bytes", ID("b"), "106,7" },
		},
	};

	(void)state;
	w.level = TW_ROWS_NODE;
	EXPECT(&w, 40, 57);
	w.level = TW_ROWS_CONTAINER;
	EXPECT(&w, 40, 0, 50, 7);
	w.level = TW_ROWS_FINEST;
	EXPECT(&w, 40, 0, 50, 7);
}

static void metrics_of_the_node_have_no_containers(void **state)
{
	struct wanted w = { .series = { { "io_total", "", RISE } } };

	(void)state;
	w.level = TW_ROWS_CONTAINER;
	expect_error(&w, TW_INVALID,
		     "BPFOnly with these metrics has no features of containers: "
		     "extract it at node level");
	w.level = TW_ROWS_FINEST;
	EXPECT(&w, 10, 20, 10);
}

static void containers_without_a_schema_metric_are_rejected(void **state)
{
	const struct wanted w = {
		.series = { { "memory_bytes", ID("other"), "103,40" } },
		.level = TW_ROWS_CONTAINER,
	};

	(void)state;
	expect_error(&w, TW_INVALID,
		     "no workload has both 'memory_bytes' and the other metrics: "
		     "their labels differ");
}

static void a_named_metric_may_be_in_a_schema(void **state)
{
	const struct wanted w = {
		.series = { { "node_context_switches_total", "", RISE } },
	};

	(void)state;
	EXPECT(&w, 10, 20, 10);
}

static void a_missing_metric_is_named(void **state)
{
	const struct wanted w = {
		.series = { { "io_total", "", RISE } },
		.name = "oi_total",
	};
	const struct wanted none = {
		.series = { { "io_total", "", RISE } },
		.name = "",
		.group = "ThirdParty",
	};

	(void)state;
	expect_error(&w, TW_NOTFOUND, "response has no series of oi_total");
	expect_error(&none, TW_INVALID,
		     "ThirdParty has no features but third-party metrics: name some "
		     "with --thirdparty-metrics");
}

static void a_counter_reset_is_rejected_on_request(void **state)
{
	const struct wanted w = { .series = { { "io_total", "", "103,9 106,2" } },
				  .resets = TW_RESETS_REFUSE };
	/* One of three falls, which is not a restart. */
	const struct wanted alone = {
		.series = {
			{ "io_total", "'disk':'a'", "103,9 106,2" },
			{ "io_total", "'disk':'b'", RISE },
			{ "io_total", "'disk':'c'", RISE },
		},
		.resets = TW_RESETS_REFUSE,
	};

	(void)state;
	expect_error(&w, TW_INVALID,
		     "io_total (): counter falls from 9 to 2 at time 106; --resets drop "
		     "leaves that step out");
	expect_error(&alone, TW_INVALID,
		     "io_total (): counter falls from 9 to 2 at time 106; --resets drop "
		     "leaves that step out");
}

static void expect_no_memory_to_be_told(bool gauge)
{
	const struct wanted w = { .series = { { "io_total", "'device':'a'", RISE } } };
	struct tw_thirdparty t = must_make("io_total");
	const struct tw_extract_args args = {
		.source = tw_energy_source_find("acpi"),
		.group = tw_thirdparty_group(&t, tw_feature_group_find("BPFOnly")),
	};
	struct tw_prom *p = parse(&w, &t.names);

	if (gauge)
		tw_prom_declare_gauges(p, &t.names);
	for (int n = 1;; n++) {
		struct tw_dataset d = { 0 };
		struct tw_err err = { 0 };
		int status;

		fail_alloc_at(n);
		status = tw_extract(p, &args, &d, &err);
		if (!fail_alloc_told(status, &err)) {
			tw_dataset_release(&d);
			break;
		}
	}
	tw_prom_free(p);
	tw_thirdparty_release(&t);
}

static void extraction_without_memory_is_an_error(void **state)
{
	(void)state;
	expect_no_memory_to_be_told(false);
	expect_no_memory_to_be_told(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_added_to_each_group_in_order),
		cmocka_unit_test(without_names_a_group_is_itself),
		cmocka_unit_test(invalid_names_are_rejected),
		cmocka_unit_test(more_names_than_the_limit_are_rejected),
		cmocka_unit_test(names_without_memory_are_an_error),
		cmocka_unit_test(a_counter_of_the_node_is_the_sum_of_its_series_rates),
		cmocka_unit_test(a_counter_has_no_rate_at_a_single_sample),
		cmocka_unit_test(a_gauge_of_the_node_is_the_mean_of_its_series),
		cmocka_unit_test(a_declared_gauge_is_averaged_over_each_step),
		cmocka_unit_test(a_declared_gauge_of_the_node_is_the_mean_of_its_series),
		cmocka_unit_test(a_declared_gauge_of_containers_is_summed_over_them),
		cmocka_unit_test(
			a_declared_gauge_has_the_mean_of_the_time_that_it_covers),
		cmocka_unit_test(a_declared_gauge_is_averaged_by_the_exporters_clock),
		cmocka_unit_test(a_declared_gauge_is_joined_at_any_time),
		cmocka_unit_test(a_declared_gauge_has_no_value_in_a_long_gap),
		cmocka_unit_test(only_third_party_metrics_are_declared_gauges),
		cmocka_unit_test(times_without_a_named_metric_are_left_out),
		cmocka_unit_test(a_metric_of_other_times_leaves_no_row),
		cmocka_unit_test(a_metric_of_the_node_makes_no_rows),
		cmocka_unit_test(metrics_of_containers_are_summed_at_node_level_only),
		cmocka_unit_test(metrics_of_the_node_have_no_containers),
		cmocka_unit_test(containers_without_a_schema_metric_are_rejected),
		cmocka_unit_test(a_named_metric_may_be_in_a_schema),
		cmocka_unit_test(a_missing_metric_is_named),
		cmocka_unit_test(a_counter_reset_is_rejected_on_request),
		cmocka_unit_test(extraction_without_memory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
