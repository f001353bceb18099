/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_FETCH_H
#define TW_FETCH_H

/*
 * HTTP calls by the helper tw-ask.
 *
 * libcurl loads some forty libraries, 5 MiB of memory, for one or two calls an hour. So
 * the daemons start a program that lives for one call. The helper also isolates them: it
 * parses the server's bytes and holds none of the daemon's data.
 */

struct tw_err;
struct tw_fetch;
struct tw_http_answer;
struct tw_http_call;

/*
 * program: the path of tw-ask; NULL: beside this program, or where make install puts it.
 * Call it before the process drops its rights: a later user may not reach the program.
 * If the program is missing, each call looks for it again and fails with TW_NOTFOUND.
 * *out is yours: tw_fetch_close().
 */
int tw_fetch_open(const char *program, struct tw_fetch **out, struct tw_err *err);

/*
 * As tw_http_call(). f is a struct tw_fetch. Several threads may call at a time. The
 * helper is killed if it runs longer than the call's time limit. Only url, body,
 * content_type, etag and the limits of the call are used.
 */
int tw_fetch_call(void *f, const struct tw_http_call *c, struct tw_http_answer *out,
		  struct tw_err *err);

/*
 * As tw_download() (lib/http/client/download.h). The helper inherits fd and keeps it open
 * until it exits, so a lock on the file lasts as long as the download.
 */
int tw_fetch_save(void *f, const struct tw_http_call *c, int fd,
		  struct tw_http_answer *out, struct tw_err *err);

/* Calls in progress and all later calls fail, also in forks. From any thread. */
void tw_fetch_stop(void *f);

/* Calls work again, as for the next of several forks. */
void tw_fetch_resume(struct tw_fetch *f);

void tw_fetch_close(struct tw_fetch *f); /* NULL is fine */

#endif /* TW_FETCH_H */
