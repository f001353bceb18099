/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_POWER_STATE_H
#define TW_COLLECTOR_POWER_STATE_H

/* The private state behind power.h. Only collector/power/power_*.c include it. */

#include "collector/power/guard.h"
#include "collector/power/power.h"
#include "collector/power/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TW_METERS_MAX 32

/* An open meter; its zones start at index first. */
struct tw_open_meter {
	const struct tw_meter *meter;
	void *state;
	size_t first, count;
	bool growing; /* it has found more zones than there is room for */
	bool retired; /* it is not read any more */
};

struct tw_power {
	struct tw_power_config config;
	uint64_t searched_ns; /* time of the last search; 0: none yet */
	unsigned searches;    /* since the start */
	uint64_t watched_ns;  /* when counters were last read between two ticks */
	struct tw_open_meter meter[TW_METERS_MAX];
	size_t meters;
	struct tw_power_zone *zone;
	size_t zones;
	struct tw_reading *reading; /* readings of one meter; as many as all zones */
	const struct tw_meter *meter_of[TW_ZONE_KIND_COUNT];
	bool complete[TW_ZONE_KIND_COUNT], some_read[TW_ZONE_KIND_COUNT];
	struct tw_charge ticked;
	unsigned ticked_kinds;
	struct tw_uses uses;
	bool has_other;
	size_t other; /* index of that zone */
	/*
	 * Energy of "other" that later ticks add, or subtract if below 0; its idle part;
	 * the time in which it was used.
	 */
	int64_t kept_uj, kept_idle_uj;
	uint64_t kept_ns;
	bool lost; /* in this tick: earlier energy of a zone is lost */
	struct tw_power_guard guard;
	double tdp_w; /* design power of a processor; 0: unknown */
};

/* ---- power_meters.c ---- */

/* Open the meters of the config: the named ones, or all that work. */
int tw_power_open_meters(struct tw_power *p, struct tw_err *err);

/* Find the meters of the kinds: the most trusted ones of the zones that count. */
void tw_power_find_meters(struct tw_power *p);

/* Bits of the kinds of zones that meters measure; counters: only by these counters. */
unsigned tw_power_kinds_of(const struct tw_power *p, const char *counters);

/* True if all zones of the meter have room. Allocates if it has found more. */
bool tw_power_has_room(struct tw_power *p, struct tw_open_meter *o);

/* Look for meters that have appeared since the start. */
void tw_power_search(struct tw_power *p, uint64_t now_ns);

/* After a tick: end the meters that others have replaced. */
void tw_power_retire_some(struct tw_power *p);

/* ---- power_other.c ---- */

extern const struct tw_zone tw_power_other_zone;

/* True if a zone of the kind counts and is not silent. */
bool tw_power_has_zone(const struct tw_power *p, enum tw_zone_kind kind);

/* True if such a zone was read in this tick or before. */
bool tw_power_has_read(const struct tw_power *p, enum tw_zone_kind kind);

/* The energy source of a meter that has zones: all of them have the same. */
const char *tw_power_source_of(const struct tw_power *p, const struct tw_meter *meter);

/* Add the zone "other" once platform and package exist: some meters find zones later. */
int tw_power_add_other(struct tw_power *p, struct tw_err *err);

/* Compute its energy in this tick. */
void tw_power_tick_other(struct tw_power *p, uint64_t tick_ns);

/* "other" ends with the platform or the package. */
void tw_power_end_other(struct tw_power *p, const char *by);

#endif /* TW_COLLECTOR_POWER_STATE_H */
