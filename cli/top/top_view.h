/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_TOP_VIEW_H
#define TW_CLI_TOP_VIEW_H

/* The screen of `tallywatt top` as lines of text of limited width. */

#include "cli/top/top_node.h"
#include "cli/top/top_rows.h"

struct tw_buf;

/*
 * Lines above the rows: power by node, how it is known, its course, keys or a message,
 * column names, the machine's total and its idle power.
 */
#define TW_TOP_HEAD 7

/* The most updates of the course. */
#define TW_TOP_COURSE 240

/* Watts of all nodes at the last updates, the newest last. */
struct tw_top_course {
	double watts[TW_TOP_COURSE];
	size_t count;
	double span_s; /* from the first to the last of them */
};

struct tw_top_view {
	const struct tw_top_node *node;
	size_t nodes;
	const struct tw_top_course *course; /* NULL: no line for it */
	const char *level;                  /* "process" */
	const char *message;                /* message instead of the keys, or NULL */
	enum tw_top_sort by;
	bool reverse;
	const char *proc; /* rows are processes of this machine: its files; or NULL */
	bool help;        /* of the keys, in place of the rows */
	size_t from;      /* the first visible row */
	size_t columns;   /* width of the terminal; 0: unlimited */
	size_t lines;     /* height with the head; 0: all rows */
	bool screen; /* a terminal with keys: lines are cleared before they are written */
	bool color;  /* the line of column names is inverse */
	bool ascii;  /* the terminal has no UTF-8 */
};

/* Add the watts of an update, seconds after the one before. NaN: unknown. */
void tw_top_course_add(struct tw_top_course *c, double watts, double seconds);

/* Append the lines to b, each with a newline. b keeps a failure. */
void tw_top_draw(const struct tw_top_view *v, const struct tw_top_rows *r,
		 struct tw_buf *b);

/*
 * Append text for a terminal, at most this many columns (0: no limit). '?' replaces bytes
 * that are not printable, and with ascii all others, too. Returns the number of columns.
 */
size_t tw_top_add_text(struct tw_buf *b, const char *text, size_t columns, bool ascii);

#endif /* TW_CLI_TOP_VIEW_H */
