/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http.h"

#include "lib/buf.h"
#include "lib/err.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 10000
#define ANSWER_MAX ((size_t)64 << 20)
#define REDIRECTS_MAX 3L

/* An answer as it comes. */
struct receiver {
	struct tw_buf body;
	size_t max;
	bool over;
};

int tw_http_init(struct tw_err *err)
{
	CURLcode e = curl_global_init(CURL_GLOBAL_DEFAULT);

	if (e != CURLE_OK)
		return tw_fail(err, TW_UNSUPPORTED, "libcurl: %s", curl_easy_strerror(e));
	return 0;
}

/* libcurl counts anything but n as a failure. */
static size_t receive(char *data, size_t size, size_t n, void *arg)
{
	struct receiver *r = arg;

	(void)size; /* always 1 */
	if (n > r->max - r->body.len) {
		r->over = true;
		return 0;
	}
	tw_buf_add(&r->body, data, n);
	return tw_buf_failed(&r->body) ? 0 : n;
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

/* What every call has. */
static CURLcode set_common(CURL *h, const struct tw_http_call *c, struct receiver *r)
{
	long timeout_ms = c->timeout_ms != 0 ? (long)c->timeout_ms : TIMEOUT_MS;
	CURLcode e = allow_web_only(h);

	SET(CURLOPT_URL, c->url);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_TIMEOUT_MS, timeout_ms);
	SET(CURLOPT_CONNECTTIMEOUT_MS, timeout_ms);
	SET(CURLOPT_FOLLOWLOCATION, 1L);
	SET(CURLOPT_MAXREDIRS, REDIRECTS_MAX);
	SET(CURLOPT_POSTREDIR, (long)CURL_REDIR_POST_ALL);
	SET(CURLOPT_ACCEPT_ENCODING, "gzip");
	SET(CURLOPT_USERAGENT, "tallywatt/" TW_VERSION);
	SET(CURLOPT_WRITEFUNCTION, receive);
	SET(CURLOPT_WRITEDATA, r);
	return e;
}

static CURLcode set_body(CURL *h, const struct tw_http_call *c,
			 struct curl_slist **headers)
{
	const char *type = c->content_type != NULL ? c->content_type : "application/json";
	struct tw_buf line = { 0 };
	struct curl_slist *list = NULL;
	CURLcode e = CURLE_OK;

	if (c->body == NULL)
		return CURLE_OK;
	tw_buf_addf(&line, "Content-Type: %s", type);
	if (!tw_buf_failed(&line))
		list = curl_slist_append(NULL, line.data);
	tw_buf_clear(&line);
	if (list == NULL)
		return CURLE_OUT_OF_MEMORY;
	*headers = list;
	SET(CURLOPT_HTTPHEADER, list);
	SET(CURLOPT_POST, 1L);
	SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)c->body_len);
	SET(CURLOPT_POSTFIELDS, c->body);
	return e;
}

/* Without user and password, which have no business in a log. */
static int fail_call(struct tw_err *err, enum tw_code code, const struct tw_http_call *c,
		     const char *why)
{
	const char *host = strstr(c->url, "://");
	const char *at;
	size_t scheme;

	host = host != NULL ? host + 3 : c->url;
	scheme = (size_t)(host - c->url);
	at = memchr(host, '@', strcspn(host, "/?#"));
	return tw_fail(err, code, "%s %.*s%.128s: %s", c->body != NULL ? "POST" : "GET",
		       (int)(scheme < 16 ? scheme : 16), c->url,
		       at != NULL ? at + 1 : host, why);
}

static int fail_curl(struct tw_err *err, CURLcode e, const struct tw_http_call *c,
		     const struct receiver *r, const char *text)
{
	enum tw_code code = TW_IO;

	if (r->over)
		return fail_call(err, TW_INVALID, c, "the answer is over the limit");
	if (e == CURLE_OUT_OF_MEMORY || tw_buf_failed(&r->body))
		code = TW_NOMEM;
	else if (e == CURLE_URL_MALFORMAT || e == CURLE_UNSUPPORTED_PROTOCOL)
		code = TW_INVALID;
	return fail_call(err, code, c, *text != '\0' ? text : curl_easy_strerror(e));
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

int tw_http_call(const struct tw_http_call *c, struct tw_http_answer *out,
		 struct tw_err *err)
{
	struct receiver r = { .max = c->answer_max != 0 ? c->answer_max : ANSWER_MAX };
	struct tw_http_answer answer = { 0 };
	char text[CURL_ERROR_SIZE] = "";
	struct curl_slist *headers = NULL;
	long status = 0;
	CURLcode e;
	CURL *h;
	int rc = -1;

	h = curl_easy_init();
	if (h == NULL) {
		tw_fail(err, TW_NOMEM, "HTTP client");
		goto out;
	}
	e = curl_easy_setopt(h, CURLOPT_ERRORBUFFER, text);
	if (e == CURLE_OK)
		e = set_common(h, c, &r);
	if (e == CURLE_OK)
		e = set_body(h, c, &headers);
	if (e == CURLE_OK)
		e = curl_easy_perform(h);
	if (e == CURLE_OK)
		e = curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &status);
	if (e != CURLE_OK) {
		fail_curl(err, e, c, &r, text);
		goto out;
	}
	answer.status = (unsigned)status;
	copy_type(h, answer.content_type);
	answer.body = tw_buf_detach(&r.body, &answer.len);
	if (answer.body == NULL) {
		fail_call(err, TW_NOMEM, c, "out of memory");
		goto out;
	}

	*out = answer;
	rc = 0;
out:
	tw_buf_clear(&r.body);
	curl_slist_free_all(headers);
	if (h != NULL)
		curl_easy_cleanup(h);
	return rc;
}
