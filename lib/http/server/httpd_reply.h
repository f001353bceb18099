/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTPD_REPLY_H
#define TW_HTTPD_REPLY_H

/*
 * The reply of a handler: status, headers, and a body in memory or in a file. The server
 * compresses text bodies if the client accepts gzip.
 */

#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct MHD_Connection;
struct MHD_Response;
struct tw_buf;
struct tw_growing;
struct tw_http_request;

/* All zero bytes is a 200 without a body. */
struct tw_http_reply {
	unsigned status;          /* 0: 200 */
	const char *content_type; /* static text; NULL: application/json */
	char *attachment;         /* file name for Content-Disposition; owned, or NULL */
	const char *body;
	size_t len;
	void (*release)(void *arg); /* called once the body is not needed; or NULL */
	void *release_arg;
	size_t unpacked_len; /* not 0: the body is gzip of this many bytes */
	bool file;           /* the body is len bytes of fd from file_at on */
	int fd;              /* owned */
	uint64_t file_at;
	struct tw_growing *growing; /* the body, instead of all above; owned, or NULL */
	struct tw_strs headers;     /* name, value, name, ..; owned */
	bool failed;                /* an allocation failed: 503 */
};

/* The reply owns body (malloc'ed) from now on, and releases the body it had. */
void tw_http_reply_take(struct tw_http_reply *r, char *body, size_t len);

/* Borrow a body; the server calls release(arg) once it has been sent. */
void tw_http_reply_lend(struct tw_http_reply *r, const char *body, size_t len,
			void (*release)(void *arg), void *arg);

/* Lend the description of a daemon's API. */
void tw_http_reply_openapi(struct tw_http_reply *r, const char *json, size_t len);

/*
 * Lend a body that is gzip already and outlives all replies: it is of unpacked_len bytes
 * (at most 8 MiB). A client that does not accept gzip gets it unpacked.
 */
void tw_http_reply_packed(struct tw_http_reply *r, const void *gzip, size_t len,
			  size_t unpacked_len);

/* Send len bytes of a regular file from offset at on. The reply owns fd. */
void tw_http_reply_file(struct tw_http_reply *r, int fd, uint64_t at, size_t len);

/* Send a body that is still being written. It is compressed only if it was written so. */
void tw_http_reply_growing(struct tw_http_reply *r, struct tw_growing *g);

/* Add a header; name and value are copied. */
void tw_http_reply_header(struct tw_http_reply *r, const char *name, const char *value);

/* Take the text of a buffer, which is empty afterwards. A failed buffer gives 503. */
void tw_http_reply_buf(struct tw_http_reply *r, struct tw_buf *b);

/* The same with a tag of the text; 304 if the client has it: RFC 9110, section 13.1.2. */
void tw_http_reply_tagged(const struct tw_http_request *q, struct tw_http_reply *r,
			  struct tw_buf *b);

/* Replace the body by problem+json (RFC 9457) with the error's status and text. */
void tw_http_reply_error(struct tw_http_reply *r, const struct tw_err *err);

/* The same for a status without an error code (413, 503). */
void tw_http_reply_problem(struct tw_http_reply *r, unsigned status, const char *detail);

/* The status for an error code. */
unsigned tw_http_status(enum tw_code code);

/*
 * For the server: turn the reply into a response for a connection. It consumes what the
 * reply owns, on failure too. accept_encoding is the request's header or NULL. NULL if an
 * allocation failed.
 */
struct MHD_Response *tw_http_reply_make(struct tw_http_reply *r, struct MHD_Connection *c,
					const char *accept_encoding);

/* Free what the reply owns, and release its body. */
void tw_http_reply_release(struct tw_http_reply *r);

#endif /* TW_HTTPD_REPLY_H */
