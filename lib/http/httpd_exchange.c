/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/httpd_exchange.h"

#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/http/httpd_guard.h"
#include "lib/http/httpd_reply.h"
#include "lib/http/httpd_route.h"
#include "lib/http/httpd_stats.h"
#include "lib/http/httpd_work.h"
#include "lib/http/web.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct exchange {
	struct tw_exchange_server *server;
	struct tw_guarded *connection;
	const struct tw_http_route *route; /* NULL: no route matched */
	size_t body_max;
	size_t seen; /* bytes of the body, including dropped ones */
	struct tw_buf body;
	struct tw_strs params;
	uint64_t since_ns;
	void *stream;
	bool streaming;    /* stream must be freed */
	unsigned rejected; /* the status of a rejected request; 0: accepted */
	struct tw_err why;
	struct tw_httpd_job *job; /* of a slow handler, or NULL */
};

struct tw_guarded *tw_exchange_guarded(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return i != NULL ? i->socket_context : NULL;
}

/* ---- rejecting ---- */

/* Answer with the error in e->why; status 0: the status of its code. */
static void reject(struct exchange *e, unsigned status)
{
	e->rejected = status != 0 ? status : tw_http_status(e->why.code);
	if (e->streaming)
		e->route->body->free(e->stream);
	e->streaming = false;
	e->stream = NULL;
	tw_buf_clear(&e->body);
}

static void reject_size(struct exchange *e, const char *size)
{
	tw_fail(&e->why, TW_INVALID, "body of %.20s bytes, limit is %zu", size,
		e->body_max);
	reject(e, MHD_HTTP_CONTENT_TOO_LARGE);
}

static void find_route(struct exchange *e, const char *method, const char *path)
{
	bool path_known;

	e->route = tw_http_route_find(e->server->routes, e->server->route_count, method,
				      path, &path_known);
	if (e->route != NULL) {
		if (e->route->body_max != 0)
			e->body_max = e->route->body_max;
		if (tw_http_route_params(e->route, path, &e->params, &e->why) < 0)
			reject(e, 0);
		return;
	}
	if (path_known)
		tw_fail(&e->why, TW_INVALID, "'%.64s' does not take %.16s", path, method);
	else
		tw_fail(&e->why, TW_NOTFOUND, "no such path: '%.128s'", path);
	reject(e, path_known ? MHD_HTTP_METHOD_NOT_ALLOWED : MHD_HTTP_NOT_FOUND);
}

/* ---- answering ---- */

static int add_header(void *response, const char *name, const char *value)
{
	return MHD_add_response_header(response, name, value) == MHD_YES ? 0 : -1;
}

static enum MHD_Result queue_reply(struct exchange *e, struct MHD_Connection *c,
				   const char *path, struct tw_http_reply *r)
{
	struct MHD_Response *m = tw_http_reply_make(
		r, MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Accept-Encoding"));
	const unsigned status = r->status != 0 ? r->status : MHD_HTTP_OK;
	const bool closing =
		atomic_load_explicit(&e->server->closing, memory_order_relaxed);
	enum MHD_Result queued = MHD_NO;
	struct tw_buf allow = { 0 };

	if (m == NULL)
		return MHD_NO;
	tw_http_stats_add(e->server->stats, e->route, status, tw_now_ns() - e->since_ns);
	if (closing && MHD_add_response_header(m, "Connection", "close") != MHD_YES)
		goto out;
	if (e->server->web != NULL && tw_web_headers(e->server->web, add_header, m) < 0)
		goto out;
	if (e->rejected == MHD_HTTP_UNAUTHORIZED &&
	    add_header(m, "WWW-Authenticate", "Basic realm=\"tallywatt\"") < 0)
		goto out;
	if (e->rejected == MHD_HTTP_METHOD_NOT_ALLOWED) {
		tw_http_route_methods(e->server->routes, e->server->route_count, path,
				      &allow);
		if (tw_buf_failed(&allow) ||
		    MHD_add_response_header(m, "Allow", allow.data) != MHD_YES)
			goto out;
	}
	tw_guard_answering(e->connection);
	queued = MHD_queue_response(c, status, m);
out:
	tw_buf_clear(&allow);
	MHD_destroy_response(m);
	return queued;
}

static enum MHD_Result answer_rejected(struct exchange *e, struct MHD_Connection *c,
				       const char *path)
{
	struct tw_http_reply r = { 0 };

	tw_http_reply_problem(&r, e->rejected, e->why.text);
	return queue_reply(e, c, path, &r);
}

static void drop_body(struct exchange *e)
{
	if (e->streaming)
		e->route->body->free(e->stream);
	e->streaming = false;
	tw_buf_clear(&e->body);
}

/* Once the job is done, the library calls answer() again. */
static enum MHD_Result queue_slow(struct exchange *e, struct MHD_Connection *c,
				  const struct tw_http_request *q)
{
	struct tw_http_reply r = { 0 };

	e->job = tw_httpd_work_add(e->server->work, q);
	if (e->job != NULL)
		return MHD_YES;
	tw_http_reply_problem(&r, MHD_HTTP_SERVICE_UNAVAILABLE,
			      "too many requests of this kind at a time");
	return queue_reply(e, c, q->path, &r);
}

static enum MHD_Result answer(struct exchange *e, struct MHD_Connection *c,
			      const char *method, const char *path)
{
	struct tw_http_reply r = { 0 };
	const struct tw_http_request q = {
		.method = method,
		.path = path,
		.body = e->body.data != NULL ? e->body.data : "",
		.len = e->body.len,
		.stream = e->stream,
		.query = c,
		.route = e->route,
		.params = &e->params,
	};

	/* The request is complete; queue_reply() sets the next deadline. */
	tw_guard_working(e->connection);
	if (e->rejected != 0)
		return answer_rejected(e, c, path);
	if (e->job != NULL) {
		drop_body(e);
		return queue_reply(e, c, path, &e->job->reply);
	}
	if (e->route->slow && e->server->work != NULL)
		return queue_slow(e, c, &q);
	e->route->handle(e->server->app, &q, &r);
	drop_body(e);
	return queue_reply(e, c, path, &r);
}

/* ---- receiving ---- */

/* Whether the client has a certificate of client_ca_file, if the server wants one. */
static bool is_certified(const struct tw_exchange_server *s, struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i;
	unsigned status = 1;

	if (tw_web_client_ca(s->web) == NULL)
		return true;
	i = MHD_get_connection_info(c, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	return i != NULL && i->tls_session != NULL &&
	       gnutls_certificate_verify_peers2(i->tls_session, &status) >= 0 &&
	       status == 0;
}

static void check_access(struct exchange *e, struct MHD_Connection *c)
{
	struct tw_web *web = e->server->web;

	if (web == NULL)
		return;
	if (!is_certified(e->server, c)) {
		tw_fail(&e->why, TW_DENIED, "a client certificate is needed");
		reject(e, MHD_HTTP_FORBIDDEN);
		return;
	}
	switch (tw_web_access(
		web, MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization"))) {
	case TW_WEB_ALLOWED:
		break;
	case TW_WEB_UNKNOWN:
		tw_fail(&e->why, TW_DENIED, "name and password are needed");
		reject(e, MHD_HTTP_UNAUTHORIZED);
		break;
	case TW_WEB_BUSY:
		tw_fail(&e->why, TW_DENIED, "another password is being checked");
		reject(e, MHD_HTTP_SERVICE_UNAVAILABLE);
		break;
	}
}

static void check_route_access(struct exchange *e, struct MHD_Connection *c,
			       const char *method, const char *path)
{
	const struct tw_http_request q = { .method = method,
					   .path = path,
					   .body = "",
					   .query = c,
					   .route = e->route,
					   .params = &e->params };
	const bool anonymous =
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization") == NULL;

	if (e->route->allow != NULL && e->route->allow(e->server->app, &q, &e->why) < 0)
		reject(e,
		       e->why.code == TW_DENIED && anonymous ? MHD_HTTP_UNAUTHORIZED : 0);
}

/* Called after the headers, before the body. */
static enum MHD_Result begin(struct tw_exchange_server *s, struct MHD_Connection *c,
			     const char *method, const char *path, void **state)
{
	const char *length =
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Length");
	struct exchange *e = calloc(1, sizeof(*e));
	bool over;

	if (e == NULL)
		return MHD_NO;
	e->server = s;
	e->body_max = s->body_max;
	e->since_ns = tw_now_ns();
	e->connection = tw_exchange_guarded(c);
	tw_guard_receiving(e->connection);
	atomic_fetch_add(&s->in_progress, 1);
	*state = e;

	check_access(e, c);
	if (e->rejected == 0)
		find_route(e, method, path);
	if (e->rejected == 0)
		check_route_access(e, c, method, path);
	/* The library has checked the digits; strtoull() saturates. */
	over = length != NULL && strtoull(length, NULL, 10) > e->body_max;
	if (over && e->rejected == 0)
		reject_size(e, length);
	/* An answer before the body makes the library close the connection. */
	if (over)
		return answer_rejected(e, c, path);
	if (e->rejected == 0 && e->route->body != NULL) {
		if (e->route->body->begin(s->app, &e->stream, &e->why) < 0)
			reject(e, 0);
		else
			e->streaming = true;
	}
	return MHD_YES;
}

/*
 * Take a piece of the body. The library cannot answer in the middle of a body, so the
 * rest of a rejected one is dropped. A chunked body that reaches twice the limit ends the
 * connection.
 */
static enum MHD_Result take_piece(struct exchange *e, const char *data, size_t len)
{
	bool over;

	tw_guard_received(e->connection, len);
	e->seen = len < SIZE_MAX - e->seen ? e->seen + len : SIZE_MAX;
	over = e->seen > e->body_max;
	if (over && e->seen / 2 > e->body_max)
		return MHD_NO;
	if (e->rejected != 0)
		return MHD_YES;
	if (over) {
		tw_fail(&e->why, TW_INVALID, "body of more than %zu bytes", e->body_max);
		reject(e, MHD_HTTP_CONTENT_TOO_LARGE);
	} else if (e->streaming) {
		if (e->route->body->feed(e->stream, data, len, &e->why) < 0)
			reject(e, 0);
	} else {
		tw_buf_add(&e->body, data, len);
		if (tw_buf_failed(&e->body)) {
			tw_fail(&e->why, TW_NOMEM, "body of %zu bytes", e->seen);
			reject(e, 0);
		}
	}
	return MHD_YES;
}

enum MHD_Result tw_exchange_request(void *cls, struct MHD_Connection *c, const char *path,
				    const char *method, const char *version,
				    const char *data, size_t *len, void **state)
{
	enum MHD_Result taken;

	(void)version;
	if (*state == NULL)
		return begin(cls, c, method, path, state);
	if (*len == 0)
		return answer(*state, c, method, path);
	taken = take_piece(*state, data, *len);
	*len = 0;
	return taken;
}

void tw_exchange_completed(void *cls, struct MHD_Connection *c, void **state,
			   enum MHD_RequestTerminationCode how)
{
	struct exchange *e = *state;
	struct tw_exchange_server *s = cls;

	(void)c;
	(void)how;
	if (e == NULL)
		return;
	*state = NULL;
	tw_guard_waiting(e->connection);
	drop_body(e);
	tw_httpd_job_free(e->job);
	tw_strs_clear(&e->params);
	free(e);
	atomic_fetch_sub(&s->in_progress, 1);
}
