/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "trainer/fit/trainer.h"
#include "trainer/fit/validate.h"

#include <gsl/gsl_errno.h>
#include <math.h>
#include <string.h>

#define ROWS 50

static const char *const names[] = { "a" };

static void blocks_are_contiguous_and_cover_all_rows(void **state)
{
	(void)state;
	for (size_t rows = 1; rows < 40; rows++)
		for (size_t folds = 1; folds <= rows; folds++) {
			size_t next = 0;

			for (size_t i = 0; i < folds; i++) {
				const struct tw_fold f = tw_fold_at(rows, folds, i);
				const size_t n = f.to - f.from;

				assert_int_equal(f.from, next);
				assert_true(n == rows / folds || n == rows / folds + 1);
				next = f.to;
			}
			assert_int_equal(next, rows);
		}
}

/* A trainer that tells what it was given: the constant is the number of rows it saw. */
static size_t seen_rows;
static double seen_x[ROWS], seen_y[ROWS];

static int fit_spy(const struct tw_trainer *self, const struct tw_samples *s,
		   uint64_t seed, struct tw_buf *text, struct tw_err *err)
{
	(void)self;
	(void)seed;
	(void)err;
	seen_rows = s->rows;
	memcpy(seen_x, s->x, s->rows * sizeof(*s->x));
	memcpy(seen_y, s->y, s->rows * sizeof(*s->y));
	tw_buf_addf(text,
		    "{\"All_Weights\":{\"Bias_Weight\":%zu,\"Categorical_Variables\":{},"
		    "\"Numerical_Variables\":{\"a\":{\"scale\":1,\"weight\":0}}}}",
		    s->rows);
	return 0;
}

static const struct tw_trainer spy = {
	.name = "Spy",
	.summary = "remembers what it saw",
	.predictor = "linear",
	.fit = fit_spy,
};

static void a_fold_is_fitted_on_all_other_rows_in_their_order(void **state)
{
	double x[ROWS], y[ROWS], predicted[ROWS];
	const struct tw_samples s = { ROWS, 1,    x,     y,    names, TW_PACKAGE, false,
				      0,    NULL, false, NULL, NULL,  0,          NULL };

	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		x[i] = (double)i;
		y[i] = 1000.0 + (double)i;
	}
	for (size_t i = 0; i < 7; i++) {
		const struct tw_fold f = tw_fold_at(ROWS, 7, i);
		struct tw_err err = { 0 };
		size_t next = 0;

		assert_int_equal(tw_validate_fold(&spy, &s, f, 1, predicted, NULL, &err),
				 0);
		assert_int_equal(seen_rows, ROWS - (f.to - f.from));
		for (size_t r = 0; r < ROWS; r++) {
			if (r >= f.from && r < f.to)
				continue;
			assert_true(seen_x[next] == x[r] && seen_y[next] == y[r]);
			next++;
		}
		/* And what predicts is the text, read back. */
		for (size_t r = 0; r < f.to - f.from; r++)
			assert_true(predicted[r] == (double)seen_rows);
	}
}

#if TW_XGBOOST
/*
 * Rows that trees can memorise: noise, with the row's number as feature. A model that was
 * fitted on its test rows is nearly right; another model is wrong by the noise.
 */
static void memorised_rows_are_useless_on_blocks(void **state)
{
	const struct tw_trainer *t = tw_trainer_find("XgboostFitTrainer");
	double x[ROWS], y[ROWS], predicted[ROWS], error = 0.0;
	const struct tw_samples s = { ROWS, 1,    x,     y,    names, TW_PACKAGE, false,
				      0,    NULL, false, NULL, NULL,  0,          NULL };
	uint64_t seed = 1;

	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		x[i] = (double)i;
		y[i] = (seed >> 63) ? 100.0 : 0.0;
	}
	for (size_t i = 0; i < 5; i++) {
		const struct tw_fold f = tw_fold_at(ROWS, 5, i);
		struct tw_err err = { 0 };

		assert_int_equal(tw_validate_fold(t, &s, f, 1, predicted, NULL, &err), 0);
		for (size_t r = f.from; r < f.to; r++)
			error += fabs(predicted[r - f.from] - y[r]) / ROWS;
	}
	assert_true(error > 30.0);
}
#endif

static void predictions_below_zero_are_zero_as_they_are_served(void **state)
{
	static const double x[] = { 0, 1, 2, 3, 4 }, y[] = { 0, 10, 20, 30, 40 };
	const struct tw_samples s = { 5, 1,    x,     y,    names, TW_PACKAGE, false,
				      0, NULL, false, NULL, NULL,  0,          NULL };
	const struct tw_fold first = { 0, 1 };
	double below[] = { -50, 1, 2, 3, 4 }, predicted;
	const struct tw_samples far = { 5, 1,    below, y,    names, TW_PACKAGE, false,
					0, NULL, false, NULL, NULL,  0,          NULL };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_validate_fold(&tw_trainer_linear, &s, first, 1, &predicted,
					  NULL, &err),
			 0);
	assert_true(fabs(predicted) < 1e-9);
	assert_int_equal(tw_validate_fold(&tw_trainer_linear, &far, first, 1, &predicted,
					  NULL, &err),
			 0);
	assert_true(predicted == 0.0);
}

static void a_failure_names_the_rows(void **state)
{
	static const double x[] = { 0, 1 }, y[] = { 0, 10 };
	const struct tw_samples s = { 2, 1,    x,     y,    names, TW_PACKAGE, false,
				      0, NULL, false, NULL, NULL,  0,          NULL };
	const struct tw_fold last = { 1, 2 };
	double predicted;
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(
		tw_validate_fold(&tw_trainer_linear, &s, last, 1, &predicted, NULL, &err),
		-1);
	assert_int_equal(err.code, TW_INVALID);
	assert_string_equal(err.text, "without rows 1 to 1: 1 rows, need at least 2");
}

static int fit_rubbish(const struct tw_trainer *self, const struct tw_samples *s,
		       uint64_t seed, struct tw_buf *text, struct tw_err *err)
{
	(void)s;
	(void)self;
	(void)seed;
	(void)err;
	tw_buf_adds(text, "{}");
	return 0;
}

static void a_text_that_cannot_be_read_back_is_a_failure(void **state)
{
	static const double x[] = { 0, 1 }, y[] = { 0, 10 };
	const struct tw_trainer rubbish = { .name = "R",
					    .predictor = "linear",
					    .fit = fit_rubbish };
	const struct tw_trainer strange = { .name = "S",
					    .predictor = "none",
					    .fit = fit_rubbish };
	const struct tw_samples s = { 2, 1,    x,     y,    names, TW_PACKAGE, false,
				      0, NULL, false, NULL, NULL,  0,          NULL };
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 }, other = { 0 };

	(void)state;
	assert_int_equal(tw_validate_fit(&rubbish, &s, 1, &text, &err), -1);
	assert_non_null(strstr(err.text, "reading the fitted model back: "));
	assert_int_equal(tw_validate_fit(&strange, &s, 1, &text, &other), -1);
	assert_int_equal(other.code, TW_UNSUPPORTED);
	assert_string_equal(other.text, "no predictor 'none'");
	tw_buf_clear(&text);
}

static void memory_that_runs_out_is_an_error(void **state)
{
	static const double x[] = { 0, 1, 2, 3, 4 }, y[] = { 0, 10, 20, 30, 40 };
	const struct tw_samples s = { 5, 1,    x,     y,    names, TW_PACKAGE, false,
				      0, NULL, false, NULL, NULL,  0,          NULL };
	const struct tw_fold middle = { 2, 3 };
	int failures = 0;

	(void)state;
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		double predicted;
		int status;

		fail_alloc_at(n);
		status = tw_validate_fold(&tw_trainer_linear, &s, middle, 1, &predicted,
					  NULL, &err);
		if (!fail_alloc_told(status, &err))
			break;
		failures++;
	}
	assert_true(failures > 5);
}

static void a_block_is_widened_to_the_ends_at_most(void **state)
{
	const struct tw_fold middle = { 4, 6 };
	struct tw_fold f = tw_fold_widen(middle, 0, 10);

	(void)state;
	assert_true(f.from == 4 && f.to == 6);
	f = tw_fold_widen(middle, 3, 10);
	assert_true(f.from == 1 && f.to == 9);
	f = tw_fold_widen(middle, 100, 10);
	assert_true(f.from == 0 && f.to == 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_is_widened_to_the_ends_at_most),
		cmocka_unit_test(blocks_are_contiguous_and_cover_all_rows),
		cmocka_unit_test(a_fold_is_fitted_on_all_other_rows_in_their_order),
#if TW_XGBOOST
		cmocka_unit_test(memorised_rows_are_useless_on_blocks),
#endif
		cmocka_unit_test(predictions_below_zero_are_zero_as_they_are_served),
		cmocka_unit_test(a_failure_names_the_rows),
		cmocka_unit_test(a_text_that_cannot_be_read_back_is_a_failure),
		cmocka_unit_test(memory_that_runs_out_is_an_error),
	};

	gsl_set_error_handler_off();
	return cmocka_run_group_tests_name("validate", tests, NULL, NULL);
}
