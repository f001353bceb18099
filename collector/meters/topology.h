/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_TOPOLOGY_H
#define TW_COLLECTOR_TOPOLOGY_H

/* Which processors are there, and where: by sys/devices/system/cpu/cpuN/topology. */

#include <stdbool.h>
#include <stddef.h>

struct tw_err;

/* Room that a path of it takes behind sys. */
#define TW_TOPOLOGY_LONGEST 64

struct tw_place {
	unsigned number;
	int package, die, core;
};

/* All zero bytes is none. */
struct tw_topology {
	struct tw_place *at; /* by number */
	size_t count;
	bool dies; /* some package has more than one */
};

/* Of those that are switched on; sys has room for what is above. TW_NOTFOUND without
 * any. */
int tw_topology_read(const char *sys, struct tw_topology *out, struct tw_err *err);
void tw_topology_release(struct tw_topology *t);

#endif /* TW_COLLECTOR_TOPOLOGY_H */
