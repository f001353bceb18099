/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/session_parts.h"

#include "estimator/models.h"
#include "estimator/request.h"
#include "lib/core/err.h"

#include <stdlib.h>
#include <sys/socket.h>

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

void tw_session_end_reply(struct tw_session *s)
{
	if (s->served == NULL)
		return;
	tw_models_release(s->desk->models, s->served);
	s->served = NULL;
	if (s->reply != NULL)
		tw_reply_release(s->reply);
	free(s->reply);
	s->reply = NULL;
}

/* What takes more than a turn has memory of its own; the desk's is for the others. */
static bool keep_reply(struct tw_session *s)
{
	if (s->reply != NULL)
		return true;
	s->reply = malloc(sizeof(*s->reply));
	if (s->reply == NULL)
		return false;
	*s->reply = s->desk->reply;
	s->desk->reply = (struct tw_reply){ 0 };
	return true;
}

/* A turn's worth of the reply. False: close without an answer. */
static bool go_on_reply(struct tw_session *s, struct tw_reply *reply)
{
	const struct tw_request *r = tw_request_parser_request(s->parser);
	struct tw_err err;
	bool done = false;

	tw_err_clear(&err);
	if (tw_reply_go_on(reply, s->turn_ns, &done, &err) < 0) {
		tw_session_end_reply(s);
		return refuse(s, &err);
	}
	if (!done && keep_reply(s))
		return true;
	tw_session_end_reply(s);
	if (!done)
		return false;
	s->desk->stats.answers++;
	s->desk->stats.rows += r->rows;
	tw_request_parser_reset(s->parser);
	return true;
}

bool tw_session_go_on(struct tw_session *s)
{
	return go_on_reply(s, s->reply);
}

/* Series are a user's own. */
static uint64_t user_of(const struct tw_session *s, const struct tw_request *r)
{
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t len = sizeof(peer);

	if (r->time_ms == NULL ||
	    getsockopt(s->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return UINT64_MAX;
	return peer.uid;
}

bool tw_session_answer(struct tw_session *s, uint64_t now_ms)
{
	const struct tw_request *r = tw_request_parser_request(s->parser);
	struct tw_err err;

	tw_err_clear(&err);
	switch (tw_models_find(s->desk->models, r, &s->served, &err)) {
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
	if (tw_reply_begin(&s->desk->reply, r, s->served,
			   &(struct tw_reply_series){ .history = s->desk->history,
						      .user = user_of(s, r) },
			   &s->out, &err) < 0) {
		tw_session_end_reply(s);
		return refuse(s, &err);
	}
	return go_on_reply(s, &s->desk->reply);
}
