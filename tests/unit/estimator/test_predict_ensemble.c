/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "estimator/predict/predictor.h"
#include "lib/core/err.h"
#include "tests/unit/predictor_load.h"

#include <math.h>
#include <string.h>

#define TREES(forest) "{\"trees\":{\"base\":1,\"forest\":[" forest "]}}"
/* a < 10: 5; else b < 3: 20, else 40. */
#define TREE "{\"split\":[0,-1,1,-1,-1],\"value\":[10,5,3,20,40]}"

#define LINEAR(feature, weight)                                             \
	"{\"All_Weights\":{\"Bias_Weight\":0,\"Categorical_Variables\":{}," \
	"\"Numerical_Variables\":{\"" feature                               \
	"\":{\"scale\":1,\"mean\":0,\"variance\":1,\"weight\":" weight "}}}}"
#define MEMBER(weight, columns, predictor, model)                                     \
	"{\"weight\":" weight ",\"columns\":[" columns "],\"predictor\":\"" predictor \
	"\",\"model\":" model "}"
#define FORM(bias, columns, members) \
	"{\"bias\":" bias ",\"columns\":[" columns "],\"members\":[" members "]}"
#define ENSEMBLE(rest) "{\"ensemble\":{\"floor\":0,\"ceiling\":1000," rest "}}"
#define A MEMBER("1", "0", "linear", LINEAR("a", "1"))
#define ALONE "\"alone\":" FORM("0", "[0,0,0]", A)

static void *load(const char *name, const char *text, struct tw_err *err)
{
	void *model = NULL;

	predictor_load(name, "a,b", text, &model, err);
	return model;
}

static void check(const char *name, const char *text, const struct tw_rows *in,
		  const double *want)
{
	const struct tw_predictor *p = tw_predictor_find(name);
	struct tw_err err = { 0 };
	void *model = load(name, text, &err);
	double watts[64];

	if (model == NULL)
		fail_msg("%s", err.text);
	p->predict(model, in, watts);
	for (size_t r = 0; r < in->rows; r++)
		if (!(fabs(watts[r] - want[r]) < 1e-9))
			fail_msg("row %zu: %g is not %g", r, watts[r], want[r]);
	tw_predictor_free(p, model);
}

static void trees_in_preorder_are_walked_and_summed(void **state)
{
	static const double x[] = { 9, 0, 10, 2, 10, 3, 1e300, NAN };
	static const double want[] = { 6, 21, 41, 41 };
	static const double twice[] = { 11, 41, 81, 81 };

	(void)state;
	check("trees", TREES(TREE), &(struct tw_rows){ .x = x, .rows = 4, .stride = 2 },
	      want);
	check("trees", TREES(TREE "," TREE),
	      &(struct tw_rows){ .x = x, .rows = 4, .stride = 2 }, twice);
}

static void members_are_weighted_and_summed(void **state)
{
	static const double x[] = { 9, 4, 10, 2 };
	static const double want[] = { 2 + 0.5 * 6 + 3 * 9.0 / 4, 2 + 0.5 * 21 + 3 * 5 };

	(void)state;
	check("ensemble",
	      ENSEMBLE("\"alone\":" FORM(
		      "2", "[1,0,0],[0,0,0],[0,0,0,1]",
		      MEMBER("0.5", "1,0", "trees", TREES(TREE)) "," MEMBER(
			      "3", "2", "linear", LINEAR("a/b", "1")))),
	      &(struct tw_rows){ .x = x, .rows = 2, .stride = 2 }, want);
}

#define LOOKS_BACK                                                         \
	ENSEMBLE(ALONE ",\"step_ms\":1000,\"series\":" FORM(               \
		"100", "[0,1,1],[0,0,2]",                                  \
		MEMBER("1", "0", "linear", LINEAR("a@1", "1")) "," MEMBER( \
			"10", "1", "linear", LINEAR("a@0-2", "1"))))

static void only_rows_of_a_series_use_earlier_rows(void **state)
{
	static const double x[] = { 1, 0, 2, 0, 6, 0, 7, 0, 50, 0, 51, 0 };
	/* The fifth row begins anew: what comes before it is too long ago. */
	static const int64_t time_ms[] = { 0, 1000, 2500, 3000, 9000, 10000 };
	static const double alone[] = { 1, 2, 6, 7, 50, 51 };
	static const double series[] = {
		1,  100 + 1 + 10 * 1.5,  100 + 2 + 10 * 3, 100 + 6 + 10 * 5,
		50, 100 + 50 + 10 * 50.5
	};
	struct tw_rows in = { .x = x, .rows = 6, .stride = 2 };

	(void)state;
	check("ensemble", LOOKS_BACK, &in, alone);
	in.time_ms = time_ms;
	check("ensemble", LOOKS_BACK, &in, series);
	assert_non_null(tw_predictor_find("ensemble")->back);
	assert_null(tw_predictor_find("linear")->back);
}

static void earlier_rows_may_lie_before_the_first_row(void **state)
{
	static const double x[] = { 1, 0, 2, 0, 6, 0, 7, 0 };
	static const int64_t time_ms[] = { 0, 1000, 2500, 3000 };
	static const double series[] = { 100 + 2 + 10 * 3, 100 + 6 + 10 * 5 };
	struct tw_rows in = {
		.x = x + 4, .rows = 2, .stride = 2, .time_ms = time_ms + 2, .before = 2
	};

	(void)state;
	check("ensemble", LOOKS_BACK, &in, series);
}

static void a_batch_predicts_the_same_as_single_rows(void **state)
{
	double x[2 * 50], want[50];
	int64_t time_ms[50];

	(void)state;
	for (int r = 0; r < 50; r++) {
		x[2 * r] = r * r % 17;
		x[2 * r + 1] = 0;
		time_ms[r] = 1000 * (r + r / 20 * 10);
		want[r] = x[2 * r];
		if (r % 20 == 1)
			want[r] = 100 + x[2 * r - 2] + 10 * (x[2 * r] + x[2 * r - 2]) / 2;
		else if (r % 20 > 1)
			want[r] = 100 + x[2 * r - 2] +
				  10 * (x[2 * r] + x[2 * r - 2] + x[2 * r - 4]) / 3;
	}
	check("ensemble", LOOKS_BACK,
	      &(struct tw_rows){ .x = x, .rows = 50, .stride = 2, .time_ms = time_ms },
	      want);
}

static void the_median_of_the_members_is_taken(void **state)
{
	static const double x[] = { 1, 10, 4, 2, 3, 3 };
	/* Medians of 2 a, b and a; the weights do not count. */
#define TWICE MEMBER("5", "0", "linear", LINEAR("a", "2"))
#define OTHER MEMBER("5", "1", "linear", LINEAR("b", "1"))
	(void)state;
	check("ensemble",
	      ENSEMBLE("\"alone\":{\"bias\":0,\"median\":true,\"columns\":[[0,0,0],[1,0,"
		       "0]],"
		       "\"members\":[" TWICE "," OTHER "," A "]}"),
	      &(struct tw_rows){ .x = x, .rows = 3, .stride = 2 },
	      (const double[]){ 2, 4, 3 });
	check("ensemble",
	      ENSEMBLE("\"alone\":{\"bias\":1,\"median\":true,\"columns\":[[0,0,0],[1,0,"
		       "0]],"
		       "\"members\":[" TWICE "," OTHER "]}"),
	      &(struct tw_rows){ .x = x, .rows = 3, .stride = 2 },
	      (const double[]){ 7, 6, 5.5 });
}

static void power_rises_evenly_from_rest_to_the_ramp(void **state)
{
	static const double x[] = { 0, 0, 1, 0, 2, 0, 4, 0, 8, 0, 30, 0, NAN, 0, -5, 0 };

	(void)state;
	/* The member has 10 a: at 1, 10 W are below rest; from the ramp on it counts. */
	check("ensemble",
	      ENSEMBLE("\"alone\":{\"bias\":0,\"columns\":[[0,0,0]],\"load\":{\"column\":"
		       "0,"
		       "\"rest\":12,\"ramp\":8},\"members\":[" MEMBER(
			       "1", "0", "linear", LINEAR("a", "10")) "]}"),
	      &(struct tw_rows){ .x = x, .rows = 8, .stride = 2 },
	      (const double[]){ 12, 12, 14, 26, 80, 300, 12, 12 });
}

static void predictions_are_clamped_to_floor_and_ceiling(void **state)
{
	static const double x[] = { 1e300, 0, -1e300, 0, NAN, 0, INFINITY, 0, 12, 0 };
	static const double want[] = { 1000, 0, 0, 0, 12 };
	static const double absent[] = { 0, 0, 0, 0, 0 };
	static const uint32_t place[] = { UINT32_MAX, UINT32_MAX };
	struct tw_rows in = { .x = x, .rows = 5, .stride = 2 };

	(void)state;
	check("ensemble", ENSEMBLE(ALONE), &in, want);
	in.place = place;
	check("ensemble", ENSEMBLE(ALONE), &in, absent);
}

static void errors_of_invalid_models_name_the_place(void **state)
{
	static const struct {
		const char *predictor, *text;
		enum tw_code code;
		const char *want;
	} cases[] = {
		{ "trees", "{}", TW_PARSE, ".trees: missing" },
		{ "trees", "{\"trees\":{\"base\":1e39,\"forest\":[]}}", TW_INVALID,
		  "trees.base: 1e+39 is out of range" },
		{ "trees", TREES("5"), TW_PARSE,
		  "trees.forest[0]: expected an object, got" },
		{ "trees", TREES("{\"split\":[],\"value\":[]}"), TW_INVALID,
		  "trees.forest[0]: 0 splits and 0 values" },
		{ "trees", TREES("{\"split\":[-1],\"value\":[1,2]}"), TW_INVALID,
		  "trees.forest[0]: 1 splits and 2 values" },
		{ "trees", TREES("{\"split\":[0,-1],\"value\":[1,2]}"), TW_INVALID,
		  "trees.forest[0]: the tree lacks nodes" },
		{ "trees", TREES("{\"split\":[0],\"value\":[1]}"), TW_INVALID,
		  "trees.forest[0]: the tree lacks nodes" },
		{ "trees", TREES("{\"split\":[-1,-1],\"value\":[1,2]}"), TW_INVALID,
		  "trees.forest[0]: node 1 is behind the end of the tree" },
		{ "trees", TREES("{\"split\":[2,-1,-1],\"value\":[1,2,3]}"), TW_INVALID,
		  "trees.forest[0]: node 0: feature 2 of 2" },
		{ "trees", TREES("{\"split\":[-2],\"value\":[1]}"), TW_INVALID,
		  "trees.forest[0].split[0]: expected -1 or the index of a feature" },
		{ "trees", TREES("{\"split\":[-1],\"value\":[1e39]}"), TW_INVALID,
		  "trees.forest[0].value[0]: expected a number that fits a float" },
		{ "trees", TREES("{\"split\":[\"x\"],\"value\":[1]}"), TW_INVALID,
		  "trees.forest[0].split[0]" },
		{ "ensemble", "{}", TW_PARSE, ".ensemble: missing" },
		{ "ensemble", "{\"ensemble\":{\"floor\":1,\"ceiling\":0," ALONE "}}",
		  TW_INVALID, "ensemble: floor 1 is above ceiling 0" },
		{ "ensemble", ENSEMBLE("\"alone\":" FORM("0", "[0,0,0]", "")), TW_INVALID,
		  "ensemble.alone.members: 0, expected 1 to 64" },
		{ "ensemble",
		  ENSEMBLE("\"alone\":{\"load\":{\"column\":1,\"rest\":1,\"ramp\":1},"
			   "\"bias\":0,\"columns\":[[0,0,0]],\"members\":[" A "]}"),
		  TW_INVALID,
		  "ensemble.alone.load.column: expected the place of one of 1 columns" },
		{ "ensemble",
		  ENSEMBLE("\"alone\":{\"load\":{\"column\":0,\"rest\":1,\"ramp\":-1},"
			   "\"bias\":0,\"columns\":[[0,0,0]],\"members\":[" A "]}"),
		  TW_INVALID, "ensemble.alone.load.ramp: -1, expected 0 or more" },
		{ "ensemble",
		  ENSEMBLE("\"alone\":{\"load\":{\"column\":0,\"ramp\":1},\"bias\":0,"
			   "\"columns\":[[0,0,0]],\"members\":[" A "]}"),
		  TW_PARSE, "ensemble.alone.load.rest: missing" },
		{ "ensemble", ENSEMBLE("\"alone\":" FORM("0", "[2,0,0]", A)), TW_INVALID,
		  "ensemble.alone.columns[0][0]: expected a whole number from 0 to 1" },
		{ "ensemble", ENSEMBLE("\"alone\":" FORM("0", "[0,0,1]", A)), TW_INVALID,
		  "ensemble.alone.columns[0][2]: expected a whole number from 0 to 0" },
		{ "ensemble", ENSEMBLE("\"alone\":" FORM("0", "[0,0]", A)), TW_PARSE,
		  "ensemble.alone.columns[0]: expected a list of 3 or 4 numbers" },
		{ "ensemble",
		  ENSEMBLE("\"alone\":" FORM("0", "[0,0,0]",
					     MEMBER("1", "1", "linear", "{}"))),
		  TW_INVALID,
		  "ensemble.alone.members[0].columns[0]: expected the place of one of 1 "
		  "columns" },
		{ "ensemble",
		  ENSEMBLE("\"alone\":" FORM("0", "[0,0,0]",
					     MEMBER("1", "0", "ensemble", "{}"))),
		  TW_UNSUPPORTED,
		  "ensemble.alone.members[0].predictor: 'ensemble' is not supported" },
		{ "ensemble",
		  ENSEMBLE("\"alone\":" FORM("0", "[0,0,0]",
					     MEMBER("1", "0", "pickle", "{}"))),
		  TW_UNSUPPORTED, "ensemble.alone.members[0].predictor: 'pickle'" },
		{ "ensemble",
		  ENSEMBLE("\"alone\":" FORM(
			  "0", "[0,0,0]", MEMBER("1", "0", "linear", LINEAR("b", "1")))),
		  TW_PARSE, "ensemble.alone.members[0].model: " },
		{ "ensemble", ENSEMBLE("\"alone\":" FORM("0", "[0,0,0]", "5")), TW_PARSE,
		  "ensemble.alone.members[0]: expected an object, got" },
		{ "ensemble", ENSEMBLE(ALONE ",\"series\":" FORM("0", "[0,0,0]", A)),
		  TW_PARSE, "ensemble.step_ms: missing" },
		{ "ensemble",
		  ENSEMBLE(ALONE ",\"step_ms\":0,\"series\":" FORM("0", "[0,0,0]", A)),
		  TW_INVALID, "ensemble.step_ms: 0, expected more than 0" },
		{ "ensemble",
		  ENSEMBLE(ALONE ",\"step_ms\":1,\"series\":" FORM("0", "[0,0,256]", A)),
		  TW_INVALID,
		  "ensemble.series.columns[0][2]: expected a whole number from 0 to "
		  "255" },
		{ "ensemble",
		  ENSEMBLE(ALONE ",\"step_ms\":1,\"series\":" FORM("0", "[0,2,1]", A)),
		  TW_INVALID, "ensemble.series.columns[0]: from 2 to 1 rows back" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };

		if (load(cases[i].predictor, cases[i].text, &err) != NULL)
			fail_msg("taken: %s", cases[i].text);
		if (strncmp(err.text, cases[i].want, strlen(cases[i].want)) != 0)
			fail_msg("'%s' does not begin with '%s'", err.text,
				 cases[i].want);
		assert_int_equal(err.code, cases[i].code);
	}
}

static void running_out_of_memory_is_reported(void **state)
{
	(void)state;
	predictor_check_memory("trees", "a,b", TREES(TREE "," TREE));
	predictor_check_memory("ensemble", "a,b", LOOKS_BACK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_in_preorder_are_walked_and_summed),
		cmocka_unit_test(members_are_weighted_and_summed),
		cmocka_unit_test(only_rows_of_a_series_use_earlier_rows),
		cmocka_unit_test(earlier_rows_may_lie_before_the_first_row),
		cmocka_unit_test(a_batch_predicts_the_same_as_single_rows),
		cmocka_unit_test(the_median_of_the_members_is_taken),
		cmocka_unit_test(power_rises_evenly_from_rest_to_the_ramp),
		cmocka_unit_test(predictions_are_clamped_to_floor_and_ceiling),
		cmocka_unit_test(errors_of_invalid_models_name_the_place),
		cmocka_unit_test(running_out_of_memory_is_reported),
	};

	return cmocka_run_group_tests_name("predict_ensemble", tests, NULL, NULL);
}
