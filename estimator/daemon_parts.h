/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_DAEMON_PARTS_H
#define TW_ESTIMATOR_DAEMON_PARTS_H

/*
 * Inside of daemon.h: the loop, and its clients (daemon_clients.c).
 */

#include "estimator/daemon.h"
#include "estimator/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

/* Events that are taken from epoll at a time, and answers that are held back. */
#define TW_ESTIMATOR_EVENTS 64

enum tw_watched_kind {
	TW_WATCHED_LISTENER,
	TW_WATCHED_MODELS,
	TW_WATCHED_SIGNALS,
	TW_WATCHED_SCRAPES,
	TW_WATCHED_CLIENT
};

/* What an epoll event points to. */
struct tw_watched {
	enum tw_watched_kind kind;
	int fd;
	/* Of a client: */
	struct tw_session *session; /* NULL: closed, freed behind the events */
	size_t place;               /* in clients */
	bool watched;
	uint32_t events; /* as epoll knows them */
	bool is_busy;
	TAILQ_ENTRY(tw_watched) busy;
	struct tw_watched *next; /* of the closed ones */
};

TAILQ_HEAD(tw_watched_queue, tw_watched);

struct tw_estimator {
	int epoll;
	struct tw_listener *listener;
	struct tw_watched *listening; /* one a listener */
	size_t listeners;
	struct tw_watched signals, changes, scraping;
	struct tw_scrapes *scrapes; /* NULL: nobody may */
	struct tw_watched **client;
	size_t clients, clients_max;
	struct tw_watched *closed;
	struct tw_watched_queue busy;
	/* Clients whose answer is still to be sent. */
	struct tw_watched *owing[TW_ESTIMATOR_EVENTS];
	size_t owings;
	uint64_t owing_ns; /* since when */
	size_t waiting;    /* clients that await a model */
	uint64_t look_ms;  /* no client's deadline is before this */
	const struct tw_users *users;
	struct tw_session_desk desk;
};

/* Have epoll tell of w's descriptor. */
int tw_estimator_watch(struct tw_estimator *e, struct tw_watched *w, uint32_t events,
		       struct tw_err *err);

/* New clients of a listening socket, for a turn. */
void tw_clients_accept(struct tw_estimator *e, int listener);

/* A client has sent something, has taken something, or has gone. */
void tw_clients_event(struct tw_estimator *e, struct tw_watched *w, bool hung_up);

/* The busy ones, in turn. */
void tw_clients_run_busy(struct tw_estimator *e);

/* Clients whose time is up, and with models those that await one. */
void tw_clients_look(struct tw_estimator *e, bool models);

/* Answers that have been held back. */
void tw_clients_send(struct tw_estimator *e);

/* No event can point to the clients that have been closed. */
void tw_clients_free_closed(struct tw_estimator *e);

void tw_clients_close(struct tw_estimator *e);

#endif /* TW_ESTIMATOR_DAEMON_PARTS_H */
