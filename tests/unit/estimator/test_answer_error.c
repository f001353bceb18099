/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "estimator/predict/answer_error.h"
#include "estimator/predict/predictor.h"
#include "lib/core/err.h"
#include "lib/zip/fileset.h"
#include "model-db/model.h"
#include "model-db/model_files.h"
#include "tests/unit/sample_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The expected error is cpu_cycles, at most 9 W. */
static char trees[] =
	"{\"ensemble\":{\"floor\":0,\"ceiling\":9,\"alone\":{\"bias\":0,"
	"\"columns\":[[0,0,0]],\"members\":[{\"weight\":1,\"columns\":[0],"
	"\"predictor\":\"linear\",\"model\":{\"All_Weights\":{\"Bias_Weight\":0,"
	"\"Numerical_Variables\":{\"cpu_cycles\":{\"scale\":1,\"weight\":1}}}}}]}}}";

static int load(const char *metadata, char *text, struct tw_answer_error *out,
		struct tw_err *err)
{
	struct tw_model_part part = { .component = TW_PACKAGE,
				      .error_text = text,
				      .error_len = text != NULL ? strlen(text) : 0 };
	json_t *doc = json_loads(metadata, 0, NULL);
	int rc;

	assert_non_null(doc);
	assert_int_equal(tw_strs_adds(&part.features, "cpu_cycles", err), 0);
	rc = tw_answer_error_load(doc, &part, out, err);
	json_decref(doc);
	tw_strs_clear(&part.features);
	return rc;
}

/* Three rows of cpu_cycles 2, 4, 100, which are predicted to take 10, 20, 30 W. */
static void answer(const char *metadata, char *text, double expected[3], double half[3])
{
	static const double x[] = { 2, 4, 100 }, watts[] = { 10, 20, 30 };
	const struct tw_rows in = { .x = x, .rows = 3, .stride = 1 };
	struct tw_answer_error e = { 0 };
	struct tw_err err = { 0 };

	if (load(metadata, text, &e, &err) < 0)
		fail_msg("%s", err.text);
	tw_answer_error_of(&e, &in, watts, expected, half);
	tw_answer_error_release(&e);
}

static void assert_all(const double got[3], double a, double b, double c)
{
	if (got[0] != a || got[1] != b || got[2] != c)
		fail_msg("%g, %g, %g", got[0], got[1], got[2]);
}

static void old_models_have_constant_intervals(void **state)
{
	double expected[3], half[3];

	(void)state;
	answer("{\"package_mae\":1.5,\"package_p95\":4,\"dram_p95\":1}", NULL, expected,
	       half);
	assert_all(expected, 1.5, 1.5, 1.5);
	assert_all(half, 4, 4, 4);
	answer("{\"package_mae\":null}", NULL, expected, half);
	assert_true(isnan(expected[0]) && isnan(half[0]));
}

static void bins_are_of_predicted_power(void **state)
{
	double expected[3], half[3];

	(void)state;
	answer("{\"package_p95\":4,\"package_interval_widths\":[1,2,3],"
	       "\"package_interval_edges\":[20,30]}",
	       NULL, expected, half);
	assert_all(half, 1, 2, 3);
}

static void a_factor_is_of_the_expected_error(void **state)
{
	double expected[3], half[3];

	(void)state;
	answer("{\"package_mae\":1,\"package_interval_factor\":2.5}", trees, expected,
	       half);
	assert_all(expected, 2, 4, 9);
	assert_all(half, 5, 10, 22.5);
}

static void what_is_not_an_interval_is_rejected(void **state)
{
	static const struct {
		const char *metadata, *why;
	} bad[] = {
		{ "{\"package_interval_factor\":0}",
		  "metadata.json.package_interval_factor: expected a number above 0" },
		{ "{\"package_interval_factor\":\"2\"}", "expected a number above 0" },
		{ "{\"package_interval_widths\":[]}", "expected a list of 1 to 16" },
		{ "{\"package_interval_widths\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,"
		  "17]}",
		  "expected a list of 1 to 16" },
		{ "{\"package_interval_widths\":[-1]}", "widths of at least 0" },
		{ "{\"package_interval_widths\":[1,2]}", "package_interval_edges" },
		{ "{\"package_interval_widths\":[1,2,3],"
		  "\"package_interval_edges\":[5,4]}",
		  "rising edges" },
		{ "{\"package_series_interval_widths\":7}",
		  "metadata.json.package_series_interval_widths" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(bad); i++) {
		struct tw_answer_error e = { 0 };
		struct tw_err err = { 0 };

		assert_int_equal(load(bad[i].metadata, NULL, &e, &err), -1);
		if (strstr(err.text, bad[i].why) == NULL)
			fail_msg("%s", err.text);
	}
}

static void only_an_ensemble_gives_expected_errors(void **state)
{
	struct tw_answer_error e = { 0 };
	struct tw_err err = { 0 };
	char other[] = "{\"trees\":{\"base\":1,\"forest\":[]}}";

	(void)state;
	assert_int_equal(load("{}", other, &e, &err), -1);
	assert_non_null(strstr(err.text, "expected errors"));
}

static void the_file_is_part_of_the_model(void **state)
{
	const struct sample s = { 0 };
	struct tw_model m = { 0 }, back = { 0 };
	struct tw_fileset files = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	sample_model(&s, &m);
	m.part[1].error_text = strdup(trees);
	m.part[1].error_len = strlen(trees);
	assert_int_equal(tw_model_to_files(&m, &files, &err), 0);
	assert_null(tw_fileset_find(&files, "package_error.json"));
	assert_non_null(tw_fileset_find(&files, "dram_error.json"));
	assert_int_equal(tw_model_from_files(&files, &back, &err), 0);
	assert_null(back.part[0].error_text);
	assert_string_equal(back.part[1].error_text, trees);
	tw_model_release(&back);
	tw_fileset_clear(&files);
	free(m.part[1].error_text);
	m.part[1].error_text = strdup("[1]");
	m.part[1].error_len = 3;
	assert_int_equal(tw_model_to_files(&m, &files, &err), -1);
	assert_non_null(strstr(err.text, "dram_error.json: "));
	tw_model_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_models_have_constant_intervals),
		cmocka_unit_test(bins_are_of_predicted_power),
		cmocka_unit_test(a_factor_is_of_the_expected_error),
		cmocka_unit_test(what_is_not_an_interval_is_rejected),
		cmocka_unit_test(only_an_ensemble_gives_expected_errors),
		cmocka_unit_test(the_file_is_part_of_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
