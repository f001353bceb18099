/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "estimator/predict/predictor.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "trainer/fit/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = { "a", "b" };

static size_t fit_and_predict(const char *trainer, const struct tw_samples *s,
			      const double *x, size_t rows, double *out)
{
	const struct tw_trainer *t = tw_trainer_find(trainer);
	const struct tw_predictor *p;
	struct tw_strs features = { 0 };
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 };
	void *state;
	size_t len;

	assert_non_null(t);
	p = tw_predictor_find(t->predictor);
	for (size_t c = 0; c < s->cols; c++)
		assert_int_equal(tw_strs_adds(&features, names[c], &err), 0);
	assert_int_equal(t->fit(t, s, 1, &text, &err), 0);
	assert_int_equal(
		tw_predictor_load(p, text.data, text.len, &features, &state, &err), 0);
	p->predict(state, &(struct tw_rows){ .x = x, .rows = rows, .stride = s->cols },
		   out);
	tw_predictor_free(p, state);
	len = text.len;
	tw_strs_clear(&features);
	tw_buf_clear(&text);
	return len;
}

static void six_neighbours_are_averaged(void **state)
{
	/* b is a thousand times a: neither is to count more. */
	static const double x[] = { 0, 0,    1, 0,    2, 0,    0, 1000,
				    0, 2000, 1, 1000, 9, 9000, 8, 9000 };
	static const double y[] = { 1, 2, 3, 4, 5, 9, 100, 200 },
			    at[] = { 0, 0, 9, 9000 };
	const struct tw_samples s = { 8, 2,    x,     y,    names, TW_PACKAGE, false,
				      0, NULL, false, NULL, NULL,  0,          NULL };
	double out[2];

	(void)state;
	fit_and_predict("KNeighborsRegressorTrainer", &s, at, 2, out);
	assert_true(fabs(out[0] - 24.0 / 6) < 1e-12);
	/* Then (1,1), and of the rest those farthest out: (2,0), (0,2) and (1,0). */
	assert_true(fabs(out[1] - (100 + 200 + 9 + 3 + 5 + 2) / 6.0) < 1e-12);
}

static void a_large_table_is_thinned(void **state)
{
	enum { ROWS = 50000 };
	double *x = calloc(ROWS, sizeof(*x)), *y = calloc(ROWS, sizeof(*y));
	const struct tw_samples s = { ROWS, 1,    x,     y,    names, TW_PACKAGE, false,
				      0,    NULL, false, NULL, NULL,  0,          NULL };
	double out[3];
	size_t len;

	(void)state;
	assert_true(x != NULL && y != NULL);
	for (size_t r = 0; r < ROWS; r++) {
		x[r] = (double)r;
		y[r] = 100 + 1e-3 * (double)r;
	}
	len = fit_and_predict("KNeighborsRegressorTrainer", &s,
			      (double[]){ 0, 25000, 50000 }, 3, out);
	assert_true(len < 8192 * 60);
	/* Six points of one in six rows are 36 mW of the slope apart at most. */
	for (int i = 0; i < 3; i++)
		assert_true(fabs(out[i] - (100 + 25.0 * i)) < 0.04);
	free(x);
	free(y);
}

#if TW_LIBSVM

/*
 * The tube is a fiftieth of the power's deviation wide. What lies out of it has a weight
 * at the bound, and a smooth curve has no such row.
 */
static void a_smooth_curve_stays_in_the_tube(void **state)
{
	enum { ROWS = 100 };
	double x[ROWS], y[ROWS], out[ROWS], deviation = 0.0, mean = 0.0;
	const struct tw_samples s = { ROWS, 1,    x,     y,    names, TW_PACKAGE, false,
				      0,    NULL, false, NULL, NULL,  0,          NULL };

	(void)state;
	for (size_t r = 0; r < ROWS; r++) {
		x[r] = 1e9 * (double)r / ROWS;
		y[r] = 60 + 80 * sin(1.5 * (double)r / ROWS);
		mean += y[r] / ROWS;
	}
	for (size_t r = 0; r < ROWS; r++)
		deviation += (y[r] - mean) * (y[r] - mean) / ROWS;
	deviation = sqrt(deviation);
	fit_and_predict("SVRRegressorTrainer", &s, x, ROWS, out);
	/* libsvm stops where the conditions hold to 0.001. */
	for (size_t r = 0; r < ROWS; r++)
		if (!(fabs(out[r] - y[r]) <= 0.0215 * deviation))
			fail_msg("row %zu: %g is not %g", r, out[r], y[r]);
}

static void far_away_there_is_the_constant(void **state)
{
	static const double x[] = { 1, 2, 3, 4 }, y[] = { 10, 20, 30, 40 };
	static const double at[] = { 1e9, -1e9 };
	const struct tw_samples s = { 4, 1,    x,     y,    names, TW_PACKAGE, false,
				      0, NULL, false, NULL, NULL,  0,          NULL };
	double out[2];

	(void)state;
	fit_and_predict("SVRRegressorTrainer", &s, at, 2, out);
	assert_true(out[0] == out[1] && out[0] > 10 && out[0] < 40);
}

#else

static void this_build_has_no_libsvm(void **state)
{
	(void)state;
	assert_null(tw_trainer_find("SVRRegressorTrainer"));
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(six_neighbours_are_averaged),
		cmocka_unit_test(a_large_table_is_thinned),
#if TW_LIBSVM
		cmocka_unit_test(a_smooth_curve_stays_in_the_tube),
		cmocka_unit_test(far_away_there_is_the_constant),
#else
		cmocka_unit_test(this_build_has_no_libsvm),
#endif
	};

	return cmocka_run_group_tests_name("fit_points", tests, NULL, NULL);
}
