/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/client/http_transfer.h"

#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/http/client/url.h"

#include <stdio.h>
#include <string.h>

#define ANSWER_MAX ((size_t)64 << 20)
/* Of an error's body that is kept when a sink takes the others. */
#define REASON_MAX ((size_t)64 << 10)
#define TIMEOUT_MS 10000
#define REDIRECTS_MAX 3L

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

static CURLcode allow_web_only(CURL *h)
{
	CURLcode e = CURLE_OK;

#if LIBCURL_VERSION_NUM >= 0x075500
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
	SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
	SET(CURLOPT_REDIR_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
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
	CURLcode e = allow_web_only(h);

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

static bool goes_to_sink(const struct tw_transfer *r)
{
	const long status = r->call->sink != NULL ? status_of(r->handle) : 0;

	return status == 200 || (status == 206 && r->call->from > 0);
}

static int begin(struct tw_transfer *r)
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
	struct tw_transfer *r = arg;

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
	struct tw_transfer *r = arg;
	const struct tw_http_call *c = r->call;

	(void)size; /* always 1 */
	tw_http_head_take(&r->head, line, n);
	for (size_t i = 0; i < c->wanted_count; i++)
		tw_http_header_take(&c->wanted[i], line, n);
	return n;
}

static CURLcode set_receiver(CURL *h, struct tw_transfer *r)
{
	CURLcode e = curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, receive);

	if (e == CURLE_OK)
		e = curl_easy_setopt(h, CURLOPT_WRITEDATA, r);
	if (e == CURLE_OK)
		e = curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, take_header);
	if (e == CURLE_OK)
		e = curl_easy_setopt(h, CURLOPT_HEADERDATA, r);
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

static int fail_curl(struct tw_err *err, CURLcode e, const struct tw_transfer *r)
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

static int take_answer(CURL *h, struct tw_transfer *r, struct tw_http_answer *out,
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

int tw_transfer_begin(struct tw_transfer *r, CURL *h, const struct tw_http_call *c,
		      struct tw_err *err)
{
	CURLcode e;

	*r = (struct tw_transfer){
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

int tw_transfer_end(struct tw_transfer *r, CURLcode e, struct tw_http_answer *out,
		    struct tw_err *err)
{
	return e == CURLE_OK ? take_answer(r->handle, r, out, err) : fail_curl(err, e, r);
}

void tw_transfer_release(struct tw_transfer *r)
{
	tw_buf_clear(&r->body);
	curl_slist_free_all(r->headers);
	curl_slist_free_all(r->connect_to);
	r->headers = NULL;
	r->connect_to = NULL;
	if (r->handle != NULL)
		curl_easy_reset(r->handle); /* its options point into r */
}
