/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/httpd_pack.h"

#include "lib/http/accept.h"
#include "lib/http/httpd.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* A smaller body is in one packet either way; a larger one would hold a thread too long.
 */
#define PACK_FROM ((size_t)1400)
#define PACK_TO ((size_t)8 << 20)

/* With gzip's header: zlib's way to say so. */
#define GZIP_BITS (MAX_WBITS + 16)
#define MEM_LEVEL 8

static const char *const texts[] = { "application/json",
				     "application/problem+json",
				     "application/openapi+json",
				     "application/openmetrics-text",
				     "image/svg+xml",
				     "text/" };

static bool is_text(const char *type)
{
	for (size_t i = 0; type != NULL && i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strncmp(type, texts[i], strlen(texts[i])) == 0)
			return true;
	return type == NULL;
}

/* malloc'ed; NULL if it would not get smaller by a tenth, or without memory. */
static char *pack(const char *body, size_t len, size_t *packed_len)
{
	const size_t room = len - len / 10;
	z_stream z = { .next_in = (Bytef *)(uintptr_t)body,
		       .avail_in = (uInt)len,
		       .avail_out = (uInt)room };
	char *packed = malloc(room);
	bool whole = false;

	if (packed == NULL)
		return NULL;
	z.next_out = (Bytef *)packed;
	if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, GZIP_BITS, MEM_LEVEL,
			 Z_DEFAULT_STRATEGY) == Z_OK) {
		whole = deflate(&z, Z_FINISH) == Z_STREAM_END;
		*packed_len = z.total_out;
		deflateEnd(&z);
	}
	if (!whole) {
		free(packed);
		return NULL;
	}
	return packed;
}

void tw_http_reply_pack(struct tw_http_reply *r, const char *accept_encoding)
{
	size_t len;
	char *packed;

	if (r->file || r->len < PACK_FROM || r->len > PACK_TO ||
	    !is_text(r->content_type))
		return;
	tw_http_reply_header(r, "Vary", "Accept-Encoding");
	if (tw_accept_coding(accept_encoding, "gzip") <= 0)
		return;
	packed = pack(r->body, r->len, &len);
	if (packed == NULL)
		return;
	tw_http_reply_header(r, "Content-Encoding", "gzip");
	tw_http_reply_take(r, packed, len);
}
