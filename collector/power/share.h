/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_SHARE_H
#define TW_COLLECTOR_SHARE_H

/*
 * Whole microjoules divided by weight, by the largest remainder: the shares add up to the
 * total exactly.
 */

#include "collector/power/unit_power.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for tw_share_out(). */
struct tw_remainder {
	uint64_t rest;
	size_t at;
};

/*
 * Divide total_uj in proportion to weight[0..count); ties go to the lower index. room has
 * count entries. Returns false and writes nothing if all weights are 0 or their sum
 * overflows.
 */
bool tw_share_out(uint64_t total_uj, const uint64_t *weight, size_t count,
		  uint64_t *out_uj, struct tw_remainder *room);

/*
 * Energy of zones with known users (GPUs), by process. Each zone's energy goes to its own
 * users, so an idle GPU costs nothing to a process that is busy on another.
 */
struct tw_use {
	uint32_t tgid;
	uint64_t dynamic_uj, idle_uj;
};

/* The uses in one tick. All zero bytes: none. */
struct tw_uses {
	struct tw_use *at; /* a process may occur several times */
	size_t count, size;
	uint64_t *weight, *out_uj; /* scratch space of the same size */
	struct tw_remainder *room;
};

void tw_uses_release(struct tw_uses *u);

/*
 * Divide a zone's energy among its users, exact to the microjoule: dynamic energy by what
 * each has taken, as far as that was learned, idle energy by time of use. over_ns: the
 * time of that energy; 0: nothing is learned from it. False if there are no users, or no
 * memory: then the energy stays with the machine. Allocates only if there are more uses
 * than ever before.
 */
bool tw_uses_add(struct tw_uses *u, struct tw_unit_power *power,
		 const struct tw_zone_user *user, size_t count,
		 const struct tw_use *energy, uint64_t over_ns);

#endif /* TW_COLLECTOR_SHARE_H */
