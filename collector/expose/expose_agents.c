/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of other collectors, and their health. */
#include "collector/agents/agents.h"
#include "collector/agents/sums.h"
#include "collector/expose/expose.h"
#include "lib/core/array.h"

#include <math.h>

static const struct tw_expo_level levels[TW_SUM_LEVELS] = {
	[TW_SUM_ALL] = { "", "all nodes, each once" },
	[TW_SUM_NODE] = { "node_", "a node" },
	[TW_SUM_NAMESPACE] = { "namespace_", "the pods of a namespace" },
	[TW_SUM_POD] = { "pod_", "a pod" },
	[TW_SUM_CONTAINER] = { "container_", "a container" },
	[TW_SUM_VM] = { "vm_", "a virtual machine, on its hosts" },
	[TW_SUM_JOB] = { "job_", "a Slurm job, on its nodes" },
};

enum { ENERGY, POWER };

static const struct tw_expo_family sums[] = {
	[ENERGY] = { "tallywatt_agents_*energy_joules_total", TW_EXPO_COUNTER, "joules",
		     "Energy of * since the sums began, by zone and mode. Zones "
		     "overlap." },
	[POWER] = { "tallywatt_agents_*power_watts", TW_EXPO_GAUGE, "watts",
		    "Power of *, of agents that are up." },
};

enum { UP, GUEST, BEYOND, LEFT_OUT_OF, LOOKUP, LEFT_OUT, HELPER };

static const struct tw_expo_family health[] = {
	[UP] = { "tallywatt_agent_up", TW_EXPO_GAUGE, NULL,
		 "1 if the agent's last answer was taken; else `reason` says why not." },
	[GUEST] = { "tallywatt_agent_guest", TW_EXPO_GAUGE, NULL,
		    "1 if the agent's energy is its host's, and so is not in the sum "
		    "over all agents." },
	[BEYOND] = { "tallywatt_agent_guest_beyond_host_joules_total", TW_EXPO_COUNTER,
		     "joules",
		     "Energy of a guest beyond the energy that its host has counted for "
		     "it; part of the sum over all agents." },
	[LEFT_OUT_OF] = { "tallywatt_agent_left_out_total", TW_EXPO_COUNTER, NULL,
			  "Data of an agent that was left out: rows, sums, parts and "
			  "sources beyond its quota, answers for impossible energy, "
			  "answers with the node name of another agent." },
	[LOOKUP] = { "tallywatt_agents_lookup_up", TW_EXPO_GAUGE, NULL,
		     "1 if the last lookup of the name found addresses; else `reason` "
		     "says why not." },
	[LEFT_OUT] = { "tallywatt_agents_left_out_total", TW_EXPO_COUNTER, NULL,
		       "Growth of sums that was left out because the table was full." },
	[HELPER] = { "tallywatt_agents_helper_up", TW_EXPO_GAUGE, NULL,
		     "1 while the helper tw-ask runs; else `reason` says why not." },
};

#define ROW(name, type, unit, help, member, per)                                      \
	TW_EXPO_ROW("tallywatt_agent_" name, type, unit, help, struct tw_agent_state, \
		    member, per)

static const struct {
	struct tw_expo_row row;
	bool of_answer; /* only with an answer that was taken */
} measures[] = {
	{ ROW("age_seconds", TW_EXPO_GAUGE, "seconds",
	      "Time since the last answer that was taken.", age_ms, 1e3),
	  true },
	{ ROW("duration_seconds", TW_EXPO_GAUGE, "seconds", "Time of the last request.",
	      took_ms, 1e3),
	  false },
	{ ROW("answer_bytes", TW_EXPO_GAUGE, "bytes", "Size of the last answer.", bytes,
	      1),
	  true },
	{ ROW("rows", TW_EXPO_GAUGE, NULL, "Workloads and zones of the last answer.",
	      rows, 1),
	  true },
	{ ROW("answers_total", TW_EXPO_COUNTER, NULL, "Answers taken.", answers, 1),
	  false },
	{ ROW("failures_total", TW_EXPO_COUNTER, NULL,
	      "Requests without an answer, and answers refused.", failures, 1),
	  false },
	{ ROW("restarts_total", TW_EXPO_COUNTER, NULL,
	      "Restarts of the agent that were seen.", restarts, 1),
	  false },
};

const struct tw_expo_table tw_agent_families[] = {
	TW_EXPO_TABLE_OF(sums, levels, TW_SUM_LEVELS),
	TW_EXPO_TABLE(health),
	TW_EXPO_TABLE(measures),
	{ .first = NULL },
};

static void label_sum(struct tw_labels *l, const struct tw_sum *sum)
{
	const struct tw_sum_names *n = &sum->names;

	l->count = 0;
	switch (sum->level) {
	case TW_SUM_ALL:
		break;
	case TW_SUM_NODE:
		tw_labels_add(l, "node", n->node);
		break;
	case TW_SUM_NAMESPACE:
		tw_labels_add(l, "namespace", n->name_space);
		break;
	case TW_SUM_VM:
		tw_labels_add(l, "vm_id", n->id);
		tw_labels_add(l, "vm_name", n->name);
		tw_labels_add(l, "hypervisor", n->runtime);
		break;
	case TW_SUM_JOB:
		tw_labels_add(l, "job_id", n->id);
		tw_labels_add(l, "user_id", n->name);
		break;
	case TW_SUM_CONTAINER:
		tw_labels_add(l, "node", n->node);
		tw_labels_add(l, "container_id", n->id);
		tw_labels_add(l, "runtime", n->runtime);
		tw_labels_add(l, "container_name", n->container);
		tw_labels_add(l, "pod_name", n->name);
		tw_labels_add(l, "namespace", n->name_space);
		break;
	default:
		tw_labels_add(l, "node", n->node);
		tw_labels_add(l, "pod_id", n->id);
		tw_labels_add(l, "pod_name", n->name);
		tw_labels_add(l, "namespace", n->name_space);
		break;
	}
}

static bool shows(const struct tw_agents *a, enum tw_sum_level level)
{
	return level == TW_SUM_ALL || tw_agents_shows(a, tw_sum_level_names[level]);
}

/* The text of the labels, formatted once for the samples of a sum. */
struct text {
	struct tw_buf b;
	struct tw_expo_text of[2]; /* the sum's, the part's */
};

static void format_sum(struct text *t, const struct tw_sum *sum)
{
	struct tw_labels l;

	label_sum(&l, sum);
	t->b.len = 0;
	tw_expo_add_labels(&t->b, l.at, l.count);
	t->of[0].len = t->b.len;
}

static void format_part(struct text *t, const struct tw_expo_label *labels, size_t count)
{
	t->b.len = t->of[0].len;
	tw_expo_add_labels(&t->b, labels, count);
	t->of[0].text = t->b.data;
	t->of[1] = (struct tw_expo_text){ t->b.data + t->of[0].len,
					  t->b.len - t->of[0].len };
}

static void expose_energy(struct tw_expo *e, struct text *t, const struct tw_sum_part *p)
{
	for (int idle = 0; idle < 2; idle++) {
		const struct tw_expo_label labels[] = {
			{ "zone", tw_zone_kind_name(p->kind) },
			{ "mode", tw_mode_name(idle != 0) },
			{ "source", p->source }
		};

		format_part(t, labels, TW_COUNT(labels));
		tw_expo_fixed(e, t->of, 2, idle != 0 ? p->idle_uj : p->dynamic_uj, 6);
	}
}

static void expose_power(struct tw_expo *e, struct text *t, const struct tw_sum_part *p)
{
	const struct tw_expo_label labels[] = { { "zone", tw_zone_kind_name(p->kind) },
						{ "source", p->source } };

	if (!p->powered)
		return;
	format_part(t, labels, TW_COUNT(labels));
	tw_expo_fixed(e, t->of, 2, (uint64_t)llround(p->watts * 1e6), 6);
}

static void expose_level(struct tw_expo *e, const struct tw_sums *s,
			 enum tw_sum_level level)
{
	struct text t = { .b = { 0 } };

	for (int power = 0; power < 2; power++) {
		const struct tw_sum *sum = NULL;

		tw_expo_family_of(e, &sums[power], &levels[level]);
		while ((sum = tw_sums_next(s, level, sum)) != NULL) {
			format_sum(&t, sum);
			for (size_t i = 0; i < sum->parts; i++)
				(power != 0 ? expose_power
					    : expose_energy)(e, &t, &sum->part[i]);
		}
	}
	if (tw_buf_failed(&t.b))
		e->out->failed = true;
	tw_buf_clear(&t.b);
}

/* ---- health ---- */

static void label_agent(struct tw_labels *l, const struct tw_agent_state *s)
{
	l->count = 0;
	tw_labels_add(l, "agent", s->url);
	tw_labels_add(l, "node", s->node);
}

/* Export only kinds with such energy: most agents have none. */
static void expose_beyond(struct tw_expo *e, const struct tw_agent_state *s)
{
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++) {
		struct tw_expo_text text;
		struct tw_buf b = { 0 };
		struct tw_labels l;

		if (s->beyond_uj[kind] == 0)
			continue;
		label_agent(&l, s);
		tw_labels_add(&l, "zone", tw_zone_kind_name((enum tw_zone_kind)kind));
		tw_expo_add_labels(&b, l.at, l.count);
		text = (struct tw_expo_text){ b.data, b.len };
		if (tw_buf_failed(&b))
			e->out->failed = true;
		else
			tw_expo_fixed(e, &text, 1, s->beyond_uj[kind], 6);
		tw_buf_clear(&b);
	}
}

/* Export only counts above 0: most agents have nothing left out. */
static void expose_left_out(struct tw_expo *e, const struct tw_agent_state *s)
{
	for (int what = 0; what < TW_LEFTS; what++) {
		struct tw_labels l;

		if (s->left_out[what] == 0)
			continue;
		label_agent(&l, s);
		tw_labels_add(&l, "what", tw_left_names[what]);
		tw_expo_count(e, l.at, l.count, s->left_out[what]);
	}
}

static void expose_health(const struct tw_agents *a, struct tw_expo *e)
{
	struct tw_agent_state s;
	struct tw_labels l;

	tw_expo_family(e, &health[UP]);
	for (size_t at = 0; tw_agents_next(a, &at, &s); at++) {
		label_agent(&l, &s);
		tw_labels_add(&l, "reason", s.why);
		tw_expo_count(e, l.at, l.count, s.up);
	}
	tw_expo_family(e, &health[GUEST]);
	for (size_t at = 0; tw_agents_next(a, &at, &s); at++) {
		label_agent(&l, &s);
		if (s.age_ms != UINT64_MAX)
			tw_expo_count(e, l.at, l.count, s.role == TW_AGENT_GUEST);
	}
	tw_expo_family(e, &health[BEYOND]);
	for (size_t at = 0; tw_agents_next(a, &at, &s); at++)
		expose_beyond(e, &s);
	tw_expo_family(e, &health[LEFT_OUT_OF]);
	for (size_t at = 0; tw_agents_next(a, &at, &s); at++)
		expose_left_out(e, &s);
	for (size_t f = 0; f < TW_COUNT(measures); f++) {
		tw_expo_family(e, &measures[f].row.family);
		for (size_t at = 0; tw_agents_next(a, &at, &s); at++) {
			label_agent(&l, &s);
			if (!measures[f].of_answer || s.age_ms != UINT64_MAX)
				tw_expo_number(e, &measures[f].row, &l, &s);
		}
	}
}

static void expose_rest(const struct tw_agents *a, const struct tw_sums *s,
			struct tw_expo *e)
{
	const char *failure = tw_agents_failure(a);
	size_t count;
	const struct tw_agents_lookup *l = tw_agents_lookups(a, &count);

	tw_expo_family(e, &health[HELPER]);
	tw_expo_count_by(e, "reason", failure, failure[0] == '\0');
	tw_expo_family(e, &health[LOOKUP]);
	for (size_t i = 0; i < count; i++) {
		const struct tw_expo_label labels[] = { { "name", l[i].name },
							{ "reason", l[i].why } };

		tw_expo_count(e, labels, 2, l[i].why[0] == '\0');
	}
	tw_expo_single(e, &health[LEFT_OUT], tw_sums_left_out(s));
}

void tw_expose_agents(struct tw_agents *a, struct tw_expo *e)
{
	const struct tw_sums *s = tw_agents_sums(a);

	for (int level = 0; level < TW_SUM_LEVELS; level++)
		if (shows(a, (enum tw_sum_level)level))
			expose_level(e, s, (enum tw_sum_level)level);
	expose_health(a, e);
	expose_rest(a, s, e);
}
