/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/machines/posterior.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/core/pool.h"
#include "trainer/machines/eras.h"
#include "trainer/machines/process.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LAST (TW_PRIOR_LOADS - 1)
#define ROWS_MIN 20
#define COVERAGE 0.9
/* Typical standard deviation of log(W / B). */
#define SPREAD 0.1
/* Half-width of the 90 % interval of a normal variable, in standard deviations. */
#define NORMAL_90 1.645
/* Mean absolute deviation of a normal variable, in standard deviations. */
#define NORMAL_MEAN 0.8
/* Readings with less difference than this tell nothing of the misses between them. */
#define SPAN_MIN 0.01

/* ---- readings ---- */

static double load_at(size_t l)
{
	return (double)l / LAST;
}

/* Straight between the points, level outside of them. */
static double interpolate(const double *load, const double *w, size_t count, double x)
{
	size_t k = 0;

	if (x <= load[0])
		return w[0];
	while (k + 1 < count && x > load[k + 1])
		k++;
	if (k + 1 == count)
		return w[count - 1];
	return w[k] + (w[k + 1] - w[k]) * (x - load[k]) / (load[k + 1] - load[k]);
}

/*
 * The scale of a load's misses. Between two readings power lies between them, so that the
 * misses grow with their difference over B; they also have a noise that does not. The
 * root has the most likelihood of exponents 0, 1/4 .. 5/4, both for left-out processors
 * and for eras. Outside of the readings it is 1.
 */
static double span_at(const struct tw_posterior *q, const double *read, size_t l)
{
	const double x = load_at(l);

	for (size_t k = 0; k + 1 < q->readings; k++)
		if (x >= q->load[k] && x <= q->load[k + 1])
			return sqrt(
				fmax((read[k + 1] - read[k]) /
					     interpolate(q->load, read, q->readings, x),
				     SPAN_MIN));
	return 1;
}

/* The power of a curve at any load. */
static double curve_at(const double *w, double x)
{
	double load[TW_PRIOR_LOADS];

	for (size_t l = 0; l < TW_PRIOR_LOADS; l++)
		load[l] = load_at(l);
	return interpolate(load, w, TW_PRIOR_LOADS, x);
}

/* The number of the reading at this load of the curve, or -1. */
static int reading_at(const struct tw_posterior *q, size_t l)
{
	for (size_t k = 0; k < q->readings; k++)
		if (fabs(q->load[k] - load_at(l)) < 1e-9)
			return (int)k;
	return -1;
}

/* Readings as attributes: the one at the highest load first. */
static void set_readings(struct tw_prior_row *r, const double *w, size_t count)
{
	for (size_t k = 0; k < count; k++)
		r->number[TW_PRIOR_READ + k] = w[count - 1 - k];
}

/* ---- learning ---- */

static bool is_used(const struct tw_prior *p, const struct tw_prior_view *v, size_t i)
{
	return v->member[0].target[0].weight[i] != 0 && tw_prior_has_curve(p, i);
}

static int find_rows(struct tw_posterior *q, const struct tw_prior_view *v,
		     size_t **group, double (**read)[TW_PRIOR_READINGS_MAX],
		     size_t **from, struct tw_err *err)
{
	const struct tw_prior *p = q->prior;

	if (TW_NEW(q->row, p->rows + 1, err) < 0 || TW_NEW(q->z, p->rows + 1, err) < 0 ||
	    TW_NEW(q->used, p->rows + 1, err) < 0 ||
	    TW_NEW(*group, p->rows + 1, err) < 0 || TW_NEW(*read, p->rows + 1, err) < 0 ||
	    TW_NEW(*from, p->rows + 1, err) < 0)
		return -1;
	for (size_t i = 0; i < p->rows; i++) {
		struct tw_prior_row *r = &q->row[q->rows];
		double *w = (*read)[q->rows];

		if (!is_used(p, v, i))
			continue;
		*r = p->row[i];
		for (size_t k = 0; k < q->readings; k++)
			w[k] = curve_at(p->row_w[i], q->load[k]);
		set_readings(r, w, q->readings);
		(*group)[q->rows] = r->category[TW_PRIOR_PROCESSOR] >= 0
					    ? (size_t)r->category[TW_PRIOR_PROCESSOR]
					    : p->rows + i;
		q->used[i] = 1;
		(*from)[q->rows++] = i;
	}
	q->view.member[0].target[0].weight = q->used;
	return q->rows >= ROWS_MIN ? 0
				   : tw_fail(err, TW_INVALID,
					     "the prior has %zu machines of view '%s', "
					     "need %d",
					     q->rows, v->name, ROWS_MIN);
}

/* Set mean, standard deviation and range of a number. */
static void find_range(const struct tw_prior_row *row, size_t rows,
		       struct tw_prior_member *m, enum tw_prior_number n)
{
	double sum = 0, squares = 0;
	size_t count = 0;

	m->low[n] = INFINITY;
	m->high[n] = -INFINITY;
	for (size_t i = 0; i < rows; i++) {
		const double x = tw_prior_number(m, &row[i], n);

		if (isnan(x))
			continue;
		sum += x;
		squares += x * x;
		count++;
		m->low[n] = fmin(m->low[n], x);
		m->high[n] = fmax(m->high[n], x);
	}
	m->mean[n] = count > 0 ? sum / (double)count : 0;
	m->sd[n] =
		count > 0
			? sqrt(fmax(squares / (double)count - m->mean[n] * m->mean[n], 0))
			: 0;
	if (!(m->sd[n] > 1e-6))
		m->sd[n] = 1;
	if (count == 0)
		m->low[n] = m->high[n] = 0;
}

static void find_frame(struct tw_posterior *q)
{
	for (size_t n = 0; n < TW_PRIOR_NUMBERS; n++)
		if ((q->view.numbers >> n & 1) != 0)
			find_range(q->row, q->rows, &q->frame, (enum tw_prior_number)n);
	for (size_t i = 0; i < q->rows; i++)
		tw_prior_standardise(&q->view, &q->frame, &q->row[i], q->z[i]);
}

/* The process of each load of the curve. */
struct job {
	const struct tw_posterior *learned; /* has the variances; NULL: learn them */
	struct tw_posterior *q;
	const struct tw_prior_row **row;
	const size_t *group, *from;
	const double (*read)[TW_PRIOR_READINGS_MAX];
	double (*log_ratio)[TW_PRIOR_LOADS];        /* of left-out processors */
	const struct tw_process_stranger *stranger; /* machines of eras */
	size_t strangers;
	double (*later)[TW_PRIOR_LOADS]; /* log ratios of strangers */
	struct tw_err err[TW_PRIOR_LOADS];
	bool failed[TW_PRIOR_LOADS];
};

/* ---- errors: of predictions for processors that were left out ---- */

/* A value and its weight: compared by the value, which is first. */
struct weighed {
	double value, weight;
};

/* The least value below which `share` of the weight lies. */
static double quantile(struct weighed *x, size_t n, double share)
{
	double total = 0, sum = 0;

	qsort(x, n, sizeof(*x), tw_compare_doubles);
	for (size_t i = 0; i < n; i++)
		total += x[i].weight;
	for (size_t i = 0; i < n; i++) {
		sum += x[i].weight;
		if (sum >= share * total)
			return x[i].value;
	}
	return x[n - 1].value;
}

/*
 * share[rows]: of each row in its group, so that a processor has the same weight however
 * many machines have it. Returns the number of groups.
 */
static double find_shares(const size_t *group, size_t rows, double *share)
{
	double groups = 0;

	for (size_t i = 0; i < rows; i++) {
		size_t same = 0;

		for (size_t k = 0; k < rows; k++)
			same += group[k] == group[i];
		share[i] = 1 / (double)same;
		groups += share[i];
	}
	return groups;
}

/*
 * The factor c minimises the mean of |c P / W - 1|: it is the median of W / P, weighted
 * by P / W. Between machines and processors: a processor counts with the root of its
 * machines.
 */
static void find_factors(const double (*log_ratio)[TW_PRIOR_LOADS], size_t rows,
			 const double *share, struct weighed *x, double *factor)
{
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		for (size_t i = 0; i < rows; i++)
			x[i] = (struct weighed){ log_ratio[i][l],
						 sqrt(share[i]) * exp(-log_ratio[i][l]) };
		factor[l] = exp(quantile(x, rows, 0.5));
	}
}

/* Strangers are in order of their eras. */
static double count_eras(const struct job *j)
{
	double count = 0;

	for (size_t i = 0; i < j->strangers; i++)
		count += i == 0 || j->stranger[i].from != j->stranger[i - 1].from;
	return count;
}

/*
 * Misses in spans (span_at()): of left-out processors, or of eras. The width is the
 * conformal quantile of |log(W / (c P))| at 90 % (J. Lei et al., Distribution-Free
 * Predictive Inference for Regression, JASA 2018, sections 2 and 5.2), rounded up to the
 * next processor, or to the next era: the machines of one era miss alike (R. Dunn et al.,
 * Distribution-Free Prediction Sets for Two-Layer Hierarchical Models, JASA 2022).
 */
static void find_misses(const struct job *j, bool of_eras, const double *share,
			double groups, struct weighed *x, const double *factor,
			struct tw_prior_misses *out)
{
	const size_t count = of_eras ? j->strangers : j->q->rows;
	const double units = of_eras ? count_eras(j) : groups;
	const double coverage = fmin(COVERAGE * (units + 1) / units, 1);

	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		double sum = 0;

		for (size_t i = 0; i < count; i++) {
			const size_t row = of_eras ? j->stranger[i].row : i;
			const double miss = (of_eras ? j->later : j->log_ratio)[i][l] -
					    log(factor[l]);
			const double span = span_at(j->q, j->read[row], l);

			x[i] = (struct weighed){ fabs(miss) / span, share[i] };
			sum += share[i] * fabs(exp(-miss) - 1) / span;
		}
		out->width[l] = quantile(x, count, coverage);
		out->error[l] = sum / groups;
	}
}

/*
 * The misses of generations that the table lacks: those of eras, as the table before them
 * predicts them. A processor has the same weight in each era. They are no smaller than
 * those of known generations, and equal them without eras.
 */
static void find_later(const struct job *j, size_t *group, double *share,
		       struct weighed *x, struct tw_prior_view *v)
{
	v->later = v->known;
	if (j->strangers == 0)
		return;
	for (size_t i = 0; i < j->strangers; i++)
		group[i] = j->stranger[i].from * 2 * TW_PRIOR_ROWS_MAX +
			   j->group[j->stranger[i].row];
	find_misses(j, true, share, find_shares(group, j->strangers, share), x, v->factor,
		    &v->later);
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		v->later.width[l] = fmax(v->later.width[l], v->known.width[l]);
		v->later.error[l] = fmax(v->later.error[l], v->known.error[l]);
	}
}

/* Set the factors of the view, and its misses. */
static int find_errors(const struct job *j, struct tw_err *err)
{
	const double(*log_ratio)[TW_PRIOR_LOADS] =
		(const double(*)[TW_PRIOR_LOADS])j->log_ratio;
	const size_t rows = j->q->rows, most = rows + j->strangers + 1;
	struct weighed *x = NULL;
	double *share = NULL;
	size_t *group = NULL;
	struct tw_prior_view *v = &j->q->view;
	int rc = -1;
	double groups;

	if (TW_NEW(x, most, err) < 0 || TW_NEW(share, most, err) < 0 ||
	    TW_NEW(group, most, err) < 0)
		goto out;
	groups = find_shares(j->group, rows, share);
	find_factors(log_ratio, rows, share, x, v->factor);
	find_misses(j, false, share, groups, x, v->factor, &v->known);
	find_later(j, group, share, x, v);
	rc = 0;
out:
	free(x);
	free(share);
	free(group);
	return rc;
}

/* ---- the fit ---- */

/* out: room for the rows and the strangers. */
static int leave_out(struct job *j, const struct tw_process_data *d, size_t l,
		     double *out, struct tw_err *err)
{
	const struct tw_prior_kernel *k = &j->q->target[l].kernel;

	if (tw_process_leave_out(d, k, out, err) < 0)
		return -1;
	for (size_t i = 0; i < d->rows; i++)
		j->log_ratio[i][l] = d->y[i] - out[i];
	if (tw_process_predict_forward(d, k, j->stranger, j->strangers, out, err) < 0)
		return -1;
	for (size_t i = 0; i < j->strangers; i++)
		j->later[i][l] = d->y[j->stranger[i].row] - out[i];
	return 0;
}

static int fit_load(struct job *j, size_t l, double *y, double *out, struct tw_err *err)
{
	struct tw_posterior *q = j->q;
	struct tw_prior_target *t = &q->target[l];
	const struct tw_process_data d = { .row = j->row,
					   .z = (const double(*)[TW_PRIOR_NUMBERS])q->z,
					   .y = y,
					   .group = j->group,
					   .rows = q->rows,
					   .categories = q->view.categories,
					   .radial = true,
					   .spread = SPREAD };
	double mean = 0, constant = 0;

	for (size_t i = 0; i < q->rows; i++) {
		const double base =
			interpolate(q->load, j->read[i], q->readings, load_at(l));

		y[i] = log(q->prior->row_w[j->from[i]][l] / base);
		mean += y[i] / (double)q->rows;
	}
	for (size_t i = 0; i < q->rows; i++)
		y[i] -= mean;
	if (j->learned != NULL)
		t->kernel = j->learned->target[l].kernel;
	else if (tw_process_learn(&d, &t->kernel, err) < 0)
		return -1;
	if (tw_process_solve(&d, &t->kernel, t->weight, &constant, err) < 0)
		return -1;
	t->mean = mean + constant;
	return j->learned != NULL ? 0 : leave_out(j, &d, l, out, err);
}

static void run_load(void *arg, size_t l)
{
	struct job *j = arg;
	struct tw_posterior *q = j->q;
	double *y;

	if (reading_at(q, l) >= 0)
		return; /* its ratio is 1 */
	y = calloc(2 * q->rows + j->strangers + 1, sizeof(*y));
	q->target[l].weight = calloc(q->rows + 1, sizeof(double));
	if (y == NULL || q->target[l].weight == NULL) {
		tw_fail(&j->err[l], TW_NOMEM, "%zu machines", q->rows);
		j->failed[l] = true;
	} else {
		j->failed[l] = fit_load(j, l, y, y + q->rows, &j->err[l]) < 0;
	}
	free(y);
}

static int run_loads(struct job *j, unsigned threads, struct tw_err *err)
{
	struct tw_posterior *q = j->q;
	int rc = -1;

	if (tw_new(&j->row, q->rows + 1, sizeof(const void *), err) < 0 ||
	    TW_NEW(j->log_ratio, q->rows + 1, err) < 0 ||
	    TW_NEW(j->later, j->strangers + 1, err) < 0)
		goto out;
	for (size_t i = 0; i < q->rows; i++)
		j->row[i] = &q->row[i];
	tw_pool_run(TW_PRIOR_LOADS, threads, run_load, j);
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++)
		if (j->failed[l]) {
			*err = j->err[l];
			goto out;
		}
	rc = j->learned == NULL ? find_errors(j, err) : 0;
out:
	free(j->log_ratio);
	free(j->later);
	free(j->row);
	return rc;
}

/* The frame of q is set but for rows, means and processes. */
static int fit(struct tw_posterior *q, const struct tw_posterior *learned,
	       const struct tw_prior_view *v, unsigned threads, struct tw_err *err)
{
	size_t *group = NULL, *from = NULL;
	double(*read)[TW_PRIOR_READINGS_MAX] = NULL;
	struct tw_process_stranger *stranger = NULL;
	struct job j = { .learned = learned, .q = q };
	struct tw_era_table eras = { q->prior, &q->view, &q->frame, NULL, NULL, 0 };
	int rc = -1;

	if (find_rows(q, v, &group, &read, &from, err) < 0)
		goto out;
	find_frame(q);
	eras.row = q->row;
	eras.from = from;
	eras.rows = q->rows;
	if (learned == NULL && tw_eras_find(&eras, &stranger, &j.strangers, err) < 0)
		goto out;
	j.stranger = stranger;
	j.group = group;
	j.from = from;
	j.read = (const double(*)[TW_PRIOR_READINGS_MAX])read;
	rc = run_loads(&j, threads, err);
out:
	free(group);
	free(from);
	free(read);
	free(stranger);
	return rc;
}

int tw_posterior_learn(const struct tw_prior *p, const struct tw_prior_view *v,
		       const struct tw_power_reading *r, size_t count, unsigned threads,
		       struct tw_posterior *out, struct tw_err *err)
{
	struct tw_posterior q = { .prior = p, .view = *v, .readings = count };

	/* The readings tell more of the machine than the habits of its vendor. */
	q.view.categories &= ~(1u << TW_PRIOR_SYSTEM | 1u << TW_PRIOR_GENERATION_SYSTEM);
	q.view.anchor = NULL;
	q.view.anchors = 0;
	q.view.members = 0;
	q.frame.scale = v->member[v->members - 1].scale;
	for (size_t k = 0; k < count; k++) {
		q.load[k] = r[k].load;
		q.view.numbers |= 1u << (TW_PRIOR_READ + k);
	}
	if (fit(&q, NULL, v, threads, err) < 0) {
		tw_posterior_release(&q);
		return -1;
	}
	*out = q;
	return 0;
}

int tw_posterior_condition(const struct tw_posterior *learned,
			   const struct tw_prior_view *v, unsigned threads,
			   struct tw_posterior *out, struct tw_err *err)
{
	struct tw_posterior q = { .prior = learned->prior,
				  .view = learned->view,
				  .readings = learned->readings };

	q.frame.scale = learned->frame.scale;
	memcpy(q.load, learned->load, sizeof(q.load));
	if (fit(&q, learned, v, threads, err) < 0) {
		tw_posterior_release(&q);
		return -1;
	}
	*out = q;
	return 0;
}

/* ---- answers ---- */

/* log(W / B) of a row at a load. */
static double predict(const struct tw_posterior *q, size_t l,
		      const struct tw_prior_row *r, const double *z)
{
	const struct tw_prior_target *t = &q->target[l];
	double sum = t->mean;

	for (size_t i = 0; i < q->rows; i++)
		sum += t->weight[i] * tw_prior_covariance(&t->kernel, q->view.categories,
							  r, z, &q->row[i], q->z[i]);
	return sum;
}

/* Below a reading's load the power is not above it, above that load not below it. */
static double bound_by_readings(const struct tw_posterior *q, const double *read,
				size_t l, double w)
{
	for (size_t k = 0; k < q->readings; k++) {
		if (q->load[k] <= load_at(l))
			w = fmax(w, read[k]);
		if (q->load[k] >= load_at(l))
			w = fmin(w, read[k]);
	}
	return w;
}

/* Whether the table tells of its generation. Sets what is known of the machine. */
static bool locate(const struct tw_posterior *q, const struct tw_prior_machine *m,
		   struct tw_prior_row *out)
{
	size_t like = 0;

	if (tw_prior_locate(q->prior, &q->view, m, out))
		return false;
	for (size_t i = 0; i < q->rows; i++)
		like += q->row[i].category[TW_PRIOR_GENERATION] ==
			out->category[TW_PRIOR_GENERATION];
	return like >= TW_ERA_MIN;
}

void tw_posterior_answer(const struct tw_posterior *q, const struct tw_prior_machine *m,
			 const struct tw_power_reading *r, struct tw_prior_curve *out)
{
	double read[TW_PRIOR_READINGS_MAX], z[TW_PRIOR_NUMBERS], meter = 0;
	const struct tw_prior_misses *misses;
	struct tw_prior_row row;

	out->later = !locate(q, m, &row);
	tw_prior_part(&q->view, &row);
	for (size_t k = 0; k < q->readings; k++) {
		read[k] = r[k].w;
		meter = fmax(meter, r[k].error);
	}
	set_readings(&row, read, q->readings);
	tw_prior_standardise(&q->view, &q->frame, &row, z);
	out->view = &q->view;
	misses = out->later ? &q->view.later : &q->view.known;
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		const int at = reading_at(q, l);
		const double span = at >= 0 ? 0 : span_at(q, read, l);
		double w = interpolate(q->load, read, q->readings, load_at(l)), width;

		if (at < 0)
			w *= exp(predict(q, l, &row, z)) * q->view.factor[l];
		w = bound_by_readings(q, read, l, w);
		out->w[l] = l > 0 ? fmax(w, out->w[l - 1]) : w;
		width = hypot(span * misses->width[l], NORMAL_90 * meter);
		out->low[l] = out->w[l] * exp(-width);
		out->high[l] = out->w[l] * exp(width);
		out->error[l] =
			out->w[l] * hypot(span * misses->error[l], NORMAL_MEAN * meter);
	}
}

void tw_posterior_release(struct tw_posterior *q)
{
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++)
		free(q->target[l].weight);
	free(q->row);
	free(q->z);
	free(q->used);
	*q = (struct tw_posterior){ 0 };
}
