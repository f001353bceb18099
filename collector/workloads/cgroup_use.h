/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_CGROUP_USE_H
#define TW_COLLECTOR_CGROUP_USE_H

/*
 * What the kernel says that a cgroup and those below it use, as Kepler 0.5 to 0.7 told it
 * of containers: v2's cpu.stat, memory.current and memory.stat; v1's cpuacct.usage,
 * cpuacct.stat, memory.usage_in_bytes and memory.stat.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_cgroup_tree;

enum tw_cgroup_figure {
	TW_CGROUP_CPU_US, /* since it was made, and the next two */
	TW_CGROUP_USER_US,
	TW_CGROUP_SYSTEM_US,
	TW_CGROUP_MEMORY_BYTES,      /* now, with the page cache */
	TW_CGROUP_WORKING_SET_BYTES, /* without what of it has not been used lately: what
				      * the kubelet tells */
	TW_CGROUP_FIGURES
};

struct tw_cgroup_use {
	bool known[TW_CGROUP_FIGURES];
	uint64_t of[TW_CGROUP_FIGURES];
};

/* What cannot be read is not known. */
void tw_cgroup_use_read(const struct tw_cgroup_tree *t, const char *path,
			struct tw_cgroup_use *out);

/* The number of a line "key number" in any bytes. False if there is none. */
bool tw_cgroup_stat_find(const char *text, size_t len, const char *key, uint64_t *out);

#endif /* TW_COLLECTOR_CGROUP_USE_H */
