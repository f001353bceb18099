/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_FETCH_H
#define TW_FETCH_H

/*
 * HTTP calls by a child process, tw-fetch.
 *
 * An HTTP client brings some forty libraries, 5 MiB of a daemon that is to be small,
 * for a call or two an hour. So the client is a program of its own, which lives for one
 * call; and what a server sends is met first by a process that has nothing to lose.
 *
 * The child gets the call on its standard input and answers on its standard output:
 * a line of JSON, then the bytes of the body. A URL may have a password in it, so
 * nothing is told on the command line.
 */

#include <stddef.h>

struct tw_err;
struct tw_fetch;
struct tw_http_answer;
struct tw_http_call;

/*
 * program: the path of tw-fetch; NULL: beside this program, or where make install
 * puts it. TW_NOTFOUND if it is not there. *out is yours: tw_fetch_close().
 */
int tw_fetch_open(const char *program, struct tw_fetch **out, struct tw_err *err);

/*
 * As tw_http_call(). f is a struct tw_fetch. May be called from several threads. The
 * child is killed where it takes longer than the call's time limit.
 */
int tw_fetch_call(void *f, const struct tw_http_call *c, struct tw_http_answer *out,
		  struct tw_err *err);

/*
 * The same with the body into a file: as tw_download() (lib/http/download.h). The file is
 * the child's too until it has ended, so a lock on it tells whether one is at work.
 */
int tw_fetch_save(void *f, const struct tw_http_call *c, int fd,
		  struct tw_http_answer *out, struct tw_err *err);

/* From now on calls fail, those under way too. From any thread. */
void tw_fetch_stop(void *f);

void tw_fetch_close(struct tw_fetch *f); /* NULL is fine */

/*
 * The child's side: take one call from in, make it, tell the outcome to out. It ends
 * early where nobody is left to be told.
 */
int tw_fetch_serve(int in, int out, struct tw_err *err);

#endif /* TW_FETCH_H */
