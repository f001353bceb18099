/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/json/json.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/model.h"
#include "model-db/pipeline.h"
#include "model-db/pipeline_merge.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/same_files.h"
#include "tests/unit/sample_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct sample samples[] = {
	{ .mae_w = 2.5, .metadata = "{\"package_mae\":2.5,\"dram_mae\":0.25}" },
	{ .mae_w = 1.25,
	  .trainer = "XgboostFitTrainer",
	  .predictor = "xgboost",
	  .node_type = 10,
	  .metadata = "{\"package_mae\":1.25,\"package_mape\":3,\"dram_mape\":null}",
	  .spec = { .vendor = "intel",
		    .processor = "xeon",
		    .cores = 8,
		    .memory_gib = 16 } },
	{ .mae_w = NAN, .trainer = "OtherTrainer" },
	{ .mae_w = 9, .group = "BPFOnly" },
	{ .mae_w = 7, .output = TW_DYN_POWER },
	{ .mae_w = 8, .source = "acpi", .group = "BPFOnly", .node_type = 2 },
};

static const char metadata_text[] =
	"{\"name\":\"p\",\"machines\":{\"2\":[\"left\",\"right\"],\"7\":[\"gone\"]}}";

static void make_models(struct tw_model models[TW_COUNT(samples)])
{
	for (size_t i = 0; i < TW_COUNT(samples); i++) {
		models[i] = (struct tw_model){ 0 };
		sample_model(&samples[i], &models[i]);
	}
}

static void release_models(struct tw_model models[TW_COUNT(samples)])
{
	for (size_t i = 0; i < TW_COUNT(samples); i++)
		tw_model_release(&models[i]);
}

static int make_pipeline(const struct tw_model *models, struct tw_fileset *out,
			 struct tw_err *err)
{
	json_t *metadata = NULL;
	int rc = -1;

	if (tw_json_parse(metadata_text, strlen(metadata_text), "", &metadata, err) < 0)
		goto out;
	for (size_t i = 0; i < TW_COUNT(samples); i++)
		if (tw_pipeline_add_model(out, &models[i], err) < 0)
			goto out;
	if (tw_pipeline_add_summary(out, metadata, models, TW_COUNT(samples), err) < 0)
		goto out;
	rc = 0;
out:
	json_decref(metadata);
	return rc;
}

static void sample_pipeline(struct tw_fileset *out)
{
	struct tw_model models[TW_COUNT(samples)];
	struct tw_err err = { 0 };

	make_models(models);
	if (make_pipeline(models, out, &err) < 0)
		fail_msg("%s", err.text);
	tw_fileset_sort(out);
	release_models(models);
}

static const struct tw_fileset_file *find(const struct tw_fileset *s, const char *name)
{
	const struct tw_fileset_file *f = tw_fileset_find(s, name);

	if (f == NULL)
		fail_msg("no file '%s'", name);
	return f;
}

#define COUNTER_MODELS "rapl-sysfs/AbsPower/CounterOnly/"

static void the_layout_is_that_of_the_wire_contract(void **state)
{
	static const char *const names[] = {
		"metadata.json",
		"node_type_index.json",
		"acpi_AbsPower_model_metadata.csv",
		"rapl-sysfs_AbsPower_model_metadata.csv",
		"rapl-sysfs_DynPower_model_metadata.csv",
		"acpi/AbsPower/BPFOnly/SGDRegressorTrainer_2.zip",
		"acpi/AbsPower/BPFOnly/SGDRegressorTrainer_2/platform.json",
		"rapl-sysfs/AbsPower/BPFOnly/SGDRegressorTrainer_0.zip",
		COUNTER_MODELS "OtherTrainer_0.zip",
		COUNTER_MODELS "SGDRegressorTrainer_0.zip",
		COUNTER_MODELS "SGDRegressorTrainer_0.json",
		COUNTER_MODELS "SGDRegressorTrainer_0/metadata.json",
		COUNTER_MODELS "SGDRegressorTrainer_0/package.json",
		COUNTER_MODELS "SGDRegressorTrainer_0/dram.json",
		COUNTER_MODELS "SGDRegressorTrainer_0/weight.json",
		COUNTER_MODELS "SGDRegressorTrainer_0/SGDRegressorTrainer_0.json",
		COUNTER_MODELS "XgboostFitTrainer_10.zip",
		COUNTER_MODELS "XgboostFitTrainer_10/dram.json",
		"rapl-sysfs/DynPower/CounterOnly/SGDRegressorTrainer_0.zip",
	};
	struct tw_fileset p = { 0 };

	(void)state;
	sample_pipeline(&p);
	for (size_t i = 0; i < TW_COUNT(names); i++)
		find(&p, names[i]);
	/* 4 linear of 7 files, one of a platform of 6, trees of 5, and 5 about all. */
	assert_int_equal(p.count, 4 * 7 + 6 + 5 + 5);
	assert_null(tw_fileset_find(&p, COUNTER_MODELS "XgboostFitTrainer_10.json"));
	tw_fileset_clear(&p);
}

static void zip_and_directory_hold_the_same_files(void **state)
{
	static const char dir[] = COUNTER_MODELS "SGDRegressorTrainer_0/";
	const struct tw_fileset_file *zip;
	struct tw_fileset p = { 0 }, unpacked = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	sample_pipeline(&p);
	zip = find(&p, COUNTER_MODELS "SGDRegressorTrainer_0.zip");
	if (tw_zip_read(zip->data, zip->len, &tw_zip_model_limits, &unpacked, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(unpacked.count, 5);
	for (size_t i = 0; i < unpacked.count; i++) {
		const struct tw_fileset_file *f;
		char path[256];

		snprintf(path, sizeof(path), "%s%s", dir, unpacked.at[i].name);
		f = find(&p, path);
		assert_int_equal(f->len, unpacked.at[i].len);
		assert_memory_equal(f->data, unpacked.at[i].data, f->len);
	}
	assert_string_equal(find(&p, COUNTER_MODELS "SGDRegressorTrainer_0.json")->data,
			    tw_fileset_find(&unpacked, "weight.json")->data);
	tw_fileset_clear(&unpacked);
	tw_fileset_clear(&p);
}

static void tables_are_sorted_by_group_and_error(void **state)
{
	struct tw_fileset p = { 0 };

	(void)state;
	sample_pipeline(&p);
#define COUNTERS "\"['cache_miss', 'cpu_cycles', 'cpu_instructions']\",[],AbsPower,"
	assert_string_equal(
		find(&p, "rapl-sysfs_AbsPower_model_metadata.csv")->data,
		",model_name,model_class,model_file,features,fe_files,output_type,mae,"
		"mape,"
		"package_mae,core_mae,uncore_mae,dram_mae,"
		"package_mape,core_mape,uncore_mape,dram_mape,trainer,node_type,feature_"
		"group\n"
		"0,SGDRegressorTrainer_0,linear,SGDRegressorTrainer_0.json,"
		"\"['bpf_cpu_time_ms', 'bpf_page_cache_hit']\",[],AbsPower,"
		"9,12.25,,,,,,,,,SGDRegressorTrainer,0,BPFOnly\n"
		"1,XgboostFitTrainer_10,xgboost,XgboostFitTrainer_10.json," COUNTERS
		"1.25,12.25,1.25,,,,3,,,,XgboostFitTrainer,10,CounterOnly\n"
		"2,SGDRegressorTrainer_0,linear,SGDRegressorTrainer_0.json," COUNTERS
		"2.5,12.25,2.5,,,0.25,,,,,SGDRegressorTrainer,0,CounterOnly\n"
		"3,OtherTrainer_0,linear,OtherTrainer_0.json," COUNTERS
		",12.25,,,,,,,,,OtherTrainer,0,CounterOnly\n");
	assert_string_equal(find(&p, "acpi_AbsPower_model_metadata.csv")->data,
			    ",model_name,model_class,model_file,features,fe_files,output_"
			    "type,mae,mape,"
			    "platform_mae,platform_mape,trainer,node_type,feature_group\n"
			    "0,SGDRegressorTrainer_2,linear,SGDRegressorTrainer_2.json,"
			    "\"['bpf_cpu_time_ms', 'bpf_page_cache_hit']\",[],AbsPower,"
			    "8,12.25,,,SGDRegressorTrainer,2,BPFOnly\n");
	tw_fileset_clear(&p);
}

static void node_types_have_attributes_and_members(void **state)
{
	struct tw_fileset p = { 0 };
	json_t *got, *want;

	(void)state;
	sample_pipeline(&p);
	got = json_loads(find(&p, "node_type_index.json")->data, 0, NULL);
	want = json_loads(
		"{\"0\":{\"attrs\":{},\"members\":[]},"
		"\"2\":{\"attrs\":{},\"members\":[\"left\",\"right\"]},"
		"\"10\":{\"attrs\":{\"processor\":\"xeon\",\"cores\":8,\"memory\":16},"
		"\"members\":[]}}",
		0, NULL);
	assert_true(got != NULL && want != NULL && json_equal(got, want));
	/* In order of number, not of text. */
	assert_true(strstr(find(&p, "node_type_index.json")->data, "\"2\"") <
		    strstr(find(&p, "node_type_index.json")->data, "\"10\""));
	json_decref(got);
	json_decref(want);
	tw_fileset_clear(&p);
}

static void the_same_models_give_the_same_bytes(void **state)
{
	struct tw_fileset a = { 0 }, b = { 0 };

	(void)state;
	sample_pipeline(&a);
	sample_pipeline(&b);
	same_files(&a, &b);
	tw_fileset_clear(&a);
	tw_fileset_clear(&b);
}

static void a_repeated_model_is_refused_by_name(void **state)
{
	struct tw_fileset p = { 0 };
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	sample_model(&samples[0], &m);
	assert_int_equal(tw_pipeline_add_model(&p, &m, &err), 0);
	assert_int_equal(tw_pipeline_add_model(&p, &m, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_non_null(strstr(err.text, "model 'SGDRegressorTrainer_0'"));
	tw_model_release(&m);
	tw_fileset_clear(&p);
}

static void names_that_routes_and_files_add_to_are_refused(void **state)
{
	static const char *const refused[] = { "web.zip",          "a.ZIP",
					       "web.rollout.json", "index.json",
					       "web-index.json",   ".zip" };
	static const char *const allowed[] = { "web", "zip", "web.zip.1", "web.json",
					       "index" };
	struct tw_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(refused); i++)
		assert_int_equal(
			tw_pipeline_name_check(refused[i], strlen(refused[i]), &err), -1);
	for (size_t i = 0; i < TW_COUNT(allowed); i++)
		assert_int_equal(
			tw_pipeline_name_check(allowed[i], strlen(allowed[i]), &err), 0);
}

static void pipeline_of_one(struct tw_fileset *out)
{
	json_t *metadata = json_object();
	struct tw_err err = { 0 };
	struct tw_model m = { 0 };

	sample_model(&samples[0], &m);
	assert_int_equal(tw_pipeline_add_model(out, &m, &err), 0);
	assert_int_equal(tw_pipeline_add_summary(out, metadata, &m, 1, &err), 0);
	tw_fileset_sort(out);
	tw_model_release(&m);
	json_decref(metadata);
}

/* A model of another program, which is only downloaded, is no model of the pipeline. */
static void foreign_files_are_merged_unread(void **state)
{
	static const char foreign[] =
		TW_PIPELINE_FOREIGN "/acpi/AbsPower/BPFOnly/Other_0.zip";
	struct tw_fileset old = { 0 }, fresh = { 0 };
	struct tw_pipeline_models models = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	pipeline_of_one(&old);
	pipeline_of_one(&fresh);
	assert_int_equal(tw_fileset_add(&old, foreign, "no zip", 6, &err), 0);
	tw_fileset_sort(&old);
	if (tw_pipeline_merge(&fresh, &old, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(find(&fresh, foreign)->len, 6);
	assert_int_equal(tw_pipeline_read_models(&fresh, &models, &err), 0);
	assert_int_equal(models.count, 1);
	tw_pipeline_models_release(&models);
	tw_fileset_clear(&fresh);
	tw_fileset_clear(&old);
}

static void every_failed_allocation_is_reported(void **state)
{
	struct tw_model models[TW_COUNT(samples)];
	int failures = 0;

	(void)state;
	make_models(models);
	for (int n = 1;; n++, failures++) {
		struct tw_fileset p = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = make_pipeline(models, &p, &err);
		tw_fileset_clear(&p);
		if (!fail_alloc_told(rc, &err))
			break;
	}
	assert_true(failures > 50);
	release_models(models);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_layout_is_that_of_the_wire_contract),
		cmocka_unit_test(zip_and_directory_hold_the_same_files),
		cmocka_unit_test(tables_are_sorted_by_group_and_error),
		cmocka_unit_test(node_types_have_attributes_and_members),
		cmocka_unit_test(the_same_models_give_the_same_bytes),
		cmocka_unit_test(a_repeated_model_is_refused_by_name),
		cmocka_unit_test(names_that_routes_and_files_add_to_are_refused),
		cmocka_unit_test(foreign_files_are_merged_unread),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
