/* SPDX-License-Identifier: Apache-2.0 */
/* See also tests/integration/test_mass_balance.py. */
#include "tests/unit/tw_test.h"

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

static void what_does_not_add_up_is_named_with_its_reason(void **state)
{
	struct tw_quality q = { 0 };
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
		cmocka_unit_test(what_does_not_add_up_is_named_with_its_reason),
		cmocka_unit_test(the_json_has_the_figures_and_the_warnings),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("quality", tests, NULL, NULL);
}
