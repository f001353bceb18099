/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "model-db/curve.h"
#include "trainer/fit/trainer.h"

#include <gsl/gsl_errno.h>
#include <math.h>
#include <string.h>

#define ROWS 120

static const char *const names[] = { "a", "cpu_instructions" };

static struct tw_curve fit(const char *trainer, const struct tw_samples *s)
{
	const struct tw_trainer *t = tw_trainer_find(trainer);
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 };
	struct tw_curve c;

	assert_non_null(t);
	if (t->fit(t, s, 1, &text, &err) < 0 ||
	    tw_curve_read(text.data, text.len, "", &c, &err) < 0)
		fail_msg("%s: %s", trainer, err.text);
	assert_string_equal(c.kind->trainer, trainer);
	tw_buf_clear(&text);
	return c;
}

/* Points of the curve itself, of which each trainer knows nothing. */
static void a_curve_is_found_again(void **state)
{
	static const struct {
		const char *curve;
		double weight[TW_CURVE_WEIGHTS_MAX];
	} cases[] = {
		{ "exponential", { 4, 2.5, 60 } },  { "exponential", { -80, -3, 150 } },
		{ "exponential", { 0.01, 9, 20 } }, { "logarithmic", { 30, 12, 40 } },
		{ "logarithmic", { 5, 4000, 0 } },  { "logistic", { 120, 0.4, 9, 55 } },
		{ "logistic", { 80, 0.1, 30, 5 } },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const struct tw_curve_kind *k = tw_curve_kind_find(cases[i].curve);
		double x[2 * ROWS], y[ROWS];
		const struct tw_samples s = {
			ROWS,       2,     x, y,    names,
			TW_PACKAGE, false, 0, NULL, .unconstrained = true
		};
		struct tw_curve c;

		for (size_t r = 0; r < ROWS; r++) {
			x[2 * r] = (double)(r * 7 % 13);
			x[2 * r + 1] = 1e9 * (double)r / (ROWS - 1);
			y[r] = k->value(cases[i].weight, x[2 * r + 1] / 1e9);
		}
		c = fit(k->trainer, &s);
		assert_string_equal(c.feature, "cpu_instructions");
		/* A hundredth of a watt of some hundred: the fit stops at 1e-9 of the
		 * square. */
		for (size_t r = 0; r < ROWS; r++)
			if (!(fabs(tw_curve_watts(&c, x[2 * r + 1]) - y[r]) < 0.01))
				fail_msg("%zu: %g is not %g", i,
					 tw_curve_watts(&c, x[2 * r + 1]), y[r]);
	}
}

static void power_that_falls_is_level(void **state)
{
	double x[ROWS], y[ROWS];
	const struct tw_samples s = { .rows = ROWS,
				      .cols = 1,
				      .x = x,
				      .y = y,
				      .features = names,
				      .component = TW_PACKAGE,
				      .unconstrained = true };

	(void)state;
	for (size_t r = 0; r < ROWS; r++) {
		x[r] = (double)r;
		y[r] = 200 - (double)r;
	}
	for (size_t i = 0; i < tw_curve_kind_count(); i++) {
		const struct tw_curve c = fit(tw_curve_kind_at(i)->trainer, &s);

		/* The mean of 200, 199, .., 81. */
		assert_true(fabs(tw_curve_watts(&c, 0) - 140.5) < 1e-9);
		assert_true(fabs(tw_curve_watts(&c, 1e6) - 140.5) < 1e-9);
	}
}

/* A law of two steps, which no curve follows, and rest at 10 W. */
static void a_curve_starts_from_the_power_at_rest(void **state)
{
	double x[2 * ROWS], y[ROWS];
	struct tw_samples s = { .rows = ROWS,
				.cols = 2,
				.x = x,
				.y = y,
				.features = names,
				.component = TW_PACKAGE };
	bool another = false;

	(void)state;
	for (size_t r = 0; r < ROWS; r++) {
		x[2 * r] = x[2 * r + 1] = r % 4 == 0 ? 0.0 : 1e8 * (double)(r % 31);
		y[r] = x[2 * r] > 1e9 ? 80 : x[2 * r] > 5e8 ? 75 : 10;
	}
	for (size_t i = 0; i < tw_curve_kind_count(); i++) {
		const char *trainer = tw_curve_kind_at(i)->trainer;
		struct tw_curve c;

		s.unconstrained = false;
		c = fit(trainer, &s);
		assert_true(fabs(tw_curve_watts(&c, 0) - 10) < 0.5);
		assert_true(tw_curve_watts(&c, 3e9) > 60);
		s.unconstrained = true;
		c = fit(trainer, &s);
		another = another || fabs(tw_curve_watts(&c, 0) - 10) > 1;
	}
	assert_true(another);
}

static void memory_follows_its_own_feature(void **state)
{
	static const char *const both[] = { "cache_miss", "cpu_instructions" };
	double x[] = { 0, 3, 1, 1, 2, 7, 3, 2 }, y[] = { 1, 2, 3, 4 };
	const struct tw_samples s = {
		.rows = 4,
		.cols = 2,
		.x = x,
		.y = y,
		.features = both,
		.component = TW_DRAM,
	};
	const struct tw_curve c = fit("ExponentialRegressionTrainer", &s);

	(void)state;
	assert_string_equal(c.feature, "cache_miss");
	assert_true(fabs(tw_curve_watts(&c, 3) - 4) < 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_curve_is_found_again),
		cmocka_unit_test(power_that_falls_is_level),
		cmocka_unit_test(a_curve_starts_from_the_power_at_rest),
		cmocka_unit_test(memory_follows_its_own_feature),
	};

	gsl_set_error_handler_off();
	return cmocka_run_group_tests_name("fit_curves", tests, NULL, NULL);
}
