/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTPD_H
#define TW_HTTPD_H

/*
 * HTTP server (libmicrohttpd): routes from a const table, limits on size and time, errors
 * as application/problem+json. Handlers run on the server's threads, several at a time.
 */

#include "lib/core/err.h"
#include "lib/http/server/httpd_reply.h"
#include "lib/http/server/httpd_route.h"
#include "lib/program/opt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_http_stats;
struct tw_httpd;

struct tw_httpd_config {
	const char *listen; /* "127.0.0.1:8100", "[::1]:0" */
	int socket;         /* not 0: a listening socket, which the server takes over */
	const struct tw_http_route *routes;
	size_t route_count;
	void *app;                   /* argument of handlers */
	unsigned threads;            /* event threads (epoll); 0: one per CPU */
	bool thread_per_connection;  /* for handlers that take seconds */
	bool callers_thread;         /* no threads: the caller polls tw_httpd_fd() */
	unsigned connections_max;    /* 0: 1024; three quarters of one address; one more
				      * ends the one that waits longest */
	unsigned files_more;         /* descriptors of the program besides */
	uint64_t idle_timeout_ms;    /* without a byte sent or received; 0: 10 s */
	uint64_t answer_timeout_ms;  /* to take an answer; 0: 5 min */
	size_t body_max;             /* bytes of a request; 0: 1 MiB */
	struct tw_http_stats *stats; /* counts the requests; or NULL */
	const char *web_config;      /* path, see lib/http/web/web_config.h; NULL: none */
	const struct tw_strs *host_names; /* of lib/http/server/httpd_origin.h; or NULL */
	/*
	 * Called when the web configuration has changed. why: the new one is invalid and
	 * the old one stays in force; NULL: it is in force. Or NULL.
	 */
	void (*web_changed)(void *app, const struct tw_err *why);
};

/*
 * Bind and serve. Raises the soft limit of open files for connections_max and files_more;
 * if the hard limit is too low, allows fewer connections, and logs that. *out is yours:
 * tw_httpd_close().
 */
int tw_httpd_open(const struct tw_httpd_config *c, struct tw_httpd **out,
		  struct tw_err *err);

/* Check what tw_httpd_open() checks before it binds: the web configuration. */
int tw_httpd_check(const struct tw_httpd_config *c, struct tw_err *err);

/* "127.0.0.1:8100", with the port that was bound. Lives as long as the server. */
const char *tw_httpd_address(const struct tw_httpd *s);

/*
 * With callers_thread: call tw_httpd_run() when the descriptor is readable or the
 * time-out (-1: none) has passed. Handlers run on that thread, one after the other.
 */
int tw_httpd_fd(const struct tw_httpd *s);
int tw_httpd_timeout_ms(const struct tw_httpd *s);
void tw_httpd_run(struct tw_httpd *s);

/* End connections past their deadline. The server does it once a second; for tests. */
void tw_httpd_end_late(struct tw_httpd *s);

/*
 * Whether this process can read the files of the web configuration again, after it has
 * dropped rights. 0 without a web configuration.
 */
int tw_httpd_can_reload(const struct tw_httpd *s, struct tw_err *err);

/* Stop accepting, wait at most 5 s for requests in progress, close. NULL is fine. */
void tw_httpd_close(struct tw_httpd *s);

/* config has a struct tw_strs host_names. env: "TW_SERVER_HOST_NAMES" */
#define TW_OPTS_HOST_NAMES(config, variable)                                       \
	{                                                                          \
		TW_OPT_ROW(config, LIST, "host-names", host_names, "NAME,...",     \
			   "names of this server in browsers, besides addresses, " \
			   "localhost and the machine's own"),                     \
			.env = (variable)                                          \
	}

#endif /* TW_HTTPD_H */
