/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/quick.h"
#include "tests/unit/tw_test.h"

#include "estimator/predict/predictor.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The evaluator against XGBoost itself: boosters are trained here through XGBoost's C
 * API, and each prediction of theirs must come out of our reader and evaluator to the
 * bit. Where the build has no XGBoost, it says so and is skipped.
 */

#if TW_XGBOOST
#include <xgboost/c_api.h>

static const struct tw_predictor *xgboost(void)
{
	return tw_predictor_find("xgboost");
}

static void make_features(struct tw_strs *l, size_t count)
{
	struct tw_err err = { 0 };

	for (size_t i = 0; i < count; i++) {
		const char name[] = { 'f', (char)('0' + i), '\0' };

		assert_int_equal(tw_strs_adds(l, name, &err), 0);
	}
}

#define TRAIN_ROWS (quick() ? (size_t)500 : (size_t)1500)
#define TEST_ROWS (quick() ? (size_t)2000 : (size_t)10000)

static uint64_t seed = 1;

/* xorshift64*, in [0, 1). */
static double random_unit(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (double)(seed * UINT64_C(2685821657736338717) >> 11) / 9007199254740992.0;
}

struct shape {
	const char *depth, *gamma, *objective;
	int trees;
	size_t features;
	double scale;   /* of the values */
	double missing; /* share of NaN in training */
	bool constant;
	const char *booster;
};

struct booster {
	BoosterHandle handle;
	DMatrixHandle data;
	char *text;
	size_t len;
};

#define CALL(f) assert_int_equal(f, 0)

static void train(const struct shape *s, struct booster *b)
{
	float *x = malloc(TRAIN_ROWS * s->features * sizeof(*x));
	float *y = malloc(TRAIN_ROWS * sizeof(*y));
	const char *text;
	bst_ulong len;

	assert_non_null(x);
	assert_non_null(y);
	for (size_t r = 0; r < TRAIN_ROWS; r++) {
		y[r] = 40.0f;
		for (size_t c = 0; c < s->features; c++) {
			const double u = random_unit();

			x[r * s->features + c] =
				random_unit() < s->missing ? NAN : (float)(u * s->scale);
			if (!s->constant)
				y[r] += (float)(u * u * (double)(30 * (c + 1)) +
						random_unit());
		}
	}
	CALL(XGDMatrixCreateFromMat(x, TRAIN_ROWS, s->features, NAN, &b->data));
	CALL(XGDMatrixSetFloatInfo(b->data, "label", y, TRAIN_ROWS));
	CALL(XGBoosterCreate(&b->data, 1, &b->handle));
	CALL(XGBoosterSetParam(b->handle, "nthread", "1"));
	CALL(XGBoosterSetParam(b->handle, "booster", s->booster));
	if (strcmp(s->booster, "dart") == 0)
		CALL(XGBoosterSetParam(b->handle, "rate_drop", "0.3"));
	CALL(XGBoosterSetParam(b->handle, "max_depth", s->depth));
	CALL(XGBoosterSetParam(b->handle, "gamma", s->gamma));
	CALL(XGBoosterSetParam(b->handle, "objective", s->objective));
	CALL(XGBoosterSetParam(b->handle, "base_score", "17.3"));
	for (int i = 0; i < s->trees; i++)
		CALL(XGBoosterUpdateOneIter(b->handle, i, b->data));
	CALL(XGBoosterSaveModelToBuffer(b->handle, "{\"format\":\"json\"}", &len, &text));
	b->len = len;
	b->text = malloc(len);
	assert_non_null(b->text);
	memcpy(b->text, text, len);
	free(y);
	free(x);
}

static void release(struct booster *b)
{
	CALL(XGBoosterFree(b->handle));
	CALL(XGDMatrixFree(b->data));
	free(b->text);
}

/* The values of all splits of a feature, for rows that sit exactly on them. */
static size_t thresholds(const struct booster *b, size_t feature, double *out, size_t max)
{
	json_t *root = json_loadb(b->text, b->len, 0, NULL), *tree;
	json_t *trees;
	size_t count = 0, i;

	assert_non_null(root);
	trees = json_object_get(
		json_object_get(json_object_get(json_object_get(root, "learner"),
						"gradient_booster"),
				"model"),
		"trees");
	assert_true(json_is_array(trees));
	json_array_foreach(trees, i, tree) {
		json_t *left = json_object_get(tree, "left_children");

		for (size_t n = 0; n < json_array_size(left) && count < max; n++) {
			const json_t *f =
				json_array_get(json_object_get(tree, "split_indices"), n);
			const json_t *v = json_array_get(
				json_object_get(tree, "split_conditions"), n);

			if (json_integer_value(json_array_get(left, n)) != -1 &&
			    (size_t)json_integer_value(f) == feature)
				out[count++] = json_number_value(v);
		}
	}
	json_decref(root);
	return count;
}

/*
 * A fifth missing, two fifths on a threshold or one step of a double or of a float
 * beside it, the rest anywhere.
 */
static void make_rows(const struct shape *s, const struct booster *b, double *x)
{
	static double at[4000];

	for (size_t c = 0; c < s->features; c++) {
		const size_t count = thresholds(b, c, at, TW_COUNT(at));

		for (size_t r = 0; r < TEST_ROWS; r++) {
			const double u = random_unit();
			double *v = &x[r * s->features + c];

			*v = random_unit() * s->scale * 1.2 - 0.1 * s->scale;
			if (u < 0.2)
				*v = NAN;
			else if (u < 0.6 && count > 0)
				*v = at[(size_t)(random_unit() * (double)count)];
			if (u > 0.3 && u < 0.35)
				*v = nextafter(*v, -HUGE_VAL);
			else if (u > 0.4 && u < 0.45)
				*v = nextafter(*v, HUGE_VAL);
			else if (u > 0.45 && u < 0.5)
				*v = (double)nextafterf((float)*v, -HUGE_VALF);
		}
	}
}

/*
 * The part of a sum by which XGBoost's own may differ: its compiler fuses products and
 * sums where the processor can, as on arm64. Plain trees have no products.
 */
static double rounding(const struct shape *s)
{
#ifdef __FP_FAST_FMAF
	return strcmp(s->booster, "gbtree") == 0 ? 0 : s->trees * (double)FLT_EPSILON;
#else
	(void)s;
	return 0;
#endif
}

static void expect(const struct shape *s, const struct booster *b, const double *x,
		   const double *watts)
{
	static const char config[] =
		"{\"type\":0,\"training\":false,\"iteration_begin\":0,"
		"\"iteration_end\":0,\"strict_shape\":false}";
	const bst_ulong *shape;
	const float *want;
	bst_ulong dim;
	DMatrixHandle rows;
	float *f = malloc(TEST_ROWS * s->features * sizeof(*f));

	assert_non_null(f);
	for (size_t i = 0; i < TEST_ROWS * s->features; i++)
		f[i] = (float)x[i];
	CALL(XGDMatrixCreateFromMat(f, TEST_ROWS, s->features, NAN, &rows));
	CALL(XGBoosterPredictFromDMatrix(b->handle, rows, config, &shape, &dim, &want));
	for (size_t r = 0; r < TEST_ROWS; r++)
		if (!(fabs((double)((float)watts[r] - want[r])) <=
		      rounding(s) * fabs((double)want[r])))
			fail_msg("depth %s, %d trees, %zu features: row %zu is %.9g, "
				 "want %.9g",
				 s->depth, s->trees, s->features, r, watts[r],
				 (double)want[r]);
	CALL(XGDMatrixFree(rows));
	free(f);
}

static void compare(const struct shape *s)
{
	struct booster b = { 0 };
	struct tw_strs features = { 0 };
	struct tw_err err = { 0 };
	double *x = malloc(TEST_ROWS * s->features * sizeof(*x));
	double *watts = malloc(TEST_ROWS * sizeof(*watts));
	void *state = NULL;

	assert_non_null(x);
	assert_non_null(watts);
	train(s, &b);
	make_features(&features, s->features);
	if (tw_predictor_load(xgboost(), b.text, b.len, &features, &state, &err) < 0)
		fail_msg("%s", err.text);
	make_rows(s, &b, x);

	/* All at once, and in small calls: rows go down the trees in other company. */
	xgboost()->predict(
		state,
		&(struct tw_rows){ .x = x, .rows = TEST_ROWS, .stride = s->features },
		watts);
	expect(s, &b, x, watts);
	for (size_t r = 0, n; r < TEST_ROWS; r += n) {
		n = r % 13 + 1;
		if (n > TEST_ROWS - r)
			n = TEST_ROWS - r;
		xgboost()->predict(state,
				   &(struct tw_rows){ .x = x + r * s->features,
						      .rows = n,
						      .stride = s->features },
				   watts + r);
	}
	expect(s, &b, x, watts);

	tw_predictor_free(xgboost(), state);
	tw_strs_clear(&features);
	free(watts);
	free(x);
	release(&b);
}

static void predictions_equal_those_of_xgboost_to_the_bit(void **state)
{
	static const struct shape shapes[] = {
		{ "1", "0", "reg:squarederror", 100, 1, 1, 0.0, false, "gbtree" },
		{ "2", "0", "reg:squarederror", 100, 3, 1e9, 0.1, false, "gbtree" },
		{ "3", "0", "reg:squarederror", 300, 9, 1e6, 0.0, false, "gbtree" },
		{ "4", "0", "reg:squarederror", 1, 5, 1e12, 0.3, false, "gbtree" },
		{ "5", "0", "reg:absoluteerror", 100, 2, 1e3, 0.1, false, "gbtree" },
		{ "6", "0", "reg:squarederror", 100, 3, 1e9, 0.1, false, "gbtree" },
		{ "6", "0", "reg:pseudohubererror", 300, 6, 1, 0.2, false, "gbtree" },
		{ "7", "0", "reg:squarederror", 9, 7, 1e9, 0.0, false, "gbtree" },
		{ "8", "0", "reg:squarederror", 100, 8, 1e4, 0.1, false, "gbtree" },
		{ "9", "0", "reg:squarederror", 100, 4, 1e-9, 0.1, false, "gbtree" },
		{ "10", "0", "reg:squarederror", 300, 9, 1e9, 0.1, false, "gbtree" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(shapes); i++)
		compare(&shapes[i]);
}

static void pruned_trees_are_read(void **state)
{
	(void)state;
	compare(&(struct shape){ "6", "2000", "reg:squarederror", 100, 4, 1, 0.1, false,
				 "gbtree" });
	compare(&(struct shape){ "6", "1e30", "reg:squarederror", 10, 4, 1, 0.1, false,
				 "gbtree" });
}

/* Each booster, as JSON and as UBJSON. */
static void other_boosters_and_ubjson_predict_the_same(void **state)
{
	static const char *const boosters[] = { "gbtree", "dart", "gblinear" };
	static const char *const formats[] = { "{\"format\":\"json\"}",
					       "{\"format\":\"ubj\"}" };
	struct tw_strs features = { 0 };
	double *x = malloc(TEST_ROWS * 4 * sizeof(*x));
	double *watts = malloc(TEST_ROWS * sizeof(*watts));

	(void)state;
	assert_non_null(x);
	assert_non_null(watts);
	make_features(&features, 4);
	for (size_t i = 0; i < 4 * TEST_ROWS; i++)
		x[i] = random_unit() < 0.1 ? (double)NAN : 100 * random_unit();
	for (size_t i = 0; i < 6; i++) {
		const struct shape s = { "5", "0",   "reg:squarederror", 60, 4, 100,
					 0.1, false, boosters[i % 3] };
		struct booster b = { 0 };
		struct tw_err err = { 0 };
		const char *text;
		void *model = NULL;
		bst_ulong len;

		train(&s, &b);
		CALL(XGBoosterSaveModelToBuffer(b.handle, formats[i / 3], &len, &text));
		if (tw_predictor_load(xgboost(), text, len, &features, &model, &err) < 0)
			fail_msg("%s %s: %s", s.booster, formats[i / 3], err.text);
		for (size_t cut = 0; i >= 3 && cut < len; cut += 1 + len / 200) {
			char *part = malloc(cut + 1); /* a sanitizer sees its end */
			void *none = NULL;
			struct tw_err why = { 0 };

			memcpy(part, text, cut);
			assert_int_equal(tw_predictor_load(xgboost(), part, cut,
							   &features, &none, &why),
					 -1);
			free(part);
		}
		xgboost()->predict(
			model,
			&(struct tw_rows){ .x = x, .rows = TEST_ROWS, .stride = 4 },
			watts);
		expect(&s, &b, x, watts);
		tw_predictor_free(xgboost(), model);
		release(&b);
	}
	tw_strs_clear(&features);
	free(watts);
	free(x);
}

static void a_constant_target_and_a_model_without_trees_work(void **state)
{
	(void)state;
	compare(&(struct shape){ "6", "0", "reg:squarederror", 100, 3, 1, 0.0, true,
				 "gbtree" });
	compare(&(struct shape){ "6", "0", "reg:squarederror", 0, 3, 1, 0.0, false,
				 "gbtree" });
}
#else
static void the_build_has_xgboost_to_compare_with(void **state)
{
	(void)state;
	print_message("SKIPPED: this build has no XGBoost to compare with\n");
	skip();
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#if TW_XGBOOST
		cmocka_unit_test(predictions_equal_those_of_xgboost_to_the_bit),
		cmocka_unit_test(pruned_trees_are_read),
		cmocka_unit_test(other_boosters_and_ubjson_predict_the_same),
		cmocka_unit_test(a_constant_target_and_a_model_without_trees_work),
#else
		cmocka_unit_test(the_build_has_xgboost_to_compare_with),
#endif
	};

	return cmocka_run_group_tests_name("predict_xgboost", tests, NULL, NULL);
}
