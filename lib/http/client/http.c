/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/client/http.h"

#include "lib/core/err.h"
#include "lib/http/client/http_transfer.h"

#include <curl/curl.h>
#include <stdlib.h>

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
	struct tw_transfer t;
	int rc = -1;

	if (h == NULL)
		return tw_fail(err, TW_NOMEM, "HTTP client");
	if (tw_transfer_begin(&t, h, c, err) == 0)
		rc = tw_transfer_end(&t, curl_easy_perform(h), out, err);
	tw_transfer_release(&t);
	if (c->session == NULL)
		curl_easy_cleanup(h);
	return rc;
}
