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
 * restart from the last written value, because readers take a fall for a wrap. While no
 * collector runs, the value is in last_uj, and there is no energy_uj: the keeper sees to
 * that where a collector is killed. Put DIR on a tmpfs.
 *
 * The energy of a tick is written in steps until the next tick is due. So a counter is a
 * tick late, never ahead of the energy that was measured, and a reader at any time sees
 * the mean power of its own interval.
 *
 * Two files beside a counter tell its origin: `source` has the name of the meter, `model`
 * the model of an estimate or an empty line. In a nested virtual machine they are those
 * of the outermost host. tw-collector reads such a zone as meter passthrough, so that it
 * is never taken for RAPL.
 */

#include "collector/meters/zone.h"
#include "collector/powercap_keeper.h"

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

/* Trees of VMs that a collector writes: 120 KiB of a tmpfs each. */
#define TW_POWERCAP_TREES_MAX 1024

/*
 * A step: 5 % of 0.5 s, the shortest interval of Kepler's defaults. It is longer for more
 * than 25 counters, by the time for each file: 1000 files a second at most.
 */
#define TW_POWERCAP_STEP_NS UINT64_C(25000000)
#define TW_POWERCAP_FILE_NS UINT64_C(1000000)

/* A counter of a tree. Energies are unwrapped: of the previous collector, too. */
struct tw_powercap_counter {
	bool based;        /* base_uj was read */
	uint64_t base_uj;  /* the value before this collector wrote it */
	uint64_t from_uj;  /* at the last tick */
	uint64_t to_uj;    /* at the next tick: all energy that is known */
	uint64_t wrote_uj; /* in the file */
	uint64_t origin;   /* hash of what was written; 0: nothing */
};

struct tw_powercap_tree {
	uint64_t serial; /* serial of the VM; 0: of an earlier collector's */
	bool keep;       /* the VM exists in this tick */
	char *dir;       /* NULL: no file was written, of the machine's only */
	struct tw_powercap_counter counter[TW_POWERCAP_PLACES];
};

/* All zero bytes: no tree is written. */
struct tw_powercap {
	const char *node_dir; /* the machine's tree; NULL: none */
	const char *vm_dir;   /* a tree for each VM, VM_DIR/ID; NULL: none */
	struct tw_aside keeper;
	const struct tw_estimates *estimates; /* those of the power; NULL: none */
	size_t trees_max;                     /* of VMs */
	uint64_t keep_ns; /* how long a tree of an earlier collector waits for its VM */
	struct tw_powercap_tree node, *vm;
	size_t vms;
	size_t made,
		turn; /* trees made in this tick; the first that the next one syncs */
	uint64_t left_out; /* VMs without a tree: too many, or no file can have the id */
	uint64_t began_ns; /* the first tick; 0: none yet */
	uint64_t tick_ns, span_ns; /* of the last tick, and from it to the next */
	uint64_t step_ns;          /* of the last step */
	size_t stepped;            /* files that the last step wrote */
};

/*
 * Take the energy that power and workloads have at now_ns (CLOCK_MONOTONIC), to write it
 * until span_ns later; 0: at once. Tries all trees, then reports the first failure.
 * Allocates for a new VM.
 */
int tw_powercap_tick(struct tw_powercap *pc, const struct tw_power *power,
		     const struct tw_workloads *workloads, uint64_t now_ns,
		     uint64_t span_ns, struct tw_err *err);

/*
 * Advance the counters. Return false if there is no more to write until the next tick. A
 * file that cannot be written waits for that, too.
 */
bool tw_powercap_step(struct tw_powercap *pc, uint64_t now_ns);

/*
 * Write all energy that is known, name the counters last_uj, so that no reader takes them
 * for 0 W, and free.
 */
void tw_powercap_release(struct tw_powercap *p);

#endif /* TW_COLLECTOR_POWERCAP_H */
