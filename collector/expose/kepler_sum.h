/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_KEPLER_SUM_H
#define TW_COLLECTOR_KEPLER_SUM_H

/* The zones of a kind together: Kepler has one series for each kind. */

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
	const struct tw_power_zone *first; /* NULL: there is none */
	size_t zones;
	struct tw_kepler_split split;
};

void tw_kepler_split_add(struct tw_kepler_split *s, const struct tw_power_zone *z);

/*
 * Empty as long as one of the zones has no reading: the sum would fall. So it would
 * without zones that have stopped: the sum of several keeps their energy, if it is one
 * series with theirs.
 */
struct tw_kepler_sum tw_kepler_sum_of(const struct tw_power_zone *z, size_t count,
				      enum tw_zone_kind kind);

/*
 * The label `path`: the directory of a zone, as Kepler has it, not its file, and its word
 * for several zones. Kepler has no label of the source, so the path names a meter that
 * does not measure.
 */
const char *tw_kepler_path(const struct tw_kepler_sum *s, char out[TW_KEPLER_PATH]);

#endif /* TW_COLLECTOR_KEPLER_SUM_H */
