/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/json.h"
#include "trainer/fit/trainer.h"

#include <gsl/gsl_errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLS_MAX 4
#define ROWS_MAX 64

static const char *const names[] = { "a", "b", "c", "d" };

/* What the text says: watts = bias + sum slope[j] x_j. */
struct line {
	double bias, slope[COLS_MAX];
};

static struct line fit(const struct tw_trainer *t, const struct tw_samples *s)
{
	struct line l = { 0 };
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 };
	const json_t *weights, *numeric;
	json_t *root;

	assert_int_equal(t->fit(t, s, 1, &text, &err), 0);
	assert_int_equal(tw_json_parse(text.data, text.len, "text", &root, &err), 0);
	assert_int_equal(tw_json_object(root, "", "All_Weights", false, &weights, &err),
			 0);
	assert_int_equal(tw_json_number(weights, "", "Bias_Weight", false, &l.bias, &err),
			 0);
	assert_int_equal(
		tw_json_object(weights, "", "Numerical_Variables", false, &numeric, &err),
		0);
	assert_int_equal(json_object_size(numeric), s->cols);
	for (size_t c = 0; c < s->cols; c++) {
		const json_t *f;
		double scale, weight, mean, variance;

		assert_int_equal(tw_json_object(numeric, "", names[c], false, &f, &err),
				 0);
		assert_int_equal(tw_json_number(f, "", "scale", false, &scale, &err), 0);
		assert_int_equal(tw_json_number(f, "", "weight", false, &weight, &err),
				 0);
		assert_int_equal(tw_json_number(f, "", "mean", false, &mean, &err), 0);
		assert_int_equal(
			tw_json_number(f, "", "variance", false, &variance, &err), 0);
		assert_true(mean == 0.0 && variance == scale * scale && scale > 0.0);
		l.slope[c] = weight / scale;
	}
	json_decref(root);
	tw_buf_clear(&text);
	return l;
}

static double squares(const struct tw_samples *s, const struct line *l)
{
	double sum = 0.0;

	for (size_t r = 0; r < s->rows; r++) {
		double e = l->bias - s->y[r];

		for (size_t c = 0; c < s->cols; c++)
			e += l->slope[c] * s->x[r * s->cols + c];
		sum += e * e;
	}
	return sum;
}

static void assert_near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("%.17g is not %.17g within %g", got, want, tolerance);
}

static void assert_refused(const struct tw_samples *s, const char *text)
{
	struct tw_buf out = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_trainer_linear.fit(&tw_trainer_linear, s, 1, &out, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_string_equal(err.text, text);
	tw_buf_clear(&out);
}

static void an_exact_line_is_recovered(void **state)
{
	/* y = 10 + 2 a + 0.5 b */
	static const double x[] = { 0, 0, 1, 4, 2, 2, 3, 8, 4, 1 };
	static const double y[] = { 10, 14, 15, 20, 18.5 };
	const struct tw_samples s = { 5, 2,    x,     y,    names, TW_PACKAGE, false,
				      0, NULL, false, NULL, NULL,  0,          NULL };
	const struct line l = fit(&tw_trainer_linear, &s);

	(void)state;
	assert_near(l.bias, 10, 1e-12);
	assert_near(l.slope[0], 2, 1e-12);
	assert_near(l.slope[1], 0.5, 1e-12);
}

static void a_falling_line_becomes_its_mean(void **state)
{
	static const double x[] = { 0, 1, 2, 3 }, y[] = { 9, 7, 5, 3 };
	const struct tw_samples s = { 4, 1,    x,     y,    names, TW_PACKAGE, false,
				      0, NULL, false, NULL, NULL,  0,          NULL };
	const struct line l = fit(&tw_trainer_linear, &s);

	(void)state;
	assert_near(l.bias, 6, 1e-12);
	assert_true(l.slope[0] == 0.0);
}

/* Column cols is the constant. */
static double value_at(const struct tw_samples *s, size_t r, size_t c)
{
	return c == s->cols ? 1.0 : s->x[r * s->cols + c];
}

/* Lawson and Hanson's problem by trying all active sets, with normal equations. */
static bool solve_set(const struct tw_samples *s, unsigned set, struct line *out)
{
	double a[COLS_MAX + 1][COLS_MAX + 2] = { 0 };
	size_t column[COLS_MAX + 1], k = 0;

	for (size_t c = 0; c <= s->cols; c++)
		if (set & (1u << c))
			column[k++] = c;
	for (size_t r = 0; r < s->rows; r++)
		for (size_t i = 0; i < k; i++) {
			const double xi = value_at(s, r, column[i]);

			for (size_t j = 0; j < k; j++)
				a[i][j] += xi * value_at(s, r, column[j]);
			a[i][k] += xi * s->y[r];
		}
	for (size_t i = 0; i < k; i++) {
		size_t pivot = i;

		for (size_t j = i + 1; j < k; j++)
			if (fabs(a[j][i]) > fabs(a[pivot][i]))
				pivot = j;
		if (fabs(a[pivot][i]) < 1e-9)
			return false;
		for (size_t j = 0; j <= k; j++) {
			const double t = a[i][j];

			a[i][j] = a[pivot][j];
			a[pivot][j] = t;
		}
		for (size_t r = 0; r < k; r++)
			for (size_t j = k + 1; r != i && j-- > i;)
				a[r][j] -= a[i][j] * (a[r][i] / a[i][i]);
	}
	*out = (struct line){ 0 };
	for (size_t i = 0; i < k; i++) {
		const double w = a[i][k] / a[i][i];

		if (w < 0.0)
			return false;
		*(column[i] == s->cols ? &out->bias : &out->slope[column[i]]) = w;
	}
	return true;
}

static double uniform(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(*seed >> 11) / 9007199254740992.0;
}

static void the_solution_equals_the_best_of_all_active_sets(void **state)
{
	double x[ROWS_MAX * COLS_MAX], y[ROWS_MAX];
	uint64_t seed = 42;
	size_t bounded = 0, through_zero = 0;

	(void)state;
	for (int trial = 0; trial < 300; trial++) {
		const struct tw_samples s = { 6 + (size_t)trial % 40,
					      1 + (size_t)trial % 4, x, y, names,
					      TW_PACKAGE, false, 0, NULL,
					      /* The power at rest limits the constant. */
					      .unconstrained = true };
		double best = HUGE_VAL;
		struct line got, l;

		for (size_t r = 0; r < s.rows; r++) {
			y[r] = 20.0 * uniform(&seed) - trial % 3;
			for (size_t c = 0; c < s.cols; c++) {
				x[r * s.cols + c] = uniform(&seed) * (c + 1.0) - 0.5;
				y[r] += x[r * s.cols + c] * (c % 2 ? -6.0 : 4.0);
			}
		}
		for (unsigned set = 0; set < 2u << s.cols; set++)
			if (solve_set(&s, set, &l))
				best = fmin(best, squares(&s, &l));
		got = fit(&tw_trainer_linear, &s);
		for (size_t c = 0; c < s.cols; c++) {
			assert_true(got.slope[c] >= 0.0);
			bounded += got.slope[c] == 0.0;
		}
		assert_true(got.bias >= 0.0);
		through_zero += got.bias == 0.0;
		assert_near(squares(&s, &got), best, 1e-9 * best);
	}
	/* The bounds were put to the test. */
	assert_true(bounded > 100);
	assert_in_range(through_zero, 10, 290);
}

/* Rest is 10 W, but the line through all rows, whose power bends, has 27 W at rest. */
static void the_constant_is_the_power_at_rest(void **state)
{
	double x[ROWS_MAX], y[ROWS_MAX];
	struct tw_samples s = { ROWS_MAX, 1,    x,     y,    names, TW_PACKAGE, false,
				0,        NULL, false, NULL, NULL,  0,          NULL };
	struct line l;

	(void)state;
	for (size_t r = 0; r < ROWS_MAX; r++) {
		x[r] = r % 4 == 0 ? 0.0 : (double)(r % 17);
		y[r] = 10.0 + 20.0 * sqrt(x[r]);
	}
	l = fit(&tw_trainer_linear, &s);
	assert_near(l.bias, 10, 0.5);
	assert_true(l.slope[0] > 5);
	assert_near(fit(&tw_trainer_ridge, &s).bias, 10, 0.5);
	s.unconstrained = true;
	assert_true(fit(&tw_trainer_linear, &s).bias > 15);
	assert_true(fit(&tw_trainer_ridge, &s).bias > 15);
}

static void unconstrained_weights_may_be_negative(void **state)
{
	static const double x[] = { 0, 0, 1, 4, 2, 2, 3, 8, 4, 1 };
	static const double y[] = { 20, 14, 17, 6, 19.5 };
	struct tw_samples s = { 5, 2,    x,     y,    names, TW_PACKAGE, false,
				0, NULL, false, NULL, NULL,  0,          NULL };
	struct line l = fit(&tw_trainer_ridge, &s);

	(void)state;
	assert_true(l.bias >= 0 && l.slope[0] >= 0 && l.slope[1] >= 0);
	s.unconstrained = true;
	l = fit(&tw_trainer_ridge, &s);
	assert_true(l.slope[1] < 0);
}

static void collinear_columns_share_the_slope(void **state)
{
	static const double x[] = { 0, 0, 1, 2, 2, 4, 3, 6 }, y[] = { 1, 6, 11, 16 };
	const struct tw_samples s = { 4, 2,    x,     y,    names, TW_PACKAGE, false,
				      0, NULL, false, NULL, NULL,  0,          NULL };
	const struct line l = fit(&tw_trainer_linear, &s);

	(void)state;
	assert_near(l.bias, 1, 1e-12);
	assert_near(l.slope[0] + 2 * l.slope[1], 5, 1e-12);
	assert_true(l.slope[0] >= 0 && l.slope[1] >= 0);
}

static void constant_power_and_constant_features_give_the_constant(void **state)
{
	static const double x[] = { 7, 0, 7, 0, 7, 0 }, y[] = { 3, 3, 3 },
			    zero[3] = { 0 };
	const struct tw_samples same = { 3, 2,    x,     y,    names, TW_PACKAGE, false,
					 0, NULL, false, NULL, NULL,  0,          NULL };
	const struct tw_samples none = { 3, 2,    x,     zero, names, TW_PACKAGE, false,
					 0, NULL, false, NULL, NULL,  0,          NULL };
	struct line l = fit(&tw_trainer_linear, &same);

	(void)state;
	assert_near(l.bias, 3, 1e-15);
	assert_true(l.slope[0] == 0 && l.slope[1] == 0);
	l = fit(&tw_trainer_linear, &none);
	assert_true(l.bias == 0 && l.slope[0] == 0 && l.slope[1] == 0);
}

static void more_columns_than_rows_is_no_trouble(void **state)
{
	static const double x[] = { 1, 2, 3, 4, 2, 3, 4, 9 }, y[] = { 5, 8 };
	const struct tw_samples s = { 2, 4,    x,     y,    names, TW_PACKAGE, false,
				      0, NULL, false, NULL, NULL,  0,          NULL };
	const struct line l = fit(&tw_trainer_linear, &s);

	(void)state;
	assert_near(squares(&s, &l), 0, 1e-20);
}

static void huge_values_keep_their_precision(void **state)
{
	static const double x[] = { 0, 1e29, 2e29, 4e29 }, y[] = { 10, 20, 30, 50 };
	const struct tw_samples s = { 4, 1,    x,     y,    names, TW_PACKAGE, false,
				      0, NULL, false, NULL, NULL,  0,          NULL };
	const struct line l = fit(&tw_trainer_linear, &s);

	(void)state;
	assert_near(l.bias, 10, 1e-12);
	assert_near(l.slope[0] * 1e28, 1, 1e-12);
}

/* Samples that go from zero, and have a constant all the same. */
static void samples_from_zero_have_no_constant(void **state)
{
	static const double x[] = { 1, 2, 3, 4 };
	static const double y[] = { 12, 14, 16, 18 };
	const struct tw_samples s = { 4, 1,    x,     y,    names, TW_PACKAGE, true,
				      0, NULL, false, NULL, NULL,  0,          NULL };
	const struct tw_trainer *const linear[] = { &tw_trainer_linear,
						    &tw_trainer_ridge };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct line l = fit(linear[i], &s);

		assert_true(l.bias == 0.0);
		/* sum x y / sum x^2, which a ridge shrinks */
		assert_true(l.slope[0] <= 160.0 / 30.0 + 1e-12);
		assert_true(l.slope[0] > (i == 0 ? 160.0 / 30.0 - 1e-12 : 5.0));
	}
}

static void bad_samples_are_refused(void **state)
{
	double x[] = { 1, 2, 3, 4 }, y[] = { 1, 2 };
	const struct tw_samples s = { 2, 2,    x,     y,    names, TW_PACKAGE, false,
				      0, NULL, false, NULL, NULL,  0,          NULL };
	struct tw_samples one = s, none = s;

	(void)state;
	one.rows = 1;
	assert_refused(&one, "1 rows, need at least 2");
	none.cols = 0;
	assert_refused(&none, "no features");
	x[3] = NAN;
	assert_refused(&s, "row 1, feature 'b': nan is not finite or too large");
	x[3] = 1e300;
	assert_refused(&s, "row 1, feature 'b': 1e+300 is not finite or too large");
	x[3] = 4;
	y[0] = INFINITY;
	assert_refused(&s, "row 0, power: inf is not finite or too large");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exact_line_is_recovered),
		cmocka_unit_test(a_falling_line_becomes_its_mean),
		cmocka_unit_test(the_solution_equals_the_best_of_all_active_sets),
		cmocka_unit_test(the_constant_is_the_power_at_rest),
		cmocka_unit_test(unconstrained_weights_may_be_negative),
		cmocka_unit_test(collinear_columns_share_the_slope),
		cmocka_unit_test(constant_power_and_constant_features_give_the_constant),
		cmocka_unit_test(more_columns_than_rows_is_no_trouble),
		cmocka_unit_test(huge_values_keep_their_precision),
		cmocka_unit_test(samples_from_zero_have_no_constant),
		cmocka_unit_test(bad_samples_are_refused),
	};

	gsl_set_error_handler_off();
	return cmocka_run_group_tests_name("fit_linear", tests, NULL, NULL);
}
