/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reports what a walk over living tasks misses: exits, with the total time of the
 * process; moves between cgroups; new cgroups. No program runs at a context switch.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/task.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Number of the cgroup hierarchy; v2's is 0. Set before load. */
const volatile int tw_cgroup_hierarchy = 0;

/* Wake the reader when this many bytes wait. Set before load. */
const volatile __u64 tw_wake_bytes = 16384;

/* The monotonic clock's offset of the collector's time namespace. Set before load. */
const volatile __s64 tw_monotonic_offset_ns = 0;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 32768); /* bytes, set before load */
} events SEC(".maps");

/* Per cgroup: exits without an event. Entries are never deleted, so totals only grow. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TW_OVERFLOW_MAX);
	__type(key, __u64);
	__type(value, struct tw_task_overflow);
} overflow SEC(".maps");

/* Exits that found no room in `overflow` either. */
__u64 tw_rest_cpu_ns, tw_rest_ended;

/* Number of exits in `overflow` and the rest. */
__u64 tw_lost;

/* Moves and new cgroups without an event, for want of room. */
__u64 tw_untold;

static __always_inline __u64 wake_flags(void)
{
	return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) >= tw_wake_bytes
		       ? BPF_RB_FORCE_WAKEUP
		       : BPF_RB_NO_WAKEUP;
}

static __always_inline void add_overflow(__u64 cgroup_id, __u64 cpu_ns)
{
	struct tw_task_overflow none = {}, *o;

	o = bpf_map_lookup_elem(&overflow, &cgroup_id);
	if (!o) {
		bpf_map_update_elem(&overflow, &cgroup_id, &none, BPF_NOEXIST);
		o = bpf_map_lookup_elem(&overflow, &cgroup_id);
	}
	if (o) {
		__sync_fetch_and_add(&o->cpu_ns, cpu_ns);
		__sync_fetch_and_add(&o->ended, 1);
	} else {
		__sync_fetch_and_add(&tw_rest_cpu_ns, cpu_ns);
		__sync_fetch_and_add(&tw_rest_ended, 1);
	}
	__sync_fetch_and_add(&tw_lost, 1);
}

/*
 * Add the final time of a freed task to its process's entry in `dead`, and return the
 * entry's sum. Adding and reading are two steps, because one atomic step takes Linux
 * 5.12. A leader gets a new entry only if threads are awaited.
 */
static __always_inline __u64 add_dead(struct task_struct *t, _Bool awaited)
{
	struct tw_group_key key = group_key_of(t);
	struct tw_dead none = { .since_ns = t->start_boottime }, *d;
	__u64 ran_ns = t->se.sum_exec_runtime;

	d = bpf_map_lookup_elem(&dead, &key);
	if (!d && (t->pid != t->tgid || awaited)) {
		/* If another CPU created the entry meanwhile, use that. */
		bpf_map_update_elem(&dead, &key, &none, BPF_NOEXIST);
		d = bpf_map_lookup_elem(&dead, &key);
	}
	if (!d)
		return ran_ns;
	__sync_fetch_and_add(&d->sum_ns, ran_ns);
	/* Only a leader can tell by its start time whether the entry is its own. */
	return t->pid != t->tgid || d->since_ns >= t->start_boottime ? d->sum_ns : ran_ns;
}

/*
 * The last reference to a task is gone, one RCU grace period after it left the task list:
 * a reader that takes these events first and then walks the list counts nothing twice.
 * The leader is released last, and the signal struct is held until after this.
 *
 * But each CPU handles its own grace periods: threads that exited on other CPUs may be
 * freed some milliseconds after the leader. Their time is in `dead` then, together with
 * the leader's, and the collector takes it from there.
 */
SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *t)
{
	struct tw_group_key key = group_key_of(t);
	_Bool awaited = t->signal->sigcnt.refs.counter > 1;
	__u64 cpu_ns, dead_ns = add_dead(t, awaited);
	struct tw_task_event *e;

	if (t->pid != t->tgid)
		return 0;
	if (!awaited)
		bpf_map_delete_elem(&dead, &key);
	cpu_ns = t->signal->sum_sched_runtime;
	if (dead_ns > cpu_ns)
		cpu_ns = dead_ns;
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		add_overflow(cgroup_id_of(t), cpu_ns);
		return 0;
	}
	e->kind = TW_EVENT_ENDED;
	e->awaited = awaited;
	e->signal = awaited ? key.signal : 0;
	e->at_ns = awaited ? bpf_ktime_get_ns() + tw_monotonic_offset_ns : 0;
	fill_task(&e->task, t);
	e->task.cpu_ns = cpu_ns;
	bpf_ringbuf_submit(e, wake_flags());
	return 0;
}

/*
 * An event of a process that is not freed yet: the leader's time and that of exited
 * threads.
 */
static __always_inline void fill_event(struct tw_task_event *e, __u32 kind,
				       struct task_struct *t)
{
	e->kind = kind;
	e->awaited = 0;
	e->signal = 0;
	e->at_ns = 0;
	fill_task(&e->task, t);
	e->task.cpu_ns = dead_ns_of(t) + t->se.sum_exec_runtime;
}

/*
 * The task leaves the task list. RCU may be slow, under a storm of exits or because it is
 * lazy, so this event reports the time before the task is freed. It is omitted while the
 * ring buffer is short of room, and on kernels without BPF trampolines.
 */
SEC("fentry/release_task")
int BPF_PROG(on_release, struct task_struct *t)
{
	struct tw_task_event *e;

	if (t->pid != t->tgid ||
	    bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > 2 * tw_wake_bytes)
		return 0;
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e)
		return 0;
	fill_event(e, TW_EVENT_LEFT, t);
	bpf_ringbuf_submit(e, wake_flags());
	return 0;
}

/*
 * The last thread of a process exits. Loaded in place of on_release, on kernels without
 * BPF trampolines. The event keeps all but the last moment of a process whose on_free
 * does not run: one kernel of virtual machines runs no BPF programs while a thread of
 * init is current, and RCU frees tasks in softirqs, whichever thread is current.
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *t)
{
	struct task_struct *leader = t->group_leader;
	struct tw_task_event *e;

	if (t->signal->live.counter != 0 ||
	    bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > 2 * tw_wake_bytes)
		return 0;
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e)
		return 0;
	fill_event(e, TW_EVENT_LEFT, leader);
	if (t->pid != t->tgid)
		e->task.cpu_ns += t->se.sum_exec_runtime;
	bpf_ringbuf_submit(e, wake_flags());
	return 0;
}

/*
 * The task has its new cgroup already. For a process with several threads the time is the
 * leader's and that of exited threads; the next walk adds the others.
 */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(on_attach, struct cgroup *to, const char *path, struct task_struct *t)
{
	struct tw_task_event *e;

	if (t->pid != t->tgid || to->kn->id != cgroup_id_of(t))
		return 0;
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		__sync_fetch_and_add(&tw_untold, 1);
		return 0;
	}
	fill_event(e, TW_EVENT_MOVED, t);
	e->task.parent = t->real_parent->tgid;
	bpf_ringbuf_submit(e, wake_flags());
	return 0;
}

/* Report the path now, for cgroups that are removed before the collector looks. */
SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(on_mkdir, struct cgroup *made, const char *path)
{
	struct tw_cgroup_event *e;

	if (made->root->hierarchy_id != tw_cgroup_hierarchy)
		return 0;
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		__sync_fetch_and_add(&tw_untold, 1);
		return 0;
	}
	e->kind = TW_EVENT_CGROUP;
	e->reserved = 0;
	e->cgroup_id = made->kn->id;
	bpf_probe_read_kernel_str(e->path, sizeof(e->path), path);
	bpf_ringbuf_submit(e, wake_flags());
	return 0;
}
