/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/v1/agents: the agents, the sum over all, and sums of levels, as JSON. */
#include "collector/agents/agents.h"
#include "collector/agents/sums.h"
#include "collector/collector.h"
#include "collector/expose/expose.h"
#include "collector/expose/routes.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/writer.h"

static void add_parts(struct tw_buf *b, const struct tw_sum_part *part, size_t count)
{
	tw_json_add_array(b, "zones");
	for (const struct tw_sum_part *p = part; p < part + count; p++) {
		tw_json_add_object(b, NULL);
		tw_json_add_text(b, "zone", tw_zone_kind_name(p->kind));
		tw_json_add_text(b, "source", p->source);
		tw_json_add_joules(b, "dynamic_joules", p->dynamic_uj);
		tw_json_add_joules(b, "idle_joules", p->idle_uj);
		if (p->powered)
			tw_json_add_number(b, "watts", p->watts);
		tw_json_end_object(b);
	}
	tw_json_end_array(b);
}

static void add_agent(struct tw_buf *b, const struct tw_agents *a, size_t place,
		      const struct tw_agent_state *s)
{
	struct tw_sum_part part[TW_SUM_PARTS_MAX];

	tw_json_add_object(b, NULL);
	tw_json_add_text(b, "url", s->url);
	tw_json_add_text(b, "node_name", s->node);
	tw_json_add_text(b, "instance", s->instance);
	tw_json_add_bool(b, "up", s->up);
	tw_json_add_bool(b, "guest", s->role == TW_AGENT_GUEST);
	tw_json_add_text(b, "reason", s->why);
	if (s->age_ms != UINT64_MAX)
		tw_json_add_number(b, "age_seconds", (double)s->age_ms / 1e3);
	tw_json_add_number(b, "duration_seconds", (double)s->took_ms / 1e3);
	tw_json_add_uint(b, "bytes", s->bytes);
	tw_json_add_uint(b, "rows", s->rows);
	tw_json_add_uint(b, "answers", s->answers);
	tw_json_add_uint(b, "failures", s->failures);
	tw_json_add_uint(b, "restarts", s->restarts);
	tw_json_add_object(b, "left_out");
	for (int what = 0; what < TW_LEFTS; what++)
		if (s->left_out[what] > 0)
			tw_json_add_uint(b, tw_left_names[what], s->left_out[what]);
	tw_json_end_object(b);
	add_parts(b, part, tw_agents_parts(a, place, part));
	tw_json_end_object(b);
}

/* ---- sums of levels ---- */

/*
 * The levels of this route, the first of the table: few enough sums for one answer. Nodes
 * are limited by agents, namespaces are named by people.
 */
static int read_levels(const struct tw_http_request *q, unsigned *out, struct tw_err *err)
{
	const char *const names[] = { tw_sum_level_names[TW_SUM_NODE],
				      tw_sum_level_names[TW_SUM_NAMESPACE], NULL };

	if (tw_http_query_names(q, "level", names, out, err) < 0)
		return -1;
	*out <<= TW_SUM_NODE;
	return 0;
}

static void add_sum(struct tw_buf *b, const struct tw_sum *sum)
{
	tw_json_add_object(b, NULL);
	tw_json_add_text(b, "level", tw_sum_level_names[sum->level]);
	if (sum->level == TW_SUM_NODE)
		tw_json_add_text(b, "node_name", sum->names.node);
	else
		tw_json_add_text(b, "namespace", sum->names.name_space);
	add_parts(b, sum->part, sum->parts);
	tw_json_end_object(b);
}

static void add_sums(struct tw_buf *b, const struct tw_agents *a, const struct tw_sums *s,
		     unsigned wanted)
{
	tw_json_add_array(b, "sums");
	for (int level = TW_SUM_NODE; level <= TW_SUM_NAMESPACE; level++) {
		const struct tw_sum *sum = NULL;

		if ((wanted & 1u << level) == 0 ||
		    !tw_agents_shows(a, tw_sum_level_names[level]))
			continue;
		while ((sum = tw_sums_next(s, level, sum)) != NULL)
			add_sum(b, sum);
	}
	tw_json_end_array(b);
}

void tw_answer_agents(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	const struct tw_collector *c = app;
	struct tw_err err = { 0 };
	struct tw_agent_state s;
	struct tw_buf b = { 0 };
	const struct tw_sum *all;
	struct tw_sums *sums;
	unsigned wanted;

	if (c->agents == NULL)
		tw_fail(&err, TW_NOTFOUND, "this collector has no --agents");
	if (c->agents == NULL || read_levels(q, &wanted, &err) < 0) {
		tw_http_reply_error(r, &err);
		return;
	}
	sums = tw_agents_sums(c->agents);
	tw_json_add_object(&b, NULL);
	tw_json_add_array(&b, "agents");
	for (size_t at = 0; tw_agents_next(c->agents, &at, &s); at++)
		add_agent(&b, c->agents, at, &s);
	tw_json_end_array(&b);
	all = tw_sums_all(sums);
	add_parts(&b, all->part, all->parts);
	if (wanted != 0)
		add_sums(&b, c->agents, sums, wanted);
	tw_json_end_object(&b);
	tw_http_reply_buf(r, &b);
}
