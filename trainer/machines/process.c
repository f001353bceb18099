/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/machines/process.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "model-db/prior/cholesky.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The variances are searched by Rprop on the gradient of the log posterior density
 * (M. Riedmiller, H. Braun, 1993): a fixed number of steps, no line search, the same
 * result for the same input. The density of the logarithms of standard deviations and
 * lengths is normal.
 */
#define STEPS 25
#define GROUP_ROWS_MAX 5
/* No power is known better than to 0.1 %. It keeps the weights small. */
#define NOISE_MIN 1e-6

/* Parameters: logs of standard deviations, and of lengths. */
enum parameter {
	LINEAR,
	SQUARE,
	RADIAL,
	NOISE,
	LENGTH,
	CATEGORY = LENGTH + TW_PRIOR_NUMBERS,
	PARAMETERS = CATEGORY + TW_PRIOR_CATEGORIES
};

/* ---- matrices: n x n, row major ---- */

/* Four sums that do not wait for each other. */
static double dot(const double *a, const double *b, size_t n)
{
	double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
	size_t k = 0;

	for (; k + 4 <= n; k += 4) {
		s0 += a[k] * b[k];
		s1 += a[k + 1] * b[k + 1];
		s2 += a[k + 2] * b[k + 2];
		s3 += a[k + 3] * b[k + 3];
	}
	for (; k < n; k++)
		s0 += a[k] * b[k];
	return s0 + s1 + s2 + s3;
}

/* inverse = (U' U)^-1, both triangles; u is destroyed. */
static void invert(double *u, size_t n, double *inverse)
{
	/* V = U^-1, upper, in the place of U: from the last row up. */
	for (size_t k = n; k-- > 0;) {
		double *row = u + k * n;
		double *to = inverse; /* a scratch row */

		memset(to, 0, n * sizeof(*to));
		for (size_t i = k + 1; i < n; i++) {
			const double f = row[i], *v = u + i * n;

			for (size_t j = i; j < n; j++)
				to[j] -= f * v[j];
		}
		for (size_t j = k + 1; j < n; j++)
			row[j] = to[j] / row[k];
		row[k] = 1 / row[k];
	}
	/* A^-1 = V V' */
	for (size_t i = 0; i < n; i++)
		for (size_t j = i; j < n; j++)
			inverse[i * n + j] = inverse[j * n + i] =
				dot(u + i * n + j, u + j * n + j, n - j);
}

/* The upper triangle of K + noise. */
static void fill(const struct tw_process_data *d, const struct tw_prior_kernel *k,
		 double *a)
{
	for (size_t i = 0; i < d->rows; i++) {
		for (size_t j = i; j < d->rows; j++)
			a[i * d->rows + j] =
				TW_PRIOR_SHARED + tw_prior_covariance(k, d->categories,
								      d->row[i], d->z[i],
								      d->row[j], d->z[j]);
		a[i * d->rows + i] += k->noise;
	}
}

/* ---- variances ---- */

static struct tw_prior_kernel kernel_of(const struct tw_process_data *d,
					const double *theta)
{
	struct tw_prior_kernel k = { .linear = exp(2 * theta[LINEAR]),
				     .square = exp(2 * theta[SQUARE]),
				     .noise = NOISE_MIN + exp(2 * theta[NOISE]) };

	if (d->radial)
		k.radial = exp(2 * theta[RADIAL]);
	for (size_t n = 0; n < TW_PRIOR_NUMBERS; n++)
		k.length[n] = exp(theta[LENGTH + n]);
	for (size_t c = 0; c < TW_PRIOR_CATEGORIES; c++)
		k.category[c] = exp(2 * theta[CATEGORY + c]);
	return k;
}

/* Mean and standard deviation of the normal density of each parameter. */
static void density(const struct tw_process_data *d, double *mean, double *sd)
{
	for (size_t p = 0; p < PARAMETERS; p++) {
		mean[p] = log(0.3 * d->spread);
		sd[p] = 1.5;
	}
	mean[SQUARE] = log(0.1 * d->spread);
	mean[RADIAL] = log(0.5 * d->spread);
	for (size_t n = 0; n < TW_PRIOR_NUMBERS; n++) {
		mean[LENGTH + n] = log(3);
		sd[LENGTH + n] = 0.8;
	}
}

/* Add w dk/dtheta of the pair i, j. */
static void add_gradient(const struct tw_process_data *d, const struct tw_prior_kernel *k,
			 size_t i, size_t j, double w, double *g)
{
	const double *a = d->z[i], *b = d->z[j];
	double linear = 0, square = 0, distance = 0, radial;

	for (size_t n = 0; n < TW_PRIOR_NUMBERS; n++) {
		const double t = (a[n] - b[n]) / k->length[n];

		linear += a[n] * b[n];
		square += (a[n] * a[n] - 1) * (b[n] * b[n] - 1);
		distance += t * t;
	}
	g[LINEAR] += 2 * w * k->linear * linear;
	g[SQUARE] += 2 * w * k->square * square;
	for (size_t c = 0; c < TW_PRIOR_CATEGORIES; c++)
		if ((d->categories >> c & 1) != 0)
			g[CATEGORY + c] += 2 * w * k->category[c] *
					   tw_prior_like(d->row[i], d->row[j],
							 (enum tw_prior_category)c);
	if (!d->radial)
		return;
	radial = w * k->radial * exp(-0.5 * distance);
	g[RADIAL] += 2 * radial;
	for (size_t n = 0; n < TW_PRIOR_NUMBERS; n++) {
		const double t = (a[n] - b[n]) / k->length[n];

		g[LENGTH + n] += radial * t * t;
	}
}

/* The negative log posterior density and its gradient. */
static double evaluate(const struct tw_process_data *d, const double *theta, double *a,
		       double *inverse, double *weight, double *g)
{
	const struct tw_prior_kernel k = kernel_of(d, theta);
	double mean[PARAMETERS], sd[PARAMETERS], f = 0;

	fill(d, &k, a);
	if (!tw_cholesky(a, d->rows))
		return INFINITY;
	tw_cholesky_solve(a, d->rows, d->y, weight);
	for (size_t i = 0; i < d->rows; i++)
		f += 0.5 * weight[i] * d->y[i] + log(a[i * d->rows + i]);
	invert(a, d->rows, inverse);
	memset(g, 0, PARAMETERS * sizeof(*g));
	for (size_t i = 0; i < d->rows; i++)
		for (size_t j = i; j < d->rows; j++) {
			const double w = inverse[i * d->rows + j] - weight[i] * weight[j];

			add_gradient(d, &k, i, j, i == j ? 0.5 * w : w, g);
			if (i == j)
				g[NOISE] += w * (k.noise - NOISE_MIN);
		}
	density(d, mean, sd);
	for (size_t p = 0; p < PARAMETERS; p++) {
		const double t = (theta[p] - mean[p]) / sd[p];

		f += 0.5 * t * t;
		g[p] += t / sd[p];
	}
	return f;
}

static void search(const struct tw_process_data *d, double *a, double *inverse,
		   double *weight, double *best)
{
	double theta[PARAMETERS] = { 0 }, step[PARAMETERS], last[PARAMETERS] = { 0 };
	double g[PARAMETERS] = { 0 }, least = INFINITY;

	density(d, theta, step);
	memcpy(best, theta, sizeof(theta));
	for (size_t p = 0; p < PARAMETERS; p++)
		step[p] = 0.2;
	for (int s = 0; s < STEPS; s++) {
		const double f = evaluate(d, theta, a, inverse, weight, g);

		if (f < least) {
			least = f;
			memcpy(best, theta, sizeof(theta));
		}
		for (size_t p = 0; p < PARAMETERS; p++) {
			const double turn = g[p] * last[p];

			if (turn > 0)
				step[p] = fmin(1.3 * step[p], 0.6);
			else if (turn < 0)
				step[p] *= 0.5;
			last[p] = turn < 0 ? 0 : g[p];
			if (last[p] != 0)
				theta[p] -= copysign(step[p], last[p]);
		}
	}
}

/* The first rows of each group. */
static size_t thin_out(const struct tw_process_data *d, const struct tw_prior_row **row,
		       double (*z)[TW_PRIOR_NUMBERS], double *y)
{
	size_t n = 0;

	for (size_t i = 0; i < d->rows; i++) {
		size_t same = 0;

		for (size_t j = 0; j < i; j++)
			same += d->group[j] == d->group[i];
		if (same >= GROUP_ROWS_MAX)
			continue;
		row[n] = d->row[i];
		memcpy(z[n], d->z[i], sizeof(z[n]));
		y[n++] = d->y[i];
	}
	return n;
}

int tw_process_learn(const struct tw_process_data *d, struct tw_prior_kernel *out,
		     struct tw_err *err)
{
	const struct tw_prior_row **row = NULL;
	double(*z)[TW_PRIOR_NUMBERS] = NULL;
	double *y = NULL, *a = NULL, *inverse = NULL, best[PARAMETERS];
	struct tw_process_data few = *d;
	int rc = -1;

	if (tw_new(&row, d->rows, sizeof(const void *), err) < 0 ||
	    TW_NEW(z, d->rows, err) < 0 || TW_NEW(y, 2 * d->rows, err) < 0 ||
	    TW_NEW(a, d->rows * d->rows, err) < 0 ||
	    TW_NEW(inverse, d->rows * d->rows, err) < 0)
		goto out;
	few.rows = thin_out(d, row, z, y);
	few.row = row;
	few.z = (const double(*)[TW_PRIOR_NUMBERS])z;
	few.y = y;
	search(&few, a, inverse, y + d->rows, best);
	*out = kernel_of(d, best);
	rc = 0;
out:
	free(row);
	free(z);
	free(y);
	free(a);
	free(inverse);
	return rc;
}

/* ---- predictions ---- */

static int fail_singular(struct tw_err *err)
{
	return tw_fail(err, TW_INVALID, "the covariance of the machines is singular");
}

/* The factor of K + noise: free(); NULL with *err set. */
static double *new_factor(const struct tw_process_data *d,
			  const struct tw_prior_kernel *k, struct tw_err *err)
{
	double *u;

	if (TW_NEW(u, d->rows * d->rows, err) < 0)
		return NULL;
	fill(d, k, u);
	if (tw_cholesky(u, d->rows))
		return u;
	fail_singular(err);
	free(u);
	return NULL;
}

int tw_process_solve(const struct tw_process_data *d, const struct tw_prior_kernel *k,
		     double *weight, double *constant, struct tw_err *err)
{
	double *u = new_factor(d, k, err);

	if (u == NULL)
		return -1;
	tw_cholesky_solve(u, d->rows, d->y, weight);
	*constant = 0;
	for (size_t i = 0; i < d->rows; i++)
		*constant += TW_PRIOR_SHARED * weight[i];
	free(u);
	return 0;
}

/*
 * With the rows b of a group, the prediction without them is
 *	y_b - ((K^-1)_bb)^-1 (K^-1 y)_b
 */
static int leave_group_out(const struct tw_process_data *d, const double *inverse,
			   const double *weight, size_t group, double *block,
			   double *held_out)
{
	double *y = block + d->rows * d->rows, *x = y + d->rows;
	size_t n = 0;

	for (size_t i = 0; i < d->rows; i++)
		n += d->group[i] == group;
	for (size_t i = 0, bi = 0; i < d->rows; i++) {
		if (d->group[i] != group)
			continue;
		for (size_t j = 0, bj = 0; j < d->rows; j++)
			if (d->group[j] == group)
				block[bi * n + bj++] = inverse[i * d->rows + j];
		y[bi++] = weight[i];
	}
	if (!tw_cholesky(block, n))
		return -1;
	tw_cholesky_solve(block, n, y, x);
	for (size_t i = 0, bi = 0; i < d->rows; i++)
		if (d->group[i] == group)
			held_out[i] = d->y[i] - x[bi++];
	return 0;
}

/* w = (K_n)^-1 y of the first n of all rows, from half = U'^-1 y. */
static void weights_of_first(const double *u, size_t rows, const double *half, size_t n,
			     double *w)
{
	for (size_t k = n; k-- > 0;)
		w[k] = (half[k] - dot(u + k * rows + k + 1, w + k + 1, n - k - 1)) /
		       u[k * rows + k];
}

static double predict(const struct tw_process_data *d, const struct tw_prior_kernel *k,
		      const double *weight, const struct tw_process_stranger *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->from; i++)
		sum += weight[i] *
		       (TW_PRIOR_SHARED + tw_prior_covariance(k, d->categories, &s->as,
							      s->z, d->row[i], d->z[i]));
	return sum;
}

/* The factor of the first rows is the corner of the factor of all. */
int tw_process_predict_forward(const struct tw_process_data *d,
			       const struct tw_prior_kernel *k,
			       const struct tw_process_stranger *s, size_t count,
			       double *held_out, struct tw_err *err)
{
	double *u = new_factor(d, k, err);
	double *half = NULL, *w;

	if (u == NULL || TW_NEW(half, 2 * d->rows, err) < 0) {
		free(u);
		return -1;
	}
	w = half + d->rows;
	tw_cholesky_half(u, d->rows, d->y, half);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || s[i].from != s[i - 1].from)
			weights_of_first(u, d->rows, half, s[i].from, w);
		held_out[i] = predict(d, k, w, &s[i]);
	}
	free(u);
	free(half);
	return 0;
}

int tw_process_leave_out(const struct tw_process_data *d, const struct tw_prior_kernel *k,
			 double *held_out, struct tw_err *err)
{
	const size_t n = d->rows;
	double *u = new_factor(d, k, err), *inverse = NULL, *weight = NULL, *block = NULL;
	int rc = -1;

	if (u == NULL || TW_NEW(inverse, n * n, err) < 0 || TW_NEW(weight, n, err) < 0 ||
	    TW_NEW(block, n * n + 2 * n, err) < 0)
		goto out;
	tw_cholesky_solve(u, n, d->y, weight);
	invert(u, n, inverse);
	rc = 0;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		size_t first = 0;

		while (d->group[first] != d->group[i])
			first++;
		if (first == i &&
		    leave_group_out(d, inverse, weight, d->group[i], block, held_out) < 0)
			rc = fail_singular(err);
	}
out:
	free(u);
	free(inverse);
	free(weight);
	free(block);
	return rc;
}
