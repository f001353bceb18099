/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTPD_GUARD_H
#define TW_HTTPD_GUARD_H

/*
 * Deadlines of connections. libmicrohttpd's time-out restarts with every byte, so a
 * client that sends slowly could hold a connection for ever. For the HTTP server.
 *
 * A client has TW_GUARD_HEAD_MS from its connection, or from its last answer, to the end
 * of its headers. It has the same again for its body, and TW_GUARD_MS_PER_KIB more for
 * each KiB received. It has TW_GUARD_ANSWER_MS to take its answer. While the server works
 * on the answer there is no deadline.
 *
 * There is always room for one more: where there are too many connections, the one that
 * waits longest ends, of the address with most of them. An address with more than a
 * quarter of them has TW_GUARD_CROWD_MS for its headers.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_guard;
struct tw_guarded;

#define TW_GUARD_HEAD_MS 30000
#define TW_GUARD_CROWD_MS 5000
#define TW_GUARD_MS_PER_KIB 62 /* 16 KiB/s */
#define TW_GUARD_ANSWER_MS 300000

/*
 * thread: the guard ends late connections on a thread of its own, once a second; else the
 * caller calls tw_guard_end_late(). answer_ms: instead of TW_GUARD_ANSWER_MS; 0: that.
 * max: connections at a time, three quarters of them of one address; 0: any number. *out
 * is yours: tw_guard_close().
 */
int tw_guard_open(bool thread, uint64_t answer_ms, size_t max, struct tw_guard **out,
		  struct tw_err *err);

/* Shut down the sockets of connections that are past their deadline. */
void tw_guard_end_late(struct tw_guard *g);

/* Milliseconds until the next deadline; -1: no connection has one. */
int tw_guard_wait_ms(struct tw_guard *g);

void tw_guard_close(struct tw_guard *g); /* NULL is fine; no connection may be left */

/*
 * Guard the connection on socket fd, which stays open until tw_guard_drop(). It may end
 * another one, or this one if all of its address are at work. NULL if an allocation
 * failed.
 */
struct tw_guarded *tw_guard_add(struct tw_guard *g, int fd, void *owner);
void *tw_guard_owner(const struct tw_guarded *c);
void tw_guard_drop(struct tw_guard *g, struct tw_guarded *c); /* NULL is fine */

/* The connection's state changes, and its deadline with it. NULL is fine. */
void tw_guard_waiting(struct tw_guarded *c);                /* for a request */
void tw_guard_receiving(struct tw_guarded *c);              /* a body */
void tw_guard_received(struct tw_guarded *c, size_t bytes); /* of the body */
void tw_guard_working(struct tw_guarded *c);                /* on the answer */
void tw_guard_answering(struct tw_guarded *c);

#endif /* TW_HTTPD_GUARD_H */
