/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/nnls.h"

#include "lib/core/err.h"

#include <float.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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
	s->w = calloc(7 * n + 2 * n * n, sizeof(*s->w));
	s->freed = calloc(2 * n, sizeof(*s->freed));
	if (s->w == NULL || s->freed == NULL)
		return tw_fail(err, TW_NOMEM, "least squares of %zu columns", n);
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

static void nnls_release(struct nnls *s)
{
	free(s->w);
	free(s->freed);
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

static int solve(struct nnls *s, struct tw_err *err)
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

int tw_nnls(size_t n, const double *r, const double *c, double *w, struct tw_err *err)
{
	struct nnls s = { 0 };
	int rc = -1;

	if (nnls_init(&s, n, r, c, err) < 0 || solve(&s, err) < 0)
		goto out;
	memcpy(w, s.w, n * sizeof(*w));

	rc = 0;
out:
	nnls_release(&s);
	return rc;
}
