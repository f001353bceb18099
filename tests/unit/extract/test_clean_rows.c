/* SPDX-License-Identifier: Apache-2.0 */
/* See also tests/integration/test_damage.py. */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/field/dataset.h"
#include "tests/unit/extract/rows_fixture.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/sampled.h"
#include "trainer/extract/clean_rows.h"
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
	for (double tdp_w = 30; tdp_w <= 60; tdp_w += 30) {
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
		assert_int_equal(q.clean.outliers, tdp_w == 30 ? 3 : 0);
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

/* ---- rows that a test writes ---- */

/* A few rows have no usual power: only TDP limits them, and any number may be wrong. */
static void a_few_rows_are_judged_by_tdp_alone(void **state)
{
	static const struct {
		size_t rows, wrong;
		double tdp_w;
		size_t outliers;
		int status;
	} cases[] = {
		{ 19, 3, 0, 0, 0 },   { 19, 3, 100, 3, 0 },  { 20, 2, 0, 2, 0 },
		{ 20, 2, 100, 2, 0 }, { 20, 3, 100, 0, -1 },
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++) {
		static struct rows_fixture f;
		struct tw_clean_counts n = { 0 };
		struct tw_err err = { 0 };

		rows_write(&f);
		f.args.tdp_w = cases[k].tdp_w;
		f.rates.end = f.power.times = cases[k].rows;
		for (size_t i = 0; i < cases[k].wrong; i++)
			f.watts[0][6 * i] = 9999;
		assert_int_equal(tw_clean_rows(&f.power, &f.rows, &f.rates, &n, &err),
				 cases[k].status);
		assert_int_equal(n.outliers, cases[k].outliers);
		assert_int_equal(f.power.times, cases[k].rows - cases[k].outliers);
		if (n.outliers > 0) {
			assert_int_equal(n.first_ms, 1000);
			assert_true(n.first_w == 9999);
		}
	}
}

/* A workload appears in row 30 or later that ran before. */
static void rows_that_lack_a_workloads_work_are_dropped(void **state)
{
	static const struct {
		size_t lack; /* rows with 0.6 of their work */
		struct tw_hidden at;
		size_t dropped;
		bool most;
	} cases[] = {
		{ 0, { { 30000 }, 1 }, 0, false },
		{ 30, { { 30000 }, 1 }, 30, false },
		{ 30, { { 29001 }, 1 }, 30, false },
		{ 30, { { 0 }, 0 }, 0, false },
		{ 30, { { 3000, 30000 }, 2 }, 30, false },
		/* The rows after it are too few to show it. */
		{ 50, { { 50000 }, 1 }, 0, true },
		{ 50, { { 30000, 50000 }, 2 }, 0, true },
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++) {
		static struct rows_fixture f;
		struct tw_clean_counts n = { 0 };
		struct tw_err err = { 0 };

		rows_write(&f);
		for (size_t i = 0; i < cases[k].lack; i++)
			f.cpu_ms[i] *= 0.6;
		assert_int_equal(tw_drop_unseen_rows(&f.power, &f.rows, &f.rates,
						     &cases[k].at, &n, &err),
				 0);
		if (n.unseen != cases[k].dropped || n.unseen_most != cases[k].most)
			fail_msg("case %zu: %zu, %d", k, n.unseen, n.unseen_most);
		assert_int_equal(f.power.times, ROWS - n.unseen);
		assert_int_equal(f.time_ms[0], 1000 * (n.unseen + 1));
	}
}

/* Power of the row before, this share of it. */
static void lag(struct rows_fixture *f, double share)
{
	for (size_t i = ROWS; i-- > 1;)
		f->watts[0][i] += share * (f->watts[0][i - 1] - f->watts[0][i]);
}

/* A gauge, or a meter with inertia. Energy of a counter without is that of its work. */
static void rows_of_a_changing_load_are_dropped(void **state)
{
	static const struct {
		size_t steady; /* rows of a load */
		double share, grown_j;
		bool dropped, unsure;
	} cases[] = {
		{ 6, 0, 0, false, false },     { 6, 1, 0, true, false },
		{ 6, 0.2, 0, true, false },    { 6, 0, 1e6, false, false },
		{ 6, 0.2, 1e6, false, false }, { 6, 1, 1e6, true, false },
		{ 1, 1, 0, false, true },
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++) {
		static struct rows_fixture f;
		struct tw_clean_counts n = { 0 };
		struct tw_err err = { 0 };
		size_t off = 0;

		rows_write(&f);
		for (size_t i = 0; i < ROWS; i++)
			rows_set(&f, i, (double)(i / cases[k].steady * 7 % 11) / 5);
		lag(&f, cases[k].share);
		f.power.grown_j = cases[k].grown_j;
		assert_int_equal(
			tw_drop_unsteady_rows(&f.power, &f.rows, &f.rates, &n, &err), 0);
		if ((n.unsteady > 0) != cases[k].dropped || n.unsure != cases[k].unsure)
			fail_msg("case %zu: %zu, %d", k, n.unsteady, n.unsure);
		assert_int_equal(f.power.times, ROWS - n.unsteady);
		for (size_t i = 0; i < f.power.times; i++) {
			const size_t row = (size_t)f.from_ms[i] / 1000;

			off += fabs(f.watts[0][i] - REST_W -
				    CPU_W * f.cpu_ms[row] / 1000) > 1e-9;
		}
		if (cases[k].dropped)
			assert_int_equal(off, 0);
	}
}

/* A row far off the line is a glitch, unless the meter has the power of other rows. */
static void rows_of_a_meter_with_inertia_stay(void **state)
{
	static const struct {
		double share, more_w;
		size_t outliers;
	} cases[] = { { 0, 50, 1 }, { 1, 50, 0 }, { 0, 5000, 1 }, { 1, 5000, 1 } };

	(void)state;
	for (size_t k = 0; k < 2 * TW_COUNT(cases); k++) {
		static struct rows_fixture f;
		struct tw_clean_counts n = { 0 };
		struct tw_err err = { 0 };

		rows_write(&f);
		lag(&f, cases[k / 2].share);
		f.watts[0][33] += cases[k / 2].more_w;
		f.power.grown_j = k % 2 == 0 ? 0 : 1e6;
		assert_int_equal(tw_clean_rows(&f.power, &f.rows, &f.rates, &n, &err), 0);
		if (n.outliers != cases[k / 2].outliers)
			fail_msg("case %zu: %zu", k, n.outliers);
		assert_int_equal(n.standing, 0);
		assert_int_equal(f.power.times, ROWS - n.outliers);
	}
}

/* Rows of a second, and scrapes each 2 s: a row has the work of both seconds, or none. */
static void a_row_without_a_scrape_is_part_of_the_next(void **state)
{
	(void)state;
	for (size_t first = 0; first < 2; first++) {
		static struct rows_fixture f;
		struct tw_clean_counts n = { 0 };
		struct tw_err err = { 0 };

		rows_write(&f);
		f.power.grown_j = 0;
		for (size_t i = 0; i < ROWS; i++)
			rows_set(&f, i, (double)(i / 2 * 7 % 11) / 5);
		for (size_t i = 0; i < ROWS; i++) {
			if (i % 2 == first) {
				f.cpu_ms[i] *= 2;
				continue;
			}
			f.cpu_ms[i] = 0;
			if (i > 0)
				f.watts[0][i] = f.watts[0][i - 1];
		}
		assert_int_equal(tw_clean_rows(&f.power, &f.rows, &f.rates, &n, &err), 0);
		assert_int_equal(n.joined, ROWS / 2);
		assert_int_equal(n.outliers + n.standing, 0);
		assert_true(n.scrapes_s == 0);
		assert_int_equal(f.power.times, ROWS / 2);
		for (size_t i = 0; i < ROWS / 2; i++) {
			const int64_t to_ms = (int64_t)(2 * i + first + 1) * 1000;

			assert_int_equal(f.time_ms[i], to_ms);
			assert_int_equal(f.from_ms[i], to_ms > 1000 ? to_ms - 2000 : 0);
		}
	}
}

static int clean_all(struct rows_fixture *f, struct tw_err *err)
{
	const struct tw_hidden at = { { 30000 }, 1 };
	struct tw_clean_counts n = { 0 };

	return tw_clean_rows(&f->power, &f->rows, &f->rates, &n, err) < 0 ||
			       tw_drop_unseen_rows(&f->power, &f->rows, &f->rates, &at,
						   &n, err) < 0 ||
			       tw_drop_unsteady_rows(&f->power, &f->rows, &f->rates, &n,
						     err) < 0
		       ? -1
		       : 0;
}

static void without_memory_no_row_is_dropped(void **state)
{
	(void)state;
	for (int inert = 0; inert < 2; inert++)
		for (int n = 1;; n++) {
			static struct rows_fixture f;
			struct tw_err err = { 0 };
			int rc;

			rows_write(&f);
			f.power.grown_j = 0;
			lag(&f, inert);
			fail_alloc_at(n);
			rc = clean_all(&f, &err);
			if (!fail_alloc_told(rc, &err))
				break;
			assert_int_equal(f.power.times, ROWS);
		}
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
		cmocka_unit_test(a_few_rows_are_judged_by_tdp_alone),
		cmocka_unit_test(rows_that_lack_a_workloads_work_are_dropped),
		cmocka_unit_test(rows_of_a_changing_load_are_dropped),
		cmocka_unit_test(rows_of_a_meter_with_inertia_stay),
		cmocka_unit_test(a_row_without_a_scrape_is_part_of_the_next),
		cmocka_unit_test(without_memory_no_row_is_dropped),
	};

	return cmocka_run_group_tests_name("clean_rows", tests, NULL, NULL);
}
