/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TW_BPF_KERNEL_H
#define TW_BPF_KERNEL_H

/*
 * The kernel types that the programs read, with only the fields that they use. CO-RE
 * finds the real offsets at load time, so the build needs no vmlinux.h and does not
 * depend on the build machine's kernel.
 */

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	__u64 id;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct css_set {
	struct cgroup_subsys_state *subsys[1]; /* one for each v1 controller */
	struct cgroup *dfl_cgrp;               /* v2 */
};

struct sched_entity {
	__u64 sum_exec_runtime;
};

typedef struct {
	int counter;
} atomic_t;

typedef struct refcount_struct {
	atomic_t refs;
} refcount_t;

struct signal_struct {
	refcount_t sigcnt; /* tasks that are not freed yet; others may hold it, too */
	atomic_t live;     /* threads that have not begun to exit */
	unsigned long long sum_sched_runtime; /* of exited threads */
};

struct task_struct {
	int pid; /* thread id */
	int tgid;
	unsigned int flags;
	char comm[16];
	__u64 start_boottime;
	__u64 self_exec_id;
	struct sched_entity se;
	struct signal_struct *signal;
	struct css_set *cgroups;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/* include/linux/sched.h */
#define PF_KTHREAD 0x00200000

#endif /* TW_BPF_KERNEL_H */
