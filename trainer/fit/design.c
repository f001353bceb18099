/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/design.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "trainer/fit/trainer.h"

#include <float.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

/* Decompose x, rows x cols, in place into Q R, and replace y by Q'y. */
static int decompose_qr(double *x, double *y, size_t rows, size_t cols, double *tau_room,
			struct tw_err *err)
{
	gsl_matrix_view qr = gsl_matrix_view_array(x, rows, cols);
	gsl_vector_view tau = gsl_vector_view_array(tau_room, cols);
	gsl_vector_view v = gsl_vector_view_array(y, rows);
	int status;

	status = gsl_linalg_QR_decomp(&qr.matrix, &tau.vector);
	if (status == GSL_SUCCESS)
		status = gsl_linalg_QR_QTvec(&qr.matrix, &tau.vector, &v.vector);
	if (status != GSL_SUCCESS)
		return tw_fail(err, TW_INVALID, "QR decomposition: %s",
			       gsl_strerror(status));
	return 0;
}

static int reduce(struct tw_design *d, double *x, double *y, size_t height, double *tau,
		  struct tw_err *err)
{
	if (decompose_qr(x, y, height, d->cols, tau, err) < 0)
		return -1;
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
	if (TW_NEW(d->scale, s->cols, err) < 0 || TW_NEW(d->mean, s->cols, err) < 0 ||
	    TW_NEW(d->r, s->cols * s->cols, err) < 0 || TW_NEW(d->c, s->cols, err) < 0 ||
	    TW_NEW(x, height * s->cols, err) < 0 || TW_NEW(y, height, err) < 0 ||
	    TW_NEW(tau, s->cols, err) < 0)
		goto out;

	for (size_t c = 0; c < s->cols; c++)
		d->scale[c] = tw_samples_scale(s, c, 0.0);
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

/* ---- non-negative least squares ---- */

/*
 * The active-set method NNLS: C. L. Lawson, R. J. Hanson, Solving Least Squares
 * Problems, 1974, chapter 23. Singular value decomposition solves the unconstrained
 * subproblems, so that collinear columns share a weight.
 */
struct nnls {
	size_t n;
	const double *r, *c;
	double *w; /* the solution so far */
	double *z; /* solution of the unconstrained problem on the free columns */
	double *gradient;
	bool *freed;  /* the column is in the book's set P */
	bool *barred; /* the column got no positive weight at this point */
	double *u, *v, *sigma, *work, *part; /* work space of the decomposition */
	double tolerance;
};

static int nnls_init(struct nnls *s, size_t n, const double *r, const double *c,
		     struct tw_err *err)
{
	double norm_r = 0.0, norm_c = 0.0;

	s->n = n;
	s->r = r;
	s->c = c;
	if (TW_NEW(s->w, 7 * n + 2 * n * n, err) < 0 || TW_NEW(s->freed, 2 * n, err) < 0)
		return -1;
	s->z = s->w + n;
	s->gradient = s->z + n;
	s->sigma = s->gradient + n;
	s->work = s->sigma + n;
	s->part = s->work + n;
	s->v = s->part + 2 * n;
	s->u = s->v + n * n;
	s->barred = s->freed + n;

	for (size_t i = 0; i < n * n; i++)
		norm_r += r[i] * r[i];
	for (size_t i = 0; i < n; i++)
		norm_c += c[i] * c[i];
	s->tolerance = 1e-12 * sqrt(norm_r) * sqrt(norm_c);
	return 0;
}

/* z := the minimum-norm solution on the free columns; 0 elsewhere. */
static int solve_free(struct nnls *s, struct tw_err *err)
{
	gsl_matrix_view u, v;
	gsl_vector_view sigma, work, x;
	gsl_vector_const_view c = gsl_vector_const_view_array(s->c, s->n);
	size_t k = 0, place = 0;
	int status;

	for (size_t j = 0; j < s->n; j++)
		k += s->freed[j];
	for (size_t j = 0; j < s->n; j++) {
		if (!s->freed[j])
			continue;
		for (size_t i = 0; i < s->n; i++)
			s->u[i * k + place] = s->r[i * s->n + j];
		place++;
	}
	for (size_t j = 0; j < s->n; j++)
		s->z[j] = 0.0;
	if (k == 0)
		return 0;

	u = gsl_matrix_view_array(s->u, s->n, k);
	v = gsl_matrix_view_array(s->v, k, k);
	sigma = gsl_vector_view_array(s->sigma, k);
	work = gsl_vector_view_array(s->work, k);
	x = gsl_vector_view_array(s->part, k);
	status = gsl_linalg_SV_decomp(&u.matrix, &v.matrix, &sigma.vector, &work.vector);
	for (size_t i = 0; i < k; i++)
		if (s->sigma[i] <= (double)s->n * DBL_EPSILON * s->sigma[0])
			s->sigma[i] = 0.0;
	if (status == GSL_SUCCESS)
		status = gsl_linalg_SV_solve(&u.matrix, &v.matrix, &sigma.vector,
					     &c.vector, &x.vector);
	if (status != GSL_SUCCESS)
		return tw_fail(err, TW_INVALID, "least squares: %s",
			       gsl_strerror(status));

	place = 0;
	for (size_t j = 0; j < s->n; j++)
		if (s->freed[j])
			s->z[j] = s->part[place++];
	return 0;
}

/* The column with the steepest descent of the error; n if the error cannot descend. */
static size_t choose_column(struct nnls *s)
{
	size_t best = s->n;

	for (size_t j = 0; j < s->n; j++)
		s->gradient[j] = 0.0;
	for (size_t i = 0; i < s->n; i++) {
		double rest = s->c[i];

		for (size_t j = i; j < s->n; j++)
			rest -= s->r[i * s->n + j] * s->w[j];
		for (size_t j = i; j < s->n; j++)
			s->gradient[j] += s->r[i * s->n + j] * rest;
	}
	for (size_t j = 0; j < s->n; j++) {
		if (s->freed[j] || s->barred[j] || s->gradient[j] <= s->tolerance)
			continue;
		if (best == s->n || s->gradient[j] > s->gradient[best])
			best = j;
	}
	return best;
}

/*
 * Move from w towards z until a weight becomes 0, and fix that weight. True if w reaches
 * z.
 */
static bool step(struct nnls *s)
{
	double alpha = 1.0;
	size_t first = s->n;

	for (size_t j = 0; j < s->n; j++) {
		if (!s->freed[j] || s->z[j] > 0.0)
			continue;
		if (first == s->n || s->w[j] / (s->w[j] - s->z[j]) < alpha) {
			alpha = s->w[j] > 0.0 ? s->w[j] / (s->w[j] - s->z[j]) : 0.0;
			first = j;
		}
	}
	for (size_t j = 0; j < s->n; j++) {
		if (!s->freed[j])
			continue;
		s->w[j] += alpha * (s->z[j] - s->w[j]);
		if (j == first || (first < s->n && s->w[j] <= 0.0)) {
			s->w[j] = 0.0;
			s->freed[j] = false;
		}
	}
	return first == s->n;
}

static int descend(struct nnls *s, struct tw_err *err)
{
	/*
	 * The method terminates in theory; with rounding it may cycle, so limit the
	 * turns.
	 */
	for (size_t turn = 0; turn < 30 * (s->n + 1); turn++) {
		const size_t j = choose_column(s);

		if (j == s->n)
			return 0;
		s->freed[j] = true;
		if (solve_free(s, err) < 0)
			return -1;
		if (s->z[j] <= 0.0) {
			s->freed[j] = false;
			s->barred[j] = true;
			continue;
		}
		for (size_t i = 0; i < s->n; i++)
			s->barred[i] = false;
		while (!step(s))
			if (solve_free(s, err) < 0)
				return -1;
	}
	return tw_fail(err, TW_INVALID, "least squares did not converge");
}

/*
 * Minimise || c - R w ||^2 with w >= 0. r: n x n, row major, upper triangular. c: n. w:
 * n, the result.
 */
static int solve_nnls(size_t n, const double *r, const double *c, double *w,
		      struct tw_err *err)
{
	struct nnls s = { 0 };
	int rc = -1;

	if (nnls_init(&s, n, r, c, err) < 0 || descend(&s, err) < 0)
		goto out;
	memcpy(w, s.w, n * sizeof(*w));

	rc = 0;
out:
	free(s.w);
	free(s.freed);
	return rc;
}

int tw_design_solve_non_negative(const struct tw_design *d, double *weight,
				 struct tw_err *err)
{
	return solve_nnls(d->cols, d->r, d->c, weight, err);
}

/* ---- ridge regression ---- */

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
	if (TW_NEW(s->length, 4 * n + 2 * n * n, err) < 0)
		return -1;
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

int tw_design_solve_ridge(const struct tw_design *d, double *weight, struct tw_err *err)
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
		   double *x, double *y, double *tau, struct tw_err *err)
{
	const size_t n = s->n;

	for (size_t j = 0; j < n; j++) {
		for (size_t i = 0; i <= j && s->length[j] > 0.0; i++)
			x[i * n + j] = d->r[i * n + j] / s->length[j];
		x[(n + j) * n + j] = lambda;
		y[j] = d->c[j];
	}
	if (decompose_qr(x, y, 2 * n, n, tau, err) < 0)
		return -1;
	/* Clear the Householder vectors below the diagonal. */
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			x[i * n + j] = 0.0;
	return 0;
}

int tw_design_solve_ridge_non_negative(const struct tw_design *d, double *weight,
				       struct tw_err *err)
{
	struct ridge ridge = { 0 };
	const size_t n = d->cols;
	double *x = NULL;
	double lambda;
	int rc = -1;

	if (TW_NEW(x, 2 * n * n + 3 * n, err) < 0 || prepare(&ridge, d, &lambda, err) < 0)
		goto out;
	memset(weight, 0, n * sizeof(*weight));
	if (lambda > 0.0) {
		double *y = x + 2 * n * n;

		if (augment(&ridge, d, lambda, x, y, y + 2 * n, err) < 0 ||
		    solve_nnls(n, x, y, weight, err) < 0)
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
