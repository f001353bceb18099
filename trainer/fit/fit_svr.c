/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/writer.h"
#include "trainer/fit/scaled_rows.h"
#include "trainer/fit/trainer.h"

#include <libsvm/svm.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

/*
 * Support vector regression with a radial kernel, by libsvm (A. J. Smola,
 * B. Schoelkopf, A tutorial on support vector regression, Statistics and Computing 14,
 * 2004; C.-C. Chang, C.-J. Lin, LIBSVM, 2011):
 *
 *	watts = m + d (b + sum_i a_i exp(-g |z - z_i|^2)),    |a_i| <= PENALTY
 *
 * with features divided by their largest magnitude, and power by its standard deviation d
 * around the mean m, so that PENALTY and TUBE suit any machine. g is one over the number
 *of features times the variance of the z, the default of scikit-learn.
 */
#define PENALTY 10.0
#define TUBE 0.02 /* relative to d: smaller errors are ignored */
/* Limit of rows, because the work grows with their square; of more, an even selection. */
#define ROWS_MAX 4096
#define CACHE_MB 64

struct svr {
	struct tw_scaled_rows d;
	double y_mean, y_scale;
	double gamma;
	struct svm_node *nodes; /* rows * (cols + 1) */
	struct svm_node **row;  /* rows */
	double *value;          /* rows: weight of a support vector, or NaN */
};

static void measure_power(struct svr *s)
{
	const double n = (double)s->d.rows;
	double largest = 0.0, sum = 0.0;

	for (size_t r = 0; r < s->d.rows; r++) {
		s->y_mean += s->d.y[r] / n;
		largest = fmax(largest, fabs(s->d.y[r]));
	}
	for (size_t r = 0; r < s->d.rows; r++)
		sum += (s->d.y[r] - s->y_mean) * (s->d.y[r] - s->y_mean) / n;
	s->y_scale = sqrt(sum);
	/* Constant power, up to rounding. */
	if (s->y_scale <= 1e-12 * largest)
		s->y_scale = 0.0;
}

static void measure_features(struct svr *s)
{
	const size_t count = s->d.rows * s->d.cols;
	double mean = 0.0, variance = 0.0;

	for (size_t i = 0; i < count; i++)
		mean += s->d.z[i] / (double)count;
	for (size_t i = 0; i < count; i++)
		variance += (s->d.z[i] - mean) * (s->d.z[i] - mean) / (double)count;
	s->gamma = variance > 1e-12 ? 1.0 / ((double)s->d.cols * variance) : 1.0;
}

static int make_nodes(struct svr *s, struct tw_err *err)
{
	const size_t width = s->d.cols + 1;

	s->nodes = calloc(s->d.rows, width * sizeof(*s->nodes));
	s->row = calloc(s->d.rows, sizeof(*s->row));
	s->value = calloc(s->d.rows, sizeof(*s->value));
	if (s->nodes == NULL || s->row == NULL || s->value == NULL)
		return tw_fail(err, TW_NOMEM, "libsvm: %zu x %zu samples", s->d.rows,
			       s->d.cols);
	for (size_t r = 0; r < s->d.rows; r++) {
		s->row[r] = s->nodes + r * width;
		for (size_t c = 0; c < s->d.cols; c++)
			s->row[r][c] = (struct svm_node){ (int)c + 1,
							  s->d.z[r * s->d.cols + c] };
		s->row[r][s->d.cols].index = -1;
		s->d.y[r] = (s->d.y[r] - s->y_mean) / s->y_scale;
		s->value[r] = NAN;
	}
	return 0;
}

static void discard_text(const char *text)
{
	(void)text;
}

static void silence(void)
{
	svm_set_print_string_function(discard_text);
}

/* libsvm prints progress to stdout by default. The setting is global: set it once. */
static pthread_once_t silenced = PTHREAD_ONCE_INIT;

static int train(struct svr *s, double *bias, struct tw_err *err)
{
	const struct svm_problem problem = { (int)s->d.rows, s->d.y, s->row };
	const struct svm_parameter how = { .svm_type = EPSILON_SVR,
					   .kernel_type = RBF,
					   .gamma = s->gamma,
					   .cache_size = CACHE_MB,
					   .eps = 1e-3,
					   .C = PENALTY,
					   .p = TUBE,
					   .shrinking = 1 };
	const char *wrong = svm_check_parameter(&problem, &how);
	struct svm_model *model;

	if (wrong != NULL)
		return tw_fail(err, TW_INVALID, "libsvm: %s", wrong);
	pthread_once(&silenced, silence);
	model = svm_train(&problem, &how);
	for (int i = 0; i < model->l; i++)
		s->value[model->sv_indices[i] - 1] = model->sv_coef[0][i] * s->y_scale;
	*bias = s->y_mean - model->rho[0] * s->y_scale;
	svm_free_and_destroy_model(&model);
	return 0;
}

static int write_text(const struct svr *s, double bias, struct tw_buf *text,
		      struct tw_err *err)
{
	if (!isfinite(bias))
		return tw_fail(err, TW_INVALID, "the constant is not finite");
	for (size_t r = 0; r < s->d.rows; r++)
		if (isinf(s->value[r]))
			return tw_fail(err, TW_INVALID, "a weight is not finite");
	tw_buf_adds(text, "{\"svr\":{");
	tw_json_add_number(text, "bias", bias);
	tw_json_add_number(text, "gamma", s->gamma);
	tw_scaled_rows_text(&s->d, s->value, text);
	tw_buf_adds(text, "}}");
	if (tw_buf_failed(text))
		return tw_fail(err, TW_NOMEM, "model of %zu rows", s->d.rows);
	return 0;
}

static int fit_svr(const struct tw_samples *s, uint64_t seed, struct tw_buf *text,
		   struct tw_err *err)
{
	struct svr svr = { 0 };
	double bias;
	int rc = -1;

	(void)seed;
	if (tw_samples_check(s, tw_trainer_svr.min_rows, err) < 0 ||
	    tw_scaled_rows_init(&svr.d, s, ROWS_MAX, err) < 0)
		goto out;
	measure_power(&svr);
	measure_features(&svr);
	bias = svr.y_mean;
	if (make_nodes(&svr, err) < 0)
		goto out;
	/* Constant power has no support vectors. */
	if (svr.y_scale > 0.0 && train(&svr, &bias, err) < 0)
		goto out;
	if (write_text(&svr, bias, text, err) < 0)
		goto out;

	rc = 0;
out:
	free(svr.value);
	free(svr.row);
	free(svr.nodes);
	tw_scaled_rows_release(&svr.d);
	return rc;
}

const struct tw_trainer tw_trainer_svr = {
	.name = "SVRRegressorTrainer",
	.summary = "support vectors with a radial kernel (libsvm)",
	.predictor = "svr",
	.min_rows = 2,
	.cost_ns = 23000,
	.fit = fit_svr,
};
