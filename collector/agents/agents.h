/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_AGENTS_H
#define TW_COLLECTOR_AGENTS_H

/*
 * Other collectors ("agents"), and the sums of their energy. tw-ask polls them
 * (collector/ask/ask_agents.c); this end takes whole answers, checks them, and adds the
 * growth of their counters to sums (collector/agents/sums.h). It never waits.
 *
 * An answer is taken whole or not at all. An answer is refused, and the agent named as
 * down, if its power is impossible, or if another agent is the same process.
 */

#include "collector/agents/sums.h"
#include "lib/ask/ask_message.h"
#include "lib/core/strs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_agents; /* opaque */
struct tw_ask_config;
struct tw_err;

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

/* Check URLs, levels and times. */
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

/* Whether a level is exported: tw_sum_level_name(). */
bool tw_agents_shows(const struct tw_agents *a, const char *level);

/* How an agent counts in the sums over all agents. */
enum tw_agent_role {
	TW_AGENT_NODE,
	TW_AGENT_GUEST /* the energy of its node is its host's */
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

/* config has a struct tw_agents_options agents. */
#define TW_OPTS_AGENTS(config)                                                           \
	{ .name = "agents",                                                              \
	  .env = "TW_AGENTS",                                                            \
	  .type = TW_OPT_LIST,                                                           \
	  .offset = offsetof(config, agents.urls),                                       \
	  .arg = "URL,...",                                                              \
	  .help = "sum these collectors: http://ADDR:8103, or dns:NAME for all its "     \
		  "addresses" },                                                         \
		{ .name = "agents-interval",                                             \
		  .env = "TW_AGENTS_INTERVAL",                                           \
		  .type = TW_OPT_DURATION_MS,                                            \
		  .offset = offsetof(config, agents.interval_ms),                        \
		  .fallback = "10s",                                                     \
		  .arg = "TIME",                                                         \
		  .help = "time between two requests to an agent: 100ms to 1h" },        \
		{ .name = "agents-timeout",                                              \
		  .env = "TW_AGENTS_TIMEOUT",                                            \
		  .type = TW_OPT_DURATION_MS,                                            \
		  .offset = offsetof(config, agents.timeout_ms),                         \
		  .fallback = "5s",                                                      \
		  .arg = "TIME",                                                         \
		  .help = "longest time of a request to an agent: 100ms to 1m" },        \
		{ .name = "agents-refresh",                                              \
		  .env = "TW_AGENTS_REFRESH",                                            \
		  .type = TW_OPT_DURATION_MS,                                            \
		  .offset = offsetof(config, agents.refresh_ms),                         \
		  .fallback = "30s",                                                     \
		  .arg = "TIME",                                                         \
		  .help = "time between two lookups of dns:NAME: 1s to 1h" },            \
		{ .name = "agents-levels",                                               \
		  .env = "TW_AGENTS_LEVELS",                                             \
		  .type = TW_OPT_LIST,                                                   \
		  .offset = offsetof(config, agents.levels),                             \
		  .fallback = "node,namespace,pod,container,vm,job",                     \
		  .arg = "LEVEL,...",                                                    \
		  .help = "sums to export, of node, namespace, pod, container, vm, "     \
			  "job" },                                                       \
		{ .name = "agents-guests",                                               \
		  .env = "TW_AGENTS_GUESTS",                                             \
		  .type = TW_OPT_CHOICE,                                                 \
		  .offset = offsetof(config, agents.guests),                             \
		  .fallback = "auto",                                                    \
		  .arg = "HOW",                                                          \
		  .choices = tw_guests_names,                                            \
		  .help = "agents in virtual machines: auto (not in the sum, if their "  \
			  "host is), or add" },                                          \
	{                                                                                \
		.name = "agents-access", .env = "TW_AGENTS_ACCESS", .type = TW_OPT_TEXT, \
		.offset = offsetof(config, agents.access), .arg = "FILE",                \
		.help = "file with user, password, token-file, ca, cert, key, insecure " \
			"of the requests"                                                \
	}

#endif /* TW_COLLECTOR_AGENTS_H */
