/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTP_API_H
#define TW_HTTP_API_H

/*
 * Calls of our own servers, whose errors are application/problem+json. Needs libcurl, as
 * lib/http/client/http.h does.
 */

struct tw_err;
struct tw_http_answer;
struct tw_http_call;

/*
 * Make the call, to <url><path> instead of how->url; a '/' at the end of url is dropped.
 * A status that is not 2xx fails with the server's reason: TW_DENIED for 401 and 403,
 * TW_NOTFOUND for 404, TW_IO for 429 and 5xx (try again), else TW_INVALID. *out is yours:
 * tw_http_answer_release().
 */
int tw_http_api_call(const char *url, const char *path, const struct tw_http_call *how,
		     struct tw_http_answer *out, struct tw_err *err);

#endif /* TW_HTTP_API_H */
