/* SPDX-License-Identifier: Apache-2.0 */
/* What the trainer's library predicts, beside what the predictor makes of its model. */
#include "tests/unit/tw_test.h"

#if TW_LIBSVM
#include "estimator/predict/predictor.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "trainer/fit/scaled_rows.h"
#include "trainer/fit/trainer.h"

#include <libsvm/svm.h>
#include <math.h>
#include <stdlib.h>

#define ROWS 60
#define COLS 2
#define GAMMA 1.7

static void say_nothing(const char *text)
{
	(void)text;
}

/* 60 rows of two features and a curved power, the same in each run. */
static void make_rows(double *x, double *y)
{
	for (size_t r = 0; r < ROWS; r++) {
		x[r * COLS] = (double)(r * 37 % ROWS) * 1e7;
		x[r * COLS + 1] = (double)(r * 23 % ROWS);
		y[r] = 20 + 30 * sqrt(x[r * COLS] / 6e8) + x[r * COLS + 1] / 3;
	}
}

static void predictions_equal_those_of_libsvm_to_a_billionth(void **state)
{
	static double x[ROWS * COLS], y[ROWS], watts[ROWS];
	static struct svm_node nodes[ROWS][COLS + 1], *rows[ROWS];
	double value[ROWS];
	const struct svm_problem problem = { ROWS, y, rows };
	const struct svm_parameter how = { .svm_type = EPSILON_SVR,
					   .kernel_type = RBF,
					   .gamma = GAMMA,
					   .cache_size = 1,
					   .eps = 1e-3,
					   .C = 10,
					   .p = 0.1,
					   .shrinking = 1 };
	struct tw_scaled_rows d = { 0 };
	struct tw_samples samples = { .x = x, .y = y, .rows = ROWS, .cols = COLS };
	struct tw_strs features = { 0 };
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 };
	struct svm_model *model;
	void *predictor = NULL;

	(void)state;
	make_rows(x, y);
	assert_int_equal(tw_scaled_rows_init(&d, &samples, ROWS, &err), 0);
	for (size_t r = 0; r < ROWS; r++) {
		rows[r] = nodes[r];
		value[r] = NAN;
		for (size_t c = 0; c < COLS; c++)
			nodes[r][c] = (struct svm_node){ (int)c + 1, d.z[r * COLS + c] };
		nodes[r][COLS].index = -1;
	}
	svm_set_print_string_function(say_nothing);
	model = svm_train(&problem, &how);
	for (int i = 0; i < model->l; i++)
		value[model->sv_indices[i] - 1] = model->sv_coef[0][i];
	tw_buf_adds(&text, "{\"svr\":{\"bias\":");
	tw_buf_addf(&text, "%.17g,\"gamma\":%.17g,", -model->rho[0], GAMMA);
	tw_scaled_rows_text(&d, value, &text);
	tw_buf_adds(&text, "}}");
	assert_int_equal(tw_strs_split(&features, "a,b", &err), 0);
	if (tw_predictor_load(&tw_predictor_svr, text.data, text.len, &features,
			      &predictor, &err) < 0)
		fail_msg("%s", err.text);
	tw_predictor_svr.predict(
		predictor, &(struct tw_rows){ .x = x, .rows = ROWS, .stride = COLS },
		watts);
	assert_true(model->l > 5);
	for (size_t r = 0; r < ROWS; r++)
		assert_true(fabs(watts[r] - svm_predict(model, rows[r])) < 1e-9);
	tw_predictor_free(&tw_predictor_svr, predictor);
	svm_free_and_destroy_model(&model);
	tw_strs_clear(&features);
	tw_buf_clear(&text);
	tw_scaled_rows_release(&d);
}

#else

static void predictions_equal_those_of_libsvm_to_a_billionth(void **state)
{
	(void)state;
	skip();
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(predictions_equal_those_of_libsvm_to_a_billionth),
	};

	return cmocka_run_group_tests_name("predict_svr", tests, NULL, NULL);
}
