/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WEB_LINE_H
#define TW_WEB_LINE_H

/*
 * A line of a web configuration: as much of YAML as such files use. For
 * lib/http/web_config.c.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_err;

#define TW_WEB_TEXT_MAX 1024

/* "key: value" of a line, or "key:" with more behind it, or "- value". */
struct tw_web_line {
	size_t number, indent;
	bool entry; /* of a list: value only */
	char key[TW_WEB_TEXT_MAX], value[TW_WEB_TEXT_MAX];
};

/*
 * Read start..end, without its line end, into all of l but its number. *empty: there is
 * nothing on it. TW_PARSE where it is no YAML, TW_UNSUPPORTED where it is more than this.
 */
int tw_web_line_read(const char *start, const char *end, struct tw_web_line *l,
		     bool *empty, struct tw_err *err);

#endif /* TW_WEB_LINE_H */
