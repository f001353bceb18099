/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "estimator/predict/predictor.h"
#include "lib/core/err.h"
#include "tests/unit/predictor_load.h"

#include <math.h>
#include <string.h>

#define KNN(k, scale, points, values)                                          \
	"{\"knn\":{\"neighbors\":" k ",\"scale\":" scale ",\"points\":" points \
	",\"values\":" values "}}"
#define SVR(bias, gamma, scale, points, values)                            \
	"{\"svr\":{\"bias\":" bias ",\"gamma\":" gamma ",\"scale\":" scale \
	",\"points\":" points ",\"values\":" values "}}"
#define GOOD_KNN KNN("2", "[2,0]", "[[0,5],[1,5],[3,5],[1,9]]", "[10,20,40,80]")
#define GOOD_SVR SVR("30", "0.5", "[2,1]", "[[1,0],[0,2]]", "[4,-6]")

static void *load(const char *name, const char *text, struct tw_err *err)
{
	void *model = NULL;

	predictor_load(name, "a,b", text, &model, err);
	return model;
}

static void knn_averages_the_nearest_points(void **state)
{
	/* b has scale 0, so that 5 and 9 are as far: of equals the first ones count. */
	static const double x[] = { 0, 0, 1.9, 7, 6, 1, NAN, 3, 1e300, 0, -1e300, NAN };
	static const double want[] = { 15, 50, 30, 15, 15, 15 };
	const struct tw_predictor *p = tw_predictor_find("knn");
	struct tw_err err = { 0 };
	void *model = load(
		"knn", KNN("2", "[2,0]", "[[0,0],[1,0],[3,0],[1,0]]", "[10,20,40,80]"),
		&err);
	double watts[6];

	(void)state;
	assert_non_null(model);
	p->predict(model, &(struct tw_rows){ .x = x, .rows = 6, .stride = 2 }, watts);
	for (int r = 0; r < 6; r++)
		if (watts[r] != want[r])
			fail_msg("row %d: %g is not %g", r, watts[r], want[r]);
	tw_predictor_free(p, model);
}

static void svr_sums_its_support_vectors(void **state)
{
	static const double x[] = { 2, 0, 0, 2, NAN, 1, 1e300, 0 };
	static const uint32_t absent[] = { UINT32_MAX, 1 };
	const struct tw_predictor *p = tw_predictor_find("svr");
	struct tw_rows in = { .x = x, .rows = 4, .stride = 2 };
	struct tw_err err = { 0 };
	void *model = load("svr", GOOD_SVR, &err);
	double watts[4];

	(void)state;
	assert_non_null(model);
	p->predict(model, &in, watts);
	/* Squared distances of (1,0): 0 and 5; of (0,2): 5 and 0; of (0,1): 2 and 1. */
	assert_true(fabs(watts[0] - (34 - 6 * exp(-2.5))) < 1e-12);
	assert_true(fabs(watts[1] - (24 + 4 * exp(-2.5))) < 1e-12);
	assert_true(fabs(watts[2] - (30 + 4 * exp(-1) - 6 * exp(-0.5))) < 1e-12);
	assert_true(watts[3] == 30);
	in.place = absent;
	in.rows = 1;
	p->predict(model, &in, watts);
	assert_true(fabs(watts[0] - (30 + 4 * exp(-0.5) - 6 * exp(-2))) < 1e-12);
	tw_predictor_free(p, model);
}

static void errors_of_invalid_models_name_the_place(void **state)
{
	static const struct {
		const char *predictor, *text;
		enum tw_code code;
		const char *want;
	} cases[] = {
		{ "knn", "{}", TW_PARSE, "knn: missing" },
		{ "knn", KNN("0", "[1,1]", "[[1,2]]", "[1]"), TW_INVALID,
		  "knn.neighbors" },
		{ "knn", KNN("65", "[1,1]", "[[1,2]]", "[1]"), TW_INVALID,
		  "knn.neighbors" },
		{ "knn", KNN("2", "[1,1]", "[[1,2]]", "[1]"), TW_INVALID,
		  "knn: 1 points for 2 neighbors" },
		{ "knn", KNN("1", "[1,1]", "[]", "[]"), TW_INVALID,
		  "knn: 0 points for 1 neighbors" },
		{ "knn", KNN("1", "[1]", "[[1,2]]", "[1]"), TW_INVALID,
		  "knn.scale: 1 elements, expected 2" },
		{ "knn", KNN("1", "[1,1]", "[[1]]", "[1]"), TW_INVALID,
		  "knn.points[0]: 1 elements, expected 2" },
		{ "knn", KNN("1", "[1,1]", "[[1,2],3]", "[1,2]"), TW_PARSE,
		  "knn.points[1]: expected a list, got a number" },
		{ "knn", KNN("1", "[1,1]", "[[1,null]]", "[1]"), TW_PARSE,
		  "knn.points[0][1]: expected a finite number" },
		{ "knn", KNN("1", "[1,1]", "[[1,2]]", "[1,2]"), TW_INVALID,
		  "knn.values: 2 elements, expected 1" },
		{ "svr", "{}", TW_PARSE, "svr: missing" },
		{ "svr", SVR("null", "1", "[1,1]", "[]", "[]"), TW_PARSE, "svr.bias" },
		{ "svr", SVR("1", "0", "[1,1]", "[]", "[]"), TW_INVALID,
		  "svr.gamma: 0 is not above 0" },
		{ "svr", SVR("1", "-1", "[1,1]", "[]", "[]"), TW_INVALID,
		  "svr.gamma: -1 is not above 0" },
		{ "svr", SVR("1", "1", "[1,-1]", "[]", "[]"), TW_INVALID,
		  "svr.scale[1]: -1 is out of range" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };

		assert_null(load(cases[i].predictor, cases[i].text, &err));
		if (err.code != cases[i].code || strstr(err.text, cases[i].want) == NULL)
			fail_msg("got %d '%s', want %d '%s'", err.code, err.text,
				 cases[i].code, cases[i].want);
	}
}

static void running_out_of_memory_is_reported(void **state)
{
	(void)state;
	predictor_check_memory("knn", "a,b", GOOD_KNN);
	predictor_check_memory("svr", "a,b", GOOD_SVR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knn_averages_the_nearest_points),
		cmocka_unit_test(svr_sums_its_support_vectors),
		cmocka_unit_test(errors_of_invalid_models_name_the_place),
		cmocka_unit_test(running_out_of_memory_is_reported),
	};

	return cmocka_run_group_tests_name("predict_points", tests, NULL, NULL);
}
