/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/estimator.h"

#include "estimator/history.h"
#include "estimator/listen.h"
#include "estimator/session.h"
#include "estimator/stats.h"
#include "lib/core/array.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/http/server/httpd.h"
#include "lib/http/server/httpd_stats.h"
#include "lib/http/web/web.h"
#include "lib/program/daemon.h"
#include "lib/program/log.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

/* Events taken from epoll at once, and answers held back at most. */
#define EVENTS 64

/*
 * Turns. In each round of the loop every client with an event has a short turn. Clients
 * with more work become busy. The busy clients share one longer turn a round, in which at
 * least one of them continues; new connections have such a turn, too. A small request
 * therefore waits little, whatever the other clients do.
 */
#define SHORT_TURN_NS 25000
#define BUSY_TURN_NS 50000
#define ACCEPT_TURN_NS 50000
/* Answers are held back for at most this long. */
#define HOLD_NS 30000

#define USER_PLACES 1024

enum watch_type {
	WATCH_LISTENER,
	WATCH_MODELS,
	WATCH_SIGNALS,
	WATCH_HTTPD,
	WATCH_CLIENT
};

/* A watched descriptor; the data of an epoll event points to it. */
struct watch {
	enum watch_type type;
	int fd;
	/* Set for a client: */
	struct tw_session *session; /* NULL: closed; freed at the end of the round */
	size_t place;               /* index in clients */
	size_t user;                /* its place in of_user */
	bool watched;
	uint32_t events; /* registered with epoll */
	bool is_busy;
	TAILQ_ENTRY(watch) busy;
	struct watch *next; /* in the list of closed clients */
};

TAILQ_HEAD(watch_queue, watch);

struct tw_estimator {
	int epoll;
	struct tw_listener *listener;
	struct watch *listening; /* one for each listener */
	size_t listeners;
	struct watch signals, changes, scraping;
	struct tw_httpd *httpd; /* of GET /metrics; NULL: it is off */
	uint64_t httpd_due_ms;  /* UINT64_MAX: never */
	struct watch **client;
	size_t clients, clients_max;
	size_t of_user[USER_PLACES]; /* clients, by the user of their process */
	struct watch *closed;
	struct watch_queue busy;
	/* Clients with an answer that is held back. */
	struct watch *answered[EVENTS];
	size_t answers;
	uint64_t held_since_ns; /* the oldest of them */
	size_t waiting;         /* clients that wait for a model */
	uint64_t deadline_ms;   /* no client has an earlier deadline */
	const struct tw_users *users;
	struct tw_session_shared shared;
};

static int add_watch(struct tw_estimator *e, struct watch *w, uint32_t events,
		     struct tw_err *err)
{
	struct epoll_event ev = { .events = events, .data = { .ptr = w } };

	if (epoll_ctl(e->epoll, EPOLL_CTL_ADD, w->fd, &ev) < 0)
		return tw_fail_errno(err, errno, "epoll");
	w->events = events;
	w->watched = true;
	return 0;
}

/* ---- clients ---- */

static void set_busy(struct tw_estimator *e, struct watch *w, bool is_busy)
{
	if (w->is_busy == is_busy)
		return;
	w->is_busy = is_busy;
	if (is_busy)
		TAILQ_INSERT_TAIL(&e->busy, w, busy);
	else
		TAILQ_REMOVE(&e->busy, w, busy);
}

/*
 * Close a client, but keep its struct: later events of this round may point to it. Remove
 * the descriptor from epoll, because close() does not end its events while a child that
 * has not called exec() yet holds the socket, too.
 */
static void close_client(struct tw_estimator *e, struct watch *w)
{
	if (w->watched)
		epoll_ctl(e->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	set_busy(e, w, false);
	e->waiting -= tw_session_waits_for_model(w->session);
	tw_session_free(w->session);
	w->session = NULL;
	e->of_user[w->user]--;
	e->clients--;
	e->client[w->place] = e->client[e->clients];
	e->client[w->place]->place = w->place;
	w->next = e->closed;
	e->closed = w;
}

/* Free closed clients, once no event of the round is left. */
static void free_closed(struct tw_estimator *e)
{
	while (e->closed != NULL) {
		struct watch *w = e->closed;

		e->closed = w->next;
		free(w);
	}
}

/*
 * Register the events that the session waits for. A new client is added to epoll here,
 * after its first turn, because many clients are served and gone by then.
 */
static void update(struct tw_estimator *e, struct watch *w)
{
	struct epoll_event ev = { .events = tw_session_events(w->session),
				  .data = { .ptr = w } };
	const uint64_t deadline_ms = tw_session_deadline_ms(w->session);
	struct tw_err err;

	tw_err_clear(&err);
	if (deadline_ms < e->deadline_ms)
		e->deadline_ms = deadline_ms;
	set_busy(e, w, tw_session_busy(w->session));
	if (!w->watched && add_watch(e, w, ev.events, &err) < 0) {
		tw_log_warn_limited(&e->shared.log, "connection closed: %s", err.text);
		close_client(e, w);
	} else if (ev.events != w->events &&
		   epoll_ctl(e->epoll, EPOLL_CTL_MOD, w->fd, &ev) == 0) {
		w->events = ev.events;
	}
}

/* Send the answers that were held back. */
static void send_answers(struct tw_estimator *e)
{
	const uint64_t now_ms = tw_now_ms();

	for (size_t i = 0; i < e->answers; i++) {
		struct watch *w = e->answered[i];

		if (w->session == NULL)
			continue;
		if (tw_session_send(w->session, now_ms))
			update(e, w);
		else
			close_client(e, w);
	}
	e->answers = 0;
}

static void hold_answer(struct tw_estimator *e, struct watch *w, uint64_t now_ns)
{
	if (e->answers == 0)
		e->held_since_ns = now_ns;
	e->answered[e->answers++] = w;
	if (e->answers == EVENTS || now_ns - e->held_since_ns > HOLD_NS)
		send_answers(e);
}

static void run_client(struct tw_estimator *e, struct watch *w, uint64_t turn_ns,
		       bool hung_up)
{
	const bool waited = tw_session_waits_for_model(w->session);
	const uint64_t now_ns = tw_now_ns();

	if (!tw_session_run(w->session, now_ns, turn_ns, hung_up)) {
		/* Restore the count for close_client(): the session may have changed. */
		e->waiting += tw_session_waits_for_model(w->session);
		e->waiting -= waited;
		close_client(e, w);
		return;
	}
	e->waiting += tw_session_waits_for_model(w->session);
	e->waiting -= waited;
	update(e, w);
	if (w->session != NULL && tw_session_has_answer(w->session))
		hold_answer(e, w, now_ns);
}

/* Give the busy clients their shared turn. */
static void run_busy(struct tw_estimator *e)
{
	const uint64_t until_ns = tw_now_ns() + BUSY_TURN_NS;

	while (!TAILQ_EMPTY(&e->busy)) {
		struct watch *w = TAILQ_FIRST(&e->busy);

		set_busy(e, w, false); /* it returns to the tail if it is still busy */
		run_client(e, w, BUSY_TURN_NS, false);
		if (tw_now_ns() > until_ns)
			break;
	}
}

static bool ends_before(const struct tw_estimator *e, const struct watch *a,
			const struct watch *b)
{
	const size_t of_a = e->of_user[a->user], of_b = e->of_user[b->user];

	return of_a != of_b ? of_a > of_b
			    : tw_session_active_ms(a->session) <
				      tw_session_active_ms(b->session);
}

/*
 * Close a connection of the user with most connections, so that a user cannot shut out
 * the others.
 */
static void make_room(struct tw_estimator *e)
{
	size_t oldest = 0;

	for (size_t i = 1; i < e->clients; i++)
		if (ends_before(e, e->client[i], e->client[oldest]))
			oldest = i;
	tw_log_warn_limited(&e->shared.log,
			    "%zu connections, the limit: closing the one idle longest",
			    e->clients);
	e->shared.stats.crowded_out++;
	close_client(e, e->client[oldest]);
}

static int add_client(struct tw_estimator *e, int fd, struct tw_err *err)
{
	struct watch *w = NULL;

	if (e->users != NULL && tw_users_check_peer(e->users, fd, err) < 0) {
		e->shared.stats.denied++;
		close(fd);
		return -1;
	}
	w = calloc(1, sizeof(*w));
	if (w == NULL) {
		close(fd);
		return tw_fail(err, TW_NOMEM, "connection");
	}
	*w = (struct watch){ .type = WATCH_CLIENT,
			     .fd = fd,
			     .place = e->clients,
			     .user = tw_users_peer(fd) % USER_PLACES };
	if (tw_session_new(fd, &e->shared, tw_now_ms(), &w->session, err) < 0) {
		free(w);
		return -1;
	}
	e->client[e->clients++] = w;
	e->of_user[w->user]++;
	e->shared.stats.connections++;
	return 0;
}

/* Accept clients of a listener for a turn. */
static void accept_clients(struct tw_estimator *e, int listener)
{
	const uint64_t until_ns = tw_now_ns() + ACCEPT_TURN_NS;

	do {
		struct tw_err err = { 0 };
		int fd;

		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EMFILE || errno == ENFILE) && e->clients > 0) {
			make_room(e);
			continue;
		}
		if (fd < 0)
			return;
		if (e->clients == e->clients_max)
			make_room(e);
		if (add_client(e, fd, &err) < 0) {
			tw_log_warn_limited(&e->shared.log, "connection refused: %s",
					    err.text);
			continue;
		}
		run_client(e, e->client[e->clients - 1], SHORT_TURN_NS, false);
	} while (tw_now_ns() < until_ns);
}

/* Run the clients whose deadline has passed. models: run those that wait for one, too. */
static void run_due(struct tw_estimator *e, bool models)
{
	const uint64_t now_ms = tw_now_ms();

	e->deadline_ms = UINT64_MAX;
	/* Count down: a closed client is replaced by the last, which was visited. */
	for (size_t i = e->clients; i-- > 0;) {
		struct tw_session *s = e->client[i]->session;
		const uint64_t deadline_ms = tw_session_deadline_ms(s);

		if (deadline_ms <= now_ms || (models && tw_session_waits_for_model(s)))
			run_client(e, e->client[i], SHORT_TURN_NS, false);
		else if (deadline_ms < e->deadline_ms)
			e->deadline_ms = deadline_ms;
	}
}

/* A client has sent bytes, can take bytes, or has hung up. */
static void client_event(struct tw_estimator *e, struct watch *w, bool hung_up)
{
	if (w->session == NULL)
		return;
	if (tw_session_is_large(w->session) && !hung_up)
		set_busy(e, w, true);
	else
		run_client(e, w, SHORT_TURN_NS, hung_up);
}

static void close_clients(struct tw_estimator *e)
{
	while (e->clients > 0)
		close_client(e, e->client[e->clients - 1]);
	free_closed(e);
}

/* ---- GET /metrics ---- */

/*
 * The limits are those of the other daemons: a scraper may keep its connection; others
 * are closed when idle.
 */
#define SCRAPERS_MAX 64
#define SCRAPE_TIMEOUT_MS 30000

static void write_metrics(void *arg, struct tw_expo *x)
{
	const struct tw_estimator *e = arg;

	tw_stats_write(&e->shared.stats, e->clients, e->shared.history, e->shared.nodes,
		       e->shared.models, x);
}

static void get_metrics(void *app, const struct tw_http_request *q,
			struct tw_http_reply *r)
{
	tw_http_reply_metrics(q, r, write_metrics, app);
}

static void set_httpd_due(struct tw_estimator *e)
{
	const int wait_ms = tw_httpd_timeout_ms(e->httpd);

	e->httpd_due_ms = wait_ms < 0 ? UINT64_MAX : tw_now_ms() + (uint64_t)wait_ms;
}

static void run_httpd(struct tw_estimator *e)
{
	tw_httpd_run(e->httpd);
	set_httpd_due(e);
}

static int open_httpd(struct tw_estimator *e, const struct tw_estimator_config *c,
		      struct tw_err *err)
{
	static const struct tw_http_route routes[] = { { "GET", "/metrics",
							 .handle = get_metrics } };
	const struct tw_httpd_config httpd = { .listen = c->metrics,
					       .routes = routes,
					       .route_count = TW_COUNT(routes),
					       .app = e,
					       .callers_thread = true,
					       .connections_max = SCRAPERS_MAX,
					       .answer_timeout_ms = SCRAPE_TIMEOUT_MS,
					       .web_config = c->web_config,
					       .host_names = c->host_names,
					       .web_changed = tw_web_log_changed };

	if (c->metrics == NULL)
		return 0;
	if (tw_httpd_open(&httpd, &e->httpd, err) < 0)
		return -1;
	set_httpd_due(e);
	e->scraping = (struct watch){ .type = WATCH_HTTPD, .fd = tw_httpd_fd(e->httpd) };
	return add_watch(e, &e->scraping, EPOLLIN, err);
}

const char *tw_estimator_metrics(const struct tw_estimator *e)
{
	return e->httpd != NULL ? tw_httpd_address(e->httpd) : NULL;
}

/* ---- the loop ---- */

static void models_changed(struct tw_estimator *e, int fd)
{
	uint64_t count;

	if (read(fd, &count, sizeof(count)) > 0 && e->waiting > 0)
		run_due(e, true);
}

/* Handle an event. False: a stop signal; any other signal reloads the models. */
static bool handle(struct tw_estimator *e, struct watch *w, uint32_t events)
{
	switch (w->type) {
	case WATCH_LISTENER:
		accept_clients(e, w->fd);
		break;
	case WATCH_MODELS:
		models_changed(e, w->fd);
		break;
	case WATCH_SIGNALS:
		if (tw_signals_next(w->fd) != TW_SIGNAL_RELOAD)
			return false;
		tw_models_reload(e->shared.models);
		break;
	case WATCH_HTTPD:
		run_httpd(e);
		break;
	case WATCH_CLIENT:
		client_event(e, w, (events & (EPOLLHUP | EPOLLERR)) != 0);
		break;
	}
	return true;
}

static int timeout_ms(const struct tw_estimator *e)
{
	const uint64_t now_ms = tw_now_ms();
	uint64_t next_ms = UINT64_MAX;

	if (!TAILQ_EMPTY(&e->busy))
		return 0;
	if (e->clients > 0)
		next_ms = e->deadline_ms;
	if (e->httpd_due_ms < next_ms)
		next_ms = e->httpd_due_ms;
	if (next_ms == UINT64_MAX)
		return -1;
	if (next_ms <= now_ms)
		return 0;
	return next_ms - now_ms < INT32_MAX ? (int)(next_ms - now_ms) : INT32_MAX;
}

int tw_estimator_run(struct tw_estimator *e, int signal_fd, struct tw_err *err)
{
	struct epoll_event ev[EVENTS];
	bool go_on = true;

	e->signals = (struct watch){ .type = WATCH_SIGNALS, .fd = signal_fd };
	if (add_watch(e, &e->signals, EPOLLIN, err) < 0)
		return -1;
	while (go_on) {
		const int n = epoll_wait(e->epoll, ev, EVENTS, timeout_ms(e));

		if (n < 0 && errno != EINTR)
			return tw_fail_errno(err, errno, "epoll");
		for (int i = 0; i < n; i++)
			go_on = handle(e, ev[i].data.ptr, ev[i].events) && go_on;
		run_busy(e);
		if (e->deadline_ms <= tw_now_ms())
			run_due(e, false);
		if (e->httpd_due_ms <= tw_now_ms())
			run_httpd(e);
		send_answers(e);
		free_closed(e);
	}
	return 0;
}

/* ---- opening and closing ---- */

static int open_listener(const struct tw_estimator_config *c, size_t i,
			 struct tw_listener *out, struct tw_err *err)
{
	if (c->passed > 0)
		return tw_listener_adopt(c->passed_first + (int)i, out, err);
	return tw_listener_open(c->sockets->at[i], &c->rights, out, err);
}

static int open_listeners(struct tw_estimator *e, const struct tw_estimator_config *c,
			  struct tw_err *err)
{
	const size_t count = c->passed > 0 ? c->passed : c->sockets->count;

	e->listener = calloc(count, sizeof(*e->listener));
	e->listening = calloc(count, sizeof(*e->listening));
	if (e->listener == NULL || e->listening == NULL)
		return tw_fail(err, TW_NOMEM, "%zu sockets", count);
	for (size_t i = 0; i < count; i++) {
		if (open_listener(c, i, &e->listener[i], err) < 0)
			return -1;
		e->listeners++;
		e->listening[i] =
			(struct watch){ .type = WATCH_LISTENER, .fd = e->listener[i].fd };
		if (add_watch(e, &e->listening[i], EPOLLIN, err) < 0)
			return -1;
	}
	return 0;
}

static int open_all(struct tw_estimator *e, const struct tw_estimator_config *c,
		    struct tw_err *err)
{
	e->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (e->epoll < 0)
		return tw_fail_errno(err, errno, "epoll");
	e->client = calloc(e->clients_max, sizeof(struct watch *));
	if (e->client == NULL)
		return tw_fail(err, TW_NOMEM, "%zu connections", e->clients_max);
	if (tw_history_new(c->series_bytes, &e->shared.history, err) < 0 ||
	    tw_node_series_new(&e->shared.nodes, err) < 0 ||
	    open_listeners(e, c, err) < 0 || open_httpd(e, c, err) < 0 ||
	    tw_models_open(&c->models, &e->shared.models, err) < 0)
		return -1;
	e->changes = (struct watch){ .type = WATCH_MODELS,
				     .fd = tw_models_fd(e->shared.models) };
	return add_watch(e, &e->changes, EPOLLIN, err);
}

int tw_estimator_open(const struct tw_estimator_config *c, struct tw_estimator **out,
		      struct tw_err *err)
{
	struct tw_estimator *e = calloc(1, sizeof(*e));

	assert((c->passed > 0 || c->sockets->count > 0) && c->connections > 0);
	if (e == NULL)
		return tw_fail(err, TW_NOMEM, "estimator");
	e->epoll = -1;
	TAILQ_INIT(&e->busy);
	e->deadline_ms = e->httpd_due_ms = UINT64_MAX;
	e->clients_max = c->connections;
	e->users = c->users;
	e->shared.idle_ms = c->idle_ms;
	e->shared.request_ms = c->request_ms;
	e->shared.model_wait_ms = c->model_wait_ms;
	if (open_all(e, c, err) < 0) {
		tw_estimator_close(e);
		return -1;
	}
	*out = e;
	return 0;
}

void tw_estimator_close(struct tw_estimator *e)
{
	if (e == NULL)
		return;
	for (size_t i = 0; i < e->listeners; i++)
		tw_listener_close(&e->listener[i]);
	close_clients(e);
	tw_httpd_close(e->httpd);
	tw_models_close(e->shared.models);
	tw_history_free(e->shared.history);
	tw_node_series_free(e->shared.nodes);
	tw_session_shared_release(&e->shared);
	if (e->epoll >= 0)
		close(e->epoll);
	free(e->listening);
	free(e->listener);
	free(e->client);
	free(e);
}
