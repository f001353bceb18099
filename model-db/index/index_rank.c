/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index/index_rank.h"

#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "model-db/index/index_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a machine's models of one source and output are worth together. */
struct worth {
	size_t preference;
	bool few_rows;
	double error_percent; /* the lowest; HUGE_VAL: not defined */
	double rows;
};

/* A model with what it is sorted by. */
struct ranked {
	struct tw_index_entry *entry;
	struct worth worth;
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
	/* Machines lie in order of pipeline, then number. */
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

static int compare_models(const struct tw_index_entry *a, const struct tw_index_entry *b)
{
	int d = compare_doubles(or_last(a->error), or_last(b->error));

	if (d == 0)
		d = (a->feature_count > b->feature_count) -
		    (a->feature_count < b->feature_count);
	if (d == 0)
		d = strcmp(a->name, b->name);
	return d != 0 ? d : strcmp(a->group->name, b->group->name);
}

static int compare_worth(const struct worth *a, const struct worth *b)
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
	int d = compare_worth(&x->worth, &y->worth);

	if (d == 0)
		d = compare_families(x->entry, y->entry);
	return d != 0 ? d : compare_models(x->entry, y->entry);
}

static size_t find_preference(const struct tw_strs *prefer, const char *pipeline)
{
	ptrdiff_t place = prefer != NULL ? tw_strs_find(prefer, pipeline) : -1;

	return place >= 0 ? (size_t)place : SIZE_MAX;
}

/* Of list[0..count), which are one machine's of one source and output. */
static struct worth weigh(const struct ranked *list, size_t count,
			  const struct tw_strs *prefer)
{
	struct worth w = { .preference = find_preference(prefer, list->entry->pipeline),
			   .error_percent = HUGE_VAL };

	for (size_t i = 0; i < count; i++) {
		const struct tw_index_entry *e = list[i].entry;
		const double rows = tw_index_figure(e, "data_rows");

		if (e->mape_percent < w.error_percent)
			w.error_percent = e->mape_percent;
		if (rows > w.rows)
			w.rows = rows;
	}
	w.few_rows = w.rows < TW_RANK_ROWS_MIN;
	return w;
}

static void weigh_all(struct ranked *list, size_t count, const struct tw_strs *prefer)
{
	for (size_t from = 0, to; from < count; from = to) {
		struct worth w;

		for (to = from + 1; to < count; to++)
			if (by_family(&list[from], &list[to]) != 0)
				break;
		w = weigh(list + from, to - from, prefer);
		for (size_t i = from; i < to; i++)
			list[i].worth = w;
	}
}

/* Lower is better, whatever the figure. */
static double error_of(const struct tw_index *x, const struct tw_index_entry *e)
{
	const double figure = tw_index_figure(e, x->error_key);

	return tw_index_figure_more_is_better(x->error_key) ? -figure : figure;
}

int tw_index_rank(const struct tw_index *x, const struct tw_strs *prefer,
		  struct tw_index_entry **all, struct tw_err *err)
{
	struct ranked *list = calloc(x->count + 1, sizeof(*list));

	if (list == NULL)
		return tw_fail(err, TW_NOMEM, "order of %zu models", x->count);
	for (size_t i = 0; i < x->count; i++) {
		all[i]->error = error_of(x, all[i]);
		list[i].entry = all[i];
	}
	qsort(list, x->count, sizeof(*list), by_family);
	weigh_all(list, x->count, prefer);
	qsort(list, x->count, sizeof(*list), by_preference);
	for (size_t i = 0; i < x->count; i++) {
		all[i] = list[i].entry;
		all[i]->rank = (uint32_t)i;
	}
	free(list);
	return 0;
}
