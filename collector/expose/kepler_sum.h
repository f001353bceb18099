/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_KEPLER_SUM_H
#define TW_COLLECTOR_KEPLER_SUM_H

/* Sums over the zones of a kind: Kepler has one series for each kind. */

#include "collector/meters/meter.h"
#include "lib/field/energy.h"

#include <stddef.h>

struct tw_power_zone;

#define TW_KEPLER_PATH (TW_ZONE_PATH + TW_ENERGY_SOURCE_NAME_MAX + 2)

struct tw_kepler_split {
	double joules, active_joules, idle_joules;
	double watts, active_watts, idle_watts;
};

struct tw_kepler_sum {
	const struct tw_power_zone *first; /* NULL: no zone */
	size_t zones;
	struct tw_kepler_split split;
};

void tw_kepler_split_add(struct tw_kepler_split *s, const struct tw_power_zone *z);

/*
 * The sum is empty as long as one of the zones has no reading: a counter must not fall.
 * For the same reason a sum of several zones keeps the energy of zones that have stopped,
 * if both have the same label `path`.
 */
struct tw_kepler_sum tw_kepler_sum_of(const struct tw_power_zone *z, size_t count,
				      enum tw_zone_kind kind);

/*
 * The label `path` as in Kepler: the directory of a single zone, or "aggregated-KIND" for
 * several. Kepler has no label for the source, so the path begins with the name of a
 * meter that does not measure.
 */
const char *tw_kepler_path(const struct tw_kepler_sum *s, char out[TW_KEPLER_PATH]);

#endif /* TW_COLLECTOR_KEPLER_SUM_H */
