/* SPDX-License-Identifier: Apache-2.0 */
/* The zone "other": what the platform uses beside package, dram and gpu. */
#include "collector/power/power_state.h"
#include "lib/core/array.h"
#include "lib/core/err.h"

#include <stdio.h>
#include <string.h>

/* True if a zone of the kind counts and is not silent. */
bool tw_power_has_zone(const struct tw_power *p, enum tw_zone_kind kind)
{
	for (size_t i = 0; i < p->zones; i++)
		if (p->zone[i].zone->kind == kind && p->zone[i].counts &&
		    !p->zone[i].silent)
			return true;
	return false;
}

bool tw_power_has_read(const struct tw_power *p, enum tw_zone_kind kind)
{
	for (size_t i = 0; i < p->zones; i++)
		if (p->zone[i].zone->kind == kind && p->zone[i].counts &&
		    !p->zone[i].silent && p->zone[i].seen)
			return true;
	return false;
}

const struct tw_zone tw_power_other_zone = {
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
	const struct tw_meter *least = p->meter_of[TW_ZONE_PACKAGE];

	for (size_t i = 0; i < tw_meter_count(); i++)
		for (size_t k = 0; k < TW_COUNT(kinds); k++)
			if (p->meter_of[kinds[k]] == tw_meter_at(i))
				least = tw_meter_at(i);
	return least;
}

/* The energy source of a meter that has zones: all of them have the same. */
const char *tw_power_source_of(const struct tw_power *p, const struct tw_meter *meter)
{
	for (size_t i = 0; i < p->zones; i++)
		if (p->zone[i].meter == meter && p->zone[i].zone != &tw_power_other_zone)
			return p->zone[i].source;
	return meter->name;
}

/* The zone "other" of a source that stopped before; or a new one, at 0 J. */
static size_t find_other(struct tw_power *p, const char *source)
{
	for (size_t i = 0; i < p->zones; i++)
		if (p->zone[i].zone == &tw_power_other_zone &&
		    strcmp(p->zone[i].source, source) == 0)
			return i;
	if (!tw_resize(&p->zone, p->zones + 1, sizeof(*p->zone)))
		return SIZE_MAX;
	p->zone[p->zones] = (struct tw_power_zone){ .zone = &tw_power_other_zone };
	return p->zones++;
}

/*
 * Add a zone "other". A zone "other" of another source stops, and the new zone has its
 * own energy, as with any meter that takes over.
 */
static int begin_other(struct tw_power *p, const char *source, struct tw_err *err)
{
	const size_t at = find_other(p, source);
	struct tw_power_zone *to, *before;

	if (at == SIZE_MAX)
		return tw_fail(err, TW_NOMEM, "zones");
	to = &p->zone[at];
	to->superseded = false;
	to->counts = true;
	if (p->has_other) {
		before = &p->zone[p->other];
		to->fresh = before->fresh;
		to->seen = before->seen;
		to->power_w = before->power_w;
		to->idle_w = before->idle_w;
		memcpy(to->why, before->why, sizeof(to->why));
		tw_tree_stop(before, source);
	} else {
		snprintf(to->why, sizeof(to->why), "not read yet");
	}
	p->other = at;
	p->has_other = true;
	return 0;
}

/* Add the zone "other" once platform and package exist: some meters find zones later. */
int tw_power_add_other(struct tw_power *p, struct tw_err *err)
{
	const struct tw_meter *meter;
	const char *source;

	if (p->meter_of[TW_ZONE_PLATFORM] == NULL || p->meter_of[TW_ZONE_PACKAGE] == NULL)
		return 0;
	meter = least_trusted(p);
	source = tw_power_source_of(p, meter);
	if ((!p->has_other || strcmp(p->zone[p->other].source, source) != 0) &&
	    begin_other(p, source, err) < 0)
		return -1;
	p->meter_of[TW_ZONE_OTHER] = p->zone[p->other].meter = meter;
	p->zone[p->other].source = source;
	return 0;
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
	       (!tw_power_has_zone(p, TW_ZONE_DRAM) || p->complete[TW_ZONE_DRAM]) &&
	       (!tw_power_has_zone(p, TW_ZONE_GPU) || p->complete[TW_ZONE_GPU]);
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
void tw_power_tick_other(struct tw_power *p, uint64_t tick_ns)
{
	uint64_t all_uj[TW_ZONE_KIND_COUNT];
	const bool complete = has_all_parts(p) && tick_ns > 0;
	struct tw_power_zone *z;
	uint64_t rest_uj, idle_uj;

	if (!p->has_other)
		return;
	z = &p->zone[p->other];
	tw_tree_note_known(z, complete, &(struct tw_reading){ 0 });
	p->complete[TW_ZONE_OTHER] = complete;
	snprintf(z->why, sizeof(z->why), "%s",
		 complete ? "" : "platform or one of its parts was not read");
	/*
	 * Without a package, or while its parts have too much power, the platform counts
	 * as a whole: nothing of it waits.
	 */
	if (p->lost || p->guard.doubted || !tw_power_has_read(p, TW_ZONE_PACKAGE)) {
		forget_kept(p);
		if (!complete)
			return;
	}
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

/* "other" ends with the platform or the package. */
void tw_power_end_other(struct tw_power *p, const char *by)
{
	if (!p->has_other || (p->meter_of[TW_ZONE_PLATFORM] != NULL &&
			      p->meter_of[TW_ZONE_PACKAGE] != NULL))
		return;
	tw_tree_stop(&p->zone[p->other], by);
	p->has_other = false;
	p->meter_of[TW_ZONE_OTHER] = NULL;
	forget_kept(p);
}
