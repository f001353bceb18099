/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
#ifndef TW_BPF_SHARED_H
#define TW_BPF_SHARED_H

/*
 * The records and constants that the BPF programs and the collector share. Types have
 * fixed sizes, the widest first, without implicit padding.
 */

#include <linux/types.h>

#define TW_COMM_LEN 16

/* tw_task.flags */
#define TW_TASK_KERNEL 1u /* a kernel thread */
#define TW_TASK_THREAD 2u /* not the group leader; in struct tw_thread */

/*
 * A process (a thread group). Totals count from its start, over all of its threads,
 * exited threads included. (tgid, start_ns) identifies a process for ever: an exec keeps
 * the start, and a later process with the same tgid has a later start.
 */
struct tw_task {
	__u64 start_ns;  /* since boot, suspend included */
	__u64 cpu_ns;    /* time on CPUs, user and kernel */
	__u64 cgroup_id; /* of its leader; 0: unknown */
	__u32 tgid;
	__u32 parent; /* tgid; 0: unknown */
	__u32 execs;  /* number of execs; 0: unknown */
	__u32 flags;
	char comm[TW_COMM_LEN]; /* NUL-terminated */
};

_Static_assert(sizeof(struct tw_task) == 56, "shared with BPF");

/*
 * A thread in the records of bpf/iter.bpf.c. task.cpu_ns is the thread's own; the other
 * fields are its process's, of which only a leader's record has more than start_ns and
 * tgid.
 */
struct tw_thread {
	struct tw_task task;
	__u64 dead_ns; /* time of the process's exited threads */
};

_Static_assert(sizeof(struct tw_thread) == 64, "shared with BPF");

/* Kinds of events. */
enum tw_event_kind {
	TW_EVENT_LEFT,   /* it exits or left the task list; ENDED follows */
	TW_EVENT_ENDED,  /* it exited; its total is final unless threads are awaited */
	TW_EVENT_MOVED,  /* it moved to task.cgroup_id with the total task.cpu_ns */
	TW_EVENT_CGROUP, /* a cgroup was created */
};

struct tw_task_event {
	__u32 kind;    /* enum tw_event_kind */
	__u32 awaited; /* 1: threads that are freed later add to the map "dead" */
	__u64 signal;  /* of tw_group_key; 0 unless awaited */
	__u64 at_ns;   /* CLOCK_MONOTONIC; 0 unless awaited */
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

/* Cgroups with an overflow entry of their own. */
#define TW_OVERFLOW_MAX 4096

/*
 * Exits of a cgroup's processes that found no room for an event: their number and the sum
 * of their totals.
 */
struct tw_task_overflow {
	__u64 cpu_ns;
	__u64 ended;
};

_Static_assert(sizeof(struct tw_task_overflow) == 16, "shared with BPF");

/* Key of a process in the kernel, valid while one of its threads exists. */
struct tw_group_key {
	__u64 signal; /* address */
	__u64 tgid;
};

_Static_assert(sizeof(struct tw_group_key) == 16, "shared with BPF");

/* Time of a process's exited threads. */
struct tw_dead {
	__u64 sum_ns;
	__u64 since_ns; /* start of the first thread that was added; see dead_of() */
};

_Static_assert(sizeof(struct tw_dead) == 16, "shared with BPF");

/* Counters of a process. The collector finds at start which of them exist. */
enum tw_counter {
	/* counted by the processor */
	TW_COUNTER_CYCLES,
	TW_COUNTER_REF_CYCLES,
	TW_COUNTER_INSTRUCTIONS,
	TW_COUNTER_CACHE_MISSES, /* of the last level */
	/* counted by the kernel, where it is traced */
	TW_COUNTER_PAGE_CACHE_HITS, /* cached pages that were read, and pages written */
	/* softirqs that began on the process's CPU, perhaps for another process */
	TW_COUNTER_NET_TX_SOFTIRQS,
	TW_COUNTER_NET_RX_SOFTIRQS,
	TW_COUNTER_BLOCK_SOFTIRQS,
	TW_COUNTER_COUNT
};

/* Counters of one program. */
#define TW_COUNTS_MAX 4

/*
 * Counts of a process since the program was attached; the program defines their meaning.
 */
struct tw_counts_of {
	__u64 count[TW_COUNTS_MAX];
};

_Static_assert(sizeof(struct tw_counts_of) == 32, "shared with BPF");

/* Counts of a process on one CPU. */
struct tw_count {
	__u32 tgid; /* 0: free */
	__u32 reserved;
	struct tw_counts_of of;
};

_Static_assert(sizeof(struct tw_count) == 40, "shared with BPF");

/* Rows of a CPU, indexed by tgid: a power of two. */
#define TW_COUNT_ROWS 256

/*
 * Values of an event: its counter at the last read, and its times at the last read of
 * times.
 */
struct tw_count_start {
	__u64 counter;
	__u64 enabled;
	__u64 running;
	__u64 shared; /* 1: it counted for a part of the time only */
};

/* State of a CPU. Only that CPU writes it, so nothing is atomic. */
struct tw_count_cpu {
	struct tw_count_start start[TW_COUNTS_MAX];
	__u32 tgid; /* process since the last read; 0: idle, or unknown */
	__u32 reserved;
	struct tw_count row[TW_COUNT_ROWS];
};

_Static_assert(sizeof(struct tw_count_cpu) <= 32768, "the most of a per-CPU value");

/* CPUs of a sample: larger machines are not sampled. */
#define TW_SAMPLE_CPUS 512

/*
 * The task of each CPU at an instant. The map has one entry for each CPU of the machine.
 */
struct tw_sample {
	__u64 ns;                   /* since the sample before */
	__u32 tgid[TW_SAMPLE_CPUS]; /* 0: idle, or unknown */
};

_Static_assert(sizeof(struct tw_sample) == 8 + 4 * TW_SAMPLE_CPUS, "shared with BPF");

/* Indexes of the counts of bpf/traces.bpf.c. */
enum tw_traced {
	TW_TRACED_PAGE_CACHE_HITS,
	TW_TRACED_NET_TX_SOFTIRQS,
	TW_TRACED_NET_RX_SOFTIRQS,
	TW_TRACED_BLOCK_SOFTIRQS,
};

#endif /* TW_BPF_SHARED_H */
