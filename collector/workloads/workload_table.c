/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/workloads/workload_parts.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS_MIN 256

/* Containers, pods and VMs are found by their ids, by going through them all. */
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

static void hang_in(struct tw_level_list *l, struct tw_workload *w)
{
	struct tw_workload **b = &l->bucket[bucket_of(l, key_of(w))];

	w->hash_next = *b;
	*b = w;
}

/* One bucket for each, on average; they are never made fewer. */
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
		hang_in(l, w);
	return true;
}

bool tw_level_add(struct tw_workloads *t, struct tw_workload *w)
{
	struct tw_level_list *l = &t->level[w->level];

	if (has_key(w->level)) {
		if (!make_room(l))
			return false;
		hang_in(l, w);
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

void tw_level_remove(struct tw_workloads *t, struct tw_workload *w)
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

const struct tw_workload *tw_workloads_earlier(const struct tw_workloads *t,
					       const struct tw_workload *process)
{
	const struct tw_workload *w = chain(&t->level[TW_LEVEL_PROCESS], process->tgid);

	while (w != NULL && (w->tgid != process->tgid || w->serial >= process->serial))
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

static const char *owner_id(const struct tw_workload *w)
{
	return w->level == TW_LEVEL_POD ? w->who->pod_uid : w->who->id;
}

struct tw_owner *tw_owner_find(const struct tw_workloads *t, enum tw_level level,
			       const char *id)
{
	struct tw_workload *w = t->level[level].first;

	while (w != NULL && strcmp(owner_id(w), id) != 0)
		w = w->next;
	return (struct tw_owner *)w;
}

struct tw_process *tw_process_new(struct tw_workloads *t)
{
	struct tw_process *p = t->free_processes;

	if (p != NULL)
		t->free_processes = p->ended_next;
	else
		p = tw_arena_get(&t->arena, sizeof(*p));
	if (p == NULL)
		return NULL;
	*p = (struct tw_process){ .w = { .level = TW_LEVEL_PROCESS } };
	return p;
}

void tw_process_free(struct tw_workloads *t, struct tw_process *p)
{
	free((char *)(uintptr_t)p->w.path);
	p->w.path = NULL;
	p->ended_next = t->free_processes;
	t->free_processes = p;
}
