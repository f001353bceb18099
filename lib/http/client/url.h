/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_URL_H
#define TW_URL_H

/* Text functions for URLs. */

#include <stdbool.h>

struct tw_buf;

/* Whether the text begins with http:// or https://. */
bool tw_url_is(const char *text);

/* Room for tw_url_show(), with the NUL. */
#define TW_URL_SHOWN 148

/*
 * The URL for a log: without user, password and query, which can be secrets, and
 * truncated. Returns out.
 */
const char *tw_url_show(const char *url, char out[TW_URL_SHOWN]);

/* Append text as part of a URL's query: letters, digits and "-_.~" as they are, all other
 * bytes as %XX. */
void tw_url_escape(struct tw_buf *b, const char *text);

#endif /* TW_URL_H */
