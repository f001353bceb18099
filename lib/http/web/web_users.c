/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/web/web_users.h"

#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <crypt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

static int digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *p = c != '\0' ? strchr(digits, c) : NULL;

	return p != NULL ? (int)(p - digits) : -1;
}

/* Decode base64 (RFC 4648, section 4). False if it is malformed, has a NUL or is too
 * long.
 */
static bool decode(const char *s, char out[PAIR_MAX])
{
	uint32_t bits = 0;
	size_t have = 0, n = 0;

	for (; digit(*s) >= 0; s++) {
		bits = bits << 6 | (uint32_t)digit(*s);
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		if (n + 1 == PAIR_MAX)
			return false;
		out[n] = (char)(bits >> have & 0xff);
		if (out[n++] == '\0')
			return false;
	}
	out[n] = '\0';
	return s[strspn(s, "=")] == '\0';
}

/* "Basic bmFtZTpwYXNzd29yZA==" gives "name:password". */
static bool read_pair(const char *authorization, char out[PAIR_MAX])
{
	if (authorization == NULL || strncasecmp(authorization, "Basic ", 6) != 0)
		return false;
	authorization += 6;
	authorization += strspn(authorization, " ");
	return decode(authorization, out) && strchr(out, ':') != NULL;
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
