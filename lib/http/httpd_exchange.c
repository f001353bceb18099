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

#include <stdint.h>
#include <stdlib.h>

/* A request from its headers to the end of its answer. */
struct exchange {
	struct tw_httpd *server;
	struct tw_guarded *connection;
	const struct tw_http_route *route; /* NULL: refused */
	size_t body_max;
	size_t seen; /* bytes of the body, dropped ones too */
	struct tw_buf body;
	struct tw_strs params;
	uint64_t since_ns;
	void *stream;
	bool streaming;   /* stream is to be freed */
	unsigned refused; /* the status, if the request is refused; 0 if not */
	struct tw_err why;
	struct tw_httpd_job *job; /* handled on the thread for what takes long */
};

const char *tw_http_query(const struct tw_http_request *q, const char *name)
{
	return MHD_lookup_connection_value(q->query, MHD_GET_ARGUMENT_KIND, name);
}

const char *tw_http_header(const struct tw_http_request *q, const char *name)
{
	return MHD_lookup_connection_value(q->query, MHD_HEADER_KIND, name);
}

struct tw_guarded *tw_exchange_guarded(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return i != NULL ? i->socket_context : NULL;
}

/* ---- refusing ---- */

/* The error is in e->why already; status 0 means by its code. */
static void refuse(struct exchange *e, unsigned status)
{
	e->refused = status != 0 ? status : tw_http_status(e->why.code);
	if (e->streaming)
		e->route->body->free(e->stream);
	e->streaming = false;
	e->stream = NULL;
	tw_buf_clear(&e->body);
}

static void refuse_size(struct exchange *e, const char *size)
{
	tw_fail(&e->why, TW_INVALID, "body of %.20s bytes, limit is %zu", size,
		e->body_max);
	refuse(e, MHD_HTTP_CONTENT_TOO_LARGE);
}

static void find_route(struct exchange *e, const char *method, const char *path)
{
	bool known;

	e->route = tw_http_route_find(&e->server->config, method, path, &known);
	if (e->route != NULL) {
		if (e->route->body_max != 0)
			e->body_max = e->route->body_max;
		if (tw_http_route_params(e->route, path, &e->params, &e->why) < 0)
			refuse(e, 0);
		return;
	}
	if (known)
		tw_fail(&e->why, TW_INVALID, "'%.64s' does not take %.16s", path, method);
	else
		tw_fail(&e->why, TW_NOTFOUND, "no such path: '%.128s'", path);
	refuse(e, known ? MHD_HTTP_METHOD_NOT_ALLOWED : MHD_HTTP_NOT_FOUND);
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
	tw_http_stats_add(e->server->config.stats, e->route, status,
			  tw_now_ns() - e->since_ns);
	if (closing && MHD_add_response_header(m, "Connection", "close") != MHD_YES)
		goto out;
	if (e->server->web != NULL && tw_web_headers(e->server->web, add_header, m) < 0)
		goto out;
	if (e->refused == MHD_HTTP_UNAUTHORIZED &&
	    add_header(m, "WWW-Authenticate", "Basic realm=\"tallywatt\"") < 0)
		goto out;
	if (e->refused == MHD_HTTP_METHOD_NOT_ALLOWED) {
		tw_http_route_methods(&e->server->config, path, &allow);
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

static enum MHD_Result answer_refused(struct exchange *e, struct MHD_Connection *c,
				      const char *path)
{
	struct tw_http_reply r = { 0 };

	tw_http_reply_problem(&r, e->refused, e->why.text);
	return queue_reply(e, c, path, &r);
}

static void drop_body(struct exchange *e)
{
	if (e->streaming)
		e->route->body->free(e->stream);
	e->streaming = false;
	tw_buf_clear(&e->body);
}

/* It comes back to answer() with a reply. */
static enum MHD_Result hand_over(struct exchange *e, struct MHD_Connection *c,
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

	/* The request is complete. The next deadline is set in queue_reply(). */
	tw_guard_working(e->connection);
	if (e->refused != 0)
		return answer_refused(e, c, path);
	if (e->job != NULL) {
		drop_body(e);
		return queue_reply(e, c, path, &e->job->reply);
	}
	if (e->route->slow && e->server->work != NULL)
		return hand_over(e, c, &q);
	e->route->handle(e->server->config.app, &q, &r);
	drop_body(e);
	return queue_reply(e, c, path, &r);
}

/* ---- receiving ---- */

/* With client_auth_type a certificate is wanted, and must be one of the file's. */
static bool is_certified(const struct tw_httpd *s, struct MHD_Connection *c)
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
		refuse(e, MHD_HTTP_FORBIDDEN);
		return;
	}
	switch (tw_web_access(
		web, MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization"))) {
	case TW_WEB_ALLOWED:
		break;
	case TW_WEB_UNKNOWN:
		tw_fail(&e->why, TW_DENIED, "name and password are needed");
		refuse(e, MHD_HTTP_UNAUTHORIZED);
		break;
	case TW_WEB_BUSY:
		tw_fail(&e->why, TW_DENIED, "another password is being checked");
		refuse(e, MHD_HTTP_SERVICE_UNAVAILABLE);
		break;
	}
}

/* What the route itself asks of who asks. */
static void ask_route(struct exchange *e, struct MHD_Connection *c, const char *method,
		      const char *path)
{
	const struct tw_http_request q = { .method = method,
					   .path = path,
					   .body = "",
					   .query = c,
					   .route = e->route,
					   .params = &e->params };
	const bool anonymous =
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization") == NULL;

	if (e->route->allow != NULL &&
	    e->route->allow(e->server->config.app, &q, &e->why) < 0)
		refuse(e,
		       e->why.code == TW_DENIED && anonymous ? MHD_HTTP_UNAUTHORIZED : 0);
}

/* Headers are there, the body is not. */
static enum MHD_Result begin(struct tw_httpd *s, struct MHD_Connection *c,
			     const char *method, const char *path, void **state)
{
	const char *length =
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Length");
	struct exchange *e = calloc(1, sizeof(*e));
	bool over;

	if (e == NULL)
		return MHD_NO;
	e->server = s;
	e->body_max = s->config.body_max;
	e->since_ns = tw_now_ns();
	e->connection = tw_exchange_guarded(c);
	tw_guard_receiving(e->connection);
	atomic_fetch_add(&s->in_progress, 1);
	*state = e;

	check_access(e, c);
	if (e->refused == 0)
		find_route(e, method, path);
	if (e->refused == 0)
		ask_route(e, c, method, path);
	/* The library has checked that it is a number; one too large is ULLONG_MAX. */
	over = length != NULL && strtoull(length, NULL, 10) > e->body_max;
	if (over && e->refused == 0)
		refuse_size(e, length);
	/* Without waiting for a byte of it; the library then closes the connection. */
	if (over)
		return answer_refused(e, c, path);
	if (e->refused == 0 && e->route->body != NULL) {
		if (e->route->body->begin(s->config.app, &e->stream, &e->why) < 0)
			refuse(e, 0);
		else
			e->streaming = true;
	}
	return MHD_YES;
}

/*
 * A piece of the body. The library cannot answer before the body's end, so what follows a
 * refusal is dropped; a body without a declared length that still goes on at twice the
 * limit ends the connection.
 */
static enum MHD_Result take_piece(struct exchange *e, const char *data, size_t len)
{
	bool over;

	tw_guard_received(e->connection, len);
	e->seen = len < SIZE_MAX - e->seen ? e->seen + len : SIZE_MAX;
	over = e->seen > e->body_max;
	if (over && e->seen / 2 > e->body_max)
		return MHD_NO;
	if (e->refused != 0)
		return MHD_YES;
	if (over) {
		tw_fail(&e->why, TW_INVALID, "body of more than %zu bytes", e->body_max);
		refuse(e, MHD_HTTP_CONTENT_TOO_LARGE);
	} else if (e->streaming) {
		if (e->route->body->feed(e->stream, data, len, &e->why) < 0)
			refuse(e, 0);
	} else {
		tw_buf_add(&e->body, data, len);
		if (tw_buf_failed(&e->body)) {
			tw_fail(&e->why, TW_NOMEM, "body of %zu bytes", e->seen);
			refuse(e, 0);
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

/* Answered, or given up. */
void tw_exchange_completed(void *cls, struct MHD_Connection *c, void **state,
			   enum MHD_RequestTerminationCode how)
{
	struct exchange *e = *state;
	struct tw_httpd *s = cls;

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
