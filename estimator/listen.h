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
	char *path; /* owned; NULL: the file is somebody else's */
	dev_t dev;  /* of the socket file that is ours */
	ino_t ino;
};

/* Who may use a socket's file. -1: as it comes. */
struct tw_listener_rights {
	mode_t mode;
	uid_t user;
	gid_t group;
};

/*
 * A listening Unix stream socket that is open already; fd is taken, even on failure.
 * Its file is left alone.
 */
int tw_listener_adopt(int fd, struct tw_listener *out, struct tw_err *err);

/*
 * Bind, set owner and mode, listen. A socket that an earlier program left is replaced;
 * one on which somebody answers is not, nor is anything else that is no socket. *out is
 * yours: tw_listener_close().
 */
int tw_listener_open(const char *path, const struct tw_listener_rights *rights,
		     struct tw_listener *out, struct tw_err *err);

/* Close, and remove the path if it is still ours. */
void tw_listener_close(struct tw_listener *l);

#endif /* TW_ESTIMATOR_LISTEN_H */
