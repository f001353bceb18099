/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/daemon_parts.h"

#include "estimator/history.h"
#include "estimator/scrapes.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/program/daemon.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

int tw_estimator_watch(struct tw_estimator *e, struct tw_watched *w, uint32_t events,
		       struct tw_err *err)
{
	struct epoll_event ev = { .events = events, .data = { .ptr = w } };

	if (epoll_ctl(e->epoll, EPOLL_CTL_ADD, w->fd, &ev) < 0)
		return tw_fail_errno(err, errno, "epoll");
	w->events = events;
	w->watched = true;
	return 0;
}

static void models_changed(struct tw_estimator *e, int fd)
{
	uint64_t count;

	if (read(fd, &count, sizeof(count)) > 0 && e->waiting > 0)
		tw_clients_look(e, true);
}

/* False: stop. */
static bool handle(struct tw_estimator *e, struct tw_watched *w, uint32_t events)
{
	switch (w->kind) {
	case TW_WATCHED_LISTENER:
		tw_clients_accept(e, w->fd);
		break;
	case TW_WATCHED_MODELS:
		models_changed(e, w->fd);
		break;
	case TW_WATCHED_SIGNALS:
		if (tw_signals_next(w->fd) != TW_SIGNAL_RELOAD)
			return false;
		tw_models_reload(e->desk.models);
		break;
	case TW_WATCHED_SCRAPES:
		tw_scrapes_run(e->scrapes);
		break;
	case TW_WATCHED_CLIENT:
		tw_clients_event(e, w, (events & (EPOLLHUP | EPOLLERR)) != 0);
		break;
	}
	return true;
}

static int timeout_ms(const struct tw_estimator *e)
{
	const uint64_t now_ms = tw_now_ms();

	if (!TAILQ_EMPTY(&e->busy))
		return 0;
	if (e->clients == 0 || e->look_ms == UINT64_MAX)
		return -1;
	if (e->look_ms <= now_ms)
		return 0;
	return e->look_ms - now_ms < INT32_MAX ? (int)(e->look_ms - now_ms) : INT32_MAX;
}

int tw_estimator_run(struct tw_estimator *e, int signal_fd, struct tw_err *err)
{
	struct epoll_event ev[TW_ESTIMATOR_EVENTS];
	bool go_on = true;

	e->signals = (struct tw_watched){ .kind = TW_WATCHED_SIGNALS, .fd = signal_fd };
	if (tw_estimator_watch(e, &e->signals, EPOLLIN, err) < 0)
		return -1;
	while (go_on) {
		const int n =
			epoll_wait(e->epoll, ev, TW_ESTIMATOR_EVENTS, timeout_ms(e));

		if (n < 0 && errno != EINTR)
			return tw_fail_errno(err, errno, "epoll");
		for (int i = 0; i < n; i++)
			go_on = handle(e, ev[i].data.ptr, ev[i].events) && go_on;
		tw_clients_run_busy(e);
		if (e->look_ms <= tw_now_ms())
			tw_clients_look(e, false);
		tw_clients_send(e);
		tw_clients_free_closed(e);
	}
	return 0;
}

static void write_metrics(void *arg, struct tw_expo *x)
{
	const struct tw_estimator *e = arg;

	tw_stats_write(&e->desk.stats, e->clients, e->desk.history, e->desk.models, x);
}

static int open_scrapes(struct tw_estimator *e, const char *address, struct tw_err *err)
{
	if (address == NULL)
		return 0;
	if (tw_scrapes_open(address, write_metrics, e, &e->scrapes, err) < 0)
		return -1;
	e->scraping = (struct tw_watched){ .kind = TW_WATCHED_SCRAPES,
					   .fd = tw_scrapes_fd(e->scrapes) };
	return tw_estimator_watch(e, &e->scraping, EPOLLIN, err);
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
		e->listening[i] = (struct tw_watched){ .kind = TW_WATCHED_LISTENER,
						       .fd = e->listener[i].fd };
		if (tw_estimator_watch(e, &e->listening[i], EPOLLIN, err) < 0)
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
	e->client = calloc(e->clients_max, sizeof(struct tw_watched *));
	if (e->client == NULL)
		return tw_fail(err, TW_NOMEM, "%zu connections", e->clients_max);
	if (tw_history_new(c->series_bytes, &e->desk.history, err) < 0 ||
	    open_listeners(e, c, err) < 0 || open_scrapes(e, c->metrics, err) < 0 ||
	    tw_models_open(&c->models, &e->desk.models, err) < 0)
		return -1;
	e->changes = (struct tw_watched){ .kind = TW_WATCHED_MODELS,
					  .fd = tw_models_fd(e->desk.models) };
	return tw_estimator_watch(e, &e->changes, EPOLLIN, err);
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
	tw_clients_close(e);
	tw_scrapes_close(e->scrapes);
	tw_models_close(e->desk.models);
	tw_history_free(e->desk.history);
	tw_session_desk_release(&e->desk);
	if (e->epoll >= 0)
		close(e->epoll);
	free(e->listening);
	free(e->listener);
	free(e->client);
	free(e);
}
