/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/ticks.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "trainer/extract/counter_series.h"

#include <stdlib.h>
#include <string.h>

/* Times that wait before they are sorted in. */
#define WAITING_MIN 4096

static int compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static size_t drop_repeats(int64_t *ms, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (n == 0 || ms[n - 1] != ms[i])
			ms[n++] = ms[i];
	return n;
}

/* Merge the sorted waiting times from the end, so that no second array is needed. */
static void merge(struct tw_ticks *t)
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
	qsort(t->more, t->waiting, sizeof(*t->more), compare);
	t->waiting = drop_repeats(t->more, t->waiting);
	if (t->count + t->waiting > t->size) {
		if (!tw_resize(&t->ms, 2 * (t->count + t->waiting), sizeof(*t->ms)))
			return tw_fail(err, TW_NOMEM, "%zu ticks", t->count + t->waiting);
		t->size = 2 * (t->count + t->waiting);
	}
	merge(t);
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

static int add_series(struct tw_ticks *t, const struct tw_series *s, struct tw_err *err)
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
		if (add_series(t, c->at[i].series, err) < 0)
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
