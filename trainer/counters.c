/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/counters.h"

#include "lib/buf.h"
#include "lib/err.h"

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

int tw_counters_add(struct tw_counters *c, const char *const *labels, size_t what,
		    const struct tw_series *s, struct tw_err *err)
{
	const char *key = make_key(&c->keys, labels, s, err);

	if (key == NULL)
		return -1;
	if (c->count == c->size) {
		size_t size = c->size != 0 ? c->size * 2 : 64;
		struct tw_counter_series *at = realloc(c->at, size * sizeof(*at));

		if (at == NULL)
			return tw_fail(err, TW_NOMEM, "%zu series", size);
		c->at = at;
		c->size = size;
	}
	c->at[c->count++] = (struct tw_counter_series){ key, what, s };
	return 0;
}

static int compare_series(const void *a, const void *b)
{
	const struct tw_counter_series *x = a, *y = b;

	if (x->key != y->key)
		return strcmp(x->key, y->key);
	if (x->what != y->what)
		return x->what < y->what ? -1 : 1;
	if (x->series->time_ms[0] != y->series->time_ms[0])
		return x->series->time_ms[0] < y->series->time_ms[0] ? -1 : 1;
	/* As the response has them: series of one metric lie in order. */
	return x->series < y->series ? -1 : x->series > y->series;
}

void tw_counters_sort(struct tw_counters *c)
{
	if (c->count > 1)
		qsort(c->at, c->count, sizeof(c->at[0]), compare_series);
}

size_t tw_counters_next(const struct tw_counters *c, size_t i)
{
	const struct tw_counter_series *first = &c->at[i];

	while (i < c->count && c->at[i].key == first->key && c->at[i].what == first->what)
		i++;
	return i;
}

void tw_counters_release(struct tw_counters *c)
{
	tw_intern_release(&c->keys);
	free(c->at);
	*c = (struct tw_counters){ 0 };
}

/* One sample of a track in the making. */
struct sample {
	int64_t time_ms;
	double value;
	size_t from; /* place of its series */
};

static int compare_samples(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	if (x->time_ms != y->time_ms)
		return x->time_ms < y->time_ms ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static bool equal_labels(const struct tw_series *a, const struct tw_series *b)
{
	return a->labels == b->labels &&
	       (a->labels == 0 ||
		memcmp(a->label, b->label, a->labels * sizeof(*a->label)) == 0);
}

static int reserve(struct tw_track *t, size_t count, struct tw_err *err)
{
	size_t each = sizeof(int64_t) + sizeof(double) + 2 * sizeof(size_t);

	if (count <= t->size)
		return 0;
	free(t->own);
	t->size = 0;
	t->own = malloc(count * (sizeof(struct sample) + each));
	if (t->own == NULL)
		return tw_fail(err, TW_NOMEM, "%zu samples", count);
	t->size = count;
	return 0;
}

/*
 * Sorted samples to one for each time. Sums are Kahan's: joules since boot have few
 * digits left behind the point, and differences are taken of them.
 */
static int add_up(struct tw_track *t, const struct sample *from, size_t count,
		  const struct tw_counter_series *at, struct tw_err *err)
{
	double *value = (double *)((struct sample *)t->own + t->size);
	int64_t *time_ms = (int64_t *)(value + t->size);
	size_t *keys = (size_t *)(time_ms + t->size), *parts = keys + t->size, n = 0;
	double lost = 0;

	for (size_t i = 0; i < count; i++) {
		const struct tw_counter_series *here = &at[from[i].from], *last;
		double add, sum;

		if (i == 0 || from[i].time_ms != from[i - 1].time_ms) {
			time_ms[n] = from[i].time_ms;
			value[n] = from[i].value;
			parts[n] = 1;
			keys[n++] = 1;
			lost = 0;
			continue;
		}
		last = &at[from[i - 1].from];
		if (last->key == here->key && equal_labels(last->series, here->series))
			return tw_fail(err, TW_INVALID,
				       "two series of '%s' have a sample at %" PRId64
				       " ms",
				       here->key, from[i].time_ms);
		add = from[i].value - lost;
		sum = value[n - 1] + add;
		lost = (sum - value[n - 1]) - add;
		value[n - 1] = sum;
		parts[n - 1]++;
		keys[n - 1] += last->key != here->key;
	}
	t->time_ms = time_ms;
	t->value = value;
	t->parts = parts;
	t->keys = keys;
	t->count = n;
	return 0;
}

int tw_track_join(struct tw_track *t, const struct tw_counter_series *at, size_t count,
		  struct tw_err *err)
{
	struct sample *sample;
	size_t n = 0;

	if (count == 1) {
		t->time_ms = at->series->time_ms;
		t->value = at->series->value;
		t->parts = NULL;
		t->keys = NULL;
		t->count = at->series->samples;
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		n += at[i].series->samples;
	if (reserve(t, n, err) < 0)
		return -1;

	sample = t->own;
	n = 0;
	for (size_t i = 0; i < count; i++) {
		const struct tw_series *s = at[i].series;

		for (size_t j = 0; j < s->samples; j++)
			sample[n++] = (struct sample){ s->time_ms[j], s->value[j], i };
	}
	qsort(sample, n, sizeof(*sample), compare_samples);
	return add_up(t, sample, n, at, err);
}

void tw_track_release(struct tw_track *t)
{
	free(t->own);
	*t = (struct tw_track){ 0 };
}
