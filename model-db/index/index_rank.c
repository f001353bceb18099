/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index/index_rank.h"

#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "model-db/index/index.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- machines ---- */

static const struct tw_node_type *find_type(const struct tw_index_pipeline *p,
					    long long number)
{
	for (size_t i = 0; i < p->types.count; i++)
		if (p->types.at[i].number == number)
			return &p->types.at[i];
	return NULL;
}

/* The pipeline's list of node types goes before the metadata of a model. */
static int describe(struct tw_index *x, const struct tw_index_entry *e,
		    struct tw_index_machine *m, struct tw_err *err)
{
	const struct tw_index_pipeline *p = tw_index_pipeline_find(x, e->pipeline);
	const struct tw_node_type *type = p != NULL ? find_type(p, e->node_type) : NULL;

	m->pipeline = e->pipeline;
	m->node_type = e->node_type;
	m->members = type != NULL && type->members.count > 0 ? type->members.count : 1;
	if (type != NULL && tw_machine_spec_known(&type->spec))
		m->spec = type->spec;
	else
		m->spec = *e->spec;
	tw_likeness_of(&m->spec, &m->likeness);
	m->processor = tw_intern(&x->texts, m->likeness.processor,
				 strlen(m->likeness.processor), err);
	return m->processor != NULL ? 0 : -1;
}

static int by_machine(const void *a, const void *b)
{
	const struct tw_index_entry *const *p = a, *const *q = b;
	const struct tw_index_entry *x = *p, *y = *q;

	if (x->pipeline != y->pipeline)
		return strcmp(x->pipeline, y->pipeline);
	if (x->node_type != y->node_type)
		return x->node_type < y->node_type ? -1 : 1;
	/* Models that know their machine's spec come first. */
	if (tw_machine_spec_known(x->spec) != tw_machine_spec_known(y->spec))
		return tw_machine_spec_known(x->spec) ? -1 : 1;
	return x < y ? -1 : x > y;
}

static bool same_machine(const struct tw_index_entry *a, const struct tw_index_entry *b)
{
	return a->pipeline == b->pipeline && a->node_type == b->node_type;
}

int tw_index_find_machines(struct tw_index *x, struct tw_err *err)
{
	struct tw_index_entry **sorted = calloc(x->count + 1, sizeof(*sorted));
	int rc = -1;

	x->machine = calloc(x->count + 1, sizeof(*x->machine));
	if (sorted == NULL || x->machine == NULL) {
		tw_fail(err, TW_NOMEM, "machines of %zu models", x->count);
		goto out;
	}
	for (size_t i = 0; i < x->count; i++)
		sorted[i] = &x->entry[i];
	qsort(sorted, x->count, sizeof(*sorted), by_machine);
	for (size_t i = 0; i < x->count; i++) {
		if ((i == 0 || !same_machine(sorted[i - 1], sorted[i])) &&
		    describe(x, sorted[i], &x->machine[x->machine_count++], err) < 0)
			goto out;
		sorted[i]->machine = &x->machine[x->machine_count - 1];
	}
	rc = 0;
out:
	free(sorted);
	return rc;
}

/* ---- order of preference ---- */

/* The figures by which families are ranked. */
struct merit {
	size_t preference;
	bool few_rows;
	double error_percent; /* the lowest; HUGE_VAL: not defined */
	double rows;
};

/* A model and the merit of its family. */
struct ranked {
	struct tw_index_entry *entry;
	struct merit merit;
};

static int compare_doubles(double a, double b)
{
	return (a > b) - (a < b);
}

static double or_last(double error)
{
	return isnan(error) ? HUGE_VAL : error;
}

static int compare_families(const struct tw_index_entry *a,
			    const struct tw_index_entry *b)
{
	/* Machines are sorted by pipeline, then node type. */
	if (a->machine != b->machine)
		return a->machine < b->machine ? -1 : 1;
	if (a->source != b->source)
		return strcmp(a->source->name, b->source->name);
	return (int)a->output - (int)b->output;
}

static int by_family(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return compare_families(x->entry, y->entry);
}

static int compare_fitness(const struct tw_index_entry *a, const struct tw_index_entry *b)
{
	return (a->fitness == TW_UNFIT) - (b->fitness == TW_UNFIT);
}

static int compare_models(const struct tw_index_entry *a, const struct tw_index_entry *b)
{
	int d = compare_fitness(a, b);

	if (d == 0)
		d = a->yields - b->yields;
	if (d == 0)
		d = compare_doubles(or_last(a->error), or_last(b->error));
	if (d == 0)
		d = (a->feature_count > b->feature_count) -
		    (a->feature_count < b->feature_count);
	if (d == 0)
		d = strcmp(a->name, b->name);
	return d != 0 ? d : strcmp(a->group->name, b->group->name);
}

static int compare_merits(const struct merit *a, const struct merit *b)
{
	if (a->preference != b->preference)
		return a->preference < b->preference ? -1 : 1;
	if (a->few_rows != b->few_rows)
		return a->few_rows ? 1 : -1;
	if (a->error_percent < b->error_percent || a->error_percent > b->error_percent)
		return compare_doubles(a->error_percent, b->error_percent);
	return compare_doubles(b->rows, a->rows);
}

static int by_preference(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	int d = compare_merits(&x->merit, &y->merit);

	if (d == 0)
		d = compare_families(x->entry, y->entry);
	return d != 0 ? d : compare_models(x->entry, y->entry);
}

static int by_series(const void *a, const void *b)
{
	const struct tw_index_entry *const *p = a, *const *q = b;
	const struct tw_index_entry *x = *p, *y = *q;
	int d = compare_fitness(x, y);

	if (d == 0)
		d = x->series_yields - y->series_yields;
	if (d == 0)
		d = compare_doubles(or_last(x->series_error), or_last(y->series_error));
	return d != 0 ? d : (x->rank > y->rank) - (x->rank < y->rank);
}

static size_t find_preference(const struct tw_strs *prefer, const char *pipeline)
{
	ptrdiff_t place = prefer != NULL ? tw_strs_find(prefer, pipeline) : -1;

	return place >= 0 ? (size_t)place : SIZE_MAX;
}

static bool any_fit(const struct ranked *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].entry->fitness != TW_UNFIT)
			return true;
	return false;
}

/*
 * The merit of the family list[0..count): that of the models that clients may get. The
 * relative error of a target with idle power is low, but no client gets such a model.
 */
static struct merit weigh(const struct ranked *list, size_t count,
			  const struct tw_strs *prefer)
{
	struct merit w = { .preference = find_preference(prefer, list->entry->pipeline),
			   .error_percent = HUGE_VAL };
	const bool only_fit = any_fit(list, count);

	for (size_t i = 0; i < count; i++) {
		const struct tw_index_entry *e = list[i].entry;
		const double rows = tw_index_figure(e, "data_rows");

		if (only_fit && e->fitness == TW_UNFIT)
			continue;
		if (e->mape_percent < w.error_percent)
			w.error_percent = e->mape_percent;
		if (rows > w.rows)
			w.rows = rows;
	}
	w.few_rows = w.rows < TW_RANK_ROWS_MIN;
	return w;
}

/*
 * A biased model does not yield if its error is below this share of the error of each
 * model of its family that is fit and not biased. The error has the bias twice: the sum
 * of many rows shows it most.
 */
#define CLEARLY_BELOW 0.90

static double least_unbiased_error(const struct ranked *list, size_t count, bool series)
{
	double least = NAN;

	for (size_t i = 0; i < count; i++)
		if (!list[i].entry->biased && list[i].entry->fitness != TW_UNFIT)
			least = fmin(least, tw_index_biased_error(list[i].entry, series));
	return least;
}

/* Find the biased models of the family list[0..count) that yield. */
static void find_yielding(struct ranked *list, size_t count)
{
	const double most = CLEARLY_BELOW * least_unbiased_error(list, count, false);
	const double most_series =
		CLEARLY_BELOW * least_unbiased_error(list, count, true);

	for (size_t i = 0; i < count; i++) {
		struct tw_index_entry *e = list[i].entry;

		e->yields = e->biased && !(tw_index_biased_error(e, false) < most);
		e->series_yields =
			e->biased && !(tw_index_biased_error(e, true) < most_series);
	}
}

/*
 * A difference of less than 2 % between blocked errors is chance, and a model of fewer
 * features is then the safer one. So each error of a family becomes the least that is at
 * most 2 % smaller, from the least of all on.
 */
#define EQUAL_WITHIN 1.02

static double *error_at(const struct ranked *m, bool series)
{
	return series ? &m->entry->series_error : &m->entry->error;
}

static void level_errors(struct ranked *list, size_t count, bool series)
{
	for (double above = -HUGE_VAL;;) {
		double least = HUGE_VAL;

		for (size_t i = 0; i < count; i++)
			if (*error_at(&list[i], series) > above)
				least = fmin(least, *error_at(&list[i], series));
		if (isinf(least))
			break;
		above = least * EQUAL_WITHIN;
		for (size_t i = 0; i < count; i++)
			if (*error_at(&list[i], series) > least &&
			    *error_at(&list[i], series) <= above)
				*error_at(&list[i], series) = least;
	}
}

static void weigh_all(struct ranked *list, size_t count, const struct tw_strs *prefer,
		      bool level)
{
	for (size_t from = 0, to; from < count; from = to) {
		struct merit w;

		for (to = from + 1; to < count; to++)
			if (by_family(&list[from], &list[to]) != 0)
				break;
		w = weigh(list + from, to - from, prefer);
		find_yielding(list + from, to - from);
		for (int series = 0; level && series < 2; series++)
			level_errors(list + from, to - from, series == 1);
		for (size_t i = from; i < to; i++)
			list[i].merit = w;
	}
}

/* Lower is better for every figure: the sign of r2 and the like is changed. */
static double error_of(const struct tw_index *x, double figure)
{
	return tw_index_figure_more_is_better(x->error_key) ? -figure : figure;
}

static int list_families(struct tw_index *x, struct tw_err *err)
{
	struct tw_index_family *f = NULL;

	x->family = calloc(x->count + 1, sizeof(*x->family));
	if (x->family == NULL)
		return tw_fail(err, TW_NOMEM, "families of %zu models", x->count);
	for (size_t i = 0; i < x->count; i++) {
		const struct tw_index_entry *e = x->by_rank[i];

		if (i == 0 || compare_families(x->by_rank[i - 1], e) != 0) {
			f = &x->family[x->family_count++];
			*f = (struct tw_index_family){ .machine = e->machine,
						       .source = e->source,
						       .output = e->output,
						       .model = &x->by_rank[i],
						       .by_series = &x->by_series[i] };
		}
		x->by_series[i] = e;
		f->count++;
	}
	for (size_t i = 0; i < x->family_count; i++)
		qsort(&x->by_series[x->family[i].model - x->by_rank], x->family[i].count,
		      sizeof(*x->by_series), by_series);
	return 0;
}

int tw_index_rank(struct tw_index *x, const struct tw_strs *prefer, struct tw_err *err)
{
	struct ranked *list = calloc(x->count + 1, sizeof(*list));
	int rc = -1;

	x->by_rank = calloc(x->count + 1, sizeof(*x->by_rank));
	x->by_series = calloc(x->count + 1, sizeof(*x->by_series));
	if (list == NULL || x->by_rank == NULL || x->by_series == NULL) {
		tw_fail(err, TW_NOMEM, "order of %zu models", x->count);
		goto out;
	}
	for (size_t i = 0; i < x->count; i++) {
		struct tw_index_entry *e = &x->entry[i];
		const char *key = tw_index_error_key(x, true);
		const double series = tw_index_series_figure(e, key);

		e->error = error_of(x, tw_index_figure(e, x->error_key));
		e->series_error =
			error_of(x, isnan(series) ? tw_index_figure(e, key) : series);
		list[i].entry = &x->entry[i];
	}
	qsort(list, x->count, sizeof(*list), by_family);
	weigh_all(list, x->count, prefer, strcmp(x->error_key, TW_INDEX_ERROR) == 0);
	qsort(list, x->count, sizeof(*list), by_preference);
	for (size_t i = 0; i < x->count; i++) {
		x->by_rank[i] = list[i].entry;
		list[i].entry->rank = (uint32_t)i;
	}
	if (list_families(x, err) < 0)
		goto out;
	rc = 0;
out:
	free(list);
	return rc;
}
