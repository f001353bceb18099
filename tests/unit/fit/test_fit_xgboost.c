/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "estimator/predict/predictor.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "trainer/fit/trainer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#if TW_XGBOOST
#include <xgboost/c_api.h>

#define ROWS 200
#define COLS 3

static const char *const names[COLS] = { "a", "b", "c" };

static const char *library_error; /* what boosting fails with; NULL: it goes on */

int __real_XGBoosterUpdateOneIter(BoosterHandle booster, int round, DMatrixHandle matrix);
int __wrap_XGBoosterUpdateOneIter(BoosterHandle booster, int round, DMatrixHandle matrix);
const char *__real_XGBGetLastError(void);
const char *__wrap_XGBGetLastError(void);

int __wrap_XGBoosterUpdateOneIter(BoosterHandle booster, int round, DMatrixHandle matrix)
{
	if (library_error != NULL)
		return -1;
	return __real_XGBoosterUpdateOneIter(booster, round, matrix);
}

const char *__wrap_XGBGetLastError(void)
{
	return library_error != NULL ? library_error : __real_XGBGetLastError();
}

static double uniform(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(*seed >> 11) / 9007199254740992.0;
}

static void make_samples(double *x, double *y)
{
	uint64_t seed = 3;

	for (size_t r = 0; r < ROWS; r++) {
		for (size_t c = 0; c < COLS; c++)
			x[r * COLS + c] = 1e9 * uniform(&seed);
		y[r] = 20 + (x[r * COLS] > 5e8 ? 40 : 0) + 1e-8 * x[r * COLS + 1];
	}
}

static const struct tw_trainer *trainer(void)
{
	const struct tw_trainer *t = tw_trainer_find("XgboostFitTrainer");

	assert_non_null(t);
	return t;
}

/* Predict x with the library itself, from the text. */
static void predict_by_library(const struct tw_buf *text, const double *x, size_t rows,
			       double *out)
{
	float values[ROWS * COLS];
	const float *result;
	bst_ulong len;
	BoosterHandle booster;
	DMatrixHandle matrix;

	for (size_t i = 0; i < rows * COLS; i++)
		values[i] = (float)x[i];
	assert_int_equal(XGDMatrixCreateFromMat(values, rows, COLS, NAN, &matrix), 0);
	assert_int_equal(XGBoosterCreate(NULL, 0, &booster), 0);
	assert_int_equal(XGBoosterLoadModelFromBuffer(booster, text->data, text->len), 0);
	assert_int_equal(XGBoosterPredict(booster, matrix, 0, 0, 0, &len, &result), 0);
	assert_int_equal(len, rows);
	for (size_t i = 0; i < rows; i++)
		out[i] = (double)result[i];
	XGBoosterFree(booster);
	XGDMatrixFree(matrix);
}

static void predict_by_ours(const struct tw_buf *text, const double *x, size_t rows,
			    double *out)
{
	const struct tw_predictor *p = tw_predictor_find(trainer()->predictor);
	const struct tw_rows in = { .x = x, .rows = rows, .stride = COLS };
	struct tw_strs features = { 0 };
	struct tw_err err = { 0 };
	void *state;

	assert_non_null(p);
	for (size_t c = 0; c < COLS; c++)
		assert_int_equal(tw_strs_adds(&features, names[c], &err), 0);
	if (tw_predictor_load(p, text->data, text->len, &features, &state, &err) < 0)
		fail_msg("%s", err.text);
	p->predict(state, &in, out);
	tw_predictor_free(p, state);
	tw_strs_clear(&features);
}

static void a_tree_learns_a_step_and_a_slope(void **state)
{
	double x[ROWS * COLS], y[ROWS], ours[ROWS], theirs[ROWS], worst = 0.0;
	const struct tw_samples s = { ROWS, COLS, x,     y,    names, TW_PACKAGE, false,
				      0,    NULL, false, NULL, NULL,  0,          NULL };
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	make_samples(x, y);
	assert_int_equal(trainer()->fit(trainer(), &s, 1, &text, &err), 0);
	predict_by_ours(&text, x, ROWS, ours);
	predict_by_library(&text, x, ROWS, theirs);
	for (size_t r = 0; r < ROWS; r++) {
		assert_true(fabs(ours[r] - theirs[r]) <= 1e-6 * fabs(theirs[r]));
		worst = fmax(worst, fabs(ours[r] - y[r]));
	}
	/* On its own training rows: a range of 50 W to well below one. */
	assert_true(worst < 1.0);
	/* 100 trees of depth 6, no more. */
	assert_true(text.len < 2000000);
	tw_buf_clear(&text);
}

/* Rest at 10 W has no row, only rows just above it; spikes of 60 W have little load. */
static void power_at_rest_is_kept_and_rises_from_there(void **state)
{
	enum { N = 240 };
	double x[N * COLS], y[N], at[3 * COLS] = { 0 }, out[3], raw[3];
	struct tw_samples s = { .rows = N,
				.cols = COLS,
				.x = x,
				.y = y,
				.features = names,
				.component = TW_PACKAGE };
	struct tw_buf text = { 0 }, unconstrained = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	for (size_t r = 0; r < N; r++) {
		const double load =
			r % 4 == 0 ? 1.0 + (double)(r % 7) : 100.0 + (double)r;

		for (size_t c = 0; c < COLS; c++)
			x[r * COLS + c] = load;
		y[r] = r % 4 == 0 ? 10.0 : 10.0 + load / 5.0;
	}
	for (size_t r = 0; r < N; r += 48)
		y[r] = 60.0;
	for (size_t c = 0; c < COLS; c++) {
		at[COLS + c] = 3.0;
		at[2 * COLS + c] = 300.0;
	}
	assert_int_equal(trainer()->fit(trainer(), &s, 1, &text, &err), 0);
	predict_by_ours(&text, at, 3, out);
	s.unconstrained = true;
	assert_int_equal(trainer()->fit(trainer(), &s, 1, &unconstrained, &err), 0);
	predict_by_ours(&unconstrained, at, 3, raw);
	assert_true(fabs(out[0] - 10.0) < 1.0);
	assert_true(out[1] >= out[0] && out[2] > 60.0);
	assert_true(fabs(raw[0] - 10.0) > fabs(out[0] - 10.0));
	tw_buf_clear(&text);
	tw_buf_clear(&unconstrained);
}

static void the_same_samples_give_the_same_bytes(void **state)
{
	double x[ROWS * COLS], y[ROWS];
	const struct tw_samples s = { ROWS, COLS, x,     y,    names, TW_PACKAGE, false,
				      0,    NULL, false, NULL, NULL,  0,          NULL };
	struct tw_buf first = { 0 }, second = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	make_samples(x, y);
	assert_int_equal(trainer()->fit(trainer(), &s, 1, &first, &err), 0);
	assert_int_equal(trainer()->fit(trainer(), &s, 1, &second, &err), 0);
	assert_int_equal(first.len, second.len);
	assert_memory_equal(first.data, second.data, first.len);
	tw_buf_clear(&first);
	tw_buf_clear(&second);
}

static void constant_power_is_predicted_everywhere(void **state)
{
	static const double power[] = { 0, 17.25 };
	double x[ROWS * COLS], y[ROWS], ours[ROWS], theirs[ROWS];
	const struct tw_samples s = { ROWS, COLS, x,     y,    names, TW_PACKAGE, false,
				      0,    NULL, false, NULL, NULL,  0,          NULL };

	(void)state;
	make_samples(x, y);
	for (size_t i = 0; i < TW_COUNT(power); i++) {
		struct tw_buf text = { 0 };
		struct tw_err err = { 0 };

		for (size_t r = 0; r < ROWS; r++)
			y[r] = power[i];
		assert_int_equal(trainer()->fit(trainer(), &s, 1, &text, &err), 0);
		predict_by_ours(&text, x, ROWS, ours);
		predict_by_library(&text, x, ROWS, theirs);
		for (size_t r = 0; r < ROWS; r++) {
			assert_true(fabs(ours[r] - power[i]) < 1e-5);
			assert_true(fabs(theirs[r] - power[i]) < 1e-5);
		}
		assert_true(text.len < 4000);
		tw_buf_clear(&text);
	}
}

static void odd_samples_give_a_sane_model(void **state)
{
	/* Two rows; all features zero; the largest that is allowed. */
	static const double two[2 * COLS] = { 1, 2, 3, 4, 5, 6 }, zero[4 * COLS] = { 0 };
	static const double large[2 * COLS] = { 1e30, -1e30, 0, 1, 2, 3 };
	static const double y[] = { 5, 9, 5, 9 };
	const struct tw_samples cases[] = {
		{ 2, COLS, two, y, names, TW_PACKAGE, false, 0, NULL, false, NULL, NULL,
		  0, NULL },
		{ 4, COLS, zero, y, names, TW_PACKAGE, false, 0, NULL, false, NULL, NULL,
		  0, NULL },
		{ 2, COLS, large, y, names, TW_PACKAGE, false, 0, NULL, false, NULL, NULL,
		  0, NULL },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_buf text = { 0 };
		struct tw_err err = { 0 };
		double out[4];

		assert_int_equal(trainer()->fit(trainer(), &cases[i], 1, &text, &err), 0);
		predict_by_ours(&text, cases[i].x, cases[i].rows, out);
		for (size_t r = 0; r < cases[i].rows; r++)
			/* Two rows never show rest: the anchors may lower power. */
			assert_true(out[r] >= 0 && out[r] <= 9);
		tw_buf_clear(&text);
	}
}

static void bad_samples_are_refused(void **state)
{
	double x[2 * COLS] = { 1, 2, 3, 4, 5, NAN }, y[] = { 5, 9 };
	struct tw_samples s = { 2, COLS, x,     y,    names, TW_PACKAGE, false,
				0, NULL, false, NULL, NULL,  0,          NULL };
	struct tw_buf text = { 0 };
	struct tw_err nan = { 0 }, one = { 0 }, huge = { 0 };

	(void)state;
	assert_int_equal(trainer()->fit(trainer(), &s, 1, &text, &nan), -1);
	assert_int_equal(nan.code, TW_INVALID);
	assert_string_equal(nan.text,
			    "row 1, feature 'c': nan is not finite or too large");
	x[5] = 6;
	y[1] = 1e300;
	assert_int_equal(trainer()->fit(trainer(), &s, 1, &text, &huge), -1);
	assert_string_equal(huge.text, "row 1, power: 1e+300 is not finite or too large");
	s.rows = 1;
	assert_int_equal(trainer()->fit(trainer(), &s, 1, &text, &one), -1);
	assert_string_equal(one.text, "1 rows, need at least 2");
	assert_null(text.data);
}

static void an_error_of_the_library_is_its_first_line_without_the_place(void **state)
{
	double x[2 * COLS] = { 1, 2, 3, 4, 5, 6 }, y[] = { 5, 9 };
	const struct tw_samples s = { 2, COLS, x,     y,    names, TW_PACKAGE, false,
				      0, NULL, false, NULL, NULL,  0,          NULL };
	struct tw_buf text = { 0 };
	struct tw_err other = { 0 }, memory = { 0 };

	(void)state;
	library_error =
		"[14:05:39] ./src/a.cc:8: Check failed: x\nStack trace:\n  [bt] 0";
	assert_int_equal(trainer()->fit(trainer(), &s, 1, &text, &other), -1);
	assert_int_equal(other.code, TW_INVALID);
	assert_string_equal(other.text, "xgboost: boosting: Check failed: x");
	library_error = "Check failed: x";
	tw_err_clear(&other);
	assert_int_equal(trainer()->fit(trainer(), &s, 1, &text, &other), -1);
	assert_string_equal(other.text, "xgboost: boosting: Check failed: x");
	library_error = "std::bad_alloc";
	assert_int_equal(trainer()->fit(trainer(), &s, 1, &text, &memory), -1);
	assert_int_equal(memory.code, TW_NOMEM);
	library_error = NULL;
	assert_null(text.data);
}

#else

static void this_build_has_no_xgboost(void **state)
{
	(void)state;
	assert_null(tw_trainer_find("XgboostFitTrainer"));
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#if TW_XGBOOST
		cmocka_unit_test(a_tree_learns_a_step_and_a_slope),
		cmocka_unit_test(power_at_rest_is_kept_and_rises_from_there),
		cmocka_unit_test(the_same_samples_give_the_same_bytes),
		cmocka_unit_test(constant_power_is_predicted_everywhere),
		cmocka_unit_test(odd_samples_give_a_sane_model),
		cmocka_unit_test(bad_samples_are_refused),
		cmocka_unit_test(
			an_error_of_the_library_is_its_first_line_without_the_place),
#else
		cmocka_unit_test(this_build_has_no_xgboost),
#endif
	};

	return cmocka_run_group_tests_name("fit_xgboost", tests, NULL, NULL);
}
