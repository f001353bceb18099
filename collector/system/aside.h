/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ASIDE_H
#define TW_COLLECTOR_ASIDE_H

/*
 * A process beside the one that polls. It keeps rights that the other gives up, and reads
 * nothing of foreign programs: the runner of a command, the connector to sockets.
 *
 * A socket between the two carries messages: two numbers, and up to two descriptors.
 */

#include <sys/types.h>

struct tw_err;

/* The process, as its parent and the parent's children have it. */
struct tw_aside {
	int fd; /* -1: none; readable when there is a message */
	pid_t pid;
};

struct tw_aside_message {
	int kind, value;
	int fds[2]; /* -1: none; those received are yours */
};

enum tw_aside_event {
	TW_ASIDE_NOTHING, /* there is no message now */
	TW_ASIDE_MESSAGE,
	TW_ASIDE_GONE, /* the other end is closed */
};

/*
 * Start a process that calls run() with its end of the socket, and ends with it. It has
 * no other descriptor of this process. tw_aside_close().
 */
int tw_aside_open(void (*run)(int fd, const void *arg), const void *arg,
		  struct tw_aside *out, struct tw_err *err);

/* Send a message to the other end. The descriptors of m stay yours. */
void tw_aside_send(int fd, const struct tw_aside_message *m);

/* Take the next message, without waiting. */
enum tw_aside_event tw_aside_next(int fd, struct tw_aside_message *out);

/* Close the socket, and wait for the process. Only for its parent. */
void tw_aside_close(struct tw_aside *a);

#endif /* TW_COLLECTOR_ASIDE_H */
