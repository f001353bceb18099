/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/server/httpd_tag.h"

#include "lib/core/buf.h"
#include "lib/core/hash.h"
#include "lib/http/server/http_range.h"
#include "lib/http/server/httpd_reply.h"
#include "lib/http/server/httpd_route.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

void tw_http_reply_tagged(const struct tw_http_request *q, struct tw_http_reply *r,
			  struct tw_buf *b)
{
	const char *known = tw_http_header(q, "If-None-Match");
	char etag[32] = "W/";

	if (!tw_buf_failed(b)) {
		/* Weak: gzip may send other bytes of the same text. */
		snprintf(etag + 2, sizeof(etag) - 2, "\"%016" PRIx64 "\"",
			 tw_hash(b->data, b->len));
		tw_http_reply_header(r, "ETag", etag);
		if (known != NULL && tw_http_etag_listed(known, etag + 2)) {
			tw_buf_clear(b);
			r->status = 304;
			return;
		}
	}
	tw_http_reply_buf(r, b);
}
