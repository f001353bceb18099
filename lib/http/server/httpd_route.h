/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTPD_ROUTE_H
#define TW_HTTPD_ROUTE_H

/*
 * Routes of the HTTP server, and the request that a route's handler gets.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_buf;
struct tw_err;
struct tw_http_reply;
struct tw_strs;

struct tw_http_request {
	const char *method;
	const char *path; /* decoded, without the query */
	const char *body; /* NUL-terminated; "" if the route streams its body */
	size_t len;
	void *stream;     /* from the route's body->begin(), or NULL */
	const char *user; /* whose password was checked; NULL: there are no users */
	void *query;      /* struct MHD_Connection, for tw_http_query() */
	const struct tw_http_route *route;
	const struct tw_strs *params; /* for tw_http_param() */
};

/* A query argument, decoded; NULL if absent. It lives as long as the request. */
const char *tw_http_query(const struct tw_http_request *q, const char *name);

/*
 * Read a query argument with names, separated by commas: a bit for each of those in
 * `names`, which end with NULL. 0 if it is absent.
 */
int tw_http_query_names(const struct tw_http_request *q, const char *name,
			const char *const *names, unsigned *out, struct tw_err *err);

/* Read a query argument that counts. *out is unchanged if it is absent. */
int tw_http_query_count(const struct tw_http_request *q, const char *name, uint64_t *out,
			struct tw_err *err);

/*
 * The segment of the path that matches "{name}" of the route: not empty, without '/'.
 * NULL if the route has no such parameter.
 */
const char *tw_http_param(const struct tw_http_request *q, const char *name);

/* A header of the request; NULL if absent. The name's case does not matter. */
const char *tw_http_header(const struct tw_http_request *q, const char *name);

/* A request body that the route takes piece by piece instead of in one buffer. */
struct tw_http_body {
	/* A request begins; *stream goes to the other two. */
	int (*begin)(void *app, void **stream, struct tw_err *err);
	/* A failure answers the request; the rest of the body is dropped. */
	int (*feed)(void *stream, const char *data, size_t len, struct tw_err *err);
	/* Called once, after the handler or after an aborted request. */
	void (*free)(void *stream);
};

typedef void tw_http_handle(void *app, const struct tw_http_request *q,
			    struct tw_http_reply *r);
typedef int tw_http_allow(void *app, const struct tw_http_request *q, struct tw_err *err);

struct tw_http_route {
	const char *method; /* "GET" also answers HEAD */
	const char *path;   /* "/a/{name}/b": {name} matches any segment */
	tw_http_handle *handle;
	size_t body_max;                 /* bytes; 0: the server's default */
	const struct tw_http_body *body; /* NULL: the body goes to a buffer */
	/*
	 * Checks access before the body arrives. A failure answers the request; TW_DENIED
	 * without an Authorization header gives 401. NULL: no check.
	 */
	tw_http_allow *allow;
	/*
	 * The handler takes long. It runs on the one thread for slow handlers, so that
	 * the connection's thread serves others meanwhile. A full queue answers 503.
	 */
	bool slow;
};

/*
 * The route for a request; an exact path wins over one with parameters. NULL if there is
 * none; *path_known is then true if another method has a route.
 */
const struct tw_http_route *tw_http_route_find(const struct tw_http_route *routes,
					       size_t count, const char *method,
					       const char *path, bool *path_known);

/* Append the path's segment for each "{name}" of the route, in order. */
int tw_http_route_params(const struct tw_http_route *r, const char *path,
			 struct tw_strs *out, struct tw_err *err);

/* Append the methods of a path, for the Allow header: "GET, HEAD, POST". */
void tw_http_route_methods(const struct tw_http_route *routes, size_t count,
			   const char *path, struct tw_buf *out);

#endif /* TW_HTTPD_ROUTE_H */
