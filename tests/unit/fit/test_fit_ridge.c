/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "estimator/predict/predictor.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "trainer/fit/trainer.h"

#include <gsl/gsl_errno.h>
#include <math.h>
#include <string.h>

static const char *const names[] = { "a", "b", "c" };

/* Fit, read back, and predict each row of x. */
static void fit_and_predict(const struct tw_samples *s, const double *x, size_t rows,
			    double *out)
{
	const struct tw_predictor *p = tw_predictor_find(tw_trainer_ridge.predictor);
	const struct tw_rows in = { .x = x, .rows = rows, .stride = s->cols };
	struct tw_buf text = { 0 };
	struct tw_strs features = { 0 };
	struct tw_err err = { 0 };
	void *state;

	assert_non_null(p);
	for (size_t c = 0; c < s->cols; c++)
		assert_int_equal(tw_strs_adds(&features, names[c], &err), 0);
	assert_int_equal(tw_trainer_ridge.fit(&tw_trainer_ridge, s, 1, &text, &err), 0);
	assert_int_equal(
		tw_predictor_load(p, text.data, text.len, &features, &state, &err), 0);
	p->predict(state, &in, out);
	tw_predictor_free(p, state);
	tw_strs_clear(&features);
	tw_buf_clear(&text);
}

static void assert_near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("%.17g is not %.17g within %g", got, want, tolerance);
}

static double uniform(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(*seed >> 11) / 9007199254740992.0;
}

static void an_exact_line_is_recovered(void **state)
{
	/* y = 10 + 2 a + 0.5 b */
	static const double x[] = { 0, 0, 1, 4, 2, 2, 3, 8, 4, 1, 7, 7 };
	static const double y[] = { 10, 14, 15, 20, 18.5, 27.5 };
	static const double at[] = { 0, 0, 1, 0, 0, 1, 10, 10 };
	const struct tw_samples s = { 6, 2,    x,     y,    names, TW_PACKAGE, false,
				      0, NULL, false, NULL, NULL,  0,          NULL };
	double out[4];

	(void)state;
	fit_and_predict(&s, at, 4, out);
	/* The smallest lambda of the grid shrinks by 1e-12. */
	assert_near(out[0], 10, 1e-9);
	assert_near(out[1], 12, 1e-9);
	assert_near(out[2], 10.5, 1e-9);
	assert_near(out[3], 35, 1e-9);
}

/* Kepler makes 1.8e16 W of a power below 0. */
static void power_neither_falls_nor_is_negative(void **state)
{
	enum { N = 30, COLS = 3 };
	static const double at[] = { 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1 };
	double x[N * COLS], y[N], out[4];
	const struct tw_samples s = { N, COLS, x,     y,    names, TW_PACKAGE, false,
				      0, NULL, false, NULL, NULL,  0,          NULL };
	uint64_t seed = 3;
	size_t bounded = 0, through_zero = 0;

	(void)state;
	for (int trial = 0; trial < 100; trial++) {
		for (size_t r = 0; r < N; r++) {
			y[r] = 3 * uniform(&seed) - trial % 2;
			for (size_t c = 0; c < COLS; c++) {
				x[r * COLS + c] = uniform(&seed);
				y[r] += x[r * COLS + c] * (c == 1 ? -2 : 3);
			}
		}
		fit_and_predict(&s, at, 4, out);
		assert_true(out[0] >= 0);
		through_zero += out[0] == 0;
		for (size_t c = 0; c < COLS; c++) {
			assert_true(out[1 + c] >= out[0]);
			bounded += out[1 + c] == out[0];
		}
	}
	assert_in_range(bounded, 50, 250);
	assert_in_range(through_zero, 5, 95);
}

/*
 * One column: with r = its correlation with y, G(lambda) has its minimum where the
 * shrinkage 1 - f makes (1 - r^2 + f^2 r^2) / (n - 2 + f)^2 least: d/df = 0 gives
 * f = (1 - r^2) / (r^2 (n - 2)).
 */
static void shrinkage_is_that_of_generalised_cross_validation(void **state)
{
	enum { N = 40 };
	static const double at[] = { 0, 1 };
	double x[N], y[N], out[2];
	double mx = 0, my = 0, sxx = 0, sxy = 0, syy = 0, r2, f, want;
	const struct tw_samples s = { N, 1,    x,     y,    names, TW_PACKAGE, false,
				      0, NULL, false, NULL, NULL,  0,          NULL };
	uint64_t seed = 7;

	(void)state;
	for (int i = 0; i < N; i++) {
		x[i] = uniform(&seed);
		y[i] = 5 + 2 * x[i] + 4 * uniform(&seed);
		mx += x[i] / N;
		my += y[i] / N;
	}
	for (int i = 0; i < N; i++) {
		sxx += (x[i] - mx) * (x[i] - mx);
		sxy += (x[i] - mx) * (y[i] - my);
		syy += (y[i] - my) * (y[i] - my);
	}
	r2 = sxy * sxy / sxx / syy;
	f = (1 - r2) / (r2 * (N - 2));
	assert_true(f > 0.05 && f < 0.9);
	want = sxy / sxx * (1 - f);

	fit_and_predict(&s, at, 2, out);
	/* A step of the grid changes lambda by a tenth, f by a quarter at most. */
	assert_near(out[1] - out[0], want, 0.25 * f * fabs(sxy / sxx));
	assert_true(out[1] - out[0] < sxy / sxx);
	/* The mean is not shrunk. */
	assert_near(out[0] + (out[1] - out[0]) * mx, my, 1e-9);
}

static void collinear_columns_share_the_slope(void **state)
{
	static const double x[] = { 0, 0, 1, 2, 2, 4, 3, 6, 5, 10 };
	static const double y[] = { 1, 6, 11, 16, 26 };
	static const double at[] = { 0, 0, 4, 8 };
	const struct tw_samples s = { 5, 2,    x,     y,    names, TW_PACKAGE, false,
				      0, NULL, false, NULL, NULL,  0,          NULL };
	double out[2];

	(void)state;
	fit_and_predict(&s, at, 2, out);
	assert_near(out[0], 1, 1e-9);
	assert_near(out[1], 21, 1e-9);
}

static void constant_power_or_features_give_the_constant(void **state)
{
	static const double x[] = { 7, 0, 7, 0, 7, 0 }, y[] = { 3, 4, 5 },
			    same[] = { 2, 2, 2 };
	static const double other[] = { 1, 9, 2, 4, 3, 8 };
	/* Without load that varies, nothing is known about rest. */
	const struct tw_samples features = {
		3, 2, x, y, names, TW_PACKAGE, false, 0, NULL, .unconstrained = true
	};
	const struct tw_samples power = { 3, 2,    other, same, names, TW_PACKAGE, false,
					  0, NULL, false, NULL, NULL,  0,          NULL };
	double out[3];

	(void)state;
	fit_and_predict(&features, other, 3, out);
	for (int i = 0; i < 3; i++)
		assert_near(out[i], 4, 1e-12);
	fit_and_predict(&power, x, 3, out);
	for (int i = 0; i < 3; i++)
		assert_near(out[i], 2, 1e-12);
}

static void more_columns_than_rows_give_something_finite(void **state)
{
	static const double x[] = { 1, 2, 3, 3, 4, 9 }, y[] = { 5, 8 };
	const struct tw_samples s = { 2, 3,    x,     y,    names, TW_PACKAGE, false,
				      0, NULL, false, NULL, NULL,  0,          NULL };
	double out[2];

	(void)state;
	fit_and_predict(&s, x, 2, out);
	for (int i = 0; i < 2; i++)
		assert_true(out[i] >= 5 - 1e-9 && out[i] <= 8 + 1e-9);
}

static void bad_samples_are_refused(void **state)
{
	double x[] = { 1, 2, 3, NAN }, y[] = { 1, 2 };
	const struct tw_samples s = { 2, 2,    x,     y,    names, TW_PACKAGE, false,
				      0, NULL, false, NULL, NULL,  0,          NULL };
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_trainer_ridge.fit(&tw_trainer_ridge, &s, 1, &text, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_string_equal(err.text,
			    "row 1, feature 'b': nan is not finite or too large");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exact_line_is_recovered),
		cmocka_unit_test(power_neither_falls_nor_is_negative),
		cmocka_unit_test(shrinkage_is_that_of_generalised_cross_validation),
		cmocka_unit_test(collinear_columns_share_the_slope),
		cmocka_unit_test(constant_power_or_features_give_the_constant),
		cmocka_unit_test(more_columns_than_rows_give_something_finite),
		cmocka_unit_test(bad_samples_are_refused),
	};

	gsl_set_error_handler_off();
	return cmocka_run_group_tests_name("fit_ridge", tests, NULL, NULL);
}
