/* SPDX-License-Identifier: Apache-2.0 */
/* The open meters: those of the start, those that appear later, those that end. */
#include "collector/power/power_state.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <stdio.h>
#include <string.h>

/* Make room for more zones behind those of m; moves the zones of later meters. */
static int make_room(struct tw_power *p, const struct tw_open_meter *m, size_t more,
		     struct tw_err *err)
{
	const size_t at = m->first + m->count, all = p->zones + more;

	if (!tw_resize(&p->reading, all + 1, sizeof(*p->reading)) ||
	    !tw_resize(&p->zone, all + 1, sizeof(*p->zone)))
		return tw_fail(err, TW_NOMEM, "zones of %s", m->meter->name);
	memmove(&p->zone[at + more], &p->zone[at], (p->zones - at) * sizeof(*p->zone));
	memset(&p->zone[at], 0, more * sizeof(*p->zone));
	p->zones = all;
	if (p->has_other && p->other >= at)
		p->other += more;
	for (size_t i = 0; i < p->meters; i++)
		if (&p->meter[i] != m && p->meter[i].first >= at)
			p->meter[i].first += more;
	return 0;
}

/* Find the meters of the kinds: the most trusted ones of the zones that count. */
void tw_power_find_meters(struct tw_power *p)
{
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++)
		if (kind != TW_ZONE_OTHER)
			p->meter_of[kind] = NULL;
	for (size_t i = 0; i < p->zones; i++) {
		const struct tw_power_zone *z = &p->zone[i];
		const struct tw_meter **of = &p->meter_of[z->zone->kind];

		if (z->counts && z->zone->kind != TW_ZONE_OTHER &&
		    (*of == NULL || tw_meter_rank(z->meter) < tw_meter_rank(*of)))
			*of = z->meter;
	}
}

/* Add the zones of a meter that are new. */
static int add_zones(struct tw_power *p, struct tw_open_meter *m, struct tw_err *err)
{
	size_t count;
	const struct tw_zone *z = m->meter->zones(m->state, &count);

	if (make_room(p, m, count - m->count, err) < 0)
		return -1;
	for (size_t i = m->count; i < count; i++) {
		struct tw_power_zone *to = &p->zone[m->first + i];

		to->zone = &z[i];
		to->meter = m->meter;
		to->source = z[i].source[0] != '\0' ? z[i].source : m->meter->name;
		snprintf(to->why, sizeof(to->why), "not read yet");
	}
	for (size_t i = m->count; i < count; i++)
		tw_tree_place(p->zone, p->zones, m->first + i, p->searched_ns != 0);
	m->count = count;
	tw_power_find_meters(p);
	return 0;
}

/* Bits of the kinds of zones that meters measure; counters: only by these counters. */
unsigned tw_power_kinds_of(const struct tw_power *p, const char *counters)
{
	unsigned kinds = 0;

	for (int i = 0; i < TW_ZONE_KIND_COUNT; i++)
		if (p->meter_of[i] != NULL &&
		    (counters == NULL ||
		     (p->meter_of[i]->counters != NULL &&
		      strcmp(p->meter_of[i]->counters, counters) == 0)))
			kinds |= 1u << i;
	return kinds;
}

static int open_meter(struct tw_power *p, const struct tw_power_config *c,
		      const struct tw_meter *meter, struct tw_err *err)
{
	struct tw_open_meter *m = &p->meter[p->meters];
	struct tw_meter_config mc = c->meter;

	*m = (struct tw_open_meter){ .meter = meter, .first = p->zones };
	if (meter->counters != NULL)
		mc.skip_kinds = tw_power_kinds_of(p, meter->counters);
	mc.measured = tw_power_kinds_of(p, NULL);
	if (meter->open(&mc, &m->state, err) < 0)
		return tw_err_wrap(err, "%s", meter->name);
	p->meters++;
	return add_zones(p, m, err);
}

/* Open all meters that work; fail only if out of memory. */
static int open_any(struct tw_power *p, const struct tw_power_config *c,
		    struct tw_err *err)
{
	for (size_t i = 0; i < tw_meter_count(); i++) {
		const struct tw_meter *meter = tw_meter_at(i);
		struct tw_err why = { 0 };

		if (meter->only_by_name || open_meter(p, c, meter, &why) == 0)
			continue;
		if (why.code == TW_NOMEM)
			return tw_fail(err, TW_NOMEM, "meters");
		if (c->passed != NULL)
			c->passed(c->passed_arg, meter->name, &why);
	}
	return 0;
}

/* Open the named meters, in the order of trust. */
static int open_named(struct tw_power *p, const struct tw_power_config *c,
		      struct tw_err *err)
{
	for (size_t i = 0; i < c->meters->count; i++)
		if (tw_meter_find(c->meters->at[i]) == NULL)
			return tw_fail(err, TW_NOTFOUND, "no meter '%s'",
				       c->meters->at[i]);
	for (size_t i = 0; i < tw_meter_count(); i++)
		if (tw_strs_has(c->meters, tw_meter_at(i)->name) &&
		    open_meter(p, c, tw_meter_at(i), err) < 0)
			return -1;
	return 0;
}

int tw_power_open_meters(struct tw_power *p, struct tw_err *err)
{
	const struct tw_strs *named = p->config.meters;

	return named != NULL && named->count > 0 ? open_named(p, &p->config, err)
						 : open_any(p, &p->config, err);
}

bool tw_power_reads(const struct tw_power *p, const struct tw_meter *meter)
{
	for (size_t i = 0; i < p->meters; i++)
		if (p->meter[i].meter == meter)
			return true;
	return false;
}

/* ---- late meters, and those that end ---- */

/* True if all zones of the meter have room. Allocates if it has found more. */
bool tw_power_has_room(struct tw_power *p, struct tw_open_meter *o)
{
	struct tw_err ignored = { 0 };

	if (o->meter->grown != NULL && o->meter->grown(o->state))
		o->growing = true;
	if (o->growing && add_zones(p, o, &ignored) == 0 &&
	    tw_power_add_other(p, &ignored) == 0)
		o->growing = false;
	return !o->growing;
}

/* The 1st search, the 2nd, 4th, 8th, .., and then each 64th. */
static bool is_rare(unsigned search)
{
	return (search & (search - 1)) == 0 || search % 64 == 0;
}

static bool may_appear(const struct tw_power *p, const struct tw_meter *meter)
{
	const struct tw_strs *named = p->config.meters;

	return meter->late && p->meters < TW_METERS_MAX && !tw_power_reads(p, meter) &&
	       (named == NULL || named->count == 0) &&
	       (!meter->costly || is_rare(p->searches));
}

/* Look for meters that have appeared since the start. */
void tw_power_search(struct tw_power *p, uint64_t now_ns)
{
	const bool due =
		p->searched_ns != 0 && now_ns - p->searched_ns >= TW_POWER_SEARCH_NS;

	if (due || p->searched_ns == 0)
		p->searched_ns = now_ns;
	p->searches += due;
	for (size_t i = 0; due && i < tw_meter_count(); i++) {
		const struct tw_meter *meter = tw_meter_at(i);
		const size_t before = p->meters;
		struct tw_err why = { 0 };

		if (!may_appear(p, meter))
			continue;
		/* Without memory for its zones, an open meter gets them later. */
		if (open_meter(p, &p->config, meter, &why) < 0 && p->meters > before)
			p->meter[before].growing = true;
		else if (p->meters > before)
			(void)tw_power_add_other(p, &why);
		if (p->meters > before && p->config.found != NULL)
			p->config.found(p->config.passed_arg, meter->name);
	}
}

/* Bits of the kinds of which another meter has read all zones in this tick. */
static unsigned read_by_others(const struct tw_power *p, const struct tw_meter *meter)
{
	unsigned kinds = 0;

	for (int i = 0; i < TW_ZONE_KIND_COUNT; i++)
		if (p->meter_of[i] != meter && p->complete[i])
			kinds |= 1u << i;
	return kinds;
}

/* The zones of a meter that ends stop; nothing else has their kinds. */
static void retire(struct tw_power *p, struct tw_open_meter *o)
{
	static const char by[] = "a meter of this machine";

	o->retired = true;
	for (size_t i = o->first; i < o->first + o->count; i++)
		tw_tree_stop(&p->zone[i], by);
	tw_power_find_meters(p);
	tw_power_end_other(p, by);
}

void tw_power_retire_some(struct tw_power *p)
{
	for (size_t m = 0; m < p->meters; m++) {
		struct tw_open_meter *o = &p->meter[m];

		if (!o->retired && o->meter->retires != NULL &&
		    o->meter->retires(o->state, read_by_others(p, o->meter)))
			retire(p, o);
	}
}
