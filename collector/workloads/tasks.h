/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_TASKS_H
#define TW_COLLECTOR_TASKS_H

/*
 * Task sources: where the CPU time of processes comes from. A source reports totals; the
 * table of workloads (collector/workloads/workload.h) computes the differences. Sources
 * are tried in the order of the registry, by opening them and never by the kernel's
 * version:
 *
 *	bpf-walk  one call into the kernel walks all tasks (Linux 6.7)
 *	bpf-iter  the kernel's task iterator is read (Linux 5.8)
 *	proc      /proc/PID/stat: needs no capability; resolution 10 ms; misses processes
 *	          that begin and exit between two reads; 50 times the cost
 *
 * Both BPF sources also report the exit of every process, with its exact time.
 */

#include "bpf/shared.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_roots;

/*
 * Usage of a workload: the vector by which energy is attributed. All zero bytes: nothing
 * used. Values only grow.
 */
struct tw_usage {
	uint64_t cpu_ns;
	uint64_t counter[TW_COUNTER_COUNT]; /* enum tw_counter */
};

/* to += more. */
void tw_usage_add(struct tw_usage *to, const struct tw_usage *more);

/* Name in options and labels: "cycles", "instructions", ... */
const char *tw_counter_name(enum tw_counter c);

/*
 * Callbacks of a source. Events come in order of time, and before the records of living
 * processes: an exited process is not reported as living afterwards. Each callback may be
 * NULL.
 */
struct tw_task_sink {
	void *arg;
	/*
	 * The process left the task list with this total; ended() follows. Not every
	 * source reports it, and not for each process.
	 */
	void (*left)(void *arg, const struct tw_task *t);
	void (*ended)(void *arg, const struct tw_task *t);
	/*
	 * The kernel freed more threads of an ended process: its total grows by more_ns.
	 */
	void (*late)(void *arg, const struct tw_task *t, uint64_t more_ns);
	/* The process moved to t's cgroup when its total was t's. */
	void (*moved)(void *arg, const struct tw_task *t);
	/*
	 * A cgroup was created. The path starts at the root of its hierarchy and may be
	 * cut.
	 */
	void (*cgroup)(void *arg, uint64_t cgroup_id, const char *path);
	/*
	 * Exits of a cgroup's processes for which there was no room: their number and
	 * totals. cgroup_id 0: exits of any cgroup.
	 */
	void (*overflowed)(void *arg, uint64_t cgroup_id,
			   const struct tw_task_overflow *more);
	void (*alive)(void *arg, const struct tw_task *t);
};

/* Statistics of a source since it was opened. */
struct tw_task_stats {
	uint64_t lost;   /* exits that are known by cgroup only */
	uint64_t untold; /* moves and new cgroups without an event */
	uint64_t
		unreadable; /* processes that cannot be read, under hidepid for example */
};

struct tw_task_config {
	const struct tw_roots *roots;
	bool cgroup_v1;       /* report cgroups of v1's cpuacct instead of v2's */
	int cgroup_hierarchy; /* see tw_cgroup_tree_hierarchy() */
	uint32_t events_max;  /* events that fit between two reads; 0: 4096 */
	uint32_t walk_max;    /* processes of one walk; 0: 16384 */
	/* This time namespace's clocks minus the kernel's own. */
	int64_t boot_offset_ns, monotonic_offset_ns;
};

struct tw_task_source {
	const char *name;
	const char *summary; /* one line, with its cost */
	bool reports_exits;  /* calls ended(), at most a second after the last walk with
			     the  process */
	/* Free *state with close(). err says why the source cannot be used. */
	int (*open)(const struct tw_task_config *c, void **state, struct tw_err *err);
	/*
	 * Report events, then all living processes. After a failure nothing is lost: the
	 * next read reports it. Allocates only for more processes than ever before.
	 */
	int (*read)(void *state, const struct tw_task_sink *sink, struct tw_err *err);
	/*
	 * A descriptor that becomes readable when events should be drained early, and
	 * drain(), which reports events only. NULL: there are none.
	 */
	int (*fd)(const void *state);
	void (*drain)(void *state, const struct tw_task_sink *sink);
	void (*stats)(const void *state, struct tw_task_stats *out);
	void (*close)(void *state); /* NULL is fine */
};

/* The sources. The two with BPF exist only in a build with BPF. */
extern const struct tw_task_source tw_task_source_walk;
extern const struct tw_task_source tw_task_source_iter;
extern const struct tw_task_source tw_task_source_proc;

/* The registry, in order of preference. Without BPF in the build it has only "proc". */
size_t tw_task_source_count(void);
const struct tw_task_source *tw_task_source_at(size_t i);

/* NULL if there is no source of that name. */
const struct tw_task_source *tw_task_source_find(const char *name);

#endif /* TW_COLLECTOR_TASKS_H */
