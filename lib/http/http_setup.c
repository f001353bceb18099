/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_setup.h"

#include "lib/core/buf.h"
#include "lib/core/strs.h"

#include <stdbool.h>
#include <stdio.h>

#define TIMEOUT_MS 10000
#define REDIRECTS_MAX 3L

/* libcurl asks at least once a second. */
static int ask_stopped(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	const struct tw_http_call *call = arg;

	(void)a;
	(void)b;
	(void)c;
	(void)d;
	return call->stopped(call->stopped_arg) ? 1 : 0;
}

/* Set an option unless one failed before: the first failure is kept in e. */
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

/* What every call has. */
static CURLcode set_common(CURL *h, const struct tw_http_call *c)
{
	long timeout_ms = c->timeout_ms != 0 ? (long)c->timeout_ms : TIMEOUT_MS;
	long stall_s = (long)((c->stall_ms + 999) / 1000);
	/* A connection that is not made in that time is as good as one that stalls. */
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
		SET(CURLOPT_XFERINFOFUNCTION, ask_stopped);
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

static bool add_part(struct curl_slist **list, const struct tw_http_call *c)
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
	if (c->from > 0 && !add_part(list, c))
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

CURLcode tw_http_setup(CURL *h, const struct tw_http_call *c, struct curl_slist **list)
{
	CURLcode e = set_common(h, c);

	if (e == CURLE_OK)
		e = set_headers(h, c, list);
	if (e == CURLE_OK)
		e = set_body(h, c);
	return e;
}
