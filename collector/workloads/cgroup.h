/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_CGROUP_H
#define TW_COLLECTOR_CGROUP_H

/*
 * Cgroups by id: their paths, for v2 and v1. An id is the inode of a cgroup's directory.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_roots;

struct tw_cgroup_tree; /* opaque */

/* Room for a path from the root of the hierarchy; a longer one is not known. */
#define TW_CGROUP_PATH 1024

extern const char *const tw_cgroup_choice_names[]; /* "auto", "v1", "v2"; NULL */

enum tw_cgroup_choice { TW_CGROUPS_AUTO, TW_CGROUPS_V1, TW_CGROUPS_V2 };

/*
 * Find the hierarchy. Auto: v2 where it is mounted at sys/fs/cgroup, else v1's cpuacct,
 * else v2 wherever it is. A machine without any has an empty tree, which is no failure;
 * one without the hierarchy asked for is. *out is yours: tw_cgroup_tree_close().
 */
int tw_cgroup_tree_open(const struct tw_roots *roots, enum tw_cgroup_choice choice,
			struct tw_cgroup_tree **out, struct tw_err *err);
void tw_cgroup_tree_close(struct tw_cgroup_tree *t);

/* "v2", "v1 cpuacct", "none". */
const char *tw_cgroup_tree_name(const struct tw_cgroup_tree *t);

/* For struct tw_task_config: whether it is v1's, and the hierarchy's number. */
bool tw_cgroup_tree_is_v1(const struct tw_cgroup_tree *t);
int tw_cgroup_tree_hierarchy(const struct tw_cgroup_tree *t);

/* A tick begins: there may be one more look through the tree. */
void tw_cgroup_tree_tick(struct tw_cgroup_tree *t);

/* Whether its directory is gone for sure. */
bool tw_cgroup_tree_gone(const struct tw_cgroup_tree *t, const char *path);

/*
 * The path of a cgroup ("/" is the root), by a process in it or by looking through the
 * tree, at most once a tick. False if it is not to be found: gone, or not ours to see.
 */
bool tw_cgroup_tree_path(struct tw_cgroup_tree *t, uint64_t id, uint32_t tgid,
			 char out[TW_CGROUP_PATH]);

/*
 * The id of a process's cgroup, for the source "proc"; 0 if it cannot be told. Where the
 * directory is not ours to see, a number made from the path.
 */
uint64_t tw_cgroup_tree_id(struct tw_cgroup_tree *t, uint32_t tgid);

/*
 * What the cgroup was given of the CPUs: 1024 is a CPU's worth (v1's cpu.shares, v2's
 * cpu.weight in its scale). 0: not known.
 */
uint32_t tw_cgroup_tree_shares(const struct tw_cgroup_tree *t, const char *path);

/*
 * A file of a cgroup: of v1's controller memory, or of the hierarchy that tells CPU time;
 * v2 has one for both. False if it cannot be read, or is larger than size - 1.
 */
bool tw_cgroup_tree_read(const struct tw_cgroup_tree *t, bool memory, const char *path,
			 const char *name, char *text, size_t size, size_t *len);

/*
 * CPU time of all that ever ran in a cgroup and below it: v2's cpu.stat, v1's
 * cpuacct.usage. False: not known, or, of v2's root, not the sum of what ran.
 */
bool tw_cgroup_tree_cpu_ns(const struct tw_cgroup_tree *t, const char *path,
			   uint64_t *out);

/*
 * The path of a hierarchy (v2's number is 0) in the text of /proc/PID/cgroup. False if it
 * has none, or one too long.
 */
bool tw_cgroup_line_find(const char *text, size_t len, int hierarchy,
			 char out[TW_CGROUP_PATH]);

#endif /* TW_COLLECTOR_CGROUP_H */
