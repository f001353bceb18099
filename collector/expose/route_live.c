/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /api/v1/live: the power of the last tick, small enough to be asked for after each
 * tick. The first request gets all living workloads. A later request names the last tick
 * and the newest workload that the client knows, and gets the changes: powers that are
 * not 0, new processes, and ended processes.
 */
#include "collector/collector.h"
#include "collector/expose/expose.h"
#include "collector/expose/routes.h"
#include "collector/power/estimates.h"
#include "collector/power/power.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/json/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Processes of an answer; those beyond are counted. */
#define PROCESSES_MAX 20000

/* An answer that is being written. */
struct live {
	struct tw_buf b;
	const struct tw_collector *c;
	const struct tw_exposure *x;
	unsigned kinds; /* of the sum */
	uint64_t tick;  /* of the client's last answer; 0: none */
	uint64_t after; /* the newest workload that the client knows */
	uint64_t newest;
	size_t living, written, left_out;
};

static void add_text(struct tw_buf *b, const char *value)
{
	value = tw_text(value);
	tw_buf_add_json_text(b, value, strlen(value));
}

/* ---- the node ---- */

/* The zone of the estimates that a meter's zone is; NULL: it is measured. */
static const struct tw_zone *find_estimated(const struct tw_estimates *e,
					    const struct tw_zone *z)
{
	size_t count = 0;
	const struct tw_zone *of = e != NULL ? tw_estimates_zones(e, &count) : NULL;

	for (size_t i = 0; i < count; i++)
		if (of[i].kind == z->kind && strcmp(of[i].path, z->path) == 0)
			return &of[i];
	return NULL;
}

/* The estimate of a zone: its model, and how far it may be trusted. */
static void add_estimate(struct live *l, const struct tw_zone *metered)
{
	const struct tw_estimates *e = l->c->estimates;
	const struct tw_zone *z = find_estimated(e, metered);
	struct tw_estimate s;

	if (z == NULL)
		return;
	s = tw_estimates_of_zone(e, z);
	tw_buf_adds(&l->b, ",\"model\":");
	add_text(&l->b, tw_estimate_model(&s));
	tw_buf_adds(&l->b, ",\"model_from\":");
	add_text(&l->b, s.from);
	tw_buf_adds(&l->b, ",\"mae_watts\":");
	tw_buf_add_watts(&l->b, tw_estimates_mae(e, z));
	tw_buf_addf(&l->b, ",\"output\":\"%s\",\"idle\":\"%s\",\"extrapolating\":%s",
		    tw_output_name(s.output),
		    tw_estimates_hide_idle(e, &s) ? "hidden" : "scaled",
		    s.told && s.outside ? "true" : "false");
}

static void add_zone(struct live *l, const struct tw_power_zone *z)
{
	struct tw_buf *b = &l->b;
	/* The zone's idle power may be more than what it has: all of it is idle then. */
	const double idle_w = fmin(z->idle_w, z->power_w);
	/* Silent, beside zones of its kind that are read. */
	const bool silent = z->silent && tw_power_complete(l->c->power, z->zone->kind);

	tw_buf_addf(b, "{\"zone\":\"%s\",\"name\":", tw_zone_kind_name(z->zone->kind));
	add_text(b, z->zone->name);
	tw_buf_adds(b, ",\"source\":");
	add_text(b, z->meter->name);
	tw_buf_addf(b, ",\"estimated\":%s",
		    (z->zone->kind == TW_ZONE_OTHER
			     ? tw_exposure_estimates(l->x, TW_ZONE_OTHER)
			     : z->zone->estimated)
			    ? "true"
			    : "false");
	if (z->zone->origin.source[0] != '\0') {
		tw_buf_adds(b, ",\"origin\":");
		add_text(b, z->zone->origin.source);
		tw_buf_adds(b, ",\"origin_model\":");
		add_text(b, z->zone->origin.model);
	}
	add_estimate(l, z->zone);
	if (z->told) {
		tw_buf_adds(b, ",\"dynamic_watts\":");
		tw_buf_add_watts(b, z->power_w - idle_w);
		tw_buf_adds(b, ",\"idle_watts\":");
		tw_buf_add_watts(b, idle_w);
		tw_buf_addf(b, ",\"idle_known\":%s", z->idle_w > 0 ? "true" : "false");
	} else {
		tw_buf_adds(b, silent ? ",\"silent\":" : ",\"missing\":");
		add_text(b, z->why);
	}
	if (tw_power_meter(l->c->power, z->zone->kind) != z->meter)
		tw_buf_adds(b, ",\"used\":false");
	tw_buf_adds(b, "}");
}

static void add_node(struct live *l)
{
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(l->c->power, &count);
	bool first = true;

	tw_buf_adds(&l->b, ",\"node\":{\"name\":");
	add_text(&l->b, l->c->show.node_name);
	tw_buf_adds(&l->b, ",\"zones\":[");
	for (size_t i = 0; i < count; i++) {
		if (z[i].superseded)
			continue;
		tw_buf_adds(&l->b, first ? "" : ",");
		first = false;
		add_zone(l, &z[i]);
	}
	tw_buf_adds(&l->b, "],\"sum\":");
	tw_buf_add_kinds(&l->b, l->kinds);
	tw_buf_adds(&l->b, "}");
}

/* ---- workloads ---- */

/* Milliwatts, dynamic and idle: null where the power of the machine is unknown. */
static void add_power(struct live *l, const struct tw_workload *w)
{
	const struct tw_charge *t = tw_workloads_ticked(l->c->workloads, w);
	uint64_t dynamic_uj = 0, idle_uj = 0;

	if (l->kinds == 0 || l->c->elapsed_ns == 0) {
		tw_buf_adds(&l->b, ",null,null");
		return;
	}
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++) {
		if ((l->kinds >> kind & 1) == 0)
			continue;
		dynamic_uj += t->dynamic_uj[kind];
		idle_uj += t->idle_uj[kind];
	}
	tw_buf_addf(&l->b, ",%.0f,%.0f",
		    (double)dynamic_uj * 1e6 / (double)l->c->elapsed_ns,
		    (double)idle_uj * 1e6 / (double)l->c->elapsed_ns);
}

static bool has_power(const struct live *l, const struct tw_workload *w)
{
	return tw_charge_sum(tw_workloads_ticked(l->c->workloads, w), l->kinds) > 0;
}

/* The group that shows a process: its container or VM, else its cgroup. */
static uint64_t group_of(const struct tw_workload *p)
{
	const struct tw_workload *of = p->owner != NULL ? p->owner : p->cgroup;

	return of != NULL ? of->serial : 0;
}

static void add_separator(struct live *l)
{
	tw_buf_adds(&l->b, l->written++ > 0 ? "," : "");
}

static void add_process(struct live *l, const struct tw_workload *w)
{
	add_separator(l);
	tw_buf_addf(&l->b, "[%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",", w->serial,
		    group_of(w), w->tgid);
	add_text(&l->b, w->comm);
	add_power(l, w);
	tw_buf_adds(&l->b, w->ended ? ",1]" : "]");
}

/* Processes that the client does not know, and those with power. */
static void add_processes(struct live *l)
{
	const struct tw_workload *w = NULL;

	tw_buf_adds(&l->b, ",\"processes\":[");
	while (l->c->show.level[TW_LEVEL_PROCESS] &&
	       (w = tw_workloads_next(l->c->workloads, TW_LEVEL_PROCESS, w)) != NULL) {
		l->living += !w->ended;
		if (w->serial > l->newest)
			l->newest = w->serial;
		if ((w->ended || w->serial <= l->after) && !has_power(l, w))
			continue;
		if (l->written < PROCESSES_MAX)
			add_process(l, w);
		else
			l->left_out++;
	}
	tw_buf_adds(&l->b, "]");
}

static void add_ended(struct live *l)
{
	const struct tw_workload *w = NULL;

	l->written = 0;
	tw_buf_adds(&l->b, ",\"ended\":[");
	while (l->tick != 0 && l->c->show.level[TW_LEVEL_PROCESS] &&
	       (w = tw_workloads_next(l->c->workloads, TW_LEVEL_PROCESS, w)) != NULL) {
		if (w->serial > l->after || !tw_workloads_ended_since(w, l->tick))
			continue;
		add_separator(l);
		tw_buf_addf(&l->b, "%" PRIu64, w->serial);
	}
	tw_buf_adds(&l->b, "]");
}

/* The name of a group, and more of it: the runtime and the id, or the path. */
static void add_names(struct live *l, const struct tw_workload *w)
{
	const struct tw_identity *who = w->who;
	const char *name = "", *runtime = who->runtime, *id = who->id;

	if (w->level == TW_LEVEL_CONTAINER) {
		name = w->container_name;
	} else if (w->level == TW_LEVEL_VM) {
		name = who->name;
	} else if (w->level == TW_LEVEL_POD) {
		name = w->pod_name;
		runtime = w->pod_namespace;
		id = who->pod_uid;
	} else {
		name = who->unit;
		runtime = "";
		id = w->path;
	}
	add_text(&l->b, name);
	tw_buf_adds(&l->b, ",");
	add_text(&l->b, runtime);
	tw_buf_adds(&l->b, ",");
	add_text(&l->b, id);
}

static void add_group(struct live *l, const struct tw_workload *w)
{
	const struct tw_workload *in = w->level == TW_LEVEL_CONTAINER ? w->pod : NULL;

	add_separator(l);
	tw_buf_addf(&l->b, "[%" PRIu64 ",%" PRIu64 ",\"%s\",", w->serial,
		    in != NULL ? in->serial : 0, tw_level_name(w->level));
	add_names(l, w);
	add_power(l, w);
	tw_buf_addf(&l->b, ",%" PRIu32 "]", w->members);
}

/* Pods, containers, VMs, and the cgroups that are in none: always all that live. */
static void add_groups(struct live *l)
{
	l->written = 0;
	tw_buf_adds(&l->b, ",\"groups\":[");
	for (int level = TW_LEVEL_CGROUP; level <= TW_LEVEL_VM; level++) {
		const struct tw_workload *w = NULL;

		while (l->c->show.level[level] &&
		       (w = tw_workloads_next(l->c->workloads, (enum tw_level)level,
					      w)) != NULL)
			if (w->owner == NULL && (w->members > 0 || has_power(l, w)))
				add_group(l, w);
	}
	tw_buf_adds(&l->b, "]");
}

/* ---- the answer ---- */

static uint64_t ms_since(uint64_t ns)
{
	return (tw_boot_ns() - ns) / 1000000;
}

static void write_live(struct live *l)
{
	tw_buf_addf(&l->b,
		    "{\"tick\":%" PRIu64 ",\"age_ms\":%" PRIu64
		    ",\"interval_ms\":%" PRIu64 ",\"whole\":%s",
		    tw_workloads_tick_number(l->c->workloads), ms_since(l->c->now_ns),
		    l->c->interval_ms, l->tick == 0 ? "true" : "false");
	add_node(l);
	add_processes(l);
	add_ended(l);
	add_groups(l);
	tw_buf_addf(&l->b,
		    ",\"newest\":%" PRIu64 ",\"living\":%zu,\"left_out\":%zu,"
		    "\"task_source\":\"%s\",\"agents\":%s}",
		    l->newest, l->living, l->left_out,
		    tw_workloads_source(l->c->workloads),
		    l->c->agents != NULL ? "true" : "false");
}

static void answer_live(void *app, const struct tw_http_request *q,
			struct tw_http_reply *r)
{
	const struct tw_collector *c = app;
	struct live l = { .c = c };
	struct tw_exposure x = { .c = c };
	struct tw_err err = { 0 };

	if (tw_expose_no_machine(c, r))
		return;
	l.x = &x;
	l.kinds = tw_power_sum_kinds(c->power);
	if (tw_query_count(q, "tick", &l.tick, &err) < 0 ||
	    tw_query_count(q, "newest", &l.after, &err) < 0) {
		tw_http_reply_error(r, &err);
		return;
	}
	if (l.tick != 0 && l.tick == tw_workloads_tick_number(c->workloads)) {
		r->status = 204;
		return;
	}
	/* The client knows a tick of an earlier collector process: send everything. */
	if (l.tick == 0 || l.tick > tw_workloads_tick_number(c->workloads))
		l.tick = l.after = 0;
	l.newest = l.after;
	write_live(&l);
	tw_http_reply_buf(r, &l.b);
}

const struct tw_http_route tw_route_collector_live = {
	.method = "GET",
	.path = "/api/v1/live",
	.handle = answer_live,
};
