/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_POWERCAP_H
#define TW_COLLECTOR_POWERCAP_H

/*
 * A virtual powercap tree: plain files in the shape of /sys/class/powercap, for programs
 * that read RAPL from a configurable sysfs path. The given directory replaces /sys:
 *
 *	DIR/class/powercap/intel-rapl:0/{name,energy_uj,max_energy_range_uj}
 *	DIR/class/powercap/intel-rapl:0:0/...
 *
 * package-0 contains core, uncore and dram. psys is a zone of its own; it shows the
 * platform if there is no psys. Counters wrap like those of RAPL, and continue after a
 * restart from the last written value, because readers take a fall for a wrap. Put DIR on
 * a tmpfs.
 *
 * Two files beside a counter tell its origin: `source` has the name of the meter, `model`
 * the model of an estimate or an empty line. In a nested virtual machine they are those
 * of the outermost host. tw-collector reads such a zone as meter passthrough, so that it
 * is never taken for RAPL.
 */

#include "collector/meters/zone.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_estimates;
struct tw_power;
struct tw_workloads;

/* Highest value of a counter; the next one is 0. */
#define TW_POWERCAP_RANGE_UJ UINT64_C(262143328850)

#define TW_POWERCAP_PLACES 6

/* One tree: the values that its counters had before this collector wrote them. */
struct tw_powercap_tree {
	uint64_t serial; /* serial of the VM */
	bool seen;       /* the VM exists in this tick */
	bool based[TW_POWERCAP_PLACES];
	uint64_t base_uj[TW_POWERCAP_PLACES];
	uint64_t origin[TW_POWERCAP_PLACES]; /* hash of what was written; 0: nothing */
};

/* All zero bytes: no tree is written. */
struct tw_powercap {
	const char *node_dir; /* the machine's tree; NULL: none */
	const char *vm_dir;   /* a tree for each VM, VM_DIR/ID; NULL: none */
	const struct tw_estimates *estimates; /* those of the power; NULL: none */
	struct tw_powercap_tree node, *vm;
	size_t vms;
};

/*
 * Write the trees with the energy that power and workloads have now. Tries all of them,
 * then reports the first failure. Allocates for a new VM.
 */
int tw_powercap_tick(struct tw_powercap *pc, const struct tw_power *power,
		     const struct tw_workloads *workloads, struct tw_err *err);

void tw_powercap_release(struct tw_powercap *p);

#endif /* TW_COLLECTOR_POWERCAP_H */
