/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/session.h"

#include "estimator/models.h"
#include "estimator/predict/power_model.h"
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

struct tw_session {
	int fd;
	struct tw_session_shared *shared;
	uint64_t number; /* of this session */
	struct tw_request_parser *parser;
	uint64_t active_ms;
	uint64_t begun_ms; /* start of the incomplete request; 0: there is none */
	bool eof;
	bool received; /* a byte has arrived on this connection */

	bool waits_for_model;
	uint64_t wait_until_ms;

	struct tw_served *served; /* the model of the reply in progress */
	struct tw_reply *reply;   /* a reply that needs more turns, or NULL */

	struct tw_buf out;      /* the answer */
	size_t sent;            /* bytes of out */
	uint64_t complete_ns;   /* when the request of the answer was complete */
	bool blocked_by_client; /* the socket takes no more for now */
	bool more_to_send;      /* the rest of out waits for the next turn */
	bool more_to_read;      /* the last read filled the chunk */
	bool large;             /* the incomplete request is large */
	uint64_t turn_begin_ns, turn_end_ns;

	char *unparsed; /* bytes received behind the request being answered */
	size_t unparsed_len, unparsed_at;
};

void tw_session_shared_release(struct tw_session_shared *s)
{
	tw_reply_release(&s->reply);
}

int tw_session_new(int fd, struct tw_session_shared *shared, uint64_t now_ms,
		   struct tw_session **out, struct tw_err *err)
{
	struct tw_session *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		close(fd);
		return tw_fail(err, TW_NOMEM, "connection");
	}
	s->fd = fd;
	s->shared = shared;
	s->number = ++shared->sessions;
	s->active_ms = now_ms;
	if (tw_request_parser_new(&s->parser, err) < 0) {
		tw_session_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

/* Send the answer as far as the socket takes it. False: close the connection. */
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
			s->blocked_by_client = errno == EAGAIN || errno == EWOULDBLOCK;
			return s->blocked_by_client;
		}
		s->sent += (size_t)n;
		s->active_ms = now_ms;
	}
	s->blocked_by_client = false;
	s->more_to_send = s->sent < s->out.len;
	if (s->more_to_send)
		return true;
	if (s->out.len > 0)
		tw_stats_took(&s->shared->stats, tw_now_ns() - s->complete_ns);
	/* Free the memory of a large answer; reuse that of a usual one. */
	if (s->out.size > TW_SESSION_CHUNK)
		tw_buf_clear(&s->out);
	s->out.len = 0;
	s->sent = 0;
	return true;
}

/* ---- answering ---- */

/*
 * Answer a request that has no watts. A client of version 2 gets the reason and keeps its
 * connection. Older clients crash on an answer without powers; false: close theirs.
 */
static bool refuse(struct tw_session *s, const struct tw_err *why)
{
	const struct tw_request *r = tw_request_parser_request(s->parser);

	s->shared->stats.refused[TW_REFUSED_NO_MODEL]++;
	tw_log_warn_limited(&s->shared->log, "no answer output=%s source=%s: %s",
			    tw_output_name(r->output), r->source->name, why->text);
	if (r->version < 2)
		return false;
	s->out.len = 0;
	tw_reply_refuse(&s->out, why);
	tw_request_parser_reset(s->parser);
	return !tw_buf_failed(&s->out);
}

static void end_reply(struct tw_session *s)
{
	if (s->served == NULL)
		return;
	tw_models_release(s->shared->models, s->served);
	s->served = NULL;
	if (s->reply != NULL)
		tw_reply_release(s->reply);
	free(s->reply);
	s->reply = NULL;
}

/* Move a reply that needs more turns out of the shared memory. */
static bool detach_reply(struct tw_session *s)
{
	if (s->reply != NULL)
		return true;
	s->reply = malloc(sizeof(*s->reply));
	if (s->reply == NULL)
		return false;
	*s->reply = s->shared->reply;
	s->shared->reply = (struct tw_reply){ 0 };
	return true;
}

/* Work on the reply for a turn. False: close without an answer. */
static bool go_on_reply(struct tw_session *s, struct tw_reply *reply)
{
	const struct tw_request *r = tw_request_parser_request(s->parser);
	struct tw_err err;
	bool done = false;

	tw_err_clear(&err);
	if (tw_reply_go_on(reply, s->turn_end_ns, &done, &err) < 0) {
		end_reply(s);
		return refuse(s, &err);
	}
	if (!done && detach_reply(s))
		return true;
	if (done && reply->unpredicted > 0)
		tw_log_warn_limited(&s->shared->log, "no watts for %zu of %zu rows: %s",
				    reply->unpredicted, r->rows, reply->why.text);
	end_reply(s);
	if (!done)
		return false;
	s->shared->stats.answers++;
	s->shared->stats.rows += r->rows;
	tw_request_parser_reset(s->parser);
	return true;
}

/*
 * The series that a request may use. Users do not share series; UINT64_MAX is an unknown
 * user. The pid of a process in another pid namespace is 0: then the connection counts.
 */
static struct tw_series_scope scope_of(const struct tw_session *s, uint64_t now_ms)
{
	struct tw_series_scope scope = { .history = s->shared->history,
					 .user = UINT64_MAX,
					 .nodes = s->shared->nodes,
					 .now_ms = now_ms };
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t len = sizeof(peer);

	if (tw_power_model_back(s->served->model) == 0)
		return scope;
	if (getsockopt(s->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0)
		scope.user = peer.uid;
	scope.client = (struct tw_node_client){ .user = peer.uid,
						.process = (uint32_t)peer.pid };
	if (peer.pid <= 0)
		scope.client.connection = s->number;
	return scope;
}

/*
 * Answer the complete request. Afterwards s->out is the answer, s->reply is in progress,
 * or s->waits_for_model is set. False: close without an answer.
 */
static bool answer_request(struct tw_session *s, uint64_t now_ms)
{
	const struct tw_request *r = tw_request_parser_request(s->parser);
	struct tw_series_scope scope;
	struct tw_err err;

	tw_err_clear(&err);
	switch (tw_models_find(s->shared->models, r, &s->served, &err)) {
	case TW_MODELS_READY:
		break;
	case TW_MODELS_PENDING:
		if (!s->waits_for_model) {
			s->waits_for_model = true;
			s->wait_until_ms = now_ms + s->shared->model_wait_ms;
		}
		if (now_ms < s->wait_until_ms)
			return true;
		tw_fail(&err, TW_NOTFOUND, "the model has not loaded yet, try again");
		/* fall through */
	case TW_MODELS_NONE:
		s->waits_for_model = false;
		return refuse(s, &err);
	}
	s->waits_for_model = false;
	scope = scope_of(s, now_ms);
	if (tw_reply_begin(&s->shared->reply, r, s->served, &scope, &s->out, &err) < 0) {
		end_reply(s);
		return refuse(s, &err);
	}
	return go_on_reply(s, &s->shared->reply);
}

/* ---- reading ---- */

/* Report a malformed request; a client of version 2 gets the reason before the close. */
static void refuse_malformed(struct tw_session *s, const struct tw_err *why,
			     uint64_t now_ms)
{
	s->shared->stats.refused[TW_REFUSED_MALFORMED]++;
	tw_log_warn_limited(&s->shared->log, "request refused: %s", why->text);
	if (tw_request_parser_version(s->parser) < 2)
		return;
	tw_reply_refuse(&s->out, why);
	flush(s, now_ms);
}

/* True if the session must not parse the next request yet. */
static bool blocked(const struct tw_session *s)
{
	return s->waits_for_model || s->blocked_by_client || s->more_to_send ||
	       s->reply != NULL;
}

/*
 * Parse received bytes until they end, the session is blocked, or the turn is over. Send
 * each answer before parsing the next request; the caller sends the last. False: close.
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
		if (tw_session_has_answer(s) && (!flush(s, now_ms) || blocked(s)))
			return blocked(s);
		if (tw_request_parser_feed(s->parser, data + *at, piece, &used, &done,
					   &err) < 0) {
			refuse_malformed(s, &err, now_ms);
			return false;
		}
		*at += used;
		if (done) {
			s->begun_ms = 0; /* the next request has its own deadline */
			s->large = false;
			s->complete_ns = s->turn_begin_ns;
			if (!answer_request(s, now_ms))
				return false;
		}
		if (*at < len && tw_now_ns() > s->turn_end_ns)
			break;
	}
	return true;
}

/* The deadline starts at the first byte, so sending slowly buys no time. */
static void watch_request(struct tw_session *s, uint64_t now_ms)
{
	if (!tw_request_parser_started(s->parser))
		s->begun_ms = 0;
	else if (s->begun_ms == 0)
		s->begun_ms = now_ms;
}

static bool is_late(struct tw_session *s, uint64_t now_ms)
{
	if (s->waits_for_model || now_ms < tw_session_deadline_ms(s))
		return false;
	if (s->begun_ms != 0) {
		s->shared->stats.refused[TW_REFUSED_LATE]++;
		tw_log_warn_limited(&s->shared->log,
				    "request refused: incomplete after %" PRIu64 " ms",
				    now_ms - s->begun_ms);
	}
	return true;
}

static bool take_unparsed(struct tw_session *s, uint64_t now_ms)
{
	if (s->unparsed == NULL)
		return true;
	if (!take(s, s->unparsed, s->unparsed_len, &s->unparsed_at, now_ms))
		return false;
	if (s->unparsed_at == s->unparsed_len) {
		free(s->unparsed);
		s->unparsed = NULL;
	}
	return true;
}

static bool save_unparsed(struct tw_session *s, const char *data, size_t len)
{
	if (len == 0)
		return true;
	assert(s->unparsed == NULL);
	s->unparsed = malloc(len);
	if (s->unparsed == NULL)
		return false;
	memcpy(s->unparsed, data, len);
	s->unparsed_len = len;
	s->unparsed_at = 0;
	return true;
}

/* Read once, so that a client that sends without a pause does not delay the others. */
static bool take_input(struct tw_session *s, uint64_t now_ms)
{
	char *chunk = s->shared->chunk;
	size_t at = 0;
	const ssize_t n = recv(s->fd, chunk, TW_SESSION_CHUNK, MSG_DONTWAIT);

	s->more_to_read = n == TW_SESSION_CHUNK;
	s->large = s->large || s->more_to_read;
	if (n < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
	if (n == 0) {
		s->eof = true;
		if (tw_request_parser_started(s->parser))
			tw_log_warn_limited(
				&s->shared->log,
				"connection ended in the middle of a request");
		return true;
	}
	s->active_ms = now_ms;
	s->received = true;
	if (!take(s, chunk, (size_t)n, &at, now_ms))
		return false;
	return save_unparsed(s, chunk + at, (size_t)n - at);
}

static bool may_read(const struct tw_session *s)
{
	return !blocked(s) && s->unparsed == NULL && !s->eof;
}

bool tw_session_run(struct tw_session *s, uint64_t now_ns, uint64_t turn_ns, bool hung_up)
{
	const uint64_t now_ms = now_ns / 1000000;
	const bool seen = s->received;

	s->turn_begin_ns = now_ns;
	s->turn_end_ns = now_ns + turn_ns;
	if (is_late(s, now_ms))
		return false;
	if (hung_up && (blocked(s) || tw_session_has_answer(s)))
		return false;
	if (!flush(s, now_ms))
		return false;
	if (s->waits_for_model && !answer_request(s, now_ms))
		return false;
	if (s->reply != NULL && !go_on_reply(s, s->reply))
		return false;
	if (!take_unparsed(s, now_ms))
		return false;
	if (may_read(s) && !take_input(s, now_ms))
		return false;
	/* Read again for a new client: it may have hung up after half a request. */
	if (!seen && s->received && may_read(s) && tw_request_parser_started(s->parser) &&
	    !take_input(s, now_ms))
		return false;
	watch_request(s, now_ms);
	if (s->eof && !flush(s, now_ms))
		return false;
	return !s->eof || blocked(s);
}

bool tw_session_has_answer(const struct tw_session *s)
{
	return s->sent < s->out.len && !s->blocked_by_client && s->reply == NULL;
}

bool tw_session_send(struct tw_session *s, uint64_t now_ms)
{
	return flush(s, now_ms);
}

bool tw_session_busy(const struct tw_session *s)
{
	if (s->waits_for_model || s->blocked_by_client)
		return false;
	return s->more_to_send || s->reply != NULL || s->unparsed != NULL ||
	       s->more_to_read;
}

bool tw_session_is_large(const struct tw_session *s)
{
	return s->large;
}

uint32_t tw_session_events(const struct tw_session *s)
{
	if (s->blocked_by_client)
		return EPOLLOUT;
	return s->waits_for_model || tw_session_busy(s) ? 0 : EPOLLIN;
}

bool tw_session_waits_for_model(const struct tw_session *s)
{
	return s->waits_for_model;
}

uint64_t tw_session_deadline_ms(const struct tw_session *s)
{
	const uint64_t idle_ms = s->active_ms + s->shared->idle_ms;
	const uint64_t late_ms = s->begun_ms + s->shared->request_ms;

	if (s->waits_for_model)
		return s->wait_until_ms;
	return s->begun_ms != 0 && !s->blocked_by_client && late_ms < idle_ms ? late_ms
									      : idle_ms;
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
	end_reply(s);
	tw_request_parser_free(s->parser);
	tw_buf_clear(&s->out);
	free(s->unparsed);
	free(s);
}
