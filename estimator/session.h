/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_SESSION_H
#define TW_ESTIMATOR_SESSION_H

/*
 * One client's connection: requests are read as they come, each is answered in
 * order with one write. Nothing here waits; the daemon's loop says when to go on.
 *
 * While an answer has not been taken by the client, or a model is awaited, nothing more
 * is read: a client that does not read holds one answer's memory, no more.
 */

#include "estimator/reply.h"
#include "estimator/stats.h"
#include "lib/program/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_history;
struct tw_models;
struct tw_session;

/* Bytes that are taken from a connection at a time, and those of them parsed at a time.
 */
#define TW_SESSION_CHUNK ((size_t)32 * 1024)
#define TW_SESSION_PIECE ((size_t)4 * 1024)
/* Bytes that are sent to a client in a turn. */
#define TW_SESSION_SEND ((size_t)128 * 1024)

/* What the sessions of one thread share. */
struct tw_session_desk {
	struct tw_models *models;
	uint64_t idle_ms;       /* a connection without a byte for so long is closed */
	uint64_t request_ms;    /* a request that has begun is whole in this time */
	uint64_t model_wait_ms; /* the first request for a model waits so long */
	struct tw_history *history;
	struct tw_log_limit log;
	struct tw_stats stats;
	struct tw_reply reply; /* its memory serves all replies that take one turn */
	char chunk[TW_SESSION_CHUNK];
};

void tw_session_desk_release(struct tw_session_desk *d);

/* fd: non-blocking; taken, even on failure. desk must outlive the session. */
int tw_session_new(int fd, struct tw_session_desk *desk, uint64_t now_ms,
		   struct tw_session **out, struct tw_err *err);

/*
 * Go on as far as possible, for a turn of about turn_ns: tw_session_busy() then. False:
 * the connection is over, free it. hung_up: the client is gone, no answer can reach it.
 */
bool tw_session_run(struct tw_session *s, uint64_t now_ns, uint64_t turn_ns,
		    bool hung_up);

/*
 * Whether there is an answer that is still to be sent: tw_session_send(). The loop runs
 * other sessions first, so that a client which asks on several connections is woken
 * once for all. False from tw_session_send(): the connection is over.
 */
bool tw_session_owes(const struct tw_session *s);
bool tw_session_send(struct tw_session *s, uint64_t now_ms);

/* It has more to do than fitted its turn, and waits for nothing but the next one. */
bool tw_session_busy(const struct tw_session *s);

/* It is in the middle of a large request: it may wait for its turn with the busy ones. */
bool tw_session_is_large(const struct tw_session *s);

/* EPOLLIN, EPOLLOUT or neither. */
uint32_t tw_session_events(const struct tw_session *s);

bool tw_session_waits_for_model(const struct tw_session *s);

/* When to run it even if nothing happens. */
uint64_t tw_session_deadline_ms(const struct tw_session *s);

/* When a byte last came or went. */
uint64_t tw_session_active_ms(const struct tw_session *s);

void tw_session_free(struct tw_session *s); /* NULL is fine */

#endif /* TW_ESTIMATOR_SESSION_H */
