/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/prior/prior.h"

#include "lib/core/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* log(W_idle / W_full) is at most this, so that idle power is below full power. */
#define IDLE_MAX (-0.02)

/* The log of the scale. NaN if a number that it needs is unknown. */
static double log_scale_of(enum tw_prior_scale s, const struct tw_prior_row *r)
{
	const double *x = r->number;

	switch (s) {
	case TW_PRIOR_BY_TDP:
		return log(x[TW_PRIOR_CHIPS] * x[TW_PRIOR_TDP]);
	case TW_PRIOR_BY_ROOT_CORES:
		return log(x[TW_PRIOR_CHIPS] * sqrt(x[TW_PRIOR_CORES]));
	default:
		return log(x[TW_PRIOR_CHIPS] * x[TW_PRIOR_CORES]);
	}
}

static double log_idle_scale_of(enum tw_prior_scale s, const struct tw_prior_row *r)
{
	const double scale = log_scale_of(s, r);

	/*
	 * The power of cores must add up to the answer; the idle power of chips grows
	 * more slowly.
	 */
	return s == TW_PRIOR_BY_CORES ? scale
				      : 0.5 * (scale + log(r->number[TW_PRIOR_CHIPS]));
}

double tw_prior_number(const struct tw_prior_member *m, const struct tw_prior_row *r,
		       enum tw_prior_number n)
{
	const double x = r->number[n];

	if (n == TW_PRIOR_THREADS)
		return x;
	if (n > TW_PRIOR_READ)
		return log(x / r->number[TW_PRIOR_READ]);
	if (n == TW_PRIOR_READ || n == TW_PRIOR_MEMORY || n == TW_PRIOR_SUPPLY)
		return log(x) - log_scale_of(m->scale, r);
	return log(x);
}

void tw_prior_standardise(const struct tw_prior_view *v, const struct tw_prior_member *m,
			  const struct tw_prior_row *r, double *z)
{
	for (unsigned n = 0; n < TW_PRIOR_NUMBERS; n++) {
		double x;

		z[n] = 0;
		if ((v->numbers >> n & 1) == 0)
			continue;
		x = tw_prior_number(m, r, (enum tw_prior_number)n);
		if (!isnan(x))
			z[n] = (fmax(fmin(x, m->high[n]), m->low[n]) - m->mean[n]) /
			       m->sd[n];
	}
}

double tw_prior_like(const struct tw_prior_row *a, const struct tw_prior_row *b,
		     enum tw_prior_category c)
{
	const int at = b->category[c];

	if (at < 0)
		return 0;
	if (c == TW_PRIOR_GENERATION && a->like != NULL)
		return a->like[at];
	return a->category[c] == at;
}

double tw_prior_covariance(const struct tw_prior_kernel *k, unsigned categories,
			   const struct tw_prior_row *a, const double *za,
			   const struct tw_prior_row *b, const double *zb)
{
	double linear = 0, square = 0, distance = 0, sum;

	for (size_t n = 0; n < TW_PRIOR_NUMBERS; n++) {
		const double d = (za[n] - zb[n]) / k->length[n];

		linear += za[n] * zb[n];
		square += (za[n] * za[n] - 1) * (zb[n] * zb[n] - 1);
		distance += d * d;
	}
	sum = k->linear * linear + k->square * square;
	if (k->radial > 0)
		sum += k->radial * exp(-0.5 * distance);
	for (size_t c = 0; c < TW_PRIOR_CATEGORIES; c++)
		if ((categories >> c & 1) != 0)
			sum += k->category[c] *
			       tw_prior_like(a, b, (enum tw_prior_category)c);
	return sum;
}

/* log W at each load from the targets of a member. */
static void compose(const struct tw_prior_member *m, const struct tw_prior_row *r,
		    const double *target, double *log_w)
{
	const double scale = log_scale_of(m->scale, r);
	const double full = exp(target[0] + scale);
	const double idle = fmin(exp(target[1] + log_idle_scale_of(m->scale, r)),
				 full * exp(IDLE_MAX));
	double last = 0;

	log_w[0] = log(idle);
	for (size_t j = 0; j < TW_PRIOR_INNER; j++) {
		double s = m->shape_mean[j];

		for (size_t i = 0; i < TW_PRIOR_SHAPES; i++)
			s += target[2 + i] * m->shape[i][j];
		last = fmax(last, fmin(s, 1));
		log_w[1 + j] = log(idle + (full - idle) * last);
	}
	log_w[TW_PRIOR_LOADS - 1] = log(full);
}

/* Whether the view learned from a machine with this level of a category. */
static bool has_level(const struct tw_prior *p, const struct tw_prior_view *v,
		      enum tw_prior_category c, const char *level)
{
	const ptrdiff_t at = *level != '\0' ? tw_strs_find(&p->names[c], level) : -1;

	for (size_t i = 0; at >= 0 && i < p->rows; i++)
		if (v->member[0].target[0].weight[i] != 0 && p->row[i].category[c] == at)
			return true;
	return false;
}

int tw_prior_find_lineage(struct tw_prior *p, struct tw_err *err)
{
	const size_t n = p->names[TW_PRIOR_GENERATION].count;
	size_t *machines = calloc(n + 1, sizeof(*machines));
	int rc;

	if (machines == NULL)
		return tw_fail(err, TW_NOMEM, "%zu generations", n);
	tw_lineage_clear(&p->lineage);
	for (size_t i = 0; i < p->rows; i++)
		if (p->row[i].category[TW_PRIOR_GENERATION] >= 0)
			machines[p->row[i].category[TW_PRIOR_GENERATION]]++;
	rc = tw_lineage_find(p->after, machines, n, &p->lineage, err);
	free(machines);
	for (size_t i = 0; rc == 0 && i < p->rows; i++)
		tw_prior_set_lineage(p, &p->row[i], 0);
	return rc;
}

void tw_prior_set_lineage(const struct tw_prior *p, struct tw_prior_row *r, unsigned more)
{
	const struct tw_lineage *l = &p->lineage;
	const int at = r->category[TW_PRIOR_GENERATION];

	r->like = at >= 0 ? l->like + (size_t)at * l->count : NULL;
	r->own_like =
		at >= 0 ? r->like[at] + (double)more / TW_LINEAGE_STEPS : l->unknown;
}

bool tw_prior_locate(const struct tw_prior *p, const struct tw_prior_view *v,
		     const struct tw_prior_machine *m, struct tw_prior_row *out)
{
	struct tw_prior_machine as = *m;
	unsigned steps = 0;

	while (tw_strs_find(&p->names[TW_PRIOR_GENERATION],
			    as.category[TW_PRIOR_GENERATION]) < 0 &&
	       tw_prior_generation_before(&as))
		steps++;
	while (!has_level(p, v, TW_PRIOR_MEMORY_TYPE,
			  as.category[TW_PRIOR_MEMORY_TYPE]) &&
	       tw_prior_memory_before(&as))
		;
	memcpy(out->number, m->number, sizeof(out->number));
	for (size_t c = 0; c < TW_PRIOR_CATEGORIES; c++)
		out->category[c] =
			*as.category[c] != '\0'
				? (int)tw_strs_find(&p->names[c], as.category[c])
				: -1;
	tw_prior_set_lineage(p, out, steps);
	return !has_level(p, v, TW_PRIOR_GENERATION, m->category[TW_PRIOR_GENERATION]);
}

bool tw_prior_is_related(const struct tw_prior *p, const struct tw_prior_view *v,
			 const struct tw_prior_machine *m)
{
	struct tw_prior_machine as = *m;
	bool found = has_level(p, v, TW_PRIOR_VENDOR, m->category[TW_PRIOR_VENDOR]);

	do
		found = found || has_level(p, v, TW_PRIOR_GENERATION,
					   as.category[TW_PRIOR_GENERATION]);
	while (!found && tw_prior_generation_before(&as));
	return found;
}

void tw_prior_machine_of_row(const struct tw_prior *p, size_t row,
			     struct tw_prior_machine *out)
{
	const struct tw_prior_row *r = &p->row[row];

	*out = (struct tw_prior_machine){ 0 };
	memcpy(out->number, r->number, sizeof(out->number));
	for (size_t c = 0; c < TW_PRIOR_CATEGORIES; c++)
		if (r->category[c] >= 0)
			snprintf(out->category[c], TW_PRIOR_TEXT, "%s",
				 p->names[c].at[r->category[c]]);
}

static void member_log_w(const struct tw_prior *p, const struct tw_prior_view *v,
			 const struct tw_prior_member *m, const struct tw_prior_row *r,
			 double *log_w)
{
	double z[TW_PRIOR_NUMBERS], zi[TW_PRIOR_NUMBERS], f[TW_PRIOR_TARGETS];

	tw_prior_standardise(v, m, r, z);
	for (size_t t = 0; t < TW_PRIOR_TARGETS; t++)
		f[t] = m->target[t].mean;
	for (size_t i = 0; i < p->rows; i++) {
		if (m->target[0].weight[i] == 0) /* not of this member */
			continue;
		tw_prior_standardise(v, m, &p->row[i], zi);
		for (size_t t = 0; t < TW_PRIOR_TARGETS; t++)
			f[t] += m->target[t].weight[i] *
				tw_prior_covariance(&m->target[t].kernel, v->categories,
						    r, z, &p->row[i], zi);
	}
	compose(m, r, f, log_w);
}

void tw_prior_view_log_w(const struct tw_prior *p, const struct tw_prior_view *v,
			 const struct tw_prior_row *r, double *log_w)
{
	double one[TW_PRIOR_LOADS];

	for (size_t j = 0; j < TW_PRIOR_LOADS; j++)
		log_w[j] = 0;
	for (size_t i = 0; i < v->members; i++) {
		member_log_w(p, v, &v->member[i], r, one);
		for (size_t j = 0; j < TW_PRIOR_LOADS; j++)
			log_w[j] += one[j] / (double)v->members;
	}
}

bool tw_prior_has_curve(const struct tw_prior *p, size_t row)
{
	size_t l = 0;

	while (l < TW_PRIOR_LOADS && !isnan(p->row_w[row][l]))
		l++;
	return l == TW_PRIOR_LOADS;
}

void tw_prior_part(const struct tw_prior_view *v, struct tw_prior_row *r)
{
	if (v->unit != TW_PRIOR_OF_MACHINE)
		r->number[TW_PRIOR_CHIPS] = 1;
	if (v->unit == TW_PRIOR_OF_CORE)
		r->number[TW_PRIOR_CORES] = 1;
}

const struct tw_prior_view *tw_prior_view_for(const struct tw_prior *p,
					      const struct tw_prior_machine *m)
{
	for (size_t i = 0; i < p->views; i++) {
		const struct tw_prior_view *v = &p->view[i];
		unsigned n = 0;

		while (n < TW_PRIOR_NUMBERS &&
		       ((v->needs >> n & 1) == 0 || !isnan(m->number[n])))
			n++;
		if (n == TW_PRIOR_NUMBERS &&
		    ((v->categories >> TW_PRIOR_SYSTEM & 1) == 0 ||
		     has_level(p, v, TW_PRIOR_SYSTEM, m->category[TW_PRIOR_SYSTEM])))
			return v;
	}
	return NULL;
}

void tw_prior_roots_clear(struct tw_prior_roots *r)
{
	for (size_t m = 0; m < TW_PRIOR_MEMBERS_MAX; m++)
		for (size_t t = 0; t < TW_PRIOR_TARGETS; t++) {
			free(r->of[m][t]);
			r->of[m][t] = NULL;
		}
	atomic_store(&r->ready, false);
}

void tw_prior_release(struct tw_prior *p)
{
	for (size_t i = 0; i < p->views; i++) {
		if (p->view[i].roots != NULL)
			tw_prior_roots_clear(p->view[i].roots);
		free(p->view[i].roots);
		free(p->view[i].anchor);
		for (size_t k = 0; k < p->view[i].members; k++)
			for (size_t t = 0; t < TW_PRIOR_TARGETS; t++)
				free(p->view[i].member[k].target[t].weight);
	}
	for (size_t c = 0; c < TW_PRIOR_CATEGORIES; c++)
		tw_strs_clear(&p->names[c]);
	free(p->after);
	tw_lineage_clear(&p->lineage);
	free(p->row);
	free(p->row_w);
	*p = (struct tw_prior){ 0 };
}
