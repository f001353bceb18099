/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTP_MANY_H
#define TW_HTTP_MANY_H

/*
 * Many calls at a time on one thread (libcurl's multi interface): a server that hangs
 * delays none of the other calls. Connections stay open between calls. Needs libcurl, as
 * lib/http/client/http.h does.
 */

#include <stddef.h>

struct tw_err;
struct tw_http_answer;
struct tw_http_call;
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

#endif /* TW_HTTP_MANY_H */
