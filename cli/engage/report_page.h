/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_REPORT_PAGE_H
#define TW_CLI_REPORT_PAGE_H

/*
 * A report in two forms at once: Markdown, and one HTML page without scripts, styles of
 * others or requests. Charts are part of the HTML page, and files beside the Markdown.
 * Texts are plain: each form escapes them.
 */

#include "lib/core/buf.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_svg_chart;

/* All zero bytes, and dir. */
struct tw_page {
	const char *dir; /* for the files */
	struct tw_buf md, html;
	size_t columns; /* of the table; 0: no table is open */
	uint64_t right; /* columns to align at the right, from bit 0 */
};

void tw_page_begin(struct tw_page *p, const char *title);
void tw_page_heading(struct tw_page *p, const char *text);
void tw_page_text(struct tw_page *p, const char *text);

/*
 * A table is a head, rows with as many cells, and an end; at most 64 columns. '>' before
 * a name of the head aligns that column at the right: a column of numbers.
 */
void tw_page_table(struct tw_page *p, const char *const *cells, size_t count);
void tw_page_row(struct tw_page *p, const char *const *cells);
void tw_page_table_end(struct tw_page *p);

/* Write each line of the text as an item of a list; an empty text is the item "none". */
void tw_page_lines(struct tw_page *p, const char *lines);

/* Draw a chart, also to <dir>/<name>.svg. */
int tw_page_chart(struct tw_page *p, const char *name, const struct tw_svg_chart *c,
		  struct tw_err *err);

/* Write <dir>/<name>.md and <dir>/<name>.html. */
int tw_page_write(struct tw_page *p, const char *name, struct tw_err *err);
void tw_page_release(struct tw_page *p);

#endif /* TW_CLI_REPORT_PAGE_H */
