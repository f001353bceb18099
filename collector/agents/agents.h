/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_AGENTS_H
#define TW_COLLECTOR_AGENTS_H

/*
 * Other collectors ("agents"), and the sums of their energy. tw-ask polls them
 * (collector/ask/ask_agents.c); this end takes whole answers, checks them, and adds the
 * growth of their counters to sums (collector/agents/sums.h). It does not block.
 *
 * An answer is refused, and the agent named as down, if its power is impossible, or if
 * another agent is the same process. An instance and a node's name belong to the address
 * that first had them, as long as it is polled. What an agent sends beyond its quota is
 * left out, and counted with its name.
 */

#include "collector/agents/sums.h"
#include "lib/ask/ask.h"
#include "lib/core/strs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_agents; /* opaque */

/* Which guests are in the sums over all agents: enum tw_guests, tw_guests_names. */
enum tw_guests { TW_GUESTS_AUTO, TW_GUESTS_ADD };
extern const char *const tw_guests_names[];

struct tw_agents_options {
	struct tw_strs urls; /* empty: none */
	struct tw_strs levels;
	char *access; /* path; NULL: none */
	unsigned guests;
	uint64_t interval_ms, timeout_ms, refresh_ms;
};

/* Check the URLs and the file of secrets. */
int tw_agents_options_check(const struct tw_agents_options *o, struct tw_err *err);

/* Sums that have ended are kept for keep_ms. Free *out with tw_agents_close(). */
int tw_agents_open(const struct tw_agents_options *o, const struct tw_ask_config *ask,
		   uint64_t keep_ms, struct tw_agents **out, struct tw_err *err);
void tw_agents_close(struct tw_agents *a); /* NULL is fine */

/* Call tw_agents_drain() when it is readable; -1: the helper is gone. */
int tw_agents_fd(const struct tw_agents *a);

/* Take messages: so many at most that a tick is not delayed. */
void tw_agents_drain(struct tw_agents *a);

/* ---- for expositions ---- */

/* Bring watts up to date, and drop ended sums. */
struct tw_sums *tw_agents_sums(struct tw_agents *a);

/* Whether a level is exported: tw_sum_level_names. */
bool tw_agents_shows(const struct tw_agents *a, const char *level);

/* How an agent counts in the sums over all agents. */
enum tw_agent_role {
	TW_AGENT_NODE,
	TW_AGENT_GUEST /* the energy of its node is its host's, as far as that has it */
};

struct tw_agent_state {
	const char *url, *node; /* node "": unknown */
	const char *instance;   /* of its process; "": unknown */
	bool up;                /* its last answer was taken */
	const char *why;        /* why not */
	enum tw_agent_role role;
	uint64_t age_ms; /* of the last answer that was taken; UINT64_MAX: none */
	uint64_t took_ms, bytes;
	uint32_t rows;
	uint64_t answers, failures, restarts;
	const uint64_t
		*beyond_uj; /* by kind: of a guest, more than its host has counted */
	uint64_t left_out[TW_LEFTS]; /* of what it sent */
};

/* The next agent from place on; *place is left at it. False: no more. */
bool tw_agents_next(const struct tw_agents *a, size_t *place, struct tw_agent_state *out);

/*
 * The node of the agent at that place alone, also where another has its name. Returns the
 * number of parts.
 */
size_t tw_agents_parts(const struct tw_agents *a, size_t place,
		       struct tw_sum_part out[TW_SUM_PARTS_MAX]);

/* The next name that is looked up; why "": found. False: no more. */
struct tw_agents_lookup {
	char name[TW_ASK_AGENT_URL];
	char why[TW_ASK_WHY];
};
const struct tw_agents_lookup *tw_agents_lookups(const struct tw_agents *a,
						 size_t *count);

/* Why no agent can be polled: the helper failed. "": it runs. */
const char *tw_agents_failure(const struct tw_agents *a);

#endif /* TW_COLLECTOR_AGENTS_H */
