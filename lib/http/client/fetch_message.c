/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/client/fetch_message.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/json.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_text(struct tw_buf *b, const char *key, const char *text)
{
	if (text == NULL)
		return;
	tw_buf_addf(b, ",\"%s\":", key);
	tw_buf_add_json_text(b, text, strlen(text));
}

void tw_fetch_write_call(struct tw_buf *b, const struct tw_http_call *c, bool save)
{
	tw_buf_addf(b, "{\"post\":%s,\"timeout_ms\":%" PRIu64 ",\"answer_max\":%zu",
		    c->body != NULL ? "true" : "false", c->timeout_ms, c->answer_max);
	if (c->stall_ms != 0)
		tw_buf_addf(b, ",\"stall_ms\":%" PRIu64, c->stall_ms);
	if (save)
		tw_buf_adds(b, ",\"save\":true");
	add_text(b, "url", c->url);
	add_text(b, "content_type", c->content_type);
	add_text(b, "etag", c->etag);
	tw_buf_adds(b, "}\n");
	if (c->body != NULL)
		tw_buf_add(b, c->body, c->body_len);
}

void tw_fetch_write_answer(struct tw_buf *b, const struct tw_http_answer *a)
{
	tw_buf_addf(b, "{\"status\":%u,\"retry_after_s\":%" PRIu64, a->status,
		    a->retry_after_s);
	if (a->from != 0)
		tw_buf_addf(b, ",\"from\":%" PRIu64, a->from);
	add_text(b, "content_type", a->content_type);
	add_text(b, "etag", a->etag);
	tw_buf_adds(b, "}\n");
	tw_buf_add(b, a->body, a->len);
}

void tw_fetch_write_failure(struct tw_buf *b, const struct tw_err *why)
{
	tw_buf_addf(b, "{\"code\":%d", (int)why->code);
	add_text(b, "failure", why->text);
	tw_buf_adds(b, "}\n");
}

/* Parse the line of JSON; *body is the offset of the body. */
static int read_head(const char *data, size_t len, const char *what, json_t **root,
		     size_t *body, struct tw_err *err)
{
	const char *end =
		memchr(data, '\n', len < TW_FETCH_HEAD_MAX ? len : TW_FETCH_HEAD_MAX);

	if (end == NULL)
		return tw_fail(err, TW_PARSE, "%s: no line of JSON in %zu bytes", what,
			       len);
	if (tw_json_parse(data, (size_t)(end - data), what, root, err) < 0)
		return -1;
	*body = (size_t)(end - data) + 1;
	return 0;
}

static int read_call(const json_t *root, struct tw_http_call *c, bool *post, bool *save,
		     struct tw_err *err)
{
	long long timeout_ms = 0, stall_ms = 0, answer_max = 0;

	if (tw_json_text(root, "call", "url", false, &c->url, err) < 0 ||
	    tw_json_text(root, "call", "content_type", true, &c->content_type, err) < 0 ||
	    tw_json_text(root, "call", "etag", true, &c->etag, err) < 0 ||
	    tw_json_bool(root, "call", "post", false, post, err) < 0 ||
	    tw_json_bool(root, "call", "save", true, save, err) < 0 ||
	    tw_json_int(root, "call", "stall_ms", true, 0, INT_MAX, &stall_ms, err) < 0 ||
	    tw_json_int(root, "call", "timeout_ms", false, 0, INT_MAX, &timeout_ms, err) <
		    0 ||
	    tw_json_int(root, "call", "answer_max", false, 0, INT_MAX, &answer_max, err) <
		    0)
		return -1;
	c->timeout_ms = (uint64_t)timeout_ms;
	c->stall_ms = (uint64_t)stall_ms;
	c->answer_max = (size_t)answer_max;
	return 0;
}

int tw_fetch_read_call(const char *data, size_t len, json_t **root,
		       struct tw_http_call *out, bool *save, struct tw_err *err)
{
	struct tw_http_call c = { 0 };
	bool post = false, to_file = false;
	json_t *head = NULL;
	size_t body;

	if (read_head(data, len, "call", &head, &body, err) < 0)
		return -1;
	if (read_call(head, &c, &post, &to_file, err) < 0) {
		json_decref(head);
		return -1;
	}
	if (post) {
		c.body = data + body;
		c.body_len = len - body;
	}
	*root = head;
	*out = c;
	*save = to_file;
	return 0;
}

static int read_failure(const json_t *root, const char *text, struct tw_err *err)
{
	long long code = TW_IO;

	if (tw_json_int(root, "outcome", "code", false, TW_OK + 1, TW_DENIED, &code,
			err) < 0)
		return -1;
	return tw_fail(err, (enum tw_code)code, "%s", text);
}

static int read_answer(const json_t *root, const char *body, size_t len,
		       struct tw_http_answer *a, struct tw_err *err)
{
	const char *type = "", *etag = "";
	long long status, retry_after_s = 0, from = 0;

	if (tw_json_int(root, "outcome", "status", false, 100, 999, &status, err) < 0 ||
	    tw_json_int(root, "outcome", "retry_after_s", true, 0, INT_MAX,
			&retry_after_s, err) < 0 ||
	    tw_json_int(root, "outcome", "from", true, 0, LLONG_MAX, &from, err) < 0 ||
	    tw_json_text(root, "outcome", "content_type", true, &type, err) < 0 ||
	    tw_json_text(root, "outcome", "etag", true, &etag, err) < 0)
		return -1;
	a->body = malloc(len + 1);
	if (a->body == NULL)
		return tw_fail(err, TW_NOMEM, "answer of %zu bytes", len);
	memcpy(a->body, body, len);
	a->body[len] = '\0';
	a->len = len;
	a->status = (unsigned)status;
	a->retry_after_s = (uint64_t)retry_after_s;
	a->from = (uint64_t)from;
	snprintf(a->content_type, sizeof(a->content_type), "%s", type);
	snprintf(a->etag, sizeof(a->etag), "%s", etag);
	return 0;
}

int tw_fetch_read_outcome(const char *data, size_t len, struct tw_http_answer *out,
			  struct tw_err *err)
{
	struct tw_http_answer a = { 0 };
	const char *failure = NULL;
	json_t *root = NULL;
	size_t body;
	int rc = -1;

	if (read_head(data, len, "outcome", &root, &body, err) < 0 ||
	    tw_json_text(root, "outcome", "failure", true, &failure, err) < 0)
		goto out;
	if (failure != NULL) {
		read_failure(root, failure, err);
		goto out;
	}
	if (read_answer(root, data + body, len - body, &a, err) < 0)
		goto out;

	*out = a;
	rc = 0;
out:
	json_decref(root);
	return rc;
}
