/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/session.h"

#include "lib/clock.h"
#include "estimator/models.h"
#include "estimator/reply.h"
#include "estimator/request.h"
#include "lib/buf.h"
#include "lib/err.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct tw_session {
	int fd;
	struct tw_session_desk *desk;
	struct tw_request_parser *parser;
	uint64_t active_ms;
	uint64_t begun_ms; /* when the request that is not whole yet began; 0: none */
	bool eof;

	bool waits; /* for a model, until then */
	uint64_t wait_until_ms;

	struct tw_buf out; /* the answer; sent bytes of it are gone */
	size_t sent;
	uint64_t asked_ns; /* when the request was whole that out answers */
	bool stuck;        /* the client takes no more of it for now */

	char *held; /* bytes read behind the request that is being answered */
	size_t held_len, held_at;
};

void tw_session_desk_release(struct tw_session_desk *d)
{
	tw_reply_scratch_release(&d->scratch);
}

int tw_session_new(int fd, struct tw_session_desk *desk, uint64_t now_ms,
		   struct tw_session **out, struct tw_err *err)
{
	struct tw_session *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		close(fd);
		return tw_fail(err, TW_NOMEM, "connection");
	}
	s->fd = fd;
	s->desk = desk;
	s->active_ms = now_ms;
	if (tw_request_parser_new(&s->parser, err) < 0) {
		tw_session_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

/* Send what there is of the answer. False: the client is gone. */
static bool flush(struct tw_session *s, uint64_t now_ms)
{
	while (s->sent < s->out.len) {
		const ssize_t n = send(s->fd, s->out.data + s->sent, s->out.len - s->sent,
				       MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			s->stuck = errno == EAGAIN || errno == EWOULDBLOCK;
			return s->stuck;
		}
		s->sent += (size_t)n;
		s->active_ms = now_ms;
	}
	s->stuck = false;
	if (s->out.len > 0)
		tw_stats_took(&s->desk->stats, tw_now_ns() - s->asked_ns);
	/* A large answer's memory is given back, a usual one's is kept. */
	if (s->out.size > TW_SESSION_CHUNK)
		tw_buf_clear(&s->out);
	s->out.len = 0;
	s->sent = 0;
	return true;
}

/*
 * There are no watts. Old clients crash of an answer without them, so their connection
 * is closed; who asks for version 2 is told, and may go on. False: close.
 */
static bool refuse(struct tw_session *s, const struct tw_err *why)
{
	const struct tw_request *r = tw_request_parser_request(s->parser);

	s->desk->stats.refused[TW_REFUSED_NO_MODEL]++;
	tw_log_warn_limited(&s->desk->log, "no answer output=%s source=%s: %s",
			    tw_output_name(r->output), r->source->name, why->text);
	if (r->version < 2)
		return false;
	s->out.len = 0;
	tw_reply_refuse(&s->out, why);
	tw_request_parser_reset(s->parser);
	return !tw_buf_failed(&s->out);
}

/* It is not even a request: who asks for version 2 is told, then it is over. */
static void refuse_rubbish(struct tw_session *s, const struct tw_err *why,
			   uint64_t now_ms)
{
	s->desk->stats.refused[TW_REFUSED_MALFORMED]++;
	tw_log_warn_limited(&s->desk->log, "request refused: %s", why->text);
	if (tw_request_parser_version(s->parser) < 2)
		return;
	tw_reply_refuse(&s->out, why);
	flush(s, now_ms);
}

/* Answer the request that is whole. False: close without an answer. */
static bool answer(struct tw_session *s, uint64_t now_ms)
{
	const struct tw_request *r = tw_request_parser_request(s->parser);
	struct tw_served *served = NULL;
	struct tw_err err = { 0 };
	int failed;

	switch (tw_models_find(s->desk->models, r, &served, &err)) {
	case TW_MODELS_READY:
		break;
	case TW_MODELS_PENDING:
		if (!s->waits) {
			s->waits = true;
			s->wait_until_ms = now_ms + s->desk->model_wait_ms;
		}
		if (now_ms < s->wait_until_ms)
			return true;
		tw_fail(&err, TW_NOTFOUND, "there is no model yet");
		/* fall through */
	case TW_MODELS_NONE:
		s->waits = false;
		return refuse(s, &err);
	}
	s->waits = false;
	failed = tw_reply_write(&s->desk->scratch, r, served, &s->out, &err);
	tw_models_release(s->desk->models, served);
	if (failed < 0)
		return refuse(s, &err);
	s->desk->stats.answers++;
	s->desk->stats.rows += r->rows;
	tw_request_parser_reset(s->parser);
	return true;
}

static bool blocked(const struct tw_session *s)
{
	return s->waits || s->stuck;
}

/*
 * Take bytes until they end or an answer is in the way. Each answer is sent before the
 * next request is looked at, but for the last. False: close.
 */
static bool take(struct tw_session *s, const char *data, size_t len, size_t *at,
		 uint64_t now_ms)
{
	while (*at < len && !blocked(s)) {
		struct tw_err err = { 0 };
		size_t used = 0;
		bool done = false;

		if (tw_session_owes(s) && (!flush(s, now_ms) || blocked(s)))
			return s->stuck;
		if (tw_request_parser_feed(s->parser, data + *at, len - *at, &used, &done,
					   &err) < 0) {
			refuse_rubbish(s, &err, now_ms);
			return false;
		}
		*at += used;
		if (done) {
			s->begun_ms = 0; /* the next one has its own time */
			s->asked_ns = tw_now_ns();
			if (!answer(s, now_ms))
				return false;
		}
	}
	return true;
}

/* A client that sends a byte now and then is no longer waited for than one that rests. */
static void watch_request(struct tw_session *s, uint64_t now_ms)
{
	if (!tw_request_parser_started(s->parser))
		s->begun_ms = 0;
	else if (s->begun_ms == 0)
		s->begun_ms = now_ms;
}

static bool is_late(struct tw_session *s, uint64_t now_ms)
{
	if (s->waits || now_ms < tw_session_deadline_ms(s))
		return false;
	if (s->begun_ms != 0) {
		s->desk->stats.refused[TW_REFUSED_LATE]++;
		tw_log_warn_limited(&s->desk->log,
				    "request refused: not whole after %" PRIu64 " ms",
				    now_ms - s->begun_ms);
	}
	return true;
}

static bool take_held(struct tw_session *s, uint64_t now_ms)
{
	if (s->held == NULL)
		return true;
	if (!take(s, s->held, s->held_len, &s->held_at, now_ms))
		return false;
	if (s->held_at == s->held_len) {
		free(s->held);
		s->held = NULL;
	}
	return true;
}

static bool hold(struct tw_session *s, const char *data, size_t len)
{
	if (len == 0)
		return true;
	assert(s->held == NULL);
	s->held = malloc(len);
	if (s->held == NULL)
		return false;
	memcpy(s->held, data, len);
	s->held_len = len;
	s->held_at = 0;
	return true;
}

/* One read, so that a client which sends without a pause leaves others their turn. */
static bool take_input(struct tw_session *s, uint64_t now_ms)
{
	char *chunk = s->desk->chunk;
	size_t at = 0;
	const ssize_t n = recv(s->fd, chunk, TW_SESSION_CHUNK, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
	if (n == 0) {
		s->eof = true;
		if (tw_request_parser_started(s->parser))
			tw_log_warn_limited(&s->desk->log,
					    "connection ended in a request");
		return true;
	}
	s->active_ms = now_ms;
	if (!take(s, chunk, (size_t)n, &at, now_ms))
		return false;
	return hold(s, chunk + at, (size_t)n - at);
}

bool tw_session_run(struct tw_session *s, uint64_t now_ms, bool hung_up)
{
	if (is_late(s, now_ms))
		return false;
	if (hung_up && (blocked(s) || tw_session_owes(s)))
		return false;
	if (!flush(s, now_ms))
		return false;
	if (s->waits && !answer(s, now_ms))
		return false;
	if (!take_held(s, now_ms))
		return false;
	if (!blocked(s) && s->held == NULL && !s->eof && !take_input(s, now_ms))
		return false;
	watch_request(s, now_ms);
	if (s->eof && !flush(s, now_ms))
		return false;
	return !s->eof || blocked(s);
}

bool tw_session_owes(const struct tw_session *s)
{
	return s->sent < s->out.len && !s->stuck;
}

bool tw_session_send(struct tw_session *s, uint64_t now_ms)
{
	return flush(s, now_ms);
}

uint32_t tw_session_events(const struct tw_session *s)
{
	if (s->stuck)
		return EPOLLOUT;
	return s->waits ? 0 : EPOLLIN;
}

bool tw_session_waits_for_model(const struct tw_session *s)
{
	return s->waits;
}

uint64_t tw_session_deadline_ms(const struct tw_session *s)
{
	const uint64_t idle_ms = s->active_ms + s->desk->idle_ms;
	const uint64_t late_ms = s->begun_ms + s->desk->request_ms;

	if (s->waits)
		return s->wait_until_ms;
	return s->begun_ms != 0 && !s->stuck && late_ms < idle_ms ? late_ms : idle_ms;
}

uint64_t tw_session_active_ms(const struct tw_session *s)
{
	return s->active_ms;
}

void tw_session_free(struct tw_session *s)
{
	if (s == NULL)
		return;
	if (s->fd >= 0)
		close(s->fd);
	tw_request_parser_free(s->parser);
	tw_buf_clear(&s->out);
	free(s->held);
	free(s);
}
