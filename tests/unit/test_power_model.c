/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "estimator/predict/power_model.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/model_files.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/sample_model.h"
#include "tests/unit/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sample: 10 + (1 cache_miss + 2 cpu_cycles + 3 cpu_instructions) / 1000. */
static struct tw_power_model *make(const struct sample *s)
{
	struct tw_power_model *p = NULL;
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };

	sample_model(s, &m);
	if (tw_power_model_new(&m, &p, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(m.parts, 0);
	assert_null(m.info.metadata);
	return p;
}

static void a_part_predicts_from_its_bound_columns(void **state)
{
	static const double x[] = { 7, 1000, 2000, 3000, 7, 0, 0, 0 };
	struct tw_power_model *p =
		make(&(struct sample){ .trainer = "SGDRegressorTrainer" });
	struct tw_strs names = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(
		tw_strs_split(&names, "x,cpu_cycles,cpu_instructions,cache_miss", &err),
		0);
	assert_int_equal(tw_power_model_parts(p), 2);
	assert_int_equal(tw_power_model_component(p, 0), TW_PACKAGE);
	assert_int_equal(tw_power_model_component(p, 1), TW_DRAM);
	assert_string_equal(tw_power_model_info(p)->name, "SGDRegressorTrainer_0");
	for (size_t i = 0; i < 2; i++) {
		uint32_t place[3];
		double watts[2];

		assert_int_equal(tw_power_model_bind(p, i, &names, place, &err), 0);
		tw_power_model_predict(
			p, i,
			&(struct tw_rows){
				.x = x, .rows = 2, .stride = 4, .place = place },
			watts);
		assert_true(watts[0] == 10 + 3 + 2 + 6);
		assert_true(watts[1] == 10);
	}
	tw_strs_clear(&names);
	tw_power_model_free(p);
}

#define FORM(columns, feature)                                                     \
	"{\"bias\":1,\"columns\":[" columns "],\"members\":[{\"weight\":1,"        \
	"\"columns\":[0],\"predictor\":\"linear\",\"model\":{\"All_Weights\":{"    \
	"\"Bias_Weight\":0,\"Numerical_Variables\":{\"" feature "\":{\"scale\":1," \
	"\"weight\":1}}}}}]}"
#define ALONE "\"alone\":" FORM("[0,0,0]", "bpf_cpu_time_ms")
#define FORM_OF_SERIES(columns, feature) "\"series\":" FORM(columns, feature)
#define SERIES FORM_OF_SERIES("[0,2,2]", "bpf_cpu_time_ms@2")

static void a_series_model_has_a_step_and_looks_back(void **state)
{
	const struct sample series = { .group = "BPFOnly",
				       .trainer = "AutoTrainer",
				       .predictor = "ensemble",
				       .text = "{\"ensemble\":{\"floor\":0,\"ceiling\":9,"
					       "\"step_ms\":500," ALONE "," SERIES "}}" };
	const struct sample line = { .trainer = "SGDRegressorTrainer" };
	struct tw_power_model *p = make(&series);

	(void)state;
	assert_int_equal(tw_power_model_back(p), 2);
	assert_true(tw_power_model_step_ms(p) == 500);
	tw_power_model_free(p);
	p = make(&line);
	assert_int_equal(tw_power_model_back(p), 0);
	assert_true(tw_power_model_step_ms(p) == 0);
	tw_power_model_free(p);
}

/* The expected errors look back, and further than the power. */
static void the_rows_that_are_kept_serve_the_expected_errors_too(void **state)
{
	static char errors[] =
		"{\"ensemble\":{\"floor\":0,\"ceiling\":9,\"step_ms\":500," ALONE
		"," FORM_OF_SERIES("[0,5,5]", "bpf_cpu_time_ms@5") "}}";
	const struct sample series = { .group = "BPFOnly",
				       .trainer = "AutoTrainer",
				       .predictor = "ensemble",
				       .text = "{\"ensemble\":{\"floor\":0,\"ceiling\":9,"
					       "\"step_ms\":500," ALONE "," SERIES "}}" };
	struct tw_power_model *p = NULL;
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	sample_model(&series, &m);
	m.part[0].error_text = strdup(errors);
	m.part[0].error_len = strlen(errors);
	assert_non_null(m.part[0].error_text);
	if (tw_power_model_new(&m, &p, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(tw_power_model_back(p), 5);
	tw_power_model_free(p);
}

static void a_missing_feature_is_named(void **state)
{
	struct tw_power_model *p = make(&(struct sample){ .trainer = "T" });
	struct tw_strs names = { 0 };
	struct tw_err err = { 0 };
	uint32_t place[3];

	(void)state;
	assert_int_equal(tw_strs_split(&names, "cache_miss,cpu_cycles", &err), 0);
	assert_int_equal(tw_power_model_bind(p, 0, &names, place, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_string_equal(err.text,
			    "model 'T_0' needs 'cpu_instructions', which is missing");
	tw_strs_clear(&names);
	tw_power_model_free(p);
}

static void negative_predictions_are_zero(void **state)
{
	static const double x[] = { -1e6, 0, 0 };
	struct tw_power_model *p = make(&(struct sample){ .source = "acpi" });
	double watts = -1;

	(void)state;
	assert_int_equal(tw_power_model_component(p, 0), TW_PLATFORM);
	tw_power_model_predict(p, 0, &(struct tw_rows){ .x = x, .rows = 1, .stride = 3 },
			       &watts);
	assert_true(watts == 0);
	tw_power_model_free(p);
}

static void a_model_that_its_predictor_rejects_is_refused(void **state)
{
	static const struct {
		struct sample sample;
		enum tw_code code;
		const char *text;
	} bad[] = {
		{ { .predictor = "scikit" }, TW_UNSUPPORTED, "no predictor 'scikit'" },
		{ { .predictor = "xgboost" }, TW_PARSE, "package: " },
		{ { .text = "{}" }, TW_PARSE, "package: " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct tw_power_model *p = NULL;
		struct tw_model m = { 0 };
		struct tw_err err = { 0 };

		sample_model(&bad[i].sample, &m);
		assert_int_equal(tw_power_model_new(&m, &p, &err), -1);
		assert_int_equal(err.code, bad[i].code);
		assert_non_null(strstr(err.text, bad[i].text));
		assert_non_null(strstr(err.text, "model 'SGDRegressorTrainer_0': "));
		assert_null(p);
		assert_int_equal(m.parts, 0);
		sample_model(&bad[i].sample, &m);
		assert_int_equal(tw_power_model_borrow(&m, &p, &err), -1);
		assert_null(p);
		tw_model_release(&m);
	}
}

static void a_model_is_loaded_from_a_directory_and_from_a_zip(void **state)
{
	struct tw_model m = { 0 };
	struct tw_fileset files = { 0 };
	struct tw_err err = { 0 };
	char *top = scratch_new(), *data = NULL, *paths[3] = { 0 };
	size_t len;

	(void)state;
	sample_model(&(struct sample){ .trainer = "T", .node_type = 3 }, &m);
	assert_int_equal(tw_model_to_files(&m, &files, &err), 0);
	assert_int_equal(tw_path_join(&paths[0], &err, top, "dir", NULL), 0);
	assert_int_equal(tw_path_join(&paths[1], &err, top, "T_3.zip", NULL), 0);
	assert_int_equal(tw_path_join(&paths[2], &err, top, "absent", NULL), 0);
	assert_int_equal(tw_fileset_write_dir(&files, paths[0], &err), 0);
	assert_int_equal(tw_zip_write(&files, &data, &len, &err), 0);
	assert_int_equal(tw_file_create(paths[1], data, len, &err), 0);
	for (size_t i = 0; i < 2; i++) {
		struct tw_power_model *p = NULL;

		if (tw_power_model_load(paths[i], &p, &err) < 0)
			fail_msg("%s", err.text);
		assert_string_equal(tw_power_model_info(p)->name, "T_3");
		assert_int_equal(tw_power_model_parts(p), 2);
		tw_power_model_free(p);
	}
	for (size_t i = 0; i < 2; i++) {
		struct tw_power_model *p = NULL;
		struct tw_err why = { 0 };

		/* Nothing there, and a zip that is none. */
		if (i == 1)
			assert_int_equal(tw_file_create(paths[2], "zip?", 4, &err), 0);
		assert_int_equal(tw_power_model_load(paths[2], &p, &why), -1);
		assert_int_equal(why.code, i == 0 ? TW_NOTFOUND : TW_PARSE);
		assert_non_null(strstr(why.text, "absent"));
		if (i == 0)
			assert_non_null(strstr(why.text, "cannot open"));
	}
	for (size_t i = 0; i < 3; i++)
		free(paths[i]);
	free(data);
	tw_fileset_clear(&files);
	tw_model_release(&m);
	scratch_free(top);
}

static void running_out_of_memory_is_reported(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		struct tw_power_model *p = NULL;
		struct tw_model m = { 0 };
		struct tw_err err = { 0 };
		int rc;

		sample_model(&(struct sample){ .trainer = "T" }, &m);
		fail_alloc_at(n);
		rc = tw_power_model_new(&m, &p, &err);
		if (!fail_alloc_told(rc, &err)) {
			tw_power_model_free(p);
			break;
		}
		assert_int_equal(m.parts, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_part_predicts_from_its_bound_columns),
		cmocka_unit_test(a_series_model_has_a_step_and_looks_back),
		cmocka_unit_test(the_rows_that_are_kept_serve_the_expected_errors_too),
		cmocka_unit_test(a_missing_feature_is_named),
		cmocka_unit_test(negative_predictions_are_zero),
		cmocka_unit_test(a_model_that_its_predictor_rejects_is_refused),
		cmocka_unit_test(a_model_is_loaded_from_a_directory_and_from_a_zip),
		cmocka_unit_test(running_out_of_memory_is_reported),
	};

	return cmocka_run_group_tests_name("power_model", tests, NULL, NULL);
}
