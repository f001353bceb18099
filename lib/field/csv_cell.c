/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/field/csv_cell.h"

#include "lib/core/err.h"
#include "lib/field/csv.h"

#include <string.h>

static int check_length(const struct tw_csv_cells *c, size_t len, struct tw_err *err)
{
	if (len <= TW_CSV_CELL_MAX)
		return 0;
	return tw_fail(err, TW_INVALID, "line %zu: cell of %zu bytes, limit is %zu",
		       c->line + 1, len, TW_CSV_CELL_MAX);
}

/* The text between quotes; c->at is behind the opening one. */
static int take_quoted(struct tw_csv_cells *c, struct tw_err *err)
{
	size_t line = c->line;

	tw_buf_clear(&c->unquoted);
	for (;;) {
		const char *from = c->data + c->at, *quote;
		size_t n;

		quote = memchr(from, '"', c->len - c->at);
		if (quote == NULL)
			return tw_fail(err, TW_PARSE, "line %zu: quote that does not end",
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

static int take_bare(struct tw_csv_cells *c, struct tw_err *err)
{
	size_t n = 0;

	c->text = c->data + c->at;
	while (c->at + n < c->len && c->text[n] != ',' && c->text[n] != '\n')
		n++;
	c->at += n;
	if (n > 0 && (c->at == c->len || c->data[c->at] == '\n') &&
	    c->text[n - 1] == '\r')
		n--;
	c->text_len = n;
	if (memchr(c->text, '"', n) != NULL)
		return tw_fail(err, TW_PARSE, "line %zu: quote inside a cell",
			       c->line + 1);
	return check_length(c, n, err);
}

/* At the beginning of a row: nothing but a line end is no row. */
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
	if (c->at == 0 || c->ends_row) {
		skip_blank_lines(c);
		c->row_line = c->line + 1;
	}
	/* A comma at the very end has one more cell behind it. */
	if (c->at == c->len && (c->at == 0 || c->ends_row))
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
	if (c->at < c->len && c->data[c->at] != ',' && c->data[c->at] != '\n') {
		tw_fail(err, TW_PARSE, "line %zu: text behind a quote", c->line + 1);
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
