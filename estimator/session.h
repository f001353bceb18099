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
#include "lib/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_models;
struct tw_session;

#define TW_SESSION_CHUNK ((size_t)64 * 1024)

/* What the sessions of one thread share. */
struct tw_session_desk {
	struct tw_models *models;
	uint64_t idle_ms;       /* a connection without a byte for so long is closed */
	uint64_t request_ms;    /* a request that has begun is whole in this time */
	uint64_t model_wait_ms; /* the first request for a model waits so long */
	struct tw_log_limit log;
	struct tw_stats stats;
	struct tw_reply_scratch scratch;
	char chunk[TW_SESSION_CHUNK];
};

void tw_session_desk_release(struct tw_session_desk *d);

/* fd: non-blocking; taken, even on failure. desk must outlive the session. */
int tw_session_new(int fd, struct tw_session_desk *desk, uint64_t now_ms,
		   struct tw_session **out, struct tw_err *err);

/*
 * Go on as far as possible. False: the connection is over, free it. hung_up: the
 * client is gone, no answer can reach it.
 */
bool tw_session_run(struct tw_session *s, uint64_t now_ms, bool hung_up);

/*
 * Whether there is an answer that is still to be sent: tw_session_send(). The loop runs
 * other sessions first, so that a client which asks on several connections is woken
 * once for all. False from tw_session_send(): the connection is over.
 */
bool tw_session_owes(const struct tw_session *s);
bool tw_session_send(struct tw_session *s, uint64_t now_ms);

/* EPOLLIN, EPOLLOUT or neither. */
uint32_t tw_session_events(const struct tw_session *s);

bool tw_session_waits_for_model(const struct tw_session *s);

/* When to run it even if nothing happens. */
uint64_t tw_session_deadline_ms(const struct tw_session *s);

/* When a byte last came or went. */
uint64_t tw_session_active_ms(const struct tw_session *s);

void tw_session_free(struct tw_session *s); /* NULL is fine */

#endif /* TW_ESTIMATOR_SESSION_H */
