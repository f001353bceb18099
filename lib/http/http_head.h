/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTP_HEAD_H
#define TW_HTTP_HEAD_H

/*
 * What an answer's headers say before its body comes. For lib/http/http.c.
 */

#include "lib/http/http.h"

#include <stddef.h>
#include <stdint.h>

struct tw_http_head {
	char etag[TW_HTTP_ETAG_MAX]; /* empty: none */
	uint64_t from;               /* Content-Range: where the part begins; else 0 */
};

/*
 * A header's line, not NUL-terminated, with its line end. A status line, which comes
 * first and after a redirect again, begins a new head. Others are passed over.
 */
void tw_http_head_take(struct tw_http_head *h, const char *line, size_t len);

/* The same for a header that is wanted by its name; one that does not fit is as it was.
 */
void tw_http_header_take(struct tw_http_header *h, const char *line, size_t len);

#endif /* TW_HTTP_HEAD_H */
