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
 * no psys, is a zone of its own. Counters wrap as RAPL's do. Best on a tmpfs.
 */

#include "collector/zone.h"

#include <stdbool.h>
#include <stdint.h>

struct tw_collector;
struct tw_err;

/* Of a virtual counter: the next value after it is 0. */
#define TW_POWERCAP_RANGE_UJ UINT64_C(262143328850)

/* A tree of the machine below c->powercap_out, and one of each VM below
 * c->vm_power_dir/ID; whichever are not NULL. The first failure is told, after all were
 * tried. */
int tw_powercap_tick(const struct tw_collector *c, struct tw_err *err);

#endif /* TW_COLLECTOR_POWERCAP_H */
