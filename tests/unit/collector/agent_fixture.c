/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/collector/agent_fixture.h"

#include "tests/unit/collector/package_row.h"
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"

#include <stdlib.h>
#include <string.h>

int agent_set_up(void **state)
{
	struct agent_fixture *f = calloc(1, sizeof(*f));
	struct tw_err err = { 0 };

	if (f == NULL || tw_sums_open(&f->sums, &err) < 0)
		return -1;
	f->now_ns = 1000 * SECOND;
	f->agent.began_ns = f->now_ns;
	strcpy(f->agent.url, "http://n1:8103");
	*state = f;
	return 0;
}

int agent_tear_down(void **state)
{
	struct agent_fixture *f = *state;

	tw_agent_clear(&f->agent, f->sums, f->now_ns);
	tw_sums_close(f->sums);
	free(f);
	return 0;
}

void add_row(struct agent_fixture *f, const char *level, const char *id,
	     const char *name_space, const char *source, uint64_t uj)
{
	struct tw_ask_row *r = &f->row[f->rows++];

	*r = package_row(level, id, uj);
	strcpy(r->name_space, name_space);
	strcpy(r->energy[0].source, source);
}

void node_answers(struct agent_fixture *f, const char *instance, uint64_t uptime_s,
		  uint64_t uj)
{
	f->rows = 0;
	add_row(f, "node", "zone", "", "rapl", uj);
	f->answer = (struct tw_ask_answer){ .uptime_ms = uptime_s * 1000 };
	strcpy(f->answer.node, "n1");
	strcpy(f->answer.instance, instance);
}

void take(struct agent_fixture *f, uint64_t after_s)
{
	const struct tw_answer_rows rows = { f->row, f->rows };
	struct tw_err err = { 0 };

	f->now_ns += after_s * SECOND;
	if (tw_agent_check(&f->agent, &rows, &f->answer, f->now_ns, &err) < 0)
		fail_msg("%s", err.text);
	tw_agent_take(&f->agent, f->sums, &rows, &f->answer, BOTH, f->now_ns);
	tw_agent_settle(&f->agent, f->sums, BOTH, f->now_ns, 0);
}

const struct tw_sum *find_sum(const struct agent_fixture *f, enum tw_sum_level level,
			      const char *text)
{
	const struct tw_sum *sum = NULL;

	while ((sum = tw_sums_next(f->sums, level, sum)) != NULL)
		if ((strcmp(sum->names.node, text) == 0 ||
		     strcmp(sum->names.id, text) == 0 ||
		     strcmp(sum->names.name_space, text) == 0))
			return sum;
	return NULL;
}

uint64_t energy_of(const struct agent_fixture *f, enum tw_sum_level level,
		   const char *text)
{
	const struct tw_sum *sum = find_sum(f, level, text);
	uint64_t uj = 0;

	for (size_t i = 0; sum != NULL && i < sum->parts; i++)
		uj += sum->part[i].dynamic_uj + sum->part[i].idle_uj;
	return uj;
}

uint64_t all_energy(const struct agent_fixture *f)
{
	return energy_of(f, TW_SUM_ALL, "");
}
