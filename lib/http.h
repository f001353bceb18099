/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTP_H
#define TW_HTTP_H

/*
 * HTTP client (libcurl). Only http and https, no redirects to other schemes, time
 * and size limits always. May be used from several threads.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_err;

struct tw_http_call {
	const char *url;
	const char *body; /* NULL: GET, else POST */
	size_t body_len;
	const char *content_type; /* of body; NULL: application/json */
	uint64_t timeout_ms;      /* whole call; 0: 10 s */
	size_t answer_max;        /* bytes; 0: 64 MiB */
};

struct tw_http_answer {
	unsigned status;
	char *body; /* NUL-terminated */
	size_t len;
	char content_type[64]; /* without parameters */
};

/* Once, before threads are started. */
int tw_http_init(struct tw_err *err);

/*
 * Any status is a success of the call; no connection, a time-out or a body over the
 * limit is not. *out is yours: tw_http_answer_release().
 */
int tw_http_call(const struct tw_http_call *c, struct tw_http_answer *out,
		 struct tw_err *err);

void tw_http_answer_release(struct tw_http_answer *a);

#endif /* TW_HTTP_H */
