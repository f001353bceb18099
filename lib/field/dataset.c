/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/field/dataset.h"

#include "lib/core/array.h"
#include "lib/core/err.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PACKAGE_PREFIX "package_"

static const char *const power_columns[] = {
	[TW_PACKAGE] = "package_power",   [TW_CORE] = "core_power",
	[TW_UNCORE] = "uncore_power",     [TW_DRAM] = "dram_power",
	[TW_PLATFORM] = "platform_power", [TW_GPU] = "gpu_power",
};

_Static_assert(TW_COUNT(power_columns) == TW_COMPONENT_COUNT,
	       "every component needs a column");

const char *tw_power_column(enum tw_component c)
{
	assert((unsigned)c < TW_COMPONENT_COUNT);
	return power_columns[c];
}

void tw_package_power_column(enum tw_component c, const char *package,
			     char out[TW_PACKAGE_COLUMN_SIZE])
{
	snprintf(out, TW_PACKAGE_COLUMN_SIZE, PACKAGE_PREFIX "%.*s_%s",
		 TW_PACKAGE_NAME_MAX, package, tw_power_column(c));
}

bool tw_is_package_power(const char *column, enum tw_component c)
{
	const char *tail = tw_power_column(c);
	const size_t len = strlen(column), prefix = sizeof(PACKAGE_PREFIX) - 1;
	const size_t tail_len = strlen(tail);

	/* At least one byte for the package, and '_' after it. */
	return len > prefix + tail_len + 1 &&
	       strncmp(column, PACKAGE_PREFIX, prefix) == 0 &&
	       column[len - tail_len - 1] == '_' &&
	       strcmp(column + len - tail_len, tail) == 0;
}

/* Allocate zeroed values; at least one, so that NULL always means failure. */
static void *alloc_values(size_t count, size_t size)
{
	return calloc(count > 0 ? count : 1, size);
}

int tw_dataset_init(struct tw_dataset *d, size_t rows, bool with_id, struct tw_err *err)
{
	struct tw_dataset fresh = { .rows = rows };

	fresh.time_ms = alloc_values(rows, sizeof(*fresh.time_ms));
	if (with_id)
		fresh.id = alloc_values(rows, sizeof(*fresh.id));
	if (fresh.time_ms == NULL || (with_id && fresh.id == NULL)) {
		tw_dataset_release(&fresh);
		return tw_fail(err, TW_NOMEM, "dataset of %zu rows", rows);
	}
	*d = fresh;
	return 0;
}

int tw_dataset_add(struct tw_dataset *d, const char *name, double **out,
		   struct tw_err *err)
{
	struct tw_column c;

	if (tw_dataset_find(d, name) != NULL)
		return tw_fail(err, TW_INVALID, "column '%s' is repeated", name);
	if (!tw_resize(&d->col, d->cols + 1, sizeof(*d->col)))
		return tw_fail(err, TW_NOMEM, "column '%s'", name);

	c.name = strdup(name);
	c.v = alloc_values(d->rows, sizeof(*c.v));
	if (c.name == NULL || c.v == NULL) {
		free(c.name);
		free(c.v);
		return tw_fail(err, TW_NOMEM, "column '%s' of %zu rows", name, d->rows);
	}
	d->col[d->cols++] = c;
	if (out != NULL)
		*out = c.v;
	return 0;
}

void tw_dataset_drop(struct tw_dataset *d, const char *prefix)
{
	const size_t len = strlen(prefix);
	size_t kept = 0;

	for (size_t i = 0; i < d->cols; i++) {
		if (strncmp(d->col[i].name, prefix, len) != 0) {
			d->col[kept++] = d->col[i];
			continue;
		}
		free(d->col[i].name);
		free(d->col[i].v);
	}
	d->cols = kept;
}

double *tw_dataset_find(const struct tw_dataset *d, const char *name)
{
	for (size_t i = 0; i < d->cols; i++)
		if (strcmp(d->col[i].name, name) == 0)
			return d->col[i].v;
	return NULL;
}

static size_t count_kept(const struct tw_dataset *d, const bool *keep)
{
	size_t n = 0;

	if (keep == NULL)
		return d->rows;
	for (size_t r = 0; r < d->rows; r++)
		n += keep[r];
	return n;
}

static int copy_column(const struct tw_dataset *d, const struct tw_column *from,
		       const bool *keep, struct tw_dataset *to, struct tw_err *err)
{
	size_t n = 0;
	double *v;

	if (tw_dataset_add(to, from->name, &v, err) < 0)
		return -1;
	for (size_t r = 0; r < d->rows; r++)
		if (keep == NULL || keep[r])
			v[n++] = from->v[r];
	return 0;
}

int tw_dataset_copy(const struct tw_dataset *d, const bool *keep, struct tw_dataset *out,
		    struct tw_err *err)
{
	struct tw_dataset copy = { 0 };
	size_t n = 0;
	int rc = -1;

	if (tw_dataset_init(&copy, count_kept(d, keep), d->id != NULL, err) < 0)
		goto out;
	for (size_t r = 0; r < d->rows; r++) {
		if (keep != NULL && !keep[r])
			continue;
		copy.time_ms[n] = d->time_ms[r];
		if (d->id != NULL)
			copy.id[n] = d->id[r];
		n++;
	}
	if (tw_strs_copy(&copy.ids, &d->ids, err) < 0)
		goto out;
	for (size_t i = 0; i < d->cols; i++)
		if (copy_column(d, &d->col[i], keep, &copy, err) < 0)
			goto out;

	*out = copy;
	copy = (struct tw_dataset){ 0 };
	rc = 0;
out:
	tw_dataset_release(&copy);
	return rc;
}

void tw_dataset_keep(struct tw_dataset *d, const bool *keep)
{
	size_t n = 0;

	for (size_t r = 0; r < d->rows; r++) {
		if (!keep[r])
			continue;
		d->time_ms[n] = d->time_ms[r];
		if (d->id != NULL)
			d->id[n] = d->id[r];
		for (size_t i = 0; i < d->cols; i++)
			d->col[i].v[n] = d->col[i].v[r];
		n++;
	}
	d->rows = n;
}

void tw_dataset_clear_columns(struct tw_dataset *d)
{
	for (size_t i = 0; i < d->cols; i++) {
		free(d->col[i].name);
		free(d->col[i].v);
	}
	free(d->col);
	d->col = NULL;
	d->cols = 0;
}

void tw_dataset_release(struct tw_dataset *d)
{
	tw_dataset_clear_columns(d);
	free(d->time_ms);
	free(d->id);
	tw_strs_clear(&d->ids);
	*d = (struct tw_dataset){ 0 };
}

/* A row of the merged dataset and its origin. */
struct origin {
	int64_t time_ms;
	uint32_t source;
	size_t row;
};

static int by_time(const void *a, const void *b)
{
	const struct origin *x = a, *y = b;

	if (x->time_ms != y->time_ms)
		return x->time_ms < y->time_ms ? -1 : 1;
	return (x->source > y->source) - (x->source < y->source);
}

static int sort_rows(const struct tw_dataset *const *recordings, size_t count,
		     size_t rows, struct origin **out, struct tw_err *err)
{
	struct origin *p = calloc(rows + 1, sizeof(*p));
	size_t n = 0;

	if (p == NULL)
		return tw_fail(err, TW_NOMEM, "order of %zu rows", rows);
	for (size_t i = 0; i < count; i++)
		for (size_t r = 0; r < recordings[i]->rows; r++)
			p[n++] = (struct origin){ recordings[i]->time_ms[r], (uint32_t)i,
						  r };
	qsort(p, rows, sizeof(*p), by_time);
	for (size_t r = 1; r < rows; r++) {
		if (p[r].time_ms != p[r - 1].time_ms)
			continue;
		tw_fail(err, TW_INVALID,
			"recordings %" PRIu32 " and %" PRIu32
			" both have a row at %" PRId64 " ms",
			p[r - 1].source + 1, p[r].source + 1, p[r].time_ms);
		free(p);
		return -1;
	}
	*out = p;
	return 0;
}

static bool all_have(const struct tw_dataset *const *recordings, size_t count,
		     const char *column)
{
	for (size_t i = 1; i < count; i++)
		if (tw_dataset_find(recordings[i], column) == NULL)
			return false;
	return true;
}

static int add_column(const struct tw_dataset *const *recordings, size_t count,
		      const char *name, const struct origin *origin,
		      struct tw_dataset *to, struct tw_err *err)
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
		from[i] = tw_dataset_find(recordings[i], name);
	for (size_t r = 0; r < to->rows; r++)
		v[r] = from[origin[r].source][origin[r].row];

	rc = 0;
out:
	free(from);
	return rc;
}

static uint32_t *list_sources(const struct origin *origin, size_t rows,
			      struct tw_err *err)
{
	uint32_t *source = calloc(rows + 1, sizeof(*source));

	if (source == NULL)
		tw_fail(err, TW_NOMEM, "sources of %zu rows", rows);
	for (size_t r = 0; source != NULL && r < rows; r++)
		source[r] = origin[r].source;
	return source;
}

int tw_dataset_join(const struct tw_dataset *const *recordings, size_t count,
		    struct tw_dataset *out, uint32_t **source, struct tw_err *err)
{
	struct tw_dataset merged = { 0 };
	struct origin *origin = NULL;
	uint32_t *from = NULL;
	size_t rows = 0;
	int rc = -1;

	for (size_t i = 0; i < count; i++)
		rows += recordings[i]->rows;
	if (sort_rows(recordings, count, rows, &origin, err) < 0 ||
	    tw_dataset_init(&merged, rows, recordings[0]->id != NULL, err) < 0 ||
	    tw_strs_copy(&merged.ids, &recordings[0]->ids, err) < 0)
		goto out;
	for (size_t r = 0; r < rows; r++)
		merged.time_ms[r] = origin[r].time_ms;
	for (size_t c = 0; c < recordings[0]->cols; c++) {
		const char *name = recordings[0]->col[c].name;

		if (all_have(recordings, count, name) &&
		    add_column(recordings, count, name, origin, &merged, err) < 0)
			goto out;
	}
	from = list_sources(origin, rows, err);
	if (from == NULL)
		goto out;

	*out = merged;
	merged = (struct tw_dataset){ 0 };
	if (source != NULL) {
		*source = from;
		from = NULL;
	}
	rc = 0;
out:
	free(from);
	free(origin);
	tw_dataset_release(&merged);
	return rc;
}
