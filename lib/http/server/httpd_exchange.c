/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/server/httpd_exchange.h"

#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/http/server/httpd_guard.h"
#include "lib/http/server/httpd_origin.h"
#include "lib/http/server/httpd_reply.h"
#include "lib/http/server/httpd_route.h"
#include "lib/http/server/httpd_stats.h"
#include "lib/http/server/httpd_work.h"
#include "lib/http/web/web.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

struct exchange {
	struct tw_exchange_server *server;
	struct tw_guarded *connection;
	const struct tw_http_route *route; /* NULL: no route matched */
	size_t body_max;
	size_t seen;  /* bytes of the body, including dropped ones */
	size_t taken; /* bytes after decompression */
	z_stream zip;
	bool zipped, unzipped; /* the body is gzip; its end was there */
	struct tw_buf body;
	struct tw_strs params;
	uint64_t since_ns;
	void *stream;
	bool streaming;    /* stream must be freed */
	bool begun;        /* the request has been admitted or rejected */
	unsigned rejected; /* the status of a rejected request; 0: accepted */
	bool malformed;    /* where the next request begins is not known */
	struct tw_err why;

	struct tw_web_client client;
	char user[TW_WEB_USER]; /* "": there are no users */
	enum tw_web_access access;
	uint64_t wait_ms; /* until a client over its limit may try again */

	struct tw_httpd_job job; /* the check of a password, then a slow handler */
	struct tw_http_request request;
	struct tw_http_reply reply;
	bool handled; /* by a slow handler: reply is valid */
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

static int add_wait(const struct exchange *e, struct MHD_Response *m)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, e->wait_ms / 1000 + 1);
	return add_header(m, "Retry-After", text);
}

static enum MHD_Result queue_reply(struct exchange *e, struct MHD_Connection *c,
				   const char *path, struct tw_http_reply *r)
{
	struct MHD_Response *m = tw_http_reply_make(
		r, c, MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Accept-Encoding"));
	const unsigned status = r->status != 0 ? r->status : MHD_HTTP_OK;
	const bool closing =
		atomic_load_explicit(&e->server->closing, memory_order_relaxed);
	enum MHD_Result queued = MHD_NO;
	struct tw_buf allow = { 0 };

	if (m == NULL)
		return MHD_NO;
	tw_http_stats_add(e->server->stats, e->route, status, tw_now_ns() - e->since_ns);
	if ((closing || e->malformed) && add_header(m, "Connection", "close") < 0)
		goto out;
	if (e->server->web != NULL && tw_web_headers(e->server->web, add_header, m) < 0)
		goto out;
	if (e->rejected == MHD_HTTP_UNAUTHORIZED &&
	    add_header(m, "WWW-Authenticate", "Basic realm=\"tallywatt\"") < 0)
		goto out;
	if (e->rejected == MHD_HTTP_TOO_MANY_REQUESTS && add_wait(e, m) < 0)
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

static void run_slow(void *arg, bool stopping)
{
	struct exchange *e = arg;

	if (stopping)
		tw_http_reply_problem(&e->reply, MHD_HTTP_SERVICE_UNAVAILABLE,
				      "the server is stopping");
	else
		e->route->handle(e->server->app, &e->request, &e->reply);
	e->handled = true;
}

/* Once the job is done, the library calls answer() again. */
static enum MHD_Result queue_slow(struct exchange *e, struct MHD_Connection *c,
				  const struct tw_http_request *q)
{
	struct tw_http_reply r = { 0 };

	e->request = *q;
	e->job = (struct tw_httpd_job){ .connection = c, .run = run_slow, .arg = e };
	if (tw_httpd_work_add(e->server->work, &e->job))
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
		.user = e->user[0] != '\0' ? e->user : NULL,
		.query = c,
		.route = e->route,
		.params = &e->params,
	};

	/* The request is complete; queue_reply() sets the next deadline. */
	tw_guard_working(e->connection);
	if (e->rejected == 0 && e->zipped && !e->unzipped) {
		tw_fail(&e->why, TW_PARSE, "the gzip body is cut short");
		reject(e, MHD_HTTP_BAD_REQUEST);
	}
	if (e->rejected != 0)
		return answer_rejected(e, c, path);
	if (e->handled) {
		drop_body(e);
		return queue_reply(e, c, path, &e->reply);
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

/* Reject the request unless its access is allowed. */
static void judge_access(struct exchange *e)
{
	switch (e->access) {
	case TW_WEB_ALLOWED:
		if (e->server->web != NULL &&
		    !tw_web_user(e->server->web, e->client.authorization, e->user))
			e->user[0] = '\0';
		break;
	case TW_WEB_LIMITED:
		tw_fail(&e->why, TW_DENIED, "too many wrong passwords");
		reject(e, MHD_HTTP_TOO_MANY_REQUESTS);
		break;
	case TW_WEB_UNKNOWN:
		tw_fail(&e->why, TW_DENIED, "name and password are needed");
		reject(e, MHD_HTTP_UNAUTHORIZED);
		break;
	case TW_WEB_UNCHECKED:
	case TW_WEB_CHECKING:
		tw_fail(&e->why, TW_DENIED, "the password cannot be checked now");
		reject(e, MHD_HTTP_SERVICE_UNAVAILABLE);
		break;
	}
}

static void check_password(void *arg, bool stopping)
{
	struct exchange *e = arg;

	if (!stopping)
		e->access = tw_web_check(e->server->web, &e->client);
}

/* True: the connection is suspended until the password is checked. */
static bool check_access(struct exchange *e, struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	struct tw_web *web = e->server->web;

	if (web == NULL)
		return false;
	if (!is_certified(e->server, c)) {
		tw_fail(&e->why, TW_DENIED, "a client certificate is needed");
		reject(e, MHD_HTTP_FORBIDDEN);
		return false;
	}
	e->client = (struct tw_web_client){
		.authorization =
			MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization"),
		.address = i != NULL ? i->client_addr : NULL,
	};
	e->access = tw_web_access(web, &e->client, &e->wait_ms);
	if (e->access == TW_WEB_CHECKING && e->server->hash == NULL)
		e->access = tw_web_check(web, &e->client);
	if (e->access == TW_WEB_CHECKING) {
		e->job = (struct tw_httpd_job){ .connection = c,
						.run = check_password,
						.arg = e };
		if (tw_httpd_work_add(e->server->hash, &e->job))
			return true;
	}
	judge_access(e);
	return false;
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

/* Headers that a proxy and this server could take in different ways (RFC 9112). */
struct framing {
	unsigned lengths, codings, hosts;
};

static enum MHD_Result count_header(void *cls, enum MHD_ValueKind kind, const char *name,
				    const char *value)
{
	struct framing *f = cls;

	(void)kind;
	(void)value;
	f->lengths += strcasecmp(name, "Content-Length") == 0;
	f->codings += strcasecmp(name, "Transfer-Encoding") == 0;
	f->hosts += strcasecmp(name, "Host") == 0;
	return MHD_YES;
}

static void check_framing(struct exchange *e, struct MHD_Connection *c,
			  const char *version)
{
	struct framing f = { 0 };
	const char *why = NULL;

	MHD_get_connection_values(c, MHD_HEADER_KIND, count_header, &f);
	if (f.lengths > 1)
		why = "more than one header Content-Length";
	else if (f.lengths > 0 && f.codings > 0)
		why = "both headers Content-Length and Transfer-Encoding";
	else if (f.hosts > 1)
		why = "more than one header Host";
	else if (f.hosts == 0 && strcmp(version, "HTTP/1.0") != 0)
		why = "the header Host is missing";
	if (why == NULL)
		return;
	tw_fail(&e->why, TW_INVALID, "%s", why);
	e->malformed = true;
	reject(e, MHD_HTTP_BAD_REQUEST);
}

/* HTTP's safe methods change nothing (RFC 9110, 9.2.1). */
static bool is_safe(const char *method)
{
	return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 ||
	       strcmp(method, "OPTIONS") == 0;
}

static const char *header(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static void check_origin(struct exchange *e, struct MHD_Connection *c, const char *method)
{
	const struct tw_exchange_server *s = e->server;
	const struct tw_origin_headers h = {
		.origin = header(c, "Origin"),
		.host = header(c, "Host"),
		.site = header(c, "Sec-Fetch-Site"),
		.mode = header(c, "Sec-Fetch-Mode"),
		.agent = header(c, "User-Agent"),
		.language = header(c, "Accept-Language"),
	};
	const struct tw_origin_rules r = {
		.names = s->host_names,
		.loopback = s->loopback,
		.users = e->user[0] != '\0' ||
			 (s->web != NULL && tw_web_client_ca(s->web) != NULL),
		.reads = is_safe(method),
	};
	const char *why = tw_origin_refusal(&h, &r);

	if (why == NULL)
		return;
	tw_fail(&e->why, TW_DENIED, "%s", why);
	reject(e, MHD_HTTP_FORBIDDEN);
}

/* 16 asks zlib for gzip's header. */
#define GZIP_BITS (MAX_WBITS + 16)

/* Prepare for the coding of the body. */
static void begin_coding(struct exchange *e, struct MHD_Connection *c)
{
	const char *coding =
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Encoding");

	if (coding == NULL || strcasecmp(coding, "identity") == 0)
		return;
	if (strcasecmp(coding, "gzip") != 0 && strcasecmp(coding, "x-gzip") != 0) {
		tw_fail(&e->why, TW_UNSUPPORTED,
			"Content-Encoding '%.32s' is not supported: use gzip or none",
			coding);
		reject(e, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE);
	} else if (inflateInit2(&e->zip, GZIP_BITS) != Z_OK) {
		tw_fail(&e->why, TW_NOMEM, "gzip");
		reject(e, 0);
	} else {
		e->zipped = true;
	}
}

/* Find the route, once the access is known. */
static enum MHD_Result admit(struct exchange *e, struct MHD_Connection *c,
			     const char *method, const char *path)
{
	const char *length =
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Length");
	bool over;

	e->begun = true;
	if (e->malformed)
		return answer_rejected(e, c, path);
	if (e->rejected == 0)
		check_origin(e, c, method);
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
	if (e->rejected == 0)
		begin_coding(e, c);
	if (e->rejected == 0 && e->route->body != NULL) {
		if (e->route->body->begin(e->server->app, &e->stream, &e->why) < 0)
			reject(e, 0);
		else
			e->streaming = true;
	}
	return MHD_YES;
}

/* Called after the headers, before the body. */
static enum MHD_Result begin(struct tw_exchange_server *s, struct MHD_Connection *c,
			     const char *version, void **state)
{
	struct exchange *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return MHD_NO;
	e->server = s;
	e->body_max = s->body_max;
	e->since_ns = tw_now_ns();
	e->connection = tw_exchange_guarded(c);
	tw_guard_receiving(e->connection);
	atomic_fetch_add(&s->in_progress, 1);
	*state = e;
	check_framing(e, c, version);
	return MHD_YES;
}

static void reject_long(struct exchange *e)
{
	tw_fail(&e->why, TW_INVALID, "body of more than %zu bytes", e->body_max);
	reject(e, MHD_HTTP_CONTENT_TOO_LARGE);
}

static void take_bytes(struct exchange *e, const char *data, size_t len)
{
	e->taken += len;
	if (e->taken > e->body_max) {
		reject_long(e);
	} else if (e->streaming) {
		if (e->route->body->feed(e->stream, data, len, &e->why) < 0)
			reject(e, 0);
	} else {
		tw_buf_add(&e->body, data, len);
		if (tw_buf_failed(&e->body)) {
			tw_fail(&e->why, TW_NOMEM, "body of %zu bytes", e->taken);
			reject(e, 0);
		}
	}
}

#define UNZIP_BYTES 16384

static void take_zipped(struct exchange *e, const char *data, size_t len)
{
	char out[UNZIP_BYTES];
	int rc = e->unzipped ? Z_DATA_ERROR : Z_OK;

	e->zip.next_in = (Bytef *)(uintptr_t)data;
	e->zip.avail_in = (uInt)len;
	do {
		e->zip.next_out = (Bytef *)out;
		e->zip.avail_out = sizeof(out);
		if (rc == Z_OK)
			rc = inflate(&e->zip, Z_NO_FLUSH);
		if (rc == Z_OK || rc == Z_STREAM_END)
			take_bytes(e, out, sizeof(out) - e->zip.avail_out);
	} while (e->rejected == 0 && rc == Z_OK && e->zip.avail_out == 0);
	e->unzipped = rc == Z_STREAM_END;
	/* Z_BUF_ERROR: there is no more to inflate yet. */
	if (e->rejected != 0 || (rc == Z_STREAM_END && e->zip.avail_in == 0) ||
	    rc == Z_OK || rc == Z_BUF_ERROR)
		return;
	tw_fail(&e->why, TW_PARSE, "the body is not gzip, as its Content-Encoding says");
	reject(e, MHD_HTTP_BAD_REQUEST);
}

/*
 * Take a piece of the body. The library cannot answer in the middle of a body, so the
 * rest of a rejected one is dropped. The client has TW_GUARD_HEAD_MS for the rest of a
 * chunked body that is over the limit.
 */
static enum MHD_Result take_piece(struct exchange *e, const char *data, size_t len)
{
	bool over;

	e->seen = len < SIZE_MAX - e->seen ? e->seen + len : SIZE_MAX;
	over = e->seen > e->body_max;
	if (!over)
		tw_guard_received(e->connection, len);
	else if (e->seen - len <= e->body_max)
		tw_guard_waiting(e->connection);
	if (e->rejected != 0)
		return MHD_YES;
	if (over)
		reject_long(e);
	else if (e->zipped)
		take_zipped(e, data, len);
	else
		take_bytes(e, data, len);
	return MHD_YES;
}

/* Longer targets, and more arguments, get 414. */
#define TARGET_MAX 8000
#define ARGUMENTS_MAX 100

/* The state of a request whose target is too long. */
static char too_long;

/*
 * The library has room for a few hundred arguments, and closes a connection without an
 * answer if there are more. The target is in its buffer; so it is cut before it is read.
 */
void *tw_exchange_target(void *cls, const char *target, struct MHD_Connection *c)
{
	size_t arguments = 0;
	char *query;

	(void)cls;
	(void)c;
	/* Some releases of libmicrohttpd pass NULL for a line "GET ". */
	if (target == NULL)
		return NULL;
	query = strchr(target, '?');
	for (const char *p = query; p != NULL; p = strchr(p + 1, '&'))
		arguments++;
	if (arguments <= ARGUMENTS_MAX && strnlen(target, TARGET_MAX + 1) <= TARGET_MAX)
		return NULL;
	if (query != NULL)
		query[1] = '\0';
	return &too_long;
}

static void reject_target(struct exchange *e)
{
	tw_fail(&e->why, TW_INVALID, "a target of over %d bytes, or over %d arguments",
		TARGET_MAX, ARGUMENTS_MAX);
	reject(e, MHD_HTTP_URI_TOO_LONG);
}

/* The path of a request target, which may be an absolute URI (RFC 9112, 3.2.2). */
static const char *path_of(const char *target)
{
	size_t scheme = 0;

	if (strncasecmp(target, "http://", 7) == 0)
		scheme = 7;
	else if (strncasecmp(target, "https://", 8) == 0)
		scheme = 8;
	if (scheme == 0)
		return target;
	target = strchr(target + scheme, '/');
	return target != NULL ? target : "/";
}

enum MHD_Result tw_exchange_request(void *cls, struct MHD_Connection *c,
				    const char *target, const char *method,
				    const char *version, const char *data, size_t *len,
				    void **state)
{
	const char *path = path_of(target);
	enum MHD_Result taken;
	struct exchange *e;

	if (*state == NULL || *state == &too_long) {
		const bool is_long = *state != NULL;

		*state = NULL;
		if (begin(cls, c, version, state) != MHD_YES)
			return MHD_NO;
		e = *state;
		if (is_long && e->rejected == 0)
			reject_target(e);
		if (e->rejected == 0 && check_access(e, c))
			return MHD_YES; /* called again once the password is checked */
		return admit(e, c, method, path);
	}
	e = *state;
	if (!e->begun) {
		judge_access(e);
		return admit(e, c, method, path);
	}
	if (*len == 0)
		return answer(e, c, method, path);
	taken = take_piece(e, data, *len);
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
	if (e == NULL || *state == &too_long)
		return;
	*state = NULL;
	tw_guard_waiting(e->connection);
	drop_body(e);
	inflateEnd(&e->zip); /* all zero: does nothing */
	tw_http_reply_release(&e->reply);
	tw_strs_clear(&e->params);
	free(e);
	atomic_fetch_sub(&s->in_progress, 1);
}
