/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/web/web_guesses.h"

#include "lib/core/err.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/*
 * A token bucket, kept as the time at which it will be full: an interval in the future
 * for each token that was taken.
 */
struct bucket {
	uint64_t full_ms;
};

/* An IPv4 address, or the network of an IPv6 address; all zero: unknown. */
struct key {
	uint8_t bytes[8];
};

struct guesser {
	struct key key;
	struct bucket bucket;
	uint64_t last_ms; /* 0: unused */
};

struct tw_web_guesses {
	pthread_mutex_t lock; /* guards the members below */
	struct bucket all;
	struct guesser guesser[TW_GUESSES_ADDRESSES];
};

int tw_web_guesses_new(struct tw_web_guesses **out, struct tw_err *err)
{
	struct tw_web_guesses *g = calloc(1, sizeof(*g));

	if (g == NULL)
		return tw_fail(err, TW_NOMEM, "addresses of clients");
	pthread_mutex_init(&g->lock, NULL);
	*out = g;
	return 0;
}

void tw_web_guesses_free(struct tw_web_guesses *g)
{
	if (g == NULL)
		return;
	pthread_mutex_destroy(&g->lock);
	free(g);
}

static struct key key_of(const struct sockaddr *address)
{
	const struct sockaddr_in6 *v6 = (const void *)address;
	const struct sockaddr_in *v4 = (const void *)address;
	struct key k = { { 0 } };

	if (address == NULL)
		return k;
	if (address->sa_family == AF_INET) {
		k.bytes[3] = 4;
		memcpy(k.bytes + 4, &v4->sin_addr, 4);
	} else if (address->sa_family == AF_INET6) {
		/* An IPv4 client of a socket for both. */
		if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
			k.bytes[3] = 4;
			memcpy(k.bytes + 4, v6->sin6_addr.s6_addr + 12, 4);
		} else {
			memcpy(k.bytes, v6->sin6_addr.s6_addr, sizeof(k.bytes));
		}
	}
	return k;
}

/* The address's entry, or the one to use for it. */
static struct guesser *find(struct tw_web_guesses *g, const struct key *k)
{
	struct guesser *oldest = &g->guesser[0];

	for (size_t i = 0; i < TW_GUESSES_ADDRESSES; i++) {
		struct guesser *e = &g->guesser[i];

		if (e->last_ms != 0 && memcmp(&e->key, k, sizeof(*k)) == 0)
			return e;
		if (e->last_ms < oldest->last_ms)
			oldest = e;
	}
	*oldest = (struct guesser){ .key = *k };
	return oldest;
}

/* Time until the bucket has a token; 0: now. */
static uint64_t wait_of(const struct bucket *b, uint64_t burst, uint64_t interval_ms,
			uint64_t now_ms)
{
	const uint64_t most = now_ms + (burst - 1) * interval_ms;

	return b->full_ms > most ? b->full_ms - most : 0;
}

static void take(struct bucket *b, uint64_t interval_ms, uint64_t now_ms)
{
	b->full_ms = (b->full_ms > now_ms ? b->full_ms : now_ms) + interval_ms;
}

static void give_back(struct bucket *b, uint64_t interval_ms)
{
	b->full_ms = b->full_ms > interval_ms ? b->full_ms - interval_ms : 0;
}

bool tw_web_guesses_take(struct tw_web_guesses *g, const struct sockaddr *address,
			 uint64_t now_ms, uint64_t *wait_ms)
{
	const struct key k = key_of(address);
	uint64_t own, all;
	struct guesser *e;

	pthread_mutex_lock(&g->lock);
	e = find(g, &k);
	e->last_ms = now_ms + 1; /* never 0 */
	own = wait_of(&e->bucket, TW_GUESSES_BURST, TW_GUESSES_INTERVAL_MS, now_ms);
	all = wait_of(&g->all, TW_GUESSES_ALL_BURST, TW_GUESSES_ALL_INTERVAL_MS, now_ms);
	if (own == 0 && all == 0) {
		take(&e->bucket, TW_GUESSES_INTERVAL_MS, now_ms);
		take(&g->all, TW_GUESSES_ALL_INTERVAL_MS, now_ms);
	}
	pthread_mutex_unlock(&g->lock);
	*wait_ms = own > all ? own : all;
	return *wait_ms == 0;
}

void tw_web_guesses_give_back(struct tw_web_guesses *g, const struct sockaddr *address)
{
	const struct key k = key_of(address);

	pthread_mutex_lock(&g->lock);
	give_back(&find(g, &k)->bucket, TW_GUESSES_INTERVAL_MS);
	give_back(&g->all, TW_GUESSES_ALL_INTERVAL_MS);
	pthread_mutex_unlock(&g->lock);
}
