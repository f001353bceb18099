/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTP_H
#define TW_HTTP_H

/*
 * HTTP client (libcurl). It speaks http and https only, follows redirects to these two
 * only, and limits the time and the size of every call. Calls may run on several threads.
 *
 * A program that includes this header is linked with libcurl if it calls tw_http_init(),
 * tw_http_open() or tw_http_call(). Daemons call by tw-ask instead
 * (lib/ask/fetch.h).
 */

#include "lib/http/client/http_call.h"

struct tw_err;
struct tw_http_answer;

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

#endif /* TW_HTTP_H */
