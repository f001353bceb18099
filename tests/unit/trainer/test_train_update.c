/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trainings into a pipeline that is there, and of several recordings.
 */
#include "tests/unit/tw_test.h"

#include "isolator/isolator.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/zip/zip.h"
#include "model-db/publish.h"
#include "profiler/node_types.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"
#include "tests/unit/train_fixture.h"
#include "trainer/response/prom.h"
#include "trainer/train.h"

#include <gsl/gsl_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUP "acpi/AbsPower/BPFOnly/"
#define LINEAR "LinearRegressionTrainer"
#define RIDGE "SGDRegressorTrainer"

static struct tw_train_job make_job(const char *trainers)
{
	struct tw_train_job job = { .name = "p", .seed = 1, .threads = 1 };
	struct tw_err err = { 0 };

	job.isolator = tw_isolator_find("MinIdleIsolator");
	assert_int_equal(tw_strs_split(&job.abs_trainers, trainers, &err), 0);
	return job;
}

/* Train on the machines of one response, with what db has of the pipeline. */
static void train_for(const char *db, const char *machines, const char *trainers,
		      struct tw_train_result *r)
{
	struct tw_train_job job = make_job(trainers);
	struct tw_prom *p = train_make_machines(machines);
	struct tw_node_types known = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_pipeline_known(db, "p", &known, &err), 0);
	job.known = &known;
	train_set_response(&job, p);
	if (tw_train(&job, r, &err) < 0)
		fail_msg("%s", err.text);
	tw_node_types_release(&known);
	tw_prom_free(p);
	train_release_job(&job);
}

/* Train, add to db's pipeline, and give back what db has now. */
static void update(const char *db, const char *machines, const char *trainers,
		   struct tw_fileset *now)
{
	struct tw_train_result r = { 0 };
	struct tw_err err = { 0 };
	char *path = NULL;

	train_for(db, machines, trainers, &r);
	if (tw_pipeline_update(db, "p", &r.pipeline, NULL, &err) < 0)
		fail_msg("%s", err.text);
	tw_train_result_release(&r);
	assert_int_equal(tw_path_join(&path, &err, db, "p", NULL), 0);
	if (tw_fileset_read_dir(now, path, &tw_zip_pipeline_limits, &err) < 0)
		fail_msg("%s", err.text);
	free(path);
}

static const struct tw_fileset_file *file_of(const struct tw_fileset *s, const char *name)
{
	const struct tw_fileset_file *f = tw_fileset_find(s, name);

	if (f == NULL)
		fail_msg("there is no file '%s'", name);
	return f;
}

static void assert_same_file(const struct tw_fileset *a, const struct tw_fileset *b,
			     const char *name)
{
	const struct tw_fileset_file *x = file_of(a, name), *y = file_of(b, name);

	assert_int_equal(x->len, y->len);
	assert_memory_equal(x->data, y->data, x->len);
}

static void a_second_run_adds_a_node_type_and_keeps_the_first(void **state)
{
	struct tw_fileset first = { 0 }, second = { 0 };
	struct tw_node_types types = { 0 };
	struct tw_err err = { 0 };
	char *db = scratch_new();

	(void)state;
	update(db, "b", LINEAR "," RIDGE, &first);
	update(db, "a", LINEAR, &second);
	assert_same_file(&first, &second, GROUP LINEAR "_0.zip");
	assert_same_file(&first, &second, GROUP RIDGE "_0/weight.json");
	file_of(&second, GROUP LINEAR "_1.zip");
	assert_null(tw_fileset_find(&second, GROUP RIDGE "_1.zip"));
	assert_int_equal(tw_pipeline_known(db, "p", &types, &err), 0);
	assert_int_equal(types.count, 2);
	assert_string_equal(types.at[0].members.at[0], "b");
	assert_string_equal(types.at[1].members.at[0], "a");
	tw_node_types_release(&types);
	assert_non_null(strstr(file_of(&second, "metadata.json")->data, RIDGE));
	assert_non_null(strstr(file_of(&second, "acpi_AbsPower_model_metadata.csv")->data,
			       RIDGE "_0,linear"));
	assert_non_null(strstr(file_of(&second, "acpi_AbsPower_model_metadata.csv")->data,
			       LINEAR "_1,linear"));
	assert_null(strstr(file_of(&second, "train_arguments.json")->data, RIDGE));
	tw_fileset_clear(&first);
	tw_fileset_clear(&second);
	scratch_free(db);
}

/* b is 0 here, though by name it would come behind a. */
static void a_machine_is_known_again_and_only_what_was_trained_is_replaced(void **state)
{
	struct tw_fileset first = { 0 }, second = { 0 }, third = { 0 };
	char *db = scratch_new();

	(void)state;
	update(db, "b", LINEAR "," RIDGE, &first);
	update(db, "ab", RIDGE, &second);
	assert_same_file(&first, &second, GROUP RIDGE "_0/platform.json");
	assert_same_file(&first, &second, GROUP LINEAR "_0.zip");
	file_of(&second, GROUP RIDGE "_1.zip");
	/* The same again changes nothing but the arguments' file. */
	update(db, "ab", RIDGE, &third);
	assert_int_equal(second.count, third.count);
	for (size_t i = 0; i < second.count; i++)
		assert_same_file(&second, &third, second.at[i].name);
	tw_fileset_clear(&first);
	tw_fileset_clear(&second);
	tw_fileset_clear(&third);
	scratch_free(db);
}

static void a_pipeline_that_changed_meanwhile_is_not_mixed_up(void **state)
{
	struct tw_train_result late = { 0 };
	struct tw_fileset now = { 0 };
	struct tw_err err = { 0 };
	char *db = scratch_new();

	(void)state;
	train_for(db, "a", LINEAR, &late); /* as node type 0 */
	update(db, "b", LINEAR, &now);
	assert_int_equal(tw_pipeline_update(db, "p", &late.pipeline, NULL, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_non_null(
		strstr(err.text, "node type 0 of this training is 1 there; train again"));
	tw_train_result_release(&late);
	tw_fileset_clear(&now);
	scratch_free(db);
}

static void an_unreadable_pipeline_is_not_lost(void **state)
{
	struct tw_train_result r = { 0 };
	struct tw_fileset now = { 0 };
	struct tw_err err = { 0 };
	char *db = scratch_new(), *path = NULL;

	(void)state;
	update(db, "b", LINEAR "," RIDGE, &now);
	assert_int_equal(tw_path_join(&path, &err, db, "p", "acpi", "AbsPower", "BPFOnly",
				      RIDGE "_0.zip", NULL),
			 0);
	assert_int_equal(tw_file_replace(path, "no zip", 6, &err), 0);
	train_for(db, "b", LINEAR, &r);
	assert_int_equal(tw_pipeline_update(db, "p", &r.pipeline, NULL, &err), -1);
	assert_non_null(strstr(err.text, GROUP RIDGE "_0.zip"));
	tw_train_result_release(&r);
	tw_fileset_clear(&now);
	free(path);
	scratch_free(db);
}

static void every_failed_allocation_of_an_update_is_reported(void **state)
{
	struct tw_train_result r = { 0 };
	struct tw_fileset now = { 0 };
	char *db = scratch_new();
	int failures = 0;

	(void)state;
	update(db, "b", LINEAR, &now);
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		int status;

		train_for(db, "a", LINEAR, &r);
		fail_alloc_at(n);
		status = tw_pipeline_update(db, "p", &r.pipeline, NULL, &err);
		tw_train_result_release(&r);
		if (!fail_alloc_told(status, &err))
			break;
		failures++;
	}
	assert_true(failures > 50);
	tw_fileset_clear(&now);
	scratch_free(db);
}

/* ---- several recordings ---- */

/* Load and power of node a from `from` on, 20 samples; after a pause with other counts.
 */
static struct tw_prom *make_recording(size_t from, size_t first)
{
	struct tw_buf b = { 0 };
	struct tw_prom *p = NULL;
	struct tw_err err = { 0 };

	tw_buf_adds(&b, "{\"kepler_container_cpu_seconds_total\":[{\"metric\":{\"node_"
			"name\":\"a\"},\"values\":[");
	for (size_t r = 0; r < 20; r++)
		tw_buf_addf(&b, "%s[%zu,\"%zu\"]", r > 0 ? "," : "", from + 3 * r,
			    first + 3 * r * r);
	tw_buf_adds(&b, "]}],\"kepler_platform_watts\":[{\"metric\":{\"node_name\":\"a\","
			"\"source\":\"acpi\"},\"values\":[");
	for (size_t r = 0; r < 20; r++)
		tw_buf_addf(&b, "%s[%zu,\"%zu\"]", r > 0 ? "," : "", from + 3 * r,
			    20 + 2 * r);
	tw_buf_adds(&b, "]}]}");
	if (tw_prom_parse(b.data, b.len, &p, &err) < 0)
		fail_msg("%s", err.text);
	tw_buf_clear(&b);
	return p;
}

static void recordings_of_a_machine_are_put_together(void **state)
{
	struct tw_prom *early = make_recording(1000, 0), *late = make_recording(9000, 5);
	const struct tw_train_response both[] = { { .prom = late, .origin = "late.json" },
						  { .prom = early,
						    .origin = "early.json" } };
	struct tw_train_job job = make_job(LINEAR);
	struct tw_train_result r = { 0 };
	struct tw_err err = { 0 };
	json_t *m;

	(void)state;
	job.responses = both;
	job.response_count = 2;
	if (tw_train(&job, &r, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(r.machines, 1);
	assert_int_equal(r.models, 1);
	assert_int_equal(r.row[0].rows, 2 * 19);
	/* 20 W and 2 W a sample; 6 s of work each 3 s more: no rate across the pause. */
	assert_true(r.row[0].mae_w < 0.5);
	m = train_parse_file(&r, "acpi/AbsPower/BPFOnly/" LINEAR "_0/metadata.json");
	assert_string_equal(json_string_value(json_object_get(m, "data_origin")),
			    "late.json,early.json");
	json_decref(m);
	tw_train_result_release(&r);
	tw_prom_free(early);
	tw_prom_free(late);
	train_release_job(&job);
}

static void the_same_time_twice_is_refused(void **state)
{
	struct tw_prom *once = make_recording(1000, 0);
	const struct tw_train_response both[] = { { .prom = once, .origin = "once.json" },
						  { .prom = once,
						    .origin = "again.json" } };
	struct tw_train_job job = make_job(LINEAR);

	(void)state;
	job.responses = both;
	job.response_count = 2;
	train_assert_refused(&job, "recordings 1 and 2 both have a row at 1003000 ms");
	tw_prom_free(once);
	train_release_job(&job);
}

static void an_input_without_a_machine_is_named(void **state)
{
	struct tw_prom *ab = train_make_machines("ab"), *a = train_make_machines("a");
	const struct tw_train_response named[] = {
		{ .prom = ab, .origin = "ab.json" },
		{ .prom = a, .machine = "c", .origin = "a.json" }
	};
	struct tw_train_response wrong = { .prom = ab,
					   .machine = "c",
					   .origin = "ab.json" };
	struct tw_train_job job = make_job(LINEAR);
	struct tw_train_result r = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	job.responses = named;
	job.response_count = 2;
	if (tw_train(&job, &r, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(r.machines, 3);
	assert_string_equal(r.row[2].machine, "c");
	assert_true(r.row[2].mae_w == r.row[0].mae_w);
	job.responses = &wrong;
	job.response_count = 1;
	train_assert_refused(&job, "said to be of 'c', and holds 2 machines");
	tw_train_result_release(&r);
	tw_prom_free(ab);
	tw_prom_free(a);
	train_release_job(&job);
}

static void each_machine_may_have_its_spec(void **state)
{
	struct tw_train_spec spec[] = { { "b", { .cores = 8 } } };
	struct tw_prom *ab = train_make_machines("ab");
	struct tw_train_job job = make_job(LINEAR);
	struct tw_train_result r = { 0 };
	struct tw_err err = { 0 };
	json_t *index;

	(void)state;
	train_set_response(&job, ab);
	job.specs = spec;
	job.spec_count = 1;
	if (tw_train(&job, &r, &err) < 0)
		fail_msg("%s", err.text);
	index = train_parse_file(&r, "node_type_index.json");
	assert_int_equal(
		json_integer_value(json_object_get(
			json_object_get(json_object_get(index, "1"), "attrs"), "cores")),
		8);
	json_decref(index);
	spec[0].machine = "d";
	train_assert_refused(&job, "a spec is given for machine 'd'");
	tw_train_result_release(&r);
	tw_prom_free(ab);
	train_release_job(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_second_run_adds_a_node_type_and_keeps_the_first),
		cmocka_unit_test(
			a_machine_is_known_again_and_only_what_was_trained_is_replaced),
		cmocka_unit_test(a_pipeline_that_changed_meanwhile_is_not_mixed_up),
		cmocka_unit_test(an_unreadable_pipeline_is_not_lost),
		cmocka_unit_test(every_failed_allocation_of_an_update_is_reported),
		cmocka_unit_test(recordings_of_a_machine_are_put_together),
		cmocka_unit_test(the_same_time_twice_is_refused),
		cmocka_unit_test(an_input_without_a_machine_is_named),
		cmocka_unit_test(each_machine_may_have_its_spec),
	};

	gsl_set_error_handler_off();
	return cmocka_run_group_tests_name("train_update", tests, NULL, NULL);
}
