/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/client/http.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/http/client/url.h"
#include "lib/json/json.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ANSWER_MAX ((size_t)64 << 20)
/* Bytes of an error's body to keep if a sink takes other bodies. */
#define REASON_MAX ((size_t)64 << 10)
#define TIMEOUT_MS 10000
#define REDIRECTS_MAX 3L

/* libcurl keeps pointers into it: it must not move between begin and release. */
struct transfer {
	const struct tw_http_call *call;
	CURL *handle;
	struct curl_slist *headers, *connect_to;
	struct tw_buf body;
	struct tw_http_head head;
	size_t max, taken;
	bool begun;
	bool over;            /* the body exceeds max */
	bool refused;         /* begin or the sink failed */
	struct tw_err reason; /* why they failed */
	char text[CURL_ERROR_SIZE];
};

/* ---- the call as options of libcurl ---- */

/* libcurl calls this at least once a second. */
static int check_stopped(void *arg, curl_off_t a, curl_off_t b, curl_off_t c,
			 curl_off_t d)
{
	const struct tw_http_call *call = arg;

	(void)a;
	(void)b;
	(void)c;
	(void)d;
	return call->stopped(call->stopped_arg) ? 1 : 0;
}

/* Set an option unless an earlier one failed; e keeps the first failure. */
#define SET(option, value)                                      \
	do {                                                    \
		if (e == CURLE_OK)                              \
			e = curl_easy_setopt(h, option, value); \
	} while (0)

/* A call that began by TLS must not continue without it. */
static CURLcode allow_web_only(CURL *h, const char *url)
{
	const bool tls = strncasecmp(url, "https:", 6) == 0;
	CURLcode e = CURLE_OK;

#if LIBCURL_VERSION_NUM >= 0x075500
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_REDIR_PROTOCOLS_STR, tls ? "https" : "http,https");
#else
	SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
	SET(CURLOPT_REDIR_PROTOCOLS,
	    (long)(tls ? CURLPROTO_HTTPS : CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	return e;
}

static bool has_secret(const struct tw_http_access *a)
{
	return a->user != NULL || a->token != NULL || a->cert_file != NULL ||
	       (a->headers != NULL && a->headers->count > 0);
}

static CURLcode set_access(CURL *h, const struct tw_http_access *a)
{
	CURLcode e = CURLE_OK;

	if (a->user != NULL) {
		SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		SET(CURLOPT_USERNAME, a->user);
		SET(CURLOPT_PASSWORD, a->password != NULL ? a->password : "");
	}
	if (a->token != NULL) {
		SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
		SET(CURLOPT_XOAUTH2_BEARER, a->token);
	}
	if (has_secret(a))
		SET(CURLOPT_FOLLOWLOCATION, 0L);
	if (a->ca_file != NULL) {
		SET(CURLOPT_CAINFO, a->ca_file);
		SET(CURLOPT_CAPATH, (char *)NULL);
	}
	if (a->cert_file != NULL)
		SET(CURLOPT_SSLCERT, a->cert_file);
	if (a->key_file != NULL)
		SET(CURLOPT_SSLKEY, a->key_file);
	if (a->insecure) {
		SET(CURLOPT_SSL_VERIFYPEER, 0L);
		SET(CURLOPT_SSL_VERIFYHOST, 0L);
	}
	return e;
}

static CURLcode set_common(CURL *h, const struct tw_http_call *c)
{
	long timeout_ms = c->timeout_ms != 0 ? (long)c->timeout_ms : TIMEOUT_MS;
	long stall_s = (long)((c->stall_ms + 999) / 1000);
	/* Connecting counts as a stall, too. */
	long connect_ms =
		stall_s > 0 && stall_s * 1000 < timeout_ms ? stall_s * 1000 : timeout_ms;
	CURLcode e = allow_web_only(h, c->url);

	SET(CURLOPT_URL, c->url);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_TIMEOUT_MS, timeout_ms);
	SET(CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
	if (stall_s > 0) {
		SET(CURLOPT_LOW_SPEED_LIMIT, 1L);
		SET(CURLOPT_LOW_SPEED_TIME, stall_s);
	}
	if (c->stopped != NULL) {
		SET(CURLOPT_NOPROGRESS, 0L);
		SET(CURLOPT_XFERINFOFUNCTION, check_stopped);
		SET(CURLOPT_XFERINFODATA, c);
	}
	SET(CURLOPT_FOLLOWLOCATION, 1L);
	SET(CURLOPT_MAXREDIRS, REDIRECTS_MAX);
	SET(CURLOPT_POSTREDIR, (long)CURL_REDIR_POST_ALL);
	SET(CURLOPT_ACCEPT_ENCODING, c->plain ? "identity" : "gzip");
	SET(CURLOPT_USERAGENT, "tallywatt/" TW_VERSION);
	if (e == CURLE_OK && c->access != NULL)
		e = set_access(h, c->access);
	return e;
}

static bool add_header(struct curl_slist **list, const char *name, const char *value)
{
	struct tw_buf line = { 0 };
	struct curl_slist *more = NULL;

	tw_buf_addf(&line, "%s%s%s", name, value != NULL ? ": " : "",
		    value != NULL ? value : "");
	if (!tw_buf_failed(&line))
		more = curl_slist_append(*list, line.data);
	tw_buf_clear(&line);
	if (more != NULL)
		*list = more;
	return more != NULL;
}

static bool add_range(struct curl_slist **list, const struct tw_http_call *c)
{
	char range[48];

	snprintf(range, sizeof(range), "bytes=%llu-", (unsigned long long)c->from);
	return add_header(list, "Range", range) &&
	       add_header(list, "If-Range", c->if_range);
}

static CURLcode set_headers(CURL *h, const struct tw_http_call *c,
			    struct curl_slist **list)
{
	const struct tw_strs *more = c->access != NULL ? c->access->headers : NULL;
	const char *type = c->content_type != NULL ? c->content_type : "application/json";
	CURLcode e = CURLE_OK;

	if (c->body != NULL && !add_header(list, "Content-Type", type))
		return CURLE_OUT_OF_MEMORY;
	if (c->accept != NULL && !add_header(list, "Accept", c->accept))
		return CURLE_OUT_OF_MEMORY;
	if (c->etag != NULL && !add_header(list, "If-None-Match", c->etag))
		return CURLE_OUT_OF_MEMORY;
	if (c->from > 0 && !add_range(list, c))
		return CURLE_OUT_OF_MEMORY;
	for (size_t i = 0; more != NULL && i < more->count; i++)
		if (!add_header(list, more->at[i], NULL))
			return CURLE_OUT_OF_MEMORY;
	if (*list != NULL)
		SET(CURLOPT_HTTPHEADER, *list);
	return e;
}

static CURLcode set_body(CURL *h, const struct tw_http_call *c)
{
	CURLcode e = CURLE_OK;

	if (c->method != NULL)
		SET(CURLOPT_CUSTOMREQUEST, c->method);
	if (c->body == NULL)
		return e;
	SET(CURLOPT_POST, 1L);
	SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)c->body_len);
	SET(CURLOPT_POSTFIELDS, c->body);
	return e;
}

/* The name in the URL stays that of the request and of the certificate. */
static CURLcode set_address(CURL *h, const struct tw_http_call *c,
			    struct curl_slist **list)
{
	CURLcode e = CURLE_OK;

	if (c->connect_to == NULL)
		return e;
	*list = curl_slist_append(NULL, c->connect_to);
	if (*list == NULL)
		return CURLE_OUT_OF_MEMORY;
	SET(CURLOPT_CONNECT_TO, *list);
	return e;
}

static CURLcode set_call(CURL *h, const struct tw_http_call *c, struct curl_slist **list,
			 struct curl_slist **connect_to)
{
	CURLcode e = set_common(h, c);

	if (e == CURLE_OK)
		e = set_headers(h, c, list);
	if (e == CURLE_OK)
		e = set_address(h, c, connect_to);
	if (e == CURLE_OK)
		e = set_body(h, c);
	return e;
}

/* ---- the answer ---- */

static long status_of(CURL *h)
{
	long status = 0;

	return curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK ? status
										 : 0;
}

static bool goes_to_sink(const struct transfer *r)
{
	const long status = r->call->sink != NULL ? status_of(r->handle) : 0;

	return status == 200 || (status == 206 && r->call->from > 0);
}

static int begin(struct transfer *r)
{
	struct tw_http_answer head = { .status = (unsigned)status_of(r->handle),
				       .from = r->head.from };

	r->begun = true;
	if (head.status == 206 && head.from != r->call->from)
		return tw_fail(&r->reason, TW_INVALID,
			       "requested the range from byte %llu on, the server "
			       "sends it from byte %llu on",
			       (unsigned long long)r->call->from,
			       (unsigned long long)head.from);
	memcpy(head.etag, r->head.etag, sizeof(head.etag));
	return r->call->begin != NULL
		       ? r->call->begin(r->call->sink_arg, &head, &r->reason)
		       : 0;
}

/* CURLOPT_WRITEFUNCTION: any result but n fails the transfer. */
static size_t receive(char *data, size_t size, size_t n, void *arg)
{
	struct transfer *r = arg;

	(void)size; /* always 1 */
	if (n > r->max - r->taken) {
		r->over = true;
		return 0;
	}
	r->taken += n;
	if (goes_to_sink(r)) {
		r->refused = (!r->begun && begin(r) < 0) ||
			     r->call->sink(r->call->sink_arg, data, n, &r->reason) < 0;
		return r->refused ? 0 : n;
	}
	if (r->call->sink != NULL && r->body.len + n > REASON_MAX)
		return n; /* ignore the rest of an error's text */
	tw_buf_add(&r->body, data, n);
	return tw_buf_failed(&r->body) ? 0 : n;
}

static size_t take_header(char *line, size_t size, size_t n, void *arg)
{
	struct transfer *r = arg;
	const struct tw_http_call *c = r->call;

	(void)size; /* always 1 */
	tw_http_head_take(&r->head, line, n);
	for (size_t i = 0; i < c->wanted_count; i++)
		tw_http_header_take(&c->wanted[i], line, n);
	return n;
}

static CURLcode set_receiver(CURL *h, struct transfer *r)
{
	CURLcode e = CURLE_OK;

	SET(CURLOPT_WRITEFUNCTION, receive);
	SET(CURLOPT_WRITEDATA, r);
	SET(CURLOPT_HEADERFUNCTION, take_header);
	SET(CURLOPT_HEADERDATA, r);
	return e;
}

static int fail_call(struct tw_err *err, enum tw_code code, const struct tw_http_call *c,
		     const char *why)
{
	char url[TW_URL_SHOWN];

	const char *method = c->method != NULL ? c->method
			     : c->body != NULL ? "POST"
					       : "GET";

	return tw_fail(err, code, "%s %s: %s", method, tw_url_show(c->url, url), why);
}

static enum tw_code code_of(CURLcode e)
{
	switch (e) {
	case CURLE_OUT_OF_MEMORY:
		return TW_NOMEM;
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
		return TW_INVALID;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CERTPROBLEM:
		return TW_DENIED;
	default:
		return TW_IO;
	}
}

static int fail_curl(struct tw_err *err, CURLcode e, const struct transfer *r)
{
	const struct tw_http_call *c = r->call;

	if (r->refused)
		return fail_call(err, r->reason.code, c, r->reason.text);
	if (r->over)
		return fail_call(err, TW_INVALID, c, "the answer is over the limit");
	if (e == CURLE_ABORTED_BY_CALLBACK)
		return fail_call(err, TW_IO, c, "stopped");
	return fail_call(err, tw_buf_failed(&r->body) ? TW_NOMEM : code_of(e), c,
			 r->text[0] != '\0' ? r->text : curl_easy_strerror(e));
}

/* "application/zip; x=y" is "application/zip". */
static void copy_type(CURL *h, char out[static 64])
{
	const char *type = NULL;
	size_t len = 0;

	if (curl_easy_getinfo(h, CURLINFO_CONTENT_TYPE, &type) == CURLE_OK &&
	    type != NULL)
		len = strcspn(type, "; \t");
	if (len > 63)
		len = 63;
	if (len > 0)
		memcpy(out, type, len);
	out[len] = '\0';
}

static int take_answer(CURL *h, struct transfer *r, struct tw_http_answer *out,
		       struct tw_err *err)
{
	struct tw_http_answer answer = { 0 };
	curl_off_t wait_s = 0;
	const long status = status_of(h);

	if (status == 0)
		return fail_call(err, TW_IO, r->call, "no status");
	if (curl_easy_getinfo(h, CURLINFO_RETRY_AFTER, &wait_s) == CURLE_OK && wait_s > 0)
		answer.retry_after_s = (uint64_t)wait_s;
	answer.status = (unsigned)status;
	copy_type(h, answer.content_type);
	memcpy(answer.etag, r->head.etag, sizeof(answer.etag));
	answer.from = r->head.from;
	answer.body = tw_buf_detach(&r->body, &answer.len);
	if (answer.body == NULL)
		return fail_call(err, TW_NOMEM, r->call, "out of memory");
	*out = answer;
	return 0;
}

/*
 * Set the options of h for the call, which must live as long as the transfer. Call
 * release() after a failure, too.
 */
static int begin_transfer(struct transfer *r, CURL *h, const struct tw_http_call *c,
			  struct tw_err *err)
{
	CURLcode e;

	*r = (struct transfer){
		.call = c,
		.handle = h,
		.max = c->answer_max != 0 ? c->answer_max : ANSWER_MAX,
	};
	curl_easy_reset(h); /* keeps open connections */
	e = curl_easy_setopt(h, CURLOPT_ERRORBUFFER, r->text);
	if (e == CURLE_OK)
		e = set_call(h, c, &r->headers, &r->connect_to);
	if (e == CURLE_OK)
		e = set_receiver(h, r);
	return e == CURLE_OK ? 0 : fail_curl(err, e, r);
}

/* Take the answer of a transfer that ended with e. */
static int end_transfer(struct transfer *r, CURLcode e, struct tw_http_answer *out,
			struct tw_err *err)
{
	out->over_limit = r->over;
	return e == CURLE_OK ? take_answer(r->handle, r, out, err) : fail_curl(err, e, r);
}

/* The handle stays open. */
static void release(struct transfer *r)
{
	tw_buf_clear(&r->body);
	curl_slist_free_all(r->headers);
	curl_slist_free_all(r->connect_to);
	r->headers = NULL;
	r->connect_to = NULL;
	if (r->handle != NULL)
		curl_easy_reset(r->handle); /* its options point into r */
}

/* ---- single calls ---- */

struct tw_http {
	CURL *handle;
};

int tw_http_init(struct tw_err *err)
{
	CURLcode e = curl_global_init(CURL_GLOBAL_DEFAULT);

	if (e != CURLE_OK)
		return tw_fail(err, TW_UNSUPPORTED, "libcurl: %s", curl_easy_strerror(e));
	return 0;
}

int tw_http_open(struct tw_http **out, struct tw_err *err)
{
	struct tw_http *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return tw_fail(err, TW_NOMEM, "HTTP client");
	s->handle = curl_easy_init();
	if (s->handle == NULL) {
		free(s);
		return tw_fail(err, TW_NOMEM, "HTTP client");
	}
	*out = s;
	return 0;
}

void tw_http_close(struct tw_http *s)
{
	if (s == NULL)
		return;
	curl_easy_cleanup(s->handle);
	free(s);
}

int tw_http_call(const struct tw_http_call *c, struct tw_http_answer *out,
		 struct tw_err *err)
{
	CURL *h = c->session != NULL ? c->session->handle : curl_easy_init();
	struct transfer t;
	int rc = -1;

	if (h == NULL)
		return tw_fail(err, TW_NOMEM, "HTTP client");
	if (begin_transfer(&t, h, c, err) == 0)
		rc = end_transfer(&t, curl_easy_perform(h), out, err);
	release(&t);
	if (c->session == NULL)
		curl_easy_cleanup(h);
	return rc;
}

/* ---- calls of our own servers ---- */

static enum tw_code code_of_status(unsigned status)
{
	if (status == 401 || status == 403)
		return TW_DENIED;
	if (status == 404)
		return TW_NOTFOUND;
	return status >= 500 || status == 429 ? TW_IO : TW_INVALID;
}

/* Fail with the status, and with the detail of the answer if it is problem+json. */
static int fail_status(const struct tw_http_answer *a, const char *url,
		       struct tw_err *err)
{
	struct tw_err none = { 0 };
	const char *detail = "";
	json_t *doc = NULL;

	if (tw_json_parse(a->body, a->len, "answer", &doc, &none) == 0)
		(void)!tw_json_text(doc, "answer", "detail", true, &detail, &none);
	tw_fail(err, code_of_status(a->status), "'%s' answers %u%s%s", url, a->status,
		*detail != '\0' ? ": " : "", detail);
	json_decref(doc);
	return -1;
}

int tw_http_api_call(const char *url, const char *path, const struct tw_http_call *how,
		     struct tw_http_answer *out, struct tw_err *err)
{
	struct tw_http_answer answer = { 0 };
	struct tw_http_call c = *how;
	struct tw_buf b = { 0 };
	size_t len = strlen(url);
	int rc = -1;

	while (len > 0 && url[len - 1] == '/')
		len--;
	tw_buf_add(&b, url, len);
	tw_buf_adds(&b, path);
	if (tw_buf_check(&b, err) < 0)
		goto out;
	c.url = b.data;
	if (tw_http_call(&c, &answer, err) < 0)
		goto out;
	if (answer.status < 200 || answer.status > 299) {
		fail_status(&answer, b.data, err);
		goto out;
	}
	*out = answer;
	answer = (struct tw_http_answer){ 0 };
	rc = 0;
out:
	tw_http_answer_release(&answer);
	tw_buf_clear(&b);
	return rc;
}

/* ---- many calls ---- */

struct one {
	struct one *next, **at;
	struct transfer transfer;
	tw_http_done *done;
	void *arg;
};

struct tw_http_many {
	CURLM *multi;
	struct one *running;
};

int tw_http_many_open(struct tw_http_many **out, struct tw_err *err)
{
	struct tw_http_many *m = calloc(1, sizeof(*m));

	if (m == NULL)
		return tw_fail(err, TW_NOMEM, "HTTP client");
	m->multi = curl_multi_init();
	if (m->multi == NULL) {
		free(m);
		return tw_fail(err, TW_NOMEM, "HTTP client");
	}
	*out = m;
	return 0;
}

static void end_one(struct tw_http_many *m, struct one *o)
{
	CURL *h = o->transfer.handle;

	*o->at = o->next;
	if (o->next != NULL)
		o->next->at = o->at;
	curl_multi_remove_handle(m->multi, h);
	release(&o->transfer);
	curl_easy_cleanup(h);
	free(o);
}

void tw_http_many_close(struct tw_http_many *m)
{
	if (m == NULL)
		return;
	while (m->running != NULL)
		end_one(m, m->running);
	curl_multi_cleanup(m->multi);
	free(m);
}

int tw_http_many_start(struct tw_http_many *m, const struct tw_http_call *c,
		       tw_http_done *done, void *arg, struct tw_err *err)
{
	struct one *o = calloc(1, sizeof(*o));
	CURL *h = curl_easy_init();

	if (o == NULL || h == NULL) {
		tw_fail(err, TW_NOMEM, "HTTP call");
		goto failed;
	}
	o->done = done;
	o->arg = arg;
	if (begin_transfer(&o->transfer, h, c, err) < 0)
		goto failed;
	if (curl_easy_setopt(h, CURLOPT_PRIVATE, o) != CURLE_OK ||
	    curl_multi_add_handle(m->multi, h) != CURLM_OK) {
		tw_fail(err, TW_NOMEM, "HTTP call");
		goto failed;
	}
	o->next = m->running;
	o->at = &m->running;
	if (o->next != NULL)
		o->next->at = &o->next;
	m->running = o;
	return 0;
failed:
	if (o != NULL)
		release(&o->transfer);
	if (h != NULL)
		curl_easy_cleanup(h);
	free(o);
	return -1;
}

static void finish(struct tw_http_many *m, CURL *h, CURLcode e)
{
	struct tw_http_answer answer = { 0 };
	struct tw_err why = { 0 };
	char *place = NULL;
	struct one *o;

	if (curl_easy_getinfo(h, CURLINFO_PRIVATE, &place) != CURLE_OK)
		return;
	o = (struct one *)(void *)place;
	if (end_transfer(&o->transfer, e, &answer, &why) < 0) {
		o->done(o->arg, NULL, &why);
	} else {
		o->done(o->arg, &answer, &why);
		tw_http_answer_release(&answer);
	}
	end_one(m, o);
}

int tw_http_many_run(struct tw_http_many *m, int fd, unsigned ms, struct tw_err *err)
{
	struct curl_waitfd more = { .fd = fd, .events = CURL_WAIT_POLLIN };
	CURLMsg *message;
	CURLMcode e;
	int running, left;

	e = curl_multi_poll(m->multi, &more, fd >= 0 ? 1 : 0, (int)ms, NULL);
	if (e == CURLM_OK)
		e = curl_multi_perform(m->multi, &running);
	if (e != CURLM_OK)
		return tw_fail(err, TW_IO, "libcurl: %s", curl_multi_strerror(e));
	while ((message = curl_multi_info_read(m->multi, &left)) != NULL)
		if (message->msg == CURLMSG_DONE)
			finish(m, message->easy_handle, message->data.result);
	return 0;
}
