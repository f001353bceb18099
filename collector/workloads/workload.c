/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/workloads/workload.h"

#include "collector/system/roots.h"
#include "collector/workloads/counters.h"
#include "collector/workloads/traces.h"
#include "collector/workloads/workload_parts.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Command lines that one tick looks at: 10,000 processes are known after 50. */
#define LOOKS 200

static const char *const level_names[TW_LEVEL_COUNT] = {
	[TW_LEVEL_PROCESS] = "process",
	[TW_LEVEL_CGROUP] = "cgroup",
	[TW_LEVEL_CONTAINER] = "container",
	[TW_LEVEL_POD] = "pod",
	[TW_LEVEL_VM] = "vm",
};

const char *tw_level_name(enum tw_level level)
{
	return level_names[level];
}

/* ---- opening ---- */

static int open_source(struct tw_workloads *t, const struct tw_task_source *s,
		       struct tw_err *err)
{
	const struct tw_task_config c = {
		.roots = t->config.roots,
		.cgroup_v1 = tw_cgroup_tree_is_v1(t->tree),
		.cgroup_hierarchy = tw_cgroup_tree_hierarchy(t->tree),
		.events_max = t->config.events_max,
	};

	if (s->open(&c, &t->tasks, err) < 0)
		return tw_err_wrap(err, "%s", s->name);
	t->source = s;
	return 0;
}

/* The first that can be opened; of the last the reason is told if none can. */
static int probe_sources(struct tw_workloads *t, struct tw_err *err)
{
	const struct tw_workloads_config *c = &t->config;

	for (size_t i = 0; i < tw_task_source_count(); i++) {
		const struct tw_task_source *s = tw_task_source_at(i);
		const bool last = i + 1 == tw_task_source_count();
		struct tw_err why = { 0 };

		if (!s->tells_ends || c->bpf) {
			if (open_source(t, s, last ? err : &why) == 0)
				return 0;
			if (!last && c->passed != NULL)
				c->passed(c->passed_arg, s->name, &why);
		}
	}
	return -1;
}

static int open_all(struct tw_workloads *t, struct tw_err *err)
{
	const struct tw_workloads_config *c = &t->config;

	if (tw_cgroup_tree_open(c->roots, c->cgroups, &t->tree, err) < 0)
		return -1;
	t->proc = open(c->roots->proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	t->opened_ns = tw_boot_ns();
	return c->source != NULL ? open_source(t, c->source, err) : probe_sources(t, err);
}

int tw_workloads_open(const struct tw_workloads_config *c, struct tw_workloads **out,
		      struct tw_err *err)
{
	struct tw_workloads *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return tw_fail(err, TW_NOMEM, "workloads");
	t->config = *c;
	t->proc = -1;
	for (int kernel = 0; kernel < 2; kernel++)
		t->outside[kernel] = (struct tw_workload){ .level = TW_LEVEL_CONTAINER,
							   .kernel = kernel };
	if (open_all(t, err) < 0) {
		tw_workloads_close(t);
		return -1;
	}
	*out = t;
	return 0;
}

static void free_all(struct tw_workloads *t, enum tw_level level)
{
	struct tw_workload *next;

	for (struct tw_workload *w = t->level[level].first; w != NULL; w = next) {
		next = w->next;
		if (level == TW_LEVEL_PROCESS)
			tw_process_free(t, (struct tw_process *)w);
		else if (level == TW_LEVEL_CGROUP)
			free(w);
		else
			tw_owner_free((struct tw_owner *)w);
	}
	free(t->level[level].bucket);
}

void tw_workloads_close(struct tw_workloads *t)
{
	if (t == NULL)
		return;
	if (t->source != NULL)
		t->source->close(t->tasks);
	for (int level = 0; level < TW_LEVEL_COUNT; level++)
		free_all(t, level);
	tw_cgroup_tree_close(t->tree);
	if (t->proc >= 0)
		close(t->proc);
	tw_arena_release(&t->arena);
	free(t->shown.at);
	free(t->next.at);
	free(t->paths);
	free(t);
}

/* ---- a tick ---- */

static void remove_process(struct tw_workloads *t, struct tw_process *p)
{
	p->w.cgroup->refs--;
	tw_owner_set(&p->w, NULL, 0);
	tw_level_remove(t, &p->w);
	tw_process_free(t, p);
}

/* What it had goes on as its cgroup's, so that no sum falls. */
static void fold(struct tw_workloads *t, struct tw_process *p)
{
	struct tw_process *rest = tw_group_rest(t, (struct tw_group *)p->w.cgroup);

	t->folded++;
	if (rest == NULL) {
		t->dropped++;
		return;
	}
	tw_usage_add(&rest->w.used, &p->w.used);
	tw_charge_add(&rest->w.charged, &p->w.charged);
}

/* Of those that ended: who was told to a scraper, waited too long, or is one too many. */
static void expire(struct tw_workloads *t)
{
	struct tw_process *p;

	while ((p = t->ended_first) != NULL && p->w.ended_at <= t->tick) {
		const bool told = p->w.ended_at <= t->scraped;

		if (p->w.ended && !told && t->ended_count <= t->config.ended_max &&
		    t->now_ns - p->seen_ns < t->config.keep_ms * UINT64_C(1000000))
			return;
		t->ended_first = p->ended_next;
		if (t->ended_first == NULL)
			t->ended_last = NULL;
		t->ended_count--;
		p->queued = false;
		if (!p->w.ended)
			continue; /* it was not gone after all */
		if (!told)
			fold(t, p);
		remove_process(t, p);
	}
}

int tw_workloads_tick(struct tw_workloads *t, uint64_t now_ns, struct tw_err *err)
{
	const struct tw_task_sink sink = tw_workloads_sink(t);
	struct tw_slices shown = t->shown;

	t->now_ns = now_ns;
	t->shown.count = 0;
	tw_groups_tick(t);
	tw_cgroup_tree_tick(t->tree);
	t->seen = 0;
	t->looks = LOOKS;
	if (t->source->read(t->tasks, &sink, err) < 0)
		return -1;
	expire(t); /* now that what ended at the last tick has all its time */
	if (t->config.counters != NULL &&
	    tw_counters_read(t->config.counters, tw_workloads_counted, t, err) < 0)
		return -1;
	if (t->config.traces != NULL &&
	    tw_traces_read(t->config.traces, tw_workloads_counted, t, err) < 0)
		return -1;
	tw_workloads_settle(t);
	tw_workloads_unseen(t);
	shown.count = 0;
	t->shown = t->next;
	t->next = shown;
	t->tick++;
	return 0;
}

int tw_workloads_fd(const struct tw_workloads *t)
{
	return t->source->fd(t->tasks);
}

void tw_workloads_drain(struct tw_workloads *t)
{
	const struct tw_task_sink sink = tw_workloads_sink(t);

	t->source->drain(t->tasks, &sink);
}

const struct tw_slice *tw_workloads_slices(const struct tw_workloads *t, size_t *count)
{
	*count = t->shown.count;
	return t->shown.at;
}

/* ---- energy ---- */

static void charge_one(const struct tw_workloads *t, struct tw_workload *w,
		       const struct tw_charge *charge)
{
	if (w == NULL)
		return;
	if (w->ticked_at != t->tick) {
		w->ticked = (struct tw_charge){ 0 };
		w->ticked_at = t->tick;
	}
	tw_charge_add(&w->ticked, charge);
	tw_charge_add(&w->charged, charge);
}

void tw_workloads_charge(struct tw_workloads *t, const struct tw_slice *s,
			 const struct tw_charge *charge)
{
	charge_one(t, s->process, charge);
	charge_one(t, s->cgroup, charge);
	charge_one(t, s->owner, charge);
	if (s->owner != NULL)
		charge_one(t, s->owner->pod, charge);
	charge_one(t, tw_slice_outside(t, s), charge);
}

const struct tw_charge *tw_workloads_ticked(const struct tw_workloads *t,
					    const struct tw_workload *w)
{
	static const struct tw_charge none = { { 0 }, { 0 } };

	return w->ticked_at == t->tick ? &w->ticked : &none;
}

/* ---- looking ---- */

struct tw_workload *tw_workloads_next(const struct tw_workloads *t, enum tw_level level,
				      const struct tw_workload *w)
{
	return w != NULL ? w->next : t->level[level].first;
}

size_t tw_workloads_count(const struct tw_workloads *t, enum tw_level level)
{
	return t->level[level].count;
}

const struct tw_workload *tw_workloads_outside(const struct tw_workloads *t, bool kernel)
{
	return &t->outside[kernel];
}

const struct tw_cgroup_tree *tw_workloads_tree(const struct tw_workloads *t)
{
	return t->tree;
}

void tw_workloads_scraped(struct tw_workloads *t)
{
	t->scraped = t->tick;
}

bool tw_workloads_counts(const struct tw_workloads *t, enum tw_counter counter)
{
	const struct tw_workloads_config *c = &t->config;

	return (c->counters != NULL && tw_counters_have(c->counters, counter)) ||
	       (c->traces != NULL && tw_traces_have(c->traces, counter));
}

void tw_workloads_stats(const struct tw_workloads *t, struct tw_workloads_stats *out)
{
	*out = (struct tw_workloads_stats){ .folded = t->folded,
					    .dropped = t->dropped,
					    .unseen_ns = t->unseen_ns };
	t->source->stats(t->tasks, &out->tasks);
	if (t->config.counters != NULL)
		tw_counters_stats(t->config.counters, &out->counter_reads_failed,
				  &out->counts_lost);
	if (t->config.traces != NULL)
		out->traces_lost = tw_traces_lost(t->config.traces);
}

const char *tw_workloads_source(const struct tw_workloads *t)
{
	return t->source->name;
}

const char *tw_workloads_cgroups(const struct tw_workloads *t)
{
	return tw_cgroup_tree_name(t->tree);
}
