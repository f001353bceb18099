/* SPDX-License-Identifier: Apache-2.0 */
/* The job "fetch": one HTTP call for a daemon (lib/ask/fetch.h). */
#include "collector/ask/ask_job.h"
#include "lib/ask/helper.h"
#include "lib/core/err.h"
#include "lib/http/client/download.h"
#include "lib/http/client/http.h"
#include "lib/json/json.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define BODY_MAX ((size_t)1 << 20)

struct job {
	struct tw_http_call call;
	char *body;
	bool save; /* download into TW_ASK_FILE */
};

static void close_job(void *state)
{
	struct job *j = state;

	if (j == NULL)
		return;
	free(j->body);
	free(j);
}

static int read_settings(const json_t *settings, struct job *j, struct tw_err *err)
{
	struct tw_http_call *c = &j->call;
	long long timeout_ms, stall_ms, answer_max, body_len;
	bool post;

	if (tw_json_text(settings, "call", "url", false, &c->url, err) < 0 ||
	    tw_json_text(settings, "call", "content_type", true, &c->content_type, err) <
		    0 ||
	    tw_json_text(settings, "call", "etag", true, &c->etag, err) < 0 ||
	    tw_json_int(settings, "call", "timeout_ms", false, 0, INT_MAX, &timeout_ms,
			err) < 0 ||
	    tw_json_int(settings, "call", "stall_ms", false, 0, INT_MAX, &stall_ms, err) <
		    0 ||
	    tw_json_int(settings, "call", "answer_max", false, 0, INT_MAX, &answer_max,
			err) < 0 ||
	    tw_json_int(settings, "call", "body_len", false, 0, BODY_MAX, &body_len,
			err) < 0 ||
	    tw_json_bool(settings, "call", "post", false, &post, err) < 0 ||
	    tw_json_bool(settings, "call", "save", false, &j->save, err) < 0)
		return -1;
	c->timeout_ms = (uint64_t)timeout_ms;
	c->stall_ms = (uint64_t)stall_ms;
	c->answer_max = (size_t)answer_max;
	c->body_len = (size_t)body_len;
	if (!post)
		return 0;
	c->body = j->body = malloc(c->body_len + 1);
	return j->body != NULL ? 0
			       : tw_fail(err, TW_NOMEM, "call of %zu bytes", c->body_len);
}

static int open_job(const json_t *settings, void **state, struct tw_err *err)
{
	struct job *j = calloc(1, sizeof(*j));

	if (j == NULL)
		return tw_fail(err, TW_NOMEM, "fetch");
	if (read_settings(settings, j, err) < 0) {
		close_job(j);
		return -1;
	}
	*state = j;
	return 0;
}

static bool read_body(struct job *j, int fd)
{
	for (size_t got = 0; got < j->call.body_len;) {
		const ssize_t n = recv(fd, j->body + got, j->call.body_len - got, 0);

		if (n == 0 || (n < 0 && errno != EINTR))
			return false;
		got += n > 0 ? (size_t)n : 0;
	}
	return true;
}

static void send_body(int fd, const struct tw_http_answer *a)
{
	for (size_t sent = 0; sent < a->len;) {
		const size_t left = a->len - sent;
		const ssize_t n =
			send(fd, a->body + sent,
			     left < TW_ASK_PACKET ? left : TW_ASK_PACKET, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return;
		sent += n > 0 ? (size_t)n : 0;
	}
}

static void send_answer(int fd, const struct tw_http_answer *a)
{
	struct tw_ask_message m = tw_ask_message(TW_ASK_FETCHED);
	struct tw_ask_fetched *f = &m.of.fetched;

	f->status = a->status;
	f->len = a->len;
	f->retry_after_s = a->retry_after_s;
	f->from = a->from;
	memcpy(f->content_type, a->content_type, sizeof(f->content_type));
	memcpy(f->etag, a->etag, sizeof(f->etag));
	if (tw_ask_send(fd, &m))
		send_body(fd, a);
}

static void send_failure(int fd, const struct tw_err *why)
{
	struct tw_ask_message m = tw_ask_message(TW_ASK_FETCHED);

	m.of.fetched.failed = (uint32_t)why->code;
	memcpy(m.of.fetched.failure, why->text, sizeof(m.of.fetched.failure));
	tw_ask_send(fd, &m);
}

/* The call stops when the daemon closes the socket: another helper may write to the same
 * file next. */
static void run_job(void *state, int fd)
{
	struct job *j = state;
	struct tw_http_call call = j->call;
	struct tw_http_answer answer = { 0 };
	struct tw_err err = { 0 };

	call.stopped = tw_ask_is_closed;
	call.stopped_arg = &fd;
	if (!read_body(j, fd))
		return;
	if (tw_http_init(&err) == 0 &&
	    (j->save ? tw_download(&call, TW_ASK_FILE, &answer, &err)
		     : tw_http_call(&call, &answer, &err)) == 0)
		send_answer(fd, &answer);
	else
		send_failure(fd, &err);
	tw_http_answer_release(&answer);
}

const struct tw_ask_job tw_ask_fetch = {
	.name = "fetch",
	.net = true,
	.once = true,
	.open = open_job,
	.run = run_job,
	.close = close_job,
};
