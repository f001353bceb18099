/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/machines/machine_table.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "lib/field/csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX ((size_t)16 << 20)
#define COLUMNS_MAX 256
#define TEXT_MAX 256
#define W_MAX 1e6

/* Columns in the order of tw_machine_table: texts, numbers, watts. */
enum column {
	CPU_NAME,
	SYSTEM_VENDOR,
	HW_AVAILABLE,
	PUBLISHED,
	TEXTS,
	MHZ = TEXTS,
	CHIPS,
	CORES,
	THREADS_PER_CORE,
	MEMORY,
	TDP,
	SUPPLY,
	W_IDLE,
	W_FIRST,
	COLUMNS = W_FIRST + TW_PRIOR_LOADS - 1
};

static const char *const names[COLUMNS] = {
	"cpu_name",    "system_vendor",  "hw_available", "published",
	"nominal_mhz", "chips",          "cores",        "threads_per_core",
	"memory_gib",  "tdp_w_per_chip", "psu_rating_w", "w_idle",
	"w_10",        "w_20",           "w_30",         "w_40",
	"w_50",        "w_60",           "w_70",         "w_80",
	"w_90",        "w_100",
};

struct reader {
	struct tw_csv_cells cells;
	int column[COLUMNS_MAX]; /* of each cell; -1: ignored */
	size_t columns;
	char text[TEXTS][TEXT_MAX];
	double number[COLUMNS]; /* NaN: empty */
	struct tw_machine_table *out;
	size_t size;
};

static int take_header(struct reader *r, struct tw_err *err)
{
	bool seen[COLUMNS] = { false };

	do {
		int found = -1;

		if (!tw_csv_cells_next(&r->cells, err))
			return tw_fail(err, TW_PARSE, "line 1: a header is missing");
		if (r->columns == COLUMNS_MAX)
			return tw_fail(err, TW_INVALID, "line 1: more than %d columns",
				       COLUMNS_MAX);
		for (int c = 0; c < COLUMNS; c++)
			if (strlen(names[c]) == r->cells.text_len &&
			    memcmp(names[c], r->cells.text, r->cells.text_len) == 0)
				found = c;
		if (found >= 0 && seen[found])
			return tw_fail(err, TW_PARSE, "line 1: column '%s' comes twice",
				       names[found]);
		if (found >= 0)
			seen[found] = true;
		r->column[r->columns++] = found;
	} while (!r->cells.ends_row);
	for (int c = 0; c < COLUMNS; c++)
		if (!seen[c])
			return tw_fail(err, TW_PARSE, "line 1: column '%s' is missing",
				       names[c]);
	return 0;
}

static int take_cell(struct reader *r, int c, struct tw_err *err)
{
	const struct tw_csv_cells *cell = &r->cells;

	if (c < TEXTS) {
		if (cell->text_len >= TEXT_MAX)
			return tw_fail(err, TW_INVALID,
				       "line %zu, column '%s': %zu bytes, limit is %d",
				       cell->row_line, names[c], cell->text_len,
				       TEXT_MAX - 1);
		memcpy(r->text[c], cell->text, cell->text_len);
		r->text[c][cell->text_len] = '\0';
		return 0;
	}
	if (cell->text_len == 0)
		return 0;
	if (!tw_parse_double(cell->text, cell->text_len, &r->number[c]) ||
	    !(r->number[c] > 0 && r->number[c] <= W_MAX))
		return tw_fail(err, TW_PARSE,
			       "line %zu, column '%s': '%.*s' is not a number above 0",
			       cell->row_line, names[c],
			       (int)(cell->text_len < 32 ? cell->text_len : 32),
			       cell->text);
	return 0;
}

/* Set *more to false at the end of the table. */
static int take_row(struct reader *r, bool *more, struct tw_err *err)
{
	size_t at = 0;

	memset(r->text, 0, sizeof(r->text));
	for (int c = 0; c < COLUMNS; c++)
		r->number[c] = NAN;
	do {
		if (!tw_csv_cells_next(&r->cells, err)) {
			*more = false;
			return err->code == TW_OK && at == 0
				       ? 0
				       : tw_fail(err, TW_PARSE,
						 "the last line is incomplete");
		}
		if (at == r->columns)
			return tw_fail(err, TW_PARSE, "line %zu: more than %zu cells",
				       r->cells.row_line, r->columns);
		if (r->column[at] >= 0 && take_cell(r, r->column[at], err) < 0)
			return -1;
		at++;
	} while (!r->cells.ends_row);
	if (at != r->columns)
		return tw_fail(err, TW_PARSE, "line %zu: %zu cells, want %zu",
			       r->cells.row_line, at, r->columns);
	*more = true;
	return 0;
}

static int year_of(const char *date)
{
	uint64_t year = 0;

	return strlen(date) >= 4 && tw_parse_u64(date, 4, &year) ? (int)year : 0;
}

static void make_spec(const struct reader *r, struct tw_machine_spec *s)
{
	const double *x = r->number;

	*s = (struct tw_machine_spec){ 0 };
	tw_processor_name(r->text[CPU_NAME], strlen(r->text[CPU_NAME]), s->processor);
	s->threads_per_core =
		isnan(x[THREADS_PER_CORE]) ? 1 : (uint32_t)x[THREADS_PER_CORE];
	s->cores = (uint32_t)x[CORES] * s->threads_per_core;
	s->chips = (uint32_t)x[CHIPS];
	s->memory_gib = isnan(x[MEMORY]) ? 0 : (uint32_t)x[MEMORY];
	s->frequency_mhz = isnan(x[MHZ]) ? 0 : (uint32_t)x[MHZ];
}

static int make_machine(const struct reader *r, struct tw_measured_machine *m,
			struct tw_err *err)
{
	const double *x = r->number;
	const size_t line = r->cells.row_line;

	if (isnan(x[CHIPS]) || isnan(x[CORES]))
		return tw_fail(err, TW_INVALID, "line %zu: chips or cores are missing",
			       line);
	tw_prior_machine_of_name(r->text[CPU_NAME], &m->machine);
	tw_prior_machine_set_system(&m->machine, r->text[SYSTEM_VENDOR]);
	m->machine.number[TW_PRIOR_CORES] = x[CORES] / x[CHIPS];
	m->machine.number[TW_PRIOR_CHIPS] = x[CHIPS];
	m->machine.number[TW_PRIOR_MEMORY] = x[MEMORY];
	m->machine.number[TW_PRIOR_SUPPLY] = x[SUPPLY];
	m->machine.number[TW_PRIOR_THREADS] = x[THREADS_PER_CORE];
	if (!isnan(x[TDP]))
		m->machine.number[TW_PRIOR_TDP] = x[TDP];
	if (!isnan(x[MHZ]))
		m->machine.number[TW_PRIOR_MHZ] = x[MHZ];
	if (m->machine.category[TW_PRIOR_PROCESSOR][0] == '\0')
		snprintf(m->machine.category[TW_PRIOR_PROCESSOR], TW_PRIOR_TEXT, "%.95s",
			 r->text[CPU_NAME]);
	make_spec(r, &m->spec);
	m->year = year_of(r->text[HW_AVAILABLE]);
	if (m->year == 0)
		m->year = year_of(r->text[PUBLISHED]);
	for (size_t j = 0; j < TW_PRIOR_LOADS; j++) {
		m->w[j] = x[W_IDLE + j];
		if (isnan(m->w[j]))
			return tw_fail(err, TW_INVALID, "line %zu: '%s' is missing", line,
				       names[W_IDLE + j]);
	}
	if (m->w[TW_PRIOR_LOADS - 1] <= m->w[0])
		return tw_fail(err, TW_INVALID, "line %zu: w_100 is not above w_idle",
			       line);
	return 0;
}

static int add_machine(struct reader *r, struct tw_err *err)
{
	struct tw_machine_table *t = r->out;
	struct tw_measured_machine *m;
	size_t k = 0;

	if (t->count == TW_PRIOR_ROWS_MAX)
		return tw_fail(err, TW_INVALID, "more than %d machines",
			       TW_PRIOR_ROWS_MAX);
	if (t->count == r->size) {
		const size_t size = r->size > 0 ? 2 * r->size : 64;

		m = realloc(t->machine, size * sizeof(*m));
		if (m == NULL)
			return tw_fail(err, TW_NOMEM, "machines");
		t->machine = m;
		r->size = size;
	}
	m = &t->machine[t->count];
	if (make_machine(r, m, err) < 0)
		return -1;
	while (k < t->count && strcmp(t->machine[k].machine.category[TW_PRIOR_PROCESSOR],
				      m->machine.category[TW_PRIOR_PROCESSOR]) != 0)
		k++;
	m->processor = k < t->count ? t->machine[k].processor : t->processors++;
	t->count++;
	return 0;
}

/* The prior takes the last machine for the newest. */
static void sort_by_year(struct tw_machine_table *t)
{
	for (size_t i = 1; i < t->count; i++) {
		const struct tw_measured_machine m = t->machine[i];
		size_t k = i;

		for (; k > 0 && t->machine[k - 1].year > m.year; k--)
			t->machine[k] = t->machine[k - 1];
		t->machine[k] = m;
	}
}

int tw_machine_table_read(const char *data, size_t len, struct tw_machine_table *out,
			  struct tw_err *err)
{
	struct reader r = { .cells = { .data = data, .len = len }, .out = out };
	bool more = true;
	int rc = -1;

	if (take_header(&r, err) < 0)
		goto out;
	while (more) {
		if (take_row(&r, &more, err) < 0 || (more && add_machine(&r, err) < 0))
			goto out;
	}
	sort_by_year(out);
	rc = 0;
out:
	tw_csv_cells_release(&r.cells);
	if (rc < 0)
		tw_machine_table_release(out);
	return rc;
}

int tw_machine_table_load(const char *path, struct tw_machine_table *out,
			  struct tw_err *err)
{
	char *data = NULL;
	size_t len;
	int rc = -1;

	if (tw_file_read(path, BYTES_MAX, &data, &len, err) < 0)
		return -1;
	if (tw_machine_table_read(data, len, out, err) < 0) {
		tw_err_wrap(err, "'%s'", path);
		goto out;
	}
	rc = 0;
out:
	free(data);
	return rc;
}

void tw_machine_table_release(struct tw_machine_table *t)
{
	free(t->machine);
	*t = (struct tw_machine_table){ 0 };
}
