/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CSV_H
#define TW_CSV_H

/*
 * Datasets as CSV, in the form that the old programs write and read: a header,
 * "timestamp" in seconds, "id" at container level, then the columns. RFC 4180
 * quoting. A first column without a name (pandas' index) is passed over.
 */

#include "lib/core/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_dataset;
struct tw_err;

/* Most rows, columns and bytes of a cell that are read. */
#define TW_CSV_ROWS_MAX ((size_t)1 << 26)
#define TW_CSV_COLS_MAX 1024
#define TW_CSV_CELL_MAX ((size_t)64 << 10)

/* Largest file that is loaded. */
#define TW_CSV_BYTES_MAX ((size_t)1 << 30)

/*
 * data[0..len) into an empty dataset; rows are put into order. Numbers must be finite,
 * and a time (with an id, if there are ids) must not come twice. Errors name line and
 * column: "line 7, column 'cpu_cycles': 'abc' is not a number". Known old column
 * names are read as the canonical ones (docs/pipelines.md).
 */
int tw_csv_read(const char *data, size_t len, struct tw_dataset *out, struct tw_err *err);

/* As tw_csv_read(), from a file, which errors name. */
int tw_csv_load(const char *path, struct tw_dataset *out, struct tw_err *err);

/* Append a dataset; numbers are the shortest that read back the same. */
void tw_csv_write(const struct tw_dataset *d, struct tw_buf *out);

/* The same in pieces: the header in front of row 0, and rows from..to. */
void tw_csv_write_rows(const struct tw_dataset *d, size_t from, size_t to,
		       struct tw_buf *out);

/*
 * Cells of comma-separated text (RFC 4180), one after the other; blank lines are
 * passed over. All zero bytes but for data and len is at the beginning.
 */
struct tw_csv_cells {
	const char *data;
	size_t len;
	size_t at;
	size_t line;     /* line ends behind us */
	size_t row_line; /* where the row began, from 1 */

	/* The last cell; valid until the next. Not NUL-terminated. */
	const char *text;
	size_t text_len;
	bool ends_row;
	struct tw_buf unquoted;
};

/* False at the end of the text, and on failure. */
bool tw_csv_cells_next(struct tw_csv_cells *c, struct tw_err *err);

void tw_csv_cells_release(struct tw_csv_cells *c);

#endif /* TW_CSV_H */
