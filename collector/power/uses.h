/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_USES_H
#define TW_COLLECTOR_USES_H

/*
 * Energy of zones that know who used them (GPUs), by process: each zone's own energy by
 * its own users, so that an idle GPU's is not for who is busy on another.
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

/* Of a tick. All zero bytes is none. */
struct tw_uses {
	struct tw_use *at; /* a process may be there several times */
	size_t count, size;
	uint64_t *weight, *out_uj; /* room for as many */
	struct tw_remainder *room;
};

void tw_uses_release(struct tw_uses *u);

/*
 * A zone's energy among its users, all of it to the microjoule. False if there are none,
 * or no memory: then it is nobody's. No allocation where there were as many before.
 */
bool tw_uses_add(struct tw_uses *u, const struct tw_zone_user *user, size_t count,
		 uint64_t dynamic_uj, uint64_t idle_uj);

#endif /* TW_COLLECTOR_USES_H */
