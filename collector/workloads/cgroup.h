/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_CGROUP_H
#define TW_COLLECTOR_CGROUP_H

/*
 * Cgroups by id: paths, CPU shares and usage, for v2 and v1. An id is the inode number of
 * a cgroup's directory, which is also what BPF programs read.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_roots;

struct tw_cgroup_tree; /* opaque */

/* Size of a path from the root of the hierarchy. A longer path counts as unknown. */
#define TW_CGROUP_PATH 1024

extern const char *const tw_cgroup_choice_names[]; /* "auto", "v1", "v2"; NULL */

enum tw_cgroup_choice { TW_CGROUPS_AUTO, TW_CGROUPS_V1, TW_CGROUPS_V2 };

/*
 * Find the hierarchy. Auto: v2 where it is mounted at sys/fs/cgroup, else v1's cpuacct,
 * else v2 at sys/fs/cgroup/unified. A machine without cgroups has an empty tree, which is
 * not a failure; a missing v1 or v2 that was chosen is. Free *out with
 * tw_cgroup_tree_close().
 */
int tw_cgroup_tree_open(const struct tw_roots *roots, enum tw_cgroup_choice choice,
			struct tw_cgroup_tree **out, struct tw_err *err);
void tw_cgroup_tree_close(struct tw_cgroup_tree *t);

/* "v2", "v1 cpuacct", "none". */
const char *tw_cgroup_tree_name(const struct tw_cgroup_tree *t);

/* For struct tw_task_config: whether it is v1, and the number of the hierarchy. */
bool tw_cgroup_tree_is_v1(const struct tw_cgroup_tree *t);
int tw_cgroup_tree_hierarchy(const struct tw_cgroup_tree *t);

/* The directory of its root; NULL: none. */
const char *tw_cgroup_tree_top(const struct tw_cgroup_tree *t);

/* The path of this process's cgroup. False if it is not known. */
bool tw_cgroup_tree_own(const struct tw_cgroup_tree *t, char out[TW_CGROUP_PATH]);

/* Start a tick, in which tw_cgroup_tree_path() may search the tree once. */
void tw_cgroup_tree_tick(struct tw_cgroup_tree *t);

/* True if the directory of a path does not exist. Other errors give false. */
bool tw_cgroup_tree_gone(const struct tw_cgroup_tree *t, const char *path);

/*
 * The path of a cgroup ("/" is the root): by a process in it (tgid, 0: none), else by a
 * search of the tree, at most once a tick. False if it is not found: it is removed, or
 * outside of this mount namespace.
 */
bool tw_cgroup_tree_path(struct tw_cgroup_tree *t, uint64_t id, uint32_t tgid,
			 char out[TW_CGROUP_PATH]);

/*
 * The id of a process's cgroup, for the source "proc"; 0 if it is unknown. If the
 * directory is outside of this mount namespace, the id is a hash of the path.
 */
uint64_t tw_cgroup_tree_id(struct tw_cgroup_tree *t, uint32_t tgid);

/*
 * The length of the part of a path that the owner of the hierarchy, root, has named: up
 * to the end of the first directory that another user may fill, by making cgroups in it
 * or moving processes into it. *user is that user, who names the cgroups below;
 * UINT32_MAX if it is not known who, as for one that is removed. All of it, and 0, for a
 * path that is outside of what this process sees of the hierarchy.
 */
size_t tw_cgroup_tree_trusted(const struct tw_cgroup_tree *t, const char *path,
			      uint32_t *user);

/*
 * CPU shares of a cgroup: 1024 is one CPU (v1's cpu.shares; v2's cpu.weight converted).
 * 0: unknown.
 */
uint32_t tw_cgroup_tree_shares(const struct tw_cgroup_tree *t, const char *path);

/*
 * Total CPU time of a cgroup and its descendants: v2's cpu.stat, v1's cpuacct.usage.
 * False: unknown, or the root of v2, whose value includes interrupts.
 */
bool tw_cgroup_tree_cpu_ns(const struct tw_cgroup_tree *t, const char *path,
			   uint64_t *out);

/*
 * Find the path of a hierarchy (v2: number 0) in the text of /proc/PID/cgroup. False if
 * the text has none, or a path too long.
 */
bool tw_cgroup_line_find(const char *text, size_t len, int hierarchy,
			 char out[TW_CGROUP_PATH]);

/*
 * Usage of a cgroup and its descendants, in the terms of Kepler 0.5 to 0.7: v2's
 * cpu.stat, memory.current and memory.stat; v1's cpuacct.usage, cpuacct.stat,
 * memory.usage_in_bytes and memory.stat.
 */
enum tw_cgroup_figure {
	TW_CGROUP_CPU_US, /* since its creation, as the next two */
	TW_CGROUP_USER_US,
	TW_CGROUP_SYSTEM_US,
	TW_CGROUP_MEMORY_BYTES,      /* includes the page cache */
	TW_CGROUP_WORKING_SET_BYTES, /* memory less inactive page cache, as the kubelet
					computes it */
	TW_CGROUP_FIGURES
};

struct tw_cgroup_use {
	bool known[TW_CGROUP_FIGURES];
	uint64_t of[TW_CGROUP_FIGURES];
};

/* Read all figures; known[] is false for those that cannot be read. */
void tw_cgroup_use_read(const struct tw_cgroup_tree *t, const char *path,
			struct tw_cgroup_use *out);

/* Find the number of a line "key number". False if there is no such line. */
bool tw_cgroup_stat_find(const char *text, size_t len, const char *key, uint64_t *out);

#endif /* TW_COLLECTOR_CGROUP_H */
