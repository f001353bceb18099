/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CSV_CELL_H
#define TW_CSV_CELL_H

/*
 * Cells of comma-separated text (RFC 4180), one after the other; blank lines are
 * passed over. A part of lib/csv.
 */

#include "lib/core/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_err;

/* All zero bytes but for data and len is at the beginning. */
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

#endif /* TW_CSV_CELL_H */
