/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "estimator/predict/predictor.h"
#include "lib/core/err.h"
#include "model-db/curve.h"
#include "tests/unit/predictor_load.h"

#include <math.h>
#include <string.h>

#define TEXT(name, feature, weights)                                             \
	"{\"curve\":\"" name "\",\"All_Weights\":{\"Categorical_Variables\":{}," \
	"\"Numerical_Variables\":{" feature "},\"CurveFit_Weights\":" weights "}}"
#define A "\"a\":{\"scale\":1000}"

static int read_text(const char *text, struct tw_curve *out, struct tw_err *err)
{
	return tw_curve_read(text, strlen(text), "f.json", out, err);
}

static void kinds_are_sorted_and_findable(void **state)
{
	(void)state;
	for (size_t i = 0; i < tw_curve_kind_count(); i++) {
		const struct tw_curve_kind *k = tw_curve_kind_at(i);

		assert_ptr_equal(tw_curve_kind_find(k->name), k);
		assert_in_range(k->weights, 1, TW_CURVE_WEIGHTS_MAX);
		if (i > 0)
			assert_true(strcmp(tw_curve_kind_at(i - 1)->name, k->name) < 0);
	}
	assert_null(tw_curve_kind_find("linear"));
}

/* What Kepler 0.7.12 answered, in mW, cut off (docs/wire.md). */
static void curves_match_the_vectors_of_the_wire_contract(void **state)
{
	static const struct {
		const char *text;
		double power_mw, idle_mw;
	} cases[] = {
		{ TEXT("exponential", A, "[2,1.5,7]"), 15963, 9000 },
		{ TEXT("logarithmic", A, "[3,4,7]"), 11828, 7000 },
		{ TEXT("logistic", A, "[30,0.5,8,7]"), 36460, 7539 },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_curve c;
		struct tw_err err = { 0 };

		assert_int_equal(read_text(cases[i].text, &c, &err), 0);
		assert_true(floor(1e3 * tw_curve_watts(&c, 1000)) == cases[i].power_mw);
		assert_true(floor(1e3 * tw_curve_watts(&c, 0)) == cases[i].idle_mw);
		/* Nothing is there: as if it were 0. */
		assert_true(tw_curve_watts(&c, NAN) == tw_curve_watts(&c, 0));
		assert_true(tw_curve_watts(&c, -5) == tw_curve_watts(&c, 0));
	}
}

static void no_value_gives_nan(void **state)
{
	static const char *const texts[] = {
		TEXT("exponential", A, "[0,1e308,1]"),
		TEXT("exponential", A, "[1e308,1e308,-1e308]"),
		TEXT("exponential", "\"a\":{\"scale\":1e-300}", "[1,0,1]"),
		TEXT("logarithmic", "\"a\":{\"scale\":1e-300}", "[1,0,1]"),
		TEXT("logarithmic", A, "[-1e308,1e308,1e308]"),
		TEXT("logistic", A, "[1,-1e308,0,1]"),
		TEXT("logistic", A, "[1e308,1e308,-1e308,-1e308]"),
	};
	static const double x[] = { 0, 1, 1e308, INFINITY, NAN };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(texts); i++)
		for (size_t k = 0; k < TW_COUNT(x); k++) {
			struct tw_curve c;
			struct tw_err err = { 0 };

			assert_int_equal(read_text(texts[i], &c, &err), 0);
			if (isnan(tw_curve_watts(&c, x[k])))
				fail_msg("%s at %g", texts[i], x[k]);
		}
}

static void a_malformed_curve_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *text;
		enum tw_code code;
		const char *want;
	} cases[] = {
		{ "[]", TW_PARSE, "f.json" },
		{ "{}", TW_PARSE, "f.json.curve: missing" },
		{ "{\"curve\":\"cubic\"}", TW_UNSUPPORTED,
		  "f.json.curve: 'cubic' is not supported" },
		{ "{\"curve\":\"logistic\"}", TW_PARSE, "f.json.All_Weights: missing" },
		{ TEXT("logistic", "", "[1,2,3,4]"), TW_INVALID,
		  "Numerical_Variables: 0 features, a curve has 1" },
		{ TEXT("logistic", A ",\"b\":{\"scale\":1}", "[1,2,3,4]"), TW_INVALID,
		  "Numerical_Variables: 2 features, a curve has 1" },
		{ TEXT("logistic", "\"a\":3", "[1,2,3,4]"), TW_PARSE,
		  "All_Weights.Numerical_Variables.a: expected an object" },
		{ TEXT("logistic", "\"a\":{\"scale\":0}", "[1,2,3,4]"), TW_INVALID,
		  "Numerical_Variables.a.scale: 0 is out of range" },
		{ TEXT("logistic", "\"a\":{\"scale\":1e-310}", "[1,2,3,4]"), TW_INVALID,
		  "a.scale: 1e-310 is out of range" },
		{ TEXT("logistic", A, "[1,2,3]"), TW_INVALID,
		  "CurveFit_Weights: 3 weights, logistic has 4" },
		{ TEXT("logistic", A, "[1,2,3,null]"), TW_PARSE,
		  "CurveFit_Weights[3]: expected a finite number, got" },
		{ TEXT("logarithmic", A, "[1,-2,3]"), TW_INVALID,
		  "CurveFit_Weights[1]: -2 is below 0" },
		{ "{\"curve\":\"logistic\",\"All_Weights\":{\"Categorical_Variables\":"
		  "{\"a\":{}},\"Numerical_Variables\":{" A "},"
		  "\"CurveFit_Weights\":[1,2,3,4]}}",
		  TW_UNSUPPORTED, "Categorical_Variables: not supported" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_curve c;
		struct tw_err err = { 0 };

		assert_int_equal(read_text(cases[i].text, &c, &err), -1);
		if (err.code != cases[i].code || strstr(err.text, cases[i].want) == NULL)
			fail_msg("got %d '%s', want %d '%s'", err.code, err.text,
				 cases[i].code, cases[i].want);
	}
}

static int load(const char *text, const char *names, void **out, struct tw_err *err)
{
	return predictor_load("curvefit", names, text, out, err);
}

static void the_predictor_finds_the_feature_by_name(void **state)
{
	static const double x[] = { 5, 1000, 7, 0 };
	static const uint32_t here[] = { 0, 1 }, absent[] = { 0, UINT32_MAX };
	const struct tw_predictor *p = tw_predictor_find("curvefit");
	struct tw_rows in = { .x = x, .rows = 2, .stride = 2 };
	struct tw_err err = { 0 };
	void *model = NULL;
	double watts[2];

	(void)state;
	assert_int_equal(load(TEXT("logarithmic", A, "[3,4,7]"), "b,a", &model, &err), 0);
	for (int i = 0; i < 2; i++) {
		in.place = i == 0 ? NULL : here;
		p->predict(model, &in, watts);
		assert_true(fabs(watts[0] - (3 * log(5) + 7)) < 1e-12);
		assert_true(watts[1] == 7);
	}
	in.place = absent;
	p->predict(model, &in, watts);
	assert_true(watts[0] == 7 && watts[1] == 7);
	tw_predictor_free(p, model);
	assert_int_equal(load(TEXT("logarithmic", A, "[3,4,7]"), "b", &model, &err), -1);
	assert_string_equal(err.text, "'a' is not a feature of the component");
}

static void running_out_of_memory_is_reported(void **state)
{
	(void)state;
	predictor_check_memory("curvefit", "a", TEXT("logarithmic", A, "[3,4,7]"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_are_sorted_and_findable),
		cmocka_unit_test(curves_match_the_vectors_of_the_wire_contract),
		cmocka_unit_test(no_value_gives_nan),
		cmocka_unit_test(a_malformed_curve_is_refused_with_its_place),
		cmocka_unit_test(the_predictor_finds_the_feature_by_name),
		cmocka_unit_test(running_out_of_memory_is_reported),
	};

	return cmocka_run_group_tests_name("curve", tests, NULL, NULL);
}
