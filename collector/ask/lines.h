/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_LINES_H
#define TW_COLLECTOR_LINES_H

/* Lines of a stream of bytes that a foreign program writes. */

#include <stdbool.h>
#include <stddef.h>

/* Longest line, without its end. */
#define TW_LINE_MAX 256

/* All zero bytes: at the beginning of a line. */
struct tw_lines {
	char text[TW_LINE_MAX];
	size_t len;
	bool too_long; /* the current line is cut off */
};

/* Takes a line without its end. cut: it was longer than TW_LINE_MAX. */
typedef void tw_line_sink(void *arg, const char *line, size_t len, bool cut);

/* Take bytes, and give each line that ends to the sink. */
void tw_lines_feed(struct tw_lines *l, const char *data, size_t len, tw_line_sink *sink,
		   void *arg);

/* The stream has ended: give an unfinished line to the sink, and begin anew. */
void tw_lines_end(struct tw_lines *l, tw_line_sink *sink, void *arg);

#endif /* TW_COLLECTOR_LINES_H */
