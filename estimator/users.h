/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_USERS_H
#define TW_ESTIMATOR_USERS_H

/*
 * Users and groups by name or number, and who is at the other end of a socket.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct tw_err;
struct tw_strs;

/* All zero bytes: nobody is listed. */
struct tw_users {
	uid_t *id; /* owned */
	size_t count;
};

/* *out must be all zero; it is yours, on failure too: tw_users_release(). */
int tw_users_read(const struct tw_strs *names, struct tw_users *out, struct tw_err *err);
void tw_users_release(struct tw_users *u);

/* "USER", "USER:GROUP" or ":GROUP"; what is not given is -1. */
int tw_owner_read(const char *text, uid_t *user, gid_t *group, struct tw_err *err);

/*
 * Whether the process that connected the Unix socket is one of the users', or root's.
 * TW_DENIED if not; the reason names its user and process.
 */
int tw_users_check_peer(const struct tw_users *u, int fd, struct tw_err *err);

#endif /* TW_ESTIMATOR_USERS_H */
