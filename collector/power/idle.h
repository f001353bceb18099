/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_IDLE_H
#define TW_COLLECTOR_IDLE_H

/*
 * The idle power of a zone, learned while the machine runs. Power is recorded by load;
 * the line through the medians at low and high load is extended to no load. The lowest
 * sample is not used, because it falls with the length of the wait.
 */

#include <stdint.h>

#define TW_IDLE_BINS 20
#define TW_IDLE_KEPT 32 /* newest samples of a bin */

/* All zero bytes: nothing learned. */
struct tw_idle {
	float power_w[TW_IDLE_BINS][TW_IDLE_KEPT];
	float load[TW_IDLE_BINS][TW_IDLE_KEPT];
	uint32_t seen[TW_IDLE_BINS];
	/* The current, incomplete sample. */
	double energy_uj, load_ns;
	uint64_t over_ns;
	double idle_w; /* the learned idle power; 0: unknown */
};

/*
 * Learn from energy_uj over over_ns at a load from 0 to 1. A sample lasts at least a
 * second and ends with energy, because a counter may update less often than it is read.
 */
void tw_idle_learn(struct tw_idle *i, uint64_t energy_uj, uint64_t over_ns, double load);

#endif /* TW_COLLECTOR_IDLE_H */
