/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/field/csv.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/intern.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/field/dataset.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int check_length(const struct tw_csv_cells *c, size_t len, struct tw_err *err)
{
	if (len <= TW_CSV_CELL_MAX)
		return 0;
	return tw_fail(err, TW_INVALID, "line %zu: cell of %zu bytes, limit is %zu",
		       c->line + 1, len, TW_CSV_CELL_MAX);
}

/* Read a quoted cell; c->at is after the opening quote. */
static int take_quoted(struct tw_csv_cells *c, struct tw_err *err)
{
	size_t line = c->line;

	tw_buf_clear(&c->unquoted);
	for (;;) {
		const char *from = c->data + c->at, *quote;
		size_t n;

		quote = memchr(from, '"', c->len - c->at);
		if (quote == NULL)
			return tw_fail(err, TW_PARSE, "line %zu: unterminated quote",
				       line + 1);
		n = (size_t)(quote - from);
		for (size_t i = 0; i < n; i++)
			c->line += from[i] == '\n';
		tw_buf_add(&c->unquoted, from, n);
		c->at += n + 1;
		if (check_length(c, c->unquoted.len, err) < 0)
			return -1;
		if (c->at == c->len || c->data[c->at] != '"')
			break;
		tw_buf_adds(&c->unquoted, "\"");
		c->at++;
	}
	if (tw_buf_failed(&c->unquoted))
		return tw_fail(err, TW_NOMEM, "line %zu", line + 1);
	c->text = c->unquoted.data;
	c->text_len = c->unquoted.len;
	return 0;
}

/* Replace the decimal comma of a number. */
static int take_decimal_comma(struct tw_csv_cells *c, struct tw_err *err)
{
	const char *comma = memchr(c->text, ',', c->text_len);

	if (c->separator == ',' || comma == NULL)
		return 0;
	for (size_t i = 0; i < c->text_len; i++)
		if (strchr("0123456789+-eE,", c->text[i]) == NULL)
			return 0;
	tw_buf_clear(&c->unquoted);
	tw_buf_add(&c->unquoted, c->text, (size_t)(comma - c->text));
	tw_buf_adds(&c->unquoted, ".");
	tw_buf_add(&c->unquoted, comma + 1, (size_t)(c->text + c->text_len - comma) - 1);
	if (tw_buf_failed(&c->unquoted))
		return tw_fail(err, TW_NOMEM, "line %zu", c->line + 1);
	c->text = c->unquoted.data;
	return 0;
}

static int take_bare(struct tw_csv_cells *c, struct tw_err *err)
{
	size_t n = 0;

	c->text = c->data + c->at;
	while (c->at + n < c->len && c->text[n] != c->separator && c->text[n] != '\n')
		n++;
	c->at += n;
	if (n > 0 && (c->at == c->len || c->data[c->at] == '\n') &&
	    c->text[n - 1] == '\r')
		n--;
	c->text_len = n;
	if (memchr(c->text, '"', n) != NULL)
		return tw_fail(err, TW_PARSE, "line %zu: quote inside an unquoted cell",
			       c->line + 1);
	return check_length(c, n, err) < 0 ? -1 : take_decimal_comma(c, err);
}

/* Skip a byte order mark; find the separator. */
static void begin(struct tw_csv_cells *c)
{
	static const char mark[] = "\xef\xbb\xbf";
	const char *first, *end;

	if (c->len >= 3 && memcmp(c->data, mark, 3) == 0)
		c->at = 3;
	first = c->data + c->at;
	end = memchr(first, '\n', c->len - c->at);
	if (end == NULL)
		end = c->data + c->len;
	c->separator = memchr(first, ';', (size_t)(end - first)) != NULL &&
				       memchr(first, ',', (size_t)(end - first)) == NULL
			       ? ';'
			       : ',';
	c->ends_row = true;
}

/* Skip blank lines, at the start of a row. */
static void skip_blank_lines(struct tw_csv_cells *c)
{
	while (c->at < c->len) {
		size_t n = c->data[c->at] == '\r' ? 1 : 0;

		if (c->at + n == c->len || c->data[c->at + n] != '\n')
			return;
		c->at += n + 1;
		c->line++;
	}
}

bool tw_csv_cells_next(struct tw_csv_cells *c, struct tw_err *err)
{
	if (c->separator == '\0' && c->len > 0)
		begin(c);
	if (c->ends_row) {
		skip_blank_lines(c);
		c->row_line = c->line + 1;
	}
	/* A final comma is followed by an empty cell. */
	if (c->at == c->len && (c->len == 0 || c->ends_row))
		return false;
	if (c->at < c->len && c->data[c->at] == '"') {
		c->at++;
		if (take_quoted(c, err) < 0)
			return false;
		if (c->at < c->len && c->data[c->at] == '\r')
			c->at++;
	} else if (take_bare(c, err) < 0) {
		return false;
	}
	if (c->at < c->len && c->data[c->at] != c->separator && c->data[c->at] != '\n') {
		tw_fail(err, TW_PARSE, "line %zu: text after a closing quote",
			c->line + 1);
		return false;
	}
	c->ends_row = c->at == c->len || c->data[c->at] == '\n';
	c->line += c->at < c->len && c->ends_row;
	c->at += c->at < c->len;
	return true;
}

void tw_csv_cells_release(struct tw_csv_cells *c)
{
	tw_buf_clear(&c->unquoted);
}

/* Latest time in seconds since the epoch: the year 5138. */
#define TIME_MAX_S 1e11

/* Column names of Kepler 0.6. The values are in today's units, ms even for "_us". */
static const struct {
	const char *old, *name;
} renamed[] = {
	{ "bpf_cpu_time_us", "bpf_cpu_time_ms" },
	{ "cpu_instr", "cpu_instructions" },
};

enum column {
	COLUMN_IGNORED,
	COLUMN_TIME,
	COLUMN_ID,
	COLUMN_VALUE,
};

struct table {
	enum column type[TW_CSV_COLS_MAX];
	const char *name[TW_CSV_COLS_MAX]; /* interned in texts */
	double *value[TW_CSV_COLS_MAX];    /* in data; of COLUMN_VALUE */
	size_t cols;
	bool has_time, has_id;
	struct tw_intern texts; /* names and ids */
	const char **id;        /* of each row; interned in texts */
	struct tw_dataset data;
};

static const char *canonical_name(const char *name)
{
	for (size_t i = 0; i < TW_COUNT(renamed); i++)
		if (strcmp(renamed[i].old, name) == 0)
			return renamed[i].name;
	return name;
}

static int add_name(struct table *t, const struct tw_csv_cells *c, struct tw_err *err)
{
	const char *name = tw_intern(&t->texts, c->text, c->text_len, err);
	enum column type = COLUMN_VALUE;

	if (name == NULL)
		return -1;
	if (t->cols == TW_CSV_COLS_MAX)
		return tw_fail(err, TW_INVALID, "line 1: more than %d columns",
			       TW_CSV_COLS_MAX);
	if (strlen(name) != c->text_len || (name[0] == '\0' && t->cols > 0))
		return tw_fail(err, TW_INVALID, "line 1: column %zu has no name",
			       t->cols + 1);
	if (name[0] == '\0')
		type = COLUMN_IGNORED;
	else if (strcmp(name, "timestamp") == 0)
		type = COLUMN_TIME;
	else if (strcmp(name, "id") == 0)
		type = COLUMN_ID;
	if ((type == COLUMN_TIME && t->has_time) || (type == COLUMN_ID && t->has_id))
		return tw_fail(err, TW_INVALID, "line 1: column '%s' is repeated", name);
	t->has_time |= type == COLUMN_TIME;
	t->has_id |= type == COLUMN_ID;
	t->type[t->cols] = type;
	t->name[t->cols++] = canonical_name(name);
	return 0;
}

static int read_header(struct table *t, struct tw_csv_cells *c, struct tw_err *err)
{
	while (tw_csv_cells_next(c, err)) {
		if (add_name(t, c, err) < 0)
			return -1;
		if (!c->ends_row)
			continue;
		if (!t->has_time)
			return tw_fail(err, TW_PARSE, "line 1: no column 'timestamp'");
		return 0;
	}
	return tw_fail(err, TW_PARSE, "line 1: no header");
}

/* Count the rows from here to the end. c is a copy, so the reader does not advance. */
static int count_rows(struct tw_csv_cells c, size_t cols, size_t *rows,
		      struct tw_err *err)
{
	struct tw_err why = { 0 };
	size_t cells = 0, n = 0;
	int rc = -1;

	c.unquoted = (struct tw_buf){ 0 };
	while (tw_csv_cells_next(&c, &why)) {
		cells++;
		if (!c.ends_row)
			continue;
		if (cells != cols) {
			tw_fail(err, TW_PARSE, "line %zu: %zu cells, the header has %zu",
				c.row_line, cells, cols);
			goto out;
		}
		if (++n > TW_CSV_ROWS_MAX) {
			tw_fail(err, TW_INVALID, "more than %zu rows", TW_CSV_ROWS_MAX);
			goto out;
		}
		cells = 0;
	}
	if (why.code != TW_OK) {
		*err = why;
		goto out;
	}
	*rows = n;
	rc = 0;
out:
	tw_csv_cells_release(&c);
	return rc;
}

static int fail_cell(const struct table *t, const struct tw_csv_cells *c, size_t col,
		     const char *what, struct tw_err *err)
{
	return tw_fail(err, TW_PARSE, "line %zu, column '%s': '%.*s' is not a %s",
		       c->row_line, t->name[col],
		       c->text_len < 60 ? (int)c->text_len : 60, c->text, what);
}

static int read_cell(struct table *t, const struct tw_csv_cells *c, size_t row,
		     size_t col, struct tw_err *err)
{
	double v;

	switch (t->type[col]) {
	case COLUMN_ID:
		t->id[row] = tw_intern(&t->texts, c->text, c->text_len, err);
		if (t->id[row] == NULL)
			return -1;
		if (strlen(t->id[row]) != c->text_len)
			return tw_fail(err, TW_PARSE, "line %zu: id with a NUL byte",
				       c->row_line);
		return 0;
	case COLUMN_TIME:
		if (!tw_parse_double(c->text, c->text_len, &v) || v < 0 || v > TIME_MAX_S)
			return fail_cell(t, c, col, "time in seconds", err);
		t->data.time_ms[row] = (int64_t)(v * 1e3 + 0.5);
		return 0;
	case COLUMN_VALUE:
		if (!tw_parse_double(c->text, c->text_len, &t->value[col][row]))
			return fail_cell(t, c, col, "number", err);
		return 0;
	default:
		return 0;
	}
}

static int read_rows(struct table *t, struct tw_csv_cells *c, struct tw_err *err)
{
	for (size_t row = 0; row < t->data.rows; row++) {
		for (size_t col = 0; col < t->cols; col++) {
			if (!tw_csv_cells_next(c, err))
				return -1;
			if (read_cell(t, c, row, col, err) < 0)
				return -1;
		}
	}
	return 0;
}

/* The sort key of a row, and its number in the file. */
struct order {
	int64_t time_ms;
	const char *id;
	size_t row;
};

static int compare_rows(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->time_ms != y->time_ms)
		return x->time_ms < y->time_ms ? -1 : 1;
	return x->id == y->id ? 0 : strcmp(x->id, y->id);
}

static void reorder(const struct order *order, size_t rows, double *v, double *spare)
{
	memcpy(spare, v, rows * sizeof(*v));
	for (size_t r = 0; r < rows; r++)
		v[r] = spare[order[r].row];
}

/* Number the ids in order of their texts. */
static int number_ids(struct table *t, struct tw_err *err)
{
	size_t rows = t->data.rows, n = 0;
	const char **sorted = calloc(rows + 1, sizeof(*sorted));
	int rc = -1;

	if (sorted == NULL) {
		tw_fail(err, TW_NOMEM, "%zu ids", rows);
		goto out;
	}
	memcpy(sorted, t->id, rows * sizeof(*sorted));
	qsort(sorted, rows, sizeof(*sorted), tw_compare_texts);
	for (size_t r = 0; r < rows; r++) {
		if (r > 0 && sorted[r] == sorted[r - 1])
			continue;
		if (tw_strs_adds(&t->data.ids, sorted[r], err) < 0)
			goto out;
		sorted[n++] = sorted[r];
	}
	for (size_t r = 0; r < rows; r++) {
		const char **at =
			bsearch(&t->id[r], sorted, n, sizeof(*sorted), tw_compare_texts);

		t->data.id[r] = (uint32_t)(at - sorted);
	}
	rc = 0;
out:
	free(sorted);
	return rc;
}

static int sort_rows(struct table *t, struct tw_err *err)
{
	size_t rows = t->data.rows;
	struct order *order = calloc(rows + 1, sizeof(*order));
	double *spare = calloc(rows + 1, sizeof(*spare));
	int rc = -1;

	if (order == NULL || spare == NULL) {
		tw_fail(err, TW_NOMEM, "%zu rows", rows);
		goto out;
	}
	for (size_t r = 0; r < rows; r++)
		order[r] = (struct order){ t->data.time_ms[r], t->has_id ? t->id[r] : "",
					   r };
	qsort(order, rows, sizeof(*order), compare_rows);
	for (size_t r = 0; r < rows; r++) {
		if (r > 0 && compare_rows(&order[r], &order[r - 1]) == 0) {
			tw_fail(err, TW_INVALID,
				"row %zu repeats row %zu: time %" PRId64 " ms%s%.60s",
				order[r].row + 1, order[r - 1].row + 1, order[r].time_ms,
				t->has_id ? ", id " : "", order[r].id);
			goto out;
		}
		t->data.time_ms[r] = order[r].time_ms;
		if (t->has_id)
			t->id[r] = order[r].id;
	}
	for (size_t i = 0; i < t->data.cols; i++)
		reorder(order, rows, t->data.col[i].v, spare);
	rc = 0;
out:
	free(spare);
	free(order);
	return rc;
}

static int make_columns(struct table *t, size_t rows, struct tw_err *err)
{
	if (tw_dataset_init(&t->data, rows, t->has_id, err) < 0)
		return -1;
	for (size_t i = 0; i < t->cols; i++)
		if (t->type[i] == COLUMN_VALUE &&
		    tw_dataset_add(&t->data, t->name[i], &t->value[i], err) < 0)
			return tw_err_wrap(err, "line 1");
	t->id = calloc(rows + 1, sizeof(*t->id));
	if (t->id == NULL)
		return tw_fail(err, TW_NOMEM, "%zu rows", rows);
	return 0;
}

int tw_csv_read(const char *data, size_t len, struct tw_dataset *out, struct tw_err *err)
{
	struct tw_csv_cells cells = { .data = data, .len = len };
	struct table *t = calloc(1, sizeof(*t));
	size_t rows;
	int rc = -1;

	if (t == NULL) {
		tw_fail(err, TW_NOMEM, "table");
		goto out;
	}
	if (read_header(t, &cells, err) < 0 ||
	    count_rows(cells, t->cols, &rows, err) < 0 ||
	    make_columns(t, rows, err) < 0 || read_rows(t, &cells, err) < 0 ||
	    sort_rows(t, err) < 0 || (t->has_id && number_ids(t, err) < 0))
		goto out;
	*out = t->data;
	t->data = (struct tw_dataset){ 0 };
	rc = 0;
out:
	tw_csv_cells_release(&cells);
	if (t != NULL) {
		tw_dataset_release(&t->data);
		tw_intern_release(&t->texts);
		free(t->id);
	}
	free(t);
	return rc;
}

int tw_csv_load(const char *path, struct tw_dataset *out, struct tw_err *err)
{
	char *data = NULL;
	size_t len;
	int rc = -1;

	if (tw_file_read(path, TW_CSV_BYTES_MAX, &data, &len, err) < 0)
		goto out;
	if (tw_csv_read(data, len, out, err) < 0) {
		tw_err_wrap(err, "'%s'", path);
		goto out;
	}
	rc = 0;
out:
	free(data);
	return rc;
}

void tw_csv_add_cell(struct tw_buf *out, const char *text)
{
	if (strpbrk(text, ",\"\r\n") == NULL) {
		tw_buf_adds(out, text);
		return;
	}
	tw_buf_adds(out, "\"");
	for (; *text != '\0'; text++) {
		if (*text == '"')
			tw_buf_adds(out, "\"");
		tw_buf_add(out, text, 1);
	}
	tw_buf_adds(out, "\"");
}

static void add_header(const struct tw_dataset *d, struct tw_buf *out)
{
	tw_buf_adds(out, d->id != NULL ? "timestamp,id" : "timestamp");
	for (size_t i = 0; i < d->cols; i++) {
		tw_buf_adds(out, ",");
		tw_csv_add_cell(out, d->col[i].name);
	}
	tw_buf_adds(out, "\n");
}

void tw_csv_write_rows(const struct tw_dataset *d, size_t from, size_t to,
		       struct tw_buf *out)
{
	if (from == 0)
		add_header(d, out);
	for (size_t r = from; r < to; r++) {
		tw_buf_add_double(out, (double)d->time_ms[r] / 1e3);
		if (d->id != NULL) {
			tw_buf_adds(out, ",");
			tw_csv_add_cell(out, d->ids.at[d->id[r]]);
		}
		for (size_t i = 0; i < d->cols; i++) {
			tw_buf_adds(out, ",");
			if (!isnan(d->col[i].v[r]))
				tw_buf_add_double(out, d->col[i].v[r]);
		}
		tw_buf_adds(out, "\n");
	}
}

void tw_csv_write(const struct tw_dataset *d, struct tw_buf *out)
{
	tw_csv_write_rows(d, 0, d->rows, out);
}
