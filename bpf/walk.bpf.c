/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A call walks all tasks and writes a record for each process to an array that the
 * collector has mapped (Linux 6.7).
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bpf/task.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Declared here, because older distributions' headers lack them. */
struct bpf_iter_task {
	__u64 opaque[3];
} __attribute__((aligned(8)));

#define ALL_THREADS 1 /* enum BPF_TASK_ITER_ALL_THREADS */

extern int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task,
			     unsigned int flags) __ksym;
extern struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) __ksym;
extern void bpf_iter_task_destroy(struct bpf_iter_task *it) __ksym;
extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set before load */
	__type(key, __u32);
	__type(value, struct tw_task);
} tasks SEC(".maps");

/* Processes to skip first, and to record at most: the array's size. */
__u32 tw_skip, tw_max;

/* Processes found, skipped ones included; tw_skip + tw_max: there may be more. */
__u32 tw_count;

static __always_inline struct tw_task *record_at(__u32 process)
{
	__u32 place = process - tw_skip;

	return process < tw_skip ? 0 : bpf_map_lookup_elem(&tasks, &place);
}

/*
 * Read the time of exited threads first, then add living threads: a thread that exits in
 * between is in neither until the next walk, never in both.
 */
static __always_inline void start_process(struct task_struct *t)
{
	struct tw_task *r = record_at(tw_count);

	tw_count++;
	if (!r)
		return;
	r->cpu_ns = dead_ns_of(t);
	fill_task(r, t);
	r->parent = t->real_parent->tgid;
	r->cpu_ns += t->se.sum_exec_runtime;
}

static __always_inline void add_thread(struct task_struct *t)
{
	struct tw_task *r = record_at(tw_count - 1);

	if (r && r->tgid == (__u32)t->tgid)
		r->cpu_ns += t->se.sum_exec_runtime;
}

SEC("syscall")
int walk_tasks(void *ctx)
{
	struct bpf_iter_task it;
	struct task_struct *t;

	tw_count = 0;
	bpf_rcu_read_lock();
	bpf_iter_task_new(&it, 0, ALL_THREADS);
	while ((t = bpf_iter_task_next(&it))) {
		/* Skip the idle task. */
		if (t->pid == 0)
			continue;
		if (t->pid != t->tgid) {
			add_thread(t);
			continue;
		}
		if (tw_count - tw_skip == tw_max && tw_count >= tw_skip)
			break;
		start_process(t);
	}
	bpf_iter_task_destroy(&it);
	bpf_rcu_read_unlock();
	return 0;
}
