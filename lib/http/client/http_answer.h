/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTP_ANSWER_H
#define TW_HTTP_ANSWER_H

/*
 * The answer of an HTTP server, and the response headers that the client reads. This
 * module does not need libcurl: programs that call by tw-ask (lib/ask/fetch.h)
 * use it as well.
 */

#include <stddef.h>
#include <stdint.h>

/* Room for an entity tag with its quotes and a NUL; a longer tag is ignored. */
#define TW_HTTP_ETAG_MAX 128
#define TW_HTTP_TYPE_MAX 64

struct tw_http_answer {
	unsigned status;
	/* NUL-terminated. Empty if a sink took it; an error's text has 64 KiB at most. */
	char *body;
	size_t len;
	char content_type[TW_HTTP_TYPE_MAX]; /* without parameters */
	char etag[TW_HTTP_ETAG_MAX];         /* of the body; empty: none */
	uint64_t retry_after_s;              /* Retry-After; 0: none */
	uint64_t from; /* status 206: offset of the body's first byte */
};

/* Free the body; the answer is empty afterwards. */
void tw_http_answer_release(struct tw_http_answer *a);

/* A response header that the caller asks for. */
#define TW_HTTP_HEADER_MAX 512
struct tw_http_header {
	const char *name;
	char value[TW_HTTP_HEADER_MAX]; /* "" if it is missing or does not fit */
};

/* The headers that every call reads. */
struct tw_http_head {
	char etag[TW_HTTP_ETAG_MAX]; /* empty: none */
	uint64_t from;               /* Content-Range: offset of the first byte; else 0 */
};

/*
 * Read one line of a response's head: line[0..len) with its line end, without a NUL. A
 * status line clears the head, because a redirect sends several heads. Unknown and
 * malformed headers are ignored.
 */
void tw_http_head_take(struct tw_http_head *h, const char *line, size_t len);

/* Read one line for the header h->name. A value that does not fit leaves h unchanged. */
void tw_http_header_take(struct tw_http_header *h, const char *line, size_t len);

#endif /* TW_HTTP_ANSWER_H */
