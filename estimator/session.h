/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_SESSION_H
#define TW_ESTIMATOR_SESSION_H

/*
 * The connection of one client. A session reads requests as they arrive, answers them in
 * order, and writes each answer with one call where the socket takes it. Sessions never
 * block; the event loop (estimator/estimator.h) calls them when there is work.
 *
 * A session reads nothing while it waits for a model or the client has not taken the
 * last answer. A client that does not read therefore costs the memory of one answer.
 */

#include "estimator/reply.h"
#include "estimator/stats.h"
#include "lib/program/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_history;
struct tw_models;
struct tw_node_series;
struct tw_session;

/* Bytes read from a connection at once, and bytes of them parsed at once. */
#define TW_SESSION_CHUNK ((size_t)32 * 1024)
#define TW_SESSION_PIECE ((size_t)4 * 1024)
/* Bytes sent to a client in a turn. */
#define TW_SESSION_SEND ((size_t)128 * 1024)

/* State shared by all sessions of a thread. */
struct tw_session_shared {
	struct tw_models *models;
	uint64_t idle_ms;       /* close a connection without traffic after this */
	uint64_t request_ms;    /* time limit of a request, from its first byte */
	uint64_t model_wait_ms; /* longest wait of a request for a model */
	struct tw_history *history;
	struct tw_node_series *nodes;
	uint64_t sessions; /* started so far */
	struct tw_log_limit log;
	struct tw_stats stats;
	struct tw_reply reply; /* its memory serves all replies that take one turn */
	char chunk[TW_SESSION_CHUNK];
};

void tw_session_shared_release(struct tw_session_shared *s);

/*
 * Start a session on fd, which is non-blocking. The session owns fd, even after a
 * failure. shared must outlive the session.
 */
int tw_session_new(int fd, struct tw_session_shared *shared, uint64_t now_ms,
		   struct tw_session **out, struct tw_err *err);

/*
 * Do all work that is possible in a turn of about turn_ns; if work remains, the session
 * is busy (tw_session_busy()). hung_up: the client has closed the connection. Returns
 * false if the connection is over; free the session then.
 */
bool tw_session_run(struct tw_session *s, uint64_t now_ns, uint64_t turn_ns,
		    bool hung_up);

/*
 * True if an answer is ready for tw_session_send(). The loop runs the other sessions
 * first: a client with several connections is then woken once for all its answers.
 * tw_session_send() returns false if the connection is over.
 */
bool tw_session_has_answer(const struct tw_session *s);
bool tw_session_send(struct tw_session *s, uint64_t now_ms);

/* True if work remains that did not fit into the turn. */
bool tw_session_busy(const struct tw_session *s);

/* True in the middle of a large request, which may wait with the busy sessions. */
bool tw_session_is_large(const struct tw_session *s);

/* The epoll events to watch: EPOLLIN, EPOLLOUT or 0. */
uint32_t tw_session_events(const struct tw_session *s);

bool tw_session_waits_for_model(const struct tw_session *s);

/* Run the session at this time even without an event. */
uint64_t tw_session_deadline_ms(const struct tw_session *s);

/* Time of the last byte received or sent. */
uint64_t tw_session_active_ms(const struct tw_session *s);

void tw_session_free(struct tw_session *s); /* NULL is fine */

#endif /* TW_ESTIMATOR_SESSION_H */
