/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/daemon_parts.h"

#include "estimator/users.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/program/log.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * Turns: each time round, every client with something new has a short one. Those that
 * would do more are busy: they share a longer one, in which one of them goes on at least,
 * and so do new connections. So who asks little waits for little, whatever others do.
 */
#define SHORT_TURN_NS 25000
#define BUSY_TURN_NS 50000
#define ACCEPT_TURN_NS 50000
/* Answers are held back no longer, so that the others' work does not delay them. */
#define HOLD_NS 30000

static void set_busy(struct tw_estimator *e, struct tw_watched *w, bool is_busy)
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
 * The struct lives on until no event of this turn can point to it. Closing alone does not
 * end the events: a child that has not yet called exec() may hold the socket too.
 */
static void close_client(struct tw_estimator *e, struct tw_watched *w)
{
	if (w->watched)
		epoll_ctl(e->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	set_busy(e, w, false);
	e->waiting -= tw_session_waits_for_model(w->session);
	tw_session_free(w->session);
	w->session = NULL;
	e->clients--;
	e->client[w->place] = e->client[e->clients];
	e->client[w->place]->place = w->place;
	w->next = e->closed;
	e->closed = w;
}

void tw_clients_free_closed(struct tw_estimator *e)
{
	while (e->closed != NULL) {
		struct tw_watched *w = e->closed;

		e->closed = w->next;
		free(w);
	}
}

/*
 * What the client's session waits for now. Many a client has gone when it is seen first:
 * epoll hears only of those that stay.
 */
static void update(struct tw_estimator *e, struct tw_watched *w)
{
	struct epoll_event ev = { .events = tw_session_events(w->session),
				  .data = { .ptr = w } };
	const uint64_t deadline_ms = tw_session_deadline_ms(w->session);
	struct tw_err err;

	tw_err_clear(&err);
	if (deadline_ms < e->look_ms)
		e->look_ms = deadline_ms;
	set_busy(e, w, tw_session_busy(w->session));
	if (!w->watched && tw_estimator_watch(e, w, ev.events, &err) < 0) {
		tw_log_warn_limited(&e->desk.log, "connection closed: %s", err.text);
		close_client(e, w);
	} else if (ev.events != w->events &&
		   epoll_ctl(e->epoll, EPOLL_CTL_MOD, w->fd, &ev) == 0) {
		w->events = ev.events;
	}
}

void tw_clients_send(struct tw_estimator *e)
{
	const uint64_t now_ms = tw_now_ms();

	for (size_t i = 0; i < e->owings; i++) {
		struct tw_watched *w = e->owing[i];

		if (w->session == NULL)
			continue;
		if (tw_session_send(w->session, now_ms))
			update(e, w);
		else
			close_client(e, w);
	}
	e->owings = 0;
}

static void hold_answer(struct tw_estimator *e, struct tw_watched *w, uint64_t now_ns)
{
	if (e->owings == 0)
		e->owing_ns = now_ns;
	e->owing[e->owings++] = w;
	if (e->owings == TW_ESTIMATOR_EVENTS || now_ns - e->owing_ns > HOLD_NS)
		tw_clients_send(e);
}

static void run_client(struct tw_estimator *e, struct tw_watched *w, uint64_t turn_ns,
		       bool hung_up)
{
	const bool waited = tw_session_waits_for_model(w->session);
	const uint64_t now_ns = tw_now_ns();

	if (!tw_session_run(w->session, now_ns, turn_ns, hung_up)) {
		/* As it was counted; the session may have changed since. */
		e->waiting += tw_session_waits_for_model(w->session);
		e->waiting -= waited;
		close_client(e, w);
		return;
	}
	e->waiting += tw_session_waits_for_model(w->session);
	e->waiting -= waited;
	update(e, w);
	if (w->session != NULL && tw_session_owes(w->session))
		hold_answer(e, w, now_ns);
}

void tw_clients_run_busy(struct tw_estimator *e)
{
	const uint64_t until_ns = tw_now_ns() + BUSY_TURN_NS;

	while (!TAILQ_EMPTY(&e->busy)) {
		struct tw_watched *w = TAILQ_FIRST(&e->busy);

		set_busy(e, w, false); /* then it is the last of them, if it is still */
		run_client(e, w, BUSY_TURN_NS, false);
		if (tw_now_ns() > until_ns)
			break;
	}
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
	struct tw_watched *w = NULL;

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
	*w = (struct tw_watched){ .kind = TW_WATCHED_CLIENT,
				  .fd = fd,
				  .place = e->clients };
	if (tw_session_new(fd, &e->desk, tw_now_ms(), &w->session, err) < 0) {
		free(w);
		return -1;
	}
	e->client[e->clients++] = w;
	e->desk.stats.connections++;
	return 0;
}

void tw_clients_accept(struct tw_estimator *e, int listener)
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
			tw_log_warn_limited(&e->desk.log, "connection refused: %s",
					    err.text);
			continue;
		}
		run_client(e, e->client[e->clients - 1], SHORT_TURN_NS, false);
	} while (tw_now_ns() < until_ns);
}

void tw_clients_look(struct tw_estimator *e, bool models)
{
	const uint64_t now_ms = tw_now_ms();

	e->look_ms = UINT64_MAX;
	/* From the last: a client that closes is replaced by one already seen. */
	for (size_t i = e->clients; i-- > 0;) {
		struct tw_session *s = e->client[i]->session;
		const uint64_t deadline_ms = tw_session_deadline_ms(s);

		if (deadline_ms <= now_ms || (models && tw_session_waits_for_model(s)))
			run_client(e, e->client[i], SHORT_TURN_NS, false);
		else if (deadline_ms < e->look_ms)
			e->look_ms = deadline_ms;
	}
}

void tw_clients_event(struct tw_estimator *e, struct tw_watched *w, bool hung_up)
{
	if (w->session == NULL)
		return;
	if (tw_session_is_large(w->session) && !hung_up)
		set_busy(e, w, true);
	else
		run_client(e, w, SHORT_TURN_NS, hung_up);
}

void tw_clients_close(struct tw_estimator *e)
{
	while (e->clients > 0)
		close_client(e, e->client[e->clients - 1]);
	tw_clients_free_closed(e);
}
