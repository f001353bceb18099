/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CSV_H
#define TW_CSV_H

/*
 * Datasets as CSV (RFC 4180), compatible with kepler-model-server's files: a header,
 * "timestamp" in seconds, "id" at container level, then the numeric columns. A first
 * column without a name (pandas' index) is skipped.
 */

#include "lib/core/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_dataset;
struct tw_err;

/* Limits of the reader: rows, columns, bytes of a cell. */
#define TW_CSV_ROWS_MAX ((size_t)1 << 26)
#define TW_CSV_COLS_MAX 1024
#define TW_CSV_CELL_MAX ((size_t)64 << 10)

/* Largest file that tw_csv_load() reads. */
#define TW_CSV_BYTES_MAX ((size_t)1 << 30)

/*
 * Parse data[0..len) into an empty dataset and sort its rows. Numbers must be finite. A
 * time stamp (with ids: a time stamp and id) must not repeat. Errors name line and
 * column: "line 7, column 'cpu_cycles': 'abc' is not a number". Old names of columns are
 * renamed (docs/pipelines.md).
 */
int tw_csv_read(const char *data, size_t len, struct tw_dataset *out, struct tw_err *err);

/* As tw_csv_read(), from a file. Errors name it. */
int tw_csv_load(const char *path, struct tw_dataset *out, struct tw_err *err);

/* Append a dataset. Numbers are the shortest texts that parse back to the same values;
 * NaN is an empty cell. */
void tw_csv_write(const struct tw_dataset *d, struct tw_buf *out);

/* As tw_csv_write(), for rows from to to - 1. The header precedes row 0. */
void tw_csv_write_rows(const struct tw_dataset *d, size_t from, size_t to,
		       struct tw_buf *out);

/* Append a cell, quoted if it has a mark of CSV (RFC 4180). */
void tw_csv_add_cell(struct tw_buf *out, const char *text);

/*
 * A reader of cells, for tables that are not datasets. Blank lines and a byte order mark
 * are skipped. A first line with semicolons and without commas has semicolons between
 * cells; a comma in a number is its decimal point there. To start, set data and len and
 * leave the rest zero.
 */
struct tw_csv_cells {
	const char *data;
	size_t len;
	size_t at;
	size_t line;     /* line ends consumed */
	size_t row_line; /* line of the row's start, from 1 */
	char separator;

	/* The current cell, valid until the next call. Not NUL-terminated. */
	const char *text;
	size_t text_len;
	bool ends_row;
	struct tw_buf unquoted;
};

/* Read the next cell. False at the end of the text, and on failure with err set. */
bool tw_csv_cells_next(struct tw_csv_cells *c, struct tw_err *err);

/* Free the buffer of the reader. */
void tw_csv_cells_release(struct tw_csv_cells *c);

#endif /* TW_CSV_H */
