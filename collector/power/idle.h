/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_IDLE_H
#define TW_COLLECTOR_IDLE_H

/*
 * What a zone takes without load, learned as the machine runs: power is kept by load, and
 * a line through the medians at low and at high load is followed to no load. Never the
 * lowest sample, which is a matter of chance: the longer one waits, the lower it is.
 */

#include <stdint.h>

#define TW_IDLE_BINS 20
#define TW_IDLE_KEPT 32 /* of a bin: the newest */

/* All zero bytes: nothing learned. */
struct tw_idle {
	float power_w[TW_IDLE_BINS][TW_IDLE_KEPT];
	float load[TW_IDLE_BINS][TW_IDLE_KEPT];
	uint32_t seen[TW_IDLE_BINS];
	/* Of a sample that is not long enough yet. */
	double energy_uj, load_ns;
	uint64_t over_ns;
	double idle_w; /* what was learned; 0: not known yet */
};

/*
 * The zone had energy_uj in over_ns at a load of 0 to 1. Samples are made of at least a
 * second, and end with energy: a counter may be renewed less often than it is read.
 */
void tw_idle_learn(struct tw_idle *i, uint64_t energy_uj, uint64_t over_ns, double load);

#endif /* TW_COLLECTOR_IDLE_H */
