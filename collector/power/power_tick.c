/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/power_state.h"
#include "collector/system/roots.h"
#include "collector/system/virtual.h"
#include "collector/workloads/schedule.h"
#include "lib/core/err.h"
#include "profiler/cpu_identity.h"
#include "profiler/discover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "other" is computed from zones of these kinds. */
#define OTHER_OF                                                               \
	(1U << TW_ZONE_PLATFORM | 1U << TW_ZONE_PACKAGE | 1U << TW_ZONE_DRAM | \
	 1U << TW_ZONE_GPU)

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

	if (p == NULL)
		return tw_fail(err, TW_NOMEM, "meters");
	p->config = *c;
	p->guard.virtual = tw_is_virtual(c->meter.roots->proc, c->meter.roots->sys);
	if (find_tdp(p, err) < 0 || tw_power_open_meters(p, err) < 0 ||
	    tw_power_add_other(p, err) < 0) {
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
static void add_uses(struct tw_power *p, const struct tw_open_meter *o, size_t zone,
		     uint64_t idle_uj, uint64_t over_ns)
{
	struct tw_power_zone *z = &p->zone[o->first + zone];
	const struct tw_use energy = { .dynamic_uj = z->ticked_uj, .idle_uj = idle_uj };
	const struct tw_zone_user *user;
	size_t count;

	if (o->meter->users == NULL)
		return;
	user = o->meter->users(o->state, zone, &count);
	tw_uses_add(&p->uses, &z->units, user, count, &energy, z->whole ? over_ns : 0);
}

/*
 * Split the energy of zone i into idle and dynamic. Learn the idle power only from a
 * known load (not below 0), and not across a gap: the load is that of the last tick.
 */
static void add_energy(struct tw_power *p, const struct tw_open_meter *o, size_t i,
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
	z->ticked_uj = s->energy_uj - idle_uj;
	z->whole = !s->gap && s->of_ns == s->over_ns && !z->zone->estimated;
	if (!z->counts || kind == TW_ZONE_SENSOR)
		return;
	p->ticked.idle_uj[kind] += idle_uj;
	p->ticked.dynamic_uj[kind] += s->energy_uj - idle_uj;
	add_uses(p, o, i, idle_uj, s->of_ns);
}

/*
 * The load that a reading is of: of several packages, each has its own. That of the CPUs
 * says nothing of a GPU.
 */
static double load_of(const struct tw_zone *z, const struct tw_reading *r, double cpus,
		      const struct tw_schedule *ran)
{
	if (r->own_load)
		return r->load;
	for (size_t i = 0; ran != NULL && ran->packages > 1 && i < ran->packages; i++)
		if (ran->package[i] == z->package)
			return (double)tw_package_use_ns(&ran->all[i]) /
			       ((double)ran->ns * (double)ran->cpus_of[i]);
	return z->kind == TW_ZONE_GPU ? -1 : cpus;
}

static void tick_zone(struct tw_power *p, const struct tw_open_meter *o, size_t i,
		      uint64_t now_ns, uint64_t tick_ns, double load,
		      const struct tw_schedule *ran)
{
	struct tw_power_zone *z = &p->zone[o->first + i];
	const struct tw_reading *r = &p->reading[i];
	struct tw_span s;

	if (z->superseded && !z->watch.stopped)
		return;
	s = tw_track_take(&z->track, z->zone, r, now_ns, tick_ns);
	z->watch.read = s.known;
	z->watch.answers = s.known || (r->readable && z->zone->keeps_counting &&
				       !z->zone->reports_power);
	z->watch.energy_uj += s.known ? s.energy_uj : 0;
	if (z->watch.stopped)
		return;
	tw_tree_note_known(z, s.known, r);
	snprintf(z->why, sizeof(z->why), "%s", s.known ? "" : s.why);
	z->input_w = r->readable ? r->input_w : 0;
	z->output_w = r->readable ? r->output_w : 0;
	if (s.known)
		add_energy(p, o, i, r, &s, load_of(z->zone, r, load, ran));
	if (!z->counts)
		return;
	p->lost = p->lost || (s.lost && (OTHER_OF >> z->zone->kind & 1U) != 0);
	if (s.known)
		p->some_read[z->zone->kind] = true;
	else if (!z->silent)
		p->complete[z->zone->kind] = false;
}

/* The kinds that add up to the machine. A kind without a reading replaces no other. */
static unsigned kinds_of_tick(const struct tw_power *p)
{
	unsigned kinds = 0;

	for (int i = 0; i < TW_ZONE_KIND_COUNT; i++)
		if (tw_power_has_read(p, (enum tw_zone_kind)i))
			kinds |= 1u << i;
	kinds = tw_tree_sum(kinds, p->guard.doubted);
	return kinds != 0 ? kinds : tw_power_sum_kinds(p);
}

/* After a tick: from the next one on, other zones may count. */
static void take_over(struct tw_power *p)
{
	struct tw_err ignored = { 0 };

	if (!tw_tree_take_over(p->zone, p->zones))
		return;
	tw_power_find_meters(p);
	(void)tw_power_add_other(p, &ignored);
}

/* Zones that the guard rejects stop, and those that it accepts again count. */
static void heed_guard(struct tw_power *p)
{
	struct tw_err ignored = { 0 };

	for (size_t i = 0; i < p->zones; i++) {
		struct tw_power_zone *z = &p->zone[i];
		const bool rejected = z->rejected[0] != '\0', stopped = z->watch.stopped;

		if (rejected && !stopped)
			tw_tree_reject(p->zone, p->zones, i);
		else if (!rejected && stopped)
			tw_tree_accept(p->zone, p->zones, i);
		/* A doubt that comes and goes is logged once, a change always. */
		if ((stopped != z->watch.stopped ||
		     (z->doubt[0] != '\0' && !z->watch.reported)) &&
		    p->config.doubted != NULL)
			p->config.doubted(p->config.passed_arg, z);
		z->watch.reported = z->watch.reported || z->doubt[0] != '\0';
	}
	tw_power_find_meters(p);
	tw_power_end_other(p, "a part that does not count");
	(void)tw_power_add_other(p, &ignored);
}

void tw_power_judge(struct tw_power *p)
{
	tw_guard_judge(&p->guard, p->zone, p->zones, p->tdp_w);
	heed_guard(p);
}

void tw_power_tick(struct tw_power *p, uint64_t now_ns, uint64_t tick_ns, double load,
		   const struct tw_schedule *ran)
{
	tw_power_search(p, now_ns);
	memset(&p->ticked, 0, sizeof(p->ticked));
	p->uses.count = 0;
	p->lost = false;
	for (int i = 0; i < TW_ZONE_KIND_COUNT; i++) {
		p->complete[i] = p->meter_of[i] != NULL;
		p->some_read[i] = false;
	}
	for (size_t i = 0; i < p->zones; i++) {
		p->zone[i].ticked_uj = 0;
		p->zone[i].whole = false;
		p->zone[i].watch.read = p->zone[i].watch.answers = false;
	}
	for (size_t m = 0; m < p->meters; m++) {
		struct tw_open_meter *o = &p->meter[m];

		if (o->retired || !tw_power_has_room(p, o))
			continue;
		o->meter->read(o->state, p->reading);
		for (size_t i = 0; i < o->count; i++)
			tick_zone(p, o, i, now_ns, tick_ns, load, ran);
	}
	for (int i = 0; i < TW_ZONE_KIND_COUNT; i++)
		p->complete[i] = p->complete[i] && p->some_read[i];
	tw_power_tick_other(p, tick_ns);
	if (tw_guard_tick(&p->guard, p->zone, p->zones, tick_ns, p->tdp_w))
		heed_guard(p);
	p->ticked_kinds = kinds_of_tick(p);
	tw_power_retire_some(p);
	take_over(p);
}

static void watch_counters(struct tw_power *p, const struct tw_open_meter *o,
			   uint64_t now_ns)
{
	o->meter->read(o->state, p->reading);
	for (size_t i = 0; i < o->count; i++) {
		struct tw_power_zone *z = &p->zone[o->first + i];

		tw_track_watch(&z->track, z->zone, &p->reading[i], now_ns);
	}
}

void tw_power_watch(struct tw_power *p, uint64_t now_ns)
{
	const bool due = now_ns - p->watched_ns >= TW_POWER_WATCH_NS;

	if (due)
		p->watched_ns = now_ns;
	for (size_t m = 0; m < p->meters; m++) {
		const struct tw_open_meter *o = &p->meter[m];

		if (o->meter->watch != NULL && !o->retired)
			o->meter->watch(o->state);
		if (due && o->meter->wraps && !o->growing)
			watch_counters(p, o, now_ns);
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
	return *count > 0 ? z : &tw_power_other_zone;
}

const struct tw_power_zone *tw_power_zones(const struct tw_power *p, size_t *count)
{
	*count = p->zones;
	return p->zone;
}

bool tw_power_knows_idle(const struct tw_power *p, const struct tw_power_zone *z)
{
	if (z->zone->kind != TW_ZONE_OTHER)
		return z->idle_w > 0 || z->zone->estimated;
	for (size_t i = 0; i < p->zones; i++)
		if (p->zone[i].zone->kind == TW_ZONE_PLATFORM && p->zone[i].counts &&
		    !p->zone[i].silent && !tw_power_knows_idle(p, &p->zone[i]))
			return false;
	return true;
}

const struct tw_use *tw_power_uses(const struct tw_power *p, size_t *count)
{
	*count = p->uses.count;
	return p->uses.at;
}

void tw_power_package(const struct tw_power *p, int package, bool only,
		      struct tw_package_energy *out)
{
	bool partial[TW_ZONE_KIND_COUNT] = { false },
	     idle[TW_ZONE_KIND_COUNT] = { false };

	*out = (struct tw_package_energy){ .dynamic_uj = { 0 } };
	for (size_t i = 0; i < p->zones; i++) {
		const struct tw_power_zone *z = &p->zone[i];
		const enum tw_zone_kind kind = z->zone->kind;

		if (!z->counts ||
		    (z->zone->package != package && (!only || z->zone->package >= 0)))
			continue;
		out->dynamic_uj[kind] += z->ticked_uj;
		out->whole[kind] = z->whole;
		partial[kind] = partial[kind] || !z->whole;
		out->idle_known[kind] = z->idle_w > 0;
		idle[kind] = idle[kind] || z->idle_w <= 0;
	}
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++) {
		out->whole[kind] = out->whole[kind] && !partial[kind];
		out->idle_known[kind] = out->idle_known[kind] && !idle[kind];
	}
}

const struct tw_charge *tw_power_ticked(const struct tw_power *p)
{
	return &p->ticked;
}

unsigned tw_power_ticked_kinds(const struct tw_power *p)
{
	return p->ticked_kinds;
}

bool tw_power_complete(const struct tw_power *p, enum tw_zone_kind kind)
{
	return p->complete[kind];
}

bool tw_power_use_complete(const struct tw_power *p, enum tw_zone_kind kind)
{
	return kind == TW_ZONE_GPU ? p->some_read[kind] : p->complete[kind];
}

const struct tw_meter *tw_power_meter(const struct tw_power *p, enum tw_zone_kind kind)
{
	return p->meter_of[kind];
}

unsigned tw_power_sum_kinds(const struct tw_power *p)
{
	unsigned kinds = 0;

	for (int i = 0; i < TW_ZONE_KIND_COUNT; i++)
		if (tw_power_has_zone(p, (enum tw_zone_kind)i))
			kinds |= 1u << i;
	if (tw_tree_sum(kinds, false) == 0)
		kinds = tw_power_kinds_of(p, NULL);
	return tw_tree_sum(kinds, p->guard.doubted);
}

const char *tw_power_source(const struct tw_power *p, enum tw_zone_kind kind)
{
	return p->meter_of[kind] != NULL ? tw_power_source_of(p, p->meter_of[kind])
					 : NULL;
}
