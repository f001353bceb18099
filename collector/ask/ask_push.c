/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job "push": sends the collector's metrics to a receiver. The job asks the collector
 * for them, so that a slow receiver takes up no time of the collector. It sends the text
 * of a tick until the receiver has it, and asks for the next text afterwards. Samples
 * that the receiver refuses for good are left out; the first refusal of a text is
 * reported.
 */
#include "collector/ask/access.h"
#include "collector/ask/ask_job.h"
#include "collector/push/format.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/http/client/http.h"
#include "lib/http/client/url.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define RETRY_MIN_MS 1000
/* Receivers refuse samples that are older, some from an hour on. */
#define GIVE_UP_MS 600000
/* The collector sends a text after its next tick. Without it in time, ask again. */
#define ASK_AGAIN_MS 60000
#define TEXT_MAX ((uint64_t)256 << 20)
/* A request has some MB at most: receivers have limits. */
#define SAMPLES_MAX 5000
#define ANSWER_KEPT 1024

struct job {
	struct tw_ask_state state;
	const char *url;
	unsigned to; /* enum tw_push_to */
	uint64_t timeout_ms;
	const char *access_path;
	struct tw_access access;
	struct tw_strs headers, resource;
	char *text; /* of the push in progress; NULL: ask for the next */
	struct tw_push_head head;
	uint64_t seq, taken_ms;
	struct tw_push_place sent; /* earlier samples are sent, or refused for good */
	struct tw_ask_pushed pushed;
	struct tw_err refusal;    /* the first of this text */
	char answer[ANSWER_KEPT]; /* the beginning of the last one */
	size_t answer_len;
};

#define AT(member) TW_FIELD_AT(struct job, member)
static const struct tw_field fields[] = {
	TW_ASK_INTERVAL(struct job),
	{ "url", TW_FIELD_BORROWED, AT(url) },
	{ "timeout_ms", TW_FIELD_UINT, AT(timeout_ms), .min = 1, .max = INT32_MAX },
	{ "to", TW_FIELD_UINT, AT(to), .max = TW_PUSH_COUNT - 1 },
	{ "access", TW_FIELD_BORROWED, AT(access_path), .optional = true },
	{ "resource", TW_FIELD_STRS, AT(resource) },
};
static const struct tw_fields settings = TW_FIELDS(fields, struct job);

static void close_job(void *state)
{
	struct job *j = state;

	free(j->text);
	tw_access_close(&j->access);
	tw_strs_clear(&j->headers);
}

static int open_job(void *state, struct tw_err *err)
{
	struct job *j = state;
	const struct tw_push_format *f = &tw_push_formats[j->to];

	if (tw_access_open(&j->access, j->access_path, err) < 0 ||
	    tw_strs_adds(&j->headers, f->coding, err) < 0 ||
	    (f->version != NULL && tw_strs_adds(&j->headers, f->version, err) < 0))
		return -1;
	/* Own headers disable redirects. */
	j->access.http.headers = &j->headers;
	return 0;
}

/* ---- the text ---- */

static void drop_text(struct job *j)
{
	free(j->text);
	j->text = NULL;
}

/* Wait for a packet of the collector. Returns its length; 0: no packet in time. */
static size_t receive(const struct job *j, void *data, size_t size)
{
	const uint64_t until_ms = tw_now_ms() + ASK_AGAIN_MS;
	uint64_t now_ms;

	while ((now_ms = tw_now_ms()) < until_ms) {
		struct pollfd p = { .fd = j->state.fd, .events = POLLIN | POLLRDHUP };
		ssize_t n;

		if (poll(&p, 1, (int)(until_ms - now_ms)) <= 0)
			continue;
		n = recv(j->state.fd, data, size, MSG_DONTWAIT);
		if (n > 0)
			return (size_t)n;
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return 0;
	}
	return 0;
}

/* Ask for a text, and take it. Packets of an earlier request are skipped. */
static bool take_text(struct job *j)
{
	struct tw_ask_message want = tw_ask_message(TW_ASK_WANT);
	struct tw_push_head h;
	size_t n, got = 0;

	want.place = (uint32_t)++j->seq;
	if (!tw_ask_send(j->state.fd, &want))
		return false;
	do
		n = receive(j, &h, sizeof(h));
	while (n > 0 && (n != sizeof(h) || h.seq != want.place));
	if (n == 0 || h.len > TEXT_MAX)
		return false;
	j->text = malloc((size_t)h.len + 1);
	while (j->text != NULL && got < h.len && n > 0) {
		n = receive(j, j->text + got, (size_t)h.len - got);
		got += n;
	}
	if (j->text == NULL || got < h.len) {
		drop_text(j);
		return false;
	}
	j->head = h;
	j->taken_ms = tw_now_ms();
	j->sent = (struct tw_push_place){ 0 };
	j->pushed = (struct tw_ask_pushed){ 0 };
	j->refusal = (struct tw_err){ 0 };
	return true;
}

/* ---- requests ---- */

static int keep_answer(void *arg, const char *data, size_t len, struct tw_err *err)
{
	struct job *j = arg;
	const size_t room = sizeof(j->answer) - j->answer_len;

	(void)err;
	memcpy(j->answer + j->answer_len, data, len < room ? len : room);
	j->answer_len += len < room ? len : room;
	return 0;
}

/* The outcome of a request that the receiver did not take as a whole. */
struct outcome {
	bool retry;        /* the same samples may succeed later */
	uint64_t retry_ms; /* the least wait before that */
	uint64_t refused;  /* samples, for good; at least those of the request: all */
};

static bool is_passing(unsigned status)
{
	return status / 100 == 5 || status / 100 == 3 || status == 429 || status == 401 ||
	       status == 403 || status == 404;
}

/* Quote the first line of the receiver's error. */
static int check_answer(const struct job *j, const struct tw_http_answer *a,
			struct outcome *o, struct tw_err *err)
{
	const struct tw_push_format *f = &tw_push_formats[j->to];
	char why[96] = "";

	o->retry = is_passing(a->status);
	o->retry_ms = a->retry_after_s * 1000;
	o->refused = 0;
	if (a->status / 100 != 2) {
		o->refused = o->retry ? 0 : UINT64_MAX;
		return tw_fail(err, TW_IO, "it answers %u%s%.*s", a->status,
			       a->len > 0 ? ": " : "", (int)strcspn(a->body, "\r\n"),
			       a->body);
	}
	if (f->rejected != NULL)
		o->refused = f->rejected(j->answer, j->answer_len, why, sizeof(why));
	if (o->refused > 0)
		return tw_fail(err, TW_INVALID, "it refuses %llu samples: %s",
			       (unsigned long long)o->refused, why);
	return 0;
}

static int post(struct job *j, const struct tw_buf *body, struct outcome *o,
		struct tw_err *err)
{
	struct tw_http_call call = {
		.url = j->url,
		.body = body->data,
		.body_len = body->len,
		.content_type = tw_push_formats[j->to].content_type,
		.timeout_ms = j->timeout_ms,
		.access = &j->access.http,
		.sink = keep_answer,
		.sink_arg = j,
	};
	struct tw_http_answer answer = { 0 };
	int rc;

	j->answer_len = 0;
	*o = (struct outcome){ .retry = true };
	if (tw_ask_call(&j->state, &call, &answer, err) < 0)
		return -1;
	rc = check_answer(j, &answer, o, err);
	tw_http_answer_release(&answer);
	return rc;
}

/* Count the samples of a request as sent, except those that were refused for good. */
static void go_past(struct job *j, const struct tw_push_body *b, uint64_t refused,
		    const struct tw_err *why)
{
	j->sent = *b->place;
	if (refused > 0 && j->refusal.code == TW_OK)
		j->refusal = *why;
	if (refused >= b->given)
		return;
	j->pushed.samples += b->given - refused;
	j->pushed.bytes += b->out->len;
}

/* Send the next samples of the text. *given: their number, 0 at the end of the text. */
static int send_some(struct job *j, size_t *given, struct outcome *o, struct tw_err *err)
{
	struct tw_push_place place = j->sent;
	struct tw_buf out = { 0 };
	struct tw_push_body body = { .out = &out,
				     .head = &j->head,
				     .resource = &j->resource,
				     .text = j->text,
				     .place = &place,
				     .most = SAMPLES_MAX };
	struct tw_err why = { 0 };
	int rc = tw_push_formats[j->to].write(&body, &why);

	*o = (struct outcome){ 0 };
	if (rc == 0 && body.given > 0)
		rc = post(j, &out, o, &why);
	if (rc == 0 || o->refused > 0)
		go_past(j, &body, o->refused, &why);
	else
		*err = why;
	*given = body.given;
	tw_buf_clear(&out);
	return rc == 0 || o->refused > 0 ? 0 : -1;
}

/* ---- the job ---- */

/* Send a message with a reason ("": none), without the method and URL before it. */
static void send_message(const struct job *j, enum tw_ask_kind kind,
			 const struct tw_err *why)
{
	struct tw_ask_message m = tw_ask_message(kind);
	const char *url = strstr(why->text, j->url);
	const char *text = url != NULL && strncmp(url + strlen(j->url), ": ", 2) == 0
				   ? url + strlen(j->url) + 2
				   : why->text;

	tw_ask_copy_reason(m.why, sizeof(m.why), text);
	if (kind == TW_ASK_PUSHED)
		m.of.pushed = j->pushed;
	tw_ask_send(j->state.fd, &m);
}

static void report(void *state, const struct tw_err *why)
{
	send_message(state, TW_ASK_MISSING, why);
}

static int push_text(struct job *j, struct tw_err *err)
{
	struct outcome o;
	size_t given = 1;

	while (given > 0)
		if (send_some(j, &given, &o, err) < 0) {
			if (!o.retry || tw_now_ms() - j->taken_ms > GIVE_UP_MS)
				drop_text(j);
			j->state.wait_ms =
				o.retry_ms < GIVE_UP_MS ? o.retry_ms : GIVE_UP_MS;
			return -1;
		}
	drop_text(j);
	return 0;
}

static int poll_push(void *state, struct tw_err *err)
{
	struct job *j = state;
	const uint64_t began_ms = tw_now_ms();
	uint64_t took_ms;

	if (j->text == NULL && !take_text(j)) {
		j->state.wait_ms = RETRY_MIN_MS;
		return 0;
	}
	tw_access_renew(&j->access, began_ms, j->state.interval_ms);
	if (push_text(j, err) < 0)
		return -1;
	took_ms = tw_now_ms() - began_ms;
	send_message(j, TW_ASK_PUSHED, &j->refusal);
	j->state.wait_ms =
		took_ms < j->state.interval_ms ? j->state.interval_ms - took_ms : 1;
	return 0;
}

const struct tw_ask_job tw_ask_push = {
	.name = "push",
	.settings = &settings,
	.net = true,
	.open = open_job,
	.poll = poll_push,
	.report = report,
	.retry_min_ms = RETRY_MIN_MS,
	.retry_max_ms = 60000,
	.close = close_job,
};
