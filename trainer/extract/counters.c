/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/counters.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"

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
	double first, other;

	if (x->key != y->key)
		return strcmp(x->key, y->key);
	if (x->what != y->what)
		return x->what < y->what ? -1 : 1;
	first = tw_packed_first(&x->series->time_ms);
	other = tw_packed_first(&y->series->time_ms);
	if (first != other)
		return first < other ? -1 : 1;
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
