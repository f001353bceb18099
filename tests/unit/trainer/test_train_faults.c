/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/quick.h"
#include "tests/unit/tw_test.h"

#include "isolator/isolator.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/train_fixture.h"
#include "trainer/response/prom.h"
#include "trainer/train.h"
#include "trainer/train_data.h"

#include <gsl/gsl_errno.h>
#include <stdio.h>
#include <string.h>

#define ROWS 40

static void few_rows_are_trained_on_or_refused(void **state)
{
	(void)state;
	for (size_t rows = 0; rows < 8; rows++) {
		struct tw_dataset d = { 0 };
		struct tw_train_table table = train_make_counters(&d);
		struct tw_train_job job = train_make_job(&table);
		struct tw_train_result r = { 0 };
		struct tw_err err = { 0 };

		train_make_table(&d, rows);
		train_add_most(&job.abs_trainers);
		train_add_quick(&job.dyn_trainers);
		if (rows < TW_TRAIN_ROWS_MIN) {
			assert_int_equal(tw_train(&job, &r, &err), -1);
			assert_int_equal(err.code, TW_INVALID);
			assert_non_null(strstr(err.text, "no model could be made"));
			assert_int_equal(r.pipeline.count, 0);
		} else {
			if (tw_train(&job, &r, &err) < 0)
				fail_msg("%zu rows: %s", rows, err.text);
			assert_int_equal(r.models, r.rows);
		}
		tw_train_result_release(&r);
		tw_dataset_release(&d);
		train_release_job(&job);
	}
}

static void a_failing_trainer_leaves_the_others(void **state)
{
	struct tw_dataset good = { 0 }, bad = { 0 };
	struct tw_train_table tables[2] = { 0 };
	struct tw_train_job job = train_make_job(tables);
	struct tw_train_result r = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	train_make_table(&good, ROWS);
	train_make_table(&bad, ROWS);
	tw_dataset_find(&bad, "cpu_cycles")[3] = 1e300;
	tables[0] = train_make_counters(&bad);
	tables[1] = train_make_counters(&good);
	tables[1].group = tw_feature_group_find("CounterIRQCombined");
	job.table_count = 2;
	assert_int_equal(tw_strs_adds(&job.abs_trainers, "LinearRegressionTrainer", &err),
			 0);
	assert_int_equal(tw_train(&job, &r, &err), 0);
	assert_int_equal(r.rows, 2);
	assert_int_equal(r.models, 1);
	assert_string_equal(r.row[0].failure, "package: row 3, feature 'cpu_cycles': "
					      "1e+300 is not finite or too large");
	assert_string_equal(r.row[1].failure, "");
	tw_train_result_release(&r);
	tw_dataset_release(&good);
	tw_dataset_release(&bad);
	train_release_job(&job);
}

/* A response for CounterOnly and BPFOnly, with a cpu_cycles counter that may fall. */
static struct tw_prom *make_response(bool falls, bool cycles)
{
	static const char *const names[] = {
		"node_platform_joules",         "container_cache_miss",
		"container_cpu_instructions",   "container_bpf_cpu_time_ms",
		"container_bpf_page_cache_hit", "container_cpu_cycles"
	};
	struct tw_buf b = { 0 };
	struct tw_prom *p;
	struct tw_err err = { 0 };

	for (size_t i = 0; i < 5 + (size_t)cycles; i++) {
		tw_buf_addf(&b,
			    "%s\"kepler_%s_total\":[{\"metric\":{\"source\":\"acpi\","
			    "\"container_id\":\"c\"},\"values\":[",
			    i > 0 ? "," : "{", names[i]);
		for (size_t r = 0; r < 20; r++)
			tw_buf_addf(&b, "%s[%zu,\"%zu\"]", r > 0 ? "," : "", 1000 + 3 * r,
				    i == 5 && falls && r == 9 ? 0 : 100 * (i + 1) * r);
		tw_buf_adds(&b, "]}]");
	}
	tw_buf_adds(&b, "}");
	if (tw_prom_parse(b.data, b.len, &p, &err) < 0)
		fail_msg("%s", err.text);
	tw_buf_clear(&b);
	return p;
}

static void a_wrong_response_is_refused_but_a_missing_metric_is_not(void **state)
{
	struct tw_train_job job = { .name = "p", .seed = 1, .threads = 1 };
	struct tw_train_result lacking = { 0 }, wrong = { 0 }, dropped = { 0 };
	struct tw_err err = { 0 }, reset = { 0 };
	struct tw_prom *less = make_response(false, false),
		       *falls = make_response(true, true);

	(void)state;
	job.isolator = tw_isolator_find("MinIdleIsolator");
	assert_int_equal(tw_strs_adds(&job.abs_trainers, "LinearRegressionTrainer", &err),
			 0);
	train_set_response(&job, less);
	if (tw_train(&job, &lacking, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(lacking.models, 1);
	assert_string_equal(lacking.row[0].group, "BPFOnly");

	/* A source that was not measured makes no empty pipeline. */
	job.source = tw_energy_source_find("hmc");
	train_assert_refused(&job,
			     "no series of kepler_node_platform_joules_total{source="
			     "\"hmc\"}; sources of energy in the data: 'acpi'");
	job.source = NULL;

	train_set_response(&job, falls);
	job.resets = TW_RESETS_REFUSE;
	assert_int_equal(tw_train(&job, &wrong, &reset), -1);
	assert_int_equal(reset.code, TW_INVALID);
	assert_non_null(strstr(reset.text, "kepler_container_cpu_cycles_total"));
	assert_int_equal(wrong.pipeline.count, 0);
	job.resets = TW_RESETS_DROP;
	if (tw_train(&job, &dropped, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(dropped.models > 1);

	tw_train_result_release(&lacking);
	tw_train_result_release(&dropped);
	tw_prom_free(less);
	tw_prom_free(falls);
	train_release_job(&job);
}

static void the_sources_of_a_recording_that_teaches_nothing_are_named(void **state)
{
	static const char text[] =
		"{\"kepler_node_package_joules_total\":["
		"{\"metric\":{\"source\":\"estimator\"},\"values\":[[1,\"1\"],[4,\"9\"]]}"
		","
		"{\"metric\":{\"source\":\"other\"},\"values\":[[1,\"1\"],[4,\"9\"]]}],"
		"\"kepler_container_bpf_cpu_time_ms_total\":["
		"{\"metric\":{\"container_id\":\"c\"},\"values\":[[1,\"1\"],[4,\"9\"]]}]"
		"}";
	struct tw_train_job job = { .name = "p", .seed = 1, .threads = 1 };
	struct tw_prom *p = NULL;
	struct tw_err err = { 0 };

	(void)state;
	job.isolator = tw_isolator_find("MinIdleIsolator");
	assert_int_equal(tw_strs_adds(&job.abs_trainers, "LinearRegressionTrainer", &err),
			 0);
	assert_int_equal(tw_prom_parse(text, strlen(text), &p, &err), 0);
	train_set_response(&job, p);
	train_assert_refused(&job, "nothing to train on: no energy source and feature "
				   "group of which the response has all metrics (name a "
				   "group to be told what it lacks); "
				   "sources of energy in the data: 'estimator', 'other' "
				   "(see --source)");
	tw_prom_free(p);
	train_release_job(&job);
}

/* Kepler without processes and containers beside node_exporter; node_exporter alone. */
static void energy_of_another_exporter_than_the_metrics_is_named(void **state)
{
	static const char energy[] =
		"\"kepler_node_cpu_joules_total\":[{\"metric\":{\"zone\":\"package\"},"
		"\"values\":[[1,\"1\"],[4,\"9\"]]}],";
	static const char *const modes[] = { "irq", "nice", "softirq", "system", "user" };
	static const char *const others[] = { "node_context_switches_total",
					      "node_intr_total", "node_vmstat_pgfault" };
	struct tw_train_job job = { .name = "p", .seed = 1, .threads = 1 };

	(void)state;
	for (int with = 0; with < 2; with++) {
		struct tw_buf text = { 0 };
		struct tw_prom *p = NULL;
		struct tw_err err = { 0 };

		tw_buf_addf(&text, "{%s\"node_cpu_seconds_total\":[", with ? energy : "");
		for (size_t i = 0; i < TW_COUNT(modes); i++)
			tw_buf_addf(&text,
				    "%s{\"metric\":{\"cpu\":\"0\",\"mode\":\"%s\"},"
				    "\"values\":[[1,\"1\"],[4,\"2\"]]}",
				    i > 0 ? "," : "", modes[i]);
		for (size_t i = 0; i < TW_COUNT(others); i++)
			tw_buf_addf(&text,
				    "],\"%s\":[{\"metric\":{},\"values\":[[1,\"1\"]]}",
				    others[i]);
		tw_buf_adds(&text, "]}");
		assert_int_equal(tw_prom_parse(text.data, text.len, &p, &err), 0);
		train_set_response(&job, p);
		if (job.abs_trainers.count == 0)
			train_add_all(&job.abs_trainers);
		job.isolator = tw_isolator_find("MinIdleIsolator");
		train_assert_refused(
			&job,
			with ? "nothing to train on: the energy of source 'rapl-sysfs' "
			       "and the metrics of NodeCPU are of different exporters, "
			       "which are not combined"
			     : "nothing to train on: the response has no energy or "
			       "power of an exporter that is known");
		train_release_job(&job);
		job = (struct tw_train_job){ .name = "p", .seed = 1, .threads = 1 };
		tw_prom_free(p);
		tw_buf_clear(&text);
	}
}

static void bad_jobs_are_refused(void **state)
{
	struct tw_dataset d = { 0 }, empty = { 0 };
	struct tw_train_table table = train_make_counters(&d),
			      none = train_make_counters(&empty);
	struct tw_train_job job = train_make_job(&table);
	struct tw_err err = { 0 };

	(void)state;
	train_make_table(&d, ROWS);
	train_assert_refused(&job, "no trainers, for AbsPower or for DynPower");
	assert_int_equal(tw_strs_adds(&job.abs_trainers, "Nope", &err), 0);
	train_assert_refused(&job, "abs_trainers[0]: no trainer 'Nope'");
	tw_strs_clear(&job.abs_trainers);
	train_add_all(&job.abs_trainers);
	job.name = "../x";
	train_assert_refused(&job, "pipeline name '../x'");
	job.name = "p";
	job.origin = "\xff";
	train_assert_refused(&job, "the data's origin is not UTF-8");
	job.origin = NULL;
	table.origin = "\xff";
	train_assert_refused(&job, "the name of table 1 is not UTF-8");
	table.origin = NULL;
	strcpy(job.spec.vendor, "\xff");
	train_assert_refused(&job, "vendor or processor is not UTF-8");
	job.spec.vendor[0] = '\0';
	job.table_count = 0;
	train_assert_refused(&job, "nothing to train on");
	assert_int_equal(tw_dataset_init(&empty, 9, false, &err), 0);
	job.tables = &none;
	job.table_count = 1;
	train_assert_refused(&job, "the data has no feature of CounterOnly");
	assert_int_equal(tw_dataset_add(&empty, "cpu_cycles", NULL, &err), 0);
	train_assert_refused(&job, "the data has no power of rapl-sysfs");
	tw_dataset_release(&d);
	tw_dataset_release(&empty);
	train_release_job(&job);
}

static void memory_that_runs_out_fails_the_whole(void **state)
{
	struct training t;
	struct tw_err setup = { 0 };
	/* Folds and components repeat most allocations. */
	const int step = quick() ? 7 : 3;
	int failures = 0;

	(void)state;
	train_set_up(&t, 8);
	assert_int_equal(tw_strs_adds(&t.job.abs_trainers, "SGDRegressorTrainer", &setup),
			 0);
	assert_int_equal(tw_strs_adds(&t.job.dyn_trainers, "SGDRegressorTrainer", &setup),
			 0);
	t.job.folds = 2;
	for (int n = 1;; n += step) {
		struct tw_train_result r = { 0 };
		struct tw_err err = { 0 };
		int status;

		fail_alloc_at(n);
		status = tw_train(&t.job, &r, &err);
		if (!fail_alloc_told(status, &err)) {
			tw_train_result_release(&r);
			break;
		}
		assert_null(r.row);
		failures++;
	}
	assert_true(failures * step > 50);
	train_tear_down(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_rows_are_trained_on_or_refused),
		cmocka_unit_test(a_failing_trainer_leaves_the_others),
		cmocka_unit_test(a_wrong_response_is_refused_but_a_missing_metric_is_not),
		cmocka_unit_test(
			the_sources_of_a_recording_that_teaches_nothing_are_named),
		cmocka_unit_test(energy_of_another_exporter_than_the_metrics_is_named),
		cmocka_unit_test(bad_jobs_are_refused),
		cmocka_unit_test(memory_that_runs_out_fails_the_whole),
	};

	gsl_set_error_handler_off();
	return cmocka_run_group_tests_name("train_faults", tests, NULL, NULL);
}
