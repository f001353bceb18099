/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_TOP_VIEW_H
#define TW_CLI_TOP_VIEW_H

/*
 * The picture that `tallywatt top` shows: lines of text, no longer than they may be.
 */

#include "cli/top_rows.h"

struct tw_buf;
struct tw_err;

/* Lines above the rows: the machine, keys or a message, the names of columns. */
#define TW_TOP_HEAD 3

struct tw_top_view {
	const char *node;    /* what the machine draws: tw_top_node_line() */
	const char *level;   /* "process" */
	const char *message; /* a line in place of keys, or NULL */
	enum tw_top_sort by;
	bool reverse;
	size_t from;    /* the first row that is shown */
	size_t columns; /* of the terminal; 0: lines are as long as they are */
	size_t lines;   /* with the head; 0: all */
	bool color;
};

/*
 * What the machine draws, of the answer for level node: "vm: package 12.3 W (fake), ..";
 * estimates say so, and with what error. *out is yours (free()).
 */
int tw_top_node_line(const char *data, size_t len, char **out, struct tw_err *err);

/* Appended to b, a newline after each line; failures stick to it. */
void tw_top_draw(const struct tw_top_view *v, const struct tw_top_rows *r,
		 struct tw_buf *b);

/*
 * text as a terminal may have it, at most so many columns (0: no limit): what is no
 * printable character is '?'. Returns the columns it takes.
 */
size_t tw_top_add_text(struct tw_buf *b, const char *text, size_t columns);

#endif /* TW_CLI_TOP_VIEW_H */
