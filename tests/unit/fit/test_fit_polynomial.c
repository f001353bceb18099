/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "estimator/predict/predictor.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "tests/unit/predictor_load.h"
#include "trainer/fit/trainer.h"

#include <gsl/gsl_errno.h>
#include <math.h>
#include <string.h>

#define ROWS 60

static const char *const names[33] = { "a", "b" };

static void *load(const char *text, struct tw_err *err)
{
	void *model = NULL;

	predictor_load("polynomial", "a,b", text, &model, err);
	return model;
}

static double surface(double a, double b)
{
	return 20 + 3e-9 * a - 0.5 * b + 2e-18 * a * a + 1e-9 * a * b + 0.01 * b * b;
}

static void a_polynomial_is_found_again(void **state)
{
	const struct tw_trainer *t = tw_trainer_find("PolynomialRegressionTrainer");
	double x[2 * ROWS], y[ROWS], out;
	const struct tw_samples s = { ROWS, 2,    x,     y,    names, TW_PACKAGE, false,
				      0,    NULL, false, NULL, NULL,  0,          NULL };
	static const double between[] = { 4.2e9, 5.5 };
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 };
	void *model;

	(void)state;
	for (size_t r = 0; r < ROWS; r++) {
		x[2 * r] = 1e8 * (double)r;
		x[2 * r + 1] = (double)(r * 7 % 11);
		y[r] = surface(x[2 * r], x[2 * r + 1]);
	}
	assert_int_equal(t->fit(t, &s, 1, &text, &err), 0);
	model = load(text.data, &err);
	assert_non_null(model);
	tw_predictor_find("polynomial")
		->predict(model,
			  &(struct tw_rows){ .x = between, .rows = 1, .stride = 2 },
			  &out);
	/* The smallest lambda of the grid shrinks by 1e-12. */
	assert_true(fabs(out - surface(4.2e9, 5.5)) < 1e-6);
	tw_predictor_free(tw_predictor_find("polynomial"), model);
	tw_buf_clear(&text);
}

static void too_many_features_are_refused(void **state)
{
	static const double x[2 * 33], y[] = { 1, 2 };
	const struct tw_samples s = { 2, 33,   x,     y,    names, TW_PACKAGE, false,
				      0, NULL, false, NULL, NULL,  0,          NULL };
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(
		tw_trainer_polynomial.fit(&tw_trainer_polynomial, &s, 1, &text, &err),
		-1);
	assert_string_equal(err.text, "polynomial of 33 features, limit is 32");
}

#define TEXT(bias, scale, linear, quadratic)                                        \
	"{\"polynomial\":{\"bias\":" bias ",\"scale\":" scale ",\"linear\":" linear \
	",\"quadratic\":" quadratic "}}"
#define GOOD TEXT("10", "[2,4]", "[1,2]", "[3,4,5]")

static void the_formula_is_computed(void **state)
{
	static const double x[] = { 4, 8, NAN, 4 };
	static const uint32_t swapped[] = { 1, 0 }, absent[] = { UINT32_MAX, 1 };
	const struct tw_predictor *p = tw_predictor_find("polynomial");
	struct tw_rows in = { .x = x, .rows = 2, .stride = 2 };
	struct tw_err err = { 0 };
	void *model = load(GOOD, &err);
	double watts[2];

	(void)state;
	assert_non_null(model);
	p->predict(model, &in, watts);
	/* z = 2, 2: 10 + 2 + 4 + 12 + 16 + 20; z = 0, 1: 10 + 2 + 5 */
	assert_true(watts[0] == 64 && watts[1] == 17);
	in.place = absent;
	p->predict(model, &in, watts);
	assert_true(watts[0] == 34 && watts[1] == 17);
	in.place = swapped;
	in.rows = 1;
	p->predict(model, &in, watts);
	/* z = 4, 1: 10 + 4 + 2 + 48 + 16 + 5 */
	assert_true(watts[0] == 85);
	tw_predictor_free(p, model);
}

static void a_malformed_polynomial_is_rejected_and_named(void **state)
{
	static const struct {
		const char *text;
		enum tw_code code;
		const char *want;
	} cases[] = {
		{ "{}", TW_PARSE, "polynomial: missing" },
		{ "{\"polynomial\":{}}", TW_PARSE, "polynomial.bias: missing" },
		{ TEXT("1", "[1]", "[1,2]", "[1,2,3]"), TW_INVALID,
		  "polynomial.scale: 1 elements, expected 2" },
		{ TEXT("1", "[1,-1]", "[1,2]", "[1,2,3]"), TW_INVALID,
		  "polynomial.scale[1]: -1 is out of range" },
		{ TEXT("1", "[1,1e-310]", "[1,2]", "[1,2,3]"), TW_INVALID,
		  "polynomial.scale[1]: 1e-310 is out of range" },
		{ TEXT("1", "[1,1]", "[1,\"2\"]", "[1,2,3]"), TW_PARSE,
		  "polynomial.linear[1]: expected a finite number, got a string" },
		{ TEXT("1", "[1,1]", "[1,2]", "[1,2,3,4]"), TW_INVALID,
		  "polynomial.quadratic: 4 elements, expected 3" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };

		assert_null(load(cases[i].text, &err));
		if (err.code != cases[i].code || strstr(err.text, cases[i].want) == NULL)
			fail_msg("got %d '%s', want %d '%s'", err.code, err.text,
				 cases[i].code, cases[i].want);
	}
}

static void running_out_of_memory_is_reported(void **state)
{
	(void)state;
	predictor_check_memory("polynomial", "a,b", GOOD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_polynomial_is_found_again),
		cmocka_unit_test(too_many_features_are_refused),
		cmocka_unit_test(the_formula_is_computed),
		cmocka_unit_test(a_malformed_polynomial_is_rejected_and_named),
		cmocka_unit_test(running_out_of_memory_is_reported),
	};

	gsl_set_error_handler_off();
	return cmocka_run_group_tests_name("fit_polynomial", tests, NULL, NULL);
}
