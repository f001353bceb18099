/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTPD_GUARD_H
#define TW_HTTPD_GUARD_H

/*
 * Ends connections that take too long, byte by byte: libmicrohttpd's own limit is for
 * those that send nothing at all. For lib/httpd*.c only.
 *
 * A client has TW_GUARD_HEAD_MS from its connection, or its last answer, to the end of
 * its headers; the same again for its body, and TW_GUARD_MS_PER_KIB for each KiB of that
 * which has come; and TW_GUARD_ANSWER_MS to take its answer. While the server works on
 * the answer the connection has no deadline: the client can do nothing but wait.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_guard;
struct tw_guarded;

#define TW_GUARD_HEAD_MS 30000
#define TW_GUARD_MS_PER_KIB 62 /* 16 KiB/s */
#define TW_GUARD_ANSWER_MS 300000

/*
 * thread: it has one that looks; else whoever polls calls tw_guard_look(). *out is yours:
 * tw_guard_close().
 */
int tw_guard_open(bool thread, struct tw_guard **out, struct tw_err *err);

/* End what is late. */
void tw_guard_look(struct tw_guard *g);

/* Until the next deadline; -1: no connection has one. */
int tw_guard_wait_ms(struct tw_guard *g);

void tw_guard_close(struct tw_guard *g); /* NULL is fine; no connection may be left */

/* A connection on this socket, which is open until tw_guard_drop(). NULL without memory.
 */
struct tw_guarded *tw_guard_add(struct tw_guard *g, int fd, void *owner);
void *tw_guard_owner(const struct tw_guarded *c);
void tw_guard_drop(struct tw_guard *g, struct tw_guarded *c); /* NULL is fine */

/* What the connection does from now on. NULL is fine. */
void tw_guard_waiting(struct tw_guarded *c);
void tw_guard_receiving(struct tw_guarded *c);
void tw_guard_received(struct tw_guarded *c, size_t bytes);
void tw_guard_working(struct tw_guarded *c);
void tw_guard_answering(struct tw_guarded *c);

#endif /* TW_HTTPD_GUARD_H */
