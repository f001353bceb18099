/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/daemon.h"

#include "lib/clock.h"
#include "estimator/listen.h"
#include "estimator/scrapes.h"
#include "estimator/session.h"
#include "estimator/users.h"
#include "lib/daemon.h"
#include "lib/err.h"
#include "lib/log.h"
#include "lib/strs.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS 64
/* Connections taken from a socket before others have their turn. */
#define ACCEPTS 64
/* Answers are held back no longer, so that the others' work does not delay them. */
#define HOLD_NS 100000

enum kind { KIND_LISTENER, KIND_MODELS, KIND_SIGNALS, KIND_SCRAPES, KIND_CLIENT };

/* What an epoll event points to. */
struct watched {
	enum kind kind;
	int fd;
	/* Of a client: */
	struct tw_session *session; /* NULL: closed, freed behind the events */
	size_t place;               /* in clients */
	uint32_t events;            /* as epoll knows them */
	struct watched *next;       /* of the closed ones */
};

struct tw_estimator {
	int epoll;
	struct tw_listener *listener;
	struct watched *listening; /* one a listener */
	size_t listeners;
	struct watched signals, changes, scraping;
	struct tw_scrapes *scrapes; /* NULL: nobody may */
	struct watched **client;
	size_t clients, clients_max;
	struct watched *closed;
	struct watched *owing[EVENTS]; /* clients whose answer is still to be sent */
	size_t owings;
	uint64_t owing_ns; /* since when */
	size_t waiting;    /* clients that await a model */
	uint64_t look_ms;  /* no client's deadline is before this */
	const struct tw_users *users;
	struct tw_session_desk desk;
};

static int watch(struct tw_estimator *e, struct watched *w, uint32_t events,
		 struct tw_err *err)
{
	struct epoll_event ev = { .events = events, .data = { .ptr = w } };

	if (epoll_ctl(e->epoll, EPOLL_CTL_ADD, w->fd, &ev) < 0)
		return tw_fail_errno(err, errno, "epoll");
	w->events = events;
	return 0;
}

/*
 * The struct lives on until no event of this turn can point to it. Closing alone does not
 * end the events: a child that has not yet called exec() may hold the socket too.
 */
static void close_client(struct tw_estimator *e, struct watched *w)
{
	epoll_ctl(e->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	e->waiting -= tw_session_waits_for_model(w->session);
	tw_session_free(w->session);
	w->session = NULL;
	e->clients--;
	e->client[w->place] = e->client[e->clients];
	e->client[w->place]->place = w->place;
	w->next = e->closed;
	e->closed = w;
}

static void free_closed(struct tw_estimator *e)
{
	while (e->closed != NULL) {
		struct watched *w = e->closed;

		e->closed = w->next;
		free(w);
	}
}

/* What the client's session waits for now. */
static void update(struct tw_estimator *e, struct watched *w)
{
	struct epoll_event ev = { .events = tw_session_events(w->session),
				  .data = { .ptr = w } };
	const uint64_t deadline_ms = tw_session_deadline_ms(w->session);

	if (deadline_ms < e->look_ms)
		e->look_ms = deadline_ms;
	if (ev.events != w->events && epoll_ctl(e->epoll, EPOLL_CTL_MOD, w->fd, &ev) == 0)
		w->events = ev.events;
}

static void send_answers(struct tw_estimator *e)
{
	for (size_t i = 0; i < e->owings; i++) {
		struct watched *w = e->owing[i];

		if (w->session == NULL)
			continue;
		if (tw_session_send(w->session, tw_now_ms()))
			update(e, w);
		else
			close_client(e, w);
	}
	e->owings = 0;
}

static void hold_answer(struct tw_estimator *e, struct watched *w)
{
	const uint64_t now_ns = tw_now_ns();

	if (e->owings == 0)
		e->owing_ns = now_ns;
	e->owing[e->owings++] = w;
	if (e->owings == EVENTS || now_ns - e->owing_ns > HOLD_NS)
		send_answers(e);
}

static void run_client(struct tw_estimator *e, struct watched *w, bool hung_up)
{
	const bool waited = tw_session_waits_for_model(w->session);

	if (!tw_session_run(w->session, tw_now_ms(), hung_up)) {
		/* As it was counted; the session may have changed since. */
		e->waiting += tw_session_waits_for_model(w->session);
		e->waiting -= waited;
		close_client(e, w);
		return;
	}
	e->waiting += tw_session_waits_for_model(w->session);
	e->waiting -= waited;
	update(e, w);
	if (tw_session_owes(w->session))
		hold_answer(e, w);
}

static void make_room(struct tw_estimator *e)
{
	size_t oldest = 0;

	for (size_t i = 1; i < e->clients; i++)
		if (tw_session_active_ms(e->client[i]->session) <
		    tw_session_active_ms(e->client[oldest]->session))
			oldest = i;
	tw_log_warn_limited(&e->desk.log, "%zu connections, closing the one idle longest",
			    e->clients);
	e->desk.stats.crowded_out++;
	close_client(e, e->client[oldest]);
}

static int add_client(struct tw_estimator *e, int fd, struct tw_err *err)
{
	struct watched *w = NULL;

	if (e->users != NULL && tw_users_check_peer(e->users, fd, err) < 0) {
		e->desk.stats.denied++;
		close(fd);
		return -1;
	}
	w = calloc(1, sizeof(*w));
	if (w == NULL) {
		close(fd);
		return tw_fail(err, TW_NOMEM, "connection");
	}
	*w = (struct watched){ .kind = KIND_CLIENT, .fd = fd, .place = e->clients };
	if (tw_session_new(fd, &e->desk, tw_now_ms(), &w->session, err) < 0) {
		free(w);
		return -1;
	}
	if (watch(e, w, EPOLLIN, err) < 0) {
		tw_session_free(w->session);
		free(w);
		return -1;
	}
	e->client[e->clients++] = w;
	e->desk.stats.connections++;
	return 0;
}

static void accept_clients(struct tw_estimator *e, int listener)
{
	for (int i = 0; i < ACCEPTS; i++) {
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
			tw_log_warn_limited(&e->desk.log, "connection refused: %s",
					    err.text);
			continue;
		}
		run_client(e, e->client[e->clients - 1], false);
	}
}

/* Clients whose time is up, and with models those that await one. */
static void look_at_clients(struct tw_estimator *e, bool models)
{
	const uint64_t now_ms = tw_now_ms();

	e->look_ms = UINT64_MAX;
	/* From the last: a client that closes is replaced by one already seen. */
	for (size_t i = e->clients; i-- > 0;) {
		struct tw_session *s = e->client[i]->session;
		const uint64_t deadline_ms = tw_session_deadline_ms(s);

		if (deadline_ms <= now_ms || (models && tw_session_waits_for_model(s)))
			run_client(e, e->client[i], false);
		else if (deadline_ms < e->look_ms)
			e->look_ms = deadline_ms;
	}
}

static void models_changed(struct tw_estimator *e, int fd)
{
	uint64_t count;

	if (read(fd, &count, sizeof(count)) > 0 && e->waiting > 0)
		look_at_clients(e, true);
}

/* False: stop. */
static bool handle(struct tw_estimator *e, struct watched *w, uint32_t events)
{
	switch (w->kind) {
	case KIND_LISTENER:
		accept_clients(e, w->fd);
		break;
	case KIND_MODELS:
		models_changed(e, w->fd);
		break;
	case KIND_SIGNALS:
		if (tw_signals_next(w->fd) != TW_SIGNAL_RELOAD)
			return false;
		tw_models_reload(e->desk.models);
		break;
	case KIND_SCRAPES:
		tw_scrapes_run(e->scrapes);
		break;
	case KIND_CLIENT:
		if (w->session != NULL)
			run_client(e, w, (events & (EPOLLHUP | EPOLLERR)) != 0);
		break;
	}
	return true;
}

static int timeout_ms(const struct tw_estimator *e)
{
	const uint64_t now_ms = tw_now_ms();

	if (e->clients == 0 || e->look_ms == UINT64_MAX)
		return -1;
	if (e->look_ms <= now_ms)
		return 0;
	return e->look_ms - now_ms < INT32_MAX ? (int)(e->look_ms - now_ms) : INT32_MAX;
}

int tw_estimator_run(struct tw_estimator *e, int signal_fd, struct tw_err *err)
{
	struct epoll_event ev[EVENTS];
	bool go_on = true;

	e->signals = (struct watched){ .kind = KIND_SIGNALS, .fd = signal_fd };
	if (watch(e, &e->signals, EPOLLIN, err) < 0)
		return -1;
	while (go_on) {
		const int n = epoll_wait(e->epoll, ev, EVENTS, timeout_ms(e));

		if (n < 0 && errno != EINTR)
			return tw_fail_errno(err, errno, "epoll");
		for (int i = 0; i < n; i++)
			go_on = handle(e, ev[i].data.ptr, ev[i].events) && go_on;
		if (e->look_ms <= tw_now_ms())
			look_at_clients(e, false);
		send_answers(e);
		free_closed(e);
	}
	return 0;
}

static void write_metrics(void *arg, struct tw_expo *x)
{
	const struct tw_estimator *e = arg;

	tw_stats_write(&e->desk.stats, e->clients, e->desk.models, x);
}

static int open_scrapes(struct tw_estimator *e, const char *address, struct tw_err *err)
{
	if (address == NULL)
		return 0;
	if (tw_scrapes_open(address, write_metrics, e, &e->scrapes, err) < 0)
		return -1;
	e->scraping =
		(struct watched){ .kind = KIND_SCRAPES, .fd = tw_scrapes_fd(e->scrapes) };
	return watch(e, &e->scraping, EPOLLIN, err);
}

const char *tw_estimator_metrics(const struct tw_estimator *e)
{
	return e->scrapes != NULL ? tw_scrapes_address(e->scrapes) : NULL;
}

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
		e->listening[i] = (struct watched){ .kind = KIND_LISTENER,
						    .fd = e->listener[i].fd };
		if (watch(e, &e->listening[i], EPOLLIN, err) < 0)
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
	e->client = calloc(e->clients_max, sizeof(struct watched *));
	if (e->client == NULL)
		return tw_fail(err, TW_NOMEM, "%zu connections", e->clients_max);
	if (open_listeners(e, c, err) < 0 || open_scrapes(e, c->metrics, err) < 0 ||
	    tw_models_open(&c->models, &e->desk.models, err) < 0)
		return -1;
	e->changes = (struct watched){ .kind = KIND_MODELS,
				       .fd = tw_models_fd(e->desk.models) };
	return watch(e, &e->changes, EPOLLIN, err);
}

int tw_estimator_open(const struct tw_estimator_config *c, struct tw_estimator **out,
		      struct tw_err *err)
{
	struct tw_estimator *e = calloc(1, sizeof(*e));

	assert((c->passed > 0 || c->sockets->count > 0) && c->connections > 0);
	if (e == NULL)
		return tw_fail(err, TW_NOMEM, "estimator");
	e->epoll = -1;
	e->look_ms = UINT64_MAX;
	e->clients_max = c->connections;
	e->users = c->users;
	e->desk.idle_ms = c->idle_ms;
	e->desk.request_ms = c->request_ms;
	e->desk.model_wait_ms = c->model_wait_ms;
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
	while (e->clients > 0)
		close_client(e, e->client[e->clients - 1]);
	free_closed(e);
	tw_scrapes_close(e->scrapes);
	tw_models_close(e->desk.models);
	tw_session_desk_release(&e->desk);
	if (e->epoll >= 0)
		close(e->epoll);
	free(e->listening);
	free(e->listener);
	free(e->client);
	free(e);
}
