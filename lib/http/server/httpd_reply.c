/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/server/httpd_reply.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/hash.h"
#include "lib/http/server/accept.h"
#include "lib/http/server/http_range.h"
#include "lib/http/server/httpd_growing.h"
#include "lib/http/server/httpd_route.h"
#include "lib/json/writer.h"

#include <inttypes.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static const unsigned statuses[TW_CODE_COUNT] = {
	[TW_OK] = 200,       [TW_NOMEM] = 503, /* a retry may succeed */
	[TW_IO] = 500,       [TW_PARSE] = 400,       [TW_INVALID] = 400,
	[TW_NOTFOUND] = 404, [TW_UNSUPPORTED] = 501, [TW_DENIED] = 403,
};

unsigned tw_http_status(enum tw_code code)
{
	return (size_t)code < TW_CODE_COUNT ? statuses[code] : 500;
}

void tw_http_reply_lend(struct tw_http_reply *r, const char *body, size_t len,
			void (*release)(void *arg), void *arg)
{
	if (r->file)
		close(r->fd);
	r->file = false;
	r->unpacked_len = 0;
	tw_growing_free(r->growing);
	r->growing = NULL;
	if (r->release != NULL)
		r->release(r->release_arg);
	r->body = body;
	r->len = len;
	r->release = release;
	r->release_arg = arg;
}

void tw_http_reply_take(struct tw_http_reply *r, char *body, size_t len)
{
	tw_http_reply_lend(r, body, len, free, body);
}

void tw_http_reply_openapi(struct tw_http_reply *r, const char *json, size_t len)
{
	tw_http_reply_lend(r, json, len, NULL, NULL);
	r->content_type = "application/openapi+json;version=3.1";
}

void tw_http_reply_packed(struct tw_http_reply *r, const void *gzip, size_t len,
			  size_t unpacked_len)
{
	tw_http_reply_lend(r, gzip, len, NULL, NULL);
	r->unpacked_len = unpacked_len;
}

void tw_http_reply_file(struct tw_http_reply *r, int fd, uint64_t at, size_t len)
{
	tw_http_reply_lend(r, NULL, len, NULL, NULL);
	r->file = true;
	r->fd = fd;
	r->file_at = at;
}

void tw_http_reply_growing(struct tw_http_reply *r, struct tw_growing *g)
{
	struct tw_growing *ours = tw_growing_ref(g);

	tw_http_reply_lend(r, NULL, 0, NULL, NULL);
	r->growing = ours;
}

void tw_http_reply_buf(struct tw_http_reply *r, struct tw_buf *b)
{
	size_t len;
	char *body = tw_buf_detach(b, &len);

	if (body != NULL)
		tw_http_reply_take(r, body, len);
	else
		r->failed = true;
}

void tw_http_reply_header(struct tw_http_reply *r, const char *name, const char *value)
{
	struct tw_err err = { 0 };

	if (tw_strs_adds(&r->headers, name, &err) < 0 ||
	    tw_strs_adds(&r->headers, value, &err) < 0)
		r->failed = true;
}

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

void tw_http_reply_problem(struct tw_http_reply *r, unsigned status, const char *detail)
{
	static const char no_memory[] =
		"{\"title\":\"Service Unavailable\",\"status\":503,"
		"\"detail\":\"out of memory\"}";
	struct tw_buf b = { 0 };
	const char *title = MHD_get_reason_phrase_for(status);
	char *body;
	size_t len;

	tw_json_add_object(&b, NULL);
	tw_json_add_text(&b, "title", title);
	tw_json_add_uint(&b, "status", status);
	tw_json_add_text(&b, "detail", detail);
	tw_json_end_object(&b);
	body = tw_buf_detach(&b, &len);

	free(r->attachment);
	r->attachment = NULL;
	r->failed = false;
	r->content_type = "application/problem+json";
	r->status = body != NULL ? status : 503;
	if (body != NULL)
		tw_http_reply_take(r, body, len);
	else
		tw_http_reply_lend(r, no_memory, sizeof(no_memory) - 1, NULL, NULL);
}

void tw_http_reply_error(struct tw_http_reply *r, const struct tw_err *err)
{
	tw_http_reply_problem(r, tw_http_status(err->code), err->text);
}

void tw_http_reply_release(struct tw_http_reply *r)
{
	free(r->attachment);
	r->attachment = NULL;
	tw_strs_clear(&r->headers);
	tw_http_reply_lend(r, NULL, 0, NULL, NULL);
}

/* Content-Disposition; bytes that could end the header or the quotes become '_'. */
static int add_attachment(struct MHD_Response *m, const char *name)
{
	struct tw_buf b = { 0 };
	int rc = -1;

	tw_buf_adds(&b, "attachment; filename=\"");
	for (const char *p = name; *p != '\0'; p++)
		tw_buf_add(&b, *p < ' ' || *p == '"' || *p == '\\' || *p == 127 ? "_" : p,
			   1);
	tw_buf_adds(&b, "\"");
	if (!tw_buf_failed(&b) &&
	    MHD_add_response_header(m, MHD_HTTP_HEADER_CONTENT_DISPOSITION, b.data) ==
		    MHD_YES)
		rc = 0;
	tw_buf_clear(&b);
	return rc;
}

static void release_nothing(void *arg)
{
	(void)arg;
}

static struct MHD_Response *make_file(struct tw_http_reply *r)
{
	struct MHD_Response *m =
		MHD_create_response_from_fd_at_offset64(r->len, r->fd, r->file_at);

	/* The response owns the file. */
	if (m != NULL)
		r->file = false;
	return m;
}

static struct MHD_Response *make_text(struct tw_http_reply *r)
{
	/* The library does not write to the body, although its type lets it. */
	struct MHD_Response *m = MHD_create_response_from_buffer_with_free_callback_cls(
		r->len, (void *)(uintptr_t)(r->len != 0 ? r->body : ""),
		r->release != NULL ? r->release : release_nothing, r->release_arg);

	/* The response releases the body. */
	if (m != NULL)
		r->release = NULL;
	return m;
}

static int add_header(struct MHD_Response *m, const char *name, const char *value)
{
	return MHD_add_response_header(m, name, value) == MHD_YES ? 0 : -1;
}

static int add_headers(struct MHD_Response *m, const struct tw_http_reply *r)
{
	const char *type = r->content_type != NULL ? r->content_type : "application/json";

	if ((r->len > 0 || r->growing != NULL) &&
	    add_header(m, MHD_HTTP_HEADER_CONTENT_TYPE, type) < 0)
		return -1;
	if (r->attachment != NULL && add_attachment(m, r->attachment) < 0)
		return -1;
	if (r->status == MHD_HTTP_SERVICE_UNAVAILABLE &&
	    add_header(m, MHD_HTTP_HEADER_RETRY_AFTER, "5") < 0)
		return -1;
	for (size_t i = 0; i + 1 < r->headers.count; i += 2)
		if (add_header(m, r->headers.at[i], r->headers.at[i + 1]) < 0)
			return -1;
	return 0;
}

/* ---- compression ---- */

/* Smaller bodies fit one packet; larger ones would occupy the thread for too long. */
#define GZIP_MIN ((size_t)1400)
#define GZIP_MAX ((size_t)8 << 20)

/* 16 asks zlib for gzip's header. */
#define GZIP_BITS (MAX_WBITS + 16)
#define MEM_LEVEL 8

static const char *const text_types[] = { "application/json",
					  "application/problem+json",
					  "application/openapi+json",
					  "application/openmetrics-text",
					  "image/svg+xml",
					  "text/" };

static bool is_text(const char *type)
{
	for (size_t i = 0; type != NULL && i < TW_COUNT(text_types); i++)
		if (strncmp(type, text_types[i], strlen(text_types[i])) == 0)
			return true;
	return type == NULL;
}

/* malloc'ed. NULL if the body does not shrink by a tenth, or if there is no memory. */
static char *gzip(const char *body, size_t len, size_t *packed_len)
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

/* malloc'ed; NULL: no memory, or the body is not len bytes. */
static char *gunzip(const char *packed, size_t packed_len, size_t len)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)packed,
		       .avail_in = (uInt)packed_len,
		       .avail_out = (uInt)len };
	char *body = len <= GZIP_MAX ? malloc(len) : NULL;
	bool whole = false;

	if (body == NULL)
		return NULL;
	z.next_out = (Bytef *)body;
	if (inflateInit2(&z, GZIP_BITS) == Z_OK) {
		whole = inflate(&z, Z_FINISH) == Z_STREAM_END && z.avail_out == 0;
		inflateEnd(&z);
	}
	if (!whole) {
		free(body);
		return NULL;
	}
	return body;
}

/* A body that is gzip already. */
static void send_packed(struct tw_http_reply *r, const char *accept_encoding)
{
	const size_t len = r->unpacked_len;
	char *body;

	tw_http_reply_header(r, "Vary", "Accept-Encoding");
	if (tw_accept_coding(accept_encoding, "gzip") > 0) {
		tw_http_reply_header(r, "Content-Encoding", "gzip");
		return;
	}
	body = gunzip(r->body, r->len, len);
	if (body != NULL)
		tw_http_reply_take(r, body, len);
	else
		tw_http_reply_problem(r, 503, "out of memory");
}

static void compress_body(struct tw_http_reply *r, const char *accept_encoding)
{
	size_t len;
	char *packed;

	if (r->unpacked_len > 0) {
		send_packed(r, accept_encoding);
		return;
	}

	if (r->file || r->len < GZIP_MIN || r->len > GZIP_MAX ||
	    !is_text(r->content_type))
		return;
	tw_http_reply_header(r, "Vary", "Accept-Encoding");
	if (tw_accept_coding(accept_encoding, "gzip") <= 0)
		return;
	packed = gzip(r->body, r->len, &len);
	if (packed == NULL)
		return;
	tw_http_reply_header(r, "Content-Encoding", "gzip");
	tw_http_reply_take(r, packed, len);
}

/* ---- the response ---- */

struct MHD_Response *tw_http_reply_make(struct tw_http_reply *r, struct MHD_Connection *c,
					const char *accept_encoding)
{
	struct MHD_Response *m;

	if (r->failed)
		tw_http_reply_problem(r, 503, "out of memory");
	compress_body(r, accept_encoding);
	if (r->growing != NULL)
		m = tw_growing_response(r->growing, c);
	else
		m = r->file ? make_file(r) : make_text(r);
	if (m != NULL && add_headers(m, r) < 0) {
		MHD_destroy_response(m);
		m = NULL;
	}
	tw_http_reply_release(r);
	return m;
}
