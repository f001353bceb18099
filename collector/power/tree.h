/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_TREE_H
#define TW_COLLECTOR_TREE_H

/*
 * The tree of the machine's readings: which contains which, and which of them count.
 *
 *     machine
 *       board, or its supplies     TW_ZONE_PLATFORM, by enum tw_place; psys
 *         module                   TW_ZONE_PLATFORM with TW_PLACE_MODULE
 *           package
 *             core, uncore
 *           dram
 *           gpu
 *
 * Two readings of the same thing count once: the one of the higher place, then that of
 * the more trusted meter. GPUs of another vendor are other things. A parent explains its
 * children; siblings add up.
 */

#include "collector/meters/meter.h"
#include "collector/power/track.h"
#include "collector/power/unit_power.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TW_POWER_WAIT_TICKS 3
#define TW_GUARD_STEPS 64

/* The state that guard.h keeps for a zone. */
struct tw_guard_watch {
	/* Energy of all readings, whether they count or not; it was read in this tick. */
	uint64_t energy_uj;
	bool read;
	bool answers; /* it was read, or its counter will have the energy of this tick */
	uint64_t from_uj, last_uj; /* at the begin of the span, and at the last tick */
	float step_uj[TW_GUARD_STEPS]; /* energy of the last ticks */
	unsigned steps;                /* of them, the last in a row that were read */
	double input_uj, output_uj;    /* of its supplies in the span */
	bool input_gap, output_gap;    /* unknown in some of it */
	bool gap;                      /* not read in all of the span */
	bool some_answer;              /* in some tick of it */
	unsigned dead_spans;    /* spans in a row without an answer of its meter; of a
				   rejected zone, why: above 0 */
	bool reported;          /* a doubt was logged */
	bool copy, false_power; /* in the last span; text has the reason */
	const char *rule, *rule_before; /* broken in the last spans; NULL: none */
	const struct tw_zone *copy_of;  /* the zone with the same counter; or NULL */
	unsigned plausible;  /* spans in a row in which a rejected zone broke no rule */
	unsigned rejections; /* since the start */
	bool stopped;        /* a rejection has been heeded: the zone is read only for
				the guard */
	char text[96];
};

struct tw_power_zone {
	const struct tw_zone *zone;
	const struct tw_meter *meter;
	const char *source; /* the energy source: mostly the meter's name */
	bool counts;        /* its energy is that of its kind: see tree.h */
	bool superseded;    /* a more trusted meter has taken over */
	bool fresh;         /* read in the last tick */
	bool seen;          /* read in any tick */
	bool silent;        /* not read, and not waited for */
	unsigned tried;     /* ticks without a reading, at most WAIT_TICKS */
	char why[192];      /* why it was not read; "" if it was */
	char doubt[96];     /* the rule of guard.h that it breaks; "": none */
	char rejected[192]; /* why it does not count now, by guard.h; "": it may */
	struct tw_guard_watch watch;
	double input_w, output_w;     /* of its supplies: struct tw_reading */
	double power_w;               /* power in the last tick, if reported */
	double idle_w;                /* its idle part; 0: not learned yet */
	uint64_t dynamic_uj, idle_uj; /* energy since the start */
	uint64_t ticked_uj;           /* dynamic energy of the last tick */
	bool whole;                   /* that is the energy of that tick and no other */
	struct tw_track track;
	struct tw_idle idle;
	struct tw_unit_power units; /* of its users, if they are known */
};

/*
 * Decide whether the new zone `at` counts. Until the first tick (`begun`) one that
 * precedes others counts at once; later see tw_tree_take_over().
 */
void tw_tree_place(struct tw_power_zone *z, size_t count, size_t at, bool begun);

/* A zone stops: another one (`by`) has taken over. */
void tw_tree_stop(struct tw_power_zone *z, const char *by);

/*
 * Zone i is rejected: it stops, with its energy so far. If nothing else reads the same
 * now, zones that it or another one had replaced count again.
 */
void tw_tree_reject(struct tw_power_zone *z, size_t count, size_t i);

/*
 * Zone i is rejected no longer: it counts again, in the place of less trusted ones, and
 * its energy grows on. A more trusted one that counts meanwhile has taken over. Where
 * others count, it waits for the zones of its meter that are still rejected: call again.
 */
void tw_tree_accept(struct tw_power_zone *z, size_t count, size_t i);

/* True if another meter could count in the place of zone i. */
bool tw_tree_has_other(const struct tw_power_zone *z, size_t count, size_t i);

/* True if another meter counts in the place of zone i, and is not dead. */
bool tw_tree_is_replaced(const struct tw_power_zone *z, size_t count, size_t i);

/* True if both are parts of one reading: supplies, or packages, of one meter. */
bool tw_tree_is_sibling(const struct tw_power_zone *a, const struct tw_power_zone *b);

/*
 * After a tick: zones that were read and precede others count from now on, and zones that
 * read what no other one has read. Those that stop keep their energy; one that was never
 * read may still take over. Returns true if something changed.
 */
bool tw_tree_take_over(struct tw_power_zone *z, size_t count);

/*
 * The kinds of `of`, bits 1 << kind, whose sum is the power of the machine. `doubted`:
 * the parts of the platform have more power than itself, so it counts without them.
 */
unsigned tw_tree_sum(unsigned of, bool doubted);

/*
 * Note whether a zone was read in this tick. One that was not in its first ticks, and may
 * well use no power, is silent from then on.
 */
void tw_tree_note_known(struct tw_power_zone *z, bool known, const struct tw_reading *r);

/* The zone that contains zone i or that it repeats; SIZE_MAX: the machine. */
size_t tw_tree_parent(const struct tw_power_zone *z, size_t count, size_t i);

/*
 * Why zone i is not in the sum of the kinds `sum`; NULL: it is. The text lives until the
 * next tick.
 */
const char *tw_tree_uncounted(const struct tw_power_zone *z, size_t i, unsigned sum);

#endif /* TW_COLLECTOR_TREE_H */
