/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "model-db/index/index.h"
#include "model-db/index/index_load.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/loaded_index.h"
#include "tests/unit/sample_model.h"
#include "tests/unit/scratch.h"
#include "tests/unit/shared.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct sample samples[] = {
	{ .trainer = "XgboostFitTrainer", .predictor = "xgboost", .group = "BPFOnly" },
	{ .node_type = 10 },
	{ .node_type = 2 },
	{ .output = TW_DYN_POWER },
	{ .source = "acpi", .group = "BPFOnly", .spec = { .cores = 4 } },
};

static void models_are_found_in_order(void **state)
{
	static const char *const want[] = {
		"a acpi AbsPower BPFOnly SGDRegressorTrainer_0",
		"a rapl-sysfs AbsPower BPFOnly XgboostFitTrainer_0",
		"a rapl-sysfs AbsPower CounterOnly SGDRegressorTrainer_10",
		"a rapl-sysfs AbsPower CounterOnly SGDRegressorTrainer_2",
		"a rapl-sysfs DynPower CounterOnly SGDRegressorTrainer_0",
		"b rapl-sysfs AbsPower CounterOnly SGDRegressorTrainer_2",
	};
	char *db = scratch_new();
	struct tw_index *x;
	struct refused r;

	(void)state;
	sample_publish(db, "b", &samples[2], 1);
	sample_publish(db, "a", samples, 5);
	x = load_index(db, &r);
	assert_int_equal(r.count, 0);
	assert_int_equal(tw_index_count(x), 6);
	for (size_t i = 0; i < 6; i++) {
		const struct tw_index_entry *e = tw_index_at(x, i);
		char got[256];

		snprintf(got, sizeof(got), "%s %s %s %s %s", e->pipeline, e->source->name,
			 tw_output_name(e->output), e->group->name, e->name);
		assert_string_equal(got, want[i]);
		assert_int_equal(access(e->zip_path, R_OK), 0);
	}
	tw_index_unref(x);
	scratch_free(db);
}

/* As a client of series ranks them; an error of -1 could not be computed. */
static void a_model_without_an_error_of_its_own_has_its_worst_components(void **state)
{
	static const struct sample parts[] = {
		{ .metadata = "{\"package_mae\":4,\"dram_mae\":6,\"core_mae\":-1}",
		  .mae_w = NAN },
		{ .metadata = "{\"package_mae\":-1}", .mae_w = NAN, .node_type = 2 },
		{ .metadata = "{\"package_mae\":4}", .mae_w = 3, .node_type = 3 },
	};
	static const double want[] = { 6, NAN, 3 };
	char *db = scratch_new();
	struct refused r;
	struct tw_index *x;

	(void)state;
	sample_publish(db, "a", parts, 3);
	x = load_index(db, &r);
	assert_int_equal(tw_index_count(x), 3);
	for (size_t i = 0; i < 3; i++) {
		const double error = tw_index_at(x, i)->series_error;

		/* In steps of 2 %. */
		if (isnan(want[i]))
			assert_true(isnan(error));
		else
			assert_float_equal(error, want[i], 0.02 * want[i]);
	}
	tw_index_unref(x);
	scratch_free(db);
}

static void an_absent_or_empty_database_is_an_empty_index(void **state)
{
	char *db = scratch_new(), absent[512];
	struct refused r;
	struct tw_index *x;

	(void)state;
	snprintf(absent, sizeof(absent), "%s/absent", db);
	x = load_index(absent, &r);
	assert_int_equal(tw_index_count(x), 0);
	assert_int_equal(r.count, 0);
	tw_index_unref(x);
	x = load_index(db, &r);
	assert_int_equal(tw_index_count(x), 0);
	tw_index_unref(x);
	scratch_free(db);
}

static void put(const char *db, const char *name, const char *text)
{
	struct tw_err err = { 0 };
	char path[512], dir[512];

	snprintf(path, sizeof(path), "%s/%s", db, name);
	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path), path);
	if (tw_dir_make(dir, &err) < 0 ||
	    tw_file_create(path, text, strlen(text), &err) < 0)
		fail_msg("%s", err.text);
}

static void move(const char *db, const char *from, const char *to)
{
	char old[512], new[512];

	snprintf(old, sizeof(old), "%s/%s", db, from);
	snprintf(new, sizeof(new), "%s/%s", db, to);
	assert_int_equal(rename(old, new), 0);
}

/* As a directory that was made by hand: any file in it counts. */
static void remove_manifest(const char *db, const char *pipeline)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s/manifest.json", db, pipeline);
	assert_int_equal(unlink(path), 0);
}

static void broken_models_are_refused_and_the_others_served(void **state)
{
	static const char *const want[] = {
		"/bad name: pipeline name 'bad name'",
		"/p/rapl-sysfs/AbsPower/AllOfThem: no such feature group",
		"/p/rapl-sysfs/AbsPower/CounterOnly/Broken_0.zip: ",
		"/p/rapl-sysfs/AbsPower/CounterOnly/Empty_0.zip: ",
		"/p/rapl-sysfs/AbsPower/CounterOnly/Link_0.zip: is a symbolic link",
		"/p/rapl-sysfs/AbsPower/CounterOnly/Renamed_0.zip: metadata.json "
		"has the model name 'SGDRegressorTrainer_10'",
		"/p/rapl-sysfs/DynPower/BPFOnly/SGDRegressorTrainer_0.zip: "
		"metadata.json places the model in rapl-sysfs/DynPower/CounterOnly",
		"/p/rapl-sysfs/ThirdPower: no such output type",
		"/p/sunlight: no such energy source",
	};
	char *db = scratch_new(), path[512];
	struct tw_index *x;
	struct refused r;

	(void)state;
	sample_publish(db, "p", samples, 4);
	remove_manifest(db, "p");
	put(db, "README", "foreign");
	put(db, ".new-q/rapl-sysfs/AbsPower/CounterOnly/Half_0.zip", "half");
	put(db, "bad name/x", "");
	put(db, "p/sunlight/x", "");
	put(db, "p/rapl-sysfs/notes.txt", "foreign");
	put(db, "p/rapl-sysfs/ThirdPower/x", "");
	put(db, "p/rapl-sysfs/AbsPower/AllOfThem/x", "");
	put(db, "p/rapl-sysfs/AbsPower/CounterOnly/Broken_0.zip", "no zip");
	put(db, "p/rapl-sysfs/AbsPower/CounterOnly/Empty_0.zip", "");
	put(db, "p/rapl-sysfs/AbsPower/CounterOnly/plain.json", "no zip");
	put(db, "p/rapl-sysfs/DynPower/BPFOnly/x", "");
	move(db, "p/rapl-sysfs/DynPower/CounterOnly/SGDRegressorTrainer_0.zip",
	     "p/rapl-sysfs/DynPower/BPFOnly/SGDRegressorTrainer_0.zip");
	move(db, "p/rapl-sysfs/AbsPower/CounterOnly/SGDRegressorTrainer_10.zip",
	     "p/rapl-sysfs/AbsPower/CounterOnly/Renamed_0.zip");
	snprintf(path, sizeof(path), "%s/p/rapl-sysfs/AbsPower/CounterOnly/Link_0.zip",
		 db);
	assert_int_equal(symlink("SGDRegressorTrainer_2.zip", path), 0);

	x = load_index(db, &r);
	assert_int_equal(tw_index_count(x), 2);
	assert_string_equal(tw_index_at(x, 0)->name, "XgboostFitTrainer_0");
	assert_string_equal(tw_index_at(x, 1)->name, "SGDRegressorTrainer_2");
	for (size_t i = 0; i < TW_COUNT(want); i++)
		if (strstr(r.text, want[i]) == NULL)
			fail_msg("'%s' is not in:\n%s", want[i], r.text);
	assert_int_equal(r.count, TW_COUNT(want));
	tw_index_unref(x);
	scratch_free(db);
}

static void metadata_and_node_types_of_a_pipeline_are_read(void **state)
{
	char *db = scratch_new();
	const struct tw_index_pipeline *p;
	struct tw_index *x;
	struct refused r;

	(void)state;
	sample_publish(db, "a", samples, 5);
	sample_publish(db, "b", &samples[1], 2);
	remove_manifest(db, "a");
	remove_manifest(db, "b");
	put(db, "a/metadata.json", "{\"name\":\"a\"}");
	put(db, "a/node_type_index.json",
	    "{\"10\":{\"attrs\":{\"cores\":4},\"members\":[\"x\",\"y\"]}}");
	put(db, "b/metadata.json", "[]");
	x = load_index(db, &r);
	assert_int_equal(r.count, 1);
	assert_non_null(strstr(r.text, "/b/metadata.json: metadata.json: expected an "
				       "object, got a list"));
	assert_int_equal(tw_index_pipeline_count(x), 2);
	p = tw_index_pipeline_find(x, "a");
	assert_string_equal(p->metadata, "{\"name\":\"a\"}");
	assert_int_equal(p->types.count, 1);
	assert_int_equal(p->count, 5);
	assert_null(tw_index_pipeline_find(x, "c"));
	assert_int_equal(tw_index_machine_count(x), 5);
	for (size_t i = 0; i < 5; i++) {
		const struct tw_index_machine *m = tw_index_machine_at(x, i);

		assert_int_equal(m->members,
				 m->node_type == 10 && m->pipeline[0] == 'a' ? 2 : 1);
	}
	assert_non_null(tw_index_find(x, "b", tw_energy_source_find("rapl-sysfs"),
				      TW_ABS_POWER, tw_feature_group_find("CounterOnly"),
				      "SGDRegressorTrainer_2"));
	assert_null(tw_index_find(x, "b", tw_energy_source_find("rapl-sysfs"),
				  TW_ABS_POWER, tw_feature_group_find("CounterOnly"),
				  "SGDRegressorTrainer_3"));
	tw_index_unref(x);
	scratch_free(db);
}

static void files_that_no_manifest_lists_are_refused(void **state)
{
	char *db = scratch_new();
	struct tw_index *x;
	struct refused r;

	(void)state;
	sample_publish(db, "p", samples, 4);
	sample_publish(db, "q", samples, 4);
	sample_publish(db, "r", samples, 4);
	move(db, "p/rapl-sysfs/AbsPower/CounterOnly/SGDRegressorTrainer_10.zip",
	     "p/rapl-sysfs/AbsPower/CounterOnly/Renamed_0.zip");
	put(db, "q/node_type_index.json", "{}");
	move(db, "r", "other");
	x = load_index(db, &r);
	assert_int_equal(tw_index_count(x), 3);
	assert_non_null(strstr(r.text,
			       "/p/rapl-sysfs/AbsPower/CounterOnly/Renamed_0.zip: "
			       "manifest.json does not list it"));
	assert_non_null(strstr(r.text, "/q: node_type_index.json: manifest.json does not "
				       "list it"));
	assert_non_null(strstr(r.text, "/other: manifest.json is of pipeline 'r'"));
	assert_int_equal(r.count, 3);
	tw_index_unref(x);
	scratch_free(db);
}

static int admit_none(void *arg, const char *path, const char *name, struct tw_err *why)
{
	(void)arg;
	(void)path;
	return tw_fail(why, TW_DENIED, "%s is not signed", name);
}

/* What is wrong with prior.json is told by its reader, once. */
static void the_directory_of_the_prior_is_no_pipeline(void **state)
{
	const struct tw_index_preference nobody = { .admit = admit_none };
	char *db = scratch_new();
	struct tw_index *x = NULL;
	struct tw_err err = { 0 };
	struct refused r = { 0 };

	(void)state;
	put(db, "machines/prior.json", "{}");
	put(db, "machines/x/prior.json", "{}");
	assert_int_equal(
		tw_index_load_preferring(db, &nobody, note_refused, &r, &x, &err), 0);
	assert_int_equal(r.count, 1);
	assert_null(strstr(r.text, "signed"));
	tw_index_unref(x);
	scratch_free(db);
}

static int admit_b(void *arg, const char *path, const char *name, struct tw_err *why)
{
	(void)arg;
	assert_non_null(strstr(path, name));
	return strcmp(name, "b") == 0 ? 0 : tw_fail(why, TW_DENIED, "not signed");
}

static void a_pipeline_that_is_not_admitted_is_not_served(void **state)
{
	const struct tw_index_preference only_b = { .admit = admit_b };
	struct refused r = { "", 0, 0 };
	char *db = scratch_new();
	struct tw_err err = { 0 };
	struct tw_index *x;

	(void)state;
	sample_publish(db, "a", samples, 4);
	sample_publish(db, "b", samples, 2);
	assert_int_equal(
		tw_index_load_preferring(db, &only_b, note_refused, &r, &x, &err), 0);
	assert_int_equal(tw_index_count(x), 2);
	assert_string_equal(tw_index_at(x, 0)->pipeline, "b");
	assert_int_equal(r.count, 1);
	assert_non_null(strstr(r.text, "/a: not signed"));
	tw_index_unref(x);
	scratch_free(db);
}

static void an_unreadable_database_fails(void **state)
{
	char *db = scratch_new(), path[512];
	struct tw_index *x = NULL;
	struct tw_err err = { 0 };

	(void)state;
	put(db, "file", "x");
	snprintf(path, sizeof(path), "%s/file", db);
	assert_int_equal(tw_index_load(path, NULL, NULL, &x, &err), -1);
	assert_int_equal(err.code, TW_IO);
	assert_non_null(strstr(err.text, "cannot read '"));
	assert_null(x);
	scratch_free(db);
}

/* A reason names the file that is not as ours are. */
static void count_old(void *arg, const char *path, const struct tw_err *why)
{
	size_t *count = arg;

	if (strstr(why->text, "metadata.json") == NULL)
		fail_msg("%s: %s", path, why->text);
	(*count)++;
}

/* Their files do not tell where they belong, and bring pickles along. */
static void unconverted_models_of_kepler_model_server_are_refused(void **state)
{
	struct tw_index *x = NULL;
	struct tw_err err = { 0 };
	size_t refused = 0;
	char path[512];

	(void)state;
	shared_path(path, sizeof(path), "data/model-db");
	if (tw_index_load(path, count_old, &refused, &x, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(tw_index_count(x), 0);
	assert_true(refused > 50);
	tw_index_unref(x);
}

static void *hold_and_drop(void *arg)
{
	struct tw_index *x = arg;

	for (int i = 0; i < 1000; i++) {
		struct tw_index *mine = tw_index_ref(x);

		assert_int_equal(tw_index_count(mine), 1);
		tw_index_unref(mine);
	}
	tw_index_unref(x);
	return NULL;
}

static void the_last_unref_in_any_thread_frees_the_index(void **state)
{
	char *db = scratch_new();
	pthread_t thread[3];
	struct tw_index *x;
	struct refused r;

	(void)state;
	sample_publish(db, "a", &samples[1], 1);
	x = load_index(db, &r);
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			pthread_create(&thread[i], NULL, hold_and_drop, tw_index_ref(x)),
			0);
	tw_index_unref(x);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	tw_index_unref(NULL);
	scratch_free(db);
}

static void every_failed_allocation_is_reported(void **state)
{
	char *db = scratch_new();
	int failures = 0;

	(void)state;
	sample_publish(db, "a", samples, 2);
	for (int n = 1;; n++, failures++) {
		struct tw_index *x = NULL;
		struct tw_err err = { 0 };
		struct refused r = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_index_load(db, note_refused, &r, &x, &err);
		if (!fail_alloc_told(rc, &err)) {
			assert_int_equal(tw_index_count(x), 2);
			tw_index_unref(x);
			break;
		}
		assert_null(x);
	}
	assert_true(failures > 50);
	scratch_free(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(models_are_found_in_order),
		cmocka_unit_test(
			a_model_without_an_error_of_its_own_has_its_worst_components),
		cmocka_unit_test(an_absent_or_empty_database_is_an_empty_index),
		cmocka_unit_test(broken_models_are_refused_and_the_others_served),
		cmocka_unit_test(metadata_and_node_types_of_a_pipeline_are_read),
		cmocka_unit_test(files_that_no_manifest_lists_are_refused),
		cmocka_unit_test(the_directory_of_the_prior_is_no_pipeline),
		cmocka_unit_test(a_pipeline_that_is_not_admitted_is_not_served),
		cmocka_unit_test(an_unreadable_database_fails),
		cmocka_unit_test(unconverted_models_of_kepler_model_server_are_refused),
		cmocka_unit_test(the_last_unref_in_any_thread_frees_the_index),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
