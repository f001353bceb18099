/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/design.h"

#include "lib/core/err.h"
#include "trainer/fit/trainer.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>

static void measure_scales(struct tw_design *d, const struct tw_samples *s)
{
	for (size_t c = 0; c < s->cols; c++) {
		double largest = 0.0;

		for (size_t r = 0; r < s->rows; r++)
			largest = fmax(largest, fabs(s->x[r * s->cols + c]));
		d->scale[c] = largest > 0.0 ? largest : 1.0;
	}
}

static void measure_means(struct tw_design *d, const struct tw_samples *s)
{
	const double n = (double)d->rows;

	for (size_t c = 0; c < s->cols; c++) {
		double sum = 0.0;

		for (size_t r = 0; r < s->rows; r++)
			sum += s->x[r * s->cols + c] / d->scale[c];
		d->mean[c] = sum / n;
	}
	for (size_t r = 0; r < s->rows; r++)
		d->y_mean += s->y[r] / n;
}

/* x has `height` rows; rows beyond the samples' stay 0. */
static void centre(const struct tw_design *d, const struct tw_samples *s, double *x,
		   double *y)
{
	for (size_t r = 0; r < s->rows; r++) {
		for (size_t c = 0; c < s->cols; c++)
			x[r * s->cols + c] =
				s->x[r * s->cols + c] / d->scale[c] - d->mean[c];
		y[r] = s->y[r] - d->y_mean;
	}
}

static int reduce(struct tw_design *d, double *x, double *y, size_t height,
		  double *tau_room, struct tw_err *err)
{
	gsl_matrix_view qr = gsl_matrix_view_array(x, height, d->cols);
	gsl_vector_view tau = gsl_vector_view_array(tau_room, d->cols);
	gsl_vector_view v = gsl_vector_view_array(y, height);
	int status;

	status = gsl_linalg_QR_decomp(&qr.matrix, &tau.vector);
	if (status == GSL_SUCCESS)
		status = gsl_linalg_QR_QTvec(&qr.matrix, &tau.vector, &v.vector);
	if (status != GSL_SUCCESS)
		return tw_fail(err, TW_INVALID, "QR decomposition: %s",
			       gsl_strerror(status));

	for (size_t i = 0; i < d->cols; i++) {
		for (size_t j = i; j < d->cols; j++)
			d->r[i * d->cols + j] = x[i * d->cols + j];
		d->c[i] = y[i];
	}
	for (size_t i = d->cols; i < height; i++)
		d->rest += y[i] * y[i];
	return 0;
}

int tw_design_init(struct tw_design *d, const struct tw_samples *s, struct tw_err *err)
{
	const size_t height = s->rows > s->cols ? s->rows : s->cols;
	double *x = NULL, *y = NULL, *tau = NULL;
	int rc = -1;

	d->rows = s->rows;
	d->cols = s->cols;
	d->scale = calloc(s->cols, sizeof(*d->scale));
	d->mean = calloc(s->cols, sizeof(*d->mean));
	d->r = calloc(s->cols * s->cols, sizeof(*d->r));
	d->c = calloc(s->cols, sizeof(*d->c));
	x = calloc(height * s->cols, sizeof(*x));
	y = calloc(height, sizeof(*y));
	tau = calloc(s->cols, sizeof(*tau));
	if (d->scale == NULL || d->mean == NULL || d->r == NULL || d->c == NULL ||
	    x == NULL || y == NULL || tau == NULL) {
		tw_fail(err, TW_NOMEM, "linear fit of %zu x %zu", s->rows, s->cols);
		goto out;
	}

	measure_scales(d, s);
	if (!s->from_zero)
		measure_means(d, s);
	d->freedom = (double)d->rows - !s->from_zero;
	centre(d, s, x, y);
	if (reduce(d, x, y, height, tau, err) < 0)
		goto out;

	rc = 0;
out:
	free(x);
	free(y);
	free(tau);
	return rc;
}

double tw_design_bias(const struct tw_design *d, const double *weight)
{
	double bias = d->y_mean;

	for (size_t c = 0; c < d->cols; c++)
		bias -= weight[c] * d->mean[c];
	return bias;
}

void tw_design_release(struct tw_design *d)
{
	free(d->scale);
	free(d->mean);
	free(d->r);
	free(d->c);
	*d = (struct tw_design){ 0 };
}
