/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TESTS_AGENT_FIXTURE_H
#define TW_TESTS_AGENT_FIXTURE_H

/* One agent, and the sums that it is in. */

#include "collector/agents/agent.h"
#include "collector/agents/sums.h"

#define SECOND UINT64_C(1000000000)
#define BOTH ((struct tw_agent_part){ .passed_on = true, .name_spaces = true })

struct agent_fixture {
	struct tw_sums *sums;
	struct tw_agent agent;
	struct tw_ask_row row[8];
	size_t rows;
	struct tw_ask_answer answer;
	uint64_t host_elapsed_ms; /* the tick of the host */
	uint64_t now_ns;
};

/* Of cmocka: *state is the fixture. The agent and the sums begin at the same time. */
int agent_set_up(void **state);
int agent_tear_down(void **state);

/* Add a row to the answer, of a package. */
void add_row(struct agent_fixture *f, const char *level, const char *id,
	     const char *name_space, const char *source, uint64_t uj);

/* An answer of one zone of the node, by an instance with that uptime. */
void node_answers(struct agent_fixture *f, const char *instance, uint64_t uptime_s,
		  uint64_t uj);

/* Take the answer after this many seconds. */
void take(struct agent_fixture *f, uint64_t after_s);

/* The first sum of a level with that node, id or namespace; NULL: none. */
const struct tw_sum *find_sum(const struct agent_fixture *f, enum tw_sum_level level,
			      const char *text);

/* Energy in it; 0: none. */
uint64_t energy_of(const struct agent_fixture *f, enum tw_sum_level level,
		   const char *text);
uint64_t all_energy(const struct agent_fixture *f);

#endif /* TW_TESTS_AGENT_FIXTURE_H */
