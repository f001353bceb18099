/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_WORKLOAD_H
#define TW_COLLECTOR_WORKLOAD_H

/*
 * The table of workloads: processes, and what they belong to. Every nanosecond of CPU
 * time that a source of tasks tells is in exactly one process and one cgroup, so that the
 * sums over either level are the machine's:
 *
 *	process -> cgroup
 *	process -> owner (a container or a VM, or none) -> pod (or none)
 *
 * A process that moves to another cgroup leaves there what it had used. Processes that
 * ended without being seen one by one are a pseudo process of their cgroup, tgid 0.
 *
 * Workloads are never moved in memory. One that has ended stays until it has been
 * scraped, or for keep_ms, and no more than ended_max of them.
 */

#include "collector/meters/zone.h"
#include "collector/workloads/cgroup.h"
#include "collector/workloads/identity.h"
#include "collector/workloads/tasks.h"
#include "collector/workloads/usage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_counters;
struct tw_err;
struct tw_pods;
struct tw_roots;
struct tw_traces;
struct tw_workloads; /* opaque */

enum tw_level {
	TW_LEVEL_PROCESS,
	TW_LEVEL_CGROUP,
	TW_LEVEL_CONTAINER,
	TW_LEVEL_POD,
	TW_LEVEL_VM,
	TW_LEVEL_COUNT
};

/* "process", "cgroup", "container", "pod", "vm". */
const char *tw_level_name(enum tw_level level);

struct tw_workload {
	enum tw_level level;
	bool ended;          /* no process of it lives */
	bool kernel;         /* process: a thread of the kernel */
	uint32_t tgid;       /* process; 0: those that were not seen one by one */
	uint64_t start_ns;   /* process: since boot */
	uint64_t cgroup_id;  /* cgroup */
	uint64_t serial;     /* never given to another workload */
	uint32_t members;    /* processes that live, but for processes */
	uint32_t cpu_shares; /* cgroup, container: 1024 is one CPU's; 0: not known */
	char comm[TW_COMM_LEN];

	struct tw_usage used;     /* since the collector began */
	struct tw_charge charged; /* the same of energy */

	struct tw_workload *cgroup; /* of a process */
	struct tw_workload *owner;  /* of a process or cgroup; NULL: the system's */
	struct tw_workload *pod;    /* of a container; NULL: none */

	/* Cgroup, container: of the cgroup, from its root; process: its program's. NULL:
	 * not known. */
	const char *path;
	const struct tw_identity *who; /* cgroup, container, pod, VM */
	const char *pod_name, *pod_namespace, *container_name; /* NULL: not known */

	/* For collector/workload*.c. */
	struct tw_charge ticked;
	uint64_t ticked_at, ended_at; /* ticks */
	uint32_t refs;
	struct tw_workload *prev, *next, *hash_next;
};

/*
 * What ran in the last tick: a process in a cgroup, and what it used there. A process
 * that moved has several. This is what energy is attributed to.
 */
struct tw_slice {
	struct tw_usage used;                 /* in this tick */
	uint64_t gpu_dynamic_uj, gpu_idle_uj; /* energy of GPUs while it used them */
	struct tw_workload *process;
	struct tw_workload *cgroup;
	struct tw_workload *owner; /* NULL: the system's */
};

struct tw_workloads_config {
	const struct tw_roots *roots;
	const struct tw_task_source *source; /* NULL: the first that can be opened */
	bool bpf;                            /* of NULL: also those with BPF */
	struct tw_counters *counters;        /* the caller's; NULL: none */
	struct tw_traces *traces;            /* the caller's; NULL: none */
	enum tw_cgroup_choice cgroups;
	uint64_t keep_ms;    /* how long one that ended waits for a scrape */
	uint32_t ended_max;  /* how many of a level wait */
	uint32_t events_max; /* of struct tw_task_config */
	/* Told why a source is passed over; or NULL. */
	void (*passed)(void *arg, const char *source, const struct tw_err *why);
	void *passed_arg;
};

/* *out is yours: tw_workloads_close(). The first tick's slices are empty: a baseline. */
int tw_workloads_open(const struct tw_workloads_config *c, struct tw_workloads **out,
		      struct tw_err *err);
void tw_workloads_close(struct tw_workloads *t);

/* Read the source and make the slices. After a failure there are none; the next tick has
 * what ran since. */
int tw_workloads_tick(struct tw_workloads *t, uint64_t now_ns, struct tw_err *err);

/* The source's; tw_workloads_drain() when it is readable, -1: never. */
int tw_workloads_fd(const struct tw_workloads *t);
void tw_workloads_drain(struct tw_workloads *t);

/* Of the last tick. */
const struct tw_slice *tw_workloads_slices(const struct tw_workloads *t, size_t *count);

/* Energy of a slice, to its process, cgroup, owner and pod: call it as often as needed.
 */
void tw_workloads_charge(struct tw_workloads *t, const struct tw_slice *s,
			 const struct tw_charge *charge);

/*
 * Energy of GPUs that a process used in the last tick, into a slice of it. False if it is
 * not known, or without memory.
 */
bool tw_workloads_use_gpu(struct tw_workloads *t, uint32_t tgid, uint64_t dynamic_uj,
			  uint64_t idle_uj);

/* What was charged to w since the last tick began; for watts. */
const struct tw_charge *tw_workloads_ticked(const struct tw_workloads *t,
					    const struct tw_workload *w);

/* The next workload of a level after w (NULL: the first); NULL at the end. */
struct tw_workload *tw_workloads_next(const struct tw_workloads *t, enum tw_level level,
				      const struct tw_workload *w);
size_t tw_workloads_count(const struct tw_workloads *t, enum tw_level level);

/* An earlier process of the pid of this one that is still told; NULL: none. */
const struct tw_workload *tw_workloads_earlier(const struct tw_workloads *t,
					       const struct tw_workload *process);

/*
 * What is in no container, together: the kernel's own threads, or all others. Its
 * counters grow with what ran, like those of a container; who is NULL.
 */
const struct tw_workload *tw_workloads_outside(const struct tw_workloads *t, bool kernel);

/* For what is told of cgroups beside their use. */
const struct tw_cgroup_tree *tw_workloads_tree(const struct tw_workloads *t);

/*
 * Give containers and pods that have none their names, and have asked for those that are
 * not known yet. Allocates where there are new ones.
 */
void tw_workloads_name(struct tw_workloads *t, struct tw_pods *pods);

/* All levels have been told to a scraper: what had ended may go. */
void tw_workloads_scraped(struct tw_workloads *t);

struct tw_workloads_stats {
	struct tw_task_stats tasks;
	uint64_t folded; /* processes that ended and gave place before a scrape: what they
			  * had is their cgroup's pseudo process's */
	uint64_t unseen_ns; /* CPU time that is known by its cgroup only, from /proc */
	uint64_t dropped;   /* events without effect, for want of memory */
	uint64_t counter_reads_failed, counts_lost; /* of tw_counters_stats() */
	uint64_t traces_lost;                       /* of tw_traces_lost() */
};

/* Whether a counter is part of what workloads used. */
bool tw_workloads_counts(const struct tw_workloads *t, enum tw_counter counter);

void tw_workloads_stats(const struct tw_workloads *t, struct tw_workloads_stats *out);

/* "bpf-walk", ...; "v2", ... */
const char *tw_workloads_source(const struct tw_workloads *t);
const char *tw_workloads_cgroups(const struct tw_workloads *t);

#endif /* TW_COLLECTOR_WORKLOAD_H */
