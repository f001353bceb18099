/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_WORKLOAD_STATE_H
#define TW_COLLECTOR_WORKLOAD_STATE_H

/*
 * The private state behind workload.h. Only collector/workloads/workload_*.c, pods.c and
 * their tests include it.
 */

#include "collector/workloads/counts.h"
#include "collector/workloads/schedule.h"
#include "collector/workloads/workload.h"

/* The workloads of one level, in order of creation; processes and cgroups are hashed. */
struct tw_level_list {
	struct tw_workload *first, *last;
	size_t count;
	struct tw_workload **bucket; /* by hash of the key; NULL: the level has no key */
	size_t size;                 /* a power of two, or 0 */
	size_t waiting;              /* ended workloads that stay, counted this tick */
	size_t excess; /* how many of them exceeded ended_max in the last tick */
};

/* Names that one user and all users but root may have at a time, ended ones included. */
#define TW_NAMES_OF_USER 256
#define TW_NAMES_OF_USERS 1024

/* The command line was read since the last exec. */
#define TW_LOOKED UINT64_MAX

struct tw_process {
	struct tw_workload w;
	uint64_t counted_ns; /* part of its total that is charged; never falls */
	uint64_t seen_at;    /* tick of the last walk that listed it; 0: none yet */
	uint64_t seen_ns;    /* time of that tick */
	uint32_t missing;    /* ticks since then */
	uint64_t lost_ns;    /* its part of its cgroup's lost_ns */
	uint64_t slice_at;   /* tick for which `slice` is valid */
	size_t slice;        /* index of its latest slice */
	uint32_t execs;
	uint64_t look_at; /* tick from which its command line may be read; TW_LOOKED */
	uint8_t proofs;   /* looks for a proof that it runs a VM, up to a limit */
	bool queued;      /* in the queue of ended processes */
	bool newcomer;    /* began after the collector: all its time is charged */
	struct tw_process *ended_next;
};

/* State of workload_unseen.c for a cgroup. All zero bytes: no total was read yet. */
struct tw_unseen {
	bool known;             /* total_ns was read in the last tick */
	uint64_t total_ns;      /* the kernel's total, descendants included */
	uint64_t grown_ns;      /* growth of total_ns in this tick */
	uint64_t charged_ns;    /* the cgroup's used.cpu_ns at the last tick */
	int64_t own_ns;         /* growth without the descendants' growth */
	int64_t owed_ns;        /* kernel's time that is not charged yet */
	struct tw_group *above; /* nearest ancestor with a known path, in this tick */
	/* Living processes that have used CPU time; of them, those charged from 0. */
	uint32_t active, newcomers;
};

/* A cgroup. */
struct tw_group {
	struct tw_workload w;
	struct tw_identity who;
	struct tw_process *rest; /* pseudo process "ended", or NULL */
	uint64_t overflow_ns;    /* totals of exits that found no room for an event */
	uint64_t missing_ns;     /* counted_ns of processes that are missing */
	uint64_t lost_ns;        /* counted_ns of given up processes without an exit */
	uint64_t look_at;        /* tick of the next check that the directory exists */
	unsigned tries;          /* look-ups of its path so far */
	struct tw_unseen unseen;
};

/* A container, pod, VM, job or step. */
struct tw_owner {
	struct tw_workload w;
	struct tw_identity who;
	uint64_t holder;    /* VM: hash of the scope or process that it belongs to */
	bool contested;     /* VM: another one has claimed it */
	char *names;        /* storage of w's names; NULL: no name is known */
	unsigned wanted;    /* how many answers lacked its name */
	uint64_t wanted_at; /* number of answers at the last request */
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
	int proc; /* directory; -1: not open */
	int misc; /* of tw_hypervisor_devices() */

	struct tw_level_list level[TW_LEVEL_COUNT];
	struct tw_workload outside[2]; /* outside containers; 1: kernel threads */
	struct tw_workload other[TW_LEVEL_COUNT]; /* see workload_series.c */
	struct tw_process *ended_first, *ended_last;
	size_t ended_count;
	size_t living; /* processes */
	size_t most;   /* processes and cgroups at a time, since memory was returned */

	struct tw_slices shown, next; /* of the last tick; of the current tick */
	struct tw_schedule schedule;  /* of the last tick */
	uint32_t *runs;               /* one sample, for it; NULL: nothing is sampled */
	uint64_t tick;                /* the last completed tick */
	uint64_t scraped;             /* the last tick that was scraped */
	uint64_t serial;
	uint64_t opened_ns, now_ns; /* since boot */
	double walk_part;           /* of this tick, from the walk's begin to its end */
	size_t seen;                /* processes in this tick's walk */
	unsigned looks;             /* command lines that this tick may still read */
	bool overflowed;            /* some cgroup has overflow_ns */
	uint64_t folded, dropped, refused; /* see struct tw_workloads_stats */
	uint64_t unseen_ns;
	struct tw_group **paths; /* scratch of workload_unseen.c */
};

/* ---- workload_table.c ---- */

/*
 * A workload like *like of `size` bytes, the rest of which are 0, in the list of its
 * level. NULL without memory.
 */
void *tw_workload_new(struct tw_workloads *t, const struct tw_workload *like,
		      size_t size);

/* Remove w from its list, and free it. */
void tw_workload_remove(struct tw_workloads *t, struct tw_workload *w);

/* start_ns 0: the living process of that tgid. NULL if there is none. */
struct tw_process *tw_process_find(const struct tw_workloads *t, uint32_t tgid,
				   uint64_t start_ns);
/* The living process of a tgid, else the one that ended in `tick`. */
struct tw_process *tw_process_recent(const struct tw_workloads *t, uint32_t tgid,
				     uint64_t tick);
struct tw_group *tw_group_find(const struct tw_workloads *t, uint64_t cgroup_id);

/* ---- workload_group.c ---- */

/*
 * The cgroup of an id, created if it is new. tgid: a process in it, by which its path is
 * found; 0: no such process lives. NULL without memory.
 */
struct tw_group *tw_group_get(struct tw_workloads *t, uint64_t cgroup_id, uint32_t tgid);

/* Set the path that a cgroup's creation event carries. */
void tw_group_set_path(struct tw_workloads *t, uint64_t cgroup_id, const char *path);

/* The pseudo process "ended" of a cgroup, created if needed; NULL without memory. */
struct tw_process *tw_group_rest(struct tw_workloads *t, struct tw_group *g);

/* Once a tick: read CPU shares, find ended cgroups and owners, remove scraped ones. */
void tw_groups_tick(struct tw_workloads *t);

/* ---- workload_owner.c ---- */

/*
 * The workload of a level with that id (of a container, VM, job or step; the uid of a
 * pod), created by `who` if new. An id belongs to whoever named it first, but root's name
 * takes it from a user's, which gets another id. NULL without memory, if the id is
 * another's, or if its namer has too many: then its usage is in its cgroup alone.
 */
struct tw_owner *tw_owner_get(struct tw_workloads *t, enum tw_level level,
			      const struct tw_identity *who, const char *id);

/* Make w and its living processes (members) part of owner; NULL: of the system. */
void tw_owner_set(struct tw_workload *w, struct tw_workload *owner, uint32_t members);

/*
 * The container of an identity, with its pod; NULL for the system, and as tw_owner_get().
 */
struct tw_workload *tw_owner_of(struct tw_workloads *t, const struct tw_identity *who);

/* Set the user of p's job, if it is unknown. proc: the open directory /proc/PID. */
void tw_job_look(const struct tw_process *p, int proc);

/* ---- workload_vm.c ---- */

/* Read the process's command line and program; find out whether it is a VM. */
void tw_process_look(struct tw_workloads *t, struct tw_process *p);

/* The VM that a scope is. NULL if another scope has the id, or without memory. */
struct tw_workload *tw_vm_of_group(struct tw_workloads *t, const struct tw_group *g,
				   const struct tw_identity *who);

/* A process that is in the VM's cgroup already may have the uuid in its command line. */
void tw_vm_complete(struct tw_workloads *t, struct tw_identity *who, uint32_t tgid);

/* Set the VM of a process in a container, as tw_owner_set(). */
void tw_vm_set(struct tw_workload *process, struct tw_workload *vm, uint32_t members);

/* ---- workload_tick.c ---- */

/* A tw_counted: add counter differences to the process of tgid. For tests. */
enum tw_process_status tw_workloads_counted(void *arg, uint32_t tgid,
					    const uint64_t more[TW_COUNTER_COUNT],
					    bool last);

/* ---- workload_series.c ---- */

/*
 * Add usage of this tick to p and to every workload that contains it. False without
 * memory: the usage is counted in `dropped` only.
 */
bool tw_process_use(struct tw_workloads *t, struct tw_process *p,
		    const struct tw_usage *use);

/* Add the totals of a removed TW_SERIES_NEW to another workload of its level. */
void tw_series_fold(struct tw_workloads *t, struct tw_workload *to,
		    const struct tw_workload *from);

/* Add the totals of a removed TW_SERIES_NEW to "other" of its level. */
void tw_series_give_up(struct tw_workloads *t, const struct tw_workload *w);

/* ---- workload_unseen.c ---- */

/*
 * Charge the CPU time of processes that the source did not see to their cgroups. Only for
 * sources that report no exits.
 */
void tw_workloads_unseen(struct tw_workloads *t);

#endif /* TW_COLLECTOR_WORKLOAD_STATE_H */
