/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/httpd.h"

#include "lib/buf.h"
#include "lib/httpd_reply.h"
#include "lib/json.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

/* By enum tw_code. */
static const unsigned statuses[TW_CODE_COUNT] = {
	[TW_OK] = 200,       [TW_NOMEM] = 503, /* may pass: the client may come again */
	[TW_IO] = 500,       [TW_PARSE] = 400,       [TW_INVALID] = 400,
	[TW_NOTFOUND] = 404, [TW_UNSUPPORTED] = 501, [TW_DENIED] = 403,
};

unsigned tw_http_status(enum tw_code code)
{
	return (size_t)code < TW_CODE_COUNT ? statuses[code] : 500;
}

void tw_http_reply_lend(struct tw_http_reply *r, const char *body, size_t len,
			void (*release)(void *arg), void *arg)
{
	if (r->release != NULL)
		r->release(r->release_arg);
	r->body = body;
	r->len = len;
	r->release = release;
	r->release_arg = arg;
}

void tw_http_reply_take(struct tw_http_reply *r, char *body, size_t len)
{
	tw_http_reply_lend(r, body, len, free, body);
}

void tw_http_reply_problem(struct tw_http_reply *r, unsigned status, const char *detail)
{
	static const char no_memory[] =
		"{\"title\":\"Service Unavailable\",\"status\":503,"
		"\"detail\":\"out of memory\"}";
	struct tw_buf b = { 0 };
	const char *title = MHD_get_reason_phrase_for(status);
	char *body;
	size_t len;

	tw_buf_adds(&b, "{\"title\":");
	tw_buf_add_json_text(&b, title, strlen(title));
	tw_buf_addf(&b, ",\"status\":%u,\"detail\":", status);
	tw_buf_add_json_text(&b, detail, strlen(detail));
	tw_buf_adds(&b, "}");
	body = tw_buf_detach(&b, &len);

	free(r->attachment);
	r->attachment = NULL;
	r->content_type = "application/problem+json";
	r->status = body != NULL ? status : 503;
	if (body != NULL)
		tw_http_reply_take(r, body, len);
	else
		tw_http_reply_lend(r, no_memory, sizeof(no_memory) - 1, NULL, NULL);
}

void tw_http_reply_error(struct tw_http_reply *r, const struct tw_err *err)
{
	tw_http_reply_problem(r, tw_http_status(err->code), err->text);
}

void tw_http_reply_release(struct tw_http_reply *r)
{
	free(r->attachment);
	r->attachment = NULL;
	tw_http_reply_lend(r, NULL, 0, NULL, NULL);
}

/* Content-Disposition, with nothing in the file name that could end the header or quotes.
 */
static int add_attachment(struct MHD_Response *m, const char *name)
{
	struct tw_buf b = { 0 };
	int rc = -1;

	tw_buf_adds(&b, "attachment; filename=\"");
	for (const char *p = name; *p != '\0'; p++)
		tw_buf_add(&b, *p < ' ' || *p == '"' || *p == '\\' || *p == 127 ? "_" : p,
			   1);
	tw_buf_adds(&b, "\"");
	if (!tw_buf_failed(&b) &&
	    MHD_add_response_header(m, MHD_HTTP_HEADER_CONTENT_DISPOSITION, b.data) ==
		    MHD_YES)
		rc = 0;
	tw_buf_clear(&b);
	return rc;
}

static void release_nothing(void *arg)
{
	(void)arg;
}

struct MHD_Response *tw_http_reply_make(struct tw_http_reply *r)
{
	const char *type = r->content_type != NULL ? r->content_type : "application/json";
	struct MHD_Response *m;

	/* The library only reads the body, whatever its parameter's type says. */
	m = MHD_create_response_from_buffer_with_free_callback_cls(
		r->len, (void *)(uintptr_t)(r->len != 0 ? r->body : ""),
		r->release != NULL ? r->release : release_nothing, r->release_arg);
	if (m == NULL)
		goto fail;
	/* The body is the response's now, and released with it. */
	r->release = NULL;
	if (MHD_add_response_header(m, MHD_HTTP_HEADER_CONTENT_TYPE, type) != MHD_YES)
		goto fail;
	if (r->attachment != NULL && add_attachment(m, r->attachment) < 0)
		goto fail;
	if (r->status == MHD_HTTP_SERVICE_UNAVAILABLE &&
	    MHD_add_response_header(m, MHD_HTTP_HEADER_RETRY_AFTER, "5") != MHD_YES)
		goto fail;
	tw_http_reply_release(r);
	return m;
fail:
	if (m != NULL)
		MHD_destroy_response(m);
	tw_http_reply_release(r);
	return NULL;
}
