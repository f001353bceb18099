/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/collector.h"
#include "collector/expose/answer.h"
#include "collector/expose/expose.h"
#include "collector/expose/routes.h"
#include "collector/workloads/workload.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/http/server/expo.h"

#include <string.h>

/* ---- the collector itself ---- */

static const struct tw_expo_family own_info = {
	.name = "tallywatt_collector_info",
	.type = TW_EXPO_INFO,
	.help = "Sources of tasks and cgroups.",
};

/* Metrics without labels: of any collector, and of one with a local machine. */
static const struct tw_expo_family own[] = {
	{ "tallywatt_collector_cpu_seconds_total", TW_EXPO_COUNTER, "seconds",
	  "CPU time of the collector." },
	{ "tallywatt_collector_tick_cpu_seconds", TW_EXPO_GAUGE, "seconds",
	  "CPU time of the last tick." },
	{ "tallywatt_collector_tick_lag_seconds", TW_EXPO_GAUGE, "seconds",
	  "Delay of the last tick." },
	{ "tallywatt_collector_tick_time_seconds", TW_EXPO_GAUGE, "seconds",
	  "Start of the last tick, in seconds since boot." },
	{ "tallywatt_collector_ticks_total", TW_EXPO_COUNTER, NULL, "Ticks." },
	{ "tallywatt_collector_ticks_missed_total", TW_EXPO_COUNTER, NULL,
	  "Ticks skipped because an earlier tick took too long." },
	{ "tallywatt_collector_ticks_failed_total", TW_EXPO_COUNTER, NULL,
	  "Ticks that could not read the tasks." },
};

static const struct tw_expo_family local[] = {
	{ "tallywatt_collector_processes_lost_total", TW_EXPO_COUNTER, NULL,
	  "Exited processes of which only the cgroup is known." },
	{ "tallywatt_collector_processes_folded_total", TW_EXPO_COUNTER, NULL,
	  "Exited processes merged into their cgroup before a scrape." },
	{ "tallywatt_collector_unseen_cpu_seconds_total", TW_EXPO_COUNTER, "seconds",
	  "CPU time of which only the cgroup is known; only with tasks from /proc." },
	{ "tallywatt_collector_processes_unreadable_total", TW_EXPO_COUNTER, NULL,
	  "Processes that could not be read: permission denied." },
	{ "tallywatt_collector_events_untold_total", TW_EXPO_COUNTER, NULL,
	  "Moves and new cgroups lost because the event buffer was full." },
	{ "tallywatt_collector_events_dropped_total", TW_EXPO_COUNTER, NULL,
	  "Events dropped because memory was short." },
	{ "tallywatt_collector_counts_failed_total", TW_EXPO_COUNTER, NULL,
	  "Failed reads of hardware counters." },
	{ "tallywatt_collector_counts_lost_total", TW_EXPO_COUNTER, NULL,
	  "Context switches whose counter values were lost because the map was full." },
	{ "tallywatt_collector_traces_lost_total", TW_EXPO_COUNTER, NULL,
	  "Traced events lost because the map was full." },
};

static void write_families(struct tw_expo *e, const struct tw_expo_family *f,
			   const double *value, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		tw_expo_family(e, &f[i]);
		tw_expo_sample(e, NULL, 0, value[i]);
	}
}

static void write_own(struct tw_expo *e, const struct tw_collector *c)
{
	const double value[TW_COUNT(own)] = {
		tw_seconds(c->stats.cpu_ns), tw_seconds(c->stats.tick_cpu_ns),
		tw_seconds(c->stats.lag_ns), tw_seconds(c->now_ns),
		(double)c->stats.ticks,      (double)c->stats.missed,
		(double)c->stats.failed,
	};

	write_families(e, own, value, TW_COUNT(own));
}

static void write_local(struct tw_expo *e, const struct tw_collector *c)
{
	const struct tw_expo_label labels[] = {
		{ "tasks", tw_workloads_source(c->workloads) },
		{ "cgroups", tw_workloads_cgroups(c->workloads) },
	};
	struct tw_workloads_stats w;

	tw_workloads_stats(c->workloads, &w);
	const double value[TW_COUNT(local)] = {
		(double)w.tasks.lost,           (double)w.folded,
		tw_seconds(w.unseen_ns),        (double)w.tasks.unreadable,
		(double)w.tasks.untold,         (double)w.dropped,
		(double)w.counter_reads_failed, (double)w.counts_lost,
		(double)w.traces_lost,
	};

	tw_expo_family(e, &own_info);
	tw_expo_count(e, labels, TW_COUNT(labels), 1);
	write_families(e, local, value, TW_COUNT(local));
}

static void drain(void *arg)
{
	tw_text_drain(arg);
}

struct metrics {
	const struct tw_collector *c;
	struct tw_expo expo;
	struct tw_exposure exposure; /* only with workloads */
};

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

static void write_metrics(void *arg, struct tw_text_out *o)
{
	struct metrics *m = arg;

	m->expo.out = &o->buf;
	m->expo.drain = drain;
	m->expo.drain_arg = o;
	write_own(&m->expo, m->c);
	if (m->c->workloads != NULL)
		write_machine(&m->expo, &m->exposure);
	if (m->c->agents != NULL)
		tw_expose_agents(m->c->agents, &m->expo);
	tw_expo_end(&m->expo);
}

static void answer_metrics(void *app, const struct tw_http_request *q,
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
	/* A HEAD request is no scrape. */
	const bool scrape = strcmp(q->method, "HEAD") != 0;

	if (tw_answer_again(c, q, r, &a))
		return;
	if (c->workloads != NULL &&
	    tw_exposure_begin(&m.exposure, c, &m.expo, &err) < 0) {
		tw_http_reply_error(r, &err);
		return;
	}
	if (scrape && c->workloads != NULL)
		tw_exposure_choose(&m.exposure, c);
	if (tw_answer(c, q, r, &a) && scrape && c->workloads != NULL)
		tw_workloads_scraped(c->workloads);
}

const struct tw_http_route tw_route_collector_metrics = {
	.method = "GET",
	.path = "/metrics",
	.handle = answer_metrics,
};
