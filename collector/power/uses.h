/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_USES_H
#define TW_COLLECTOR_USES_H

/*
 * Energy of zones with known users (GPUs), by process. Each zone's energy goes to its own
 * users, so an idle GPU costs nothing to a process that is busy on another.
 */

#include "collector/meters/meter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_remainder;

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
 * Divide a zone's energy among its users, exact to the microjoule. False if there are no
 * users, or no memory: then the energy stays with the machine. Allocates only if there
 * are more uses than ever before.
 */
bool tw_uses_add(struct tw_uses *u, const struct tw_zone_user *user, size_t count,
		 uint64_t dynamic_uj, uint64_t idle_uj);

#endif /* TW_COLLECTOR_USES_H */
