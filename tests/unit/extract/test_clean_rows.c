/* SPDX-License-Identifier: Apache-2.0 */
/* See also tests/integration/test_damage.py. */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/field/dataset.h"
#include "tests/unit/sampled.h"
#include "trainer/extract/extract.h"
#include "trainer/extract/quality.h"
#include "trainer/response/prom.h"

#include <math.h>
#include <string.h>

#define COUNT 60
#define STEP_S 5

/* A machine of 30 W and 20 W a busy CPU. Its load changes each 6 samples. */
struct machine {
	double cpu_s[COUNT], joules[COUNT], watts[COUNT];
	double tdp_w; /* of its processors */
};

static void run(struct machine *m)
{
	static const double load[] = { 0, 2, 1, 0.5 };
	double cpu_s = 9e4, joules = 1e6;

	m->tdp_w = 0;
	for (size_t i = 0; i < COUNT; i++) {
		const double busy = i == 0 ? 0 : load[(i - 1) / 6 % 4];

		m->watts[i] = 30 + 20 * busy;
		m->cpu_s[i] = cpu_s += busy * STEP_S;
		m->joules[i] = joules += m->watts[i] * STEP_S;
	}
}

static void add_samples(struct tw_buf *b, size_t step_s, const double *v)
{
	for (size_t i = 0; i < COUNT; i++)
		tw_buf_addf(b, "%s%zu,%.17g", i > 0 ? " " : "", 1000 + i * step_s, v[i]);
}

/* Extract samples this many seconds apart, by gauge or counter. Returns the status. */
static int extract_each(const struct machine *m, size_t step_s, bool by_gauge,
			struct tw_dataset *out, struct tw_quality *q, struct tw_err *err)
{
	struct tw_buf cpu = { 0 }, power = { 0 };
	struct sampled series[] = {
		{ "kepler_process_cpu_seconds_total", "'pid':'1'", NULL },
		{ by_gauge ? "kepler_platform_watts" : "kepler_node_cpu_joules_total",
		  by_gauge ? "'source':'redfish','bmc_id':'x'"
			   : "'zone':'package','path':'/0'",
		  NULL },
	};
	const struct tw_extract_args args = {
		.source = tw_energy_source_find(by_gauge ? "redfish" : "rapl-sysfs"),
		.group = tw_feature_group_find("BPFOnly"),
		.level = TW_ROWS_NODE,
		.tdp_w = m->tdp_w,
		.quality = q,
	};
	struct tw_prom *p;
	int status;

	add_samples(&cpu, step_s, m->cpu_s);
	add_samples(&power, step_s, by_gauge ? m->watts : m->joules);
	series[0].samples = cpu.data;
	series[1].samples = power.data;
	p = sampled_response(series, 2);
	status = tw_extract(p, &args, out, err);
	tw_prom_free(p);
	tw_buf_clear(&cpu);
	tw_buf_clear(&power);
	return status;
}

static int extract(const struct machine *m, bool by_gauge, struct tw_dataset *out,
		   struct tw_quality *q, struct tw_err *err)
{
	return extract_each(m, STEP_S, by_gauge, out, q, err);
}

static void expect_law(const struct tw_dataset *d, bool by_gauge)
{
	const double *cpu_ms = tw_dataset_find(d, "bpf_cpu_time_ms");
	const double *watts =
		tw_dataset_find(d, by_gauge ? "platform_power" : "package_power");

	for (size_t i = 0; i < d->rows; i++)
		if (fabs(watts[i] - 30 - cpu_ms[i] / 50) > 1e-6)
			fail_msg("row %zu: %g W at %g ms/s", i, watts[i], cpu_ms[i]);
}

/* So many rows are left, and all obey the law. */
static void expect(const struct machine *m, bool by_gauge, size_t rows, size_t outliers,
		   size_t standing)
{
	struct tw_quality q = { 0 };
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	if (extract(m, by_gauge, &d, &q, &err) < 0)
		fail_msg("%s", err.text);
	expect_law(&d, by_gauge);
	assert_int_equal(d.rows, rows);
	assert_int_equal(q.clean.outliers, outliers);
	assert_int_equal(q.clean.standing, standing);
	tw_quality_release(&q);
	tw_dataset_release(&d);
}

static void rows_of_a_law_stay(void **state)
{
	struct machine m;

	(void)state;
	run(&m);
	expect(&m, false, COUNT - 1, 0, 0);
	expect(&m, true, COUNT - 1, 0, 0);
}

static void a_wrong_step_of_the_meter_is_no_row(void **state)
{
	static const double joules[] = { 1.5e6, 262143.328, 1.8446744e13, 600 };

	(void)state;
	for (size_t k = 0; k < TW_COUNT(joules); k++) {
		struct machine m;

		run(&m);
		for (size_t i = 30; i < COUNT; i++)
			m.joules[i] += joules[k];
		expect(&m, false, COUNT - 2, 1, 0);
	}
}

static void a_wrong_reading_of_a_gauge_is_no_row(void **state)
{
	struct machine m;

	(void)state;
	run(&m);
	m.watts[10] = 65535;
	m.watts[20] = m.watts[21] = 4294967295;
	m.watts[45] = 0.5;
	expect(&m, true, COUNT - 5, 4, 0);
}

/* Three rows in sequence are no glitch, and within three times the usual power. */
static void power_above_tdp_is_no_row(void **state)
{
	static const size_t from[] = { 30, 31, 32 };

	(void)state;
	for (double tdp_w = 50; tdp_w <= 100; tdp_w += 50) {
		struct machine m;
		struct tw_quality q = { 0 };
		struct tw_dataset d = { 0 };
		struct tw_err err = { 0 };

		run(&m);
		m.tdp_w = tdp_w;
		for (size_t k = 0; k < TW_COUNT(from); k++)
			for (size_t i = from[k]; i < COUNT; i++)
				m.joules[i] += 130 * STEP_S;
		if (extract(&m, false, &d, &q, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(q.clean.outliers, tdp_w == 50 ? 3 : 0);
		tw_quality_release(&q);
		tw_dataset_release(&d);
	}
}

/* The work of a process that was there before is no load of its first row. */
static void work_that_no_power_shows_is_no_row(void **state)
{
	struct machine m;

	(void)state;
	run(&m);
	for (size_t i = 26; i < COUNT; i++)
		m.cpu_s[i] += 12;
	expect(&m, false, COUNT - 2, 1, 0);
}

/* Of samples 20 to 32 the features are those of 20; 33 has the work of all. */
static void standing_features_are_no_rest(void **state)
{
	struct machine m;

	(void)state;
	run(&m);
	for (size_t i = 21; i < 33; i++)
		m.cpu_s[i] = m.cpu_s[20];
	expect(&m, false, COUNT - 1 - 13, 0, 13);
}

static void a_standing_gauge_is_no_power(void **state)
{
	struct machine m;
	struct tw_quality q = { 0 };
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	run(&m);
	for (size_t i = 21; i < 36; i++)
		m.watts[i] = m.watts[20];
	if (extract(&m, true, &d, &q, &err) < 0)
		fail_msg("%s", err.text);
	expect_law(&d, true);
	if (q.clean.standing < 12)
		fail_msg("%zu standing, %zu outliers", q.clean.standing,
			 q.clean.outliers);
	tw_quality_release(&q);
	tw_dataset_release(&d);
}

/* Power follows the load by a sample: each change is off the line, and none a glitch.
 * Rows of a steady load are left. */
static void a_lag_is_no_glitch(void **state)
{
	struct tw_quality q = { 0 };
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };
	struct machine m;

	(void)state;
	run(&m);
	memmove(m.watts + 1, m.watts, (COUNT - 1) * sizeof(m.watts[0]));
	if (extract(&m, true, &d, &q, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(q.clean.outliers + q.clean.standing, 0);
	assert_int_equal(d.rows + q.clean.unsteady, COUNT - 1);
	expect_law(&d, true);
	tw_quality_release(&q);
	tw_dataset_release(&d);
}

static void many_wrong_rows_are_an_error(void **state)
{
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };
	struct machine m;

	(void)state;
	run(&m);
	for (size_t i = 5; i < 11; i++)
		m.watts[i] = 65535;
	assert_int_equal(extract(&m, true, &d, NULL, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_string_equal(err.text,
			    "6 of 59 rows have power that no load explains, the first of "
			    "65535 W at 1025 (seconds): check the meter");
}

/* A range query of the machine: at each step the last scrape before it. */
static void query_each(const struct machine *m, size_t step_s, size_t scrape_s,
		       struct machine *out)
{
	out->tdp_w = 0;
	for (size_t i = 0; i < COUNT; i++) {
		const size_t at = i * step_s / scrape_s * scrape_s / STEP_S;

		out->cpu_s[i] = m->cpu_s[at];
		out->joules[i] = m->joules[at];
		out->watts[i] = m->watts[at];
	}
}

/* Extract a query of this many seconds a step. */
static void extract_query(size_t step_s, size_t scrape_s, bool by_gauge,
			  struct tw_quality *q, struct tw_dataset *d)
{
	struct machine m, shown;
	struct tw_err err = { 0 };

	run(&m);
	query_each(&m, step_s, scrape_s, &shown);
	if (extract_each(&shown, step_s, by_gauge, d, q, &err) < 0)
		fail_msg("%s", err.text);
}

static void a_step_that_divides_no_scrapes_is_found(void **state)
{
	static const size_t step_s[] = { 2, 3, 4 };

	(void)state;
	for (size_t k = 0; k < 2 * TW_COUNT(step_s); k++) {
		struct tw_quality q = { 0 };
		struct tw_dataset d = { 0 };

		extract_query(step_s[k / 2], STEP_S, k % 2 == 0, &q, &d);
		if (q.clean.scrapes_s != STEP_S)
			fail_msg("%zu s: %g s", step_s[k / 2], q.clean.scrapes_s);
		assert_int_equal(q.clean.outliers + q.clean.standing, 0);
		tw_quality_release(&q);
		tw_dataset_release(&d);
	}
}

static void a_step_that_divides_the_scrapes_is_joined(void **state)
{
	(void)state;
	for (int by_gauge = 0; by_gauge < 2; by_gauge++) {
		struct tw_quality q = { 0 };
		struct tw_dataset d = { 0 };

		extract_query(STEP_S, 2 * STEP_S, by_gauge != 0, &q, &d);
		assert_true(q.clean.scrapes_s == 0 && q.step_s == 2 * STEP_S);
		expect_law(&d, by_gauge != 0);
		tw_quality_release(&q);
		tw_dataset_release(&d);
	}
}

/* A group of gauges has no counters that could stand still. */
static void gauges_do_not_stand_still(void **state)
{
	struct tw_buf qat = { 0 }, joules = { 0 };
	struct machine m;
	struct sampled series[] = {
		{ "kepler_node_accelerator_intel_qat", "'qatDevID':'0'", NULL },
		{ "kepler_node_package_joules_total",
		  "'mode':'dynamic','package':'0','source':'rapl-sysfs'", NULL },
	};
	const struct tw_extract_args args = {
		.source = tw_energy_source_find("rapl-sysfs"),
		.group = tw_feature_group_find("AcceleratorOnly"),
		.level = TW_ROWS_NODE,
	};
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };
	struct tw_prom *p;

	(void)state;
	run(&m);
	add_samples(&joules, STEP_S, m.joules);
	for (size_t i = 0; i < COUNT; i++)
		m.cpu_s[i] = i % 7 == 0;
	add_samples(&qat, STEP_S, m.cpu_s);
	series[0].samples = qat.data;
	series[1].samples = joules.data;
	p = sampled_response(series, 2);
	if (tw_extract(p, &args, &d, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(d.rows, COUNT - 1);
	tw_dataset_release(&d);
	tw_prom_free(p);
	tw_buf_clear(&qat);
	tw_buf_clear(&joules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_a_law_stay),
		cmocka_unit_test(a_wrong_step_of_the_meter_is_no_row),
		cmocka_unit_test(a_wrong_reading_of_a_gauge_is_no_row),
		cmocka_unit_test(power_above_tdp_is_no_row),
		cmocka_unit_test(work_that_no_power_shows_is_no_row),
		cmocka_unit_test(standing_features_are_no_rest),
		cmocka_unit_test(a_standing_gauge_is_no_power),
		cmocka_unit_test(a_lag_is_no_glitch),
		cmocka_unit_test(many_wrong_rows_are_an_error),
		cmocka_unit_test(a_step_that_divides_no_scrapes_is_found),
		cmocka_unit_test(a_step_that_divides_the_scrapes_is_joined),
		cmocka_unit_test(gauges_do_not_stand_still),
	};

	return cmocka_run_group_tests_name("clean_rows", tests, NULL, NULL);
}
