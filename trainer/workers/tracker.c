/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/workers/tracker.h"

#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/num.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAGIC 0xff99
#define TEXT_MAX 256
/* The command of tw_tracker_join(). The other commands are XGBoost's. */
#define HERE "here"
/* Time for one message of a peer, s. */
#define PATIENCE_S 10
/* A worker reports the peers that it could not reach, and tries again. */
#define TRIES 10

struct peer {
	int fd;   /* while it is linked; -1: not here */
	int here; /* of tw_tracker_join(); -1: not here, or complete */
	bool came, linked;
	char address[INET_ADDRSTRLEN];
	int32_t port; /* on which it accepts other workers */
};

struct tw_tracker {
	int listener;
	pthread_t thread;
	unsigned workers, wait_s;
	struct peer *peer;
	struct pollfd *poll; /* of the listener and the workers */
	atomic_bool stop;    /* the owner waits for the thread */
	atomic_uint left;    /* workers that have left */
	pthread_mutex_t lock;
	char failure[TW_ERR_TEXT];
};

/* ---- messages: 32-bit integers in the order of this machine, texts with a length ----
 */

static bool get(int fd, void *v, size_t bytes)
{
	return recv(fd, v, bytes, MSG_WAITALL) == (ssize_t)bytes;
}

static bool get_int(int fd, int32_t *v)
{
	return get(fd, v, sizeof(*v));
}

static bool get_text(int fd, char out[TEXT_MAX])
{
	int32_t len;

	if (!get_int(fd, &len) || len < 0 || len >= TEXT_MAX ||
	    !get(fd, out, (size_t)len))
		return false;
	out[len] = '\0';
	return true;
}

static bool put(int fd, const void *v, size_t bytes)
{
	return send(fd, v, bytes, MSG_NOSIGNAL) == (ssize_t)bytes;
}

static bool put_int(int fd, int32_t v)
{
	return put(fd, &v, sizeof(v));
}

static bool put_text(int fd, const char *text)
{
	const size_t len = strlen(text);

	return put_int(fd, (int32_t)len) && put(fd, text, len);
}

/* ---- links: a binary tree and a ring of ranks ---- */

static int32_t parent_of(unsigned rank)
{
	return rank == 0 ? -1 : (int32_t)(rank - 1) / 2;
}

static bool in_tree(unsigned a, unsigned b)
{
	return parent_of(a) == (int32_t)b || parent_of(b) == (int32_t)a;
}

static bool are_linked(const struct tw_tracker *t, unsigned a, unsigned b)
{
	return a != b &&
	       (in_tree(a, b) || (a + 1) % t->workers == b || (b + 1) % t->workers == a);
}

/* Tell a worker its place in the tree and in the ring. */
static bool put_place(const struct tw_tracker *t, unsigned rank)
{
	const int fd = t->peer[rank].fd;
	int32_t neighbours = 0;
	bool good;

	for (unsigned i = 0; i < t->workers; i++)
		neighbours += i != rank && in_tree(rank, i);
	good = put_int(fd, (int32_t)rank) && put_int(fd, parent_of(rank)) &&
	       put_int(fd, (int32_t)t->workers) && put_int(fd, neighbours);
	for (unsigned i = 0; i < t->workers; i++)
		if (i != rank && in_tree(rank, i))
			good = good && put_int(fd, (int32_t)i);
	return good && put_int(fd, (int32_t)((rank + t->workers - 1) % t->workers)) &&
	       put_int(fd, (int32_t)((rank + 1) % t->workers));
}

/*
 * Have a worker connect to those of lower rank, which already listen, and await those of
 * higher rank.
 */
static bool connect_once(const struct tw_tracker *t, unsigned rank, int32_t *failed)
{
	const int fd = t->peer[rank].fd;
	int32_t good, lower = 0, higher = 0, unused;
	bool sent;

	/* Links that it has already: none, as workers do not rejoin. */
	if (!get_int(fd, &good) || good < 0 || good > (int32_t)t->workers)
		return false;
	for (int32_t i = 0; i < good; i++)
		if (!get_int(fd, &unused))
			return false;
	for (unsigned i = 0; i < t->workers; i++) {
		lower += i < rank && are_linked(t, rank, i);
		higher += i > rank && are_linked(t, rank, i);
	}
	sent = put_int(fd, lower) && put_int(fd, higher);
	for (unsigned i = 0; i < rank; i++)
		if (are_linked(t, rank, i))
			sent = sent && put_text(fd, t->peer[i].address) &&
			       put_int(fd, t->peer[i].port) && put_int(fd, (int32_t)i);
	return sent && get_int(fd, failed);
}

static bool link_worker(struct tw_tracker *t, unsigned rank)
{
	int32_t failed = 1;

	if (!put_place(t, rank))
		return false;
	for (int i = 0; i < TRIES && failed != 0; i++)
		if (!connect_once(t, rank, &failed))
			return false;
	return failed == 0 && get_int(t->peer[rank].fd, &t->peer[rank].port);
}

/* ---- the thread ---- */

/* "2 of 3 workers <what>" */
static void fail(struct tw_tracker *t, unsigned count, const char *what)
{
	pthread_mutex_lock(&t->lock);
	snprintf(t->failure, sizeof(t->failure), "%u of %u workers %s", count, t->workers,
		 what);
	pthread_mutex_unlock(&t->lock);
}

/* Have a machine that vanished end the connection after two minutes. */
static void keep_alive(int fd)
{
	const int on = 1, idle_s = 60, interval_s = 10, probes = 6;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
}

/* A worker is here. False: the rank is taken. */
static bool come(struct peer *p, int fd)
{
	if (p->came || !put(fd, "", 1))
		return false;
	keep_alive(fd);
	p->here = fd;
	p->came = true;
	return true;
}

/* A worker that is here waits for its links. */
static bool await_links(struct peer *p, int fd, const struct sockaddr_in *from)
{
	if (!p->came || p->fd >= 0)
		return false;
	inet_ntop(AF_INET, &from->sin_addr, p->address, sizeof(p->address));
	p->fd = fd;
	return true;
}

/* Serve one connection. True: it stays open. */
static bool serve(struct tw_tracker *t, int fd, const struct sockaddr_in *from)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	char task[TEXT_MAX], command[TEXT_MAX];
	int32_t magic, unused, world;
	uint64_t rank;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (!get_int(fd, &magic) || magic != MAGIC || !put_int(fd, MAGIC) ||
	    !get_int(fd, &unused) || !get_int(fd, &world) || !get_text(fd, task) ||
	    !get_text(fd, command) || !tw_parse_u64(task, strlen(task), &rank) ||
	    rank >= t->workers)
		return false;
	if (strcmp(command, "shutdown") == 0)
		atomic_fetch_add(&t->left, 1);
	if (strcmp(command, HERE) == 0)
		return come(&t->peer[rank], fd);
	return strcmp(command, "start") == 0 && await_links(&t->peer[rank], fd, from);
}

static void accept_one(struct tw_tracker *t)
{
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	int fd = accept4(t->listener, (struct sockaddr *)&from, &len, SOCK_CLOEXEC);

	if (fd >= 0 && !serve(t, fd, &from))
		close(fd);
}

/* A worker is linked, complete, or has ended. False: ended. */
static bool hear(struct peer *p)
{
	char byte;
	const bool ended = recv(p->here, &byte, 1, 0) != 1;

	if (!ended && !p->linked) {
		p->linked = true;
		return true;
	}
	close(p->here);
	p->here = -1;
	return !ended;
}

/* Wait a little for connections, and for news of workers. False: one has ended. */
static bool turn(struct tw_tracker *t)
{
	bool good = true;
	nfds_t count = 1;

	t->poll[0] = (struct pollfd){ .fd = t->listener, .events = POLLIN };
	for (unsigned i = 0; i < t->workers; i++)
		t->poll[count++] =
			(struct pollfd){ .fd = t->peer[i].here, .events = POLLIN };
	if (poll(t->poll, count, 100) <= 0)
		return true;
	for (unsigned i = 0; i < t->workers; i++)
		if (t->poll[1 + i].revents != 0 && !hear(&t->peer[i]))
			good = false;
	if (t->poll[0].revents != 0)
		accept_one(t);
	return good;
}

static void hang_up(struct tw_tracker *t)
{
	for (unsigned i = 0; i < t->workers; i++) {
		if (t->peer[i].fd >= 0)
			close(t->peer[i].fd);
		t->peer[i].fd = -1;
	}
}

/* End the wait of all workers. */
static void dismiss(struct tw_tracker *t)
{
	hang_up(t);
	for (unsigned i = 0; i < t->workers; i++) {
		if (t->peer[i].here >= 0)
			close(t->peer[i].here);
		t->peer[i].here = -1;
	}
}

static unsigned count_waiting(const struct tw_tracker *t)
{
	unsigned count = 0;

	for (unsigned i = 0; i < t->workers; i++)
		count += t->peer[i].fd >= 0;
	return count;
}

static unsigned count_linked(const struct tw_tracker *t)
{
	unsigned count = 0;

	for (unsigned i = 0; i < t->workers; i++)
		count += t->peer[i].linked;
	return count;
}

static bool await_workers(struct tw_tracker *t)
{
	const uint64_t until_ms = tw_now_ms() + 1000 * (uint64_t)t->wait_s;

	while (count_waiting(t) < t->workers) {
		if (atomic_load(&t->stop))
			return false;
		if (!turn(t)) {
			fail(t, count_waiting(t), "came before one of them left");
			return false;
		}
		if (tw_now_ms() >= until_ms) {
			fail(t, count_waiting(t), "came in time");
			return false;
		}
	}
	return true;
}

static bool link_all(struct tw_tracker *t)
{
	for (unsigned i = 0; i < t->workers; i++) {
		if (!link_worker(t, i)) {
			fail(t, i, "could be linked before one of them left");
			return false;
		}
	}
	hang_up(t);
	while (count_linked(t) < t->workers && !atomic_load(&t->stop)) {
		if (turn(t))
			continue;
		fail(t, count_linked(t), "were linked before one of them left");
		return false;
	}
	return true;
}

static void *run(void *arg)
{
	struct tw_tracker *t = arg;

	if (await_workers(t) && link_all(t))
		/* Others that are complete still leave by the tracker. */
		while (atomic_load(&t->left) < t->workers && !atomic_load(&t->stop))
			if (!turn(t))
				dismiss(t);
	dismiss(t);
	return NULL;
}

/* ---- start and stop ---- */

static int bind_to(int fd, struct sockaddr_in *at)
{
	if (bind(fd, (struct sockaddr *)at, sizeof(*at)) == 0)
		return 0;
	if (errno != EADDRNOTAVAIL)
		return -1;
	at->sin_addr.s_addr = htonl(INADDR_ANY);
	return bind(fd, (struct sockaddr *)at, sizeof(*at));
}

static int start_to_listen(const char *host, uint16_t port, int *out, struct tw_err *err)
{
	const struct addrinfo hints = { .ai_family = AF_INET,
					.ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	const int status = getaddrinfo(host, NULL, &hints, &found), on = 1;
	struct sockaddr_in at;
	int fd;

	if (status != 0)
		return tw_fail(err, TW_IO, "tracker '%s': %s", host,
			       gai_strerror(status));
	memcpy(&at, found->ai_addr, sizeof(at));
	freeaddrinfo(found);
	at.sin_port = htons(port);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd < 0 || bind_to(fd, &at) < 0 || listen(fd, TW_WORKERS_MAX) < 0) {
		tw_fail_errno(err, errno, "tracker %s:%u", host, port);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	*out = fd;
	return 0;
}

static void destroy(struct tw_tracker *t)
{
	if (t->listener >= 0)
		close(t->listener);
	pthread_mutex_destroy(&t->lock);
	free(t->peer);
	free(t->poll);
	free(t);
}

int tw_tracker_start(const char *host, uint16_t port, unsigned workers, unsigned wait_s,
		     struct tw_tracker **out, struct tw_err *err)
{
	struct tw_tracker *t = calloc(1, sizeof(*t));
	int status;

	if (t == NULL)
		return tw_fail(err, TW_NOMEM, "tracker of %u workers", workers);
	pthread_mutex_init(&t->lock, NULL);
	t->listener = -1;
	t->workers = workers;
	t->wait_s = wait_s;
	t->peer = calloc(workers, sizeof(*t->peer));
	t->poll = calloc(workers + 1, sizeof(*t->poll));
	if (t->peer == NULL || t->poll == NULL) {
		destroy(t);
		return tw_fail(err, TW_NOMEM, "tracker of %u workers", workers);
	}
	for (unsigned i = 0; i < workers; i++)
		t->peer[i].fd = t->peer[i].here = -1;
	if (start_to_listen(host, port, &t->listener, err) < 0) {
		destroy(t);
		return -1;
	}
	status = pthread_create(&t->thread, NULL, run, t);
	if (status != 0) {
		tw_fail_errno(err, status, "thread of the tracker");
		destroy(t);
		return -1;
	}
	*out = t;
	return 0;
}

bool tw_tracker_failed(struct tw_tracker *t, char why[TW_ERR_TEXT])
{
	pthread_mutex_lock(&t->lock);
	memcpy(why, t->failure, sizeof(t->failure));
	pthread_mutex_unlock(&t->lock);
	return why[0] != '\0';
}

void tw_tracker_stop(struct tw_tracker *t, unsigned wait_ms)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	const uint64_t until_ms = tw_now_ms() + wait_ms;

	if (t == NULL)
		return;
	while (atomic_load(&t->left) < t->workers && tw_now_ms() < until_ms)
		nanosleep(&pause, NULL);
	atomic_store(&t->stop, true);
	pthread_join(t->thread, NULL);
	destroy(t);
}

/* ---- a worker's side ---- */

/* Connect, or return -1. */
static int call(const char *host, uint16_t port)
{
	const struct addrinfo hints = { .ai_family = AF_INET,
					.ai_socktype = SOCK_STREAM };
	struct addrinfo *at = NULL;
	char service[8];
	int fd;

	snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(host, service, &hints, &at) != 0)
		return -1;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
		close(fd);
		fd = -1;
	}
	freeaddrinfo(at);
	return fd;
}

int tw_tracker_join(const char *host, uint16_t port, unsigned rank, unsigned wait_s,
		    int *out, struct tw_err *err)
{
	const uint64_t until_ms = tw_now_ms() + 1000 * (uint64_t)wait_s;
	const struct timespec pause = { .tv_nsec = 100000000 };
	int32_t magic;
	char task[16], byte;
	int fd;

	/* Rank 0 may start later than others, and its name may not be known yet. */
	while ((fd = call(host, port)) < 0) {
		if (tw_now_ms() >= until_ms)
			return tw_fail(err, TW_IO,
				       "no tracker at %s:%u within %u s: is worker 0 "
				       "running there?",
				       host, port, wait_s);
		nanosleep(&pause, NULL);
	}
	snprintf(task, sizeof(task), "%u", rank);
	if (put_int(fd, MAGIC) && get_int(fd, &magic) && put_int(fd, -1) &&
	    put_int(fd, -1) && put_text(fd, task) && put_text(fd, HERE) &&
	    get(fd, &byte, 1)) {
		keep_alive(fd);
		*out = fd;
		return 0;
	}
	close(fd);
	return tw_fail(err, TW_INVALID,
		       "the tracker at %s:%u hung up on worker %u: worker 0 has left, "
		       "this rank is there twice, or the number of workers differs",
		       host, port, rank);
}
