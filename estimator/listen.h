/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_LISTEN_H
#define TW_ESTIMATOR_LISTEN_H

/*
 * A listening Unix socket at a path.
 */

#include <stddef.h>
#include <sys/types.h>

struct tw_err;

struct tw_listener {
	int fd;     /* -1: none */
	char *path; /* owned */
	dev_t dev;  /* of the socket file that is ours */
	ino_t ino;
};

/*
 * Bind, set the mode, listen. A socket that an earlier program left is replaced; one
 * on which somebody answers is not, nor is anything else that is no socket. *out is
 * yours: tw_listener_close().
 */
int tw_listener_open(const char *path, mode_t mode, struct tw_listener *out,
		     struct tw_err *err);

/* Close, and remove the path if it is still ours. */
void tw_listener_close(struct tw_listener *l);

#endif /* TW_ESTIMATOR_LISTEN_H */
