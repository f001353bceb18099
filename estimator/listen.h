/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_LISTEN_H
#define TW_ESTIMATOR_LISTEN_H

/*
 * Listening Unix stream sockets, by path or passed by systemd, and who may connect: users
 * and groups by name or number, and the user of the process at the other end.
 */

#include <stddef.h>
#include <sys/types.h>

struct tw_err;
struct tw_strs;

/* All zero bytes is an empty list. */
struct tw_users {
	uid_t *id; /* owned */
	size_t count;
};

/* Look names up. *out must be all zero; release it, on failure too. */
int tw_users_read(const struct tw_strs *names, struct tw_users *out, struct tw_err *err);
void tw_users_release(struct tw_users *u);

/* Parse "USER", "USER:GROUP" or ":GROUP". An absent half is -1. */
int tw_owner_read(const char *text, uid_t *user, gid_t *group, struct tw_err *err);

/*
 * Check that the process that connected the Unix socket fd belongs to a listed user or to
 * root. Otherwise TW_DENIED; the error names its user and process.
 */
int tw_users_check_peer(const struct tw_users *u, int fd, struct tw_err *err);

/* The user of the process that connected; (uid_t)-1: not known. */
uid_t tw_users_peer(int fd);

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
