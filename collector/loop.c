/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/loop.h"

#include "collector/agents/agents.h"
#include "collector/collector.h"
#include "collector/power/estimates.h"
#include "collector/power/power.h"
#include "collector/texts.h"
#include "collector/workloads/pods.h"
#include "collector/workloads/workload.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/http/server/httpd.h"
#include "lib/program/daemon.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

struct tw_loop {
	struct tw_collector *collector;
	struct tw_httpd *httpd;
	int epoll, timer, signals;
	int watch_timer; /* -1: ticks are near enough */
	int step_timer;  /* of powercap trees; -1: none */
	uint64_t due_ns; /* CLOCK_MONOTONIC of the next tick */
	uint64_t interval_ns;
};

/* The kinds of descriptors that epoll watches. */
enum kind {
	KIND_TIMER,
	KIND_WATCH,
	KIND_STEP,
	KIND_SIGNALS,
	KIND_HTTP,
	KIND_EVENTS,
	KIND_FINDER,
	KIND_PODS,
	KIND_TEXTS,
	KIND_AGENTS,
	KIND_COUNT
};

static int watch(const struct tw_loop *l, int fd, enum kind kind, struct tw_err *err)
{
	struct epoll_event ev = { .events = EPOLLIN, .data = { .u32 = kind } };

	if (fd >= 0 && epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &ev) < 0)
		return tw_fail_errno(err, errno, "epoll");
	return 0;
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / (1000 * MS)),
				  .tv_nsec = (long)(ns % (1000 * MS)) };
}

static int start_timer(struct tw_loop *l, struct tw_err *err)
{
	struct itimerspec when;

	l->interval_ns = l->collector->interval_ms * MS;
	l->due_ns = tw_now_ns() + l->interval_ns;
	when = (struct itimerspec){ .it_interval = timespec_of(l->interval_ns),
				    .it_value = timespec_of(l->due_ns) };
	l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (l->timer < 0 || timerfd_settime(l->timer, TFD_TIMER_ABSTIME, &when, NULL) < 0)
		return tw_fail_errno(err, errno, "cannot start a timer");
	return 0;
}

/* A timer between ticks that are further apart. */
static int start_between(const struct tw_loop *l, uint64_t ns, int *timer,
			 struct tw_err *err)
{
	const struct itimerspec every = { .it_interval = timespec_of(ns),
					  .it_value = timespec_of(ns) };

	if (l->interval_ns <= ns)
		return 0;
	*timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (*timer < 0 || timerfd_settime(*timer, 0, &every, NULL) < 0)
		return tw_fail_errno(err, errno, "cannot start a timer");
	return 0;
}

/* Counters may wrap around more than once between two ticks that are far apart. */
static int start_watch(struct tw_loop *l, struct tw_err *err)
{
	return l->collector->power == NULL
		       ? 0
		       : start_between(l, TW_POWER_WATCH_NS, &l->watch_timer, err);
}

int tw_loop_open(struct tw_collector *c, struct tw_httpd *httpd, int signal_fd,
		 bool powercap, struct tw_loop **out, struct tw_err *err)
{
	struct tw_loop *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return tw_fail(err, TW_NOMEM, "loop");
	*l = (struct tw_loop){ .collector = c,
			       .httpd = httpd,
			       .timer = -1,
			       .watch_timer = -1,
			       .step_timer = -1,
			       .signals = signal_fd };
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0)
		tw_fail_errno(err, errno, "epoll");
	if (l->epoll < 0 || start_timer(l, err) < 0 || start_watch(l, err) < 0 ||
	    (powercap &&
	     start_between(l, TW_POWERCAP_STEP_NS, &l->step_timer, err) < 0) ||
	    watch(l, l->timer, KIND_TIMER, err) < 0 ||
	    watch(l, l->watch_timer, KIND_WATCH, err) < 0 ||
	    watch(l, l->step_timer, KIND_STEP, err) < 0 ||
	    watch(l, signal_fd, KIND_SIGNALS, err) < 0 ||
	    watch(l, tw_httpd_fd(httpd), KIND_HTTP, err) < 0 ||
	    watch(l, c->workloads != NULL ? tw_workloads_fd(c->workloads) : -1,
		  KIND_EVENTS, err) < 0 ||
	    watch(l, c->estimates != NULL ? tw_estimates_fd(c->estimates) : -1,
		  KIND_FINDER, err) < 0 ||
	    watch(l, c->pods != NULL ? tw_pods_fd(c->pods) : -1, KIND_PODS, err) < 0 ||
	    watch(l, c->agents != NULL ? tw_agents_fd(c->agents) : -1, KIND_AGENTS, err) <
		    0 ||
	    watch(l, c->texts != NULL ? tw_texts_fd(c->texts) : -1, KIND_TEXTS, err) <
		    0) {
		tw_loop_close(l);
		return -1;
	}
	*out = l;
	return 0;
}

void tw_loop_close(struct tw_loop *l)
{
	if (l == NULL)
		return;
	if (l->timer >= 0)
		close(l->timer);
	if (l->watch_timer >= 0)
		close(l->watch_timer);
	if (l->step_timer >= 0)
		close(l->step_timer);
	if (l->epoll >= 0)
		close(l->epoll);
	free(l);
}

/* A read returns the number of expirations since the last read. */
static void run_timer(struct tw_loop *l, void (*failed)(const struct tw_err *why))
{
	struct tw_err err = { 0 };
	uint64_t count, late_ns;

	if (read(l->timer, &count, sizeof(count)) != (ssize_t)sizeof(count) || count == 0)
		return;
	l->due_ns += count * l->interval_ns;
	late_ns = tw_now_ns() - (l->due_ns - l->interval_ns);
	if (tw_collector_tick(l->collector, late_ns, count - 1, &err) < 0)
		failed(&err);
	if (l->collector->texts != NULL)
		tw_texts_tidy(l->collector->texts,
			      tw_collector_tick_number(l->collector));
}

static void run_watch(const struct tw_loop *l)
{
	uint64_t count;

	if (read(l->watch_timer, &count, sizeof(count)) == (ssize_t)sizeof(count))
		tw_power_watch(l->collector->power, tw_boot_ns());
}

static void run_step(const struct tw_loop *l)
{
	uint64_t count;

	if (read(l->step_timer, &count, sizeof(count)) == (ssize_t)sizeof(count))
		tw_powercap_step(&l->collector->powercap, tw_now_ns());
}

/* Return false on a stop signal; any other signal reloads the models. */
static bool go_on(const struct tw_loop *l)
{
	enum tw_signal signal;

	while ((signal = tw_signals_next(l->signals)) != TW_SIGNAL_NONE) {
		if (signal == TW_SIGNAL_STOP)
			return false;
		if (l->collector->estimates != NULL)
			tw_estimates_reload(l->collector->estimates);
	}
	return true;
}

int tw_loop_run(struct tw_loop *l, void (*failed)(const struct tw_err *why),
		struct tw_err *err)
{
	for (;;) {
		struct epoll_event ev[KIND_COUNT];
		const int n = epoll_wait(l->epoll, ev, KIND_COUNT,
					 tw_httpd_timeout_ms(l->httpd));

		if (n < 0 && errno != EINTR)
			return tw_fail_errno(err, errno, "epoll");
		for (int i = 0; i < n; i++) {
			if (ev[i].data.u32 == KIND_TIMER)
				run_timer(l, failed);
			else if (ev[i].data.u32 == KIND_WATCH)
				run_watch(l);
			else if (ev[i].data.u32 == KIND_STEP)
				run_step(l);
			else if (ev[i].data.u32 == KIND_EVENTS)
				tw_workloads_drain(l->collector->workloads);
			else if (ev[i].data.u32 == KIND_FINDER)
				/*
				 * A finder that exits closes its descriptor, so epoll
				 * forgets it.
				 */
				(void)tw_estimates_hear(l->collector->estimates);
			else if (ev[i].data.u32 == KIND_PODS)
				tw_pods_drain(l->collector->pods);
			else if (ev[i].data.u32 == KIND_TEXTS)
				tw_texts_hear(l->collector->texts);
			else if (ev[i].data.u32 == KIND_AGENTS)
				tw_agents_drain(l->collector->agents);
			else if (ev[i].data.u32 == KIND_SIGNALS && !go_on(l))
				return 0;
		}
		tw_httpd_run(l->httpd);
	}
}
