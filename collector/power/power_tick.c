/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/power.h"

#include "collector/power/guard.h"
#include "collector/system/roots.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "profiler/cpu_identity.h"
#include "profiler/discover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define METERS_MAX 32

/* An open meter; its zones start at index first. */
struct open_meter {
	const struct tw_meter *meter;
	void *state;
	size_t first, count;
	bool growing; /* it has found more zones than there is room for */
	bool retired; /* it is not read any more */
};

struct tw_power {
	struct tw_power_config config;
	uint64_t searched_ns; /* time of the last search; 0: none yet */
	struct open_meter meter[METERS_MAX];
	size_t meters;
	struct tw_power_zone *zone;
	size_t zones;
	struct tw_reading *reading; /* readings of one meter; as many as all zones */
	const struct tw_meter *meter_of[TW_ZONE_KIND_COUNT];
	bool complete[TW_ZONE_KIND_COUNT], some_read[TW_ZONE_KIND_COUNT];
	struct tw_charge ticked;
	struct tw_uses uses;
	bool has_other;
	size_t other; /* index of that zone */
	/*
	 * Energy of "other" that later ticks add, or subtract if below 0; its idle part;
	 * the time in which it was used.
	 */
	int64_t kept_uj, kept_idle_uj;
	uint64_t kept_ns;
	bool lost; /* in this tick: the energy of a zone before it will never be told */
	struct tw_power_guard guard;
	double tdp_w; /* design power of a processor; 0: unknown */
};

/* "other" is computed from zones of these kinds. */
#define OTHER_OF                                                               \
	(1U << TW_ZONE_PLATFORM | 1U << TW_ZONE_PACKAGE | 1U << TW_ZONE_DRAM | \
	 1U << TW_ZONE_GPU)

/* Make room for more zones behind those of m; moves the zones of later meters. */
static int make_room(struct tw_power *p, const struct open_meter *m, size_t more,
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
static void find_meters(struct tw_power *p)
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
static int add_zones(struct tw_power *p, struct open_meter *m, struct tw_err *err)
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
	find_meters(p);
	return 0;
}

/* Bits of the kinds of zones that meters measure; counters: only by these counters. */
static unsigned kinds_of(const struct tw_power *p, const char *counters)
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
	struct open_meter *m = &p->meter[p->meters];
	struct tw_meter_config mc = c->meter;

	*m = (struct open_meter){ .meter = meter, .first = p->zones };
	if (meter->counters != NULL)
		mc.skip_kinds = kinds_of(p, meter->counters);
	mc.measured = kinds_of(p, NULL);
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

static const struct tw_zone other_zone = {
	.kind = TW_ZONE_OTHER,
	.package = -1,
	.name = "other",
	.path = "platform - package - dram - gpu",
};

/* A sum of several meters is as good as the least trusted of them. */
static const struct tw_meter *least_trusted(const struct tw_power *p)
{
	static const enum tw_zone_kind kinds[] = { TW_ZONE_PLATFORM, TW_ZONE_PACKAGE,
						   TW_ZONE_DRAM, TW_ZONE_GPU };
	const struct tw_meter *least = NULL;

	for (size_t i = 0; i < tw_meter_count(); i++)
		for (size_t k = 0; k < TW_COUNT(kinds); k++)
			if (p->meter_of[kinds[k]] == tw_meter_at(i))
				least = tw_meter_at(i);
	return least;
}

/* The energy source of a meter that has zones: all of them have the same. */
static const char *source_of(const struct tw_power *p, const struct tw_meter *meter)
{
	for (size_t i = 0; i < p->zones; i++)
		if (p->zone[i].meter == meter && p->zone[i].zone != &other_zone)
			return p->zone[i].source;
	return meter->name;
}

/*
 * Add a zone "other". One of another source stops, and the new one begins at 0 J, as of
 * any meter that takes over.
 */
static int begin_other(struct tw_power *p, const char *source, struct tw_err *err)
{
	struct tw_power_zone *to, *before;

	if (!tw_resize(&p->zone, p->zones + 1, sizeof(*p->zone)))
		return tw_fail(err, TW_NOMEM, "zones");
	to = &p->zone[p->zones];
	*to = (struct tw_power_zone){ .zone = &other_zone, .counts = true };
	if (p->has_other) {
		before = &p->zone[p->other];
		to->fresh = before->fresh;
		to->seen = before->seen;
		to->power_w = before->power_w;
		to->idle_w = before->idle_w;
		memcpy(to->why, before->why, sizeof(to->why));
		tw_tree_stop(before, source);
	}
	p->other = p->zones++;
	p->has_other = true;
	return 0;
}

/* Add the zone "other" once platform and package exist: some meters find zones later. */
static int add_other(struct tw_power *p, struct tw_err *err)
{
	const struct tw_meter *meter;
	const char *source;

	if (p->meter_of[TW_ZONE_PLATFORM] == NULL || p->meter_of[TW_ZONE_PACKAGE] == NULL)
		return 0;
	meter = least_trusted(p);
	source = source_of(p, meter);
	if ((!p->has_other || strcmp(p->zone[p->other].source, source) != 0) &&
	    begin_other(p, source, err) < 0)
		return -1;
	p->meter_of[TW_ZONE_OTHER] = p->zone[p->other].meter = meter;
	p->zone[p->other].source = source;
	return 0;
}

/* The design power of the processors, as tables have it; 0: unknown. */
static int find_tdp(struct tw_power *p, struct tw_err *err)
{
	const struct tw_roots *roots = p->config.meter.roots;
	struct tw_cpu_identity id;
	struct tw_err why = { 0 };

	if (tw_cpu_discover(roots->proc, roots->sys, &id, &why) == 0)
		p->tdp_w = id.tdp_w;
	return why.code == TW_NOMEM ? tw_fail(err, TW_NOMEM, "meters") : 0;
}

int tw_power_open(const struct tw_power_config *c, struct tw_power **out,
		  struct tw_err *err)
{
	struct tw_power *p = calloc(1, sizeof(*p));
	const bool named = c->meters != NULL && c->meters->count > 0;

	if (p == NULL)
		return tw_fail(err, TW_NOMEM, "meters");
	p->config = *c;
	if (find_tdp(p, err) < 0 ||
	    (named ? open_named(p, c, err) : open_any(p, c, err)) < 0 ||
	    add_other(p, err) < 0) {
		tw_power_close(p);
		return -1;
	}
	p->config.meter.ask = NULL; /* no program is started from now on */
	*out = p;
	return 0;
}

void tw_power_close(struct tw_power *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->meters; i++)
		p->meter[i].meter->close(p->meter[i].state);
	free(p->zone);
	free(p->reading);
	tw_uses_release(&p->uses);
	free(p);
}

/* Divide the energy of a zone among the users that its meter knows. */
static void add_uses(struct tw_power *p, const struct open_meter *o, size_t zone,
		     uint64_t dynamic_uj, uint64_t idle_uj)
{
	const struct tw_zone_user *user;
	size_t count;

	if (o->meter->users == NULL)
		return;
	user = o->meter->users(o->state, zone, &count);
	tw_uses_add(&p->uses, user, count, dynamic_uj, idle_uj);
}

/*
 * Split the energy of zone i into idle and dynamic. Learn the idle power only from a
 * known load (not below 0), and not across a gap: the load is that of the last tick.
 */
static void add_energy(struct tw_power *p, const struct open_meter *o, size_t i,
		       const struct tw_reading *r, const struct tw_span *s, double load)
{
	struct tw_power_zone *z = &p->zone[o->first + i];
	const enum tw_zone_kind kind = z->zone->kind;
	uint64_t idle_uj;

	if (load >= 0 && !r->has_idle && !s->gap)
		tw_idle_learn(&z->idle, s->energy_uj, s->over_ns, load);
	z->idle_w = r->has_idle ? r->idle_w : z->idle.idle_w;
	if (s->of_ns == 0)
		return; /* no new value: the power stays */
	idle_uj = (uint64_t)(z->idle_w * (double)s->of_ns / 1e3);
	if (idle_uj > s->energy_uj)
		idle_uj = s->energy_uj;
	z->power_w = (double)s->energy_uj * 1e3 / (double)s->of_ns;
	z->idle_uj += idle_uj;
	z->dynamic_uj += s->energy_uj - idle_uj;
	if (!z->counts || kind == TW_ZONE_SENSOR)
		return;
	p->ticked.idle_uj[kind] += idle_uj;
	p->ticked.dynamic_uj[kind] += s->energy_uj - idle_uj;
	add_uses(p, o, i, s->energy_uj - idle_uj, idle_uj);
}

/* The load that a reading is of. That of the CPUs says nothing of a GPU. */
static double load_of(const struct tw_zone *z, const struct tw_reading *r, double cpus)
{
	if (r->own_load)
		return r->load;
	return z->kind == TW_ZONE_GPU ? -1 : cpus;
}

/* True if a zone without a reading may well use no power. */
static bool may_be_silent(const struct tw_power_zone *z, const struct tw_reading *r)
{
	const bool rests = r->readable && (!z->zone->reports_power || !(r->power_w > 0));

	if (z->seen)
		return rests && z->zone->kind == TW_ZONE_GPU;
	/* The processor of a package that cannot be read does use power. */
	return rests || z->zone->kind != TW_ZONE_PACKAGE;
}

static void note_known(struct tw_power_zone *z, bool known, const struct tw_reading *r)
{
	z->fresh = known;
	z->seen = z->seen || known;
	if (known)
		z->tried = 0;
	else if (z->tried < TW_POWER_WAIT_TICKS)
		z->tried++;
	z->silent = z->tried == TW_POWER_WAIT_TICKS && may_be_silent(z, r);
	/* A power has no energy of the time that its zone was silent. */
	if (z->silent && z->zone->reports_power)
		z->track.based = false;
}

static void tick_zone(struct tw_power *p, const struct open_meter *o, size_t i,
		      uint64_t now_ns, uint64_t tick_ns, double load)
{
	struct tw_power_zone *z = &p->zone[o->first + i];
	const struct tw_reading *r = &p->reading[i];
	struct tw_span s;

	if (z->superseded)
		return;
	s = tw_track_take(&z->track, z->zone, r, now_ns, tick_ns);
	note_known(z, s.known, r);
	snprintf(z->why, sizeof(z->why), "%s", s.known ? "" : s.why);
	z->input_w = r->readable ? r->input_w : 0;
	z->output_w = r->readable ? r->output_w : 0;
	if (s.known)
		add_energy(p, o, i, r, &s, load_of(z->zone, r, load));
	if (!z->counts)
		return;
	p->lost = p->lost || (s.lost && (OTHER_OF >> z->zone->kind & 1U) != 0);
	if (s.known)
		p->some_read[z->zone->kind] = true;
	else if (!z->silent)
		p->complete[z->zone->kind] = false;
}

/* True if a zone of the kind counts and is not silent. */
static bool has_zone(const struct tw_power *p, enum tw_zone_kind kind)
{
	for (size_t i = 0; i < p->zones; i++)
		if (p->zone[i].zone->kind == kind && p->zone[i].counts &&
		    !p->zone[i].silent)
			return true;
	return false;
}

/* Platform minus its parts; keeps a result that is negative or not complete. */
static uint64_t rest_of(const uint64_t *uj, bool complete, int64_t *kept_uj)
{
	const uint64_t parts = uj[TW_ZONE_PACKAGE] + uj[TW_ZONE_DRAM] + uj[TW_ZONE_GPU];
	const int64_t rest = *kept_uj + (int64_t)uj[TW_ZONE_PLATFORM] - (int64_t)parts;
	const bool known = complete && rest > 0;

	*kept_uj = known ? 0 : rest;
	return known ? (uint64_t)rest : 0;
}

/* True if platform and all its parts were read: a missing part would count as "other". */
static bool has_all_parts(const struct tw_power *p)
{
	return p->complete[TW_ZONE_PLATFORM] && p->complete[TW_ZONE_PACKAGE] &&
	       (!has_zone(p, TW_ZONE_DRAM) || p->complete[TW_ZONE_DRAM]) &&
	       (!has_zone(p, TW_ZONE_GPU) || p->complete[TW_ZONE_GPU]);
}

static void forget_kept(struct tw_power *p)
{
	p->kept_uj = p->kept_idle_uj = 0;
	p->kept_ns = 0;
}

/*
 * The modes are not divided one by one: idle power may be known of the platform and not
 * of a part. So the whole is computed, and of that the idle energy.
 */
static void tick_other(struct tw_power *p, uint64_t tick_ns)
{
	uint64_t all_uj[TW_ZONE_KIND_COUNT];
	const bool complete = has_all_parts(p) && tick_ns > 0;
	struct tw_power_zone *z;
	uint64_t rest_uj, idle_uj;

	if (!p->has_other)
		return;
	z = &p->zone[p->other];
	note_known(z, complete, &(struct tw_reading){ 0 });
	p->complete[TW_ZONE_OTHER] = complete;
	snprintf(z->why, sizeof(z->why), "%s",
		 complete ? "" : "platform or one of its parts was not read");
	if (p->lost)
		forget_kept(p);
	if (p->lost && !complete)
		return;
	for (int i = 0; i < TW_ZONE_KIND_COUNT; i++)
		all_uj[i] = p->ticked.dynamic_uj[i] + p->ticked.idle_uj[i];
	rest_uj = rest_of(all_uj, complete, &p->kept_uj);
	idle_uj = rest_of(p->ticked.idle_uj, complete, &p->kept_idle_uj);
	if (idle_uj > rest_uj)
		idle_uj = rest_uj;
	p->kept_ns += tick_ns;
	if (!complete)
		return;
	p->ticked.dynamic_uj[TW_ZONE_OTHER] = rest_uj - idle_uj;
	p->ticked.idle_uj[TW_ZONE_OTHER] = idle_uj;
	z->dynamic_uj += rest_uj - idle_uj;
	z->idle_uj += idle_uj;
	z->power_w = (double)rest_uj * 1e3 / (double)p->kept_ns;
	z->idle_w = (double)idle_uj * 1e3 / (double)p->kept_ns;
	p->kept_ns = 0;
}

/* True if all zones of the meter have room. Allocates if it has found more. */
static bool has_room(struct tw_power *p, struct open_meter *o)
{
	struct tw_err ignored = { 0 };

	if (o->meter->grown != NULL && o->meter->grown(o->state))
		o->growing = true;
	if (o->growing && add_zones(p, o, &ignored) == 0 && add_other(p, &ignored) == 0)
		o->growing = false;
	return !o->growing;
}

/* ---- late meters ---- */

static bool may_appear(const struct tw_power *p, const struct tw_meter *meter)
{
	const struct tw_strs *named = p->config.meters;

	return meter->late && p->meters < METERS_MAX && !tw_power_reads(p, meter) &&
	       (named == NULL || named->count == 0);
}

/* Look for meters that have appeared since the start. */
static void search(struct tw_power *p, uint64_t now_ns)
{
	const bool due =
		p->searched_ns != 0 && now_ns - p->searched_ns >= TW_POWER_SEARCH_NS;

	if (due || p->searched_ns == 0)
		p->searched_ns = now_ns;
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
			(void)add_other(p, &why);
		if (p->meters > before && p->config.found != NULL)
			p->config.found(p->config.passed_arg, meter->name);
	}
}

/* After a tick: from the next one on, other zones may count. */
static void take_over(struct tw_power *p)
{
	struct tw_err ignored = { 0 };

	if (!tw_tree_take_over(p->zone, p->zones))
		return;
	find_meters(p);
	(void)add_other(p, &ignored);
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

/* "other" ends with the platform or the package. */
static void end_other(struct tw_power *p, const char *by)
{
	if (!p->has_other || (p->meter_of[TW_ZONE_PLATFORM] != NULL &&
			      p->meter_of[TW_ZONE_PACKAGE] != NULL))
		return;
	tw_tree_stop(&p->zone[p->other], by);
	p->has_other = false;
	p->meter_of[TW_ZONE_OTHER] = NULL;
	forget_kept(p);
}

/* The zones of a meter that ends stop; nothing else has their kinds. */
static void retire(struct tw_power *p, struct open_meter *o)
{
	static const char by[] = "a meter of this machine";

	o->retired = true;
	for (size_t i = o->first; i < o->first + o->count; i++)
		tw_tree_stop(&p->zone[i], by);
	find_meters(p);
	end_other(p, by);
}

static void retire_some(struct tw_power *p)
{
	for (size_t m = 0; m < p->meters; m++) {
		struct open_meter *o = &p->meter[m];

		if (!o->retired && o->meter->retires != NULL &&
		    o->meter->retires(o->state, read_by_others(p, o->meter)))
			retire(p, o);
	}
}

/* What the guard rejects stops; each new doubt is told once. */
static void heed_guard(struct tw_power *p)
{
	for (size_t i = 0; i < p->zones; i++) {
		struct tw_power_zone *z = &p->zone[i];

		if (z->doubt[0] != '\0' && !z->watch.reported &&
		    p->config.doubted != NULL)
			p->config.doubted(p->config.passed_arg, z);
		z->watch.reported = z->watch.reported || z->doubt[0] != '\0';
		if (z->rejected[0] == '\0' || z->superseded)
			continue;
		z->superseded = true;
		z->counts = z->fresh = false;
		snprintf(z->why, sizeof(z->why), "%s", z->rejected);
	}
	find_meters(p);
	end_other(p, "a part that does not count");
}

void tw_power_judge(struct tw_power *p)
{
	tw_guard_judge(&p->guard, p->zone, p->zones, p->tdp_w);
	heed_guard(p);
}

void tw_power_tick(struct tw_power *p, uint64_t now_ns, uint64_t tick_ns, double load)
{
	search(p, now_ns);
	memset(&p->ticked, 0, sizeof(p->ticked));
	p->uses.count = 0;
	p->lost = false;
	for (int i = 0; i < TW_ZONE_KIND_COUNT; i++) {
		p->complete[i] = p->meter_of[i] != NULL;
		p->some_read[i] = false;
	}
	for (size_t m = 0; m < p->meters; m++) {
		struct open_meter *o = &p->meter[m];

		if (o->retired || !has_room(p, o))
			continue;
		o->meter->read(o->state, p->reading);
		for (size_t i = 0; i < o->count; i++)
			tick_zone(p, o, i, now_ns, tick_ns, load);
	}
	for (int i = 0; i < TW_ZONE_KIND_COUNT; i++)
		p->complete[i] = p->complete[i] && p->some_read[i];
	tick_other(p, tick_ns);
	if (tw_guard_tick(&p->guard, p->zone, p->zones, tick_ns, p->tdp_w))
		heed_guard(p);
	retire_some(p);
	take_over(p);
}

void tw_power_watch(struct tw_power *p, uint64_t now_ns)
{
	for (size_t m = 0; m < p->meters; m++) {
		const struct open_meter *o = &p->meter[m];

		if (!o->meter->wraps || o->growing)
			continue;
		o->meter->read(o->state, p->reading);
		for (size_t i = 0; i < o->count; i++) {
			struct tw_power_zone *z = &p->zone[o->first + i];

			tw_track_watch(&z->track, z->zone, &p->reading[i], now_ns);
		}
	}
}

const struct tw_zone *tw_power_left_out(const struct tw_power *p, size_t n,
					const struct tw_meter **of, size_t *count)
{
	const struct tw_zone *z = NULL;

	*count = 0;
	if (n >= p->meters)
		return NULL;
	*of = p->meter[n].meter;
	if ((*of)->left_out != NULL && !p->meter[n].retired)
		z = (*of)->left_out(p->meter[n].state, count);
	return *count > 0 ? z : &other_zone;
}

const struct tw_power_zone *tw_power_zones(const struct tw_power *p, size_t *count)
{
	*count = p->zones;
	return p->zone;
}

const struct tw_use *tw_power_uses(const struct tw_power *p, size_t *count)
{
	*count = p->uses.count;
	return p->uses.at;
}

const struct tw_charge *tw_power_ticked(const struct tw_power *p)
{
	return &p->ticked;
}

bool tw_power_complete(const struct tw_power *p, enum tw_zone_kind kind)
{
	return p->complete[kind];
}

bool tw_power_use_complete(const struct tw_power *p, enum tw_zone_kind kind)
{
	return kind == TW_ZONE_GPU ? p->some_read[kind] : p->complete[kind];
}

bool tw_power_reads(const struct tw_power *p, const struct tw_meter *meter)
{
	for (size_t i = 0; i < p->meters; i++)
		if (p->meter[i].meter == meter)
			return true;
	return false;
}

const struct tw_meter *tw_power_meter(const struct tw_power *p, enum tw_zone_kind kind)
{
	return p->meter_of[kind];
}

unsigned tw_power_sum_kinds(const struct tw_power *p)
{
	unsigned kinds = 0;

	for (int i = 0; i < TW_ZONE_KIND_COUNT; i++)
		if (has_zone(p, (enum tw_zone_kind)i))
			kinds |= 1u << i;
	if (tw_tree_sum(kinds, false) == 0)
		kinds = kinds_of(p, NULL);
	return tw_tree_sum(kinds, p->guard.doubted);
}

const char *tw_power_source(const struct tw_power *p, enum tw_zone_kind kind)
{
	return p->meter_of[kind] != NULL ? source_of(p, p->meter_of[kind]) : NULL;
}
