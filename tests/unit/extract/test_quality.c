/* SPDX-License-Identifier: Apache-2.0 */
/* See also tests/integration/test_mass_balance.py. */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "trainer/extract/metric_series.h"
#include "trainer/extract/quality.h"

#include <math.h>
#include <string.h>

#define ROWS 100
#define STEP_MS 3000

/* Rows of 3 s whose load is set by a test; power is 10 W and 5 W a CPU. */
struct recording {
	int64_t from_ms[ROWS], time_ms[ROWS];
	double from[ROWS], to[ROWS], cpu_ms[ROWS], other[ROWS], watts[ROWS];
	bool filled[ROWS];
	const char *name[2];
	double *feature[2];
	struct tw_measured_rows rows;
};

static void set_up(struct recording *r)
{
	*r = (struct recording){ .name = { "bpf_cpu_time_ms", "bpf_page_cache_hit" } };
	for (size_t k = 0; k < ROWS; k++) {
		r->from_ms[k] = 1700000000000 + (int64_t)k * STEP_MS;
		r->time_ms[k] = r->from_ms[k] + STEP_MS;
		r->from[k] = (double)r->from_ms[k];
		r->to[k] = (double)r->time_ms[k];
		r->filled[k] = true;
		/* Loads of 1 to 3 CPUs, for 7 rows each. */
		r->cpu_ms[k] = 1000.0 * (double)(1 + k / 7 * 5 % 3);
		r->other[k] = 4;
	}
	r->feature[0] = r->cpu_ms;
	r->feature[1] = r->other;
	r->rows = (struct tw_measured_rows){ .rows = ROWS,
					     .from_ms = r->from_ms,
					     .time_ms = r->time_ms,
					     .from = r->from,
					     .to = r->to,
					     .filled = r->filled,
					     .name = r->name,
					     .feature = r->feature,
					     .features = 2,
					     .cpu_ms = r->cpu_ms,
					     .watts = r->watts };
}

/* Power follows the load by a share of a row. */
static void set_power(struct recording *r, double lag)
{
	for (size_t k = 0; k < ROWS; k++) {
		const double before = r->cpu_ms[k > 0 ? k - 1 : 0];

		r->watts[k] = 10 + 5e-3 * ((1 - lag) * r->cpu_ms[k] + lag * before);
	}
}

static void measure(struct recording *r, struct tw_quality *q)
{
	struct tw_err err = { 0 };

	if (tw_quality_measure(q, &r->rows, &err) < 0)
		fail_msg("%s", err.text);
}

static void expect_text(const struct tw_quality *q, const char *wanted, bool there)
{
	struct tw_buf b = { 0 };

	tw_quality_to_text(q, &b);
	if ((strstr(b.data, wanted) != NULL) != there)
		fail_msg("'%s' is %sin:\n%s", wanted, there ? "not " : "", b.data);
	tw_buf_clear(&b);
}

/* Rows of 3 and 6 s: a query of 3 s steps, of scrapes each 5 s. */
static void rows_of_two_lengths_are_named(void **state)
{
	struct tw_quality q = { .repeats = 40 }, late = { .repeats = 0 },
			  clocked = { .repeats = 40, .clocked = true };
	struct recording r;

	(void)state;
	set_up(&r);
	set_power(&r, 0);
	measure(&r, &q);
	expect_text(&q, "rows have two lengths", false);
	tw_quality_release(&q);
	for (size_t k = 0; k < ROWS; k += 3) {
		r.from_ms[k] -= STEP_MS;
		r.from[k] -= STEP_MS;
	}
	q.repeats = 40;
	measure(&r, &q);
	expect_text(&q, "rows have two lengths", true);
	measure(&r, &late);
	expect_text(&late, "rows have two lengths", false);
	measure(&r, &clocked);
	expect_text(&clocked, "rows have two lengths", false);
	tw_quality_release(&q);
	tw_quality_release(&late);
	tw_quality_release(&clocked);
}

static void a_recording_without_rest_knows_no_idle_power(void **state)
{
	struct tw_quality q = { 0 };
	struct recording r;

	(void)state;
	set_up(&r);
	set_power(&r, 0);
	measure(&r, &q);
	assert_int_equal(q.rows, ROWS);
	assert_true(q.step_s == 3 && q.gaps == 0 && q.lag_s == 0);
	assert_true(q.load_min == 1 && q.load_max == 3);
	assert_true(q.rest_s == 0);
	/* 10 W is the truth. */
	assert_true(q.idle_low_w == 0 && q.idle_high_w == 15);
	expect_text(&q, "never rested: idle power may be anything from 0 to 15.0 W",
		    true);
	expect_text(&q, "constant features, which teach nothing: bpf_page_cache_hit",
		    true);
	tw_quality_release(&q);
}

static void time_at_rest_bounds_idle_power(void **state)
{
	struct tw_quality q = { 0 };
	struct recording r;

	(void)state;
	set_up(&r);
	for (size_t k = 20; k < 32; k++)
		r.cpu_ms[k] = k % 2 == 0 ? 10 : 20;
	set_power(&r, 0);
	measure(&r, &q);
	assert_true(q.rest_s == 36 && q.longest_rest_s == 36);
	assert_true(fabs(q.idle_low_w - 10.05) < 1e-9);
	assert_true(fabs(q.idle_high_w - 10.1) < 1e-9);
	expect_text(&q, "never rested", false);
	tw_quality_release(&q);
}

static void a_lag_of_power_is_found(void **state)
{
	struct tw_quality q = { 0 };
	struct recording r;

	(void)state;
	set_up(&r);
	set_power(&r, 0.6);
	measure(&r, &q);
	assert_true(fabs(q.lag_s - 1.8) < 0.3 * 3);
	assert_true(q.lag_s > 0);
	expect_text(&q, "power follows the features by 1.8 s", true);
	tw_quality_release(&q);
}

static void a_gap_is_counted(void **state)
{
	struct tw_quality q = { 0 };
	struct recording r;

	(void)state;
	set_up(&r);
	set_power(&r, 0);
	for (size_t k = 40; k < 50; k++)
		r.filled[k] = false;
	measure(&r, &q);
	assert_int_equal(q.rows, ROWS - 10);
	assert_int_equal(q.gaps, 1);
	assert_true(q.longest_gap_s == 30);
	tw_quality_release(&q);
	/* Each time that is left out is a gap. */
	set_up(&r);
	set_power(&r, 0);
	r.filled[40] = r.filled[60] = false;
	measure(&r, &q);
	assert_int_equal(q.gaps, 2);
	assert_true(q.longest_gap_s == 3);
	tw_quality_release(&q);
}

/* CPU time, cycles and instructions are work; other features do not show rest. Rows 20 to
 * 31 have none. */
static void rest_is_time_without_work(void **state)
{
	static const struct {
		const char *name;
		bool cpu;    /* there is CPU time */
		double node; /* the node's own CPU time in rows 20 to 25, ms; 0: not known
			      */
		double rest_s;
	} cases[] = {
		{ "bpf_page_cache_hit", true, 0, 36 },
		{ "bpf_page_cache_hit", true, 900, 18 },
		{ "bpf_page_cache_hit", false, 0, 0 },
		{ "cpu_cycles", false, 0, 36 },
		{ "cpu_instructions", false, 0, 36 },
		{ "cpu_cycles", true, 0, 36 },
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++) {
		struct tw_quality q = { 0 };
		double node_ms[ROWS];
		struct recording r;

		set_up(&r);
		for (size_t i = 0; i < ROWS; i++) {
			const bool rests = i >= 20 && i < 32;

			r.cpu_ms[i] = rests ? 0 : r.cpu_ms[i];
			r.other[i] = rests ? 0 : 0.5;
			node_ms[i] = rests && i < 26 && cases[k].node != 0 ? cases[k].node
									   : NAN;
		}
		set_power(&r, 0);
		r.name[1] = cases[k].name;
		r.rows.cpu_ms = cases[k].cpu ? r.cpu_ms : NULL;
		r.rows.node_ms = node_ms;
		measure(&r, &q);
		if (q.rest_s != cases[k].rest_s)
			fail_msg("case %zu: %g s", k, q.rest_s);
		tw_quality_release(&q);
	}
}

/* Rows 30 to 49 were not asked for; those of 70 to 73 are lost. */
static void between_spans_is_no_gap(void **state)
{
	const int64_t start_ms = 1700000000000;
	const struct tw_time_span span[] = {
		{ start_ms, start_ms + 30 * STEP_MS },
		{ start_ms + 50 * STEP_MS, start_ms + 80 * STEP_MS },
		{ start_ms + 80 * STEP_MS, start_ms + ROWS * STEP_MS },
	};
	struct tw_quality q = { 0 };
	struct recording r;

	(void)state;
	set_up(&r);
	set_power(&r, 0);
	for (size_t k = 0; k < ROWS; k++)
		r.filled[k] = k < 30 || (k >= 50 && (k < 70 || k > 73));
	measure(&r, &q);
	assert_int_equal(q.gaps, 2);
	tw_quality_release(&q);
	r.rows.span = span;
	r.rows.spans = 3;
	measure(&r, &q);
	assert_int_equal(q.gaps, 1);
	assert_float_equal(q.longest_gap_s, 12, 0);
	tw_quality_release(&q);
}

/* node_exporter ran for the second half. */
static void rows_without_a_node_total_are_in_no_balance(void **state)
{
	struct tw_quality q = { .cpu_node_s = 300 }, alone = { .cpu_node_s = NAN };
	double node_ms[ROWS];
	struct recording r;

	(void)state;
	set_up(&r);
	set_power(&r, 0);
	for (size_t k = 0; k < ROWS; k++) {
		r.cpu_ms[k] = k < ROWS / 2 ? 1000 : 2000;
		node_ms[k] = k < ROWS / 2 ? NAN : 2000;
	}
	r.rows.node_ms = node_ms;
	measure(&r, &q);
	assert_float_equal(q.cpu_rows_s, 300, 1e-9);
	tw_quality_release(&q);
	measure(&r, &alone);
	assert_float_equal(alone.cpu_rows_s, 450, 1e-9);
	tw_quality_release(&alone);
}

static void what_does_not_add_up_is_named_with_its_reason(void **state)
{
	struct tw_quality q = { 0 };
	struct tw_err err = { 0 };
	struct recording r;

	(void)state;
	set_up(&r);
	set_power(&r, 0);
	measure(&r, &q);
	q.cpu_node_s = q.cpu_rows_s * 1.005;
	expect_text(&q, "% of the node's CPU time", false);
	q.cpu_node_s = q.cpu_rows_s / 0.67;
	expect_text(&q, "the rows have 67.0 % of the node's CPU time: processes that end",
		    true);
	q.series.hidden = 2;
	expect_text(&q, "the exporter limits its series", true);
	expect_text(&q, "2 counters of workloads that ran before", false);
	q.cpu_node_s = NAN;
	expect_text(&q, "2 counters of workloads that ran before", true);
	q.cpu_node_s = q.cpu_rows_s / 0.67;
	q.restarts = 1;
	expect_text(&q, "the exporter was restarted", true);
	q.energy_meter_j = q.energy_rows_j * 1.1;
	expect_text(&q, "the rows have 90.9 % of the meter's energy", true);
	assert_int_equal(tw_strs_adds(&q.missing, "cpu_cycles", &err), 0);
	expect_text(&q, "features of the group that the exporter lacks: cpu_cycles\n",
		    true);
	tw_quality_release(&q);
}

static void the_json_has_the_figures_and_the_warnings(void **state)
{
	struct tw_quality q = { 0 };
	struct recording r;
	json_t *obj;

	(void)state;
	set_up(&r);
	set_power(&r, 0);
	measure(&r, &q);
	q.cpu_node_s = NAN;
	obj = tw_quality_to_json(&q);
	assert_non_null(obj);
	assert_int_equal(json_integer_value(json_object_get(obj, "rows")), ROWS);
	assert_true(json_real_value(json_object_get(obj, "span_s")) == 300);
	assert_true(json_is_null(json_object_get(obj, "cpu_time_node_s")));
	assert_int_equal(json_array_size(json_object_get(obj, "warnings")), 2);
	json_decref(obj);
	tw_quality_release(&q);
}

/* A good recording of 100 rows of 3 s. */
static struct tw_quality good(void)
{
	return (struct tw_quality){ .first_ms = 1000000,
				    .last_ms = 1300000,
				    .rows = 100,
				    .step_s = 3,
				    .cpus = 4,
				    .cpu_rows_s = 400,
				    .cpu_node_s = 400,
				    .energy_rows_j = 9000,
				    .energy_meter_j = 9000,
				    .load_min = 0.5,
				    .load_max = 3,
				    .power_min_w = 20,
				    .power_max_w = 40,
				    .rest_s = 60,
				    .longest_rest_s = 30,
				    .idle_low_w = 19,
				    .idle_high_w = 21 };
}

/* One thing that is wrong with a good recording, and the line that says so. */
static void what_is_wrong_has_a_warning(void **state)
{
	static const struct {
		double node_s, meter_j, load_min, load_max, lag_s; /* 0: good */
		struct tw_clean_counts clean;
		size_t hidden, restarts, impossible;
		bool uneven, no_rest;
		const char *warning; /* NULL: none */
	} cases[] = {
		{ .warning = NULL },
		{ .node_s = 403, .warning = NULL },
		{ .node_s = 500,
		  .warning = "the rows have 80.0 % of the node's CPU time: "
			     "processes that end" },
		{ .node_s = 500,
		  .hidden = 1,
		  .warning = "the rows have 80.0 % of the node's CPU time: the exporter "
			     "limits its series" },
		{ .node_s = 500,
		  .impossible = 1,
		  .warning =
			  "the rows have 80.0 % of the node's CPU time: rows with more" },
		{ .node_s = 500,
		  .restarts = 1,
		  .warning = "the rows have 80.0 % of the node's CPU time: the exporter "
			     "was restarted" },
		{ .node_s = 200,
		  .hidden = 1,
		  .warning = "the rows have 200.0 % of the node's CPU time: the exporter "
			     "counts some processes twice" },
		{ .node_s = NAN, .warning = NULL },
		{ .node_s = NAN, .hidden = 3, .warning = "3 counters of workloads that" },
		{ .meter_j = 9050, .warning = NULL },
		{ .meter_j = 10000,
		  .warning = "the rows have 90.0 % of the meter's energy: "
			     "features or power are missing" },
		{ .meter_j = 10000,
		  .restarts = 1,
		  .warning = "the rows have 90.0 % of the meter's energy: the exporter "
			     "was" },
		{ .load_min = 0.01,
		  .load_max = 0.02,
		  .warning = "the machine had no load, at most 0.020 busy CPUs" },
		{ .load_min = 2.1, .warning = "the load hardly varies" },
		{ .load_min = 1.9, .warning = NULL },
		{ .no_rest = true,
		  .warning =
			  "the recording never rested: idle power may be anything from "
			  "0 to 20.0 W" },
		{ .clean = { .outliers = 1, .first_w = 999.5, .first_ms = 7000 },
		  .warning = NULL },
		{ .clean = { .outliers = 2, .first_w = 999.5, .first_ms = 1234567890123 },
		  .warning =
			  "2 rows had power that no load explains, the first of 999.5 W "
			  "at 1234567890 (seconds), and were dropped" },
		{ .clean = { .standing = 1 }, .warning = NULL },
		{ .clean = { .standing = 2 },
		  .warning =
			  "features or power stood still while the other moved; 2 rows" },
		{ .clean = { .unsure = true }, .warning = "the meter shows other times" },
		{ .clean = { .unseen_most = true },
		  .warning = "workloads that ran before appeared late: most rows" },
		{ .clean = { .scrapes_s = 5 },
		  .warning =
			  "the rows follow scrapes each 5 s, which the step of the query "
			  "does not divide: their watts or rates are wrong; query again "
			  "without --step, or with --step 5s" },
		{ .uneven = true, .warning = "samples repeat others, and rows have two" },
		{ .lag_s = 0.8, .warning = NULL },
		{ .lag_s = 1, .warning = "power follows the features by 1.0 s" },
		{ .lag_s = -1, .warning = "power precedes the features by 1.0 s" },
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++) {
		struct tw_quality q = good();
		struct tw_buf b = { 0 };
		const char *line;
		json_t *obj;

		q.cpu_node_s = cases[k].node_s != 0 ? cases[k].node_s : q.cpu_node_s;
		q.energy_meter_j =
			cases[k].meter_j != 0 ? cases[k].meter_j : q.energy_meter_j;
		q.load_min = cases[k].load_min != 0 ? cases[k].load_min : q.load_min;
		q.load_max = cases[k].load_max != 0 ? cases[k].load_max : q.load_max;
		q.lag_s = cases[k].lag_s;
		q.clean = cases[k].clean;
		q.series.hidden = cases[k].hidden;
		q.restarts = cases[k].restarts;
		q.late.impossible = cases[k].impossible;
		q.uneven = cases[k].uneven;
		q.rest_s = cases[k].no_rest ? 0 : q.rest_s;
		tw_quality_to_text(&q, &b);
		line = strstr(b.data, "  warning: ");
		if ((line != NULL) != (cases[k].warning != NULL))
			fail_msg("case %zu: %s", k, b.data);
		if (line != NULL) {
			line += strlen("  warning: ");
			if (strncmp(line, cases[k].warning, strlen(cases[k].warning)) !=
			    0)
				fail_msg("case %zu: %s", k, line);
			assert_null(strstr(line, "  warning: "));
		}
		obj = tw_quality_to_json(&q);
		assert_int_equal(json_array_size(json_object_get(obj, "warnings")),
				 line != NULL);
		json_decref(obj);
		tw_buf_clear(&b);
	}
}

/* Each figure is that of the recording, with its unit. */
static void the_text_has_the_figures(void **state)
{
	struct tw_quality q = good();
	struct tw_buf b = { 0 };

	(void)state;
	q.gaps = 2;
	q.longest_gap_s = 12;
	q.repeats = 3;
	q.late.late = 4;
	q.merged = 1;
	q.clean.unsteady = 5;
	q.clean.unseen = 6;
	q.lag_s = 0.5;
	q.lag_corrected_s = 0.7;
	tw_quality_to_text(&q, &b);
	assert_string_equal(
		b.data,
		"data quality: 300 s, 100 rows of 3.0 s, 2 gaps (longest 12 s), 0 "
		"restarts\n"
		"  repairs: 3 repeated samples and 4 late scrapes joined, 0 rows "
		"dropped\n"
		"  series: 0 began (0 with one sample), 0 fell alone, 0 appeared late\n"
		"  cleaned: 0 outliers and 0 rows of a standing side dropped, 1 repeated "
		"series merged\n"
		"  unsteady: 5 rows dropped, in which the load changed: the meter shows "
		"an instant, another time, or a mean of some time\n"
		"  unseen: 6 rows dropped, which lack the work of workloads that ran "
		"before they appeared\n"
		"  CPU time: rows 400.0 s, node 400.0 s (100.0 %)\n"
		"  energy: rows 9000.0 J, meter 9000.0 J (100.0 %)\n"
		"  load: 0.50 to 3.00 CPUs\n"
		"  power: 20.0 to 40.0 W; idle power within 19.0 to 21.0 W\n"
		"  rest: 60 s, longest 30 s; lag of power: 0.5 s\n"
		"  corrected: power was shifted by 0.7 s, its lag\n");
	tw_buf_clear(&b);
	q = good();
	q.load_min = q.load_max = q.cpu_rows_s = NAN;
	q.energy_meter_j = 0;
	tw_quality_to_text(&q, &b);
	assert_non_null(strstr(b.data, "  energy: rows 9000.0 J, meter not known\n"));
	assert_null(strstr(b.data, "CPU"));
	assert_null(strstr(b.data, "cleaned:"));
	tw_buf_clear(&b);
}

/* The step is the median of the rows; sums are of CPU seconds and joules. */
static void rows_have_sums_and_a_median_step(void **state)
{
	struct tw_quality q = { 0 };
	struct recording r;
	double cpu_s = 0, joules = 0;

	(void)state;
	set_up(&r);
	set_power(&r, 0);
	/* 40 of 100 rows are shorter. */
	for (size_t k = 0; k < 80; k += 2) {
		r.from_ms[k] += 1000;
		r.from[k] += 1000;
	}
	measure(&r, &q);
	for (size_t k = 0; k < ROWS; k++) {
		cpu_s += r.cpu_ms[k] / 1e3 * (r.to[k] - r.from[k]) / 1e3;
		joules += r.watts[k] * (r.to[k] - r.from[k]) / 1e3;
	}
	assert_true(q.step_s == 3);
	assert_float_equal(q.cpu_rows_s, cpu_s, 1e-9);
	assert_float_equal(q.energy_rows_j, joules, 1e-9);
	assert_true(q.power_min_w == 15 && q.power_max_w == 25);
	assert_int_equal(q.first_ms, 1700000001000);
	assert_int_equal(q.last_ms, 1700000300000);
	tw_quality_release(&q);
}

static void every_failed_allocation_is_reported(void **state)
{
	struct recording r;

	(void)state;
	set_up(&r);
	set_power(&r, 0);
	for (int n = 1;; n++) {
		struct tw_quality q = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_quality_measure(&q, &r.rows, &err);
		tw_quality_release(&q);
		if (!fail_alloc_told(rc, &err)) {
			assert_true(n > 3);
			break;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_two_lengths_are_named),
		cmocka_unit_test(a_recording_without_rest_knows_no_idle_power),
		cmocka_unit_test(time_at_rest_bounds_idle_power),
		cmocka_unit_test(a_lag_of_power_is_found),
		cmocka_unit_test(a_gap_is_counted),
		cmocka_unit_test(between_spans_is_no_gap),
		cmocka_unit_test(rows_without_a_node_total_are_in_no_balance),
		cmocka_unit_test(what_does_not_add_up_is_named_with_its_reason),
		cmocka_unit_test(the_json_has_the_figures_and_the_warnings),
		cmocka_unit_test(rest_is_time_without_work),
		cmocka_unit_test(what_is_wrong_has_a_warning),
		cmocka_unit_test(the_text_has_the_figures),
		cmocka_unit_test(rows_have_sums_and_a_median_step),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("quality", tests, NULL, NULL);
}
