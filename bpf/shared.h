/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
#ifndef TW_BPF_SHARED_H
#define TW_BPF_SHARED_H

/*
 * What the BPF programs and the collector say to each other. Types of fixed size only,
 * widest first, without implicit padding.
 */

#include <linux/types.h>

#define TW_COMM_LEN 16

/* tw_task.flags */
#define TW_TASK_KERNEL 1u /* a thread of the kernel */
#define TW_TASK_THREAD 2u /* of a thread that is not the leader; struct tw_thread */

/*
 * A process (a thread group) as it was seen. Totals since its start, all of its threads
 * together, those that ended too. (tgid, start_ns) names a process for ever: the start
 * stays through an exec, and another process of the same tgid has a later one.
 */
struct tw_task {
	__u64 start_ns;  /* since boot, with the time that the machine slept */
	__u64 cpu_ns;    /* run on CPUs, user and kernel */
	__u64 cgroup_id; /* of its leader; 0: not known */
	__u32 tgid;
	__u32 parent; /* tgid; 0: not known */
	__u32 execs;  /* how often it has become another program; 0: not known */
	__u32 flags;
	char comm[TW_COMM_LEN]; /* NUL-terminated */
};

_Static_assert(sizeof(struct tw_task) == 56, "shared with BPF");

/*
 * A thread as bpf/iter.bpf.c saw it: task.cpu_ns is its own, and the rest of task is its
 * process's, of which only a leader knows more than start_ns and tgid.
 */
struct tw_thread {
	struct tw_task task;
	__u64 dead_ns; /* of the threads of its process that had ended */
};

_Static_assert(sizeof(struct tw_thread) == 64, "shared with BPF");

/* What has happened to a process, or to a cgroup. */
enum tw_event_kind {
	TW_EVENT_LEFT,   /* no walk will see it any more; its end follows */
	TW_EVENT_ENDED,  /* it has; its total is final unless threads are awaited */
	TW_EVENT_MOVED,  /* it came to task.cgroup_id when its total was task.cpu_ns */
	TW_EVENT_CGROUP, /* a cgroup was made */
};

struct tw_task_event {
	__u32 kind;    /* enum tw_event_kind */
	__u32 awaited; /* 1: threads of it may add to the map "dead" yet */
	__u64 signal;  /* of tw_group_key; 0 if nothing is awaited */
	__u64 at_ns;   /* CLOCK_MONOTONIC; 0 if nothing is awaited */
	struct tw_task task;
};

_Static_assert(sizeof(struct tw_task_event) == 80, "shared with BPF");

#define TW_CGROUP_EVENT_PATH 496

struct tw_cgroup_event {
	__u32 kind; /* TW_EVENT_CGROUP */
	__u32 reserved;
	__u64 cgroup_id;
	char path[TW_CGROUP_EVENT_PATH]; /* NUL-terminated; cut if it is longer */
};

_Static_assert(sizeof(struct tw_cgroup_event) == 512, "shared with BPF");

/* Cgroups of which such sums are kept one by one. */
#define TW_OVERFLOW_MAX 4096

/*
 * What of a cgroup was not told one by one, since there was no room for events:
 * their number and the totals of their CPU time, from their start.
 */
struct tw_task_overflow {
	__u64 cpu_ns;
	__u64 ended;
};

_Static_assert(sizeof(struct tw_task_overflow) == 16, "shared with BPF");

/* Names a process in the kernel for as long as one of its threads is there. */
struct tw_group_key {
	__u64 signal; /* address */
	__u64 tgid;
};

_Static_assert(sizeof(struct tw_group_key) == 16, "shared with BPF");

/* What is counted for a process beside its time; which there are is found at start. */
enum tw_counter {
	/* by the processor */
	TW_COUNTER_CYCLES,
	TW_COUNTER_REF_CYCLES,
	TW_COUNTER_INSTRUCTIONS,
	TW_COUNTER_CACHE_MISSES, /* of the last level */
	/* by the kernel, where it is traced */
	TW_COUNTER_PAGE_CACHE_HITS, /* pages that were there to read, and were written */
	/* begun on a CPU that the process had: perhaps the work of others */
	TW_COUNTER_NET_TX_SOFTIRQS,
	TW_COUNTER_NET_RX_SOFTIRQS,
	TW_COUNTER_BLOCK_SOFTIRQS,
	TW_COUNTER_COUNT
};

/* A program counts at most so many. */
#define TW_COUNTS_MAX 4

/* Of a process, since the program was attached; what each is, is the program's. */
struct tw_counts_of {
	__u64 count[TW_COUNTS_MAX];
};

_Static_assert(sizeof(struct tw_counts_of) == 32, "shared with BPF");

/* The same of one CPU. */
struct tw_count {
	__u32 tgid; /* 0: free */
	__u32 reserved;
	struct tw_counts_of of;
};

_Static_assert(sizeof(struct tw_count) == 40, "shared with BPF");

/* Rows of a CPU that are found without a search: a power of two. */
#define TW_COUNT_ROWS 256

/* What an event showed at the last read, and its times at the last read of those. */
struct tw_count_start {
	__u64 counter;
	__u64 enabled;
	__u64 running;
	__u64 shared; /* 1: it had the hardware for a part of the time only */
};

/* A CPU's own: never written by another, so nothing is atomic. */
struct tw_count_cpu {
	struct tw_count_start start[TW_COUNTS_MAX];
	__u32 tgid; /* whose it is since start; 0: the idle task's, or nobody knows */
	__u32 reserved;
	struct tw_count row[TW_COUNT_ROWS];
};

_Static_assert(sizeof(struct tw_count_cpu) <= 32768, "the most of a per-CPU value");

/* The counts of bpf/traces.bpf.c. */
enum tw_traced {
	TW_TRACED_PAGE_CACHE_HITS,
	TW_TRACED_NET_TX_SOFTIRQS,
	TW_TRACED_NET_RX_SOFTIRQS,
	TW_TRACED_BLOCK_SOFTIRQS,
};

#endif /* TW_BPF_SHARED_H */
