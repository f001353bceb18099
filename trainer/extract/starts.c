/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/starts.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "trainer/response/prom_store.h"
#include "trainer/response/schema.h"

#include <stdlib.h>

/* The label that tells the workload; NULL: the series is of no workload. */
static const char *find_id(const struct tw_series *s)
{
	const char *pid = tw_series_label(s, "pid");

	return pid != NULL ? pid : tw_series_label(s, "container_id");
}

static int compare(const void *a, const void *b)
{
	const struct tw_start *x = a, *y = b;
	const uintptr_t p = (uintptr_t)x->id, q = (uintptr_t)y->id;

	if (p != q)
		return p < q ? -1 : 1;
	return (x->ms > y->ms) - (x->ms < y->ms);
}

/* Add the starts of a series: its value changes where another workload has the id. */
static int add_series(struct tw_starts *to, const struct tw_series *s, const char *id,
		      struct tw_err *err)
{
	struct tw_unpack value = tw_unpack_begin(&s->value);

	for (size_t i = 0; i < s->value.count; i++) {
		const double ms = 1e3 * tw_unpack_next(&value);

		if (!(ms > 0 && ms < 1e15) ||
		    (i > 0 && to->count > 0 && to->at[to->count - 1].id == id &&
		     to->at[to->count - 1].ms == (int64_t)ms))
			continue;
		if (!tw_grow(&to->at, &to->size, to->count, sizeof(*to->at)))
			return tw_fail(err, TW_NOMEM, "%zu times of starts", to->count);
		to->at[to->count++] = (struct tw_start){ id, (int64_t)ms };
	}
	return 0;
}

int tw_starts_find(const struct tw_prom *p, struct tw_starts *out, struct tw_err *err)
{
	size_t count;
	const struct tw_series *s = tw_prom_series(p, TW_SCHEMA_STARTS, &count);
	struct tw_starts starts = { 0 };

	for (size_t i = 0; i < count; i++) {
		const char *id = find_id(&s[i]);

		if (id != NULL && add_series(&starts, &s[i], id, err) < 0) {
			tw_starts_release(&starts);
			return -1;
		}
	}
	if (starts.count > 0)
		qsort(starts.at, starts.count, sizeof(*starts.at), compare);
	*out = starts;
	return 0;
}

void tw_starts_release(struct tw_starts *s)
{
	free(s->at);
	*s = (struct tw_starts){ 0 };
}

int64_t tw_start_of(const struct tw_starts *s, const struct tw_series *of, int64_t ms)
{
	struct tw_start wanted = { .ms = ms };
	size_t low = 0, high;

	if (s == NULL || s->count == 0)
		return TW_START_UNKNOWN;
	wanted.id = find_id(of);
	high = s->count;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (compare(&s->at[middle], &wanted) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && s->at[low - 1].id == wanted.id ? s->at[low - 1].ms
							 : TW_START_UNKNOWN;
}
