/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTPD_WORK_H
#define TW_HTTPD_WORK_H

/*
 * A queue of slow work for requests: handlers, or checks of passwords. One thread does it
 * in order; the connections are suspended meanwhile. For the HTTP server.
 */

#include <stdbool.h>
#include <stddef.h>

struct MHD_Connection;
struct tw_err;
struct tw_httpd_work;

/* Slow handlers in the queue and in progress: each holds its body in memory. */
#define TW_HTTPD_WORK_MAX 8

struct tw_httpd_job {
	struct MHD_Connection *connection;
	/* Does the work. stopping: the server stops; answer so instead. */
	void (*run)(void *arg, bool stopping);
	void *arg;
	struct tw_httpd_job *next; /* for httpd_work.c */
};

/*
 * Starts the thread. max is the limit of jobs. wake: -1, or an eventfd to write to after
 * each job, for a server without threads: libmicrohttpd does not wake its caller itself.
 * *out is yours: tw_httpd_work_close().
 */
int tw_httpd_work_open(size_t max, int wake, struct tw_httpd_work **out,
		       struct tw_err *err);

/*
 * Wait for the job in progress. The jobs in the queue run with `stopping`, and later ones
 * are not taken. NULL is fine.
 */
void tw_httpd_work_stop(struct tw_httpd_work *w);
void tw_httpd_work_close(struct tw_httpd_work *w); /* NULL is fine; stops first */

/*
 * Suspend the connection and queue the job, which is yours and must live until the
 * connection is resumed. Call it on the connection's thread. False: the queue is full.
 */
bool tw_httpd_work_add(struct tw_httpd_work *w, struct tw_httpd_job *job);

#endif /* TW_HTTPD_WORK_H */
