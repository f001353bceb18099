/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/v1/power?level=,..: energy and power as JSON. */
#include "collector/collector.h"
#include "collector/expose/answer.h"
#include "collector/expose/expose.h"
#include "collector/expose/routes.h"
#include "collector/power/estimates.h"
#include "collector/power/power.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Write a comma before all members but the first. */
static void begin_member(struct tw_buf *b, bool *first)
{
	if (!*first)
		tw_buf_adds(b, ",");
	*first = false;
}

static void add_text(struct tw_buf *b, const char *key, const char *value)
{
	tw_buf_addf(b, "\"%s\":", key);
	tw_buf_add_json_text(b, value, strlen(value));
}

static void add_number(struct tw_buf *b, const char *key, double value)
{
	tw_buf_addf(b, "\"%s\":", key);
	tw_buf_add_double(b, value);
}

/* Exact: a double would round microjoules from 4.5 GJ on. */
static void add_joules(struct tw_buf *b, const char *key, uint64_t uj)
{
	tw_buf_addf(b, "\"%s\":%" PRIu64 ".%06" PRIu64, key, uj / 1000000, uj % 1000000);
}

/* Add the source, and whether it is an estimate. */
static void add_source(struct tw_buf *b, const char *source, bool estimated)
{
	add_text(b, "source", source);
	tw_buf_addf(b, ",\"estimated\":%s", estimated ? "true" : "false");
}

static void add_zone_of(struct tw_buf *b, const struct tw_exposure *x,
			const struct tw_charge *total, const struct tw_charge *ticked,
			enum tw_zone_kind kind)
{
	const double per_s = x->c->elapsed_ns > 0 ? 1e3 / (double)x->c->elapsed_ns : 0;

	tw_buf_addf(b, "{");
	add_text(b, "zone", tw_zone_kind_name(kind));
	tw_buf_adds(b, ",");
	add_joules(b, "dynamic_joules", total->dynamic_uj[kind]);
	tw_buf_adds(b, ",");
	add_joules(b, "idle_joules", total->idle_uj[kind]);
	tw_buf_adds(b, ",");
	add_number(b, "dynamic_watts", (double)ticked->dynamic_uj[kind] * per_s);
	tw_buf_adds(b, ",");
	add_number(b, "idle_watts", (double)ticked->idle_uj[kind] * per_s);
	tw_buf_adds(b, ",");
	add_source(b, tw_exposure_source(x, kind), tw_exposure_estimates(x, kind));
	tw_buf_adds(b, "}");
}

static void add_workload(struct tw_buf *b, const struct tw_exposure *x,
			 const struct tw_workload *w)
{
	const struct tw_charge *ticked = tw_workloads_ticked(x->c->workloads, w);
	struct tw_labels l;
	bool first = true;

	tw_labels_of(&l, w);
	tw_buf_adds(b, "{");
	begin_member(b, &first);
	add_text(b, "level", tw_level_name(w->level));
	for (size_t i = 0; i < l.count; i++) {
		begin_member(b, &first);
		add_text(b, l.at[i].name, l.at[i].value);
	}
	tw_buf_addf(b, ",\"ended\":%s,", w->ended ? "true" : "false");
	add_number(b, "cpu_time_ms", (double)w->used.cpu_ns / 1e6);
	tw_buf_adds(b, ",\"zones\":[");
	first = true;
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++) {
		if (tw_exposure_source(x, (enum tw_zone_kind)kind) == NULL)
			continue;
		begin_member(b, &first);
		add_zone_of(b, x, &w->charged, ticked, (enum tw_zone_kind)kind);
	}
	tw_buf_adds(b, "]}");
}

/* False for a zone whose kind has a more trusted meter: a sum must not have both. */
static bool is_used(const struct tw_exposure *x, const struct tw_power_zone *z)
{
	return tw_exposure_believes(x, z) || z->superseded;
}

static void add_node_zone(struct tw_buf *b, const struct tw_exposure *x,
			  const struct tw_power_zone *z)
{
	tw_buf_adds(b, "{");
	add_text(b, "zone", tw_zone_kind_name(z->zone->kind));
	tw_buf_adds(b, ",");
	add_text(b, "name", z->zone->name);
	tw_buf_adds(b, ",");
	add_text(b, "path", z->zone->path);
	tw_buf_adds(b, ",");
	add_source(b, z->source,
		   z->zone->kind == TW_ZONE_OTHER
			   ? tw_exposure_estimates(x, TW_ZONE_OTHER)
			   : z->zone->estimated);
	tw_buf_addf(b, ",\"used\":%s,", is_used(x, z) ? "true" : "false");
	if (z->zone->origin.source[0] != '\0') {
		add_text(b, "origin", z->zone->origin.source);
		tw_buf_adds(b, ",");
		add_text(b, "origin_model", z->zone->origin.model);
		tw_buf_adds(b, ",");
	}
	/* The last growth of a zone that another meter has taken over is in no other. */
	if (z->told || (z->superseded && z->dynamic_uj + z->idle_uj > 0)) {
		add_joules(b, "dynamic_joules", z->dynamic_uj);
		tw_buf_adds(b, ",");
		add_joules(b, "idle_joules", z->idle_uj);
		tw_buf_adds(b, ",");
	}
	if (z->told) {
		add_number(b, "watts", z->power_w);
		if (z->idle_w > 0) {
			tw_buf_adds(b, ",");
			add_number(b, "idle_power_watts", z->idle_w);
		}
	} else {
		add_text(b, "missing", z->why);
	}
	tw_buf_adds(b, "}");
}

/* The node, as the only workload of its level. */
static void add_node(struct tw_buf *b, const struct tw_exposure *x)
{
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(x->c->power, &count);

	tw_buf_adds(b, "{\"level\":\"node\",");
	add_text(b, "node_name", tw_text(x->c->show.node_name));
	tw_buf_adds(b, ",\"zones\":[");
	for (size_t i = 0; i < count; i++) {
		tw_buf_adds(b, i > 0 ? "," : "");
		add_node_zone(b, x, &z[i]);
	}
	tw_buf_adds(b, "]}");
}

static void add_model(struct tw_buf *b, const struct tw_estimates *e, size_t i)
{
	const struct tw_estimate s = tw_estimates_at(e, i);
	const struct tw_zone *z;
	bool first = true;
	size_t zones;

	tw_buf_adds(b, "{");
	add_text(b, "energy_source", s.source->name);
	tw_buf_adds(b, ",");
	add_text(b, "model", tw_estimate_model(&s));
	tw_buf_adds(b, ",");
	add_text(b, "origin", s.origin);
	tw_buf_adds(b, ",");
	add_text(b, "from", s.from);
	tw_buf_addf(b, ",\"output\":\"%s\",\"idle\":\"%s\",\"extrapolating\":%s,",
		    tw_output_name(s.output),
		    tw_estimates_hide_idle(e, &s) ? "hidden" : "scaled",
		    s.told && s.outside ? "true" : "false");
	add_number(b, "core_ratio", s.core_ratio);
	tw_buf_addf(b,
		    ",\"estimates\":%" PRIu64 ",\"extrapolated\":%" PRIu64
		    ",\"mae_watts\":{",
		    s.rows, s.rows_outside);
	z = tw_estimates_zones(e, &zones);
	for (size_t k = 0; k < zones; k++) {
		const double mae_w = tw_estimates_mae(e, &z[k]);

		if (tw_estimates_of_zone(e, &z[k]).source != s.source || isnan(mae_w))
			continue;
		begin_member(b, &first);
		add_number(b, tw_zone_kind_name(z[k].kind), mae_w);
	}
	tw_buf_adds(b, "}");
	if (s.why[0] != '\0') {
		tw_buf_adds(b, ",");
		add_text(b, "failure", s.why);
	}
	tw_buf_adds(b, "}");
}

/* The models of the estimates. */
static void add_models(struct tw_buf *b, const struct tw_collector *c)
{
	tw_buf_adds(b, ",\"models\":[");
	for (size_t i = 0; c->estimates != NULL && i < tw_estimates_count(c->estimates);
	     i++) {
		tw_buf_adds(b, i > 0 ? "," : "");
		add_model(b, c->estimates, i);
	}
	tw_buf_adds(b, "]");
}

/* The levels of a request: whether the node, and which of the others. */
struct levels {
	bool node, of[TW_LEVEL_COUNT];
};

static bool find_level(const char *name, size_t len, struct levels *l)
{
	if (len == 4 && strncmp(name, "node", len) == 0) {
		l->node = true;
		return true;
	}
	for (int level = 0; level < TW_LEVEL_COUNT; level++) {
		const char *known = tw_level_name((enum tw_level)level);

		if (strlen(known) == len && strncmp(known, name, len) == 0) {
			l->of[level] = true;
			return true;
		}
	}
	return false;
}

/* Read "node,pod". NULL is the node. */
static bool read_levels(const char *text, struct levels *l)
{
	if (text == NULL) {
		l->node = true;
		return true;
	}
	for (;;) {
		const size_t len = strcspn(text, ",");

		if (!find_level(text, len, l))
			return false;
		if (text[len] == '\0')
			return true;
		text += len + 1;
	}
}

static void add_workloads(struct tw_text_out *o, const struct tw_exposure *x,
			  const struct levels *l)
{
	struct tw_buf *b = &o->buf;
	bool first = true;

	if (l->node) {
		begin_member(b, &first);
		add_node(b, x);
	}
	for (int level = 0; level < TW_LEVEL_COUNT; level++) {
		const struct tw_workload *w = NULL;

		while (l->of[level] &&
		       (w = tw_exposure_next(x, (enum tw_level)level, w)) != NULL) {
			begin_member(b, &first);
			add_workload(b, x, w);
			tw_text_drain(o);
		}
	}
}

/* An aggregating collector tells processes and machines apart by these members. */
static void add_identity(struct tw_buf *b, const struct tw_collector *c)
{
	add_text(b, "node_name", tw_text(c->show.node_name));
	tw_buf_adds(b, ",");
	add_text(b, "instance", c->instance);
	tw_buf_adds(b, ",");
	add_text(b, "vm_id", c->vm_id);
	tw_buf_adds(b, ",");
	add_number(b, "uptime_seconds", tw_seconds(tw_boot_ns() - c->started_ns));
	tw_buf_adds(b, ",");
	add_number(b, "interval_seconds", (double)c->interval_ms / 1e3);
	tw_buf_adds(b, ",");
	add_number(b, "elapsed_seconds", tw_seconds(c->elapsed_ns));
}

struct power {
	struct levels levels;
	struct tw_exposure exposure;
};

static void write_power(void *arg, struct tw_text_out *o)
{
	const struct power *p = arg;
	const struct tw_collector *c = p->exposure.c;
	struct tw_buf *b = &o->buf;

	tw_buf_adds(b, "{");
	add_identity(b, c);
	tw_buf_adds(b, ",\"sum\":");
	tw_buf_add_kinds(b, p->exposure.sum);
	tw_buf_adds(b, ",\"workloads\":[");
	add_workloads(o, &p->exposure, &p->levels);
	tw_buf_adds(b, "]");
	add_models(b, c);
	tw_buf_adds(b, "}");
}

/* Answers with the same levels share a text. */
static unsigned kind_of(const struct levels *l)
{
	unsigned bits = l->node;

	for (int level = 0; level < TW_LEVEL_COUNT; level++)
		bits |= (unsigned)l->of[level] << (level + 1);
	return TW_ANSWER_POWER + bits;
}

static bool is_node_only(const struct levels *l)
{
	return kind_of(l) == TW_ANSWER_POWER + 1;
}

static void answer_power(void *app, const struct tw_http_request *q,
			 struct tw_http_reply *r)
{
	const struct tw_collector *c = app;
	struct power p = { .levels.node = false };
	struct tw_answer a = { .content_type = "application/json",
			       .write = write_power,
			       .arg = &p };
	struct tw_err err = { 0 };

	if (tw_expose_no_machine(c, r))
		return;
	if (!read_levels(tw_http_query(q, "level"), &p.levels)) {
		tw_fail(&err, TW_INVALID,
			"level: want node, process, cgroup, container, pod, vm, job or "
			"step");
		tw_http_reply_error(r, &err);
		return;
	}
	a.kind = kind_of(&p.levels);
	a.small = is_node_only(&p.levels);
	if (tw_answer_again(c, q, r, &a))
		return;
	if (tw_exposure_begin(&p.exposure, c, NULL, &err) < 0)
		tw_http_reply_error(r, &err);
	else
		tw_answer(c, q, r, &a);
}

const struct tw_http_route tw_route_collector_power = {
	.method = "GET",
	.path = "/api/v1/power",
	.handle = answer_power,
};
