/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_POWER_H
#define TW_COLLECTOR_POWER_H

/*
 * The energy of the machine: all zones of all its meters at each tick. Of the zones that
 * read the same thing, one counts: tree.h.
 *
 * If platform and package are both measured, the zone "other" is calculated: platform
 * minus package, dram and gpu, as far as these exist. Such a difference may be negative
 * in a tick; the deficit is subtracted from later ticks, so that the counter never falls.
 * While one of them is unreadable, the difference waits for its energy of that time.
 *
 * An unreadable zone is read again at each tick. Until then its energy is unknown, which
 * is not 0 J, and has a reason. A zone that has no reading in its first
 * TW_POWER_WAIT_TICKS is silent until it has one: its kind is complete without it. Such
 * are the second die of an MI250, a chassis that reports 0 W, and dram of a board whose
 * counter stays 0. A GPU that sleeps is silent, too.
 *
 * Missing meters that can appear later (struct tw_meter, `late`) are looked for every
 * TW_POWER_SEARCH_NS, a costly one ever more rarely. A more trusted meter takes over a
 * kind between two ticks, once it has read all its zones of that kind: each tick has the
 * energy of one meter. Its counters then begin at 0, and those of the superseded zones
 * stop.
 */

#include "collector/meters/meter.h"
#include "collector/meters/zone.h"
#include "collector/power/share.h"
#include "collector/power/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_schedule;
struct tw_strs;
struct tw_power; /* opaque */

#define TW_POWER_SEARCH_NS UINT64_C(30000000000)
#define TW_POWER_WATCH_NS UINT64_C(20000000000)

/* Lives as long as the meters, except `meter.ask`, which is for opening only. */
struct tw_power_config {
	struct tw_meter_config meter;
	const struct tw_strs *meters; /* names; NULL or empty: all that exist */
	/* Called for each skipped meter; or NULL. */
	void (*passed)(void *arg, const char *meter, const struct tw_err *why);
	/* Called for each meter that has appeared later; or NULL. */
	void (*found)(void *arg, const char *meter);
	/*
	 * Called for each zone that newly breaks a rule of guard.h, is rejected (without
	 * a doubt: its meter has died), or is accepted again (with neither); or NULL.
	 */
	void (*doubted)(void *arg, const struct tw_power_zone *z);
	void *passed_arg; /* of all three */
};

/*
 * Open the meters. Without any meter there are no zones. Fails if a named meter cannot be
 * opened. *out is yours: tw_power_close().
 */
int tw_power_open(const struct tw_power_config *c, struct tw_power **out,
		  struct tw_err *err);
void tw_power_close(struct tw_power *p); /* NULL is fine */

/*
 * Read all zones, at a load of the CPUs from 0 to 1; ran: of which packages, NULL: not
 * known. now_ns includes suspend, tick_ns does not: power is computed over tick_ns, and a
 * counter may have been reset during a long suspend. Allocates only if a meter finds more
 * zones, and at a search.
 */
void tw_power_tick(struct tw_power *p, uint64_t now_ns, uint64_t tick_ns, double load,
		   const struct tw_schedule *ran);

/*
 * Between two ticks, at now_ns: read the users of zones, and every TW_POWER_WATCH_NS
 * counters that wrap around within minutes. Call it every TW_METER_WATCH_NS where ticks
 * are further apart.
 */
void tw_power_watch(struct tw_power *p, uint64_t now_ns);

/* Judge the zones by guard.h at once, by all ticks since the last judgement. */
void tw_power_judge(struct tw_power *p);

/* Energy of the last tick by process: a part of the energy of its kind. */
const struct tw_use *tw_power_uses(const struct tw_power *p, size_t *count);

/* All zones, most trusted meter first; zones of late meters are the last. */
const struct tw_power_zone *tw_power_zones(const struct tw_power *p, size_t *count);

/*
 * False: the zone's dynamic energy contains idle energy that is not known yet. A model
 * tells the idle power of an estimate, or its watts are above idle. The idle power of the
 * zone "other" is known as soon as the platform's is, even if it is 0.
 */
bool tw_power_knows_idle(const struct tw_power *p, const struct tw_power_zone *z);

/*
 * Zones that the nth open meter has found and does not read: struct tw_meter, `left_out`.
 * NULL: there is no such meter.
 */
const struct tw_zone *tw_power_left_out(const struct tw_power *p, size_t n,
					const struct tw_meter **of, size_t *count);

/* Energy of the last tick, by kind. */
const struct tw_charge *tw_power_ticked(const struct tw_power *p);

/*
 * The kinds of that energy whose sum is the energy of the machine. tw_power_sum_kinds()
 * is ahead of it: it includes a new meter before its first reading, and zones that take
 * over with the next tick.
 */
unsigned tw_power_ticked_kinds(const struct tw_power *p);

/*
 * The part of it that zones of one package had, without known idle energy. only: the
 * machine has no other package, so that a zone of an unknown one is of this.
 */
void tw_power_package(const struct tw_power *p, int package, bool only,
		      struct tw_package_energy *out);

/* True if the kind has zones that are not silent, and all were read in the last tick. */
bool tw_power_complete(const struct tw_power *p, enum tw_zone_kind kind);

/*
 * True if the energy that workloads have of a kind is complete. For GPUs one readable GPU
 * is enough, because its energy is only that of its own users.
 */
bool tw_power_use_complete(const struct tw_power *p, enum tw_zone_kind kind);

/* True if the meter is open. */
bool tw_power_reads(const struct tw_power *p, const struct tw_meter *meter);

/* The most trusted meter of the zones that count for a kind; NULL: none. */
const struct tw_meter *tw_power_meter(const struct tw_power *p, enum tw_zone_kind kind);

/*
 * The kinds whose sum is the power of the machine, as far as it is known: bits 1 << kind.
 * Kinds overlap, so that is package, dram, gpu and other; without a package the platform,
 * else psys. Kinds whose zones are all silent do not count, unless all kinds are. 0:
 * there is no such kind.
 */
unsigned tw_power_sum_kinds(const struct tw_power *p);

/* The energy source of the meter that counts for a kind; NULL: there is no meter. */
const char *tw_power_source(const struct tw_power *p, enum tw_zone_kind kind);

#endif /* TW_COLLECTOR_POWER_H */
