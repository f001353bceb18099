/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "estimator/predict/certificate.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/fitness.h"
#include "model-db/index/choose.h"
#include "model-db/index/index.h"
#include "model-db/index/index_use.h"
#include "model-db/model_files.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/loaded_index.h"
#include "tests/unit/sample_model.h"
#include "tests/unit/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct sample samples[] = {
	{ .trainer = "XgboostFitTrainer", .predictor = "xgboost", .group = "BPFOnly" },
	{ .source = "acpi", .group = "BPFOnly", .spec = { .cores = 4 } },
};

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

static void rapl_by_registers_answers_where_rapl_by_files_has_no_model(void **state)
{
	static const struct sample of[] = { { .source = "rapl-msr" },
					    { .source = "rapl-msr",
					      .output = TW_DYN_POWER },
					    { .output = TW_DYN_POWER } };
	const struct tw_energy_source *rapl = tw_energy_source_find("rapl-sysfs");
	const struct tw_energy_source *msr = tw_energy_source_find("rapl-msr");
	struct tw_wanted w = { .source = rapl, .node_type = -1 };
	struct tw_choice choice = { 0 };
	char *db = scratch_new();
	struct tw_err err = { 0 };
	struct tw_index *x;
	struct refused r;

	(void)state;
	assert_int_equal(
		tw_strs_split(&w.metrics, "cache_miss,cpu_cycles,cpu_instructions", &err),
		0);
	sample_publish(db, "a", of, 3);
	x = load_index(db, &r);
	assert_int_equal(tw_choose(x, &w, &choice, &err), 0);
	assert_ptr_equal(choice.entry->source, msr);
	w.output = TW_DYN_POWER;
	assert_int_equal(tw_choose(x, &w, &choice, &err), 0);
	assert_ptr_equal(choice.entry->source, rapl);
	/* Other sources have no substitute. */
	w.source = tw_energy_source_find("acpi");
	assert_int_equal(tw_choose(x, &w, &choice, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	tw_wanted_release(&w);
	tw_index_unref(x);
	scratch_free(db);
}

static void weights_exist_for_clients_that_can_use_them(void **state)
{
	char *db = scratch_new();
	const struct tw_index_entry *e;
	struct tw_index_text t = { 0 };
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };
	struct tw_index *x;
	struct refused r;

	(void)state;
	sample_publish(db, "a", samples, 2);
	x = load_index(db, &r);
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
	sample_publish(db, "a", &(struct sample){ 0 }, 1);
	put_edited(db, sgd_path, "package.json",
		   "{\"All_Weights\":{\"Bias_Weight\":[1]}}");
	x = load_index(db, &r);
	assert_int_equal(tw_index_count(x), 0);
	assert_int_equal(r.count, 1);
	assert_non_null(strstr(r.text,
			       "package.json.All_Weights.Bias_Weight: expected a finite "
			       "number, got a list"));
	tw_index_unref(x);
	scratch_free(db);
}

/* The index has read the weights of each component; a zip that changes after that is
 * refused when it is used. */
static void a_component_that_cannot_be_read_is_refused_with_its_model(void **state)
{
	char *db = scratch_new();
	struct tw_index_text t = { 0 };
	struct tw_index *x;
	struct refused r;
	struct tw_err err = { 0 }, why = { 0 };
	int fd;

	(void)state;
	sample_publish(db, "a", &(struct sample){ 0 }, 1);
	x = load_index(db, &r);
	assert_int_equal(tw_index_count(x), 1);
	put_edited(db, sgd_path, "dram.json", "{\"All_Weights\":{\"Bias_Weight\":[1]}}");
	assert_int_equal(tw_index_weights(x, tw_index_at(x, 0), TW_CLIENT_0_7, &t, &err),
			 -1);
	assert_non_null(strstr(err.text, "it has changed since the index was made"));
	assert_int_equal(tw_index_zip(x, tw_index_at(x, 0), &t, &fd, &why), -1);
	assert_non_null(strstr(why.text, "it has changed since the index was made"));
	assert_int_equal(why.code, TW_NOTFOUND);
	tw_index_unref(x);
	x = load_index(db, &r);
	assert_int_equal(tw_index_count(x), 0);
	assert_non_null(strstr(r.text, "dram.json.All_Weights.Bias_Weight: expected"));
	tw_index_unref(x);
	scratch_free(db);
}

/* A large one is not kept, so that its file is looked at each time. */
static void a_changed_zip_is_not_opened(void **state)
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
	sample_publish(db, "a", &large, 1);
	x = load_index(db, &r);
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

static void a_small_zip_is_cached_at_its_first_use(void **state)
{
	char *db = scratch_new(), path[512];
	const struct tw_index_entry *e;
	struct tw_index_text t = { 0 };
	struct tw_err err = { 0 };
	struct tw_index *x;
	struct refused r;
	int fd = 0;

	(void)state;
	sample_publish(db, "a", &(struct sample){ 0 }, 1);
	x = load_index(db, &r);
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

/* ---- models without a certificate ---- */

/* Below 100 of bpf_cpu_time_ms, below 5e5, above: watts a, b and c. */
#define TREE(a, b, c)                                                                 \
	"{\"learner\":{\"learner_model_param\":{\"base_score\":\"0\",\"num_class\":"  \
	"\"0\",\"num_feature\":\"2\"},\"objective\":{\"name\":\"reg:squarederror\"}," \
	"\"gradient_booster\":{\"name\":\"gbtree\",\"model\":{\"trees\":[{"           \
	"\"left_children\":[1,-1,3,-1,-1],\"right_children\":[2,-1,4,-1,-1],"         \
	"\"split_indices\":[0,0,0,0,0],\"default_left\":[1,0,0,0,0],"                 \
	"\"split_type\":[0,0,0,0,0],\"split_conditions\":[100," a ",5e5," b "," c     \
	"]}]}}}}"

#define TREES_OF_PLATFORM(name, watts, mae)                                            \
	{                                                                              \
		.source = "acpi", .group = "BPFOnly", .trainer = name,                 \
		.predictor = "xgboost", .text = watts, .metadata = "{}", .mae_w = mae, \
	}

/* The better its error, the sooner it is chosen. */
static const struct sample unproved[] = {
	TREES_OF_PLATFORM("FallsTrainer", TREE("105", "33", "103"), 1),
	TREES_OF_PLATFORM("RisesTrainer", TREE("33", "50", "103"), 2),
	TREES_OF_PLATFORM("BrokenTrainer", NULL, 3),
	{ .source = "acpi",
	  .group = "BPFOnly",
	  .trainer = "XgboostFitTrainer",
	  .predictor = "xgboost",
	  .output = TW_DYN_POWER,
	  .metadata = "{}" },
};

static int proofs;

static int count_proofs(struct tw_model *m, struct tw_err *err)
{
	proofs++;
	return tw_certify_model(m, err);
}

static const struct tw_index_entry *entry_of(const struct tw_index *x,
					     const char *trainer)
{
	for (size_t i = 0; i < tw_index_count(x); i++)
		if (strcmp(tw_index_at(x, i)->trainer, trainer) == 0)
			return tw_index_at(x, i);
	fail_msg("no model of %s", trainer);
	return NULL;
}

/* The trainer of the model that is chosen, or NULL. */
static const char *chosen(const struct tw_index *x, const char *trainer)
{
	struct tw_wanted w = { .source = tw_energy_source_find("acpi"),
			       .node_type = -1,
			       .loose_node_type = true,
			       .classes = true };
	struct tw_choice choice = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(
		tw_strs_split(&w.metrics, "bpf_cpu_time_ms,bpf_page_cache_hit", &err), 0);
	w.trainer = trainer != NULL ? strdup(trainer) : NULL;
	if (tw_choose(x, &w, &choice, &err) < 0)
		assert_int_equal(err.code, TW_NOTFOUND);
	tw_wanted_release(&w);
	return choice.entry != NULL ? choice.entry->trainer : NULL;
}

static void a_model_without_a_certificate_is_proved_once(void **state)
{
	char *db = scratch_new();
	const struct tw_index_entry *e;
	struct tw_err err = { 0 };
	struct tw_index *x;
	struct refused r;

	(void)state;
	sample_publish(db, "a", unproved, 4);
	x = load_index(db, &r);
	e = entry_of(x, "RisesTrainer");
	assert_int_equal(e->fitness, TW_FITNESS_UNKNOWN);
	proofs = 0;
	for (int i = 0; i < 3; i++)
		assert_int_equal(tw_index_prove(x, e, count_proofs, &err), 0);
	assert_int_equal(proofs, 1);
	assert_false(tw_index_given_up_default(x, e));
	tw_index_unref(x);
	scratch_free(db);
}

static void a_falling_model_is_served_only_by_its_trainer_name(void **state)
{
	char *db = scratch_new();
	const struct tw_index_entry *e;
	struct tw_err err = { 0 };
	struct tw_index *x;
	struct refused r;

	(void)state;
	sample_publish(db, "a", unproved, 4);
	x = load_index(db, &r);
	assert_string_equal(chosen(x, NULL), "FallsTrainer");
	e = entry_of(x, "FallsTrainer");
	assert_int_equal(tw_index_prove(x, e, count_proofs, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_non_null(strstr(err.text, "FallsTrainer_0.zip"));
	assert_non_null(strstr(err.text, TW_FITNESS_FALLS));
	assert_true(tw_index_given_up_default(x, e));
	assert_false(tw_index_given_up(x, e));
	assert_string_equal(chosen(x, NULL), "RisesTrainer");
	assert_string_equal(chosen(x, "FallsTrainer"), "FallsTrainer");
	tw_index_unref(x);
	scratch_free(db);
}

/* Its trees have no form that a predictor reads. Its files are whole. */
static void a_model_that_cannot_be_asked_is_given_up_by_default(void **state)
{
	char *db = scratch_new(), path[512];
	const struct tw_index_entry *broken, *gone;
	struct tw_err err = { 0 }, why = { 0 };
	struct tw_index *x;
	struct refused r;

	(void)state;
	sample_publish(db, "a", unproved, 4);
	x = load_index(db, &r);
	broken = entry_of(x, "BrokenTrainer");
	assert_int_equal(tw_index_prove(x, broken, count_proofs, &err), -1);
	assert_int_equal(err.code, TW_PARSE);
	assert_true(tw_index_given_up_default(x, broken));
	/* A file that has gone is given up as a whole. */
	gone = entry_of(x, "RisesTrainer");
	snprintf(path, sizeof(path), "%s", gone->zip_path);
	assert_int_equal(remove(path), 0);
	assert_int_equal(tw_index_prove(x, gone, count_proofs, &why), -1);
	assert_int_equal(why.code, TW_NOTFOUND);
	assert_true(tw_index_given_up(x, gone));
	assert_null(chosen(x, "RisesTrainer"));
	tw_index_unref(x);
	scratch_free(db);
}

static void an_indexed_pipeline_is_not_verified_again(void **state)
{
	static const struct sample known[] = {
		{ .trainer = "FitTrainer", .source = "acpi", .group = "BPFOnly" },
	};
	char *db = scratch_new();
	struct tw_err err = { 0 };
	struct tw_index *x;
	struct refused r;

	(void)state;
	sample_publish(db, "a", known, 1);
	sample_publish(db, "b", unproved + 3, 1);
	x = load_index(db, &r);
	proofs = 0;
	assert_int_equal(entry_of(x, "FitTrainer")->fitness, TW_FIT);
	assert_int_equal(tw_index_prove(x, entry_of(x, "FitTrainer"), count_proofs, &err),
			 0);
	assert_int_equal(entry_of(x, "XgboostFitTrainer")->fitness, TW_UNFIT);
	assert_int_equal(
		tw_index_prove(x, entry_of(x, "XgboostFitTrainer"), count_proofs, &err),
		-1);
	assert_int_equal(err.code, TW_INVALID);
	assert_string_equal(err.text,
			    "model 'XgboostFitTrainer_0': " TW_FITNESS_NOT_ADDITIVE);
	assert_int_equal(proofs, 0);
	tw_index_unref(x);
	scratch_free(db);
}

static void a_proof_without_memory_gives_up_nothing(void **state)
{
	char *db = scratch_new();
	const struct tw_index_entry *e;
	struct tw_index *x;
	struct refused r;
	int failures = 0;

	(void)state;
	sample_publish(db, "a", unproved, 4);
	x = load_index(db, &r);
	e = entry_of(x, "RisesTrainer");
	for (int n = 1;; n++, failures++) {
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_index_prove(x, e, tw_certify_model, &err);
		if (!fail_alloc_told(rc, &err))
			break;
		assert_false(tw_index_given_up_default(x, e));
	}
	assert_true(failures > 10);
	tw_index_unref(x);
	scratch_free(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			rapl_by_registers_answers_where_rapl_by_files_has_no_model),
		cmocka_unit_test(weights_exist_for_clients_that_can_use_them),
		cmocka_unit_test(
			weights_that_would_crash_a_client_are_refused_with_their_model),
		cmocka_unit_test(
			a_component_that_cannot_be_read_is_refused_with_its_model),
		cmocka_unit_test(a_changed_zip_is_not_opened),
		cmocka_unit_test(a_small_zip_is_cached_at_its_first_use),
		cmocka_unit_test(a_model_without_a_certificate_is_proved_once),
		cmocka_unit_test(a_falling_model_is_served_only_by_its_trainer_name),
		cmocka_unit_test(a_model_that_cannot_be_asked_is_given_up_by_default),
		cmocka_unit_test(an_indexed_pipeline_is_not_verified_again),
		cmocka_unit_test(a_proof_without_memory_gives_up_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
