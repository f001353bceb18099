/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTP_CALL_H
#define TW_HTTP_CALL_H

/* A call of the HTTP client: see lib/http/client/http.h and lib/http/client/http_many.h.
 */

#include "lib/http/client/http_answer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_http;
struct tw_strs;

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
	uint64_t stall_ms;   /* fail after so long without a byte, rounded up to whole
				seconds; 0: no such limit */
	size_t answer_max;   /* of the decoded body, in bytes; 0: 64 MiB */

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

#endif /* TW_HTTP_CALL_H */
