/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/workload_runs.h"

#include "lib/core/array.h"
#include "lib/core/date.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/utf8.h"
#include "lib/field/csv.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The columns that are read. */
enum { WORKLOAD, START, END, COLUMNS };

static const char *const columns[COLUMNS] = { "workload", "start", "end" };

/* The row that is being read. */
struct row {
	char cell[COLUMNS][256];
	bool seen[COLUMNS];
};

static int take_cell(const struct tw_csv_cells *c, struct row *row, int column,
		     struct tw_err *err)
{
	if (c->text_len >= sizeof(row->cell[0]) ||
	    memchr(c->text, '\0', c->text_len) != NULL)
		return tw_fail(err, TW_INVALID,
			       "%s of %zu bytes is too long, or contains NUL",
			       columns[column], c->text_len);
	memcpy(row->cell[column], c->text, c->text_len);
	row->cell[column][c->text_len] = '\0';
	row->seen[column] = true;
	return 0;
}

/* Names become part of metadata, which is JSON. */
static int check_name(const char *name, struct tw_err *err)
{
	if (name[0] == '\0' || !tw_is_utf8(name))
		return tw_fail(err, TW_INVALID,
			       "the workload has no name, or a name that is not UTF-8");
	return 0;
}

static int add_run(struct tw_workload_runs *w, const struct row *row, struct tw_err *err)
{
	struct tw_workload_run run;
	ptrdiff_t name;

	if (check_name(row->cell[WORKLOAD], err) < 0)
		return -1;
	if (tw_parse_date_ms(row->cell[START], &run.from_ms, err) < 0 ||
	    tw_parse_date_ms(row->cell[END], &run.to_ms, err) < 0)
		return -1;
	if (run.to_ms <= run.from_ms)
		return tw_fail(err, TW_INVALID, "'%.60s' ends before it starts",
			       row->cell[WORKLOAD]);
	if (w->count == TW_WORKLOAD_RUNS_MAX)
		return tw_fail(err, TW_INVALID, "more than %d runs",
			       TW_WORKLOAD_RUNS_MAX);
	name = tw_strs_find(&w->names, row->cell[WORKLOAD]);
	if (name < 0) {
		name = (ptrdiff_t)w->names.count;
		if (tw_strs_adds(&w->names, row->cell[WORKLOAD], err) < 0)
			return -1;
	}
	run.name = (uint32_t)name;
	if (!tw_resize(&w->run, w->count + 1, sizeof(*w->run)))
		return tw_fail(err, TW_NOMEM, "%zu runs", w->count + 1);
	w->run[w->count++] = run;
	return 0;
}

/* Read the cells of one row. place maps each cell to a column, or to COLUMNS (skip). */
static int read_row(struct tw_csv_cells *c, const int *place, size_t count,
		    struct row *row, struct tw_err *err)
{
	size_t at = 0;

	do {
		if (at < count && place[at] < COLUMNS &&
		    take_cell(c, row, place[at], err) < 0)
			return -1;
		at++;
	} while (!c->ends_row && tw_csv_cells_next(c, err));
	if (!c->ends_row)
		return -1;
	for (int i = 0; i < COLUMNS; i++)
		if (!row->seen[i])
			return tw_fail(err, TW_PARSE, "the row has no %s", columns[i]);
	return 0;
}

#define HEADER_MAX 64

static int read_header(struct tw_csv_cells *c, int *place, size_t *count,
		       struct tw_err *err)
{
	bool seen[COLUMNS] = { false };

	if (!tw_csv_cells_next(c, err))
		return tw_fail(err, TW_PARSE, "the file is empty");
	do {
		int column = 0;

		if (*count == HEADER_MAX)
			return tw_fail(err, TW_INVALID, "more than %d columns",
				       HEADER_MAX);
		while (column < COLUMNS &&
		       (strlen(columns[column]) != c->text_len ||
			memcmp(columns[column], c->text, c->text_len) != 0))
			column++;
		if (column < COLUMNS && seen[column])
			return tw_fail(err, TW_PARSE, "column '%s' appears twice",
				       columns[column]);
		if (column < COLUMNS)
			seen[column] = true;
		place[(*count)++] = column;
	} while (!c->ends_row && tw_csv_cells_next(c, err));
	if (!c->ends_row)
		return -1;
	for (int i = 0; i < COLUMNS; i++)
		if (!seen[i])
			return tw_fail(err, TW_PARSE, "no column '%s'", columns[i]);
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct tw_workload_run *x = a, *y = b;

	return (x->from_ms > y->from_ms) - (x->from_ms < y->from_ms);
}

static int put_in_order(struct tw_workload_runs *w, struct tw_err *err)
{
	if (w->count == 0)
		return tw_fail(err, TW_INVALID, "the file names no workload");
	qsort(w->run, w->count, sizeof(*w->run), by_time);
	for (size_t i = 1; i < w->count; i++)
		if (w->run[i].from_ms < w->run[i - 1].to_ms)
			return tw_fail(err, TW_INVALID, "'%.60s' and '%.60s' overlap",
				       w->names.at[w->run[i - 1].name],
				       w->names.at[w->run[i].name]);
	return 0;
}

int tw_workload_runs_read(const char *data, size_t len, struct tw_workload_runs *out,
			  struct tw_err *err)
{
	struct tw_csv_cells cells = { .data = data, .len = len };
	struct tw_workload_runs w = { 0 };
	int place[HEADER_MAX], rc = -1;
	struct tw_err why = { 0 };
	size_t count = 0;

	if (len > TW_WORKLOAD_RUNS_BYTES_MAX)
		return tw_fail(err, TW_INVALID, "%zu bytes, limit is %zu", len,
			       TW_WORKLOAD_RUNS_BYTES_MAX);
	if (read_header(&cells, place, &count, err) < 0)
		goto out;
	while (tw_csv_cells_next(&cells, &why)) {
		struct row row = { 0 };

		if (read_row(&cells, place, count, &row, err) < 0 ||
		    add_run(&w, &row, err) < 0) {
			tw_err_wrap(err, "line %zu", cells.row_line);
			goto out;
		}
	}
	if (why.code != TW_OK) {
		tw_fail(err, why.code, "%s", why.text);
		goto out;
	}
	if (put_in_order(&w, err) < 0)
		goto out;

	*out = w;
	w = (struct tw_workload_runs){ 0 };
	rc = 0;
out:
	tw_csv_cells_release(&cells);
	tw_workload_runs_release(&w);
	return rc;
}

int tw_workload_runs_load(const char *path, struct tw_workload_runs *out,
			  struct tw_err *err)
{
	char *data = NULL;
	size_t len;
	int rc = -1;

	if (tw_file_read(path, TW_WORKLOAD_RUNS_BYTES_MAX, &data, &len, err) < 0)
		goto out;
	if (tw_workload_runs_read(data, len, out, err) < 0) {
		tw_err_wrap(err, "'%.100s'", path);
		goto out;
	}

	rc = 0;
out:
	free(data);
	return rc;
}

uint32_t tw_workload_runs_at(const struct tw_workload_runs *w, int64_t time_ms)
{
	size_t low = 0, high = w->count;

	/* Find the last run that has started. */
	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (w->run[mid].from_ms <= time_ms)
			low = mid + 1;
		else
			high = mid;
	}
	return low > 0 && time_ms < w->run[low - 1].to_ms ? w->run[low - 1].name
							  : UINT32_MAX;
}

void tw_workload_runs_release(struct tw_workload_runs *w)
{
	tw_strs_clear(&w->names);
	free(w->run);
	*w = (struct tw_workload_runs){ 0 };
}
