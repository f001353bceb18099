/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/web/web_users.h"

#include "lib/core/base64.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <crypt.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

/* Room for "name:password"; bcrypt reads 72 bytes of a password. */
#define PAIR_MAX TW_WEB_USER
#define CACHE_SIZE 64

/* Checked for unknown names, so that the duration does not reveal which names exist. */
static const char dummy_hash[] =
	"$2b$10$7EqJtq98hPqEX7fNZaFWoOa5T2u1b9Fq0cV3lK8Q9u3rQ2j0s8e9W";

struct cached {
	char pair[PAIR_MAX];       /* "name:password"; "": unused */
	enum tw_web_access access; /* CHECKING, ALLOWED or UNKNOWN */
};

struct tw_web_users {
	atomic_uint refs;
	struct tw_strs pairs;
	pthread_mutex_t lock;     /* guards cache and next */
	pthread_mutex_t checking; /* held during a check; guards crypt */
	struct cached cache[CACHE_SIZE];
	size_t next;
	struct crypt_data crypt;
};

int tw_web_users_new(const struct tw_strs *pairs, struct tw_web_users **out,
		     struct tw_err *err)
{
	struct tw_web_users *u = calloc(1, sizeof(*u));

	if (u == NULL)
		return tw_fail(err, TW_NOMEM, "users");
	atomic_init(&u->refs, 1);
	pthread_mutex_init(&u->lock, NULL);
	pthread_mutex_init(&u->checking, NULL);
	if (tw_strs_copy(&u->pairs, pairs, err) < 0) {
		tw_web_users_free(u);
		return -1;
	}
	*out = u;
	return 0;
}

struct tw_web_users *tw_web_users_ref(struct tw_web_users *u)
{
	atomic_fetch_add(&u->refs, 1);
	return u;
}

void tw_web_users_free(struct tw_web_users *u)
{
	if (u == NULL || atomic_fetch_sub(&u->refs, 1) != 1)
		return;
	tw_strs_clear(&u->pairs);
	pthread_mutex_destroy(&u->lock);
	pthread_mutex_destroy(&u->checking);
	explicit_bzero(u->cache, sizeof(u->cache));
	free(u);
}

/* "Basic bmFtZTpwYXNzd29yZA==" gives "name:password". */
static bool read_pair(const char *authorization, char out[PAIR_MAX])
{
	struct tw_err ignored = { 0 };
	char *pair;
	size_t len;
	bool fits;

	if (authorization == NULL || strncasecmp(authorization, "Basic ", 6) != 0)
		return false;
	authorization += 6;
	authorization += strspn(authorization, " ");
	if (tw_base64_read(authorization, strlen(authorization), &pair, &len, &ignored) <
	    0)
		return false;
	fits = len < PAIR_MAX && strlen(pair) == len && strchr(pair, ':') != NULL;
	if (fits)
		memcpy(out, pair, len + 1);
	explicit_bzero(pair, len);
	free(pair);
	return fits;
}

bool tw_web_users_name(const struct tw_web_users *u, const char *authorization,
		       char out[TW_WEB_USER])
{
	if (u->pairs.count == 0 || !read_pair(authorization, out))
		return false;
	*strchr(out, ':') = '\0';
	return true;
}

/* The duration does not depend on where the texts differ. */
static bool same_text(const char *a, const char *b)
{
	const size_t len = strlen(b);
	unsigned char differ = strlen(a) != len;

	for (size_t i = 0; i < len && a[i] != '\0'; i++)
		differ |= (unsigned char)(a[i] ^ b[i]);
	return differ == 0;
}

/* NULL: the pair, which is not "", is not in the cache. The caller has the lock. */
static struct cached *find_cached(struct tw_web_users *u, const char *pair)
{
	struct cached *found = NULL;

	for (size_t i = 0; i < CACHE_SIZE; i++)
		if (same_text(u->cache[i].pair, pair))
			found = &u->cache[i];
	return found;
}

/*
 * Right passwords have half of the cache, so that guesses do not evict them. The caller
 * has the lock.
 */
static void add_to_cache(struct tw_web_users *u, const char *pair,
			 enum tw_web_access access)
{
	struct cached *c = find_cached(u, pair);

	if (c != NULL)
		c->pair[0] = '\0';
	c = &u->cache[(u->next++ % (CACHE_SIZE / 2)) * 2 + (access == TW_WEB_ALLOWED)];
	strcpy(c->pair, pair);
	c->access = access;
}

static bool check_password(struct tw_web_users *u, const char *pair)
{
	const char *password = strchr(pair, ':') + 1;
	const size_t len = (size_t)(password - 1 - pair);
	const char *hash = dummy_hash, *result;
	bool found = false;

	for (size_t i = 0; i + 1 < u->pairs.count; i += 2) {
		if (strlen(u->pairs.at[i]) == len &&
		    memcmp(u->pairs.at[i], pair, len) == 0) {
			hash = u->pairs.at[i + 1];
			found = true;
		}
	}
	result = crypt_r(password, hash, &u->crypt);
	return found && result != NULL && same_text(result, hash);
}

enum tw_web_access tw_web_users_known(struct tw_web_users *u, const char *authorization)
{
	enum tw_web_access access = TW_WEB_UNCHECKED;
	const struct cached *c;
	char pair[PAIR_MAX];

	if (u->pairs.count == 0)
		return TW_WEB_ALLOWED;
	if (!read_pair(authorization, pair))
		return TW_WEB_UNKNOWN;
	pthread_mutex_lock(&u->lock);
	c = find_cached(u, pair);
	if (c != NULL)
		access = c->access;
	else
		add_to_cache(u, pair, TW_WEB_CHECKING);
	pthread_mutex_unlock(&u->lock);
	return access;
}

void tw_web_users_skip(struct tw_web_users *u, const char *authorization)
{
	struct cached *c;
	char pair[PAIR_MAX];

	if (!read_pair(authorization, pair))
		return;
	pthread_mutex_lock(&u->lock);
	c = find_cached(u, pair);
	if (c != NULL && c->access == TW_WEB_CHECKING)
		c->pair[0] = '\0';
	pthread_mutex_unlock(&u->lock);
}

/* The caller has u->checking. */
static enum tw_web_access check_pair(struct tw_web_users *u, const char *pair)
{
	const struct cached *c;
	enum tw_web_access access;

	pthread_mutex_lock(&u->lock);
	c = find_cached(u, pair);
	access = c != NULL ? c->access : TW_WEB_CHECKING;
	pthread_mutex_unlock(&u->lock);
	if (access != TW_WEB_CHECKING)
		return access;
	access = check_password(u, pair) ? TW_WEB_ALLOWED : TW_WEB_UNKNOWN;
	pthread_mutex_lock(&u->lock);
	add_to_cache(u, pair, access);
	pthread_mutex_unlock(&u->lock);
	return access;
}

enum tw_web_access tw_web_users_check(struct tw_web_users *u, const char *authorization)
{
	enum tw_web_access access;
	char pair[PAIR_MAX];

	if (u->pairs.count == 0)
		return TW_WEB_ALLOWED;
	if (!read_pair(authorization, pair))
		return TW_WEB_UNKNOWN;
	pthread_mutex_lock(&u->checking);
	access = check_pair(u, pair);
	pthread_mutex_unlock(&u->checking);
	return access;
}

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
