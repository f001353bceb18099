/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/tree.h"

#include <stdio.h>
#include <string.h>

#define BIT(kind) (1U << TW_ZONE_##kind)

/* The kinds that contain a kind, nearest first, and what a zone of the kind is. */
static const struct row {
	enum tw_zone_kind inside[3]; /* ends with TW_ZONE_KIND_COUNT */
	const char *uncounted;       /* where its kind is not in the sum */
} rows[TW_ZONE_KIND_COUNT] = {
	[TW_ZONE_PACKAGE] = { { TW_ZONE_PLATFORM, TW_ZONE_PSYS, TW_ZONE_KIND_COUNT },
			      "a part of the platform" },
	[TW_ZONE_CORE] = { { TW_ZONE_PACKAGE, TW_ZONE_KIND_COUNT },
			   "a part of its package" },
	[TW_ZONE_UNCORE] = { { TW_ZONE_PACKAGE, TW_ZONE_KIND_COUNT },
			     "a part of its package" },
	[TW_ZONE_DRAM] = { { TW_ZONE_PLATFORM, TW_ZONE_PSYS, TW_ZONE_KIND_COUNT },
			   "a part of the platform" },
	[TW_ZONE_PSYS] = { { TW_ZONE_PLATFORM, TW_ZONE_KIND_COUNT },
			   "it contains zones that count" },
	[TW_ZONE_PLATFORM] = { { TW_ZONE_KIND_COUNT },
			       "it contains zones that count; the rest is 'other'" },
	[TW_ZONE_GPU] = { { TW_ZONE_PLATFORM, TW_ZONE_KIND_COUNT },
			  "a part of the platform" },
	[TW_ZONE_OTHER] = { { TW_ZONE_KIND_COUNT }, "the platform counts as a whole" },
	[TW_ZONE_SENSOR] = { { TW_ZONE_KIND_COUNT }, "its coverage is unknown" },
};

/* True if both read the same thing, so that only one of them may count. */
static bool is_same(const struct tw_power_zone *of_a, const struct tw_power_zone *of_b)
{
	const struct tw_zone *a = of_a->zone, *b = of_b->zone;

	if (a->kind != b->kind || a->kind == TW_ZONE_SENSOR || a->kind == TW_ZONE_OTHER)
		return false;
	if (a->kind == TW_ZONE_GPU && a->gpu.vendor != NULL && b->gpu.vendor != NULL &&
	    strcmp(a->gpu.vendor, b->gpu.vendor) != 0)
		return false;
	return of_a->meter != of_b->meter || a->place != b->place;
}

bool tw_tree_is_sibling(const struct tw_power_zone *a, const struct tw_power_zone *b)
{
	return a->meter == b->meter && a->zone->kind == b->zone->kind &&
	       a->zone->place == b->zone->place;
}

/* True if a counts rather than b, which reads the same thing. */
static bool precedes(const struct tw_power_zone *a, const struct tw_power_zone *b)
{
	return a->zone->place != b->zone->place
		       ? a->zone->place < b->zone->place
		       : tw_meter_rank(a->meter) < tw_meter_rank(b->meter);
}

unsigned tw_tree_sum(unsigned of, bool doubted)
{
	static const unsigned parts = BIT(DRAM) | BIT(GPU) | BIT(OTHER);

	if ((of & BIT(PACKAGE)) != 0 && !(doubted && (of & BIT(PLATFORM)) != 0))
		return of & (parts | BIT(PACKAGE));
	if ((of & BIT(PLATFORM)) != 0)
		return BIT(PLATFORM);
	return (of & BIT(PSYS)) != 0 ? BIT(PSYS) : of & parts;
}

/* How near a container is: the same package, then a zone that counts. */
static int nearness(const struct tw_power_zone *inner, const struct tw_power_zone *outer)
{
	const int package = inner->zone->package;

	if (outer->zone->kind == TW_ZONE_PACKAGE && outer->zone->package != package)
		return 0;
	return 1 + outer->counts + 2 * (outer->meter == inner->meter) +
	       4 * (package >= 0 && outer->zone->package == package);
}

/* The nearest zone of a kind that zone i can be in; SIZE_MAX: none. */
static size_t nearest(const struct tw_power_zone *z, size_t count, size_t i,
		      enum tw_zone_kind kind)
{
	size_t best = SIZE_MAX;
	int best_near = 0;

	for (size_t k = 0; k < count; k++) {
		const int near = k == i || z[k].superseded || z[k].zone->kind != kind
					 ? 0
					 : nearness(&z[i], &z[k]);

		if (near > best_near) {
			best = k;
			best_near = near;
		}
	}
	return best;
}

size_t tw_tree_parent(const struct tw_power_zone *z, size_t count, size_t i)
{
	const enum tw_zone_kind kind = z[i].zone->kind;

	/* A module is in the board; another reading of a thing stands below the first. */
	for (size_t k = 0; !z[i].counts && k < count; k++)
		if (z[k].counts && is_same(&z[i], &z[k]))
			return k;
	for (size_t k = 0; rows[kind].inside[k] != TW_ZONE_KIND_COUNT; k++) {
		const size_t at = nearest(z, count, i, rows[kind].inside[k]);

		if (at != SIZE_MAX)
			return at;
	}
	return SIZE_MAX;
}

const char *tw_tree_uncounted(const struct tw_power_zone *z, size_t i, unsigned sum)
{
	const struct tw_zone *zone = z[i].zone;

	if (z[i].rejected[0] != '\0')
		return z[i].rejected;
	if (z[i].superseded)
		return z[i].why;
	if (!z[i].counts && zone->kind != TW_ZONE_SENSOR)
		return zone->place == TW_PLACE_MODULE
			       ? "a part of the board"
			       : "another zone already counts this energy";
	if (z[i].silent)
		return z[i].why;
	if ((sum >> zone->kind & 1U) != 0)
		return NULL;
	return rows[zone->kind].uncounted;
}

/* ---- which zones count ---- */

void tw_tree_place(struct tw_power_zone *zone, size_t count, size_t at, bool begun)
{
	struct tw_power_zone *z = &zone[at];

	z->counts = true;
	for (size_t i = 0; i < count; i++) {
		struct tw_power_zone *q = &zone[i];

		if (!q->counts || q == z || !is_same(q, z))
			continue;
		if (!begun && precedes(z, q))
			q->counts = false;
		else
			z->counts = false;
	}
}

void tw_tree_stop(struct tw_power_zone *z, const char *by)
{
	z->superseded = true;
	z->counts = z->fresh = false;
	snprintf(z->why, sizeof(z->why), "%s has taken over", by);
}

/* A zone that stopped counts again. Nothing is known of the time between. */
static void resume(struct tw_power_zone *z)
{
	z->superseded = z->seen = false;
	z->counts = true;
	z->tried = 0;
	z->track.based = false;
	snprintf(z->why, sizeof(z->why), "not read yet");
}

static bool some_count(const struct tw_power_zone *zone, size_t count,
		       const struct tw_power_zone *z)
{
	for (size_t i = 0; i < count; i++)
		if (zone[i].counts && is_same(&zone[i], z))
			return true;
	return false;
}

/* The zones that `was` had replaced, of the most trusted meter, count again. */
static void revive(struct tw_power_zone *zone, size_t count,
		   const struct tw_power_zone *was)
{
	const struct tw_power_zone *best = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct tw_power_zone *q = &zone[i];

		if (q->superseded && !q->watch.stopped && !q->zone->estimated &&
		    is_same(q, was) && !some_count(zone, count, q) &&
		    (best == NULL || precedes(q, best)))
			best = q;
	}
	for (size_t i = 0; best != NULL && i < count; i++) {
		struct tw_power_zone *q = &zone[i];

		if (q->superseded && !q->watch.stopped && tw_tree_is_sibling(q, best))
			resume(q);
	}
}

/*
 * True if all zones of the meter that read the same as z are read in this tick, or are
 * silent, and z is read.
 */
static bool has_read(const struct tw_power_zone *zone, size_t count,
		     const struct tw_power_zone *z)
{
	for (size_t i = 0; i < count; i++) {
		const struct tw_power_zone *q = &zone[i];

		if (tw_tree_is_sibling(q, z) && !q->fresh && !q->silent)
			return false;
	}
	return z->fresh;
}

bool tw_tree_has_other(const struct tw_power_zone *zone, size_t count, size_t at)
{
	for (size_t i = 0; i < count; i++) {
		const struct tw_power_zone *q = &zone[i];

		if (!q->counts && !q->zone->estimated && q->rejected[0] == '\0' &&
		    is_same(q, &zone[at]) && (q->superseded || has_read(zone, count, q)))
			return true;
	}
	return false;
}

bool tw_tree_is_replaced(const struct tw_power_zone *zone, size_t count, size_t at)
{
	for (size_t i = 0; i < count; i++)
		if (zone[i].counts && is_same(&zone[i], &zone[at]) && zone[i].seen &&
		    zone[i].watch.dead_spans == 0)
			return true;
	return false;
}

void tw_tree_reject(struct tw_power_zone *zone, size_t count, size_t at)
{
	struct tw_power_zone *z = &zone[at];

	z->superseded = z->watch.stopped = true;
	z->counts = z->fresh = false;
	z->idle_w = 0;
	z->idle = (struct tw_idle){ .idle_w = 0 };
	snprintf(z->why, sizeof(z->why), "%s", z->rejected);
	revive(zone, count, z);
}

/* True if a zone that belongs to z is still rejected. */
static bool has_rejected(const struct tw_power_zone *zone, size_t count,
			 const struct tw_power_zone *z)
{
	for (size_t i = 0; i < count; i++)
		if (zone[i].rejected[0] != '\0' && tw_tree_is_sibling(&zone[i], z))
			return true;
	return false;
}

void tw_tree_accept(struct tw_power_zone *zone, size_t count, size_t at)
{
	struct tw_power_zone *z = &zone[at];

	if (some_count(zone, count, z) && has_rejected(zone, count, z))
		return;
	z->watch.stopped = false;
	for (size_t i = 0; i < count; i++) {
		struct tw_power_zone *q = &zone[i];

		if (!q->counts || !is_same(q, z))
			continue;
		if (!precedes(z, q)) {
			tw_tree_stop(z, q->meter->name);
			return;
		}
		tw_tree_stop(q, z->meter->name);
	}
	z->superseded = false;
	z->counts = true;
	snprintf(z->why, sizeof(z->why), "not read yet");
}

/* True if no zone that counts and reads the same as z was ever read. */
static bool is_needed(const struct tw_power_zone *zone, size_t count,
		      const struct tw_power_zone *z)
{
	for (size_t i = 0; i < count; i++)
		if (zone[i].counts && is_same(&zone[i], z) &&
		    (zone[i].seen || zone[i].tried < TW_POWER_WAIT_TICKS))
			return false;
	return true;
}

/* True if z may count from now on, rather than those that read the same. */
static bool may_take_over(const struct tw_power_zone *zone, size_t count,
			  const struct tw_power_zone *z)
{
	bool first = true;

	if (z->counts || z->superseded || z->rejected[0] != '\0' ||
	    z->zone->kind == TW_ZONE_SENSOR || !z->fresh)
		return false;
	for (size_t i = 0; i < count && first; i++) {
		const struct tw_power_zone *q = &zone[i];

		first = !q->counts || !is_same(q, z) || precedes(z, q);
	}
	return (first || is_needed(zone, count, z)) && has_read(zone, count, z);
}

/*
 * Zones that read the same as z stop, or wait if they were never read; z and its siblings
 * begin at 0 J. A zone that was resumed, and not read since, has energy to keep.
 */
static void supersede(struct tw_power_zone *zone, size_t count,
		      const struct tw_power_zone *z)
{
	for (size_t i = 0; i < count; i++) {
		struct tw_power_zone *q = &zone[i];

		if (!q->counts || !is_same(q, z))
			continue;
		q->counts = false;
		if (q->seen || q->dynamic_uj + q->idle_uj > 0)
			tw_tree_stop(q, z->meter->name);
	}
	for (size_t i = 0; i < count; i++) {
		struct tw_power_zone *q = &zone[i];

		if (!tw_tree_is_sibling(q, z) || q->superseded || q->counts)
			continue;
		q->dynamic_uj = q->idle_uj = 0;
		q->counts = true;
	}
}

bool tw_tree_take_over(struct tw_power_zone *z, size_t count)
{
	bool taken = false;

	for (size_t i = 0; i < count; i++)
		if (may_take_over(z, count, &z[i])) {
			supersede(z, count, &z[i]);
			taken = true;
		}
	return taken;
}

/* ---- which zones are read ---- */

/* True if a zone without a reading may well use no power. */
static bool may_be_silent(const struct tw_power_zone *z, const struct tw_reading *r)
{
	const bool rests = r->readable && (!z->zone->reports_power || !(r->power_w > 0));

	if (z->seen)
		return rests && z->zone->kind == TW_ZONE_GPU;
	/* The processor of a package that cannot be read does use power. */
	return rests || z->zone->kind != TW_ZONE_PACKAGE;
}

void tw_tree_note_known(struct tw_power_zone *z, bool known, const struct tw_reading *r)
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
