/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/err.h"
#include "lib/file.h"
#include "lib/fileset.h"
#include "lib/zip.h"
#include "model-db/index.h"
#include "model-db/index_use.h"
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

		snprintf(got, sizeof(got), "%s %s %s %s %s", e->pipeline, e->source->name,
			 tw_output_name(e->output), e->group->name, e->name);
		assert_string_equal(got, want[i]);
		assert_int_equal(access(e->zip_path, R_OK), 0);
	}
	tw_index_unref(x);
	scratch_free(db);
}

static void assert_weights(struct tw_index *x, const struct tw_index_entry *e,
			   enum tw_client client, const char *begin)
{
	struct tw_index_text first = { 0 }, again = { 0 };
	struct tw_err err = { 0 };

	assert_true(tw_index_has_weights(e, client));
	if (tw_index_weights(x, e, client, &first, &err) < 0 ||
	    tw_index_weights(x, e, client, &again, &err) < 0)
		fail_msg("%s", err.text);
	assert_memory_equal(first.text, begin, strlen(begin));
	assert_int_equal(first.len, strlen(first.text));
	/* Small ones are kept. */
	assert_null(first.own);
	assert_ptr_equal(first.text, again.text);
}

static void weights_are_there_for_the_clients_that_can_use_them(void **state)
{
	char *db = scratch_new();
	const struct tw_index_entry *e;
	struct tw_index_text t = { 0 };
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };
	struct tw_index *x;
	struct refused r;

	(void)state;
	publish(db, "a", samples, 5);
	x = load(db, &r);
	e = tw_index_at(x, 0); /* linear, platform */
	assert_weights(x, e, TW_CLIENT_CURRENT,
		       "{\"model_name\":\"SGDRegressorTrainer_0\",\"machine_spec\":{"
		       "\"cores\":4}");
	assert_weights(x, e, TW_CLIENT_0_7, "{\"platform\":");
	assert_weights(x, e, TW_CLIENT_0_5_TOTAL, "{\"All_Weights\":");
	assert_false(tw_index_has_weights(e, TW_CLIENT_0_5));
	assert_int_equal(tw_index_weights(x, e, TW_CLIENT_0_5, &t, &err), -1);
	assert_int_equal(err.code, TW_UNSUPPORTED);
	e = tw_index_at(x, 1); /* xgboost */
	assert_int_equal(e->weights_for, 1u << TW_CLIENT_CURRENT);
	assert_weights(x, e, TW_CLIENT_CURRENT, "{\"model_name\":\"XgboostFit");
	err = (struct tw_err){ 0 };
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
	assert_string_equal(tw_index_at(x, 0)->name, "XgboostFitTrainer_0");
	assert_string_equal(tw_index_at(x, 1)->name, "SGDRegressorTrainer_2");
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

static const char sgd_path[] =
	"a/rapl-sysfs/AbsPower/CounterOnly/SGDRegressorTrainer_0.zip";

static void weights_that_would_crash_a_client_are_refused_with_their_model(void **state)
{
	char *db = scratch_new();
	struct tw_index *x;
	struct refused r;

	(void)state;
	publish(db, "a", &(struct sample){ 0 }, 1);
	put_edited(db, sgd_path, "package.json",
		   "{\"All_Weights\":{\"Bias_Weight\":[1]}}");
	x = load(db, &r);
	assert_int_equal(tw_index_count(x), 0);
	assert_int_equal(r.count, 1);
	assert_non_null(strstr(r.text,
			       "package.json.All_Weights.Bias_Weight: expected a finite "
			       "number, got a list"));
	tw_index_unref(x);
	scratch_free(db);
}

/* A choice looks at the package alone; the rest is seen when it is used. */
static void what_a_choice_does_not_look_at_is_checked_when_it_is_used(void **state)
{
	char *db = scratch_new();
	struct tw_index_text t = { 0 };
	struct tw_index *x;
	struct refused r;
	struct tw_err err = { 0 }, why = { 0 };
	int fd;

	(void)state;
	publish(db, "a", &(struct sample){ 0 }, 1);
	put_edited(db, sgd_path, "dram.json", "{\"All_Weights\":{\"Bias_Weight\":[1]}}");
	x = load(db, &r);
	assert_int_equal(tw_index_count(x), 1);
	assert_int_equal(tw_index_weights(x, tw_index_at(x, 0), TW_CLIENT_0_7, &t, &err),
			 -1);
	assert_non_null(strstr(err.text, "dram.json.All_Weights.Bias_Weight: expected"));
	put_edited(db, sgd_path, "dram.json", "{\"All_Weights\"");
	assert_int_equal(tw_index_zip(x, tw_index_at(x, 0), &t, &fd, &why), -1);
	assert_non_null(strstr(why.text, "it has changed since the index was made"));
	assert_int_equal(why.code, TW_NOTFOUND);
	tw_index_unref(x);
	scratch_free(db);
}

/* A large one is not kept, so that its file is looked at each time. */
static void a_zip_is_opened_if_it_is_what_it_was(void **state)
{
	char *db = scratch_new(), path[512], magic[4], *noise = malloc(400001);
	struct sample large = { .predictor = "xgboost", .text = noise };
	const struct tw_index_entry *e;
	struct tw_index_text t = { 0 };
	struct tw_err err = { 0 };
	struct tw_index *x;
	struct refused r;
	unsigned seed = 1;
	int fd;

	(void)state;
	assert_non_null(noise);
	memcpy(noise, "{\"a\":\"", 6);
	for (size_t i = 6; i < 399998; i++) {
		seed = seed * 1103515245u + 12345u;
		noise[i] = (char)('a' + (seed >> 16) % 26);
	}
	memcpy(noise + 399998, "\"}", 3);
	publish(db, "a", &large, 1);
	x = load(db, &r);
	e = tw_index_at(x, 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(tw_index_zip(x, e, &t, &fd, &err), 0);
		assert_null(t.text);
		assert_int_equal(read(fd, magic, 4), 4);
		assert_memory_equal(magic, "PK\3\4", 4);
		close(fd);
	}
	snprintf(path, sizeof(path), "%s/%s", db, sgd_path);
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(tw_index_zip(x, e, &t, &fd, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_int_equal(remove(path), 0);
	err = (struct tw_err){ 0 };
	assert_int_equal(tw_index_zip(x, e, &t, &fd, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	tw_index_unref(x);
	free(noise);
	scratch_free(db);
}

static void a_small_zip_is_kept_once_it_was_asked_for(void **state)
{
	char *db = scratch_new(), path[512];
	const struct tw_index_entry *e;
	struct tw_index_text t = { 0 };
	struct tw_err err = { 0 };
	struct tw_index *x;
	struct refused r;
	int fd = 0;

	(void)state;
	publish(db, "a", &(struct sample){ 0 }, 1);
	x = load(db, &r);
	e = tw_index_at(x, 0);
	assert_int_equal(tw_index_zip(x, e, &t, &fd, &err), 0);
	snprintf(path, sizeof(path), "%s/%s", db, sgd_path);
	assert_int_equal(remove(path), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fd, -1);
		assert_int_equal(t.len, e->zip_bytes);
		assert_memory_equal(t.text, "PK\3\4", 4);
		assert_int_equal(tw_index_zip(x, e, &t, &fd, &err), 0);
	}
	tw_index_unref(x);
	scratch_free(db);
}

/* Rows, relative error, then mae: the watts of different machines are not comparable. */
static void machines_are_ordered_before_their_models(void **state)
{
	static const struct sample small[] = { { .mae_w = 1,
						 .metadata = "{\"data_rows\":187}" } };
	static const struct sample large[] = {
		{ .mae_w = 20, .metadata = "{\"data_rows\":2202}" },
		{ .mae_w = 10,
		  .trainer = "LinearRegressionTrainer",
		  .metadata = "{\"data_rows\":2202}" },
		{ .mae_w = 5, .node_type = 1, .metadata = "{\"data_rows\":3000}" }
	};
	static const char *const want[][4] = {
		{ "SGDRegressorTrainer_1", "LinearRegressionTrainer_0",
		  "SGDRegressorTrainer_0", "SGDRegressorTrainer_0" },
		{ "SGDRegressorTrainer_0", "SGDRegressorTrainer_1",
		  "LinearRegressionTrainer_0", "SGDRegressorTrainer_0" },
	};
	char *db = scratch_new();
	struct tw_strs pipelines = { 0 };
	const struct tw_index_preference prefer = { .pipelines = &pipelines };
	struct tw_err err = { 0 };
	struct refused r = { 0 };

	(void)state;
	publish(db, "a-few", small, 1);
	publish(db, "many", large, 3);
	for (int preferred = 0; preferred < 2; preferred++) {
		struct tw_index *x = NULL;

		if (preferred)
			assert_int_equal(tw_strs_adds(&pipelines, "a-few", &err), 0);
		assert_int_equal(
			tw_index_load_preferring(db, &prefer, note, &r, &x, &err), 0);
		for (size_t i = 0; i < tw_index_count(x); i++)
			assert_string_equal(tw_index_at(x, i)->name,
					    want[preferred][tw_index_at(x, i)->rank]);
		tw_index_unref(x);
	}
	tw_strs_clear(&pipelines);
	scratch_free(db);
}

static void models_of_a_machine_are_compared_by_the_figure_that_is_wanted(void **state)
{
	static const struct sample both[] = {
		{ .mae_w = 1, .metadata = "{\"mse\":9,\"r2\":0.5}" },
		{ .mae_w = 2,
		  .trainer = "LinearRegressionTrainer",
		  .metadata = "{\"mse\":4,\"r2\":0.9}" },
	};
	static const struct {
		const char *key, *first;
	} cases[] = {
		{ NULL, "SGDRegressorTrainer_0" },
		{ "mae", "SGDRegressorTrainer_0" },
		{ "mse", "LinearRegressionTrainer_0" },
		{ "r2", "LinearRegressionTrainer_0" },
		/* Nobody has it: by what comes next, their names. */
		{ "other", "LinearRegressionTrainer_0" },
	};
	char *db = scratch_new();

	(void)state;
	publish(db, "p", both, 2);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct tw_index_preference prefer = { .error = cases[i].key };
		struct tw_index *x = NULL;
		struct tw_err err = { 0 };

		assert_int_equal(
			tw_index_load_preferring(db, &prefer, NULL, NULL, &x, &err), 0);
		assert_string_equal(tw_index_error_key(x),
				    cases[i].key != NULL ? cases[i].key : "mae");
		for (size_t k = 0; k < tw_index_count(x); k++)
			if (tw_index_at(x, k)->rank == 0)
				assert_string_equal(tw_index_at(x, k)->name,
						    cases[i].first);
		tw_index_unref(x);
	}
	scratch_free(db);
}

static void what_a_pipeline_says_of_itself_is_there(void **state)
{
	char *db = scratch_new();
	const struct tw_index_pipeline *p;
	struct tw_index *x;
	struct refused r;

	(void)state;
	publish(db, "a", samples, 5);
	publish(db, "b", &samples[1], 2);
	put(db, "a/metadata.json", "{\"name\":\"a\"}");
	put(db, "a/node_type_index.json",
	    "{\"10\":{\"attrs\":{\"cores\":4},\"members\":[\"x\",\"y\"]}}");
	put(db, "b/metadata.json", "[]");
	x = load(db, &r);
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
		cmocka_unit_test(
			what_a_choice_does_not_look_at_is_checked_when_it_is_used),
		cmocka_unit_test(a_zip_is_opened_if_it_is_what_it_was),
		cmocka_unit_test(a_small_zip_is_kept_once_it_was_asked_for),
		cmocka_unit_test(machines_are_ordered_before_their_models),
		cmocka_unit_test(
			models_of_a_machine_are_compared_by_the_figure_that_is_wanted),
		cmocka_unit_test(what_a_pipeline_says_of_itself_is_there),
		cmocka_unit_test(a_database_that_cannot_be_read_is_a_failure),
		cmocka_unit_test(models_of_the_old_program_are_refused_one_by_one),
		cmocka_unit_test(the_last_reference_frees_whoever_drops_it),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
