/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/collector.h"
#include "collector/exporter.h"
#include "collector/workload.h"
#include "lib/buf.h"
#include "lib/expo.h"

#include <inttypes.h>
#include <stdio.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- workloads ---- */

static const char *or_empty(const char *text)
{
	return text != NULL ? text : "";
}

static const char *owner_id(const struct tw_workload *w, enum tw_level level)
{
	return w->owner != NULL && w->owner->level == level ? w->owner->who->id : "";
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static void write_processes(struct tw_expo *e, const struct tw_workloads *t)
{
	static const struct tw_expo_family family = {
		.name = "tallywatt_process_cpu_seconds_total",
		.type = TW_EXPO_COUNTER,
		.unit = "seconds",
		.help = "CPU time of a process, its threads together.",
	};
	const struct tw_workload *w = NULL;

	tw_expo_family(e, &family);
	while ((w = tw_workloads_next(t, TW_LEVEL_PROCESS, w)) != NULL) {
		char pid[16], serial[24];
		const struct tw_expo_label labels[] = {
			{ "pid", pid },
			{ "serial", serial },
			{ "command", w->comm },
			{ "cgroup", or_empty(w->cgroup->path) },
			{ "container_id", owner_id(w, TW_LEVEL_CONTAINER) },
			{ "vm_id", owner_id(w, TW_LEVEL_VM) },
		};

		snprintf(pid, sizeof(pid), "%" PRIu32, w->tgid);
		snprintf(serial, sizeof(serial), "%" PRIu64, w->serial);
		if (w->used.cpu_ns != 0)
			tw_expo_sample(e, labels, COUNT(labels), seconds(w->used.cpu_ns));
	}
}

static void write_cgroups(struct tw_expo *e, const struct tw_workloads *t)
{
	static const struct tw_expo_family family = {
		.name = "tallywatt_cgroup_cpu_seconds_total",
		.type = TW_EXPO_COUNTER,
		.unit = "seconds",
		.help = "CPU time in a cgroup, without those below it.",
	};
	const struct tw_workload *w = NULL;

	tw_expo_family(e, &family);
	while ((w = tw_workloads_next(t, TW_LEVEL_CGROUP, w)) != NULL) {
		char id[24];
		const struct tw_expo_label labels[] = {
			{ "cgroup_id", id },
			{ "cgroup", or_empty(w->path) },
			{ "unit", w->who->unit },
			{ "container_id", owner_id(w, TW_LEVEL_CONTAINER) },
			{ "vm_id", owner_id(w, TW_LEVEL_VM) },
		};

		snprintf(id, sizeof(id), "%" PRIu64, w->cgroup_id);
		if (w->used.cpu_ns != 0)
			tw_expo_sample(e, labels, COUNT(labels), seconds(w->used.cpu_ns));
	}
}

static void write_containers(struct tw_expo *e, const struct tw_workloads *t)
{
	static const struct tw_expo_family family = {
		.name = "tallywatt_container_cpu_seconds_total",
		.type = TW_EXPO_COUNTER,
		.unit = "seconds",
		.help = "CPU time in a container.",
	};
	const struct tw_workload *w = NULL;

	tw_expo_family(e, &family);
	while ((w = tw_workloads_next(t, TW_LEVEL_CONTAINER, w)) != NULL) {
		const struct tw_expo_label labels[] = {
			{ "container_id", w->who->id },
			{ "runtime", or_empty(w->who->runtime) },
			{ "pod_id", w->who->pod_uid },
		};

		tw_expo_sample(e, labels, COUNT(labels), seconds(w->used.cpu_ns));
	}
}

static void write_pods(struct tw_expo *e, const struct tw_workloads *t)
{
	static const struct tw_expo_family family = {
		.name = "tallywatt_pod_cpu_seconds_total",
		.type = TW_EXPO_COUNTER,
		.unit = "seconds",
		.help = "CPU time in the containers of a pod.",
	};
	const struct tw_workload *w = NULL;

	tw_expo_family(e, &family);
	while ((w = tw_workloads_next(t, TW_LEVEL_POD, w)) != NULL) {
		const struct tw_expo_label label = { "pod_id", w->who->pod_uid };

		tw_expo_sample(e, &label, 1, seconds(w->used.cpu_ns));
	}
}

static void write_vms(struct tw_expo *e, const struct tw_workloads *t)
{
	static const struct tw_expo_family family = {
		.name = "tallywatt_vm_cpu_seconds_total",
		.type = TW_EXPO_COUNTER,
		.unit = "seconds",
		.help = "CPU time of a virtual machine on its host.",
	};
	const struct tw_workload *w = NULL;

	tw_expo_family(e, &family);
	while ((w = tw_workloads_next(t, TW_LEVEL_VM, w)) != NULL) {
		const struct tw_expo_label labels[] = {
			{ "vm_id", w->who->id },
			{ "vm_name", w->who->name },
			{ "hypervisor", or_empty(w->who->runtime) },
		};

		tw_expo_sample(e, labels, COUNT(labels), seconds(w->used.cpu_ns));
	}
}

/* ---- the collector itself ---- */

static const struct tw_expo_family own_info = {
	.name = "tallywatt_collector_info",
	.type = TW_EXPO_INFO,
	.help = "Where tasks and their cgroups are read.",
};

/* One number without labels each. */
static const struct tw_expo_family own[] = {
	{ "tallywatt_collector_cpu_seconds_total", TW_EXPO_COUNTER, "seconds",
	  "CPU time of the collector." },
	{ "tallywatt_collector_tick_cpu_seconds", TW_EXPO_GAUGE, "seconds",
	  "CPU time of the last tick." },
	{ "tallywatt_collector_tick_lag_seconds", TW_EXPO_GAUGE, "seconds",
	  "How late the last tick began." },
	{ "tallywatt_collector_tick_time_seconds", TW_EXPO_GAUGE, "seconds",
	  "When the last tick began: seconds since boot." },
	{ "tallywatt_collector_ticks_total", TW_EXPO_COUNTER, NULL, "Ticks." },
	{ "tallywatt_collector_ticks_missed_total", TW_EXPO_COUNTER, NULL,
	  "Ticks that fell out because one before took too long." },
	{ "tallywatt_collector_ticks_failed_total", TW_EXPO_COUNTER, NULL,
	  "Ticks whose tasks could not be read." },
	{ "tallywatt_collector_processes_lost_total", TW_EXPO_COUNTER, NULL,
	  "Ended processes that are known by their cgroup only." },
	{ "tallywatt_collector_processes_folded_total", TW_EXPO_COUNTER, NULL,
	  "Ended processes that gave place before a scrape." },
	{ "tallywatt_collector_processes_unreadable_total", TW_EXPO_COUNTER, NULL,
	  "Reads of processes that were denied." },
	{ "tallywatt_collector_events_untold_total", TW_EXPO_COUNTER, NULL,
	  "Moves and new cgroups that were not told for want of room." },
	{ "tallywatt_collector_events_dropped_total", TW_EXPO_COUNTER, NULL,
	  "Events without effect, for want of memory." },
};

static void write_own(struct tw_expo *e, const struct tw_collector *c)
{
	const struct tw_expo_label labels[] = {
		{ "tasks", tw_workloads_source(c->workloads) },
		{ "cgroups", tw_workloads_cgroups(c->workloads) },
	};
	struct tw_workloads_stats w;

	tw_workloads_stats(c->workloads, &w);
	const double value[COUNT(own)] = {
		seconds(c->stats.cpu_ns), seconds(c->stats.tick_cpu_ns),
		seconds(c->stats.lag_ns), seconds(c->now_ns),
		(double)c->stats.ticks,   (double)c->stats.missed,
		(double)c->stats.failed,  (double)w.tasks.lost,
		(double)w.folded,         (double)w.tasks.unreadable,
		(double)w.tasks.untold,   (double)w.dropped,
	};

	tw_expo_family(e, &own_info);
	tw_expo_count(e, labels, COUNT(labels), 1);
	for (size_t i = 0; i < COUNT(own); i++) {
		tw_expo_family(e, &own[i]);
		tw_expo_sample(e, NULL, 0, value[i]);
	}
}

static void answer_metrics(void *app, const struct tw_http_request *q,
			   struct tw_http_reply *r)
{
	struct tw_collector *c = app;
	struct tw_buf b = { 0 };
	struct tw_expo e = { .out = &b,
			     .format = tw_expo_wanted(tw_http_header(q, "Accept")) };
	struct tw_err err = { 0 };
	char *body;
	size_t len;

	write_cgroups(&e, c->workloads);
	write_containers(&e, c->workloads);
	write_own(&e, c);
	write_pods(&e, c->workloads);
	write_processes(&e, c->workloads);
	write_vms(&e, c->workloads);
	tw_expo_end(&e);
	body = tw_buf_detach(&b, &len);
	if (body == NULL) {
		tw_fail(&err, TW_NOMEM, "answer");
		tw_http_reply_error(r, &err);
		return;
	}
	tw_workloads_scraped(c->workloads);
	r->content_type = tw_expo_content_type(e.format);
	tw_http_reply_take(r, body, len);
}

const struct tw_http_route tw_route_collector_metrics = {
	.method = "GET",
	.path = "/metrics",
	.handle = answer_metrics,
};
