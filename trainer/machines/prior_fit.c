/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/machines/prior_fit.h"

#include "lib/core/err.h"
#include "lib/core/pool.h"
#include "trainer/machines/machine_table.h"
#include "trainer/machines/prior_error.h"
#include "trainer/machines/process.h"
#include "trainer/machines/pupils.h"
#include "model-db/prior/prior_variance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CORES (1u << TW_PRIOR_CORES)
#define CHIPS (1u << TW_PRIOR_CHIPS)
#define TDP (1u << TW_PRIOR_TDP)
#define MEMORY (1u << TW_PRIOR_MEMORY)
#define MHZ (1u << TW_PRIOR_MHZ)
#define SUPPLY (1u << TW_PRIOR_SUPPLY)
#define MORE (1u << TW_PRIOR_PROCESS | 1u << TW_PRIOR_THREADS)
#define OF_SYSTEM (1u << TW_PRIOR_SYSTEM | 1u << TW_PRIOR_GENERATION_SYSTEM)
#define OF_CPU (((1u << TW_PRIOR_CATEGORIES) - 1) & ~OF_SYSTEM)

static const struct kind {
	const char *name;
	unsigned needs, more, categories;
	enum tw_prior_unit unit;
} kinds[TW_PRIOR_VIEW_KINDS] = {
	[TW_PRIOR_VIEW_SYSTEM] = { "system", CORES | CHIPS | TDP | MEMORY | MHZ | SUPPLY,
				   MORE, OF_CPU | OF_SYSTEM, TW_PRIOR_OF_MACHINE },
	[TW_PRIOR_VIEW_HOST] = { "host", CORES | CHIPS | TDP | MEMORY | MHZ, MORE, OF_CPU,
				 TW_PRIOR_OF_MACHINE },
	[TW_PRIOR_VIEW_PROCESSOR] = { "processor", CORES | CHIPS | TDP | MHZ, MORE,
				      OF_CPU, TW_PRIOR_OF_MACHINE },
	[TW_PRIOR_VIEW_NAME] = { "name", CORES | CHIPS | MHZ, MORE, OF_CPU,
				 TW_PRIOR_OF_MACHINE },
	[TW_PRIOR_VIEW_CHIP] = { "chip", CORES | TDP | MHZ, MORE, OF_CPU,
				 TW_PRIOR_OF_CHIP },
	[TW_PRIOR_VIEW_CHIP_NAME] = { "chip-name", CORES | MHZ, MORE, OF_CPU,
				      TW_PRIOR_OF_CHIP },
	[TW_PRIOR_VIEW_CORE] = { "core", 0, MORE, OF_CPU, TW_PRIOR_OF_CORE },
};

/* Typical standard deviations of the targets. */
static const double spread[TW_PRIOR_TARGETS] = { 0.3, 0.5, 0.3, 0.3 };

/* ---- the frame of a prior ---- */

static void add_member(struct tw_prior_view *v, enum tw_prior_scale scale, bool radial)
{
	struct tw_prior_member *m = &v->member[v->members++];

	m->scale = scale;
	for (size_t t = 0; t < TW_PRIOR_TARGETS; t++)
		m->target[t].kernel.radial = radial;
}

static int add_view(struct tw_prior *p, const struct kind *k, struct tw_err *err)
{
	struct tw_prior_view *v = &p->view[p->views++];

	snprintf(v->name, sizeof(v->name), "%s", k->name);
	v->needs = k->needs;
	v->numbers = k->needs | k->more;
	v->categories = k->categories;
	v->unit = k->unit;
	if ((k->needs & TDP) != 0) {
		add_member(v, TW_PRIOR_BY_TDP, true);
		add_member(v, TW_PRIOR_BY_TDP, false);
	}
	add_member(v,
		   k->unit == TW_PRIOR_OF_CORE ? TW_PRIOR_BY_CORES
					       : TW_PRIOR_BY_ROOT_CORES,
		   true);
	for (size_t m = 0; m < v->members; m++)
		for (size_t t = 0; t < TW_PRIOR_TARGETS; t++) {
			double *w = calloc(p->rows, sizeof(*w));

			if (w == NULL)
				return tw_fail(err, TW_NOMEM, "weights of the prior");
			v->member[m].target[t].weight = w;
			v->member[m].target[t].weights = p->rows;
		}
	return 0;
}

static int add_names(struct tw_prior *p, const struct tw_prior_machine *m,
		     struct tw_err *err)
{
	for (size_t c = 0; c < TW_PRIOR_CATEGORIES; c++)
		if (m->category[c][0] != '\0' &&
		    !tw_strs_has(&p->names[c], m->category[c]) &&
		    tw_strs_adds(&p->names[c], m->category[c], err) < 0)
			return -1;
	return 0;
}

int tw_prior_begin(const struct tw_machine_table *t, unsigned kinds_wanted,
		   struct tw_prior *out, struct tw_err *err)
{
	int rc = -1;

	out->row = calloc(t->count + 1, sizeof(*out->row));
	out->row_w = calloc(t->count + 1, sizeof(*out->row_w));
	if (out->row == NULL || out->row_w == NULL) {
		tw_fail(err, TW_NOMEM, "%zu machines", t->count);
		goto out;
	}
	out->rows = t->count;
	for (size_t i = 0; i < t->count; i++) {
		if (add_names(out, &t->machine[i].machine, err) < 0)
			goto out;
		tw_prior_locate(out, &t->machine[i].machine, &out->row[i]);
		memcpy(out->row_w[i], t->machine[i].w, sizeof(out->row_w[i]));
	}
	for (size_t k = 0; k < TW_PRIOR_VIEW_KINDS; k++)
		if ((kinds_wanted >> k & 1) != 0 && add_view(out, &kinds[k], err) < 0)
			goto out;
	rc = 0;
out:
	if (rc < 0)
		tw_prior_release(out);
	return rc;
}

unsigned tw_prior_kinds(const struct tw_prior *p)
{
	unsigned bits = 0;

	for (size_t v = 0; v < p->views; v++)
		for (size_t k = 0; k < TW_PRIOR_VIEW_KINDS; k++)
			if (strcmp(kinds[k].name, p->view[v].name) == 0)
				bits |= 1u << k;
	return bits;
}

/* ---- what a member knows of its machines ---- */

static double shape_of(const struct tw_measured_machine *m, size_t j)
{
	return (m->w[1 + j] - m->w[0]) / (m->w[TW_PRIOR_LOADS - 1] - m->w[0]);
}

/* The eigenvector of the largest eigenvalue, by power iteration; it leaves c. */
static void take_component(double c[TW_PRIOR_INNER][TW_PRIOR_INNER], double *v)
{
	double value = 0;

	for (size_t a = 0; a < TW_PRIOR_INNER; a++)
		v[a] = 1 + 0.1 * (double)a;
	for (int turn = 0; turn < 300; turn++) {
		double u[TW_PRIOR_INNER] = { 0 };

		value = 0;
		for (size_t a = 0; a < TW_PRIOR_INNER; a++) {
			for (size_t b = 0; b < TW_PRIOR_INNER; b++)
				u[a] += c[a][b] * v[b];
			value += u[a] * u[a];
		}
		value = sqrt(value);
		for (size_t a = 0; a < TW_PRIOR_INNER; a++)
			v[a] = value > 0 ? u[a] / value : 0;
	}
	for (size_t a = 0; a < TW_PRIOR_INNER; a++)
		for (size_t b = 0; b < TW_PRIOR_INNER; b++)
			c[a][b] -= value * v[a] * v[b];
}

static void find_shapes(const struct tw_pupils *s, struct tw_prior_member *m)
{
	double c[TW_PRIOR_INNER][TW_PRIOR_INNER] = { { 0 } };

	memset(m->shape_mean, 0, sizeof(m->shape_mean));
	for (size_t i = 0; i < s->count; i++)
		for (size_t j = 0; j < TW_PRIOR_INNER; j++)
			m->shape_mean[j] += shape_of(s->machine[i], j) / (double)s->count;
	for (size_t i = 0; i < s->count; i++)
		for (size_t a = 0; a < TW_PRIOR_INNER; a++)
			for (size_t b = 0; b < TW_PRIOR_INNER; b++)
				c[a][b] +=
					(shape_of(s->machine[i], a) - m->shape_mean[a]) *
					(shape_of(s->machine[i], b) - m->shape_mean[b]) /
					(double)s->count;
	for (size_t k = 0; k < TW_PRIOR_SHAPES; k++)
		take_component(c, m->shape[k]);
}

static void find_facts(const struct tw_pupils *s, struct tw_prior_member *m)
{
	for (size_t n = 0; n < TW_PRIOR_NUMBERS; n++)
		tw_pupils_range(s->row, s->count, m, (enum tw_prior_number)n);
	find_shapes(s, m);
}

static double target_of(const struct tw_prior_member *m, const struct tw_prior_row *r,
			const struct tw_measured_machine *w, size_t t)
{
	double sum = 0;

	if (t == 0)
		return log(w->w[TW_PRIOR_LOADS - 1]) - tw_prior_log_scale(m->scale, r);
	if (t == 1)
		return log(w->w[0]) - tw_prior_log_idle_scale(m->scale, r);
	for (size_t j = 0; j < TW_PRIOR_INNER; j++)
		sum += (shape_of(w, j) - m->shape_mean[j]) * m->shape[t - 2][j];
	return sum;
}

/* ---- tasks: a target of a member of a view ---- */

struct task {
	const struct tw_prior_view *view;
	struct tw_prior_member *member;
	size_t target;
	double *held_out; /* of each row of the prior; NULL: not wanted */
	struct tw_err err;
	bool failed;
};

struct job {
	const struct tw_prior *p;
	const struct tw_machine_table *t;
	const bool *use;
	bool learn;
	struct task *task;
};

static int fit_target(const struct job *j, struct task *k, struct tw_pupils *s,
		      struct tw_err *err)
{
	struct tw_prior_target *target = &k->member->target[k->target];
	const struct tw_process_data d = { .row = s->row,
					   .z = (const double(*)[TW_PRIOR_NUMBERS])s->z,
					   .y = s->y,
					   .group = s->group,
					   .rows = s->count,
					   .categories = k->view->categories,
					   .radial = target->kernel.radial > 0,
					   .spread = spread[k->target] };
	double mean = 0, constant = 0;

	for (size_t i = 0; i < s->count; i++) {
		tw_prior_standardise(k->view, k->member, s->row[i], s->z[i]);
		s->y[i] = target_of(k->member, s->row[i], s->machine[i], k->target);
		mean += s->y[i] / (double)s->count;
	}
	for (size_t i = 0; i < s->count; i++)
		s->y[i] -= mean;
	if (j->learn && tw_process_learn(&d, &target->kernel, err) < 0)
		return -1;
	if (tw_process_solve(&d, &target->kernel, s->result, &constant, err) < 0)
		return -1;
	target->mean = mean + constant;
	memset(target->weight, 0, j->p->rows * sizeof(*target->weight));
	for (size_t i = 0; i < s->count; i++)
		target->weight[s->at[i]] = s->result[i];
	if (k->held_out == NULL)
		return 0;
	if (tw_process_leave_out(&d, &target->kernel, s->result, err) < 0)
		return -1;
	for (size_t i = 0; i < s->count; i++)
		k->held_out[s->at[i]] = s->result[i] + mean;
	return 0;
}

static void run_task(void *arg, size_t i)
{
	const struct job *j = arg;
	struct task *k = &j->task[i];
	struct tw_pupils s = { 0 };

	k->failed = tw_pupils_of(j->p, j->t, j->use, k->view, &s, &k->err) < 0 ||
		    fit_target(j, k, &s, &k->err) < 0;
	tw_pupils_release(&s);
}

/* The facts of all members first: the tasks of a member share them. */
static int prepare(struct tw_prior *p, const struct tw_machine_table *t, const bool *use,
		   struct tw_err *err)
{
	for (size_t v = 0; v < p->views; v++) {
		struct tw_pupils s = { 0 };
		const int failed = tw_pupils_of(p, t, use, &p->view[v], &s, err);

		for (size_t m = 0; failed == 0 && m < p->view[v].members; m++)
			find_facts(&s, &p->view[v].member[m]);
		tw_pupils_release(&s);
		if (failed < 0)
			return -1;
	}
	return 0;
}

/* log W of each machine without its processor. */
static int hold_out(const struct job *j, const struct tw_prior_view *v,
		    const struct task *first, struct tw_prior_held_out *out,
		    struct tw_err *err)
{
	struct tw_pupils s = { 0 };
	int rc = -1;

	if (tw_pupils_of(j->p, j->t, j->use, v, &s, err) < 0 ||
	    tw_prior_held_out_new(s.count, out, err) < 0)
		goto out;
	for (size_t i = 0; i < s.count; i++) {
		double log_w[TW_PRIOR_LOADS] = { 0 };

		for (size_t m = 0; m < v->members; m++) {
			double f[TW_PRIOR_TARGETS], one[TW_PRIOR_LOADS];

			for (size_t t = 0; t < TW_PRIOR_TARGETS; t++)
				f[t] = first[m * TW_PRIOR_TARGETS + t].held_out[s.at[i]];
			tw_prior_compose(&v->member[m], s.row[i], f, one);
			for (size_t l = 0; l < TW_PRIOR_LOADS; l++)
				log_w[l] += one[l] / (double)v->members;
		}
		out->group[i] = s.group[i];
		if (tw_prior_variance(j->p, v, s.row[i],
				      tw_prior_anchor_of(j->p, v, s.row[i]),
				      out->variance[i], err) < 0)
			goto out;
		for (size_t l = 0; l < TW_PRIOR_LOADS; l++)
			out->log_ratio[i][l] =
				log(s.machine[i]->w[l]) - log_w[l] + out->variance[i][l];
	}
	rc = 0;
out:
	tw_pupils_release(&s);
	return rc;
}

static int find_errors(const struct job *j, struct tw_prior_view *v,
		       const struct task *first, struct tw_err *err)
{
	struct tw_prior_held_out h = { 0 };
	int rc = -1;

	if (hold_out(j, v, first, &h, err) < 0)
		goto out;
	rc = tw_prior_errors(&h, v, err);
out:
	tw_prior_held_out_release(&h);
	return rc;
}

static size_t add_tasks(struct tw_prior *p, struct task *task)
{
	size_t n = 0;

	for (size_t v = 0; v < p->views; v++)
		for (size_t m = 0; m < p->view[v].members; m++)
			for (size_t t = 0; t < TW_PRIOR_TARGETS; t++)
				task[n++] =
					(struct task){ .view = &p->view[v],
						       .member = &p->view[v].member[m],
						       .target = t };
	return n;
}

static int run(struct tw_prior *p, const struct tw_machine_table *t, const bool *use,
	       bool learn, unsigned threads, struct tw_err *err)
{
	struct task task[TW_PRIOR_VIEWS_MAX * TW_PRIOR_MEMBERS_MAX * TW_PRIOR_TARGETS];
	struct job j = { .p = p, .t = t, .use = use, .learn = learn, .task = task };
	const size_t count = add_tasks(p, task);
	double *held_out = calloc(count * (p->rows + 1), sizeof(*held_out));
	size_t at = 0;
	int rc = -1;

	if (held_out == NULL)
		return tw_fail(err, TW_NOMEM, "predictions of %zu machines", p->rows);
	for (size_t i = 0; learn && i < count; i++)
		task[i].held_out = held_out + i * p->rows;
	if (prepare(p, t, use, err) < 0)
		goto out;
	tw_pool_run(count, threads, run_task, &j);
	for (size_t i = 0; i < count; i++)
		if (task[i].failed) {
			tw_fail(err, task[i].err.code, "%s", task[i].err.text);
			goto out;
		}
	if (tw_prior_find_anchors(p, err) < 0)
		goto out;
	for (size_t v = 0; learn && v < p->views; v++) {
		if (find_errors(&j, &p->view[v], &task[at], err) < 0)
			goto out;
		at += p->view[v].members * TW_PRIOR_TARGETS;
	}
	rc = 0;
out:
	free(held_out);
	return rc;
}

int tw_prior_learn_known(struct tw_prior *p, const struct tw_machine_table *t,
			 const bool *use, unsigned threads, struct tw_err *err)
{
	return run(p, t, use, true, threads, err);
}

int tw_prior_condition(struct tw_prior *p, const struct tw_machine_table *t,
		       const bool *use, unsigned threads, struct tw_err *err)
{
	return run(p, t, use, false, threads, err);
}
