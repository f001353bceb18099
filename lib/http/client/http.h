/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTP_H
#define TW_HTTP_H

/*
 * HTTP client (libcurl). It speaks http and https only, follows redirects to these two
 * only, and limits the time and the size of every call. Calls may run on several threads.
 *
 * A program that makes a call is linked with libcurl. Daemons call by tw-ask instead
 * (lib/ask/fetch.h); what they use of this header, calls and answers, is in
 * http_answer.c, which does not need libcurl.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_http; /* opaque */
struct tw_strs;

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
	uint64_t from;   /* status 206: offset of the body's first byte */
	bool over_limit; /* the call failed because the body exceeds answer_max */
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

/*
 * Credentials of the client and trust in the server; a NULL field is not used. With a
 * user, a token, headers or a client certificate, redirects are not followed: these
 * secrets are for the named server only.
 */
struct tw_http_access {
	const char *user, *password;      /* basic */
	const char *token;                /* bearer */
	const struct tw_strs *headers;    /* further request headers, "Name: value" */
	const char *ca_file;              /* replaces the system's CAs */
	const char *cert_file, *key_file; /* client certificate */
	bool insecure;                    /* do not verify the server's certificate */
};

/*
 * Called with the status and the headers before the first byte of the body goes to the
 * sink. -1 with err set ends the call.
 */
typedef int tw_http_begin(void *arg, const struct tw_http_answer *head,
			  struct tw_err *err);

/*
 * Takes the body of a status 200, or of a 206 if a range was requested, piece by piece.
 * -1 with err set ends the call, which then fails with that error. The sink may get the
 * first part of a body whose transfer fails later.
 */
typedef int tw_http_sink(void *arg, const char *data, size_t len, struct tw_err *err);

struct tw_http_call {
	const char *url;
	const char *method; /* NULL: POST with a body, else GET */
	const char *body;   /* or NULL */
	size_t body_len;
	const char *content_type; /* of body; NULL: application/json */
	const char *accept;       /* Accept; or NULL */
	const char *etag;         /* If-None-Match; or NULL */
	uint64_t from;            /* not 0: request the range from this byte on */
	const char *if_range;     /* with from: the entity tag of If-Range */
	const char *connect_to;   /* "::ADDR:PORT": connect there; or NULL */
	bool plain;          /* no compression, so that offsets count bytes of the file */
	uint64_t timeout_ms; /* of the whole call; 0: 10 s */
	uint64_t stall_ms; /* longest time without a byte, rounded up to whole seconds; 0:
			      no limit */
	size_t answer_max; /* of the decoded body, in bytes; 0: 64 MiB */

	struct tw_http_header *wanted; /* response headers to fill in; or NULL */
	size_t wanted_count;

	const struct tw_http_access *access; /* or NULL */
	struct tw_http *session;             /* NULL: a connection for this call only */
	tw_http_begin *begin;                /* or NULL */
	tw_http_sink *sink;                  /* NULL: every body goes to the answer */
	void *sink_arg;                      /* argument of begin and sink */
	bool (*stopped)(void *arg); /* polled once a second; true: fail with TW_IO */
	void *stopped_arg;
};

/* Call once, before threads start. */
int tw_http_init(struct tw_err *err);

/*
 * A session keeps connections open between calls. One thread uses it at a time. *out is
 * yours: tw_http_close().
 */
int tw_http_open(struct tw_http **out, struct tw_err *err);
void tw_http_close(struct tw_http *s); /* NULL is fine */

/*
 * Make one call. Any status is a success; a failed connection, a time-out or a body over
 * the limit is a failure. TW_IO is worth a retry. TW_DENIED means that a certificate was
 * rejected. *out is yours: tw_http_answer_release().
 */
int tw_http_call(const struct tw_http_call *c, struct tw_http_answer *out,
		 struct tw_err *err);

/* ---- calls of our own servers, whose errors are application/problem+json ---- */

/*
 * Make the call, to <url><path> instead of how->url; a '/' at the end of url is dropped.
 * A status that is not 2xx fails with the server's reason: TW_DENIED for 401 and 403,
 * TW_NOTFOUND for 404, TW_IO for 429 and 5xx (try again), else TW_INVALID. *out is yours:
 * tw_http_answer_release().
 */
int tw_http_api_call(const char *url, const char *path, const struct tw_http_call *how,
		     struct tw_http_answer *out, struct tw_err *err);

/*
 * ---- many calls at a time on one thread (libcurl's multi interface) ----
 *
 * A server that hangs delays no other call. Connections stay open between
 * calls.
 */

struct tw_http_many; /* opaque */

/* The end of a call. answer is NULL after a failure; else it is valid during the call. */
typedef void tw_http_done(void *arg, const struct tw_http_answer *answer,
			  const struct tw_err *why);

/* *out is yours: tw_http_many_close(). */
int tw_http_many_open(struct tw_http_many **out, struct tw_err *err);

/* Calls that have not ended are given up; done is not called for them. */
void tw_http_many_close(struct tw_http_many *m); /* NULL is fine */

/*
 * Start a call. c must live until done was called. The session of c and `stopped` are not
 * used.
 */
int tw_http_many_start(struct tw_http_many *m, const struct tw_http_call *c,
		       tw_http_done *done, void *arg, struct tw_err *err);

/*
 * Run calls until fd is readable or closed (-1: no descriptor), a call has ended, or ms
 * have passed.
 */
int tw_http_many_run(struct tw_http_many *m, int fd, unsigned ms, struct tw_err *err);

#endif /* TW_HTTP_H */
