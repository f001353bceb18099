/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/session_parts.h"

#include "estimator/models.h"
#include "estimator/reply.h"
#include "estimator/request.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

void tw_session_desk_release(struct tw_session_desk *d)
{
	tw_reply_release(&d->reply);
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
	const size_t end = s->out.len - s->sent > TW_SESSION_SEND
				   ? s->sent + TW_SESSION_SEND
				   : s->out.len;

	if (s->reply != NULL)
		return true;
	while (s->sent < end) {
		const ssize_t n = send(s->fd, s->out.data + s->sent, end - s->sent,
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
	s->rest = s->sent < s->out.len;
	if (s->rest)
		return true;
	if (s->out.len > 0)
		tw_stats_took(&s->desk->stats, tw_now_ns() - s->asked_ns);
	/* A large answer's memory is given back, a usual one's is kept. */
	if (s->out.size > TW_SESSION_CHUNK)
		tw_buf_clear(&s->out);
	s->out.len = 0;
	s->sent = 0;
	return true;
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

/* What has to be gone before more can be read. */
static bool blocked(const struct tw_session *s)
{
	return s->waits || s->stuck || s->rest || s->reply != NULL;
}

/*
 * Take bytes until they end, an answer is in the way or the turn is over. Each answer is
 * sent before the next request is looked at, but for the last. False: close.
 */
static bool take(struct tw_session *s, const char *data, size_t len, size_t *at,
		 uint64_t now_ms)
{
	while (*at < len && !blocked(s)) {
		const size_t rest = len - *at,
			     piece = rest < TW_SESSION_PIECE ? rest : TW_SESSION_PIECE;
		struct tw_err err;
		size_t used = 0;
		bool done = false;

		tw_err_clear(&err);
		if (tw_session_owes(s) && (!flush(s, now_ms) || blocked(s)))
			return blocked(s);
		if (tw_request_parser_feed(s->parser, data + *at, piece, &used, &done,
					   &err) < 0) {
			refuse_rubbish(s, &err, now_ms);
			return false;
		}
		*at += used;
		if (done) {
			s->begun_ms = 0; /* the next one has its own time */
			s->large = false;
			s->asked_ns = s->begun_ns;
			if (!tw_session_answer(s, now_ms))
				return false;
		}
		if (*at < len && tw_now_ns() > s->turn_ns)
			break;
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

	s->more = n == TW_SESSION_CHUNK;
	s->large = s->large || s->more;
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
	s->seen = true;
	if (!take(s, chunk, (size_t)n, &at, now_ms))
		return false;
	return hold(s, chunk + at, (size_t)n - at);
}

static bool may_read(const struct tw_session *s)
{
	return !blocked(s) && s->held == NULL && !s->eof;
}

bool tw_session_run(struct tw_session *s, uint64_t now_ns, uint64_t turn_ns, bool hung_up)
{
	const uint64_t now_ms = now_ns / 1000000;
	const bool seen = s->seen;

	s->begun_ns = now_ns;
	s->turn_ns = now_ns + turn_ns;
	if (is_late(s, now_ms))
		return false;
	if (hung_up && (blocked(s) || tw_session_owes(s)))
		return false;
	if (!flush(s, now_ms))
		return false;
	if (s->waits && !tw_session_answer(s, now_ms))
		return false;
	if (s->reply != NULL && !tw_session_go_on(s))
		return false;
	if (!take_held(s, now_ms))
		return false;
	if (may_read(s) && !take_input(s, now_ms))
		return false;
	/* A new client with half a request may have gone already. */
	if (!seen && s->seen && may_read(s) && tw_request_parser_started(s->parser) &&
	    !take_input(s, now_ms))
		return false;
	watch_request(s, now_ms);
	if (s->eof && !flush(s, now_ms))
		return false;
	return !s->eof || blocked(s);
}

bool tw_session_owes(const struct tw_session *s)
{
	return s->sent < s->out.len && !s->stuck && s->reply == NULL;
}

bool tw_session_send(struct tw_session *s, uint64_t now_ms)
{
	return flush(s, now_ms);
}

bool tw_session_busy(const struct tw_session *s)
{
	if (s->waits || s->stuck)
		return false;
	return s->rest || s->reply != NULL || s->held != NULL || s->more;
}

bool tw_session_is_large(const struct tw_session *s)
{
	return s->large;
}

uint32_t tw_session_events(const struct tw_session *s)
{
	if (s->stuck)
		return EPOLLOUT;
	return s->waits || tw_session_busy(s) ? 0 : EPOLLIN;
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
	tw_session_end_reply(s);
	tw_request_parser_free(s->parser);
	tw_buf_clear(&s->out);
	free(s->held);
	free(s);
}
