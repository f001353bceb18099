/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_WORKLOAD_H
#define TW_COLLECTOR_WORKLOAD_H

/*
 * The table of workloads: processes, and what they belong to. Each nanosecond of CPU time
 * that a source reports is in exactly one process and one cgroup, so the sum over either
 * level is the machine's:
 *
 *	process -> cgroup
 *	process -> owner (a container, a VM, or NULL) -> pod (or NULL)
 *	cgroup -> step (or NULL) -> job of Slurm (or NULL)
 *
 * A VM in a container, as KubeVirt runs it, has the usage of its process, too: levels are
 * never added up.
 *
 * When a process moves to another cgroup, its earlier usage stays with the old cgroup.
 * Exited processes that had no event of their own are a pseudo process of their cgroup,
 * tgid 0, comm "ended".
 *
 * Workloads do not move in memory. An ended workload stays for keep_ms, so that each
 * scraper reads it, and until it is scraped. At most ended_max of a level stay, and those
 * that a scrape has exported before. One thread uses a table.
 *
 * A scrape may limit the processes and cgroups that it exports: tw_workloads_choose().
 * Usage of all others is in the series "other" of their level, so nothing is lost.
 */

#include "collector/meters/zone.h"
#include "collector/system/hypervisor.h"
#include "collector/workloads/cgroup.h"
#include "collector/workloads/identity.h"
#include "collector/workloads/tasks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_counters;
struct tw_err;
struct tw_pods;
struct tw_roots;
struct tw_schedule;
struct tw_traces;
struct tw_workloads; /* opaque */

enum tw_level {
	TW_LEVEL_PROCESS,
	TW_LEVEL_CGROUP,
	TW_LEVEL_CONTAINER,
	TW_LEVEL_POD,
	TW_LEVEL_VM,
	TW_LEVEL_JOB,
	TW_LEVEL_STEP,
	TW_LEVEL_COUNT
};

/* "process", .., by level; ends with NULL. */
extern const char *const tw_level_names[TW_LEVEL_COUNT + 1];

/* Which series has the usage of a workload. */
enum tw_workload_series {
	TW_SERIES_NEW,  /* not decided: no scrape has seen it */
	TW_SERIES_OWN,  /* its own */
	TW_SERIES_LAST, /* "other"; its own is still exported, but does not grow */
	TW_SERIES_OTHER /* "other" */
};

struct tw_workload {
	enum tw_level level;
	enum tw_workload_series series;
	bool ended;          /* it has no living process */
	bool kernel;         /* process: a kernel thread */
	uint32_t tgid;       /* process; 0: the pseudo process of a cgroup */
	uint64_t start_ns;   /* process: since boot */
	uint64_t cgroup_id;  /* cgroup */
	uint64_t serial;     /* unique for the life of the table */
	uint32_t members;    /* living processes; not of a process */
	uint32_t cpu_shares; /* cgroup, container: 1024 is one CPU; 0: unknown */
	char comm[TW_COMM_LEN];

	struct tw_usage used;     /* since the collector started */
	struct tw_charge charged; /* energy over the same time */

	/*
	 * The part of both that "other" of its level has. The difference is the value of
	 * its own series: tw_own_*().
	 */
	struct tw_usage other_used;
	struct tw_charge other_charged;

	struct tw_workload *cgroup; /* of a process */
	struct tw_workload *owner;  /* of a process, a cgroup, or a VM in a container;
				       NULL: the system */
	struct tw_workload *vm;     /* of a process in a container; NULL: none */
	struct tw_workload *pod;    /* of a container; NULL: in no pod */
	struct tw_workload *step;   /* of a cgroup; NULL: in no step of a job */
	struct tw_workload *job;    /* of a cgroup or step; NULL: in no job */

	/*
	 * Cgroup, container: path of the cgroup from its root. Process: path of its
	 * program. NULL: unknown.
	 */
	const char *path;
	const struct tw_identity *who;                         /* not of a process */
	const char *pod_name, *pod_namespace, *container_name; /* NULL: not known */

	uint64_t noted_uj; /* for collector/power/power_history.c only */

	/* For collector/workloads/workload_*.c only. */
	struct tw_charge ticked;
	uint64_t ticked_at, ended_at; /* ticks */
	uint64_t until_ns;            /* an ended workload, or a LAST series, stays */
	uint32_t refs;
	struct tw_workload *prev, *next, *hash_next;
};

/*
 * Usage of a process in a cgroup in one tick. A process that moved has several slices.
 * Energy is attributed to slices.
 */
struct tw_slice {
	struct tw_usage used;                 /* in this tick */
	uint64_t gpu_dynamic_uj, gpu_idle_uj; /* GPU energy */
	struct tw_workload *process;
	struct tw_workload *cgroup;
	struct tw_workload *owner; /* NULL: the system */
};

struct tw_workloads_config {
	const struct tw_roots *roots;
	const struct tw_task_source *source; /* NULL: the first that opens */
	bool bpf;                     /* with source NULL: try the BPF sources too */
	struct tw_counters *counters; /* the caller's; NULL: none */
	struct tw_traces *traces;     /* the caller's; NULL: none */
	enum tw_cgroup_choice cgroups;
	struct tw_hypervisor_users vm_users; /* who may name VMs, besides scopes */
	uint64_t keep_ms;                    /* how long an ended workload is exported */
	uint32_t ended_max;                  /* how many of a level may stay */
	uint32_t events_max;                 /* of struct tw_task_config */
	/* Called with the reason when a source cannot be opened; may be NULL. */
	void (*passed)(void *arg, const char *source, const struct tw_err *why);
	void *passed_arg;
	/* Called once for a VM whose id another claims; may be NULL. */
	void (*contested)(void *arg, const char *id);
};

/* Free *out with tw_workloads_close(). The first tick is a baseline and has no slices. */
int tw_workloads_open(const struct tw_workloads_config *c, struct tw_workloads **out,
		      struct tw_err *err);
void tw_workloads_close(struct tw_workloads *t);

/*
 * Read the source and make the slices. A failed tick has no slices; the next tick
 * includes its time.
 */
int tw_workloads_tick(struct tw_workloads *t, uint64_t now_ns, struct tw_err *err);

/*
 * Descriptor of the source, -1: it has none. Call tw_workloads_drain() when it is
 * readable.
 */
int tw_workloads_fd(const struct tw_workloads *t);
void tw_workloads_drain(struct tw_workloads *t);

/* Slices of the last tick; valid until the next one. */
const struct tw_slice *tw_workloads_slices(const struct tw_workloads *t, size_t *count);

/*
 * Where the slices of the last tick ran: of each, schedule.h has its use of each package.
 * NULL: it is not known.
 */
const struct tw_schedule *tw_workloads_schedule(const struct tw_workloads *t);

/*
 * Add energy to the process, cgroup, owner and pod of a slice; ticked: the part of it
 * that is power of the last tick. May be called several times for a slice.
 */
void tw_workloads_charge(struct tw_workloads *t, const struct tw_slice *s,
			 const struct tw_charge *charge, const struct tw_charge *ticked);

/*
 * Add GPU energy of the last tick to a slice of the process. False if the process is
 * unknown, or without memory.
 */
bool tw_workloads_use_gpu(struct tw_workloads *t, uint32_t tgid, uint64_t dynamic_uj,
			  uint64_t idle_uj);

/* Energy charged to w that is power of the last tick. */
const struct tw_charge *tw_workloads_ticked(const struct tw_workloads *t,
					    const struct tw_workload *w);

/* True if w ended in the tick with the number `since`, or later. */
bool tw_workloads_ended_since(const struct tw_workload *w, uint64_t since);

/* The number of the last tick; the first is 1. */
uint64_t tw_workloads_tick_number(const struct tw_workloads *t);

/* The next workload of a level after w (NULL: the first); NULL at the end. */
struct tw_workload *tw_workloads_next(const struct tw_workloads *t, enum tw_level level,
				      const struct tw_workload *w);
size_t tw_workloads_count(const struct tw_workloads *t, enum tw_level level);

/*
 * Another process of the same pid that is still in the table. other NULL: the first, else
 * the one after it; NULL at the end.
 */
const struct tw_workload *tw_workloads_namesake(const struct tw_workloads *t,
						const struct tw_workload *process,
						const struct tw_workload *other);

/*
 * The sum of all that is in no container: of kernel threads, or of everything else. It
 * grows like a container's; its `who` is NULL.
 */
const struct tw_workload *tw_workloads_outside(const struct tw_workloads *t, bool kernel);

/* The cgroup tree, for reading more of a cgroup than CPU time. */
const struct tw_cgroup_tree *tw_workloads_tree(const struct tw_workloads *t);

/*
 * Set the names of containers and pods, and request those that are not known yet. pods:
 * of Kubernetes; engines: of containers in no pod; NULL: none. Allocates only for new
 * names.
 */
void tw_workloads_name(struct tw_workloads *t, struct tw_pods *pods,
		       struct tw_pods *engines);

/* ---- scrapes ---- */

/*
 * At the begin of a scrape: choose the workloads of a level that get series of their own.
 * Usage of all others is in "other" from now on; of a workload that no scrape has seen,
 * all its usage. A series that is no longer wanted is exported unchanged for keep_ms, so
 * that each scraper reads its last value; the oldest beyond last_max end early.
 *
 * So the sum over all series of the level, growth by growth, is the machine's.
 */
void tw_workloads_choose(struct tw_workloads *t, enum tw_level level, size_t last_max,
			 bool (*wanted)(const void *arg, const struct tw_workload *w),
			 const void *arg);

/* True if w has no usage and no energy; it may have counts or energy without CPU time. */
bool tw_workload_is_unused(const struct tw_workload *w);

/* A scrape has read all levels. */
void tw_workloads_scraped(struct tw_workloads *t);

/* True if w has ended and a scrape has read its last values. */
bool tw_workloads_was_last_read(const struct tw_workloads *t,
				const struct tw_workload *w);

/*
 * "other" of a level, processes or cgroups; of jobs: all that is in no job. Its values
 * never fall. Only `level` and what tw_own_*() read are set.
 */
const struct tw_workload *tw_workloads_other(const struct tw_workloads *t,
					     enum tw_level level);

/* The values of a workload's own series. */
uint64_t tw_own_cpu_ns(const struct tw_workload *w);
uint64_t tw_own_count(const struct tw_workload *w, enum tw_counter counter);
uint64_t tw_own_uj(const struct tw_workload *w, enum tw_zone_kind kind, bool idle);
tw_u128 tw_own_tariff_pico(const struct tw_workload *w, enum tw_tariff tariff);

struct tw_workloads_stats {
	struct tw_task_stats tasks;
	uint64_t folded;    /* exited processes removed before any scrape; their cgroup's
			       pseudo process has their totals */
	uint64_t unseen_ns; /* CPU time known only by cgroup, with source "proc" */
	uint64_t dropped;   /* events that were ignored for want of memory */
	uint64_t refused;   /* names of containers and VMs that were not taken: another
			       has the id, or a user too many names */
	uint64_t counter_reads_failed, counts_lost; /* of tw_counters_stats() */
	uint64_t traces_lost;                       /* of tw_traces_lost() */
};

/* Whether a counter is part of the usage of workloads. */
bool tw_workloads_counts(const struct tw_workloads *t, enum tw_counter counter);

void tw_workloads_stats(const struct tw_workloads *t, struct tw_workloads_stats *out);

/* Names of the source ("bpf-walk", ...) and of the cgroup hierarchy ("v2", ...). */
const char *tw_workloads_source(const struct tw_workloads *t);
const char *tw_workloads_cgroups(const struct tw_workloads *t);

#endif /* TW_COLLECTOR_WORKLOAD_H */
