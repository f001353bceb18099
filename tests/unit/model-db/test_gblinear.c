/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "estimator/predict/power_model.h"
#include "lib/core/err.h"
#include "model-db/gblinear.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/sample_model.h"

#include <stdlib.h>
#include <string.h>

#define TEXT(bias, categories, of_a, of_b)                    \
	"{\"All_Weights\":{\"Bias_Weight\":" bias             \
	",\"Categorical_Variables\":" categories              \
	",\"Numerical_Variables\":{\"bpf_cpu_time_ms\":" of_a \
	",\"bpf_page_cache_hit\":" of_b "}}}"
#define LINEAR \
	TEXT("10", "{}", "{\"scale\":1000,\"weight\":20}", "{\"scale\":3,\"weight\":-1}")

static double watts_of(const struct tw_model *m, double a, double b)
{
	const double x[] = { a, b };
	struct tw_power_model *p = NULL;
	struct tw_err err = { 0 };
	double watts = -1;

	if (tw_power_model_borrow(m, &p, &err) < 0)
		fail_msg("%s", err.text);
	tw_power_model_predict_raw(
		p, 0, &(struct tw_rows){ .x = x, .rows = 1, .stride = 2 }, &watts);
	tw_power_model_free(p);
	return watts;
}

static void a_linear_model_has_the_same_watts_as_a_file_of_xgboost(void **state)
{
	static const double rows[][2] = {
		{ 0, 0 }, { 1000, 0 }, { 250, 9 }, { 7e6, 4e5 }
	};
	static const char *const texts[] = {
		LINEAR,
		TEXT("null", "null", "{\"scale\":0,\"weight\":5}",
		     "{\"scale\":1e12,\"weight\":2}"),
	};

	(void)state;
	for (size_t t = 0; t < TW_COUNT(texts); t++) {
		const struct sample s = { .group = "BPFOnly", .text = texts[t] };
		struct tw_model m = { 0 };
		struct tw_err err = { 0 };
		double want[TW_COUNT(rows)];

		sample_model(&s, &m);
		for (size_t r = 0; r < TW_COUNT(rows); r++)
			want[r] = watts_of(&m, rows[r][0], rows[r][1]);
		assert_int_equal(tw_model_to_gblinear(&m, &err), 0);
		assert_string_equal(m.info.predictor, "xgboost");
		assert_int_equal(tw_model_check(&m, &err), 0);
		for (size_t r = 0; r < TW_COUNT(rows); r++)
			assert_float_equal(watts_of(&m, rows[r][0], rows[r][1]), want[r],
					   1e-6 * (1 + 2 * rows[r][1] + rows[r][0]));
		/* XGBoost refuses integers. */
		if (t == 0)
			assert_non_null(strstr(m.part[0].text,
					       "\"weights\":[2.00000000e-02,"
					       "-3.33333333e-01,1.00000000e+01]"));
		tw_model_release(&m);
	}
}

static void other_models_stay_as_they_are(void **state)
{
	static const struct sample samples[] = {
		{ .group = "BPFOnly", .predictor = "xgboost" },
		{ .group = "BPFOnly",
		  .text = TEXT(
			  "1", "{\"cpu_architecture\":{\"Sandy Bridge\":{\"weight\":2}}}",
			  "{\"scale\":1,\"weight\":2}", "{\"scale\":1,\"weight\":2}") },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(samples); i++) {
		struct tw_model m = { 0 };
		struct tw_err err = { 0 };
		char *before;

		sample_model(&samples[i], &m);
		before = strdup(m.part[0].text);
		assert_int_equal(tw_model_to_gblinear(&m, &err), 0);
		assert_string_equal(m.part[0].text, before);
		assert_string_equal(m.info.predictor, i == 0 ? "xgboost" : "linear");
		free(before);
		tw_model_release(&m);
	}
}

static void damage_is_an_error_and_the_model_stays(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{\"All_Weights\":{}}",
		TEXT("\"10\"", "{}", "{\"scale\":1,\"weight\":2}",
		     "{\"scale\":1,\"weight\":2}"),
		TEXT("10", "{}", "{\"scale\":1}", "{\"scale\":1,\"weight\":2}"),
		TEXT("10", "{}", "{\"scale\":1,\"weight\":2}", "3"),
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(texts); i++) {
		const struct sample s = { .group = "BPFOnly", .text = texts[i] };
		struct tw_model m = { 0 };
		struct tw_err err = { 0 };

		sample_model(&s, &m);
		assert_int_equal(tw_model_to_gblinear(&m, &err), -1);
		assert_non_null(strstr(err.text, "model 'SGDRegressorTrainer_0'"));
		assert_string_equal(m.part[0].text, texts[i]);
		assert_string_equal(m.info.predictor, "linear");
		tw_model_release(&m);
	}
}

static void running_out_of_memory_changes_nothing(void **state)
{
	const struct sample s = { .group = "BPFOnly", .text = LINEAR };

	(void)state;
	for (int n = 1;; n++) {
		struct tw_model m = { 0 };
		struct tw_err err = { 0 };
		bool failed;
		int rc;

		sample_model(&s, &m);
		fail_alloc_at(n);
		rc = tw_model_to_gblinear(&m, &err);
		failed = fail_alloc_told(rc, &err);
		assert_string_equal(m.info.predictor, failed ? "linear" : "xgboost");
		tw_model_release(&m);
		if (!failed)
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_linear_model_has_the_same_watts_as_a_file_of_xgboost),
		cmocka_unit_test(other_models_stay_as_they_are),
		cmocka_unit_test(damage_is_an_error_and_the_model_stays),
		cmocka_unit_test(running_out_of_memory_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
