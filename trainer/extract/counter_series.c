/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/counter_series.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *make_key(struct tw_intern *keys, const char *const *labels,
			    const struct tw_series *s, struct tw_err *err)
{
	struct tw_buf text = { 0 };
	const char *key = NULL;

	for (size_t i = 0; labels[i] != NULL; i++) {
		const char *value = tw_series_label(s, labels[i]);

		if (i > 0)
			tw_buf_adds(&text, "/");
		if (value != NULL)
			tw_buf_adds(&text, value);
	}
	if (tw_buf_failed(&text))
		tw_fail(err, TW_NOMEM, "key of a series");
	else
		key = tw_intern(keys, text.data, text.len, err);
	tw_buf_clear(&text);
	return key;
}

int tw_counter_set_add(struct tw_counter_set *c, const char *const *labels, size_t column,
		       const struct tw_series *s, struct tw_err *err)
{
	const char *key = make_key(&c->keys, labels, s, err);

	if (key == NULL)
		return -1;
	if (!tw_grow(&c->at, &c->size, c->count, sizeof(*c->at)))
		return tw_fail(err, TW_NOMEM, "%zu series", c->count);
	c->at[c->count++] = (struct tw_counter_series){ key, column, s };
	return 0;
}

static int compare_series(const void *a, const void *b)
{
	const struct tw_counter_series *x = a, *y = b;
	double first, other;

	if (x->key != y->key)
		return strcmp(x->key, y->key);
	if (x->column != y->column)
		return x->column < y->column ? -1 : 1;
	first = tw_packed_first(&x->series->time_ms);
	other = tw_packed_first(&y->series->time_ms);
	if (first != other)
		return first < other ? -1 : 1;
	/* Keep the response's order: qsort() is not stable. */
	return x->series < y->series ? -1 : x->series > y->series;
}

void tw_counter_set_sort(struct tw_counter_set *c)
{
	if (c->count > 1)
		qsort(c->at, c->count, sizeof(c->at[0]), compare_series);
}

size_t tw_counter_set_next(const struct tw_counter_set *c, size_t i)
{
	const struct tw_counter_series *first = &c->at[i];

	while (i < c->count && c->at[i].key == first->key &&
	       c->at[i].column == first->column)
		i++;
	return i;
}

int tw_counter_set_cut(struct tw_counter_set *c, size_t i, double from_ms,
		       struct tw_err *err)
{
	const struct tw_series *s = c->at[i].series;
	struct tw_unpack times = tw_unpack_begin(&s->time_ms);
	struct tw_series *kept = tw_arena_get(&c->memory, sizeof(*kept));
	uint32_t n = 0;

	if (kept == NULL)
		return tw_fail(err, TW_NOMEM, "part of a series");
	while (n < s->time_ms.count && tw_unpack_next(&times) < from_ms)
		n++;
	*kept = *s;
	kept->time_ms.count = kept->value.count = n;
	c->at[i].series = kept;
	return 0;
}

void tw_counter_set_drop_empty(struct tw_counter_set *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++)
		if (c->at[i].series->value.count > 0)
			c->at[n++] = c->at[i];
	c->count = n;
}

void tw_counter_set_release(struct tw_counter_set *c)
{
	tw_intern_release(&c->keys);
	tw_arena_release(&c->memory);
	free(c->at);
	*c = (struct tw_counter_set){ 0 };
}

/* ---- samples of several series, in order of time ---- */

/* A series that is being merged. */
struct tw_merge_source {
	int64_t time_ms; /* of its next sample */
	size_t place;    /* index of the series among those merged */
	struct tw_unpack times, values;
};

/* Compensated sum (Kahan) of the samples of one time. Joules since boot leave few bits
 * for the fraction, and rates are differences of such sums. */
struct sum {
	double lost;
	const struct tw_counter_series *last; /* the series added last */
};

static bool equal_labels(const struct tw_series *a, const struct tw_series *b)
{
	return a->labels == b->labels &&
	       (a->labels == 0 ||
		memcmp(a->label, b->label, a->labels * sizeof(*a->label)) == 0);
}

static int reserve(struct tw_merged_series *t, size_t size, struct tw_err *err)
{
	if (size <= t->size)
		return 0;
	if (!tw_resize(&t->at, size, sizeof(*t->at)))
		return tw_fail(err, TW_NOMEM, "%zu samples", size);
	t->size = size;
	return 0;
}

static int begin_sample(struct tw_merged_series *t, int64_t time_ms, double value,
			struct tw_err *err)
{
	if (t->count == t->size && reserve(t, t->size * 2, err) < 0)
		return -1;
	t->at[t->count++] = (struct tw_merged_sample){ time_ms, value, 1, 1 };
	return 0;
}

static int add_sample(struct tw_merged_series *t, struct sum *sum,
		      const struct tw_counter_series *here, int64_t time_ms, double value,
		      struct tw_err *err)
{
	struct tw_merged_sample *s = t->count > 0 ? &t->at[t->count - 1] : NULL;
	double add, whole;

	if (s == NULL || s->time_ms != time_ms) {
		*sum = (struct sum){ 0, here };
		return begin_sample(t, time_ms, value, err);
	}
	if (sum->last->key == here->key && equal_labels(sum->last->series, here->series))
		return tw_fail(err, TW_INVALID,
			       "two series of '%s' have a sample at %" PRId64 " ms",
			       here->key, time_ms);
	add = value - sum->lost;
	whole = s->value + add;
	sum->lost = (whole - s->value) - add;
	s->value = whole;
	s->series++;
	s->keys += sum->last->key != here->key;
	sum->last = here;
	return 0;
}

/* ---- merging: a heap of the series with samples left ---- */

static bool is_before(const struct tw_merge_source *a, const struct tw_merge_source *b)
{
	return a->time_ms != b->time_ms ? a->time_ms < b->time_ms : a->place < b->place;
}

/* Restore the heap's order below i. */
static void sink(struct tw_merge_source *heap, size_t count, size_t i)
{
	const struct tw_merge_source moved = heap[i];
	size_t child;

	while ((child = 2 * i + 1) < count) {
		if (child + 1 < count && is_before(&heap[child + 1], &heap[child]))
			child++;
		if (!is_before(&heap[child], &moved))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = moved;
}

static struct tw_merge_source begin_source(const struct tw_counter_series *at,
					   size_t place)
{
	struct tw_merge_source s = {
		.place = place,
		.times = tw_unpack_begin(&at[place].series->time_ms),
		.values = tw_unpack_begin(&at[place].series->value),
	};

	s.time_ms = (int64_t)tw_unpack_next(&s.times);
	return s;
}

static int open_sources(struct tw_merged_series *t, const struct tw_counter_series *at,
			size_t count, struct tw_err *err)
{
	if (count > t->sources) {
		if (!tw_resize(&t->source, count, sizeof(*t->source)))
			return tw_fail(err, TW_NOMEM, "%zu series", count);
		t->sources = count;
	}
	for (size_t i = 0; i < count; i++)
		t->source[i] = begin_source(at, i);
	for (size_t i = count / 2; i-- > 0;)
		sink(t->source, count, i);
	return 0;
}

static int merge(struct tw_merged_series *t, const struct tw_counter_series *at,
		 size_t count, struct tw_err *err)
{
	struct tw_merge_source *heap;
	struct sum sum = { 0 };

	if (open_sources(t, at, count, err) < 0)
		return -1;
	heap = t->source;
	while (count > 0) {
		if (add_sample(t, &sum, &at[heap->place], heap->time_ms,
			       tw_unpack_next(&heap->values), err) < 0)
			return -1;
		if (heap->times.at < heap->times.packed->count)
			heap->time_ms = (int64_t)tw_unpack_next(&heap->times);
		else
			heap[0] = heap[--count];
		sink(heap, count, 0);
	}
	return 0;
}

static void copy(struct tw_merged_series *t, const struct tw_series *s)
{
	struct tw_unpack times = tw_unpack_begin(&s->time_ms);
	struct tw_unpack values = tw_unpack_begin(&s->value);

	for (; t->count < s->value.count; t->count++)
		t->at[t->count] =
			(struct tw_merged_sample){ (int64_t)tw_unpack_next(&times),
						   tw_unpack_next(&values), 1, 1 };
}

int tw_merged_series_join(struct tw_merged_series *t, const struct tw_counter_series *at,
			  size_t count, struct tw_err *err)
{
	size_t longest = 0;

	for (size_t i = 0; i < count; i++)
		if (at[i].series->value.count > longest)
			longest = at[i].series->value.count;
	t->count = 0;
	if (reserve(t, longest, err) < 0)
		return -1;
	if (count != 1)
		return merge(t, at, count, err);
	copy(t, at->series);
	return 0;
}

void tw_merged_series_release(struct tw_merged_series *t)
{
	free(t->at);
	free(t->source);
	*t = (struct tw_merged_series){ 0 };
}

/* Galloping search: the steps from `from` double, then binary search. Its cost follows
 * the distance to the result, not the number of times. */
size_t tw_times_find(const int64_t *time_ms, size_t times, size_t from, int64_t t)
{
	size_t low = from, high, step = 1;

	while (low + step < times && time_ms[low + step] < t) {
		low += step;
		step *= 2;
	}
	high = low + step < times ? low + step : times;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (time_ms[middle] < t)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- ticks ---- */

/* Times that wait before they are sorted in. */
#define WAITING_MIN 4096

static size_t drop_repeats(int64_t *ms, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (n == 0 || ms[n - 1] != ms[i])
			ms[n++] = ms[i];
	return n;
}

/* Merge the sorted waiting times from the end, so that no second array is needed. */
static void sort_in(struct tw_ticks *t)
{
	size_t a = t->count, b = t->waiting, to = t->count + t->waiting;

	while (b > 0) {
		if (a > 0 && t->ms[a - 1] > t->more[b - 1])
			t->ms[--to] = t->ms[--a];
		else
			t->ms[--to] = t->more[--b];
	}
	t->count = drop_repeats(t->ms, t->count + t->waiting);
	t->waiting = 0;
}

int tw_ticks_settle(struct tw_ticks *t, struct tw_err *err)
{
	if (t->waiting == 0)
		return 0;
	qsort(t->more, t->waiting, sizeof(*t->more), tw_compare_int64);
	t->waiting = drop_repeats(t->more, t->waiting);
	if (t->count + t->waiting > t->size) {
		if (!tw_resize(&t->ms, 2 * (t->count + t->waiting), sizeof(*t->ms)))
			return tw_fail(err, TW_NOMEM, "%zu ticks", t->count + t->waiting);
		t->size = 2 * (t->count + t->waiting);
	}
	sort_in(t);
	return 0;
}

/*
 * A time waits until as many wait as there are ticks: the cost stays n log n, in whatever
 * order the times come.
 */
static int keep(struct tw_ticks *t, int64_t ms, struct tw_err *err)
{
	const size_t limit = t->count > WAITING_MIN ? t->count : WAITING_MIN;

	if (t->waiting >= limit && tw_ticks_settle(t, err) < 0)
		return -1;
	if (!tw_grow(&t->more, &t->room, t->waiting, sizeof(*t->more)))
		return tw_fail(err, TW_NOMEM, "%zu ticks", t->waiting);
	t->more[t->waiting++] = ms;
	return 0;
}

static int add(struct tw_ticks *t, int64_t ms, size_t *from, struct tw_err *err)
{
	*from = tw_times_find(t->ms, t->count, *from, ms);
	if (*from < t->count && t->ms[*from] == ms)
		return 0;
	return keep(t, ms, err);
}

int tw_ticks_add(struct tw_ticks *t, const int64_t *ms, size_t count, struct tw_err *err)
{
	for (size_t i = 0; i < count; i++) {
		size_t from = 0;

		if (add(t, ms[i], &from, err) < 0)
			return -1;
	}
	return 0;
}

int tw_ticks_add_series(struct tw_ticks *t, const struct tw_series *s, struct tw_err *err)
{
	struct tw_unpack times = tw_unpack_begin(&s->time_ms);
	size_t ticks = t->count, from = 0;

	for (size_t i = 0; i < s->time_ms.count; i++) {
		if (ticks != t->count)
			from = 0; /* others were sorted in: places have moved */
		ticks = t->count;
		if (add(t, (int64_t)tw_unpack_next(&times), &from, err) < 0)
			return -1;
	}
	return 0;
}

int tw_ticks_add_set(struct tw_ticks *t, const struct tw_counter_set *c,
		     struct tw_err *err)
{
	for (size_t i = 0; i < c->count; i++) {
		if (tw_ticks_add_series(t, c->at[i].series, err) < 0)
			return -1;
		/* The first series has most of the ticks. */
		if (i == 0 && tw_ticks_settle(t, err) < 0)
			return -1;
	}
	return 0;
}

int64_t tw_ticks_before(const struct tw_ticks *t, int64_t ms, size_t *from)
{
	*from = tw_times_find(t->ms, t->count, *from, ms);
	return *from > 0 ? t->ms[*from - 1] : ms;
}

void tw_ticks_release(struct tw_ticks *t)
{
	free(t->ms);
	free(t->more);
	*t = (struct tw_ticks){ 0 };
}
