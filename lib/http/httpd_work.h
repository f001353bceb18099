/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTPD_WORK_H
#define TW_HTTPD_WORK_H

/*
 * The queue of slow requests. One thread runs their handlers in order; their connections
 * are suspended meanwhile. For the HTTP server.
 */

#include "lib/http/httpd_reply.h"
#include "lib/http/httpd_route.h"

struct tw_err;
struct tw_httpd_work;

/* Requests in the queue and in progress: each holds its body in memory. */
#define TW_HTTPD_WORK_MAX 8

struct tw_httpd_job {
	struct tw_http_request request;
	struct tw_http_reply reply; /* valid once the connection is resumed */
	struct tw_httpd_job *next;
};

/* Starts the thread. *out is yours: tw_httpd_work_close(). */
int tw_httpd_work_open(void *app, struct tw_httpd_work **out, struct tw_err *err);

/*
 * Wait for the request in progress. The requests in the queue, and later ones, are
 * answered 503. NULL is fine.
 */
void tw_httpd_work_stop(struct tw_httpd_work *w);
void tw_httpd_work_close(struct tw_httpd_work *w); /* NULL is fine; stops first */

/*
 * Suspend the request's connection and queue its handler. Call it on the connection's
 * thread. All that q points to must live until the connection is resumed; then the job
 * is yours: tw_httpd_job_free(). NULL if the queue is full or an allocation failed.
 */
struct tw_httpd_job *tw_httpd_work_add(struct tw_httpd_work *w,
				       const struct tw_http_request *q);
void tw_httpd_job_free(struct tw_httpd_job *job); /* NULL is fine */

#endif /* TW_HTTPD_WORK_H */
