/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WEB_USERS_H
#define TW_WEB_USERS_H

/*
 * Users and passwords of HTTP basic authentication (RFC 7617), with bcrypt hashes. One
 * check takes about 0.1 s of CPU time, by design of bcrypt. So results are cached, and
 * one password is checked at a time. Thread-safe.
 */

struct tw_err;
struct tw_strs;
struct tw_web_users;

enum tw_web_access {
	TW_WEB_ALLOWED,
	TW_WEB_UNKNOWN, /* 401 */
	TW_WEB_BUSY,    /* 503: another password is being checked */
};

/*
 * pairs: name, hash, name, ..; they are copied. Without users every request is allowed.
 * *out is yours: tw_web_users_free().
 */
int tw_web_users_new(const struct tw_strs *pairs, struct tw_web_users **out,
		     struct tw_err *err);

/* Add a reference; tw_web_users_free() drops one. Returns u. */
struct tw_web_users *tw_web_users_ref(struct tw_web_users *u);
void tw_web_users_free(struct tw_web_users *u); /* NULL is fine */

/* authorization: the request's header, or NULL. */
enum tw_web_access tw_web_users_check(struct tw_web_users *u, const char *authorization);

#endif /* TW_WEB_USERS_H */
