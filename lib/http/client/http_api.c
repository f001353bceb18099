/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/client/http_api.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/http/client/http.h"
#include "lib/json/json.h"

#include <string.h>

static enum tw_code code_of(unsigned status)
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
	tw_fail(err, code_of(a->status), "'%s' answers %u%s%s", url, a->status,
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
	if (tw_buf_failed(&b)) {
		tw_fail(err, TW_NOMEM, "URL");
		goto out;
	}
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
