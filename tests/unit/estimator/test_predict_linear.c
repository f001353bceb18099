/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "estimator/predict/categories.h"
#include "estimator/predict/predictor.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "tests/unit/predictor_load.h"

#include <math.h>
#include <string.h>

#define TEXT(bias, numeric)                       \
	"{\"All_Weights\":{\"Bias_Weight\":" bias \
	",\"Categorical_Variables\":{},\"Numerical_Variables\":{" numeric "}}}"
#define A "\"a\":{\"scale\":1000,\"mean\":0,\"variance\":1000000,\"weight\":20}"
#define B "\"b\":{\"scale\":2,\"weight\":-3}"

static int load(const char *text, void **out, struct tw_err *err)
{
	return predictor_load("linear", "a,b", text, out, err);
}

static double watts_of(const void *model, const double *x, const uint32_t *place)
{
	double watts = -1;

	tw_predictor_find("linear")->predict(
		model,
		&(struct tw_rows){ .x = x, .rows = 1, .stride = 2, .place = place },
		&watts);
	return watts;
}

static void the_registry_is_complete_sorted_and_searchable(void **state)
{
	(void)state;
	for (size_t i = 0; i < tw_predictor_count(); i++) {
		const struct tw_predictor *p = tw_predictor_at(i);

		assert_true(p->name != NULL && p->summary != NULL);
		assert_true((p->read != NULL) != (p->read_text != NULL));
		assert_true(p->predict != NULL && p->state_bytes > 0);
		assert_ptr_equal(tw_predictor_find(p->name), p);
		if (i > 0)
			assert_true(strcmp(tw_predictor_at(i - 1)->name, p->name) < 0);
		tw_predictor_free(p, NULL);
	}
	assert_null(tw_predictor_find("no-such-predictor"));
	assert_null(tw_predictor_find(""));
}

static void the_test_vector_of_the_wire_contract_is_met(void **state)
{
	static const double x[] = { 1000, 0 };
	struct tw_err err = { 0 };
	void *model = NULL;

	(void)state;
	/* docs/wire.md: 32.5 W, of which 2.5 W are categorical. */
	assert_int_equal(load(TEXT("10", A "," B), &model, &err), 0);
	assert_true(fabs(watts_of(model, x, NULL) - 30.0) < 1e-12);
	tw_predictor_free(tw_predictor_find("linear"), model);
}

static void many_features_have_each_its_weight(void **state)
{
	enum { COUNT = 200 };
	struct tw_buf names = { 0 }, numeric = { 0 }, text = { 0 };
	double x[COUNT], want = 10;
	struct tw_err err = { 0 };
	void *model = NULL;

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		tw_buf_addf(&names, "%sf%d", i > 0 ? "," : "", i);
		tw_buf_addf(&numeric, "%s\"f%d\":{\"scale\":2,\"weight\":%d}",
			    i > 0 ? "," : "", i, 2 * i);
		x[i] = i % 7;
		want += i * x[i];
	}
	tw_buf_addf(&text, TEXT("10", "%s"), numeric.data);
	assert_int_equal(predictor_load("linear", names.data, text.data, &model, &err),
			 0);
	assert_true(fabs(watts_of(model, x, NULL) - want) < 1e-9);
	tw_predictor_free(tw_predictor_find("linear"), model);
	tw_buf_clear(&text);
	tw_buf_clear(&numeric);
	tw_buf_clear(&names);
}

#define CATEGORIES                                                                  \
	"{\"All_Weights\":{\"Bias_Weight\":10,\"Categorical_Variables\":{\"cpu\":{" \
	"\"Sandy Bridge\":{\"weight\":2.5},\"Haswell\":{\"weight\":7}},\"os\":{"    \
	"\"x\":{\"weight\":-1}}},\"Numerical_Variables\":{" A "," B "}}}"

static double watts_where(const void *model, const char *names, const char *values)
{
	static const double x[] = { 1000, 0 };
	struct tw_strs name = { 0 }, value = { 0 };
	struct tw_categories given;
	struct tw_err err = { 0 };
	double watts = -1;

	assert_int_equal(tw_strs_split(&name, names, &err), 0);
	assert_int_equal(tw_strs_split(&value, values, &err), 0);
	given = (struct tw_categories){ .names = (const char *const *)name.at,
					.values = (const char *const *)value.at,
					.count = name.count };
	tw_predictor_find("linear")->predict(
		model,
		&(struct tw_rows){ .x = x, .rows = 1, .stride = 2, .categories = &given },
		&watts);
	tw_strs_clear(&name);
	tw_strs_clear(&value);
	return watts;
}

static void categories_add_the_weight_of_their_value(void **state)
{
	static const double x[] = { 1000, 0 };
	struct tw_err err = { 0 };
	void *model = NULL;

	(void)state;
	assert_int_equal(load(CATEGORIES, &model, &err), 0);
	/* docs/wire.md, the first vector. */
	assert_true(fabs(watts_where(model, "cpu", "Sandy Bridge") - 32.5) < 1e-12);
	assert_true(fabs(watts_where(model, "os,cpu", "x,Haswell") - 36.0) < 1e-12);
	/* Another value, another name, nothing known at all: no weight. */
	assert_true(fabs(watts_where(model, "cpu,os", "Zen,y") - 30.0) < 1e-12);
	assert_true(fabs(watts_where(model, "gpu", "Haswell") - 30.0) < 1e-12);
	assert_true(fabs(watts_of(model, x, NULL) - 30.0) < 1e-12);
	tw_predictor_free(tw_predictor_find("linear"), model);
}

static void absent_and_nan_features_count_as_zero(void **state)
{
	static const double x[] = { 500, 4 }, gap[] = { NAN, 4 };
	static const uint32_t swapped[] = { 1, 0 }, absent[] = { 0, UINT32_MAX };
	struct tw_err err = { 0 };
	void *model = NULL;

	(void)state;
	assert_int_equal(load(TEXT("10", B "," A), &model, &err), 0);
	assert_true(watts_of(model, x, NULL) == 10 + 10 - 6);
	assert_true(watts_of(model, gap, NULL) == 10 - 6);
	assert_true(watts_of(model, x, absent) == 10 + 10);
	assert_true(fabs(watts_of(model, x, swapped) - (10 + 0.08 - 750)) < 1e-9);
	tw_predictor_free(tw_predictor_find("linear"), model);
}

/* 10 + 0.02 a - 1.5 b; a third column is of no feature, and memory behind is not written.
 */
static void each_row_has_its_prediction(void **state)
{
	static const double x[] = { 1000, 0, INFINITY, 0, 4, INFINITY, 500, 2, INFINITY };
	static const double want[] = { 30, 4, 17, -7 };
	double watts[] = { -7, -7, -7, -7 };
	struct tw_err err = { 0 };
	void *model = NULL;

	(void)state;
	assert_int_equal(load(TEXT("10", A "," B), &model, &err), 0);
	tw_predictor_find("linear")->predict(
		model, &(struct tw_rows){ .x = x, .rows = 3, .stride = 3 }, watts);
	for (size_t r = 0; r < 4; r++)
		assert_true(fabs(watts[r] - want[r]) < 1e-12);
	tw_predictor_free(tw_predictor_find("linear"), model);
}

static void a_scale_of_zero_and_a_bias_of_null_count_as_zero(void **state)
{
	static const double x[] = { 5, 4 };
	struct tw_err err = { 0 };
	void *model = NULL;

	(void)state;
	assert_int_equal(
		load(TEXT("null", "\"a\":{\"scale\":0,\"weight\":7}," B), &model, &err),
		0);
	assert_true(watts_of(model, x, NULL) == -6);
	tw_predictor_free(tw_predictor_find("linear"), model);
}

static void refuse(const char *text, enum tw_code code, const char *why)
{
	struct tw_err err = { 0 };
	void *model = NULL;

	assert_int_equal(load(text, &model, &err), -1);
	if (strstr(err.text, why) == NULL)
		fail_msg("'%s' is not in '%s'", why, err.text);
	assert_int_equal(err.code, code);
	assert_null(model);
}

static void errors_of_invalid_models_name_the_place(void **state)
{
	(void)state;
	refuse("", TW_PARSE, "");
	refuse("[]", TW_PARSE, "");
	refuse("{}", TW_PARSE, "All_Weights: missing");
	refuse("{\"All_Weights\":{\"Bias_Weight\":1,\"Categorical_Variables\":{}}}",
	       TW_PARSE, "All_Weights.Numerical_Variables: missing");
	refuse(TEXT("1", A ",\"b\":{\"weight\":1}"), TW_PARSE,
	       "Numerical_Variables.b.scale: missing");
	refuse(TEXT("[1]", A "," B), TW_PARSE, "All_Weights.Bias_Weight");
	refuse(TEXT("1", A), TW_PARSE, "All_Weights.Numerical_Variables.b");
	refuse(TEXT("1", A ",\"c\":{\"scale\":1,\"weight\":1}"), TW_PARSE,
	       "All_Weights.Numerical_Variables.b");
	refuse(TEXT("1", A "," B ",\"c\":{\"scale\":1,\"weight\":1}"), TW_INVALID,
	       "All_Weights.Numerical_Variables: 3 features, the model has 2");
	refuse(TEXT("1", A ",\"b\":{\"scale\":\"1\",\"weight\":1}"), TW_PARSE,
	       "Numerical_Variables.b.scale");
	refuse(TEXT("1", A ",\"b\":{\"scale\":1}"), TW_PARSE,
	       "Numerical_Variables.b.weight: missing");
	refuse(TEXT("1", A ",\"b\":{\"scale\":-2,\"weight\":1}"), TW_INVALID,
	       "Numerical_Variables.b.scale: -2 is below 0");
	refuse(TEXT("1", A ",\"b\":{\"scale\":1e-300,\"weight\":1e300}"), TW_INVALID,
	       "Numerical_Variables.b: weight / scale is not finite");
	refuse("{\"All_Weights\":{\"Bias_Weight\":1,\"Categorical_Variables\":"
	       "{\"cpu\":5},\"Numerical_Variables\":{}}}",
	       TW_PARSE,
	       "All_Weights.Categorical_Variables.cpu: expected an object, got a number");
	refuse("{\"All_Weights\":{\"Bias_Weight\":1,\"Categorical_Variables\":"
	       "{\"cpu\":{\"x\":{}}},\"Numerical_Variables\":{}}}",
	       TW_PARSE, "All_Weights.Categorical_Variables.cpu.x.weight: missing");
	refuse("{\"All_Weights\":{\"Bias_Weight\":1,\"Categorical_Variables\":[],"
	       "\"Numerical_Variables\":{}}}",
	       TW_PARSE, "All_Weights.Categorical_Variables: expected an object, got");
}

static void running_out_of_memory_is_reported(void **state)
{
	(void)state;
	predictor_check_memory("linear", "a,b", CATEGORIES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_registry_is_complete_sorted_and_searchable),
		cmocka_unit_test(the_test_vector_of_the_wire_contract_is_met),
		cmocka_unit_test(many_features_have_each_its_weight),
		cmocka_unit_test(categories_add_the_weight_of_their_value),
		cmocka_unit_test(absent_and_nan_features_count_as_zero),
		cmocka_unit_test(each_row_has_its_prediction),
		cmocka_unit_test(a_scale_of_zero_and_a_bias_of_null_count_as_zero),
		cmocka_unit_test(errors_of_invalid_models_name_the_place),
		cmocka_unit_test(running_out_of_memory_is_reported),
	};

	return cmocka_run_group_tests_name("predict_linear", tests, NULL, NULL);
}
