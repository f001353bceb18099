/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/err.h"
#include "lib/file.h"
#include "lib/fileset.h"
#include "lib/zip.h"
#include "model-db/index.h"
#include "model-db/pipeline.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/sample_model.h"
#include "tests/unit/scratch.h"
#include "tests/unit/shared.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What was refused: "path: why" lines. */
struct refused {
	char text[8192];
	size_t used, count;
};

static void note(void *arg, const char *path, const struct tw_err *why)
{
	struct refused *r = arg;

	assert_int_not_equal(why->code, TW_OK);
	r->used += (size_t)snprintf(r->text + r->used, sizeof(r->text) - r->used,
				    "%s: %s\n", path, why->text);
	assert_true(r->used < sizeof(r->text));
	r->count++;
}

static struct tw_index *load(const char *db, struct refused *r)
{
	struct tw_index *x = NULL;
	struct tw_err err = { 0 };

	*r = (struct refused){ 0 };
	if (tw_index_load(db, note, r, &x, &err) < 0)
		fail_msg("%s", err.text);
	return x;
}

static void publish(const char *db, const char *name, const struct sample *s,
		    size_t count)
{
	struct tw_fileset p = { 0 };
	struct tw_err err = { 0 };

	for (size_t i = 0; i < count; i++) {
		struct tw_model m = { 0 };

		sample_model(&s[i], &m);
		if (tw_pipeline_add_model(&p, &m, &err) < 0)
			fail_msg("%s", err.text);
		tw_model_release(&m);
	}
	if (tw_pipeline_publish(db, name, &p, &err) < 0)
		fail_msg("%s", err.text);
	tw_fileset_clear(&p);
}

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
	publish(db, "b", &samples[2], 1);
	publish(db, "a", samples, 5);
	x = load(db, &r);
	assert_int_equal(r.count, 0);
	assert_int_equal(tw_index_count(x), 6);
	for (size_t i = 0; i < 6; i++) {
		const struct tw_index_entry *e = tw_index_at(x, i);
		char got[256];

		snprintf(got, sizeof(got), "%s %s %s %s %s", e->pipeline,
			 e->info.source->name, tw_output_name(e->info.output),
			 e->info.group->name, e->info.name);
		assert_string_equal(got, want[i]);
		assert_int_equal(access(e->zip_path, R_OK), 0);
	}
	tw_index_unref(x);
	scratch_free(db);
}

static void weights_are_there_for_the_clients_that_can_use_them(void **state)
{
	char *db = scratch_new();
	const struct tw_index_entry *e;
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };
	struct tw_index *x;
	struct refused r;

	(void)state;
	publish(db, "a", samples, 5);
	x = load(db, &r);
	e = tw_index_at(x, 0); /* linear, platform */
	assert_non_null(
		strstr(e->weights[TW_CLIENT_CURRENT], "\"machine_spec\":{\"cores\":4}"));
	assert_int_equal(e->weights_len[TW_CLIENT_CURRENT],
			 strlen(e->weights[TW_CLIENT_CURRENT]));
	assert_memory_equal(e->weights[TW_CLIENT_0_7], "{\"platform\":", 12);
	assert_null(e->weights[TW_CLIENT_0_5]);
	assert_memory_equal(e->weights[TW_CLIENT_0_5_TOTAL], "{\"All_Weights\":", 15);
	e = tw_index_at(x, 1); /* xgboost */
	for (int c = 0; c < TW_CLIENT_COUNT; c++)
		assert_null(e->weights[c]);
	assert_true(tw_index_has_weights(e, TW_CLIENT_CURRENT));
	assert_false(tw_index_has_weights(e, TW_CLIENT_0_7));
	assert_int_equal(tw_index_read_model(e, &m, &err), 0);
	assert_string_equal(m.info.name, "XgboostFitTrainer_0");
	tw_model_release(&m);
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
	x = load(absent, &r);
	assert_int_equal(tw_index_count(x), 0);
	assert_int_equal(r.count, 0);
	tw_index_unref(x);
	x = load(db, &r);
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

static void what_is_broken_or_foreign_is_refused_and_the_rest_served(void **state)
{
	static const char *const want[] = {
		"/bad name: pipeline name 'bad name'",
		"/p/rapl-sysfs/AbsPower/AllOfThem: no such feature group",
		"/p/rapl-sysfs/AbsPower/CounterOnly/Broken_0.zip: ",
		"/p/rapl-sysfs/AbsPower/CounterOnly/Empty_0.zip: ",
		"/p/rapl-sysfs/AbsPower/CounterOnly/Link_0.zip: is a link",
		"/p/rapl-sysfs/AbsPower/CounterOnly/Renamed_0.zip: the model says that "
		"its name "
		"is 'SGDRegressorTrainer_10'",
		"/p/rapl-sysfs/DynPower/BPFOnly/SGDRegressorTrainer_0.zip: the model "
		"says that it "
		"belongs to rapl-sysfs/DynPower/CounterOnly",
		"/p/rapl-sysfs/ThirdPower: no such output type",
		"/p/sunlight: no such energy source",
	};
	char *db = scratch_new(), path[512];
	struct tw_index *x;
	struct refused r;

	(void)state;
	publish(db, "p", samples, 4);
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

	x = load(db, &r);
	assert_int_equal(tw_index_count(x), 2);
	assert_string_equal(tw_index_at(x, 0)->info.name, "XgboostFitTrainer_0");
	assert_string_equal(tw_index_at(x, 1)->info.name, "SGDRegressorTrainer_2");
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		if (strstr(r.text, want[i]) == NULL)
			fail_msg("'%s' is not in:\n%s", want[i], r.text);
	assert_int_equal(r.count, sizeof(want) / sizeof(want[0]));
	tw_index_unref(x);
	scratch_free(db);
}

/* A zip of a model in which one file is another. */
static void put_edited(const char *db, const char *path, const char *name,
		       const char *text)
{
	struct tw_fileset files = { 0 }, edited = { 0 };
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };
	char full[512], *data;
	size_t len;

	sample_model(&(struct sample){ 0 }, &m);
	assert_int_equal(tw_model_to_files(&m, &files, &err), 0);
	for (size_t i = 0; i < files.count; i++) {
		const struct tw_fileset_file *f = &files.at[i];
		bool this = strcmp(f->name, name) == 0;

		assert_int_equal(tw_fileset_add(&edited, f->name, this ? text : f->data,
						this ? strlen(text) : f->len, &err),
				 0);
	}
	assert_int_equal(tw_zip_write(&edited, &data, &len, &err), 0);
	snprintf(full, sizeof(full), "%s/%s", db, path);
	assert_int_equal(tw_file_replace(full, data, len, &err), 0);
	free(data);
	tw_fileset_clear(&edited);
	tw_fileset_clear(&files);
	tw_model_release(&m);
}

static void weights_that_would_crash_a_client_are_refused_with_their_model(void **state)
{
	static const char path[] =
		"a/rapl-sysfs/AbsPower/CounterOnly/SGDRegressorTrainer_0.zip";
	char *db = scratch_new();
	struct tw_index *x;
	struct refused r;

	(void)state;
	publish(db, "a", &(struct sample){ 0 }, 1);
	put_edited(db, path, "dram.json", "{\"All_Weights\":{\"Bias_Weight\":[1]}}");
	x = load(db, &r);
	assert_int_equal(tw_index_count(x), 0);
	assert_int_equal(r.count, 1);
	assert_non_null(strstr(r.text,
			       "dram.json.All_Weights.Bias_Weight: expected a finite "
			       "number, got a list"));
	tw_index_unref(x);
	scratch_free(db);
}

static void a_database_that_cannot_be_read_is_a_failure(void **state)
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
static void models_of_the_old_program_are_refused_one_by_one(void **state)
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

static void the_last_reference_frees_whoever_drops_it(void **state)
{
	char *db = scratch_new();
	pthread_t thread[3];
	struct tw_index *x;
	struct refused r;

	(void)state;
	publish(db, "a", &samples[1], 1);
	x = load(db, &r);
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
	publish(db, "a", samples, 2);
	for (int n = 1;; n++, failures++) {
		struct tw_index *x = NULL;
		struct tw_err err = { 0 };
		struct refused r = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_index_load(db, note, &r, &x, &err);
		if (!fail_alloc_hit()) {
			assert_int_equal(rc, 0);
			assert_int_equal(tw_index_count(x), 2);
			tw_index_unref(x);
			break;
		}
		assert_int_equal(rc, -1);
		assert_int_equal(err.code, TW_NOMEM);
		assert_null(x);
	}
	assert_true(failures > 50);
	scratch_free(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(models_are_found_in_order),
		cmocka_unit_test(weights_are_there_for_the_clients_that_can_use_them),
		cmocka_unit_test(an_absent_or_empty_database_is_an_empty_index),
		cmocka_unit_test(
			what_is_broken_or_foreign_is_refused_and_the_rest_served),
		cmocka_unit_test(
			weights_that_would_crash_a_client_are_refused_with_their_model),
		cmocka_unit_test(a_database_that_cannot_be_read_is_a_failure),
		cmocka_unit_test(models_of_the_old_program_are_refused_one_by_one),
		cmocka_unit_test(the_last_reference_frees_whoever_drops_it),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
