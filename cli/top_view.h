/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_TOP_VIEW_H
#define TW_CLI_TOP_VIEW_H

/* The screen of `tallywatt top` as lines of text of limited width. */

#include "cli/top_rows.h"

struct tw_buf;
struct tw_err;

/* Lines above the rows: node power, keys or a message, column names. */
#define TW_TOP_HEAD 3

struct tw_top_view {
	const char *node;    /* node power: tw_top_node_line() */
	const char *level;   /* "process" */
	const char *message; /* message instead of the keys, or NULL */
	enum tw_top_sort by;
	bool reverse;
	size_t from;    /* the first visible row */
	size_t columns; /* width of the terminal; 0: unlimited */
	size_t lines;   /* height with the head; 0: all rows */
	bool color;
};

/*
 * The line of node power, from the reply for level node: "vm: package 12.3 W (fake), ..".
 * An estimate is marked, with its error. *out is yours (free()).
 */
int tw_top_node_line(const char *data, size_t len, char **out, struct tw_err *err);

/* Append the lines to b, each with a newline. b keeps a failure. */
void tw_top_draw(const struct tw_top_view *v, const struct tw_top_rows *r,
		 struct tw_buf *b);

/*
 * Append text for a terminal, at most so many columns (0: no limit). '?' replaces bytes
 * that are not printable. Returns the number of columns.
 */
size_t tw_top_add_text(struct tw_buf *b, const char *text, size_t columns);

#endif /* TW_CLI_TOP_VIEW_H */
