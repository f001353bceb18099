/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_TASKS_H
#define TW_COLLECTOR_TASKS_H

/*
 * Where the CPU time of processes comes from. A source tells totals; differences are made
 * in one place, collector/workloads/workload.h. Sources are tried in the order of the
 *registry, by opening them and never by the kernel's version:
 *
 *	bpf-walk  one call into the kernel walks all tasks (Linux 6.7)
 *	bpf-iter  the kernel's task iterator is read (Linux 5.8)
 *	proc      /proc/PID/stat: no capability, to 10 ms, without those that began and
 *	          ended between two reads, and 50 times the cost
 *
 * Both BPF sources also see every process that ended, with its exact time.
 */

#include "bpf/shared.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_roots;

/*
 * What is told. Events come in the order of time, and before what lives: a process that
 * ended is not told as living after that. Any of the functions may be NULL.
 */
struct tw_task_sink {
	void *arg;
	/* It is not told as living any more, and has run so much; ended() follows. Not
	 * every source tells it, nor of each process. */
	void (*left)(void *arg, const struct tw_task *t);
	void (*ended)(void *arg, const struct tw_task *t);
	/* Of one that was told to have ended the kernel has freed threads since: its
	 * total is so much more. */
	void (*late)(void *arg, const struct tw_task *t, uint64_t more_ns);
	/* It came to t's cgroup when its total was t's. */
	void (*moved)(void *arg, const struct tw_task *t);
	/* A cgroup was made. The path is from the root of its hierarchy, perhaps cut. */
	void (*cgroup)(void *arg, uint64_t cgroup_id, const char *path);
	/* More processes of a cgroup ended of which no end was told: how many and their
	 * totals. cgroup_id 0: of any. */
	void (*overflowed)(void *arg, uint64_t cgroup_id,
			   const struct tw_task_overflow *more);
	void (*alive)(void *arg, const struct tw_task *t);
};

/* What a source has to say of itself. Counts since it was opened. */
struct tw_task_stats {
	uint64_t lost;       /* ended processes that are known by their cgroup only */
	uint64_t untold;     /* moves and new cgroups that were not told */
	uint64_t unreadable; /* processes that could not be read: hidepid, for one */
};

struct tw_task_config {
	const struct tw_roots *roots;
	bool cgroup_v1;       /* tell of v1's cpuacct's cgroups, not v2's */
	int cgroup_hierarchy; /* see tw_cgroup_tree_hierarchy() */
	uint32_t events_max;  /* room for events between two reads; 0: 4096 */
	uint32_t walk_max;    /* processes that one walk tells of; 0: 16384 */
};

struct tw_task_source {
	const char *name;
	const char *summary; /* one line with its price */
	bool tells_ends;     /* calls ended(), at the latest a second after the last walk
			      * that a process was in */
	/* *state is yours: close(). Says why it cannot be. */
	int (*open)(const struct tw_task_config *c, void **state, struct tw_err *err);
	/* Events and all that lives. After a failure nothing is lost: the next read tells
	 * it. No allocation unless there are more processes than ever before. */
	int (*read)(void *state, const struct tw_task_sink *sink, struct tw_err *err);
	/* Becomes readable when events should be taken early, or -1. */
	int (*fd)(const void *state);
	/* Events only. */
	void (*drain)(void *state, const struct tw_task_sink *sink);
	void (*stats)(const void *state, struct tw_task_stats *out);
	void (*close)(void *state); /* NULL is fine */
};

/* The sources. The two with BPF exist only in a build with BPF. */
extern const struct tw_task_source tw_task_source_walk;
extern const struct tw_task_source tw_task_source_iter;
extern const struct tw_task_source tw_task_source_proc;

/* In order of preference. Without BPF in the build there is only "proc". */
size_t tw_task_source_count(void);
const struct tw_task_source *tw_task_source_at(size_t i);

/* NULL if there is none. */
const struct tw_task_source *tw_task_source_find(const char *name);

#endif /* TW_COLLECTOR_TASKS_H */
