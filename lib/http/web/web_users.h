/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WEB_USERS_H
#define TW_WEB_USERS_H

/*
 * Users and passwords of HTTP basic authentication (RFC 7617), with bcrypt hashes. One
 * check takes about 0.1 s of CPU time, by design of bcrypt. So results are cached, and
 * one password is checked at a time. Thread-safe.
 */

#include <stdbool.h>
#include <stdint.h>

struct tw_err;
struct tw_strs;
struct tw_web_guesses;
struct tw_web_users;

/* Room for a user's name. */
#define TW_WEB_USER 512

enum tw_web_access {
	TW_WEB_ALLOWED,
	TW_WEB_UNKNOWN,   /* 401 */
	TW_WEB_UNCHECKED, /* the password must be checked */
	TW_WEB_CHECKING,  /* the same, and a check of it has begun */
	TW_WEB_LIMITED,   /* 429: too many wrong passwords */
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

/*
 * Answer from the cache, at once. authorization: the request's header, or NULL. After
 * TW_WEB_UNCHECKED, call tw_web_users_check() or tw_web_users_skip().
 */
enum tw_web_access tw_web_users_known(struct tw_web_users *u, const char *authorization);

/* The name of an allowed request's user. False: there are no users. */
bool tw_web_users_name(const struct tw_web_users *u, const char *authorization,
		       char out[TW_WEB_USER]);

/* The password will not be checked now. */
void tw_web_users_skip(struct tw_web_users *u, const char *authorization);

/* Check the password, unless the cache has it: TW_WEB_ALLOWED or TW_WEB_UNKNOWN. */
enum tw_web_access tw_web_users_check(struct tw_web_users *u, const char *authorization);

/* ---- wrong passwords ---- */

/*
 * A limit on passwords to check, by the client's address and in all, as token buckets. A
 * token is taken before a check, and given back if the password is right, so only wrong
 * passwords count. An IPv6 client is its /64 network. The table has a fixed size; if it
 * is full, the address that has guessed least recently is forgotten. Thread-safe.
 */

struct sockaddr;

/* Wrong passwords at once, and the time for each further one. */
#define TW_GUESSES_BURST 10
#define TW_GUESSES_INTERVAL_MS 6000
/* The same for all addresses together. */
#define TW_GUESSES_ALL_BURST 20
#define TW_GUESSES_ALL_INTERVAL_MS 500

/* Addresses in the table. */
#define TW_GUESSES_ADDRESSES 1024

/* *out is yours: tw_web_guesses_free(). */
int tw_web_guesses_new(struct tw_web_guesses **out, struct tw_err *err);
void tw_web_guesses_free(struct tw_web_guesses *g); /* NULL is fine */

/*
 * Take a token for a check. address may be NULL, which is one address more. False: none
 * is left; *wait_ms is the time until there is one.
 */
bool tw_web_guesses_take(struct tw_web_guesses *g, const struct sockaddr *address,
			 uint64_t now_ms, uint64_t *wait_ms);

/* The password was right. */
void tw_web_guesses_give_back(struct tw_web_guesses *g, const struct sockaddr *address);

#endif /* TW_WEB_USERS_H */
