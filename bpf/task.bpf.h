/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TW_BPF_TASK_H
#define TW_BPF_TASK_H

/* Converts a kernel task to struct tw_task. Each program includes it once. */

#include "bpf/kernel.bpf.h"
#include "bpf/shared.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* Report cgroups of v1's cpuacct instead of v2's. Set before load. */
const volatile _Bool tw_cgroup_v1 = 0;

/* The offset of the collector's time namespace. Set before load. */
const volatile __s64 tw_boot_offset_ns = 0;

/* CO-RE replaces the value by the running kernel's. */
enum cgroup_subsys_id { cpuacct_cgrp_id };

/* The cgroup's id: the inode number of its directory. */
static __always_inline __u64 cgroup_id_of(struct task_struct *t)
{
	struct css_set *set = t->cgroups;
	struct cgroup_subsys_state *css = 0;

	if (!tw_cgroup_v1)
		return set->dfl_cgrp->kn->id;
	/*
	 * CO-RE makes the index a constant at load time only, so a typed pointer cannot
	 * be used.
	 */
	bpf_probe_read_kernel(
		&css, sizeof(css),
		(void *)set + bpf_core_field_offset(set->subsys) +
			bpf_core_enum_value(enum cgroup_subsys_id, cpuacct_cgrp_id) *
				sizeof(css));
	return BPF_CORE_READ(css, cgroup, kn, id);
}

/*
 * Per process: the time of its exited threads, read when each was freed. The kernel adds
 * a thread to sum_sched_runtime while that still runs its last microsecond, which is some
 * percent of a short thread's time. Processes without exited threads have no entry. If
 * the LRU evicts an entry, those last microseconds are lost.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct tw_group_key);
	__type(value, struct tw_dead);
} dead SEC(".maps");

static __always_inline struct tw_group_key group_key_of(struct task_struct *t)
{
	struct tw_group_key key = { (__u64)t->signal, (__u32)t->tgid };

	return key;
}

/*
 * The entry of a process by its leader; NULL: none.
 *
 * A thread that is freed after its process was forgotten (LATE_NS of bpf_events.c) leaves
 * an entry behind. A later process may have the same key. All its threads are younger
 * than its leader, so an older entry is not its own. Then the microseconds that the map
 * is for are lost.
 */
static __always_inline struct tw_dead *dead_of(struct task_struct *leader)
{
	struct tw_group_key key = group_key_of(leader);
	struct tw_dead *d = bpf_map_lookup_elem(&dead, &key);

	return d && d->since_ns >= leader->start_boottime ? d : 0;
}

/* The time of exited threads. Either source may be too small, never too large. */
static __always_inline __u64 dead_ns_of(struct task_struct *t)
{
	__u64 sum_ns = t->signal->sum_sched_runtime;
	struct tw_dead *d = dead_of(t);

	return d && d->sum_ns > sum_ns ? d->sum_ns : sum_ns;
}

/*
 * Fill in all fields but the parent, which only a living task is sure to have. t is a
 * group leader.
 */
static __always_inline void fill_task(struct tw_task *out, struct task_struct *t)
{
	out->start_ns = t->start_boottime + tw_boot_offset_ns;
	out->cgroup_id = cgroup_id_of(t);
	out->tgid = t->tgid;
	out->parent = 0;
	out->execs = t->self_exec_id;
	out->flags = t->flags & PF_KTHREAD ? TW_TASK_KERNEL : 0;
	bpf_probe_read_kernel(out->comm, sizeof(out->comm), t->comm);
}

#endif /* TW_BPF_TASK_H */
