/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ATTRIBUTE_H
#define TW_COLLECTOR_ATTRIBUTE_H

/*
 * The machine's energy to its workloads, in whole microjoules that add up to it.
 *
 * What is there by load goes by the best usage that the machine tells for the kind of
 * zone: cycles and instructions for package and core, misses of the last cache for dram,
 * CPU time otherwise. What is there without load goes by CPU time, or by requested shares
 * among those that ran; never by head count. Energy of GPUs is of the processes that used
 * them while it was measured; what nobody is known to have used stays the machine's.
 */

#include "collector/meters/zone.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_workloads;
struct tw_attribution; /* opaque */

enum tw_idle_by { TW_IDLE_BY_USE, TW_IDLE_BY_SHARE };

/* "use", "share", NULL. */
extern const char *const tw_idle_by_names[];

/* Since the start. given + waiting is all that there was. */
struct tw_attribution_stats {
	struct tw_charge given;
	/* For a tick in which something ran; of GPUs, for good. */
	struct tw_charge waiting;
	uint64_t errors; /* sums that were not what they were made of: 0 */
};

int tw_attribution_open(enum tw_idle_by idle_by, struct tw_attribution **out,
			struct tw_err *err);
void tw_attribution_close(struct tw_attribution *a); /* NULL is fine */

/*
 * Energy of the last tick to what ran in it. What cannot be given, since nothing ran or
 * for want of memory, waits for the next (of GPUs, it is not given any more). No
 * allocation where no more ran than before.
 */
int tw_attribute(struct tw_attribution *a, struct tw_workloads *t,
		 const struct tw_charge *energy, struct tw_err *err);

const struct tw_attribution_stats *tw_attribution_stats(const struct tw_attribution *a);

#endif /* TW_COLLECTOR_ATTRIBUTE_H */
