/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index_order.h"

#include "lib/err.h"
#include "model-db/index_impl.h"
#include "model-db/index_rank.h"

#include <stdlib.h>
#include <string.h>

const char *tw_index_own_text(const struct tw_index *x, const char *text)
{
	return tw_intern_find(&x->texts, text, strlen(text));
}

static int compare_pointers(const void *a, const void *b)
{
	const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;

	return (x > y) - (x < y);
}

static int compare_numbers(long long a, long long b)
{
	return (a > b) - (a < b);
}

/* ---- shelves and kinds ---- */

static int compare_shelves(const struct tw_index_entry *a, const struct tw_index_entry *b)
{
	int d = compare_pointers(a->source, b->source);

	if (d == 0)
		d = (int)a->output - (int)b->output;
	if (d == 0)
		d = compare_pointers(a->group, b->group);
	/* Lists of features are kept once, too. */
	return d != 0 ? d : compare_pointers(a->features, b->features);
}

static int compare_kinds(const struct tw_index_entry *a, const struct tw_index_entry *b)
{
	if (a->weights_for != b->weights_for)
		return a->weights_for < b->weights_for ? -1 : 1;
	if (a->floor != b->floor)
		return a->floor ? 1 : -1;
	return compare_pointers(a->first_metric, b->first_metric);
}

static int by_kind(const void *a, const void *b)
{
	const struct tw_index_entry *const *x = a, *const *y = b;

	return compare_kinds(*x, *y);
}

static int by_shelf(const void *a, const void *b)
{
	const struct tw_index_entry *const *x = a, *const *y = b;
	int d = compare_shelves(*x, *y);

	if (d != 0)
		return d;
	return ((*x)->kind > (*y)->kind) - ((*x)->kind < (*y)->kind);
}

static int number_kinds(struct tw_index_orders *o, struct tw_index_entry **all,
			size_t count, struct tw_err *err)
{
	o->kind = calloc(count + 1, sizeof(*o->kind));
	if (o->kind == NULL)
		return tw_fail(err, TW_NOMEM, "kinds of %zu models", count);
	qsort(all, count, sizeof(*all), by_kind);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || compare_kinds(all[i - 1], all[i]) != 0)
			o->kind[o->kinds++] = all[i];
		all[i]->kind = (uint32_t)(o->kinds - 1);
	}
	return 0;
}

static int number_shelves(struct tw_index_orders *o, struct tw_index_entry **all,
			  size_t count, struct tw_err *err)
{
	struct tw_index_shelf *s = NULL;
	size_t listed = 0;

	o->shelf = calloc(count + 1, sizeof(*o->shelf));
	o->kinds_on = calloc(count + 1, sizeof(*o->kinds_on));
	if (o->shelf == NULL || o->kinds_on == NULL)
		return tw_fail(err, TW_NOMEM, "shelves of %zu models", count);
	qsort(all, count, sizeof(*all), by_shelf);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || compare_shelves(all[i - 1], all[i]) != 0) {
			s = &o->shelf[o->shelves++];
			*s = (struct tw_index_shelf){ .sample = all[i],
						      .first_kind = listed };
		}
		all[i]->shelf = (uint32_t)(o->shelves - 1);
		if (s->kinds == 0 || o->kinds_on[listed - 1] != all[i]->kind) {
			o->kinds_on[listed++] = all[i]->kind;
			s->kinds++;
		}
	}
	return 0;
}

/* ---- orders ---- */

/* One of the orders: what it is by, beside shelf and kind. */
struct order {
	enum tw_index_scope scope;
	bool trainer;
};

static int compare_scopes(enum tw_index_scope scope, const char *pipeline_a,
			  long long node_type_a, const char *pipeline_b,
			  long long node_type_b)
{
	int d = 0;

	if (scope == TW_IN_PIPELINE || scope == TW_IN_MACHINE)
		d = compare_pointers(pipeline_a, pipeline_b);
	if (d == 0 && (scope == TW_IN_NODE_TYPE || scope == TW_IN_MACHINE))
		d = compare_numbers(node_type_a, node_type_b);
	return d;
}

/* A search against a model: below 0 if it is for what comes before. */
static int compare_search(const struct tw_index_search *s, const struct tw_index_entry *e)
{
	int d = (s->shelf > e->shelf) - (s->shelf < e->shelf);

	if (d == 0)
		d = (s->kind > e->kind) - (s->kind < e->kind);
	if (d == 0)
		d = compare_scopes(s->scope, s->pipeline, s->node_type, e->pipeline,
				   e->node_type);
	if (d == 0 && s->trainer != NULL)
		d = compare_pointers(s->trainer, e->trainer);
	return d;
}

static int by_order(const void *a, const void *b, void *arg)
{
	const struct tw_index_entry *const *p = a, *const *q = b;
	const struct order *o = arg;
	const struct tw_index_search s = { .shelf = (*p)->shelf,
					   .kind = (*p)->kind,
					   .scope = o->scope,
					   .pipeline = (*p)->pipeline,
					   .node_type = (*p)->node_type,
					   .trainer = o->trainer ? (*p)->trainer : NULL };
	const int d = compare_search(&s, *q);

	return d != 0 ? d : ((*p)->rank > (*q)->rank) - ((*p)->rank < (*q)->rank);
}

static int sort_orders(struct tw_index_orders *o, size_t count, struct tw_err *err)
{
	for (int scope = 0; scope < TW_IN_COUNT; scope++) {
		for (int trainer = 0; trainer < 2; trainer++) {
			struct order order = { (enum tw_index_scope)scope, trainer != 0 };
			const struct tw_index_entry **list =
				malloc((count + 1) * sizeof(*list));

			if (list == NULL)
				return tw_fail(err, TW_NOMEM, "order of %zu models",
					       count);
			o->by[scope][trainer] = list;
			memcpy(list, o->by_rank, count * sizeof(*list));
			qsort_r(list, count, sizeof(*list), by_order, &order);
		}
	}
	return 0;
}

int tw_index_orders_make(struct tw_index *x, const struct tw_strs *prefer,
			 struct tw_err *err)
{
	struct tw_index_entry **all = calloc(x->count + 1, sizeof(*all));
	struct tw_index_orders *o = &x->orders;
	int rc = -1;

	o->by_rank = calloc(x->count + 1, sizeof(*o->by_rank));
	if (all == NULL || o->by_rank == NULL) {
		tw_fail(err, TW_NOMEM, "orders of %zu models", x->count);
		goto out;
	}
	for (size_t i = 0; i < x->count; i++)
		all[i] = &x->entry[i];
	if (tw_index_rank(x, prefer, all, err) < 0)
		goto out;
	for (size_t i = 0; i < x->count; i++)
		o->by_rank[i] = all[i];
	if (number_kinds(o, all, x->count, err) < 0 ||
	    number_shelves(o, all, x->count, err) < 0 ||
	    sort_orders(o, x->count, err) < 0)
		goto out;
	rc = 0;
out:
	free(all);
	return rc;
}

void tw_index_orders_release(struct tw_index_orders *o)
{
	for (int scope = 0; scope < TW_IN_COUNT; scope++)
		for (int trainer = 0; trainer < 2; trainer++)
			free(o->by[scope][trainer]);
	free(o->by_rank);
	free(o->kinds_on);
	free(o->kind);
	free(o->shelf);
	*o = (struct tw_index_orders){ 0 };
}

/* The first place whose model does not come before the search, or is behind it. */
static size_t bound(const struct tw_index_entry *const *list, size_t low, size_t high,
		    const struct tw_index_search *s, bool behind)
{
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const int d = compare_search(s, list[middle]);

		if (d > 0 || (behind && d == 0))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct tw_index_entry *const *
tw_index_range(const struct tw_index *x, const struct tw_index_search *s, size_t *count)
{
	const struct tw_index_entry *const *list =
		x->orders.by[s->scope][s->trainer != NULL];
	const size_t first = bound(list, 0, x->count, s, false);

	*count = bound(list, first, x->count, s, true) - first;
	return list + first;
}
