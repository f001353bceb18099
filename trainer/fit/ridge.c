/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/ridge.h"

#include "lib/core/err.h"
#include "trainer/fit/design.h"
#include "trainer/fit/nnls.h"

#include <float.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Ridge regression. The design has no constant.
 *
 *	minimise  || c - A v ||^2 + lambda^2 || v ||^2,   A = R D,  w = D v
 *
 * where D scales each centred column of R to length 1. With the singular value
 * decomposition A = U diag(s) V' and z = U'c,
 *
 *	v = V diag(s / (s^2 + lambda^2)) z
 *
 * lambda minimises the score of generalised cross validation (G. H. Golub, M. Heath,
 * G. Wahba, Technometrics 21(2), 1979):
 *
 *	G(lambda) = (rest + sum (f_i z_i)^2) / (m - sum (1 - f_i))^2,
 *	f_i = lambda^2 / (s_i^2 + lambda^2)
 *
 * with m degrees of freedom: rows, less one for the constant. The search is on a grid of
 * twenty values a decade, from 1e-6 to 100 times the largest singular value.
 */
struct ridge {
	size_t n;
	double *length; /* of the columns of R; 0 if a column is constant */
	double *u, *v, *sigma, *z, *w;
};

#define GRID_STEPS 160
#define GRID_DECADES 8.0
#define GRID_FIRST (-6.0)

static int ridge_init(struct ridge *s, const struct tw_design *d, struct tw_err *err)
{
	const size_t n = d->cols;

	s->n = n;
	s->length = calloc(4 * n + 2 * n * n, sizeof(*s->length));
	if (s->length == NULL)
		return tw_fail(err, TW_NOMEM, "ridge regression of %zu columns", n);
	s->sigma = s->length + n;
	s->z = s->sigma + n;
	s->w = s->z + n;
	s->u = s->w + n;
	s->v = s->u + n * n;

	for (size_t j = 0; j < n; j++) {
		double sum = 0.0;

		for (size_t i = 0; i <= j; i++)
			sum += d->r[i * n + j] * d->r[i * n + j];
		s->length[j] = sqrt(sum);
		/* A centred constant column has rounding errors only. */
		if (s->length[j] <= (double)d->rows * DBL_EPSILON)
			s->length[j] = 0.0;
		for (size_t i = 0; i <= j && s->length[j] > 0.0; i++)
			s->u[i * n + j] = d->r[i * n + j] / s->length[j];
	}
	return 0;
}

static int decompose(struct ridge *s, const struct tw_design *d, struct tw_err *err)
{
	gsl_matrix_view u = gsl_matrix_view_array(s->u, s->n, s->n);
	gsl_matrix_view v = gsl_matrix_view_array(s->v, s->n, s->n);
	gsl_vector_view sigma = gsl_vector_view_array(s->sigma, s->n);
	gsl_vector_view work = gsl_vector_view_array(s->w, s->n);
	int status =
		gsl_linalg_SV_decomp(&u.matrix, &v.matrix, &sigma.vector, &work.vector);

	if (status != GSL_SUCCESS)
		return tw_fail(err, TW_INVALID, "ridge regression: %s",
			       gsl_strerror(status));
	for (size_t j = 0; j < s->n; j++)
		for (size_t i = 0; i < s->n; i++)
			s->z[j] += s->u[i * s->n + j] * d->c[i];
	return 0;
}

/* G(lambda), or infinity without degrees of freedom. */
static double cross_validation(const struct ridge *s, const struct tw_design *d,
			       double lambda)
{
	double rest = d->rest, freedom = d->freedom;

	for (size_t i = 0; i < s->n; i++) {
		const double square = s->sigma[i] * s->sigma[i];
		const double f = lambda * lambda / (square + lambda * lambda);

		rest += f * s->z[i] * f * s->z[i];
		freedom -= 1.0 - f;
	}
	return freedom > 0.0 ? rest / (freedom * freedom) : HUGE_VAL;
}

static double choose_lambda(const struct ridge *s, const struct tw_design *d)
{
	double best = 0.0, lowest = HUGE_VAL;

	for (int i = 0; i <= GRID_STEPS; i++) {
		const double power = GRID_FIRST + GRID_DECADES * i / GRID_STEPS;
		const double lambda = s->sigma[0] * pow(10.0, power);
		const double g = cross_validation(s, d, lambda);

		if (g < lowest || i == 0) {
			lowest = g;
			best = lambda;
		}
	}
	return best;
}

static void solve(struct ridge *s, double lambda)
{
	for (size_t j = 0; j < s->n; j++) {
		double v = 0.0;

		for (size_t i = 0; i < s->n; i++)
			v += s->v[j * s->n + i] * s->z[i] * s->sigma[i] /
			     (s->sigma[i] * s->sigma[i] + lambda * lambda);
		s->w[j] = s->length[j] > 0.0 ? v / s->length[j] : 0.0;
	}
}

/* Decompose and choose lambda; 0 if all columns are constant. */
static int prepare(struct ridge *s, const struct tw_design *d, double *lambda,
		   struct tw_err *err)
{
	if (ridge_init(s, d, err) < 0 || decompose(s, d, err) < 0)
		return -1;
	*lambda = s->sigma[0] > 0.0 ? choose_lambda(s, d) : 0.0;
	return 0;
}

int tw_ridge_solve(const struct tw_design *d, double *weight, struct tw_err *err)
{
	struct ridge ridge = { 0 };
	double lambda;
	int rc = -1;

	if (prepare(&ridge, d, &lambda, err) < 0)
		goto out;
	memset(weight, 0, d->cols * sizeof(*weight));
	if (lambda > 0.0) {
		solve(&ridge, lambda);
		memcpy(weight, ridge.w, ridge.n * sizeof(*weight));
	}

	rc = 0;
out:
	free(ridge.length);
	return rc;
}

/*
 * Write the penalty as further rows of a least squares problem, reduced to n rows:
 *
 *	|| c - A v ||^2 + lambda^2 || v ||^2  =  || (c, 0) - (A, lambda I) v ||^2
 *
 * x: 2n x n, y: 2n, tau: n.
 */
static int augment(const struct ridge *s, const struct tw_design *d, double lambda,
		   double *x, double *y, double *tau_room, struct tw_err *err)
{
	const size_t n = s->n;
	gsl_matrix_view qr = gsl_matrix_view_array(x, 2 * n, n);
	gsl_vector_view v = gsl_vector_view_array(y, 2 * n);
	gsl_vector_view tau = gsl_vector_view_array(tau_room, n);
	int status;

	for (size_t j = 0; j < n; j++) {
		for (size_t i = 0; i <= j && s->length[j] > 0.0; i++)
			x[i * n + j] = d->r[i * n + j] / s->length[j];
		x[(n + j) * n + j] = lambda;
		y[j] = d->c[j];
	}
	status = gsl_linalg_QR_decomp(&qr.matrix, &tau.vector);
	if (status == GSL_SUCCESS)
		status = gsl_linalg_QR_QTvec(&qr.matrix, &tau.vector, &v.vector);
	if (status != GSL_SUCCESS)
		return tw_fail(err, TW_INVALID, "ridge regression: %s",
			       gsl_strerror(status));
	/* Clear the Householder vectors below the diagonal. */
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			x[i * n + j] = 0.0;
	return 0;
}

int tw_ridge_solve_non_negative(const struct tw_design *d, double *weight,
				struct tw_err *err)
{
	struct ridge ridge = { 0 };
	const size_t n = d->cols;
	double *x = calloc(2 * n * n + 3 * n, sizeof(*x));
	double lambda;
	int rc = -1;

	if (x == NULL) {
		tw_fail(err, TW_NOMEM, "ridge regression of %zu columns", n);
		goto out;
	}
	if (prepare(&ridge, d, &lambda, err) < 0)
		goto out;
	memset(weight, 0, n * sizeof(*weight));
	if (lambda > 0.0) {
		double *y = x + 2 * n * n;

		if (augment(&ridge, d, lambda, x, y, y + 2 * n, err) < 0 ||
		    tw_nnls(n, x, y, weight, err) < 0)
			goto out;
	}
	for (size_t j = 0; j < n; j++)
		weight[j] = ridge.length[j] > 0.0 ? weight[j] / ridge.length[j] : 0.0;

	rc = 0;
out:
	free(ridge.length);
	free(x);
	return rc;
}
