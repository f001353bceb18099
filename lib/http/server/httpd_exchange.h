/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTPD_EXCHANGE_H
#define TW_HTTPD_EXCHANGE_H

/*
 * One request, from its headers to the end of its answer, as callbacks of libmicrohttpd.
 * For lib/http/server/httpd.c.
 */

#include <microhttpd.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct tw_guarded;
struct tw_http_route;
struct tw_http_stats;
struct tw_httpd_work;
struct tw_strs;
struct tw_web;

/* The common part of a server's requests. The pointers are borrowed. */
struct tw_exchange_server {
	const struct tw_http_route *routes;
	size_t route_count;
	void *app;                   /* argument of handlers */
	size_t body_max;             /* bytes */
	struct tw_http_stats *stats; /* or NULL */
	struct tw_httpd_work *work;  /* NULL: slow handlers need no thread of their own */
	struct tw_httpd_work *hash;  /* NULL: nor do checks of passwords */
	struct tw_web *web;          /* NULL: no TLS, no users */
	const struct tw_strs *host_names;
	bool loopback;             /* it listens on a loopback address */
	atomic_size_t in_progress; /* requests */
	atomic_bool closing;       /* answers end their connections */
};

/* The deadline of a connection; NULL: it has none. */
struct tw_guarded *tw_exchange_guarded(struct MHD_Connection *c);

/*
 * MHD_OPTION_URI_LOG_CALLBACK, MHD_AccessHandlerCallback and MHD_OPTION_NOTIFY_COMPLETED;
 * cls is a struct tw_exchange_server.
 */
void *tw_exchange_target(void *cls, const char *target, struct MHD_Connection *c);
enum MHD_Result tw_exchange_request(void *cls, struct MHD_Connection *c,
				    const char *target, const char *method,
				    const char *version, const char *data, size_t *len,
				    void **state);
void tw_exchange_completed(void *cls, struct MHD_Connection *c, void **state,
			   enum MHD_RequestTerminationCode how);

#endif /* TW_HTTPD_EXCHANGE_H */
