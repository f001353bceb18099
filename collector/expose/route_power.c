/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/v1/power?level=,..: energy and power as JSON. */
#include "collector/collector.h"
#include "collector/expose/answer.h"
#include "collector/expose/expose.h"
#include "collector/expose/routes.h"
#include "collector/power/attribute.h"
#include "collector/power/estimates.h"
#include "collector/power/power.h"
#include "collector/power/tariff.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/json/writer.h"

#include <math.h>
#include <string.h>

/* Add the source, and whether it is an estimate. */
static void add_source(struct tw_buf *b, const char *source, bool estimated)
{
	tw_json_add_text(b, "source", source);
	tw_json_add_bool(b, "estimated", estimated);
}

/* Energy since the start, and of the last tick. */
struct sums {
	struct tw_charge total, ticked;
};

/* The power of a less b, in W; it may be below 0. */
static double watts_of(const struct tw_collector *c, uint64_t a_uj, uint64_t b_uj)
{
	return c->elapsed_ns > 0
		       ? ((double)a_uj - (double)b_uj) * 1e3 / (double)c->elapsed_ns
		       : 0;
}

/* The energy of `all` that is not in `some`, by zone. sourced: with the zones' sources.
 */
static void add_zones(struct tw_buf *b, const struct tw_exposure *x,
		      const struct sums *all, const struct sums *some, bool sourced)
{
	tw_json_add_array(b, "zones");
	for (int i = 0; i < TW_ZONE_KIND_COUNT; i++) {
		const enum tw_zone_kind kind = (enum tw_zone_kind)i;

		if (tw_exposure_source(x, kind) == NULL)
			continue;
		tw_json_add_object(b, NULL);
		tw_json_add_text(b, "zone", tw_zone_kind_name(kind));
		tw_json_add_joules(b, "dynamic_joules",
				   all->total.dynamic_uj[i] - some->total.dynamic_uj[i]);
		tw_json_add_joules(b, "idle_joules",
				   all->total.idle_uj[i] - some->total.idle_uj[i]);
		tw_json_add_number(b, "dynamic_watts",
				   watts_of(x->c, all->ticked.dynamic_uj[i],
					    some->ticked.dynamic_uj[i]));
		tw_json_add_number(
			b, "idle_watts",
			watts_of(x->c, all->ticked.idle_uj[i], some->ticked.idle_uj[i]));
		if (sourced)
			add_source(b, tw_exposure_source(x, kind),
				   tw_exposure_estimates(x, kind));
		tw_json_end_object(b);
	}
	tw_json_end_array(b);
}

static void add_workload(struct tw_text_out *o, const struct tw_exposure *x,
			 const struct tw_workload *w, struct sums *shown)
{
	static const struct sums none;
	const struct sums of = { w->charged, *tw_workloads_ticked(x->c->workloads, w) };
	struct tw_buf *b = &o->buf;
	struct tw_labels l;

	tw_charge_add(&shown->total, &of.total);
	tw_charge_add(&shown->ticked, &of.ticked);
	tw_labels_of(&l, w);
	tw_json_add_object(b, NULL);
	/* Here, as no comma is due in the emptied text. */
	tw_text_drain(o);
	tw_json_add_text(b, "level", tw_level_names[w->level]);
	for (size_t i = 0; i < l.count; i++)
		tw_json_add_text(b, l.at[i].name, l.at[i].value);
	tw_json_add_bool(b, "ended", w->ended);
	tw_json_add_number(b, "cpu_time_ms", (double)w->used.cpu_ns / 1e6);
	add_zones(b, x, &of, &none, true);
	tw_json_end_object(b);
}

/* False for a zone that another one repeats or contains: a sum must not have both. */
static bool is_used(const struct tw_power_zone *z)
{
	return tw_exposure_believes(z) || z->superseded;
}

static void add_node_zone(struct tw_buf *b, const struct tw_exposure *x,
			  const struct tw_power_zone *z)
{
	tw_json_add_object(b, NULL);
	tw_json_add_text(b, "zone", tw_zone_kind_name(z->zone->kind));
	tw_json_add_text(b, "name", z->zone->name);
	tw_json_add_text(b, "path", z->zone->path);
	add_source(b, z->source,
		   z->zone->kind == TW_ZONE_OTHER
			   ? tw_exposure_estimates(x, TW_ZONE_OTHER)
			   : z->zone->estimated);
	tw_json_add_bool(b, "used", is_used(z));
	if (z->zone->origin.source[0] != '\0') {
		tw_json_add_text(b, "origin", z->zone->origin.source);
		tw_json_add_text(b, "origin_model", z->zone->origin.model);
	}
	/* The last growth of a zone that another meter has taken over is in no other. */
	if (z->fresh || (z->superseded && z->dynamic_uj + z->idle_uj > 0)) {
		tw_json_add_joules(b, "dynamic_joules", z->dynamic_uj);
		tw_json_add_joules(b, "idle_joules", z->idle_uj);
	}
	if (!z->fresh)
		tw_json_add_text(b, "missing", z->why);
	else
		tw_json_add_number(b, "watts", z->power_w);
	if (z->fresh && z->idle_w > 0)
		tw_json_add_number(b, "idle_power_watts", z->idle_w);
	if (z->fresh)
		tw_json_add_bool(b, "idle_known", tw_power_knows_idle(x->c->power, z));
	tw_json_end_object(b);
}

/* The node, as the only workload of its level. */
static void add_node(struct tw_buf *b, const struct tw_exposure *x)
{
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(x->c->power, &count);

	tw_json_add_object(b, NULL);
	tw_json_add_text(b, "level", "node");
	tw_json_add_text(b, "node_name", tw_text(x->c->show.node_name));
	tw_json_add_array(b, "zones");
	for (size_t i = 0; i < count; i++)
		add_node_zone(b, x, &z[i]);
	tw_json_end_array(b);
	tw_json_end_object(b);
}

static void add_model(struct tw_buf *b, const struct tw_estimates *e, size_t i)
{
	const struct tw_estimate *s = tw_estimates_at(e, i);
	const struct tw_zone *z;
	size_t zones;

	tw_json_add_object(b, NULL);
	tw_json_add_text(b, "energy_source", s->source->name);
	tw_json_add_text(b, "model", tw_estimate_model(s));
	tw_json_add_text(b, "origin", s->origin);
	tw_json_add_text(b, "from", s->from);
	tw_json_add_text(b, "output", tw_output_name(s->output));
	tw_json_add_text(b, "idle", tw_estimates_hide_idle(e, s) ? "hidden" : "scaled");
	tw_json_add_bool(b, "extrapolating", s->fresh && s->outside);
	tw_json_add_number(b, "core_ratio", s->core_ratio);
	tw_json_add_uint(b, "estimates", s->rows);
	tw_json_add_uint(b, "extrapolated", s->rows_outside);
	tw_json_add_object(b, "mae_watts");
	z = tw_estimates_zones(e, &zones);
	for (size_t k = 0; k < zones; k++) {
		const double mae_w = tw_estimates_mae(e, &z[k]);

		if (tw_estimates_of_zone(e, &z[k])->source == s->source && !isnan(mae_w))
			tw_json_add_number(b, tw_zone_kind_name(z[k].kind), mae_w);
	}
	tw_json_end_object(b);
	if (s->why[0] != '\0')
		tw_json_add_text(b, "failure", s->why);
	tw_json_end_object(b);
}

/* The models of the estimates. */
static void add_models(struct tw_buf *b, const struct tw_collector *c)
{
	tw_json_add_array(b, "models");
	for (size_t i = 0; c->estimates != NULL && i < tw_estimates_count(c->estimates);
	     i++)
		add_model(b, c->estimates, i);
	tw_json_end_array(b);
}

/* The levels of a request, as bits: the node is NODE, another level is of(level). */
#define NODE 1u

static unsigned of(int level)
{
	return NODE << (level + 1);
}

/* Without a level it is the node. */
static int read_levels(const struct tw_http_request *q, unsigned *out, struct tw_err *err)
{
	const char *names[TW_LEVEL_COUNT + 2] = { "node" };

	memcpy(names + 1, tw_level_names, sizeof(tw_level_names));
	if (tw_http_query_names(q, "level", names, out, err) < 0)
		return -1;
	if (*out == 0)
		*out = NODE;
	return 0;
}

/* shown: by level; of levels that were not asked for it stays as it is. */
static void add_workloads(struct tw_text_out *o, const struct tw_exposure *x,
			  unsigned levels, struct sums shown[TW_LEVEL_COUNT])
{
	tw_json_add_array(&o->buf, "workloads");
	if (levels & NODE)
		add_node(&o->buf, x);
	for (int level = 0; level < TW_LEVEL_COUNT; level++) {
		const struct tw_workload *w = NULL;

		while ((levels & of(level)) != 0 &&
		       (w = tw_exposure_next(x, (enum tw_level)level, w)) != NULL)
			add_workload(o, x, w, &shown[level]);
	}
	tw_json_end_array(&o->buf);
}

/* ---- energy without a row ---- */

/* Add the energy of `all` that is not in `some`. */
static void add_rest(struct tw_buf *b, const struct tw_exposure *x, const char *level,
		     const struct sums *all, const struct sums *some)
{
	tw_json_add_object(b, NULL);
	tw_json_add_text(b, "level", level);
	add_zones(b, x, all, some, false);
	tw_json_end_object(b);
}

/*
 * The entry of the node has energy that no workload has; the entry of a level has energy
 * of workloads without a row. Both and the rows of the level add up to the node's energy.
 */
static void add_rests(struct tw_buf *b, const struct tw_exposure *x, unsigned levels,
		      const struct sums shown[TW_LEVEL_COUNT])
{
	const struct tw_attribution_stats *s = tw_attribution_stats(x->c->attribution);
	const struct sums all = { s->given, s->ticked };
	struct sums node = { s->given, *tw_power_ticked(x->c->power) };

	tw_charge_add(&node.total, &s->waiting);
	tw_json_add_array(b, "rest");
	add_rest(b, x, "node", &node, &all);
	for (int level = 0; level < TW_LEVEL_COUNT; level++)
		if (levels & of(level))
			add_rest(b, x, tw_level_names[level], &all, &shown[level]);
	tw_json_end_array(b);
}

/* Kinds of zones whose dynamic energy has idle energy that is not known yet. */
static unsigned idle_unknown(const struct tw_exposure *x)
{
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(x->c->power, &count);
	unsigned kinds = 0;

	for (size_t i = 0; i < count; i++)
		if (tw_exposure_believes(&z[i]) &&
		    !tw_power_knows_idle(x->c->power, &z[i]) &&
		    tw_exposure_source(x, z[i].zone->kind) != NULL)
			kinds |= 1u << z[i].zone->kind;
	return kinds;
}

/* An aggregating collector tells processes and machines apart by these members. */
static void add_identity(struct tw_buf *b, const struct tw_collector *c)
{
	tw_json_add_text(b, "node_name", tw_text(c->show.node_name));
	tw_json_add_text(b, "instance", c->instance);
	tw_json_add_text(b, "vm_id", c->vm_id);
	tw_json_add_number(b, "uptime_seconds", tw_seconds(tw_boot_ns() - c->started_ns));
	tw_json_add_number(b, "interval_seconds", (double)c->interval_ms / 1e3);
	tw_json_add_number(b, "elapsed_seconds", tw_seconds(c->elapsed_ns));
	tw_json_add_uint(b, "ticks", tw_collector_tick_number(c));
}

/* null: it is not known now. Without a tariff there is no such member. */
static void add_tariff(struct tw_buf *b, const struct tw_collector *c, const char *key,
		       enum tw_tariff tariff)
{
	const struct tw_tariff_state *s = tw_tariff_of(c->tariffs, tariff);

	if (s != NULL)
		tw_json_add_number(b, key, s->per_kwh);
}

struct power {
	unsigned levels;
	struct tw_exposure exposure;
};

static void write_power(void *arg, struct tw_text_out *o)
{
	const struct power *p = arg;
	const struct tw_collector *c = p->exposure.c;
	struct tw_buf *b = &o->buf;
	struct sums shown[TW_LEVEL_COUNT] = { 0 };

	tw_json_add_object(b, NULL);
	add_identity(b, c);
	tw_json_add_kinds(b, "sum", p->exposure.sum);
	tw_json_add_kinds(b, "idle_unknown", idle_unknown(&p->exposure));
	add_tariff(b, c, "co2e_grams_per_kwh", TW_TARIFF_CO2E);
	add_tariff(b, c, "price_per_kwh", TW_TARIFF_PRICE);
	add_workloads(o, &p->exposure, p->levels, shown);
	add_rests(b, &p->exposure, p->levels, shown);
	add_models(b, c);
	tw_json_end_object(b);
}

void tw_answer_power(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	const struct tw_collector *c = app;
	struct power p = { 0 };
	struct tw_answer a = { .content_type = "application/json",
			       .write = write_power,
			       .arg = &p };
	struct tw_err err = { 0 };

	if (tw_expose_no_machine(c, r))
		return;
	if (read_levels(q, &p.levels, &err) < 0) {
		tw_http_reply_error(r, &err);
		return;
	}
	/* Answers with the same levels share a text. */
	a.kind = TW_ANSWER_POWER + p.levels;
	a.small = p.levels == NODE;
	if (tw_answer_again(c, q, r, &a))
		return;
	if (tw_exposure_begin(&p.exposure, c, NULL, &err) < 0)
		tw_http_reply_error(r, &err);
	else
		tw_answer(c, q, r, &a);
}
