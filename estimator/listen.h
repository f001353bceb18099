/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_LISTEN_H
#define TW_ESTIMATOR_LISTEN_H

/*
 * Listening Unix stream sockets, by path or passed by systemd.
 */

#include <sys/types.h>

struct tw_err;

struct tw_listener {
	int fd;     /* -1: none */
	char *path; /* owned; NULL: the socket was passed, and its file is left alone */
	dev_t dev;  /* identity of the socket file that was made */
	ino_t ino;
};

/* Mode and owner of a socket file. -1: leave the owner or group as it is. */
struct tw_listener_rights {
	mode_t mode;
	uid_t user;
	gid_t group;
};

/*
 * Take over an open listening Unix stream socket. fd is taken, even on failure; its file
 * is left alone.
 */
int tw_listener_adopt(int fd, struct tw_listener *out, struct tw_err *err);

/* Whether a socket may have this path. */
int tw_listener_check(const char *path, struct tw_err *err);

/*
 * Bind a path, set owner and mode, listen. A stale socket file is replaced. A socket on
 * which another program answers, or a file that is no socket, is an error. Close *out
 * with tw_listener_close().
 */
int tw_listener_open(const char *path, const struct tw_listener_rights *rights,
		     struct tw_listener *out, struct tw_err *err);

/* Close the socket, and remove its file unless another program has replaced it. */
void tw_listener_close(struct tw_listener *l);

#endif /* TW_ESTIMATOR_LISTEN_H */
