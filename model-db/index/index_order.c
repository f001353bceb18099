/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index/index_order.h"

#include "lib/core/err.h"
#include "model-db/index/index_impl.h"
#include "model-db/index/index_rank.h"
#include "model-db/index/index_use.h"

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
	if (a->fitness != b->fitness)
		return a->fitness < b->fitness ? -1 : 1;
	if (a->unfit_why != b->unfit_why)
		return compare_pointers(a->unfit_why, b->unfit_why);
	if (a->serves_shares != b->serves_shares)
		return a->serves_shares ? 1 : -1;
	if (a->predictor != b->predictor)
		return compare_pointers(a->predictor, b->predictor);
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

static void number_kinds(struct tw_index_entry **all, size_t count)
{
	uint32_t kinds = 0;

	qsort(all, count, sizeof(*all), by_kind);
	for (size_t i = 0; i < count; i++) {
		kinds += i == 0 || compare_kinds(all[i - 1], all[i]) != 0;
		all[i]->kind = kinds - 1;
	}
}

static int number_parts(struct tw_index_orders *o, struct tw_index_entry **all,
			size_t count, struct tw_err *err)
{
	o->shelf = calloc(count + 1, sizeof(*o->shelf));
	o->part = calloc(count + 1, sizeof(*o->part));
	if (o->shelf == NULL || o->part == NULL)
		return tw_fail(err, TW_NOMEM, "shelves of %zu models", count);
	qsort(all, count, sizeof(*all), by_shelf);
	for (size_t i = 0; i < count; i++) {
		const bool shelf = i == 0 || compare_shelves(all[i - 1], all[i]) != 0;

		if (shelf)
			o->shelf[o->shelves++] =
				(struct tw_index_shelf){ .sample = all[i],
							 .first_part = o->parts };
		if (shelf || all[i - 1]->kind != all[i]->kind) {
			o->part[o->parts++] =
				(struct tw_index_part){ .sample = all[i], .from = i };
			o->shelf[o->shelves - 1].parts++;
		}
		o->part[o->parts - 1].count++;
		all[i]->part = (uint32_t)(o->parts - 1);
	}
	return 0;
}

/* ---- orders ---- */

static int by_address(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return compare_pointers(*x, *y);
}

/* Trainers are few: of each the first model in a sorted list of all. */
static int list_trainers(struct tw_index_orders *o, struct tw_index_entry **all,
			 size_t count, struct tw_err *err)
{
	o->trainer = calloc(count + 1, sizeof(*o->trainer));
	if (o->trainer == NULL)
		return tw_fail(err, TW_NOMEM, "trainers of %zu models", count);
	for (size_t i = 0; i < count; i++)
		o->trainer[i] = all[i]->trainer;
	qsort(o->trainer, count, sizeof(*o->trainer), by_address);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || o->trainer[i] != o->trainer[o->trainers - 1])
			o->trainer[o->trainers++] = o->trainer[i];
	return 0;
}

static uint32_t trainer_value(const struct tw_index_orders *o, const char *trainer)
{
	const char *const *place = bsearch(&trainer, o->trainer, o->trainers,
					   sizeof(*o->trainer), by_address);

	return place != NULL ? (uint32_t)(place - o->trainer) : UINT32_MAX;
}

uint32_t tw_index_pipeline_value(const struct tw_index *x, const char *pipeline)
{
	const struct tw_index_pipeline *p = tw_index_pipeline_find(x, pipeline);

	return p != NULL ? (uint32_t)(p - x->pipeline) : UINT32_MAX;
}

uint32_t tw_index_machine_value(const struct tw_index *x,
				const struct tw_index_machine *m)
{
	return m != NULL ? (uint32_t)(m - x->machines.at) : UINT32_MAX;
}

static uint32_t scope_value(const struct tw_index *x, const struct tw_index_entry *e,
			    enum tw_index_scope scope)
{
	switch (scope) {
	case TW_IN_PIPELINE:
		return tw_index_pipeline_value(x, e->pipeline);
	case TW_IN_NODE_TYPE:
		return (uint32_t)e->node_type;
	case TW_IN_MACHINE:
		return tw_index_machine_value(x, e->machine);
	case TW_IN_ALL:
	case TW_IN_COUNT:
		break;
	}
	return 0;
}

static uint64_t make_key(uint32_t value, uint32_t trainer)
{
	return (uint64_t)value << 32 | trainer;
}

/* A model with its key, to be sorted. */
struct keyed {
	uint64_t key;
	const struct tw_index_entry *entry;
};

static int by_key(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->entry->part != y->entry->part)
		return x->entry->part < y->entry->part ? -1 : 1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->entry->rank > y->entry->rank) - (x->entry->rank < y->entry->rank);
}

static struct tw_index_order *make_order(const struct tw_index *x,
					 enum tw_index_scope scope, bool trainer,
					 struct keyed *list)
{
	const struct tw_index_orders *orders = &x->orders;
	struct tw_index_order *o = calloc(1, sizeof(*o));

	if (o == NULL)
		return NULL;
	o->key = malloc((x->count + 1) * sizeof(*o->key));
	o->rank = malloc((x->count + 1) * sizeof(*o->rank));
	for (size_t i = 0; i < x->count; i++) {
		const struct tw_index_entry *e = &x->entry[i];

		list[i].entry = e;
		list[i].key = make_key(scope_value(x, e, scope),
				       trainer ? trainer_value(orders, e->trainer) : 0);
	}
	qsort(list, x->count, sizeof(*list), by_key);
	for (size_t i = 0; i < x->count && o->key != NULL && o->rank != NULL; i++) {
		o->key[i] = list[i].key;
		o->rank[i] = list[i].entry->rank;
	}
	return o;
}

static int sort_orders(struct tw_index *x, struct tw_err *err)
{
	struct keyed *list = malloc((x->count + 1) * sizeof(*list));
	int rc = -1;

	for (int scope = 0; scope < TW_IN_COUNT && list != NULL; scope++) {
		for (int trainer = 0; trainer < 2; trainer++) {
			struct tw_index_order *o = make_order(
				x, (enum tw_index_scope)scope, trainer != 0, list);

			x->orders.by[scope][trainer] = o;
			if (o == NULL || o->key == NULL || o->rank == NULL) {
				tw_fail(err, TW_NOMEM, "order of %zu models", x->count);
				goto out;
			}
		}
	}
	if (list == NULL) {
		tw_fail(err, TW_NOMEM, "order of %zu models", x->count);
		goto out;
	}
	rc = 0;
out:
	free(list);
	return rc;
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
	number_kinds(all, x->count);
	if (list_trainers(o, all, x->count, err) < 0 ||
	    number_parts(o, all, x->count, err) < 0 || sort_orders(x, err) < 0)
		goto out;
	rc = 0;
out:
	free(all);
	return rc;
}

static void free_order(struct tw_index_order *o)
{
	if (o == NULL)
		return;
	free(o->key);
	free(o->rank);
	free(o);
}

void tw_index_orders_release(struct tw_index_orders *o)
{
	for (int scope = 0; scope < TW_IN_COUNT; scope++)
		for (int trainer = 0; trainer < 2; trainer++)
			free_order(o->by[scope][trainer]);
	free(o->by_rank);
	free(o->trainer);
	free(o->part);
	free(o->shelf);
	*o = (struct tw_index_orders){ 0 };
}

/* The first place in [low, high) whose key is not before this one. */
static size_t bound(const uint64_t *list, size_t low, size_t high, uint64_t key)
{
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (list[middle] < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Most lists are short: their ends are looked for near their beginnings. */
static size_t find_end(const uint64_t *list, size_t first, size_t end, uint64_t key)
{
	size_t step = 1, low = first;

	while (low + step < end && list[low + step] == key) {
		low += step;
		step *= 2;
	}
	return bound(list, low, low + step < end ? low + step : end, key + 1);
}

const uint32_t *tw_index_range(const struct tw_index *x, const struct tw_index_search *s,
			       size_t *count)
{
	const struct tw_index_order *o = x->orders.by[s->scope][s->trainer != NULL];
	const struct tw_index_part *part = &x->orders.part[s->part];
	const size_t end = part->from + part->count;
	const uint64_t key = make_key(
		s->value, s->trainer != NULL ? trainer_value(&x->orders, s->trainer) : 0);
	const size_t first = bound(o->key, part->from, end, key);

	*count = find_end(o->key, first, end, key) - first;
	return o->rank + first;
}
