/* SPDX-License-Identifier: Apache-2.0 */
/* The job "fetch": one HTTP call for a daemon (lib/ask/fetch.h). */
#include "collector/ask/ask_job.h"
#include "lib/ask/helper.h"
#include "lib/core/err.h"
#include "lib/http/client/download.h"
#include "lib/http/client/http.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define BODY_MAX ((size_t)1 << 20)

struct job {
	struct tw_ask_state state;
	struct tw_http_call call;
	char *body;
	bool post, save; /* save: download into TW_ASK_FILE */
};

#define AT(member) TW_FIELD_AT(struct job, member)
static const struct tw_field fields[] = {
	{ "url", TW_FIELD_BORROWED, AT(call.url) },
	{ "content_type", TW_FIELD_BORROWED, AT(call.content_type), .optional = true },
	{ "etag", TW_FIELD_BORROWED, AT(call.etag), .optional = true },
	{ "timeout_ms", TW_FIELD_UINT, AT(call.timeout_ms), .max = INT_MAX },
	{ "stall_ms", TW_FIELD_UINT, AT(call.stall_ms), .max = INT_MAX },
	{ "answer_max", TW_FIELD_UINT, AT(call.answer_max), .max = INT_MAX },
	{ "body_len", TW_FIELD_UINT, AT(call.body_len), .max = BODY_MAX },
	{ "post", TW_FIELD_BOOL, AT(post) },
	{ "save", TW_FIELD_BOOL, AT(save) },
};
static const struct tw_fields settings = TW_FIELDS(fields, struct job);

static void close_job(void *state)
{
	free(((struct job *)state)->body);
}

static int open_job(void *state, struct tw_err *err)
{
	struct job *j = state;

	if (!j->post)
		return 0;
	j->call.body = j->body = malloc(j->call.body_len + 1);
	return j->body != NULL
		       ? 0
		       : tw_fail(err, TW_NOMEM, "call of %zu bytes", j->call.body_len);
}

static bool read_body(struct job *j)
{
	for (size_t got = 0; got < j->call.body_len;) {
		const ssize_t n =
			recv(j->state.fd, j->body + got, j->call.body_len - got, 0);

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
static void run_job(void *state)
{
	struct job *j = state;
	struct tw_http_call *call = &j->call;
	struct tw_http_answer answer = { 0 };
	struct tw_err err = { 0 };

	call->stopped = tw_ask_is_closed;
	call->stopped_arg = &j->state.fd;
	if (!read_body(j))
		return;
	if (tw_http_init(&err) == 0 &&
	    (j->save ? tw_download(call, TW_ASK_FILE, &answer, &err)
		     : tw_http_call(call, &answer, &err)) == 0)
		send_answer(j->state.fd, &answer);
	else
		send_failure(j->state.fd, &err);
	tw_http_answer_release(&answer);
}

const struct tw_ask_job tw_ask_fetch = {
	.name = "fetch",
	.settings = &settings,
	.net = true,
	.once = true,
	.open = open_job,
	.run = run_job,
	.close = close_job,
};
