/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ASIDE_H
#define TW_COLLECTOR_ASIDE_H

/*
 * A process beside this one, with other rights: the runner of a command, the connector to
 * sockets, the finder of models, the keeper of powercap trees. A socket between the two
 * carries messages and open files.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct tw_err;

/* The process, as its parent and the parent's children have it. All zero bytes: none. */
struct tw_aside {
	int fd; /* SOCK_SEQPACKET; readable when there is a message */
	pid_t pid;
};

/* The most files of a message. */
#define TW_ASIDE_FILES 2

enum tw_aside_event {
	TW_ASIDE_NOTHING, /* there is no message now */
	TW_ASIDE_MESSAGE,
	TW_ASIDE_GONE, /* the other end is closed */
};

/*
 * Start a process that calls run() with its end of the socket, and ends with it. It has
 * no other file of this process but standard error. tw_aside_close().
 */
int tw_aside_open(void (*run)(int fd, const void *arg), const void *arg,
		  struct tw_aside *out, struct tw_err *err);

/*
 * Send a message to the other end. files: up to the first -1, or NULL; they stay yours.
 * False: it was not sent.
 */
bool tw_aside_send(int fd, const void *data, size_t len, const int files[TW_ASIDE_FILES]);

/*
 * Take the next message, without waiting. One of another length is skipped. Its files are
 * yours; -1: none.
 */
enum tw_aside_event tw_aside_next(int fd, void *data, size_t len,
				  int files[TW_ASIDE_FILES]);

/* Close the socket, and wait for the process. Only for its parent. */
void tw_aside_close(struct tw_aside *a);

#endif /* TW_COLLECTOR_ASIDE_H */
