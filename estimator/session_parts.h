/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_SESSION_PARTS_H
#define TW_ESTIMATOR_SESSION_PARTS_H

/*
 * Inside of session.h: a session, and how its requests are answered (session_answer.c).
 */

#include "estimator/session.h"
#include "lib/core/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_reply;
struct tw_request_parser;
struct tw_served;

struct tw_session {
	int fd;
	struct tw_session_desk *desk;
	struct tw_request_parser *parser;
	uint64_t active_ms;
	uint64_t begun_ms; /* when the request that is not whole yet began; 0: none */
	bool eof;
	bool seen; /* a byte has come */

	bool waits; /* for a model, until then */
	uint64_t wait_until_ms;

	struct tw_served *served; /* the model that the reply is made with */
	struct tw_reply *reply;   /* under way since an earlier turn, or NULL */

	struct tw_buf out; /* the answer; sent bytes of it are gone */
	size_t sent;
	uint64_t asked_ns; /* when the request was whole that out answers */
	bool stuck;        /* the client takes no more of it for now */
	bool rest;         /* it may take more of it in the next turn */
	bool more;         /* there probably is more to read */
	bool large;        /* the request that has begun is */
	uint64_t begun_ns; /* when this turn began */
	uint64_t turn_ns;  /* when it ends */

	char *held; /* bytes read behind the request that is being answered */
	size_t held_len, held_at;
};

/*
 * Answer the request that is whole, or begin to: s->reply is there then, or s->waits set.
 * False: close without an answer.
 */
bool tw_session_answer(struct tw_session *s, uint64_t now_ms);

/* A turn's worth of s->reply. False: close without an answer. */
bool tw_session_go_on(struct tw_session *s);

/* Without one too. */
void tw_session_end_reply(struct tw_session *s);

#endif /* TW_ESTIMATOR_SESSION_PARTS_H */
