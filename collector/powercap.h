/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_POWERCAP_H
#define TW_COLLECTOR_POWERCAP_H

/*
 * A virtual powercap tree: plain files in the shape of /sys/class/powercap, for whoever
 * reads RAPL by a path of sysfs. The directory given is what takes the place of /sys:
 *
 *	DIR/class/powercap/intel-rapl:0/{name,energy_uj,max_energy_range_uj}
 *	DIR/class/powercap/intel-rapl:0:0/...
 *
 * package-0 has core, uncore and dram below it; psys, or the platform where there is
 * no psys, is a zone of its own. Counters wrap as RAPL's do, and go on from where the
 * last collector left them: a fall would be taken for a wrap. Best on a tmpfs.
 */

#include "collector/meters/zone.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_collector;
struct tw_err;

/* Of a virtual counter: the next value after it is 0. */
#define TW_POWERCAP_RANGE_UJ UINT64_C(262143328850)

#define TW_POWERCAP_PLACES 6

/* What the counters of a tree had before this collector wrote them. */
struct tw_powercap_tree {
	uint64_t serial; /* of the VM */
	bool seen;       /* it is told in this tick */
	bool based[TW_POWERCAP_PLACES];
	uint64_t base_uj[TW_POWERCAP_PLACES];
};

/* Of a collector. All zero bytes: nothing was written yet. */
struct tw_powercap {
	struct tw_powercap_tree node, *vm;
	size_t vms;
};

/* A tree of the machine below c->powercap_out, and one of each VM below
 * c->vm_power_dir/ID; whichever are not NULL. The first failure is told, after all were
 * tried. Allocates where there is a new VM. */
int tw_powercap_tick(struct tw_collector *c, struct tw_err *err);

void tw_powercap_release(struct tw_powercap *p);

#endif /* TW_COLLECTOR_POWERCAP_H */
