/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "estimator/predict/predictor.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "tests/unit/fail_alloc.h"
#include "trainer/fit/trainer.h"

#include <gsl/gsl_errno.h>
#include <math.h>
#include <string.h>

/*
 * Every trainer on data that is wrong, or hardly any: a sane model or a clear error.
 */
/* Rows, columns, features, watts, whose. */
#define ROWS_OF(n, m, x, y, c)                                                   \
	{                                                                        \
		n, m, x, y, names, c, false, 0, NULL, false, NULL, NULL, 0, NULL \
	}

static const char *const names[] = { "a", "b", "c" };

/* Fit, and predict the rows it was fitted on. */
static int fit_and_predict(const struct tw_trainer *t, const struct tw_samples *s,
			   double *out, struct tw_err *err)
{
	const struct tw_predictor *p = tw_predictor_find(t->predictor);
	const struct tw_rows in = { .x = s->x, .rows = s->rows, .stride = s->cols };
	struct tw_buf text = { 0 };
	struct tw_strs features = { 0 };
	void *state = NULL;
	int rc = -1;

	for (size_t c = 0; c < s->cols; c++)
		assert_int_equal(tw_strs_adds(&features, s->features[c], err), 0);
	if (t->fit(t, s, 1, &text, err) < 0)
		goto out;
	if (tw_predictor_load(p, text.data, text.len, &features, &state, err) < 0)
		fail_msg("%s: %s", t->name, err->text);
	p->predict(state, &in, out);
	tw_predictor_free(p, state);
	rc = 0;
out:
	tw_strs_clear(&features);
	tw_buf_clear(&text);
	return rc;
}

#define ROWS 8
static const double some[3 * ROWS] = { 1, 5, 2, 2, 3, 9, 3, 8, 1, 4, 1, 7,
				       5, 9, 3, 6, 2, 8, 7, 4, 6, 8, 6, 4 };
static const double zero[3 * ROWS];
static const double collinear[3 * ROWS] = { 1, 2,  3,  2, 4,  6,  3, 6,  9,  4, 8,  12,
					    5, 10, 15, 6, 12, 18, 7, 14, 21, 8, 16, 24 };
static const double large[3 * ROWS] = { 1e30, -1e30,  0, 1, 2, 3,    5, 1e-30,
					7,    1e-300, 0, 0, 1, 1,    1, 2,
					2,    2,      9, 9, 9, 1e30, 1, 4 };
static const double rising[ROWS] = { 10, 20, 30, 40, 50, 60, 70, 80 };
static const double level[ROWS] = { 33, 33, 33, 33, 33, 33, 33, 33 };
static const double huge[ROWS] = { 1e30, 0, 1e30, 5, 1e29, 0, 1, 1e30 };

static void odd_samples_give_a_sane_model(void **state)
{
	static const struct {
		const char *what;
		struct tw_samples s;
		double low, high; /* the power must be within */
	} cases[] = {
		{ "two rows", ROWS_OF(2, 3, some, rising, TW_PACKAGE), 9, 21 },
		{ "one column", ROWS_OF(ROWS, 1, some, rising, TW_PACKAGE), 0, 90 },
		{ "all zero", ROWS_OF(ROWS, 3, zero, zero, TW_PACKAGE), 0, 0 },
		{ "features zero", ROWS_OF(ROWS, 3, zero, rising, TW_DRAM), 10, 80 },
		{ "level", ROWS_OF(ROWS, 3, some, level, TW_PACKAGE), 33, 33 },
		{ "collinear", ROWS_OF(ROWS, 3, collinear, rising, TW_DRAM), 0, 90 },
		{ "large", ROWS_OF(ROWS, 3, large, rising, TW_PACKAGE), 0, 90 },
		{ "huge", ROWS_OF(ROWS, 3, some, huge, TW_PACKAGE), -2e30, 2e30 },
	};

	(void)state;
	for (size_t k = 0; k < tw_trainer_count(); k++)
		for (size_t i = 0; i < TW_COUNT(cases); i++) {
			const struct tw_trainer *t = tw_trainer_at(k);
			const double slack = 1e-5 * (1.0 + fabs(cases[i].high));
			struct tw_err err = { 0 };
			double out[ROWS];

			if (fit_and_predict(t, &cases[i].s, out, &err) < 0)
				fail_msg("%s, %s: %s", t->name, cases[i].what, err.text);
			for (size_t r = 0; r < cases[i].s.rows; r++)
				if (!(out[r] >= cases[i].low - slack &&
				      out[r] <= cases[i].high + slack))
					fail_msg("%s, %s, row %zu: %g", t->name,
						 cases[i].what, r, out[r]);
		}
}

static void bad_samples_are_refused(void **state)
{
	static const double nan_at_4[] = { 1, 2, 3, 4, NAN, 6 }, y[] = { 5, 9 };
	static const double good[] = { 1, 2, 3, 4, 5, 6 }, too_large[] = { 5, 1e300 };
	static const struct {
		struct tw_samples s;
		const char *want;
	} cases[] = {
		{ ROWS_OF(2, 3, nan_at_4, y, TW_PACKAGE),
		  "row 1, feature 'b': nan is not finite or too large" },
		{ ROWS_OF(2, 3, good, too_large, TW_PACKAGE),
		  "row 1, power: 1e+300 is not finite or too large" },
		{ ROWS_OF(1, 3, good, y, TW_PACKAGE), "1 rows, need at least 2" },
		{ ROWS_OF(2, 0, good, y, TW_PACKAGE), "no features" },
	};

	(void)state;
	for (size_t k = 0; k < tw_trainer_count(); k++)
		for (size_t i = 0; i < TW_COUNT(cases); i++) {
			struct tw_buf text = { 0 };
			struct tw_err err = { 0 };

			assert_int_equal(tw_trainer_at(k)->fit(tw_trainer_at(k),
							       &cases[i].s, 1, &text,
							       &err),
					 -1);
			assert_int_equal(err.code, TW_INVALID);
			assert_string_equal(err.text, cases[i].want);
			assert_null(text.data);
		}
}

static void the_same_samples_give_the_same_bytes(void **state)
{
	const struct tw_samples s = ROWS_OF(ROWS, 3, some, rising, TW_PACKAGE);

	(void)state;
	for (size_t k = 0; k < tw_trainer_count(); k++) {
		struct tw_buf a = { 0 }, b = { 0 };
		struct tw_err err = { 0 };

		assert_int_equal(tw_trainer_at(k)->fit(tw_trainer_at(k), &s, 1, &a, &err),
				 0);
		assert_int_equal(tw_trainer_at(k)->fit(tw_trainer_at(k), &s, 1, &b, &err),
				 0);
		assert_int_equal(a.len, b.len);
		assert_memory_equal(a.data, b.data, a.len);
		tw_buf_clear(&a);
		tw_buf_clear(&b);
	}
}

/* What is written in C++ ends the program where it has no memory: not asked here. */
static void memory_that_runs_out_is_an_error(void **state)
{
	const struct tw_samples s = ROWS_OF(ROWS, 3, some, rising, TW_PACKAGE);

	(void)state;
	for (size_t k = 0; k < tw_trainer_count(); k++) {
		const struct tw_trainer *t = tw_trainer_at(k);

		/* AutoTrainer's many allocations: test_fit_auto.c. */
		if (strcmp(t->predictor, "xgboost") == 0 ||
		    strcmp(t->predictor, "svr") == 0 || t->slow)
			continue;
		for (int n = 1;; n++) {
			struct tw_buf text = { 0 };
			struct tw_err err = { 0 };
			int rc;

			fail_alloc_at(n);
			rc = t->fit(t, &s, 1, &text, &err);
			tw_buf_clear(&text);
			if (!fail_alloc_told(rc, &err))
				break;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(odd_samples_give_a_sane_model),
		cmocka_unit_test(bad_samples_are_refused),
		cmocka_unit_test(the_same_samples_give_the_same_bytes),
		cmocka_unit_test(memory_that_runs_out_is_an_error),
	};

	gsl_set_error_handler_off();
	return cmocka_run_group_tests_name("odd_samples", tests, NULL, NULL);
}
