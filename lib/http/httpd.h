/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTPD_H
#define TW_HTTPD_H

/*
 * HTTP server (libmicrohttpd): routes from a const table, limits, errors as
 * application/problem+json. Handlers run on the server's threads, several at a time.
 */

#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_http_stats;
struct tw_httpd;

struct tw_http_request {
	const char *method;
	const char *path; /* decoded, without the query */
	const char *body; /* NUL-terminated; "" where the route streams */
	size_t len;
	void *stream; /* what the route's body->begin() made, or NULL */
	void *query;  /* for tw_http_query() */
	const struct tw_http_route *route;
	const struct tw_strs *params; /* for tw_http_param() */
};

/* A query argument, decoded; NULL if absent. Lives as long as the request. */
const char *tw_http_query(const struct tw_http_request *q, const char *name);

/*
 * What stands in the path for "{name}" of the route's; NULL if the route has no such.
 * Never empty, and without '/'.
 */
const char *tw_http_param(const struct tw_http_request *q, const char *name);

/* A header of the request; NULL if absent. Name without regard to case. */
const char *tw_http_header(const struct tw_http_request *q, const char *name);

/* An answer. All zero bytes is an empty 200. */
struct tw_http_reply {
	unsigned status;          /* 0: 200 */
	const char *content_type; /* static text; NULL: application/json */
	char *attachment;         /* file name for Content-Disposition; owned, or NULL */
	const char *body;
	size_t len;
	void (*release)(void *arg); /* called once the body has been sent; or NULL */
	void *release_arg;
	bool file; /* the body is len bytes of fd from file_at on, not in memory */
	int fd;    /* owned */
	uint64_t file_at;
	struct tw_strs headers; /* name, value, name, ..; owned */
	bool failed;            /* there was no memory for something: 503 */
};

/* The reply owns body (malloc'ed) from now on, even if it had one. */
void tw_http_reply_take(struct tw_http_reply *r, char *body, size_t len);

/* A body that lives elsewhere; release(arg) tells when it is not needed any more. */
void tw_http_reply_lend(struct tw_http_reply *r, const char *body, size_t len,
			void (*release)(void *arg), void *arg);

/* A part of a regular file, which is closed when it has been sent. */
void tw_http_reply_file(struct tw_http_reply *r, int fd, uint64_t at, size_t len);

/* A further header. */
void tw_http_reply_header(struct tw_http_reply *r, const char *name, const char *value);

/* The text of a buffer; without memory, 503. The buffer is empty afterwards. */
struct tw_buf;
void tw_http_reply_buf(struct tw_http_reply *r, struct tw_buf *b);

/* problem+json from an error: title, status, detail. Drops a body it had. */
void tw_http_reply_error(struct tw_http_reply *r, const struct tw_err *err);

/* The same for a status that no error code stands for (413, 503). */
void tw_http_reply_problem(struct tw_http_reply *r, unsigned status, const char *detail);

/* The status for an error code: the one table of the project. */
unsigned tw_http_status(enum tw_code code);

/* A body that is taken in pieces as they come, instead of into one buffer. */
struct tw_http_body {
	/* A request begins; *stream is given to the others. */
	int (*begin)(void *app, void **stream, struct tw_err *err);
	/* A failure here answers the request and drops the rest. */
	int (*feed)(void *stream, const char *data, size_t len, struct tw_err *err);
	/* Always called once, after the handler or on an aborted request. */
	void (*free)(void *stream);
};

struct tw_http_route {
	const char *method; /* "GET" also answers HEAD */
	const char *path;   /* exact, but "{name}" between two '/' is any text */
	size_t body_max;    /* bytes; 0: the server's default */
	const struct tw_http_body *body; /* NULL: buffered */
	/*
	 * Before the body is taken: a failure answers the request, with 401 where it came
	 * without an Authorization. The body is not there yet. NULL: everybody may.
	 */
	int (*allow)(void *app, const struct tw_http_request *q, struct tw_err *err);
	void (*handle)(void *app, const struct tw_http_request *q,
		       struct tw_http_reply *r);
	/*
	 * The handler takes long: it runs on a thread for all such, one after the other,
	 * while the connection's thread goes on with others. Too many at a time: 503.
	 */
	bool slow;
};

struct tw_httpd_config {
	const char *listen; /* "127.0.0.1:8100", "[::1]:0" */
	int socket;         /* not 0: one that listens already, and is taken over */
	const struct tw_http_route *const *routes;
	size_t route_count;
	void *app;                  /* given to handlers */
	unsigned threads;           /* event threads (epoll), 0: one a CPU */
	bool thread_per_connection; /* for handlers that take seconds, not microseconds */
	bool callers_thread;        /* no threads: the caller polls, see tw_httpd_fd() */
	unsigned connections_max;   /* 0: 1024 */
	uint64_t idle_timeout_ms;   /* 0: 10 s; without a byte sent or received */
	size_t body_max;            /* 0: 1 MiB */
	struct tw_http_stats *stats; /* counts into it; NULL: nothing is counted */
	const char *web_config;      /* a file, lib/http/web_config.h; NULL: none */
	/* The file changed; why: it cannot be taken, what was stays. Or NULL. */
	void (*web_changed)(void *app, const struct tw_err *why);
};

/* Bind and answer. *out is yours: tw_httpd_close(). */
int tw_httpd_open(const struct tw_httpd_config *c, struct tw_httpd **out,
		  struct tw_err *err);

/* "127.0.0.1:8100", with the port that was bound. Lives as long as the server. */
const char *tw_httpd_address(const struct tw_httpd *s);

/*
 * With callers_thread: when the descriptor is readable or the time is up (-1: never),
 * run. Handlers are then called on that thread, one after the other.
 */
int tw_httpd_fd(const struct tw_httpd *s);
int tw_httpd_timeout_ms(const struct tw_httpd *s);
void tw_httpd_run(struct tw_httpd *s);

/* Stop accepting, let requests in progress end (at most 5 s), close. NULL is fine. */
void tw_httpd_close(struct tw_httpd *s);

#endif /* TW_HTTPD_H */
