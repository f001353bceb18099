/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_POWER_H
#define TW_COLLECTOR_POWER_H

/*
 * The energy of the machine: all zones of all meters that are there, at each tick. Of
 * each kind of zone the most trusted meter is believed, and only that.
 *
 * Where there are both a machine's inlet and its packages, the zone "other" is reckoned:
 * platform less package, dram and gpu, as far as those are told. A difference of counters
 * that grow may fall for a tick; what it owes then is taken off what comes after, so that
 * it grows, too.
 *
 * A zone that cannot be read is tried again at each tick. Until it is back it has no
 * energy, which is something else than 0 J, and a reason.
 */

#include "collector/meters/meter.h"
#include "collector/meters/zone.h"
#include "collector/power/idle.h"
#include "collector/power/uses.h"
#include "collector/power/track.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_strs;
struct tw_power; /* opaque */

struct tw_power_zone {
	const struct tw_zone *zone;
	const struct tw_meter *meter;
	bool told;      /* in the last tick */
	char why[96];   /* why not; "" if it is */
	double power_w; /* of the last tick, if told */
	double idle_w;  /* what of it is there without load; 0: not learned yet */
	uint64_t dynamic_uj, idle_uj; /* since the start */
	struct tw_track track;
	struct tw_idle idle;
};

struct tw_power_config {
	struct tw_meter_config meter;
	const struct tw_strs *meters; /* their names; NULL or empty: what is there */
	/* Told why a meter is passed over; or NULL. */
	void (*passed)(void *arg, const char *meter, const struct tw_err *why);
	void *passed_arg;
};

/*
 * *out is yours: tw_power_close(). Without any meter it has no zones. Fails if one that
 * was named cannot be opened.
 */
int tw_power_open(const struct tw_power_config *c, struct tw_power **out,
		  struct tw_err *err);
void tw_power_close(struct tw_power *p); /* NULL is fine */

/*
 * Read all zones, at a load of the processors from 0 to 1. now_ns goes on while the
 * machine sleeps, tick_ns is without that time: a power is not of it, and what a counter
 * shows after a long one may have begun again. No allocation, but where a meter has found
 * zones.
 */
void tw_power_tick(struct tw_power *p, uint64_t now_ns, uint64_t tick_ns, double load);

/* Of the last tick: energy that is told by process, which is a part of its kind's. */
const struct tw_use *tw_power_uses(const struct tw_power *p, size_t *count);

/* By trust of the meter. */
const struct tw_power_zone *tw_power_zones(const struct tw_power *p, size_t *count);

/* Energy of the last tick, of all zones of a kind. */
const struct tw_charge *tw_power_ticked(const struct tw_power *p);

/* Whether all zones of a kind were told in the last tick, and there is one. */
bool tw_power_tells(const struct tw_power *p, enum tw_zone_kind kind);

/* Whether what workloads have of a kind is all that they used: of GPUs, whose energy is
 * that of their own users, also where others of them are not told. */
bool tw_power_tells_use(const struct tw_power *p, enum tw_zone_kind kind);

/* The meter of a kind; NULL: none. */
const struct tw_meter *tw_power_meter(const struct tw_power *p, enum tw_zone_kind kind);

#endif /* TW_COLLECTOR_POWER_H */
