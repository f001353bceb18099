/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models against recordings: `tallywatt validate`.
 */
#include "tests/unit/tw_test.h"

#include "cli/evaluate.h"
#include "estimator/predict/power_model.h"
#include "isolator/isolator.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/field/csv.h"
#include "lib/json/json.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/sample_model.h"
#include "tests/unit/scratch.h"
#include "tests/unit/train_fixture.h"

#include <gsl/gsl_errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Package power is 20 W and 3 nW a cycle, as train_make_table() has it; dram is 0 W. */
static const char law[] =
	"{\"All_Weights\":{\"Bias_Weight\":20,\"Categorical_Variables\":{},"
	"\"Numerical_Variables\":{\"cache_miss\":{\"scale\":1,\"weight\":0},"
	"\"cpu_cycles\":{\"scale\":1e9,\"weight\":3},"
	"\"cpu_instructions\":{\"scale\":1,\"weight\":0}}}}";

static struct tw_power_model *make_model(enum tw_output output, const char *metadata)
{
	struct tw_power_model *p = NULL;
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };

	sample_model(
		&(struct sample){ .text = law, .output = output, .metadata = metadata },
		&m);
	if (tw_power_model_new(&m, &p, &err) < 0)
		fail_msg("%s", err.text);
	return p;
}

/* The data as a file of a scratch directory, read for judging. */
static void read_data(const struct tw_dataset *d, struct tw_evaluation *j)
{
	char *dir = scratch_new(), *path = NULL;
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };

	tw_csv_write(d, &b);
	assert_int_equal(tw_path_join(&path, &err, dir, "t.csv", NULL), 0);
	assert_int_equal(tw_file_replace(path, b.data, b.len, &err), 0);
	if (tw_evaluation_read(j, path, NULL, &err) < 0)
		fail_msg("%s", err.text);
	tw_buf_clear(&b);
	free(path);
	scratch_free(dir);
}

static void a_right_model_passes_and_a_wrong_component_is_named(void **state)
{
	struct tw_power_model *p = make_model(TW_ABS_POWER, NULL);
	struct tw_dataset d = { 0 };
	struct tw_evaluated g = { 0 };
	struct tw_evaluation j = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	train_make_table(&d, 40);
	read_data(&d, &j);
	assert_int_equal(tw_evaluate_model(&j, p, &g, &err), 0);
	assert_null(g.isolator);
	assert_int_equal(g.all.rows, 40);
	assert_int_equal(g.all.components, 2);
	assert_int_equal(g.all.component[0], TW_PACKAGE);
	assert_true(g.all.score[0].mae < 1e-9);
	/* dram draws 5 W, and the law is the package's. */
	assert_int_equal(g.all.component[1], TW_DRAM);
	assert_true(g.all.score[1].bias > 14.9);
	tw_evaluated_release(&g);
	tw_evaluation_release(&j);
	tw_dataset_release(&d);
	tw_power_model_free(p);
}

static void a_model_of_workloads_is_judged_above_idle_power(void **state)
{
	struct tw_power_model *p = make_model(TW_DYN_POWER, "{\"isolator\":"
							    "\"NoneIsolator\"}");
	struct tw_dataset d = { 0 };
	struct tw_evaluated own = { 0 }, other = { 0 };
	struct tw_evaluation j = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	train_make_table(&d, 40);
	read_data(&d, &j);
	assert_int_equal(tw_evaluate_model(&j, p, &own, &err), 0);
	assert_string_equal(own.isolator->name, "NoneIsolator");
	assert_true(own.all.score[0].mae < 1e-9);
	j.isolator = tw_isolator_find("MinIdleIsolator");
	assert_int_equal(tw_evaluate_model(&j, p, &other, &err), 0);
	/* 20 W are taken away, which the model still has. */
	assert_true(fabs(other.all.score[0].bias - 20) < 1e-9);
	tw_evaluated_release(&own);
	tw_evaluated_release(&other);
	tw_evaluation_release(&j);
	tw_dataset_release(&d);
	tw_power_model_free(p);
}

static void rows_that_the_model_may_have_seen_are_counted(void **state)
{
	/* The first eleven of 40 rows, three seconds apart. */
	struct tw_power_model *p =
		make_model(TW_ABS_POWER, "{\"data_first\":\"2023-11-14T22:13:20.000Z\","
					 "\"data_last\":\"2023-11-14T22:13:50.000Z\"}");
	struct tw_dataset d = { 0 };
	struct tw_evaluated g = { 0 };
	struct tw_evaluation j = { 0 };
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	train_make_table(&d, 40);
	read_data(&d, &j);
	assert_int_equal(tw_evaluate_model(&j, p, &g, &err), 0);
	assert_int_equal(g.all.seen, 11);
	tw_evaluated_to_text(&g, "m_0.zip", &text);
	assert_non_null(strstr(text.data, "  95 % interval    component  within %"));
	assert_non_null(strstr(text.data, "11 of 40 rows are of the time of its training "
					  "data"));
	tw_buf_clear(&text);
	tw_evaluated_release(&g);
	tw_evaluation_release(&j);
	tw_dataset_release(&d);
	tw_power_model_free(p);
}

static void each_workload_is_judged_by_itself(void **state)
{
	static const char runs[] = "workload,start,end\nlow,1700000000,1700000030\n"
				   "high,1700000030,1700000060\nnever,1,2\n";
	struct tw_power_model *p = make_model(TW_ABS_POWER, NULL);
	struct tw_dataset d = { 0 };
	struct tw_evaluated g = { 0 };
	struct tw_evaluation j = { 0 };
	struct tw_err err = { 0 };
	const json_t *workloads;
	struct tw_buf b = { 0 };
	json_t *obj = NULL;

	(void)state;
	train_make_table(&d, 40);
	for (size_t r = 10; r < 20; r++)
		tw_dataset_find(&d, "package_power")[r] += 7;
	read_data(&d, &j);
	assert_int_equal(tw_workload_runs_read(runs, strlen(runs), &j.workloads, &err),
			 0);
	assert_int_equal(tw_evaluate_model(&j, p, &g, &err), 0);
	assert_true(g.by_workload[0].score[0].mae < 1e-9);
	assert_true(fabs(g.by_workload[1].score[0].bias + 7) < 1e-9);
	assert_int_equal(g.by_workload[2].rows, 0);
	tw_evaluated_add_json(&g, "m", "t.csv", &b);
	assert_int_equal(tw_json_parse(b.data, b.len, "figures", &obj, &err), 0);
	tw_buf_clear(&b);
	workloads = json_object_get(obj, "workloads");
	assert_int_equal(json_object_size(workloads), 2);
	assert_int_equal(json_integer_value(json_object_get(
				 json_object_get(workloads, "high"), "rows")),
			 10);
	json_decref(obj);
	tw_evaluated_release(&g);
	tw_evaluation_release(&j);
	tw_dataset_release(&d);
	tw_power_model_free(p);
}

static void missing_members_are_named(void **state)
{
	struct tw_power_model *p = make_model(TW_ABS_POWER, NULL);
	struct tw_err no_feature = { 0 }, no_power = { 0 }, err = { 0 }, absent = { 0 };
	struct tw_evaluation without = { 0 }, powerless = { 0 }, none = { 0 };
	struct tw_dataset d = { 0 };
	struct tw_evaluated g = { 0 };

	(void)state;
	assert_int_equal(tw_dataset_init(&d, 3, false, &err), 0);
	for (int r = 0; r < 3; r++)
		d.time_ms[r] = 1000 * r;
	assert_int_equal(tw_dataset_add(&d, "cpu_cycles", NULL, &err), 0);
	read_data(&d, &without);
	assert_int_equal(tw_evaluate_model(&without, p, &g, &no_feature), -1);
	assert_int_equal(no_feature.code, TW_NOTFOUND);
	assert_non_null(strstr(no_feature.text, "cache_miss"));
	assert_int_equal(tw_dataset_add(&d, "cache_miss", NULL, &err), 0);
	assert_int_equal(tw_dataset_add(&d, "cpu_instructions", NULL, &err), 0);
	read_data(&d, &powerless);
	assert_int_equal(tw_evaluate_model(&powerless, p, &g, &no_power), -1);
	assert_string_equal(no_power.text,
			    "the data has power of none of the model's components");
	assert_int_equal(tw_evaluation_read(&none, "/nonexistent/x.json", NULL, &absent),
			 -1);
	assert_non_null(strstr(absent.text, "/nonexistent/x.json"));
	tw_evaluation_release(&without);
	tw_evaluation_release(&powerless);
	tw_dataset_release(&d);
	tw_power_model_free(p);
}

struct judging {
	struct tw_evaluation j;
	struct tw_power_model *p;
};

static int judge(void *arg, struct tw_err *err)
{
	const struct judging *a = arg;
	struct tw_evaluated g = { 0 };
	const int rc = tw_evaluate_model(&a->j, a->p, &g, err);

	tw_evaluated_release(&g);
	return rc;
}

static void every_failed_allocation_is_reported(void **state)
{
	struct judging a = { .p = make_model(TW_DYN_POWER, NULL) };
	struct tw_dataset d = { 0 };
	size_t ended = 0;
	int n = 1;

	(void)state;
	train_make_table(&d, 8);
	read_data(&d, &a.j);
	while (fail_alloc_ends(n, judge, &a, &ended))
		n++;
	assert_true(n > 20 && ended > 0);
	tw_evaluation_release(&a.j);
	tw_dataset_release(&d);
	tw_power_model_free(a.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_right_model_passes_and_a_wrong_component_is_named),
		cmocka_unit_test(a_model_of_workloads_is_judged_above_idle_power),
		cmocka_unit_test(rows_that_the_model_may_have_seen_are_counted),
		cmocka_unit_test(each_workload_is_judged_by_itself),
		cmocka_unit_test(missing_members_are_named),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	gsl_set_error_handler_off();
	return cmocka_run_group_tests_name("judged", tests, NULL, NULL);
}
