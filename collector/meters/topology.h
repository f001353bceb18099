/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_TOPOLOGY_H
#define TW_COLLECTOR_TOPOLOGY_H

/*
 * The online CPUs and their packages, dies and cores, from
 * sys/devices/system/cpu/cpuN/topology.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_err;

/* Longest path below sys. */
#define TW_TOPOLOGY_LONGEST 64

struct tw_place {
	unsigned number;
	int package, die, core;
};

/* All zero bytes: no CPUs. */
struct tw_topology {
	struct tw_place *at; /* sorted by number */
	size_t count;
	bool dies; /* a package has more than one die */
};

/*
 * Read the online CPUs. sys must leave room for TW_TOPOLOGY_LONGEST in TW_ZONE_PATH.
 * TW_NOTFOUND if no CPU has a topology.
 */
int tw_topology_read(const char *sys, struct tw_topology *out, struct tw_err *err);
void tw_topology_release(struct tw_topology *t);

#endif /* TW_COLLECTOR_TOPOLOGY_H */
