/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trainers whose models consist of training rows with scaled features: nearest neighbours
 * and support vectors (docs/model-format.md).
 */
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/writer.h"
#include "trainer/fit/trainer.h"

#if TW_LIBSVM
#include <libsvm/svm.h>
#include <pthread.h>
#endif
#include <math.h>
#include <stdlib.h>

struct scaled_rows {
	size_t rows, cols;
	double *scale; /* cols: largest magnitude; 1 if all are 0 */
	double *z;     /* rows * cols: x / scale */
	double *y;     /* rows: power, W */
};

/*
 * Scale the rows of s; of more than rows_max rows, an even selection. s has passed
 * tw_samples_check(). *out must be all zero; it is yours, on failure too:
 * release_rows().
 */
static int scale_rows(struct scaled_rows *out, const struct tw_samples *s,
		      size_t rows_max, struct tw_err *err)
{
	out->rows = s->rows < rows_max ? s->rows : rows_max;
	out->cols = s->cols;
	if (TW_NEW(out->scale, s->cols, err) < 0 ||
	    tw_new(&out->z, out->rows, s->cols * sizeof(*out->z), err) < 0 ||
	    TW_NEW(out->y, out->rows, err) < 0)
		return -1;

	/* The inverse of a smaller scale is not finite. */
	for (size_t c = 0; c < s->cols; c++)
		out->scale[c] = tw_samples_scale(s, c, 1e-300);
	for (size_t r = 0; r < out->rows; r++) {
		const size_t from = r * s->rows / out->rows;

		for (size_t c = 0; c < s->cols; c++)
			out->z[r * s->cols + c] =
				s->x[from * s->cols + c] / out->scale[c];
		out->y[r] = s->y[from];
	}
	return 0;
}

static void release_rows(struct scaled_rows *d)
{
	free(d->scale);
	free(d->z);
	free(d->y);
	*d = (struct scaled_rows){ 0 };
}

/*
 * Append the members "scale", "points" and "values". value has a number for each row;
 * rows with NaN are left out.
 */
static void write_rows(const struct scaled_rows *d, const double *value,
		       struct tw_buf *text)
{
	tw_json_add_numbers(text, "scale", d->scale, d->cols);
	tw_json_add_array(text, "points");
	for (size_t r = 0; r < d->rows; r++)
		if (!isnan(value[r]))
			tw_json_add_numbers(text, NULL, d->z + r * d->cols, d->cols);
	tw_json_end_array(text);
	tw_json_add_array(text, "values");
	for (size_t r = 0; r < d->rows; r++)
		if (!isnan(value[r]))
			tw_json_add_number(text, NULL, value[r]);
	tw_json_end_array(text);
}

/* ---- nearest neighbours ---- */

/*
 * The mean power of the six nearest training rows, by Euclidean distance of the features,
 * each divided by its largest magnitude (E. Fix, J. L. Hodges, Discriminatory Analysis:
 * Nonparametric Discrimination, 1951). The model consists of the rows.
 */
#define NEIGHBOURS 6
/* Limit of rows in a model; of more rows, an even selection. */
#define KNN_ROWS_MAX 8192

static int fit_knn(const struct tw_trainer *self, const struct tw_samples *s,
		   uint64_t seed, struct tw_buf *text, struct tw_err *err)
{
	struct scaled_rows d = { 0 };
	int rc = -1;

	(void)self;
	(void)seed;
	if (tw_samples_check(s, tw_trainer_knn.min_rows, err) < 0 ||
	    scale_rows(&d, s, KNN_ROWS_MAX, err) < 0)
		goto out;
	tw_buf_addf(text, "{\"knn\":{\"neighbors\":%zu",
		    d.rows < NEIGHBOURS ? d.rows : NEIGHBOURS);
	write_rows(&d, d.y, text);
	tw_buf_adds(text, "}}");
	if (tw_buf_check(text, err) < 0)
		goto out;

	rc = 0;
out:
	release_rows(&d);
	return rc;
}

const struct tw_trainer tw_trainer_knn = {
	.name = "KNeighborsRegressorTrainer",
	.summary = "the mean of the six nearest training rows",
	.predictor = "knn",
	.min_rows = 2,
	.cost_ns = 4500,
	.fit = fit_knn,
};

#if TW_LIBSVM
/* ---- support vectors ---- */

/*
 * Support vector regression with a radial kernel, by libsvm (A. J. Smola,
 * B. Schoelkopf, A tutorial on support vector regression, Statistics and Computing 14,
 * 2004; C.-C. Chang, C.-J. Lin, LIBSVM, 2011):
 *
 *	watts = m + d (b + sum_i a_i exp(-g |z - z_i|^2)),    |a_i| <= PENALTY
 *
 * with features divided by their largest magnitude, and power by its standard deviation d
 * around the mean m, so that PENALTY and TUBE suit any machine. g is one over the number
 * of features times the variance of the z, the default of scikit-learn.
 */
#define PENALTY 10.0
#define TUBE 0.02 /* relative to d: smaller errors are ignored */
/* Limit of rows, because the work grows with their square; of more, an even selection. */
#define SVR_ROWS_MAX 4096
#define CACHE_MB 64

struct svr {
	struct scaled_rows d;
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

	if (tw_new(&s->nodes, s->d.rows, width * sizeof(*s->nodes), err) < 0 ||
	    TW_NEW(s->row, s->d.rows, err) < 0 || TW_NEW(s->value, s->d.rows, err) < 0)
		return -1;
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
	write_rows(&s->d, s->value, text);
	tw_buf_adds(text, "}}");
	return tw_buf_check(text, err);
}

static int fit_svr(const struct tw_trainer *self, const struct tw_samples *s,
		   uint64_t seed, struct tw_buf *text, struct tw_err *err)
{
	struct svr svr = { 0 };
	double bias;
	int rc = -1;

	(void)self;
	(void)seed;
	if (tw_samples_check(s, tw_trainer_svr.min_rows, err) < 0 ||
	    scale_rows(&svr.d, s, SVR_ROWS_MAX, err) < 0)
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
	release_rows(&svr.d);
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
#endif
