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
#include "collector/power/tree.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/json/writer.h"

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
	const struct tw_estimate *s;

	if (z == NULL)
		return;
	s = tw_estimates_of_zone(e, z);
	tw_json_add_text(&l->b, "model", tw_text(tw_estimate_model(s)));
	tw_json_add_text(&l->b, "model_from", tw_text(s->from));
	tw_json_add_watts(&l->b, "mae_watts", tw_estimates_mae(e, z));
	tw_json_add_text(&l->b, "output", tw_output_name(s->output));
	tw_json_add_text(&l->b, "idle",
			 tw_estimates_hide_idle(e, s) ? "hidden" : "scaled");
	tw_json_add_bool(&l->b, "extrapolating", s->fresh && s->outside);
}

static void add_zone(struct live *l, const struct tw_power_zone *zones, size_t i)
{
	const struct tw_power_zone *z = &zones[i];
	const char *uncounted = tw_tree_uncounted(zones, i, l->kinds);
	struct tw_buf *b = &l->b;
	/* The zone's idle power may be more than what it has: all of it is idle then. */
	const double idle_w = fmin(z->idle_w, z->power_w);
	/* Silent, beside zones of its kind that are read. */
	const bool silent = z->silent && tw_power_complete(l->c->power, z->zone->kind);

	tw_json_add_object(b, NULL);
	tw_json_add_text(b, "zone", tw_zone_kind_name(z->zone->kind));
	tw_json_add_text(b, "name", tw_text(z->zone->name));
	tw_json_add_text(b, "source", tw_text(z->meter->name));
	tw_json_add_bool(b, "estimated",
			 z->zone->kind == TW_ZONE_OTHER
				 ? tw_exposure_estimates(l->x, TW_ZONE_OTHER)
				 : z->zone->estimated);
	if (z->zone->origin.source[0] != '\0') {
		tw_json_add_text(b, "origin", z->zone->origin.source);
		tw_json_add_text(b, "origin_model", z->zone->origin.model);
	}
	add_estimate(l, z->zone);
	if (z->fresh) {
		tw_json_add_watts(b, "dynamic_watts", z->power_w - idle_w);
		tw_json_add_watts(b, "idle_watts", idle_w);
		tw_json_add_bool(b, "idle_known",
				 z->zone->kind == TW_ZONE_OTHER
					 ? tw_power_knows_idle(l->c->power, z)
					 : z->idle_w > 0);
	} else {
		tw_json_add_text(b, silent ? "silent" : "missing", tw_text(z->why));
	}
	if (z->doubt[0] != '\0')
		tw_json_add_text(b, "violation", tw_text(z->doubt));
	if (!z->counts)
		tw_json_add_bool(b, "used", false);
	if (uncounted != NULL)
		tw_json_add_text(b, "uncounted", tw_text(uncounted));
	tw_json_end_object(b);
}

static void add_node(struct live *l)
{
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(l->c->power, &count);

	tw_json_add_object(&l->b, "node");
	tw_json_add_text(&l->b, "name", tw_text(l->c->show.node_name));
	tw_json_add_array(&l->b, "zones");
	/* A rejected zone tells why it does not count. */
	for (size_t i = 0; i < count; i++)
		if (!z[i].superseded || z[i].rejected[0] != '\0')
			add_zone(l, z, i);
	tw_json_end_array(&l->b);
	tw_json_add_kinds(&l->b, "sum", l->kinds);
	tw_json_end_object(&l->b);
}

/* ---- workloads ---- */

/* Milliwatts, dynamic and idle: null where the power of the machine is unknown. */
static void add_power(struct live *l, const struct tw_workload *w)
{
	const struct tw_charge *t = tw_workloads_ticked(l->c->workloads, w);
	uint64_t dynamic_uj = 0, idle_uj = 0;

	if (l->kinds == 0 || l->c->elapsed_ns == 0) {
		tw_json_add_null(&l->b, NULL);
		tw_json_add_null(&l->b, NULL);
		return;
	}
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++) {
		if ((l->kinds >> kind & 1) == 0)
			continue;
		dynamic_uj += t->dynamic_uj[kind];
		idle_uj += t->idle_uj[kind];
	}
	tw_json_add_int(&l->b, NULL,
			llrint((double)dynamic_uj * 1e6 / (double)l->c->elapsed_ns));
	tw_json_add_int(&l->b, NULL,
			llrint((double)idle_uj * 1e6 / (double)l->c->elapsed_ns));
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

static void add_process(struct live *l, const struct tw_workload *w)
{
	l->written++;
	tw_json_add_array(&l->b, NULL);
	tw_json_add_uint(&l->b, NULL, w->serial);
	tw_json_add_uint(&l->b, NULL, group_of(w));
	tw_json_add_uint(&l->b, NULL, w->tgid);
	tw_json_add_text(&l->b, NULL, tw_text(w->comm));
	add_power(l, w);
	if (w->ended)
		tw_json_add_uint(&l->b, NULL, 1);
	tw_json_end_array(&l->b);
}

/* Processes that the client does not know, and those with power. */
static void add_processes(struct live *l)
{
	const struct tw_workload *w = NULL;

	tw_json_add_array(&l->b, "processes");
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
	tw_json_end_array(&l->b);
}

static void add_ended(struct live *l)
{
	const struct tw_workload *w = NULL;

	tw_json_add_array(&l->b, "ended");
	while (l->tick != 0 && l->c->show.level[TW_LEVEL_PROCESS] &&
	       (w = tw_workloads_next(l->c->workloads, TW_LEVEL_PROCESS, w)) != NULL) {
		if (w->serial <= l->after && tw_workloads_ended_since(w, l->tick))
			tw_json_add_uint(&l->b, NULL, w->serial);
	}
	tw_json_end_array(&l->b);
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
	tw_json_add_text(&l->b, NULL, tw_text(name));
	tw_json_add_text(&l->b, NULL, tw_text(runtime));
	tw_json_add_text(&l->b, NULL, tw_text(id));
}

static void add_group(struct live *l, const struct tw_workload *w)
{
	const struct tw_workload *in = w->level == TW_LEVEL_CONTAINER ? w->pod : NULL;

	tw_json_add_array(&l->b, NULL);
	tw_json_add_uint(&l->b, NULL, w->serial);
	tw_json_add_uint(&l->b, NULL, in != NULL ? in->serial : 0);
	tw_json_add_text(&l->b, NULL, tw_level_names[w->level]);
	add_names(l, w);
	add_power(l, w);
	tw_json_add_uint(&l->b, NULL, w->members);
	tw_json_end_array(&l->b);
}

/* Pods, containers, VMs, and the cgroups that are in none: always all that live. */
static void add_groups(struct live *l)
{
	tw_json_add_array(&l->b, "groups");
	for (int level = TW_LEVEL_CGROUP; level <= TW_LEVEL_VM; level++) {
		const struct tw_workload *w = NULL;

		while (l->c->show.level[level] &&
		       (w = tw_workloads_next(l->c->workloads, (enum tw_level)level,
					      w)) != NULL)
			if (w->owner == NULL && (w->members > 0 || has_power(l, w)))
				add_group(l, w);
	}
	tw_json_end_array(&l->b);
}

/* ---- the answer ---- */

static uint64_t ms_since(uint64_t ns)
{
	return (tw_boot_ns() - ns) / 1000000;
}

static void write_live(struct live *l)
{
	struct tw_buf *b = &l->b;

	tw_json_add_object(b, NULL);
	tw_json_add_uint(b, "tick", tw_workloads_tick_number(l->c->workloads));
	tw_json_add_uint(b, "age_ms", ms_since(l->c->now_ns));
	tw_json_add_uint(b, "interval_ms", l->c->interval_ms);
	tw_json_add_bool(b, "whole", l->tick == 0);
	add_node(l);
	add_processes(l);
	add_ended(l);
	add_groups(l);
	tw_json_add_uint(b, "newest", l->newest);
	tw_json_add_uint(b, "living", l->living);
	tw_json_add_uint(b, "left_out", l->left_out);
	tw_json_add_text(b, "task_source", tw_workloads_source(l->c->workloads));
	tw_json_add_bool(b, "agents", l->c->agents != NULL);
	tw_json_end_object(b);
}

void tw_answer_live(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	const struct tw_collector *c = app;
	struct live l = { .c = c };
	struct tw_exposure x = { .c = c };
	struct tw_err err = { 0 };

	if (tw_expose_no_machine(c, r))
		return;
	l.x = &x;
	l.kinds = tw_power_sum_kinds(c->power);
	if (tw_http_query_count(q, "tick", &l.tick, &err) < 0 ||
	    tw_http_query_count(q, "newest", &l.after, &err) < 0) {
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
