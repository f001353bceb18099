/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTP_H
#define TW_HTTP_H

/*
 * HTTP client (libcurl). Only http and https, no redirects to other schemes, time
 * and size limits always. May be used from several threads.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_buf;
struct tw_err;
struct tw_http;
struct tw_strs;

/*
 * Who asks, and whom it believes; NULL: without. Where there are a user, a token, headers
 * or a certificate, redirects are not followed: those are for this server only.
 */
struct tw_http_access {
	const char *user, *password;      /* basic */
	const char *token;                /* bearer */
	const struct tw_strs *headers;    /* more of them, "Name: value" */
	const char *ca_file;              /* instead of the system's CAs */
	const char *cert_file, *key_file; /* the client's own */
	bool insecure;                    /* whoever answers is believed */
};

struct tw_http_answer;

/* Before the first byte goes to the sink: an answer without a body. -1 as a sink's. */
typedef int tw_http_begin(void *arg, const struct tw_http_answer *head,
			  struct tw_err *err);

/*
 * The body of a status 200, or of a 206 where a part was asked for, as it comes. -1 with
 * err set ends the call, which then fails with that error. May be called with part of a
 * body that turns out not to be whole.
 */
typedef int tw_http_sink(void *arg, const char *data, size_t len, struct tw_err *err);

/* Room for an entity tag with its quotes; a longer one counts as none. */
#define TW_HTTP_ETAG_MAX 128

/* Of an answer; value is "" where it is missing, or does not fit. */
#define TW_HTTP_HEADER_MAX 512
struct tw_http_header {
	const char *name;
	char value[TW_HTTP_HEADER_MAX];
};

struct tw_http_call {
	const char *url;
	const char *method; /* NULL: POST with a body, else GET */
	const char *body;   /* or NULL */
	size_t body_len;
	const char *content_type; /* of body; NULL: application/json */
	const char *accept;       /* or NULL */
	const char *etag; /* of what is there: 304, without a body, if it still is so; or
			     NULL */
	uint64_t from; /* not 0: only from this byte on (206), if what is there still has
			  the tag if_range; else all of it (200) */
	const char *if_range;
	bool plain; /* no compression on the way: bytes are counted as they lie there */
	uint64_t timeout_ms; /* whole call; 0: 10 s */
	uint64_t stall_ms; /* give up when nobody answers or nothing came for so long; 0:
			      never */
	size_t answer_max; /* bytes, decoded; 0: 64 MiB */

	struct tw_http_header *wanted; /* headers of the answer, filled in; or NULL */
	size_t wanted_count;

	const struct tw_http_access *access; /* or NULL */
	struct tw_http *session;             /* or NULL: a connection of its own */
	tw_http_begin *begin;                /* or NULL */
	tw_http_sink *sink;                  /* NULL: every body goes to the answer */
	void *sink_arg;                      /* of both */
	bool (*stopped)(void *arg); /* asked now and then; true: fail with TW_IO */
	void *stopped_arg;
};

struct tw_http_answer {
	unsigned status;
	/* NUL-terminated; empty where a sink took it; with a sink, 64 KiB at most. */
	char *body;
	size_t len;
	char content_type[64];       /* without parameters */
	char etag[TW_HTTP_ETAG_MAX]; /* of the body; empty: none */
	uint64_t retry_after_s;      /* as the server asks; 0: it does not */
	uint64_t from;               /* of a 206: which byte the body begins with */
};

/* Once, before threads are started. */
int tw_http_init(struct tw_err *err);

/*
 * Connections that are kept from call to call; for one thread at a time. *out is yours:
 * tw_http_close().
 */
int tw_http_open(struct tw_http **out, struct tw_err *err);
void tw_http_close(struct tw_http *s); /* NULL is fine */

/*
 * Any status is a success of the call; no connection, a time-out or a body over the
 * limit is not. TW_IO may be over when tried again; TW_DENIED is a certificate that is
 * not believed. *out is yours: tw_http_answer_release().
 */
int tw_http_call(const struct tw_http_call *c, struct tw_http_answer *out,
		 struct tw_err *err);

void tw_http_answer_release(struct tw_http_answer *a);

/* Append text as part of a URL's query: all but letters, digits and "-_.~" as %XX. */
void tw_http_escape(struct tw_buf *b, const char *text);

#endif /* TW_HTTP_H */
