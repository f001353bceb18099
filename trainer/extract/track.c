/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"
#include "trainer/extract/counters.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A series on the way, at the sample that is next. */
struct tw_merge_source {
	int64_t time_ms;
	size_t place; /* among those that are joined */
	struct tw_unpack times, values;
};

/* The sum of samples of one time. Kahan's: joules since boot have few digits left behind
 * the point, and differences are taken of them. */
struct sum {
	double lost;
	const struct tw_counter_series *last; /* whose sample was added */
};

static bool equal_labels(const struct tw_series *a, const struct tw_series *b)
{
	return a->labels == b->labels &&
	       (a->labels == 0 ||
		memcmp(a->label, b->label, a->labels * sizeof(*a->label)) == 0);
}

static int reserve(struct tw_track *t, size_t size, struct tw_err *err)
{
	struct tw_track_sample *at;

	if (size <= t->size)
		return 0;
	at = realloc(t->at, size * sizeof(*at));
	if (at == NULL)
		return tw_fail(err, TW_NOMEM, "%zu samples", size);
	t->at = at;
	t->size = size;
	return 0;
}

static int begin_sample(struct tw_track *t, int64_t time_ms, double value,
			struct tw_err *err)
{
	if (t->count == t->size && reserve(t, t->size * 2, err) < 0)
		return -1;
	t->at[t->count++] = (struct tw_track_sample){ time_ms, value, 1, 1 };
	return 0;
}

static int add_sample(struct tw_track *t, struct sum *sum,
		      const struct tw_counter_series *here, int64_t time_ms, double value,
		      struct tw_err *err)
{
	struct tw_track_sample *s = t->count > 0 ? &t->at[t->count - 1] : NULL;
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
	s->parts++;
	s->keys += sum->last->key != here->key;
	sum->last = here;
	return 0;
}

/* ---- several series: a heap of those that have samples left ---- */

static bool is_before(const struct tw_merge_source *a, const struct tw_merge_source *b)
{
	return a->time_ms != b->time_ms ? a->time_ms < b->time_ms : a->place < b->place;
}

/* Let the one at i sink to where both below it are later. */
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

static int open_sources(struct tw_track *t, const struct tw_counter_series *at,
			size_t count, struct tw_err *err)
{
	struct tw_merge_source *source;

	if (count > t->sources) {
		source = realloc(t->source, count * sizeof(*source));
		if (source == NULL)
			return tw_fail(err, TW_NOMEM, "%zu series", count);
		t->source = source;
		t->sources = count;
	}
	for (size_t i = 0; i < count; i++)
		t->source[i] = begin_source(at, i);
	for (size_t i = count / 2; i-- > 0;)
		sink(t->source, count, i);
	return 0;
}

static int merge(struct tw_track *t, const struct tw_counter_series *at, size_t count,
		 struct tw_err *err)
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

static void copy(struct tw_track *t, const struct tw_series *s)
{
	struct tw_unpack times = tw_unpack_begin(&s->time_ms);
	struct tw_unpack values = tw_unpack_begin(&s->value);

	for (; t->count < s->value.count; t->count++)
		t->at[t->count] =
			(struct tw_track_sample){ (int64_t)tw_unpack_next(&times),
						  tw_unpack_next(&values), 1, 1 };
}

int tw_track_join(struct tw_track *t, const struct tw_counter_series *at, size_t count,
		  struct tw_err *err)
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

void tw_track_release(struct tw_track *t)
{
	free(t->at);
	free(t->source);
	*t = (struct tw_track){ 0 };
}
