/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/collector.h"
#include "collector/expose/answer.h"
#include "collector/expose/expose.h"
#include "collector/expose/push.h"
#include "collector/expose/routes.h"
#include "collector/system/privilege.h"
#include "collector/texts.h"
#include "collector/workloads/workload.h"
#include "lib/ask/ask.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/http/server/expo.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the collector itself ---- */

static const struct tw_expo_family own_info[] = {
	{ "tallywatt_collector_info", TW_EXPO_INFO, NULL,
	  "Sources of tasks and cgroups." },
};

#define ROW(name, type, unit, help, object, member, per) \
	TW_EXPO_ROW("tallywatt_collector_" name, type, unit, help, object, member, per)

static const struct tw_expo_row own[] = {
	ROW("cpu_seconds_total", TW_EXPO_COUNTER, "seconds", "CPU time of the collector.",
	    struct tw_collector, stats.cpu_ns, 1e9),
	ROW("tick_cpu_seconds", TW_EXPO_GAUGE, "seconds", "CPU time of the last tick.",
	    struct tw_collector, stats.tick_cpu_ns, 1e9),
	ROW("tick_lag_seconds", TW_EXPO_GAUGE, "seconds", "Delay of the last tick.",
	    struct tw_collector, stats.lag_ns, 1e9),
	ROW("tick_time_seconds", TW_EXPO_GAUGE, "seconds",
	    "Start of the last tick, in seconds since boot.", struct tw_collector, now_ns,
	    1e9),
	ROW("ticks_total", TW_EXPO_COUNTER, NULL, "Ticks.", struct tw_collector,
	    stats.ticks, 1),
	ROW("ticks_missed_total", TW_EXPO_COUNTER, NULL,
	    "Ticks skipped because an earlier tick took too long.", struct tw_collector,
	    stats.missed, 1),
	ROW("ticks_failed_total", TW_EXPO_COUNTER, NULL,
	    "Ticks that could not read the tasks.", struct tw_collector, stats.failed, 1),
	ROW("vm_trees_left_out", TW_EXPO_GAUGE, NULL,
	    "Virtual machines without a tree in --vm-power-dir: too many, or an id that "
	    "cannot be a file name.",
	    struct tw_collector, powercap.left_out, 1),
};

/* Families of a collector that exports its own machine. */
static const struct tw_expo_row local[] = {
	ROW("processes_lost_total", TW_EXPO_COUNTER, NULL,
	    "Exited processes of which only the cgroup is known.",
	    struct tw_workloads_stats, tasks.lost, 1),
	ROW("processes_folded_total", TW_EXPO_COUNTER, NULL,
	    "Exited processes merged into their cgroup before a scrape.",
	    struct tw_workloads_stats, folded, 1),
	ROW("unseen_cpu_seconds_total", TW_EXPO_COUNTER, "seconds",
	    "CPU time of which only the cgroup is known; only with tasks from /proc.",
	    struct tw_workloads_stats, unseen_ns, 1e9),
	ROW("processes_unreadable_total", TW_EXPO_COUNTER, NULL,
	    "Processes that could not be read: permission denied.",
	    struct tw_workloads_stats, tasks.unreadable, 1),
	ROW("events_untold_total", TW_EXPO_COUNTER, NULL,
	    "Moves and new cgroups lost because the event buffer was full.",
	    struct tw_workloads_stats, tasks.untold, 1),
	ROW("events_dropped_total", TW_EXPO_COUNTER, NULL,
	    "Events dropped because memory was short.", struct tw_workloads_stats,
	    dropped, 1),
	ROW("names_refused_total", TW_EXPO_COUNTER, NULL,
	    "Names of containers and virtual machines that were not taken: another has "
	    "the id, or a user too many names.",
	    struct tw_workloads_stats, refused, 1),
	ROW("counts_failed_total", TW_EXPO_COUNTER, NULL,
	    "Failed reads of hardware counters.", struct tw_workloads_stats,
	    counter_reads_failed, 1),
	ROW("counts_lost_total", TW_EXPO_COUNTER, NULL,
	    "Context switches whose counter values were lost because the map was full.",
	    struct tw_workloads_stats, counts_lost, 1),
	ROW("traces_lost_total", TW_EXPO_COUNTER, NULL,
	    "Traced events lost because the map was full.", struct tw_workloads_stats,
	    traces_lost, 1),
};

static const struct tw_expo_table own_families[] = {
	TW_EXPO_TABLE(own_info),
	TW_EXPO_TABLE(own),
	TW_EXPO_TABLE(local),
	{ .first = NULL },
};

void tw_collector_list_metrics(struct tw_buf *out)
{
	static const struct tw_expo_table *const all[] = {
		own_families,
		tw_push_families,
		tw_node_families,
		tw_estimate_families,
		tw_workload_families,
#if TW_FLEET
		tw_agent_families,
#endif
		tw_kepler_families,
		tw_kepler_legacy_families,
	};

	for (size_t i = 0; i < TW_COUNT(all); i++)
		tw_expo_list(out, all[i]);
}

static void write_local(struct tw_expo *e, const struct tw_collector *c)
{
	const struct tw_expo_label labels[] = {
		{ "tasks", tw_workloads_source(c->workloads) },
		{ "cgroups", tw_workloads_cgroups(c->workloads) },
	};
	struct tw_workloads_stats w;

	tw_workloads_stats(c->workloads, &w);
	tw_expo_family(e, own_info);
	tw_expo_count(e, labels, TW_COUNT(labels), 1);
	tw_expo_numbers(e, local, TW_COUNT(local), &w);
}

static void drain(void *arg)
{
	tw_text_drain(arg);
}

static void write_machine(struct tw_expo *e, const struct tw_exposure *x)
{
	write_local(e, x->c);
	tw_expose_node(x);
	tw_expose_models(x);
	tw_expose_workloads(x);
	if (x->c->show.kepler)
		tw_expose_kepler(x);
	if (x->c->show.kepler_legacy)
		tw_expose_kepler_legacy(x);
}

/* ---- all metrics ---- */

/* expo.format is the caller's. */
struct metrics {
	const struct tw_collector *c;
	struct tw_expo expo;
	struct tw_exposure exposure; /* only with workloads */
};

/* scrape: tw_exposure_choose(), too. Fails only if out of memory. */
static int begin_metrics(struct metrics *m, struct tw_collector *c, bool scrape,
			 struct tw_err *err)
{
	m->c = c;
	if (c->workloads == NULL)
		return 0;
	if (tw_exposure_begin(&m->exposure, c, &m->expo, err) < 0)
		return -1;
	if (scrape)
		tw_exposure_choose(&m->exposure, c);
	return 0;
}

/* A tw_text_writer. */
static void write_metrics(void *arg, struct tw_text_out *o)
{
	struct metrics *m = arg;

	m->expo.out = &o->buf;
	m->expo.drain = drain;
	m->expo.drain_arg = o;
	tw_expo_numbers(&m->expo, own, TW_COUNT(own), m->c);
	tw_push_expose(m->c->push, &m->expo);
	if (m->c->workloads != NULL)
		write_machine(&m->expo, &m->exposure);
#if TW_FLEET
	if (m->c->agents != NULL)
		tw_expose_agents(m->c->agents, &m->expo);
#endif
	tw_expo_end(&m->expo);
}

void tw_answer_metrics(void *app, const struct tw_http_request *q,
		       struct tw_http_reply *r)
{
	struct tw_collector *c = app;
	struct metrics m = { .c = c,
			     .expo.format = tw_expo_wanted(tw_http_header(q, "Accept")) };
	const struct tw_answer a = { .kind = m.expo.format == TW_EXPO_TEXT
						     ? TW_ANSWER_METRICS_TEXT
						     : TW_ANSWER_METRICS_OPEN,
				     .content_type = tw_expo_content_type(m.expo.format),
				     .write = write_metrics,
				     .arg = &m };
	struct tw_err err = { 0 };
	/* A HEAD request is not a scrape. */
	const bool scrape = strcmp(q->method, "HEAD") != 0;

	tw_http_reply_header(r, "Vary", "Accept");
	if (tw_answer_again(c, q, r, &a))
		return;
	if (begin_metrics(&m, c, scrape, &err) < 0) {
		tw_http_reply_error(r, &err);
		return;
	}
	if (tw_answer(c, q, r, &a) && scrape && c->workloads != NULL)
		tw_workloads_scraped(c->workloads);
}

/* ---- for receivers ---- */

/* A child gives up on a helper that takes no packet for this long. */
#define PACKET_MS 30000

/* A helper that has exited makes the send fail, which ends the child. */
static bool send_packet(int fd, const void *data, size_t len)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, PACKET_MS) == 1 &&
	       send(fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len;
}

__attribute__((noreturn)) static void write_text(struct metrics *m,
						 struct tw_push_head *h, int fd)
{
	struct tw_text_out o = { .sink = NULL };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	tw_close_copies(fd, fd);
	write_metrics(m, &o);
	h->len = o.buf.len;
	if (tw_buf_failed(&o.buf) || !send_packet(fd, h, sizeof(*h)))
		_exit(1);
	for (size_t at = 0; at < h->len; at += TW_ASK_PACKET) {
		const size_t left = (size_t)h->len - at;

		if (!send_packet(fd, o.buf.data + at,
				 left < TW_ASK_PACKET ? left : TW_ASK_PACKET))
			_exit(1);
	}
	_exit(0);
}

/* -1: no memory, or no process: the helper waits until the next tick. */
static pid_t start_text(struct tw_collector *c, struct tw_push_head *h, int fd)
{
	struct metrics m = { .expo.format = TW_EXPO_OPENMETRICS };
	struct tw_err ignored = { 0 };
	pid_t pid;

	h->time_ns = c->wall_ns;
	if (begin_metrics(&m, c, true, &ignored) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		write_text(&m, h, fd);
	if (pid > 0 && c->workloads != NULL)
		tw_workloads_scraped(c->workloads);
	return pid;
}

void tw_metrics_push(struct tw_collector *c)
{
	for (int i = 0; c->push != NULL && i < TW_PUSH_COUNT; i++) {
		struct tw_push_head h;
		pid_t pid;
		int fd;

		if (!tw_push_wanted(c->push, i, &fd, &h))
			continue;
		pid = start_text(c, &h, fd);
		if (pid > 0)
			tw_push_began(c->push, i, pid);
	}
}
