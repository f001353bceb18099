/* SPDX-License-Identifier: Apache-2.0 */
/* The table of workloads: opening it, its lists by level, look-ups. */
#include "collector/system/hypervisor.h"
#include "collector/system/process.h"
#include "collector/system/roots.h"
#include "collector/workloads/counters.h"
#include "collector/workloads/traces.h"
#include "collector/workloads/workload_state.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define BUCKETS_MIN 256

const char *const tw_level_names[TW_LEVEL_COUNT + 1] = {
	[TW_LEVEL_PROCESS] = "process",
	[TW_LEVEL_CGROUP] = "cgroup",
	[TW_LEVEL_CONTAINER] = "container",
	[TW_LEVEL_POD] = "pod",
	[TW_LEVEL_VM] = "vm",
	[TW_LEVEL_JOB] = "job",
	[TW_LEVEL_STEP] = "step",
};

/* ---- the lists of the levels ---- */

/* All other workloads are few: they are found by a linear search for their ids. */
static bool has_key(enum tw_level level)
{
	return level == TW_LEVEL_PROCESS || level == TW_LEVEL_CGROUP;
}

static size_t bucket_of(const struct tw_level_list *l, uint64_t key)
{
	return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (l->size - 1);
}

static uint64_t key_of(const struct tw_workload *w)
{
	return w->level == TW_LEVEL_PROCESS ? w->tgid : w->cgroup_id;
}

static struct tw_workload *chain(const struct tw_level_list *l, uint64_t key)
{
	return l->size != 0 ? l->bucket[bucket_of(l, key)] : NULL;
}

static void add_to_bucket(struct tw_level_list *l, struct tw_workload *w)
{
	struct tw_workload **b = &l->bucket[bucket_of(l, key_of(w))];

	w->hash_next = *b;
	*b = w;
}

/* Keep the load factor at most 1; buckets never shrink. */
static bool make_room(struct tw_level_list *l)
{
	const size_t size = l->size != 0 ? l->size * 2 : BUCKETS_MIN;
	struct tw_workload **bucket;

	if (l->count < l->size)
		return true;
	bucket = calloc(size, sizeof(struct tw_workload *));
	if (bucket == NULL)
		return l->size != 0;
	free(l->bucket);
	l->bucket = bucket;
	l->size = size;
	for (struct tw_workload *w = l->first; w != NULL; w = w->next)
		add_to_bucket(l, w);
	return true;
}

/* False without memory: then w is in no list. */
static bool add_to_level(struct tw_workloads *t, struct tw_workload *w)
{
	struct tw_level_list *l = &t->level[w->level];

	if (has_key(w->level)) {
		if (!make_room(l))
			return false;
		add_to_bucket(l, w);
	}
	w->serial = ++t->serial;
	w->prev = l->last;
	w->next = NULL;
	if (l->last != NULL)
		l->last->next = w;
	else
		l->first = w;
	l->last = w;
	l->count++;
	return true;
}

static void remove_from_level(struct tw_workloads *t, struct tw_workload *w)
{
	struct tw_level_list *l = &t->level[w->level];

	if (has_key(w->level)) {
		struct tw_workload **at = &l->bucket[bucket_of(l, key_of(w))];

		while (*at != w)
			at = &(*at)->hash_next;
		*at = w->hash_next;
	}
	*(w->prev != NULL ? &w->prev->next : &l->first) = w->next;
	*(w->next != NULL ? &w->next->prev : &l->last) = w->prev;
	l->count--;
}

struct tw_process *tw_process_find(const struct tw_workloads *t, uint32_t tgid,
				   uint64_t start_ns)
{
	struct tw_workload *w = chain(&t->level[TW_LEVEL_PROCESS], tgid);

	for (; w != NULL; w = w->hash_next)
		if (w->tgid == tgid &&
		    (start_ns != 0 ? w->start_ns == start_ns : !w->ended))
			return (struct tw_process *)w;
	return NULL;
}

struct tw_process *tw_process_recent(const struct tw_workloads *t, uint32_t tgid,
				     uint64_t tick)
{
	struct tw_workload *w = chain(&t->level[TW_LEVEL_PROCESS], tgid), *ended = NULL;

	for (; w != NULL; w = w->hash_next) {
		if (w->tgid != tgid)
			continue;
		if (!w->ended)
			return (struct tw_process *)w;
		if (w->ended_at == tick)
			ended = w;
	}
	return (struct tw_process *)ended;
}

const struct tw_workload *tw_workloads_namesake(const struct tw_workloads *t,
						const struct tw_workload *process,
						const struct tw_workload *other)
{
	const struct tw_workload *w =
		other != NULL ? other->hash_next
			      : chain(&t->level[TW_LEVEL_PROCESS], process->tgid);

	while (w != NULL && (w->tgid != process->tgid || w == process))
		w = w->hash_next;
	return w;
}

struct tw_group *tw_group_find(const struct tw_workloads *t, uint64_t cgroup_id)
{
	struct tw_workload *w = chain(&t->level[TW_LEVEL_CGROUP], cgroup_id);

	while (w != NULL && w->cgroup_id != cgroup_id)
		w = w->hash_next;
	return (struct tw_group *)w;
}

void *tw_workload_new(struct tw_workloads *t, const struct tw_workload *like, size_t size)
{
	struct tw_workload *w = calloc(1, size);

	if (w == NULL)
		return NULL;
	*w = *like;
	if (add_to_level(t, w))
		return w;
	free(w);
	return NULL;
}

static void free_workload(struct tw_workload *w)
{
	free((char *)(uintptr_t)w->path);
	if (!has_key(w->level))
		free(((struct tw_owner *)w)->names);
	free(w);
}

void tw_workload_remove(struct tw_workloads *t, struct tw_workload *w)
{
	remove_from_level(t, w);
	free_workload(w);
}

/* ---- opening ---- */

static int open_source(struct tw_workloads *t, const struct tw_task_source *s,
		       struct tw_err *err)
{
	const struct tw_clock_offsets offsets = tw_clock_offsets();
	const struct tw_task_config c = {
		.roots = t->config.roots,
		.cgroup_v1 = tw_cgroup_tree_is_v1(t->tree),
		.cgroup_hierarchy = tw_cgroup_tree_hierarchy(t->tree),
		.events_max = t->config.events_max,
		.boot_offset_ns = offsets.boot_ns,
		.monotonic_offset_ns = offsets.monotonic_ns,
	};

	if (s->open(&c, &t->tasks, err) < 0)
		return tw_err_wrap(err, "%s", s->name);
	t->source = s;
	return 0;
}

/* Open the first source that works. If all fail, err is the last one's reason. */
static int probe_sources(struct tw_workloads *t, struct tw_err *err)
{
	const struct tw_workloads_config *c = &t->config;

	for (size_t i = 0; i < tw_task_source_count(); i++) {
		const struct tw_task_source *s = tw_task_source_at(i);
		const bool last = i + 1 == tw_task_source_count();
		struct tw_err why = { 0 };

		if (!s->reports_exits || c->bpf) {
			if (open_source(t, s, last ? err : &why) == 0)
				return 0;
			if (!last && c->passed != NULL)
				c->passed(c->passed_arg, s->name, &why);
		}
	}
	return -1;
}

/* Without it energy is divided all the same. */
static void open_schedule(struct tw_workloads *t)
{
	const struct tw_workloads_config *c = &t->config;
	const size_t cpus =
		c->counters != NULL ? tw_counters_sampled_cpus(c->counters) : 0;
	struct tw_err why = { 0 };

	if (cpus == 0 || tw_schedule_open(&t->schedule, c->roots, cpus, &why) < 0)
		goto out;
	t->runs = calloc(cpus, sizeof(*t->runs));
	if (t->runs == NULL)
		tw_fail(&why, TW_NOMEM, "%zu CPUs", cpus);
out:
	if (why.code != TW_OK && c->passed != NULL)
		c->passed(c->passed_arg, "schedule", &why);
}

static int open_all(struct tw_workloads *t, struct tw_err *err)
{
	const struct tw_workloads_config *c = &t->config;

	if (tw_cgroup_tree_open(c->roots, c->cgroups, &t->tree, err) < 0)
		return -1;
	t->proc = open(c->roots->proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	t->misc = tw_hypervisor_devices(c->roots->sys);
	t->opened_ns = tw_boot_ns();
	open_schedule(t);
	return c->source != NULL ? open_source(t, c->source, err) : probe_sources(t, err);
}

int tw_workloads_open(const struct tw_workloads_config *c, struct tw_workloads **out,
		      struct tw_err *err)
{
	struct tw_workloads *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return tw_fail(err, TW_NOMEM, "workloads");
	t->config = *c;
	t->proc = t->misc = -1;
	for (int kernel = 0; kernel < 2; kernel++)
		t->outside[kernel] = (struct tw_workload){ .level = TW_LEVEL_CONTAINER,
							   .kernel = kernel };
	for (int level = 0; level < TW_LEVEL_COUNT; level++)
		t->other[level].level = (enum tw_level)level;
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
		free_workload(w);
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
	if (t->misc >= 0)
		close(t->misc);
	tw_schedule_close(&t->schedule);
	free(t->runs);
	free(t->shown.at);
	free(t->next.at);
	free(t->paths);
	free(t);
}

/* ---- queries ---- */

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
					    .refused = t->refused,
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
