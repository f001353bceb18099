/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/server/httpd_guard.h"

#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/hash.h"

#include <limits.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

/* Interval of the guard's thread. */
#define INTERVAL_MS 1000

/* No deadline. */
#define NEVER_MS UINT64_MAX

/* Counters of connections, by a hash of the address. */
#define PLACES 4096

/*
 * States in the order in which connections are closed to make room; AT_WORK is never
 * closed.
 */
enum state { WAITING, RECEIVING, ANSWERING, AT_WORK };

struct tw_guarded {
	int fd;
	void *owner;
	uint64_t answer_ms, head_ms;
	size_t place;           /* of its address */
	bool ended;             /* for others; the lock guards it */
	atomic_int state;       /* enum state */
	atomic_ullong since_ms; /* of the state */
	atomic_ullong until_ms; /* deadline, or NEVER_MS */
	size_t uncounted;       /* bytes of the body that are less than a KiB */
	struct tw_guarded *before, *after;
};

struct tw_guard {
	pthread_mutex_t lock; /* guards the list and stop */
	pthread_cond_t stopped;
	struct tw_guarded *first;
	bool stop;
	uint64_t answer_ms;
	size_t max, count, of_place[PLACES]; /* without those that have ended */
	bool has_thread;
	pthread_t thread;
};

/* The server's threads then read an end of file and close the connection. */
static void shut_down_late(struct tw_guard *g)
{
	const uint64_t now = tw_now_ms();

	for (struct tw_guarded *c = g->first; c != NULL; c = c->after)
		if (now > atomic_load_explicit(&c->until_ms, memory_order_relaxed))
			shutdown(c->fd, SHUT_RDWR);
}

static void *run(void *arg)
{
	struct tw_guard *g = arg;

	pthread_mutex_lock(&g->lock);
	while (!g->stop) {
		struct timespec until;

		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec += INTERVAL_MS / 1000;
		pthread_cond_timedwait(&g->stopped, &g->lock, &until);
		shut_down_late(g);
	}
	pthread_mutex_unlock(&g->lock);
	return NULL;
}

void tw_guard_end_late(struct tw_guard *g)
{
	pthread_mutex_lock(&g->lock);
	shut_down_late(g);
	pthread_mutex_unlock(&g->lock);
}

/* A late connection is already shut down, but may need a while to close. */
static uint64_t wait_for(const struct tw_guarded *c, uint64_t now)
{
	const uint64_t until = atomic_load_explicit(&c->until_ms, memory_order_relaxed);

	if (until == NEVER_MS)
		return NEVER_MS;
	return until >= now ? until - now + 1 : INTERVAL_MS;
}

int tw_guard_wait_ms(struct tw_guard *g)
{
	const uint64_t now = tw_now_ms();
	uint64_t least = NEVER_MS;

	pthread_mutex_lock(&g->lock);
	for (const struct tw_guarded *c = g->first; c != NULL; c = c->after) {
		const uint64_t wait = wait_for(c, now);

		least = wait < least ? wait : least;
	}
	pthread_mutex_unlock(&g->lock);
	if (least == NEVER_MS)
		return -1;
	return least < INT_MAX ? (int)least : INT_MAX;
}

int tw_guard_open(bool thread, uint64_t answer_ms, size_t max, struct tw_guard **out,
		  struct tw_err *err)
{
	struct tw_guard *g = calloc(1, sizeof(*g));
	int e;

	if (g == NULL)
		return tw_fail(err, TW_NOMEM, "deadlines of connections");
	pthread_mutex_init(&g->lock, NULL);
	tw_cond_init(&g->stopped);
	g->answer_ms = answer_ms != 0 ? answer_ms : TW_GUARD_ANSWER_MS;
	g->max = max;
	g->has_thread = thread;
	e = thread ? pthread_create(&g->thread, NULL, run, g) : 0;
	if (e != 0) {
		pthread_cond_destroy(&g->stopped);
		pthread_mutex_destroy(&g->lock);
		free(g);
		return tw_fail_errno(err, e, "cannot start a thread");
	}
	*out = g;
	return 0;
}

void tw_guard_close(struct tw_guard *g)
{
	if (g == NULL)
		return;
	pthread_mutex_lock(&g->lock);
	g->stop = true;
	pthread_cond_signal(&g->stopped);
	pthread_mutex_unlock(&g->lock);
	if (g->has_thread)
		pthread_join(g->thread, NULL);
	pthread_cond_destroy(&g->stopped);
	pthread_mutex_destroy(&g->lock);
	free(g);
}

static void enter(struct tw_guarded *c, enum state state, uint64_t until_ms)
{
	atomic_store_explicit(&c->since_ms, tw_now_ms(), memory_order_relaxed);
	atomic_store_explicit(&c->state, state, memory_order_relaxed);
	atomic_store_explicit(&c->until_ms, until_ms, memory_order_relaxed);
}

/* ---- room; the caller has the lock ---- */

/* An IPv6 address stands for its network of 64 bits, which is one client's. */
static size_t place_of(int fd)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);

	if (getpeername(fd, (struct sockaddr *)&a, &len) < 0)
		return 0;
	if (a.ss_family == AF_INET)
		return tw_hash(&((const struct sockaddr_in *)&a)->sin_addr, 4) % PLACES;
	if (a.ss_family == AF_INET6) {
		const struct in6_addr *in = &((const struct sockaddr_in6 *)&a)->sin6_addr;

		return IN6_IS_ADDR_V4MAPPED(in) ? tw_hash(in->s6_addr + 12, 4) % PLACES
						: tw_hash(in->s6_addr, 8) % PLACES;
	}
	return 0;
}

/* Whether a connection should end before another one. */
static bool ends_before(const struct tw_guard *g, const struct tw_guarded *a,
			const struct tw_guarded *b)
{
	const size_t of_a = g->of_place[a->place], of_b = g->of_place[b->place];
	const int state_a = atomic_load_explicit(&a->state, memory_order_relaxed);
	const int state_b = atomic_load_explicit(&b->state, memory_order_relaxed);

	if (of_a != of_b)
		return of_a > of_b;
	if (state_a != state_b)
		return state_a < state_b;
	/* The list has the newest first. */
	return atomic_load_explicit(&a->since_ms, memory_order_relaxed) <=
	       atomic_load_explicit(&b->since_ms, memory_order_relaxed);
}

static struct tw_guarded *find_idlest(const struct tw_guard *g, const size_t *place)
{
	struct tw_guarded *found = NULL;

	for (struct tw_guarded *c = g->first; c != NULL; c = c->after)
		if (!c->ended &&
		    atomic_load_explicit(&c->state, memory_order_relaxed) < AT_WORK &&
		    (place == NULL || c->place == *place) &&
		    (found == NULL || ends_before(g, c, found)))
			found = c;
	return found;
}

static void uncount(struct tw_guard *g, const struct tw_guarded *c)
{
	g->count--;
	g->of_place[c->place]--;
}

static void end_now(struct tw_guard *g, struct tw_guarded *c)
{
	uncount(g, c);
	c->ended = true;
	shutdown(c->fd, SHUT_RDWR);
}

/* Before c is in the list: end another connection, or c. */
static void make_room(struct tw_guard *g, struct tw_guarded *c)
{
	const bool crowded = g->of_place[c->place] > g->max - g->max / 4;
	struct tw_guarded *other = NULL;

	if (g->max == 0 || (!crowded && g->count <= g->max))
		return;
	other = find_idlest(g, crowded ? &c->place : NULL);
	if (other != NULL || crowded)
		end_now(g, other != NULL ? other : c);
}

struct tw_guarded *tw_guard_add(struct tw_guard *g, int fd, void *owner)
{
	struct tw_guarded *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->fd = fd;
	c->owner = owner;
	c->answer_ms = g->answer_ms;
	c->place = place_of(fd);
	pthread_mutex_lock(&g->lock);
	g->count++;
	c->head_ms = ++g->of_place[c->place] > g->max / 4 && g->max != 0
			     ? TW_GUARD_CROWD_MS
			     : TW_GUARD_HEAD_MS;
	atomic_init(&c->state, WAITING);
	atomic_init(&c->since_ms, tw_now_ms());
	atomic_init(&c->until_ms, tw_now_ms() + c->head_ms);
	make_room(g, c);
	c->after = g->first;
	if (c->after != NULL)
		c->after->before = c;
	g->first = c;
	pthread_mutex_unlock(&g->lock);
	return c;
}

void *tw_guard_owner(const struct tw_guarded *c)
{
	return c->owner;
}

void tw_guard_drop(struct tw_guard *g, struct tw_guarded *c)
{
	if (c == NULL)
		return;
	pthread_mutex_lock(&g->lock);
	if (!c->ended)
		uncount(g, c);
	if (c->before != NULL)
		c->before->after = c->after;
	else
		g->first = c->after;
	if (c->after != NULL)
		c->after->before = c->before;
	pthread_mutex_unlock(&g->lock);
	free(c);
}

void tw_guard_waiting(struct tw_guarded *c)
{
	if (c != NULL)
		enter(c, WAITING, tw_now_ms() + c->head_ms);
}

void tw_guard_receiving(struct tw_guarded *c)
{
	if (c == NULL)
		return;
	enter(c, RECEIVING, tw_now_ms() + TW_GUARD_HEAD_MS);
	c->uncounted = 0;
}

/*
 * A client that sends 16 KiB/s or more never reaches the deadline, however small the
 * pieces are in which its bytes arrive.
 */
void tw_guard_received(struct tw_guarded *c, size_t bytes)
{
	size_t kib;

	if (c == NULL)
		return;
	kib = bytes / 1024;
	c->uncounted += bytes % 1024;
	kib += c->uncounted / 1024;
	c->uncounted %= 1024;
	atomic_fetch_add_explicit(&c->until_ms, kib * TW_GUARD_MS_PER_KIB,
				  memory_order_relaxed);
}

void tw_guard_working(struct tw_guarded *c)
{
	if (c != NULL)
		enter(c, AT_WORK, NEVER_MS);
}

void tw_guard_answering(struct tw_guarded *c)
{
	if (c != NULL)
		enter(c, ANSWERING, tw_now_ms() + c->answer_ms);
}
