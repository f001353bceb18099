/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was used, into slices and all that they are of: the one place where differences of
 * CPU time are made.
 */
#include "collector/workloads/workload_parts.h"

#include <stdlib.h>
#include <string.h>

struct tw_slice *tw_slices_new(struct tw_slices *s)
{
	if (s->count == s->size) {
		const size_t size = s->size != 0 ? s->size * 2 : 256;
		struct tw_slice *at = realloc(s->at, size * sizeof(*at));

		if (at == NULL)
			return NULL;
		s->at = at;
		s->size = size;
	}
	return &s->at[s->count++];
}

static struct tw_slice *slice_of(struct tw_workloads *t, struct tw_process *p,
				 struct tw_group *g)
{
	struct tw_slice *s;

	if (p->slice_at == t->tick + 1) {
		s = &t->next.at[p->slice];
		if (s->cgroup == &g->w && s->owner == p->w.owner)
			return s;
	}
	s = tw_slices_new(&t->next);
	if (s == NULL)
		return NULL;
	*s = (struct tw_slice){ .process = &p->w, .cgroup = &g->w, .owner = p->w.owner };
	p->slice_at = t->tick + 1;
	p->slice = t->next.count - 1;
	return s;
}

static void add_use(struct tw_workload *w, const struct tw_usage *use)
{
	if (w == NULL)
		return;
	tw_usage_add(&w->used, use);
	/* What runs has not ended; tw_groups_tick() sees when it has. */
	if (w->level != TW_LEVEL_PROCESS)
		w->ended = false;
}

struct tw_workload *tw_slice_outside(struct tw_workloads *t, const struct tw_slice *s)
{
	return s->owner != NULL && s->owner->level == TW_LEVEL_CONTAINER
		       ? NULL
		       : &t->outside[s->process->kernel];
}

/* To a slice and all that it is of. */
static void add_all(struct tw_workloads *t, struct tw_slice *s,
		    const struct tw_usage *use)
{
	tw_usage_add(&s->used, use);
	add_use(s->process, use);
	add_use(s->cgroup, use);
	add_use(s->owner, use);
	if (s->owner != NULL)
		add_use(s->owner->pod, use);
	add_use(tw_slice_outside(t, s), use);
}

bool tw_process_more(struct tw_workloads *t, struct tw_process *p, uint64_t cpu_ns)
{
	const struct tw_usage use = { .cpu_ns = cpu_ns };
	struct tw_slice *s = slice_of(t, p, (struct tw_group *)p->w.cgroup);

	if (s == NULL) {
		t->dropped++;
		return false;
	}
	add_all(t, s, &use);
	return true;
}

/*
 * A total may be seen lower than before: a thread that ends while its process is looked
 * at is in neither sum. It is made up for at the next look.
 */
void tw_process_take(struct tw_workloads *t, struct tw_process *p, uint64_t total_ns)
{
	if (total_ns > p->counted_ns && tw_process_more(t, p, total_ns - p->counted_ns))
		p->counted_ns = total_ns;
}

/* ---- counters ---- */

/* Whose end nobody was told, and who had not been seen: of no cgroup that is known. */
static struct tw_process *unknown(struct tw_workloads *t)
{
	struct tw_group *g = tw_group_get(t, 0, 0);

	return g != NULL ? tw_group_rest(t, g) : NULL;
}

enum tw_whose tw_workloads_counted(void *arg, uint32_t tgid,
				   const uint64_t more[TW_COUNTER_COUNT], bool last)
{
	struct tw_workloads *t = arg;
	struct tw_process *p = tw_process_recent(t, tgid, t->tick + 1);
	const enum tw_whose whose = p == NULL    ? TW_WHOSE_UNKNOWN
				    : p->w.ended ? TW_WHOSE_ENDED
						 : TW_WHOSE_LIVING;
	struct tw_usage use = { 0 };
	struct tw_slice *s;

	memcpy(use.counter, more, sizeof(use.counter));
	if (memcmp(&use, &(struct tw_usage){ 0 }, sizeof(use)) == 0 ||
	    (p == NULL && !last))
		return whose;
	if (p == NULL)
		p = unknown(t);
	s = p != NULL ? slice_of(t, p, (struct tw_group *)p->w.cgroup) : NULL;
	if (s == NULL)
		t->dropped++;
	else
		add_all(t, s, &use);
	return whose;
}
