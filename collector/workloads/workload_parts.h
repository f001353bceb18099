/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_WORKLOAD_PARTS_H
#define TW_COLLECTOR_WORKLOAD_PARTS_H

/*
 * The inside of the table of workloads. For collector/workload*.c only.
 */

#include "collector/workloads/counts.h"
#include "collector/workloads/workload.h"
#include "lib/core/arena.h"

/* All of a level, in the order in which they came, and found by a key where they have
 * one. */
struct tw_level_list {
	struct tw_workload *first, *last;
	size_t count;
	struct tw_workload **bucket; /* by the key's hash; NULL: no keys */
	size_t size;                 /* a power of two, or 0 */
	/* Of those that are gone and were not told to a scraper: how many there are in
	 * this tick, and were too many in the last. */
	size_t waiting, excess;
};

struct tw_process {
	struct tw_workload w;
	uint64_t counted_ns; /* of its total; never falls */
	uint64_t seen_at;    /* tick in which it was last told as living; 0: never yet */
	uint64_t seen_ns;
	uint32_t missing;  /* ticks since then in which it was in no walk */
	uint64_t slice_at; /* tick in which slice is its place among the slices */
	size_t slice;
	uint32_t execs;
	bool looked; /* at its command line, since it became this program */
	bool queued; /* among those that ended */
	struct tw_process *ended_next;
};

/* Of workload_unseen.c; all zero bytes: nothing is known yet. */
struct tw_unseen {
	bool known;          /* total_ns is of the last tick */
	uint64_t total_ns;   /* as the kernel counts, with what is below */
	uint64_t grown_ns;   /* in this tick */
	uint64_t charged_ns; /* what the cgroup had been charged */
	int64_t own_ns, owed_ns;
	struct tw_group *above; /* the nearest that is known, in this tick */
};

struct tw_group {
	struct tw_workload w;
	struct tw_identity who;
	char path[TW_CGROUP_PATH];
	struct tw_process *rest; /* processes that were not seen one by one; or NULL */
	uint64_t overflow_ns;    /* of ends that were not told one by one */
	uint64_t missing_ns;     /* counted of those that are neither seen nor ended */
	uint64_t lost_ns;        /* counted of those that were missing for good */
	uint64_t look_at;        /* tick to see whether the directory is gone */
	unsigned tries;          /* to find its path */
	struct tw_unseen unseen;
};

/* A container, pod or VM. */
struct tw_owner {
	struct tw_workload w;
	struct tw_identity who;
	char *names;        /* room for w's; NULL: none are known */
	unsigned wanted;    /* how often they were asked for */
	uint64_t wanted_at; /* answers that there were then */
};

struct tw_slices {
	struct tw_slice *at;
	size_t count, size;
};

struct tw_workloads {
	struct tw_workloads_config config;
	const struct tw_task_source *source;
	void *tasks; /* the source's state */
	struct tw_cgroup_tree *tree;
	int proc; /* directory; -1: none */

	struct tw_level_list level[TW_LEVEL_COUNT];
	struct tw_workload outside[2]; /* of no container; 1: the kernel's */
	struct tw_arena arena;
	struct tw_process *free_processes; /* by ended_next */
	struct tw_process *ended_first, *ended_last;
	size_t ended_count;
	size_t living; /* processes */

	struct tw_slices shown, next; /* of the last tick; since it */
	uint64_t tick;                /* the last that was completed */
	uint64_t scraped;             /* the last that was told to a scraper */
	uint64_t serial;
	uint64_t opened_ns, now_ns; /* since boot */
	size_t seen;                /* processes, in this tick */
	unsigned looks;             /* at command lines, left in this tick */
	bool overflowed;            /* ever */
	uint64_t folded, dropped;
	uint64_t unseen_ns;
	struct tw_group **paths; /* room for workload_unseen.c */
	size_t paths_size;
};

/* ---- workload_table.c ---- */

/* Into its level's list. Fails without memory; then it is in none. */
bool tw_level_add(struct tw_workloads *t, struct tw_workload *w);
void tw_level_remove(struct tw_workloads *t, struct tw_workload *w);

/* start_ns 0: whichever of that tgid lives. NULL if there is none. */
struct tw_process *tw_process_find(const struct tw_workloads *t, uint32_t tgid,
				   uint64_t start_ns);
/* Who has a tgid, or else who had it and ended in that tick. */
struct tw_process *tw_process_recent(const struct tw_workloads *t, uint32_t tgid,
				     uint64_t tick);
struct tw_group *tw_group_find(const struct tw_workloads *t, uint64_t cgroup_id);
struct tw_owner *tw_owner_find(const struct tw_workloads *t, enum tw_level level,
			       const char *id);

/* New and in no list; NULL without memory. */
struct tw_process *tw_process_new(struct tw_workloads *t);
void tw_process_free(struct tw_workloads *t, struct tw_process *p);

/* ---- workload_group.c ---- */

/* The cgroup, made if it is new; tgid is of a process in it, 0: none lives. NULL without
 * memory. */
struct tw_group *tw_group_get(struct tw_workloads *t, uint64_t cgroup_id, uint32_t tgid);

/* Its path, told before anybody asks. */
void tw_group_told(struct tw_workloads *t, uint64_t cgroup_id, const char *path);

/* The pseudo process of those that were not seen one by one; NULL without memory. */
struct tw_process *tw_group_rest(struct tw_workloads *t, struct tw_group *g);

/* Once a tick: paths that are not known yet, shares, what is gone. */
void tw_groups_tick(struct tw_workloads *t);

/* Whether a process is a VM, by its command line. */
void tw_process_look(struct tw_workloads *t, struct tw_process *p);

/* w belongs to owner (NULL: none) from now on, and brings so many members. */
void tw_owner_set(struct tw_workload *w, struct tw_workload *owner, uint32_t members);

/* ---- workload_names.c ---- */

void tw_owner_free(struct tw_owner *o);

/* ---- workload_slices.c ---- */

/* One more, not filled; NULL without memory. */
struct tw_slice *tw_slices_new(struct tw_slices *s);

/* A tw_counted, after the source has been read. */
enum tw_whose tw_workloads_counted(void *arg, uint32_t tgid,
				   const uint64_t more[TW_COUNTER_COUNT], bool last);

/* Where it counts beside its process, cgroup, owner and pod; NULL: in a container. */
struct tw_workload *tw_slice_outside(struct tw_workloads *t, const struct tw_slice *s);

/* Its total is known to be so much by now. */
void tw_process_take(struct tw_workloads *t, struct tw_process *p, uint64_t total_ns);

/* So much that is in no total. False without memory: then nothing has changed. */
bool tw_process_more(struct tw_workloads *t, struct tw_process *p, uint64_t cpu_ns);

/* ---- workload_tick.c ---- */

/* The sink for t->source. */
struct tw_task_sink tw_workloads_sink(struct tw_workloads *t);

/* What was not told one by one, and who is missing: after the source has been read. */
void tw_workloads_settle(struct tw_workloads *t);

/* ---- workload_unseen.c ---- */

/* CPU time of what was not seen at all, to its cgroup: where a source tells no ends. */
void tw_workloads_unseen(struct tw_workloads *t);

#endif /* TW_COLLECTOR_WORKLOAD_PARTS_H */
