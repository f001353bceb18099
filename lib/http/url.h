/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_URL_H
#define TW_URL_H

/*
 * URLs as texts.
 */

#include <stdbool.h>

struct tw_buf;

/* Whether it is http:// or https://. */
bool tw_url_is(const char *text);

/* Room for what is shown of a URL, with its NUL. */
#define TW_URL_SHOWN 148

/*
 * The URL as it may be shown: without user, password and query, which have no business in
 * a log, and cut where it is long. Returns out.
 */
const char *tw_url_show(const char *url, char out[TW_URL_SHOWN]);

/* Append text as part of a URL's query: letters, digits and "-_.~" as they are, all other
 * bytes as %XX. */
void tw_url_escape(struct tw_buf *b, const char *text);

#endif /* TW_URL_H */
