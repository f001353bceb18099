/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/field/dataset.h"

#include "lib/core/err.h"

#include <inttypes.h>
#include <stdlib.h>

/* Where a row of the whole comes from. */
struct place {
	int64_t time_ms;
	uint32_t part;
	size_t row;
};

static int by_time(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->time_ms != y->time_ms)
		return x->time_ms < y->time_ms ? -1 : 1;
	return (x->part > y->part) - (x->part < y->part);
}

static int find_places(const struct tw_dataset *const *parts, size_t count, size_t rows,
		       struct place **out, struct tw_err *err)
{
	struct place *p = calloc(rows + 1, sizeof(*p));
	size_t n = 0;

	if (p == NULL)
		return tw_fail(err, TW_NOMEM, "order of %zu rows", rows);
	for (size_t i = 0; i < count; i++)
		for (size_t r = 0; r < parts[i]->rows; r++)
			p[n++] = (struct place){ parts[i]->time_ms[r], (uint32_t)i, r };
	qsort(p, rows, sizeof(*p), by_time);
	for (size_t r = 1; r < rows; r++) {
		if (p[r].time_ms != p[r - 1].time_ms)
			continue;
		tw_fail(err, TW_INVALID,
			"recordings %" PRIu32 " and %" PRIu32
			" both have a row at %" PRId64 " ms",
			p[r - 1].part + 1, p[r].part + 1, p[r].time_ms);
		free(p);
		return -1;
	}
	*out = p;
	return 0;
}

static bool all_have(const struct tw_dataset *const *parts, size_t count,
		     const char *column)
{
	for (size_t i = 1; i < count; i++)
		if (tw_dataset_find(parts[i], column) == NULL)
			return false;
	return true;
}

static int add_column(const struct tw_dataset *const *parts, size_t count,
		      const char *name, const struct place *place, struct tw_dataset *to,
		      struct tw_err *err)
{
	const double **from = calloc(count, sizeof(*from));
	double *v;
	int rc = -1;

	if (from == NULL) {
		tw_fail(err, TW_NOMEM, "column '%s'", name);
		goto out;
	}
	if (tw_dataset_add(to, name, &v, err) < 0)
		goto out;
	for (size_t i = 0; i < count; i++)
		from[i] = tw_dataset_find(parts[i], name);
	for (size_t r = 0; r < to->rows; r++)
		v[r] = from[place[r].part][place[r].row];

	rc = 0;
out:
	free(from);
	return rc;
}

static uint32_t *list_parts(const struct place *place, size_t rows, struct tw_err *err)
{
	uint32_t *part = calloc(rows + 1, sizeof(*part));

	if (part == NULL)
		tw_fail(err, TW_NOMEM, "parts of %zu rows", rows);
	for (size_t r = 0; part != NULL && r < rows; r++)
		part[r] = place[r].part;
	return part;
}

int tw_dataset_join(const struct tw_dataset *const *parts, size_t count,
		    struct tw_dataset *out, uint32_t **part, struct tw_err *err)
{
	struct tw_dataset whole = { 0 };
	struct place *place = NULL;
	uint32_t *from = NULL;
	size_t rows = 0;
	int rc = -1;

	for (size_t i = 0; i < count; i++)
		rows += parts[i]->rows;
	if (find_places(parts, count, rows, &place, err) < 0 ||
	    tw_dataset_init(&whole, rows, parts[0]->id != NULL, err) < 0 ||
	    tw_strs_copy(&whole.ids, &parts[0]->ids, err) < 0)
		goto out;
	for (size_t r = 0; r < rows; r++)
		whole.time_ms[r] = place[r].time_ms;
	for (size_t c = 0; c < parts[0]->cols; c++) {
		const char *name = parts[0]->col[c].name;

		if (all_have(parts, count, name) &&
		    add_column(parts, count, name, place, &whole, err) < 0)
			goto out;
	}
	from = list_parts(place, rows, err);
	if (from == NULL)
		goto out;

	*out = whole;
	whole = (struct tw_dataset){ 0 };
	if (part != NULL) {
		*part = from;
		from = NULL;
	}
	rc = 0;
out:
	free(from);
	free(place);
	tw_dataset_release(&whole);
	return rc;
}
