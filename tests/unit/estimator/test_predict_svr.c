/* SPDX-License-Identifier: Apache-2.0 */
/* What the trainer's library predicts, beside what the predictor makes of its model. */
#include "tests/unit/tw_test.h"

#if TW_LIBSVM
#include "estimator/predict/predictor.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/json/writer.h"

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

static void write_vectors(const struct svm_model *m, const double *scale,
			  struct tw_buf *text)
{
	tw_json_add_numbers(text, "scale", scale, COLS);
	tw_json_add_array(text, "points");
	for (int i = 0; i < m->l; i++) {
		const double z[COLS] = { m->SV[i][0].value, m->SV[i][1].value };

		tw_json_add_numbers(text, NULL, z, COLS);
	}
	tw_json_end_array(text);
	tw_json_add_numbers(text, "values", m->sv_coef[0], (size_t)m->l);
}

static void predictions_equal_those_of_libsvm_to_a_billionth(void **state)
{
	static double x[ROWS * COLS], y[ROWS], watts[ROWS];
	static struct svm_node nodes[ROWS][COLS + 1], *rows[ROWS];
	double scale[COLS] = { 0 };
	const struct svm_problem problem = { ROWS, y, rows };
	const struct svm_parameter how = { .svm_type = EPSILON_SVR,
					   .kernel_type = RBF,
					   .gamma = GAMMA,
					   .cache_size = 1,
					   .eps = 1e-3,
					   .C = 10,
					   .p = 0.1,
					   .shrinking = 1 };
	struct tw_strs features = { 0 };
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 };
	struct svm_model *model;
	void *predictor = NULL;

	(void)state;
	make_rows(x, y);
	for (size_t i = 0; i < ROWS * COLS; i++)
		scale[i % COLS] = fmax(scale[i % COLS], x[i]);
	for (size_t r = 0; r < ROWS; r++) {
		rows[r] = nodes[r];
		for (size_t c = 0; c < COLS; c++)
			nodes[r][c] = (struct svm_node){ (int)c + 1,
							 x[r * COLS + c] / scale[c] };
		nodes[r][COLS].index = -1;
	}
	svm_set_print_string_function(say_nothing);
	model = svm_train(&problem, &how);
	tw_buf_adds(&text, "{\"svr\":{\"bias\":");
	tw_buf_addf(&text, "%.17g,\"gamma\":%.17g,", -model->rho[0], GAMMA);
	write_vectors(model, scale, &text);
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
