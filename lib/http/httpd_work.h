/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTPD_WORK_H
#define TW_HTTPD_WORK_H

/*
 * Requests whose handlers take long, one after the other on a thread of their own: their
 * connections are suspended meanwhile. For lib/httpd*.c only.
 */

#include "lib/http/httpd.h"

struct tw_err;
struct tw_httpd_work;

/* Most that wait or are in progress: each holds the body of its request. */
#define TW_HTTPD_WORK_MAX 8

/* A request in work. */
struct tw_httpd_job {
	struct tw_http_request request;
	struct tw_http_reply reply; /* there once the connection goes on */
	struct tw_httpd_job *next;
};

/* Starts the thread. *out is yours: tw_httpd_work_close(). */
int tw_httpd_work_open(void *app, struct tw_httpd_work **out, struct tw_err *err);

/*
 * Waits for the request in progress; those that wait, and those that come later, are
 * answered 503. NULL is fine.
 */
void tw_httpd_work_stop(struct tw_httpd_work *w);
void tw_httpd_work_close(struct tw_httpd_work *w); /* NULL is fine; stops first */

/*
 * Suspend the request's connection and have it handled; everything that q points to must
 * stay until the connection goes on. By the connection's thread. NULL: there are too many
 * already, or no memory; else it is yours once the connection goes on.
 */
struct tw_httpd_job *tw_httpd_work_add(struct tw_httpd_work *w,
				       const struct tw_http_request *q);
void tw_httpd_job_free(struct tw_httpd_job *job); /* NULL is fine */

#endif /* TW_HTTPD_WORK_H */
