/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_AGENT_H
#define TW_COLLECTOR_AGENT_H

/*
 * The counters of one agent: the last values of its workloads, and their growth from
 * answer to answer. The first answer of an agent that ran before the sums began is the
 * base: its earlier energy is not counted.
 */

#include "collector/agents/cover.h"
#include "collector/agents/sums.h"
#include "lib/ask/ask.h"

/*
 * The agent's budget of energy: TW_AGENT_UJ_PER_NS since a time of this machine's clock.
 * Spending energy advances that time.
 */
#define TW_AGENT_UJ_PER_NS 100 /* 100 kW: no machine uses more */
uint64_t tw_agent_budget_uj(uint64_t from_ns, uint64_t now_ns);
uint64_t tw_agent_budget_spend(uint64_t from_ns, uint64_t uj); /* the new time */

/* How long an agent counts nothing after impossible energy. */
#define TW_AGENT_BARRED_NS (UINT64_C(600) * 1000000000)

struct tw_agent {
	char url[TW_ASK_AGENT_URL];
	struct tw_ask_answer last; /* the last answer that was taken */
	uint64_t taken_ns;         /* when it arrived, CLOCK_MONOTONIC; 0: none */
	uint64_t began_ns; /* an agent that started later is counted from its start */
	uint64_t restarts;
	bool passed_on;     /* its host passed on all energy of the last answer */
	uint64_t barred_ns; /* when its energy was impossible; 0: never */
	bool cut, was_cut; /* the last answer, and the one before, had more rows than were
			      taken */
	uint64_t from_ns[TW_SUM_LEVELS][TW_ZONE_KIND_COUNT]; /* of its budgets */
	struct tw_quota_user *quota;                         /* NULL: none yet */

	void *tree; /* the counters, by key */
	struct tw_agent_counter *first;
	uint32_t round; /* of the last answer */
	/* Growth of its node that is not in the sum over all agents yet. */
	struct tw_sum_part pending[TW_SUM_PARTS_MAX];
	size_t pendings;
	struct tw_cover cover;
	/* Growth of its node since the sums began, without watts. */
	struct tw_sum_part own[TW_SUM_PARTS_MAX];
	size_t owns;
};

/* The rows of one answer. */
struct tw_answer_rows {
	const struct tw_ask_row *at;
	size_t count;
};

/*
 * Check an answer against the last one: TW_INVALID for impossible power, and for a kind
 * of zone or a level that nobody knows. Impossible energy bars the agent.
 */
int tw_agent_check(struct tw_agent *a, const struct tw_answer_rows *rows,
		   const struct tw_ask_answer *answer, uint64_t now_ns,
		   struct tw_err *err);

/* Its answers move its counters, and count nothing. */
bool tw_agent_is_barred(const struct tw_agent *a, uint64_t now_ns);

/*
 * The energy of an agent that sums include. vm: the machine of its host that it is, which
 * covers energy of its node (collector/agents/cover.h), NULL: none; passed_on: energy
 * that its host passes on (the source "passthrough") is in the sum over all agents.
 * name_spaces: the energy of its pods, in the sums of namespaces. nameless: its node's
 * name is another agent's, so that its node is known by its URL.
 */
struct tw_agent_part {
	const struct tw_sum *vm;
	bool passed_on, name_spaces, nameless;
};

/*
 * Take an answer with known kinds and levels, at now_ns. If it lists a workload twice,
 * the first entry counts.
 */
void tw_agent_take(struct tw_agent *a, struct tw_sums *s,
		   const struct tw_answer_rows *rows, const struct tw_ask_answer *answer,
		   struct tw_agent_part part, uint64_t now_ns);

/*
 * Move the pending growth into the sum over all agents, as far as the host does not cover
 * it; what the host may cover yet waits for wait_ns, and for the host's answer, an hour
 * at most.
 */
void tw_agent_settle(struct tw_agent *a, struct tw_sums *s, struct tw_agent_part part,
		     uint64_t now_ns, uint64_t wait_ns);

/* After a copy of *from to *to: the host of its VMs is `to`. */
void tw_agent_moved(struct tw_agent *to, const struct tw_agent *from);

/* Add the watts of its last answer to the sums of its workloads and of its node. */
void tw_agent_add_power(const struct tw_agent *a, struct tw_sums *s);

/* Then, once machines have theirs, to the sum over all agents. */
void tw_agent_add_power_to_all(const struct tw_agent *a, struct tw_sums *s,
			       struct tw_agent_part part);

/*
 * The energy of its node since the sums began, with the watts of its last answer if it is
 * up. Returns the number of parts.
 */
size_t tw_agent_parts(const struct tw_agent *a, bool up,
		      struct tw_sum_part out[TW_SUM_PARTS_MAX]);

/* Release its counters; their sums end. */
void tw_agent_clear(struct tw_agent *a, struct tw_sums *s, uint64_t now_ns);

#endif /* TW_COLLECTOR_AGENT_H */
