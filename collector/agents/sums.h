/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_SUMS_H
#define TW_COLLECTOR_SUMS_H

/*
 * Sums of energy over agents: of all agents, by node, namespace, pod, container, virtual
 * machine and Slurm job. A sum only grows: it takes the growth of the agents' counters,
 * never their values, so it goes on where an agent restarts, is absent, or has left.
 *
 * Watts are those of the last answers of the agents that answer now.
 */

#include "collector/agents/quota.h"
#include "collector/meters/zone.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_agent;
struct tw_err;

enum tw_sum_level {
	TW_SUM_ALL,
	TW_SUM_NODE,
	TW_SUM_NAMESPACE,
	TW_SUM_POD,
	TW_SUM_CONTAINER,
	TW_SUM_VM,
	TW_SUM_JOB,
	TW_SUM_LEVELS
};

/* "all", .., by level; ends with NULL. */
extern const char *const tw_sum_level_names[TW_SUM_LEVELS + 1];

/* Kinds and sources of one agent. */
#define TW_SUM_PARTS_MAX 64
/* The source of energy whose own has no room. */
#define TW_SUM_OTHER "other"

/* The energy of one kind of zone, by one energy source. */
struct tw_sum_part {
	enum tw_zone_kind kind;
	const char *source; /* lives as long as the table */
	uint64_t dynamic_uj, idle_uj;
	double watts;             /* sum of tw_sum_power() */
	bool powered;             /* an agent that is up has watts of it */
	struct tw_quota_user *by; /* the agent that it was first of */
};

/* Texts that identify a sum; "" where the level has no such text. */
struct tw_sum_names {
	const char *node, *id, *name, *name_space, *container, *runtime;
};

struct tw_sum {
	enum tw_sum_level level;
	struct tw_sum_names names;
	struct tw_sum_part *part;
	size_t parts;
	size_t users; /* counters of agents that it sums; 0: ended */
	bool in_pod;  /* a VM that a pod runs: its energy is in a namespace */
	const struct tw_agent *host; /* of a VM: an agent that has it; NULL: none */
	uint64_t ended_ns;           /* when the last one ended */
	struct tw_quota_user *by;    /* the agent that used it first */
	struct tw_sum *next, **at;
};

struct tw_sums; /* opaque */

/* *out is yours: tw_sums_close(). */
int tw_sums_open(struct tw_sums **out, struct tw_err *err);
void tw_sums_close(struct tw_sums *s); /* NULL is fine */

/* The shares of agents. An agent joins before it uses sums. */
struct tw_quota *tw_sums_quota(struct tw_sums *s);

/*
 * Find or add the sum with these names, for an agent, and count one more user of it. NULL
 * if the agent has no room, or out of memory; the sum then counts as left out.
 */
struct tw_sum *tw_sums_use(struct tw_sums *s, struct tw_quota_user *by,
			   enum tw_sum_level level, const struct tw_sum_names *names);
void tw_sums_release(struct tw_sums *s, struct tw_sum *sum, uint64_t now_ns);

/* The sum over all agents. */
struct tw_sum *tw_sums_all(struct tw_sums *s);

/* Add the kind, source and energy of p to a sum. NULL as sum: nothing. */
void tw_sum_add(struct tw_sums *s, struct tw_quota_user *by, struct tw_sum *sum,
		const struct tw_sum_part *p);

/* Set all watts to "none", then add those of the agents that are up. */
void tw_sums_power_begin(struct tw_sums *s);
void tw_sum_power(struct tw_sums *s, struct tw_quota_user *by, struct tw_sum *sum,
		  const struct tw_sum_part *p);

/* Drop sums that ended before. Sums of nodes and namespaces stay longer. */
void tw_sums_expire(struct tw_sums *s, uint64_t now_ns, uint64_t keep_ns);

/* The next sum of a level after it (NULL: the first); NULL at the end. In no order. */
const struct tw_sum *tw_sums_next(const struct tw_sums *s, enum tw_sum_level level,
				  const struct tw_sum *sum);

/* The copy of a source's name that parts have; TW_SUM_OTHER's if there are too many. */
const char *tw_sums_source(struct tw_sums *s, struct tw_quota_user *by, const char *name);

/* The virtual machine of that id that a host has now; NULL: none. */
const struct tw_sum *tw_sums_vm(const struct tw_sums *s, const char *id);

/* Sums, parts and sources left out for want of room or memory. */
uint64_t tw_sums_left_out(const struct tw_sums *s);

#endif /* TW_COLLECTOR_SUMS_H */
