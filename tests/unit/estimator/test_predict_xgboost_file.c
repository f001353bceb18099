/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "estimator/predict/predictor.h"
#include "lib/core/err.h"
#include "tests/unit/predictor_load.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What the reader of XGBoost's JSON takes and refuses, on a model made by hand. */

static const struct tw_predictor *xgboost(void)
{
	return tw_predictor_find("xgboost");
}

/* A root that splits f1 at 5, a leaf of 1, and a split of f0 at 2 into 10 and 100. */
#define HEAD "{" HEAD_REST
#define HEAD_REST                                                                      \
	"\"learner\":{\"learner_model_param\":{\"base_score\":\"5E-1\",\"num_class\":" \
	"\"0\",\"num_feature\":\"2\"},\"objective\":{\"name\":\"reg:squarederror\"},"  \
	"\"gradient_booster\":{\"name\":\"gbtree\",\"model\":{\"trees\":["
#define TREE                                                                   \
	"{\"left_children\":[1,-1,3,-1,-1],\"right_children\":[2,-1,4,-1,-1]," \
	"\"split_indices\":[1,0,0,0,0],\"default_left\":[1,0,0,0,0],"          \
	"\"split_type\":[0,0,0,0,0],\"split_conditions\":[5,1,2,10,100]}"
#define TAIL "]}}}}"

static int load_text(const char *text, void **out, struct tw_err *err)
{
	return predictor_load("xgboost", "f0,f1", text, out, err);
}

static void a_small_model_predicts_known_values(void **state)
{
	static const double x[] = { 0, 4, 0, 5, 2, 5, 0, NAN, NAN, 6, 1e300, 1e300 };
	static const double want[] = { 1.5, 10.5, 100.5, 1.5, 100.5, 100.5 };
	struct tw_err err = { 0 };
	double watts[6];
	void *model = NULL;

	(void)state;
	assert_int_equal(load_text(HEAD TREE TAIL, &model, &err), 0);
	xgboost()->predict(model, &(struct tw_rows){ .x = x, .rows = 6, .stride = 2 },
			   watts);
	for (size_t i = 0; i < 6; i++)
		assert_true(watts[i] == want[i]);
	/* Two steps of half a nanosecond. */
	assert_int_equal(xgboost()->row_ns(model), 1);
	tw_predictor_free(xgboost(), model);
}

static double predict_once(const char *text, double f0, double f1)
{
	const double x[] = { f0, f1 };
	struct tw_err err = { 0 };
	double watts = 0;
	void *model = NULL;

	if (load_text(text, &model, &err) < 0)
		fail_msg("%s", err.text);
	xgboost()->predict(model, &(struct tw_rows){ .x = x, .rows = 1, .stride = 2 },
			   &watts);
	tw_predictor_free(xgboost(), model);
	return watts;
}

/* Members that XGBoost's own files have, which change the sum. */
static void later_forms_of_files_are_read(void **state)
{
#define PARAM(base)                                                                 \
	"\"learner_model_param\":{\"base_score\":\"" base "\",\"num_class\":\"0\"," \
	"\"num_feature\":\"2\"},\"objective\":{\"name\":\"reg:squarederror\"},"
#define TREES(name) "\"name\":\"" name "\",\"model\":{\"trees\":[" TREE "," TREE "]"
	static const struct {
		const char *text;
		double want;
	} files[] = {
		/* XGBoost 3.1: a list of one base score. */
		{ "{\"learner\":{" PARAM("[5E-1]") "\"gradient_booster\":{" /**/
		  TREES("gbtree") "}}}}",
		  20.5 },
		{ "{\"learner\":{" PARAM(
			  "5E-1") "\"attributes\":{\"best_iteration\":\"0\"},"
				  "\"gradient_booster\":{" TREES("gbtree") "}}}}",
		  10.5 },
		{ "{\"learner\":{" PARAM(
			  "5E-1") "\"attributes\":{\"best_iteration\":\"0\"},"
				  "\"gradient_booster\":{" TREES(
					  "gbtree") ",\"gbtree_model_param\":{"
						    "\"num_parallel_tree\":\"2\"}}}}}",
		  20.5 },
		/* f1 of the booster is f0 of the model. */
		{ "{\"learner\":{\"feature_names\":[\"f1\",\"f0\"]," PARAM("5E-1") /**/
		  "\"gradient_booster\":{" TREES("gbtree") "}}}}",
		  2.5 },
		{ "{\"learner\":{\"feature_names\":[\"a\",\"b\"]," PARAM("5E-1") /**/
		  "\"gradient_booster\":{" TREES("gbtree") "}}}}",
		  20.5 },
		{ "{\"learner\":{" PARAM(
			  "5E-1") "\"gradient_booster\":{\"name\":\"dart\","
				  "\"gbtree\":{" TREES(
					  "gbtree") "}},\"weight_drop\":[0.5,0.25]}}}",
		  8 },
		{ "{\"learner\":{\"feature_names\":[\"f1\",\"f0\"]," PARAM("5E-1") /**/
		  "\"gradient_booster\":{\"name\":\"gblinear\",\"model\":{\"weights\":["
		  "2,3,10]}}}}",
		  25.5 },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(files); i++)
		assert_true(predict_once(files[i].text, 1, 6) == files[i].want);
}

static void columns_are_found_by_place_and_absent_columns_are_missing(void **state)
{
	static const double x[] = { 7, 7, 4, 0 };
	static const uint32_t swapped[] = { 3, 2 }, absent[] = { 3, UINT32_MAX };
	struct tw_err err = { 0 };
	double watts = 0;
	void *model = NULL;

	(void)state;
	assert_int_equal(load_text(HEAD TREE TAIL, &model, &err), 0);
	xgboost()->predict(
		model,
		&(struct tw_rows){ .x = x, .rows = 1, .stride = 4, .place = swapped },
		&watts);
	assert_true(watts == 1.5);
	watts = 0;
	xgboost()->predict(
		model,
		&(struct tw_rows){ .x = x, .rows = 1, .stride = 4, .place = absent },
		&watts);
	assert_true(watts == 1.5);
	tw_predictor_free(xgboost(), model);
}

/* One text in TREE is replaced by another. */
static void refuse_tree(const char *from, const char *to, enum tw_code code,
			const char *text)
{
	char model[2048];
	const char *at = strstr(TREE, from);
	struct tw_err err = { 0 };
	void *state = NULL;

	assert_non_null(at);
	snprintf(model, sizeof(model), "%s%.*s%s%s%s", HEAD, (int)(at - TREE), TREE, to,
		 at + strlen(from), TAIL);
	assert_int_equal(load_text(model, &state, &err), -1);
	assert_int_equal(err.code, code);
	if (strstr(err.text, text) == NULL)
		fail_msg("'%s' is not in '%s'", text, err.text);
	assert_null(state);
}

static void errors_of_invalid_trees_name_the_node(void **state)
{
	(void)state;
	refuse_tree("[1,-1,3", "[0,-1,3", TW_INVALID, "trees[0]: node 0: child 0 of 5");
	refuse_tree("[1,-1,3", "[1,-1,1", TW_INVALID,
		    "node 2: child 1 has another parent");
	refuse_tree("[1,-1,3", "[1,-1,5", TW_INVALID, "node 2: child 5 of 5");
	refuse_tree("[1,-1,3", "[1,-1,-7", TW_INVALID, "node 2: child -7 of 5");
	refuse_tree("[2,-1,4", "[2,0,4", TW_INVALID, "node 1: child -1 of 5");
	refuse_tree("[2,-1,4", "[2,-1,2", TW_INVALID,
		    "node 2: child 2 has another parent");
	refuse_tree("[1,-1,3,-1,-1],\"right_children\":[2,-1,4",
		    "[1,-1,-1,-1,-1],\"right_children\":[2,-1,-1", TW_INVALID,
		    "node 3 has no parent");
	refuse_tree("[1,0,0,0,0]", "[2,0,0,0,0]", TW_INVALID, "node 0: feature 2 of 2");
	refuse_tree("[1,0,0,0,0]", "[-1,0,0,0,0]", TW_INVALID, "node 0: feature -1 of 2");
	refuse_tree("[1,0,0,0,0]", "[1,0,0,0]", TW_INVALID,
		    "split_indices: 4 elements for 5 nodes");
	refuse_tree("[5,1,", "[1e39,1,", TW_INVALID, "node 0: the value is not finite");
	refuse_tree("[5,1,", "[\"5\",1,", TW_PARSE,
		    "split_conditions[0]: expected a number, got a string");
	refuse_tree("[1,-1,3", "[1,-1,3.5", TW_PARSE,
		    "left_children[2]: expected an integer, got");
	refuse_tree("[1,-1,3", "[1,-1,99999999999", TW_INVALID,
		    "left_children[2]: out of range");
	refuse_tree("[0,0,0,0,0],\"split_c", "[0,0,1,0,0],\"split_c", TW_UNSUPPORTED,
		    "split_type[2]: categorical");
	refuse_tree("\"left_children\":[1,-1,3,-1,-1]", "\"left_children\":[]",
		    TW_INVALID, "trees[0]: 0 nodes");
	refuse_tree("\"default_left\":[1,0,0,0,0],", "", TW_PARSE, "default_left");
}

static void refuse_head(const char *from, const char *to, enum tw_code code,
			const char *text)
{
	char model[2048];
	const char *at = strstr(HEAD, from);
	struct tw_err err = { 0 };
	void *state = NULL;

	assert_non_null(at);
	snprintf(model, sizeof(model), "%.*s%s%s%s%s", (int)(at - HEAD), HEAD, to,
		 at + strlen(from), TREE, TAIL);
	assert_int_equal(load_text(model, &state, &err), -1);
	assert_int_equal(err.code, code);
	if (strstr(err.text, text) == NULL)
		fail_msg("'%s' is not in '%s'", text, err.text);
	assert_null(state);
}

static void errors_of_other_boosters_name_them(void **state)
{
	(void)state;
	refuse_head("gbtree", "forest", TW_UNSUPPORTED,
		    "learner.gradient_booster.name: 'forest' is not supported");
	refuse_head("gbtree", "dart", TW_INVALID, "weight_drop: 0 elements for 1 trees");
	refuse_head("gbtree", "gblinear", TW_INVALID, "weights: 0 elements, want 3");
	refuse_head("\"trees\"", "\"forest\"", TW_PARSE, "trees: missing");
	refuse_head("5E-1", "[5E-1,5E-1]", TW_INVALID, "is not a number");
	refuse_head("{\"learner\":{", "{\"learner\":{\"feature_names\":[\"f1\",\"x\"],",
		    TW_INVALID, "'x' is no feature of the model");
	refuse_head("{\"learner\":{", "{\"learner\":{\"feature_names\":[\"f1\",\"f1\"],",
		    TW_INVALID, "'f1' is not the only one");
	refuse_head("reg:squarederror", "binary:logistic", TW_UNSUPPORTED,
		    "learner.objective.name: 'binary:logistic' is not supported");
	refuse_head("\"num_class\":\"0\"", "\"num_class\":\"3\"", TW_UNSUPPORTED,
		    "more than one output");
	refuse_head("\"num_feature\":\"2\"", "\"num_feature\":\"3\"", TW_INVALID,
		    "num_feature: 3, the model has 2");
	refuse_head("5E-1", "nan", TW_INVALID, "base_score: 'nan' is not a number");
	refuse_head("5E-1", "1e60", TW_INVALID, "base_score: not finite");
	refuse_head("\"objective\"", "\"purpose\"", TW_PARSE, "objective");
}

static void refuse_text(const char *model, const char *text)
{
	struct tw_err err = { 0 };
	void *state = NULL;

	assert_int_equal(load_text(model, &state, &err), -1);
	assert_int_equal(err.code, TW_PARSE);
	if (strstr(err.text, text) == NULL)
		fail_msg("'%s' is not in '%s'", text, err.text);
	assert_null(state);
}

static void text_that_is_not_one_document_is_refused(void **state)
{
	struct tw_err err = { 0 };
	void *model = NULL;

	(void)state;
	refuse_text("", "byte 0");
	refuse_text("[]", "expected an object, got an array");
	refuse_text(HEAD TREE, "cut short");
	refuse_text(HEAD TREE TAIL " x", "text after the end");
	refuse_text(HEAD "7" TAIL, "trees[0]: expected an object, got a number");
	refuse_text("{\"learner\":{},\"learner\":{}}", "learner: given twice");
	/* What does not matter may be anything, nested too. */
	assert_int_equal(load_text("{\"a\":[{\"learner\":[1]}]," /**/
				   "\"b\":{\"trees\":[{}]}," HEAD_REST TREE TAIL "\n",
				   &model, &err),
			 0);
	tw_predictor_free(xgboost(), model);
}

static void running_out_of_memory_is_reported(void **state)
{
	(void)state;
	predictor_check_memory("xgboost", "f0,f1", HEAD TREE TAIL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_model_predicts_known_values),
		cmocka_unit_test(
			columns_are_found_by_place_and_absent_columns_are_missing),
		cmocka_unit_test(later_forms_of_files_are_read),
		cmocka_unit_test(errors_of_invalid_trees_name_the_node),
		cmocka_unit_test(errors_of_other_boosters_name_them),
		cmocka_unit_test(text_that_is_not_one_document_is_refused),
		cmocka_unit_test(running_out_of_memory_is_reported),
	};

	return cmocka_run_group_tests_name("predict_xgboost_file", tests, NULL, NULL);
}
