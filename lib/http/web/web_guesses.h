/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WEB_GUESSES_H
#define TW_WEB_GUESSES_H

/*
 * A limit on passwords to check, by the client's address and in all, as token buckets. A
 * token is taken before a check, and given back if the password is right, so only wrong
 * passwords count. An IPv6 client is its /64 network. The table has a fixed size; if it
 * is full, the address that has guessed least recently is forgotten. Thread-safe.
 */

#include <stdbool.h>
#include <stdint.h>

struct sockaddr;
struct tw_err;
struct tw_web_guesses;

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

#endif /* TW_WEB_GUESSES_H */
