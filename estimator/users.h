/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_USERS_H
#define TW_ESTIMATOR_USERS_H

/*
 * Users and groups by name or number, and the user of the process at the other end of a
 * Unix socket.
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

#endif /* TW_ESTIMATOR_USERS_H */
