/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/prior/prior_answer.h"

#include "lib/core/err.h"
#include "model-db/prior/cholesky.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* ---- anchors ---- */

static bool is_used(const struct tw_prior_view *v, size_t row)
{
	return v->member[0].target[0].weight[row] != 0;
}

/* The anchor with the processor of the row; NULL if no anchor has it. */
static struct tw_prior_anchor *find_anchor(const struct tw_prior *p,
					   const struct tw_prior_view *v,
					   const struct tw_prior_row *r)
{
	const int processor = r->category[TW_PRIOR_PROCESSOR];

	for (size_t k = 0; processor >= 0 && k < v->anchors; k++)
		if (p->row[v->anchor[k].row].category[TW_PRIOR_PROCESSOR] == processor)
			return &v->anchor[k];
	return NULL;
}

/* The first machine of each processor, and the number of its machines. */
static int find_anchors(const struct tw_prior *p, struct tw_prior_view *v,
			struct tw_err *err)
{
	v->anchors = 0;
	free(v->anchor);
	v->anchor = calloc(p->rows + 1, sizeof(*v->anchor));
	if (v->anchor == NULL)
		return tw_fail(err, TW_NOMEM, "variances of %zu machines", p->rows);
	for (size_t i = 0; i < p->rows; i++) {
		struct tw_prior_anchor *same;

		if (!is_used(v, i))
			continue;
		same = find_anchor(p, v, &p->row[i]);
		if (same == NULL && v->anchors < TW_PRIOR_ANCHORS_MAX) {
			same = &v->anchor[v->anchors++];
			same->row = i;
		}
		if (same != NULL) {
			same->machines++;
			same->curves += tw_prior_has_curve(p, i);
		}
	}
	return 0;
}

int tw_prior_find_anchors(struct tw_prior *p, struct tw_err *err)
{
	for (size_t i = 0; i < p->views; i++) {
		struct tw_prior_view *v = &p->view[i];

		if (v->roots == NULL)
			v->roots = calloc(1, sizeof(*v->roots));
		if (v->roots == NULL)
			return tw_fail(err, TW_NOMEM, "view '%s'", v->name);
		tw_prior_roots_clear(v->roots);
		if (find_anchors(p, v, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- roots ---- */

/* Held while the factors of any view are computed. */
static pthread_mutex_t factoring = PTHREAD_MUTEX_INITIALIZER;

/* The precision of an anchor without a curve: so low that the anchor has no effect. */
#define NO_CURVE 1e-9

static int factor_target(const struct tw_prior *p, const struct tw_prior_view *v,
			 const struct tw_prior_target *t, bool is_shape,
			 const double (*z)[TW_PRIOR_NUMBERS], double **out,
			 struct tw_err *err)
{
	const size_t n = v->anchors;
	double *root = calloc(n * n + 1, sizeof(*root));

	*out = root;
	if (root == NULL)
		return tw_fail(err, TW_NOMEM, "variances of %zu machines", n);
	for (size_t i = 0; i < n; i++) {
		for (size_t j = i; j < n; j++)
			root[i * n + j] =
				TW_PRIOR_SHARED +
				tw_prior_covariance(&t->kernel, v->categories,
						    &p->row[v->anchor[i].row], z[i],
						    &p->row[v->anchor[j].row], z[j]);
		root[i * n + i] +=
			t->kernel.noise /
			fmax(is_shape ? v->anchor[i].curves : v->anchor[i].machines,
			     NO_CURVE);
	}
	if (!tw_cholesky(root, n))
		return tw_fail(err, TW_INVALID,
			       "view '%s': the covariance of the machines is singular",
			       v->name);
	return 0;
}

static int factor_members(const struct tw_prior *p, const struct tw_prior_view *v,
			  struct tw_err *err)
{
	double z[TW_PRIOR_ANCHORS_MAX][TW_PRIOR_NUMBERS];

	for (size_t m = 0; m < v->members; m++) {
		for (size_t i = 0; i < v->anchors; i++)
			tw_prior_standardise(v, &v->member[m], &p->row[v->anchor[i].row],
					     z[i]);
		for (size_t t = 0; t < TW_PRIOR_TARGETS; t++)
			if (factor_target(p, v, &v->member[m].target[t], t >= 2,
					  (const double(*)[TW_PRIOR_NUMBERS])z,
					  &v->roots->of[m][t], err) < 0)
				return -1;
	}
	return 0;
}

static int need_roots(const struct tw_prior *p, const struct tw_prior_view *v,
		      struct tw_err *err)
{
	int rc = 0;

	if (atomic_load(&v->roots->ready))
		return 0;
	pthread_mutex_lock(&factoring);
	if (!atomic_load(&v->roots->ready)) {
		rc = factor_members(p, v, err);
		if (rc == 0)
			atomic_store(&v->roots->ready, true);
		else
			tw_prior_roots_clear(v->roots);
	}
	pthread_mutex_unlock(&factoring);
	return rc;
}

/* ---- variances ---- */

/*
 * The variance before the table is known: of unknown and of new categories, too. That of
 * the memory type is of one type, fully buffered DDR2, whose power no other type has. A
 * new type is no such step.
 */
static double variance_before(const struct tw_prior_kernel *k, unsigned categories,
			      const struct tw_prior_row *r, const double *z)
{
	double sum = TW_PRIOR_SHARED + k->radial + k->noise;

	for (size_t n = 0; n < TW_PRIOR_NUMBERS; n++) {
		const double square = z[n] * z[n] - 1;

		sum += k->linear * z[n] * z[n] + k->square * square * square;
	}
	for (size_t c = 0; c < TW_PRIOR_CATEGORIES; c++)
		if ((categories >> c & 1) != 0 &&
		    (c != TW_PRIOR_MEMORY_TYPE || r->category[c] >= 0))
			sum += k->category[c] *
			       (c == TW_PRIOR_GENERATION ? r->own_like : 1);
	return sum;
}

/* The anchors explain |U'^-1 k(x, anchors)|^2 of the variance. */
static double target_variance(const struct tw_prior *p, const struct tw_prior_view *v,
			      const struct tw_prior_target *t, const double *root,
			      const struct tw_prior_row *r, const double *z,
			      const double (*za)[TW_PRIOR_NUMBERS])
{
	const size_t n = v->anchors;
	const double before = variance_before(&t->kernel, v->categories, r, z);
	double a[TW_PRIOR_ANCHORS_MAX], known = 0;

	for (size_t i = 0; i < n; i++)
		a[i] = TW_PRIOR_SHARED + tw_prior_covariance(&t->kernel, v->categories, r,
							     z, &p->row[v->anchor[i].row],
							     za[i]);
	tw_cholesky_half(root, n, a, a);
	for (size_t i = 0; i < n; i++)
		known += a[i] * a[i];
	return fmax(before - known, t->kernel.noise);
}

/* By the derivatives of log W = log(I + (F - I) s) by log F, log I and s. */
static void add_log_w(const struct tw_prior_member *m, const double *log_w,
		      const double *of_target, double share, double *variance)
{
	const double idle = exp(log_w[0]), full = exp(log_w[TW_PRIOR_LOADS - 1]);

	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		const double w = exp(log_w[l]), s = (w - idle) / (full - idle);
		const double by_full = full * s / w, by_idle = idle * (1 - s) / w;
		double sum = by_full * by_full * of_target[0] +
			     by_idle * by_idle * of_target[1];

		for (size_t k = 0; k < TW_PRIOR_SHAPES && l > 0 && l < TW_PRIOR_LOADS - 1;
		     k++) {
			const double by_shape = (full - idle) * m->shape[k][l - 1] / w;

			sum += by_shape * by_shape * of_target[2 + k];
		}
		variance[l] += share * sum;
	}
}

/* Add the variance of log W at each load, with the noise of a single machine. */
static int add_variance(const struct tw_prior *p, const struct tw_prior_view *v,
			const struct tw_prior_row *r, const double *log_w, double share,
			double *variance, struct tw_err *err)
{
	double za[TW_PRIOR_ANCHORS_MAX][TW_PRIOR_NUMBERS], z[TW_PRIOR_NUMBERS];
	double of_target[TW_PRIOR_TARGETS] = { 0 };

	if (need_roots(p, v, err) < 0)
		return -1;
	for (size_t i = 0; i < v->members; i++) {
		const struct tw_prior_member *m = &v->member[i];

		tw_prior_standardise(v, m, r, z);
		for (size_t k = 0; k < v->anchors; k++)
			tw_prior_standardise(v, m, &p->row[v->anchor[k].row], za[k]);
		for (size_t t = 0; t < TW_PRIOR_TARGETS; t++)
			of_target[t] = target_variance(
				p, v, &m->target[t], v->roots->of[i][t], r, z,
				(const double(*)[TW_PRIOR_NUMBERS])za);
		add_log_w(m, log_w, of_target, share / (double)v->members, variance);
	}
	return 0;
}

/* The means of a view and of the one beside it. */
static int find_log_w(const struct tw_prior *p, const struct tw_prior_view *v,
		      const struct tw_prior_row *r, double *log_w, double *variance,
		      struct tw_err *err)
{
	const struct tw_prior_view *of[] = { v, v->beside >= 0 ? &p->view[v->beside]
							       : NULL };
	const size_t views = of[1] != NULL ? 2 : 1;
	double one[TW_PRIOR_LOADS];

	for (size_t l = 0; l < TW_PRIOR_LOADS; l++)
		log_w[l] = variance[l] = 0;
	for (size_t i = 0; i < views; i++) {
		tw_prior_view_log_w(p, of[i], r, one);
		for (size_t l = 0; l < TW_PRIOR_LOADS; l++)
			log_w[l] += one[l] / (double)views;
	}
	for (size_t i = 0; i < views; i++)
		if (add_variance(p, of[i], r, log_w, 1 / (double)views, variance, err) <
		    0)
			return -1;
	return 0;
}

/* ---- answers ---- */

int tw_prior_answer(const struct tw_prior *p, const struct tw_prior_view *v,
		    const struct tw_prior_machine *m, struct tw_prior_curve *out,
		    struct tw_err *err)
{
	double log_w[TW_PRIOR_LOADS], variance[TW_PRIOR_LOADS];
	const struct tw_prior_misses *misses;
	struct tw_prior_row r;

	out->later = tw_prior_locate(p, v, m, &r);
	tw_prior_part(v, &r);
	if (find_log_w(p, v, &r, log_w, variance, err) < 0)
		return -1;
	out->view = v;
	misses = out->later ? &v->later : &v->known;
	for (size_t j = 0; j < TW_PRIOR_LOADS; j++) {
		const double sd = sqrt(variance[j]);

		out->w[j] = exp(log_w[j] - variance[j]) * v->factor[j];
		if (j > 0)
			out->w[j] = fmax(out->w[j], out->w[j - 1]);
		out->low[j] = out->w[j] * exp(-sd * misses->width[j]);
		out->high[j] = out->w[j] * exp(sd * misses->width[j]);
		out->error[j] = out->w[j] * sd * misses->error[j];
	}
	return 0;
}

/* ---- a machine of which nothing is known ---- */

/* A machine of the table: its logical CPUs (NaN: unknown), and the power of one. */
struct per_cpu {
	double cpus, weight, w;
};

static int by_w(const void *a, const void *b)
{
	const struct per_cpu *x = a, *y = b;

	return (x->w > y->w) - (x->w < y->w);
}

/* Each processor has the same weight, however many machines have it. */
static void count_cpus(const struct tw_prior *p, struct per_cpu *out)
{
	for (size_t i = 0; i < p->rows; i++) {
		const double *x = p->row[i].number;
		const int processor = p->row[i].category[TW_PRIOR_PROCESSOR];
		size_t same = processor < 0;

		for (size_t k = 0; processor >= 0 && k < p->rows; k++)
			same += p->row[k].category[TW_PRIOR_PROCESSOR] == processor;
		out[i].weight = 1 / (double)same;
		out[i].cpus = x[TW_PRIOR_CHIPS] * x[TW_PRIOR_CORES] *
			      (x[TW_PRIOR_THREADS] > 0 ? x[TW_PRIOR_THREADS] : 1);
	}
}

/* The machines with known CPUs and power at a load, by power. */
static size_t sort_by_load(const struct tw_prior *p, const struct per_cpu *all,
			   size_t load, struct per_cpu *out)
{
	size_t n = 0;

	for (size_t i = 0; i < p->rows; i++) {
		out[n] = all[i];
		out[n].w = p->row_w[i][load] / all[i].cpus;
		n += !isnan(out[n].w);
	}
	qsort(out, n, sizeof(*out), by_w);
	return n;
}

static double weight_of(const struct per_cpu *m, bool over_w)
{
	return over_w ? m->weight / m->w : m->weight;
}

/* The least power at or below which `share` of the weight, or of weight / power, lies. */
static double quantile(const struct per_cpu *at, size_t n, double share, bool over_w)
{
	double total = 0, sum = 0;
	size_t i = 0;

	for (size_t k = 0; k < n; k++)
		total += weight_of(&at[k], over_w);
	for (; i + 1 < n; i++) {
		sum += weight_of(&at[i], over_w);
		if (sum >= share * total)
			break;
	}
	return at[i].w;
}

static double mean_miss(const struct per_cpu *at, size_t n, double w)
{
	double weight = 0, sum = 0;

	for (size_t i = 0; i < n; i++) {
		weight += at[i].weight;
		sum += at[i].weight * fabs(w / at[i].w - 1);
	}
	return sum / weight;
}

int tw_prior_typical(const struct tw_prior *p, struct tw_prior_curve *out,
		     struct tw_err *err)
{
	static const struct tw_prior_view typical = { .name = "typical",
						      .beside = -1,
						      .unit = TW_PRIOR_OF_CPU };
	struct per_cpu *all = calloc(2 * p->rows + 1, sizeof(*all)), *at;
	size_t n = 0;

	if (all == NULL)
		return tw_fail(err, TW_NOMEM, "power of %zu machines", p->rows);
	at = all + p->rows;
	count_cpus(p, all);
	*out = (struct tw_prior_curve){ .view = &typical, .later = true };
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		n = sort_by_load(p, all, l, at);
		if (n == 0)
			break;
		out->w[l] = fmax(quantile(at, n, 0.5, true), l > 0 ? out->w[l - 1] : 0);
		out->low[l] = fmin(quantile(at, n, 0.05, false), out->w[l]);
		out->high[l] = fmax(quantile(at, n, 0.95, false), out->w[l]);
		out->error[l] = out->w[l] * mean_miss(at, n, out->w[l]);
	}
	free(all);
	return n > 0 ? 0
		     : tw_fail(err, TW_NOTFOUND,
			       "the prior's table has no machine with known counts");
}
