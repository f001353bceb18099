/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices of a tick: the usage of each process in one cgroup, and the energy charged for
 * it. Both are added to every workload that contains the process.
 */
#include "collector/workloads/workload_state.h"

#include "lib/core/array.h"

#include <stdlib.h>

/* One more slice, not filled; NULL without memory. */
static struct tw_slice *new_slice(struct tw_slices *s)
{
	if (!tw_grow(&s->at, &s->size, s->count, sizeof(*s->at)))
		return NULL;
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
	s = new_slice(&t->next);
	if (s == NULL)
		return NULL;
	*s = (struct tw_slice){ .process = &p->w, .cgroup = &g->w, .owner = p->w.owner };
	p->slice_at = t->tick + 1;
	p->slice = t->next.count - 1;
	return s;
}

static void add_use(struct tw_workloads *t, struct tw_workload *w,
		    const struct tw_usage *use)
{
	if (w == NULL)
		return;
	tw_series_use(t, w, use);
	/* Whatever runs is not over; tw_groups_tick() finds out when it is. */
	if (w->level != TW_LEVEL_PROCESS)
		w->ended = false;
}

/* The total outside containers that s counts for; NULL: s is in a container. */
static struct tw_workload *outside_of(struct tw_workloads *t, const struct tw_slice *s)
{
	return s->owner != NULL && s->owner->level == TW_LEVEL_CONTAINER
		       ? NULL
		       : &t->outside[s->process->kernel];
}

/* The job of s; "other" of its level if s is in no job. */
static struct tw_workload *job_of(struct tw_workloads *t, const struct tw_slice *s)
{
	return s->cgroup->job != NULL ? s->cgroup->job : &t->other[TW_LEVEL_JOB];
}

/* Add to a slice and to every workload that contains it. */
static void add_everywhere(struct tw_workloads *t, struct tw_slice *s,
			   const struct tw_usage *use)
{
	tw_usage_add(&s->used, use);
	add_use(t, s->process, use);
	add_use(t, s->cgroup, use);
	add_use(t, s->owner, use);
	if (s->owner != NULL)
		add_use(t, s->owner->pod, use);
	add_use(t, s->process->vm, use);
	add_use(t, outside_of(t, s), use);
	add_use(t, s->cgroup->step, use);
	add_use(t, job_of(t, s), use);
	/* A pseudo process does not end, but a scrape must read its last values. */
	if (s->process->tgid == 0)
		s->process->ended_at = t->tick + 1;
}

bool tw_process_use(struct tw_workloads *t, struct tw_process *p,
		    const struct tw_usage *use)
{
	struct tw_slice *s = slice_of(t, p, (struct tw_group *)p->w.cgroup);

	if (s == NULL) {
		t->dropped++;
		return false;
	}
	add_everywhere(t, s, use);
	return true;
}

const struct tw_slice *tw_workloads_slices(const struct tw_workloads *t, size_t *count)
{
	*count = t->shown.count;
	return t->shown.at;
}

/* ---- GPU energy, known per process after the tick ---- */

/* The process's slice of the last tick; an empty one if it did not run on a CPU. */
static struct tw_slice *shown_slice_of(struct tw_workloads *t, struct tw_process *p)
{
	struct tw_slice *s = &t->shown.at[p->slice];

	/* After a failed tick there are no slices. */
	if (p->slice_at == t->tick && p->slice < t->shown.count && s->process == &p->w)
		return s;
	s = new_slice(&t->shown);
	if (s == NULL)
		return NULL;
	*s = (struct tw_slice){ .process = &p->w,
				.cgroup = p->w.cgroup,
				.owner = p->w.owner };
	p->slice_at = t->tick;
	p->slice = t->shown.count - 1;
	return s;
}

bool tw_workloads_use_gpu(struct tw_workloads *t, uint32_t tgid, uint64_t dynamic_uj,
			  uint64_t idle_uj)
{
	struct tw_process *p = tw_process_recent(t, tgid, t->tick);
	struct tw_slice *s = p != NULL ? shown_slice_of(t, p) : NULL;

	if (s == NULL)
		return false;
	s->gpu_dynamic_uj += dynamic_uj;
	s->gpu_idle_uj += idle_uj;
	return true;
}

/* ---- energy ---- */

static void charge_one(struct tw_workloads *t, struct tw_workload *w,
		       const struct tw_charge *charge)
{
	if (w == NULL)
		return;
	if (w->ticked_at != t->tick) {
		w->ticked = (struct tw_charge){ 0 };
		w->ticked_at = t->tick;
	}
	tw_charge_add(&w->ticked, charge);
	tw_series_charge(t, w, charge);
}

void tw_workloads_charge(struct tw_workloads *t, const struct tw_slice *s,
			 const struct tw_charge *charge)
{
	charge_one(t, s->process, charge);
	charge_one(t, s->cgroup, charge);
	charge_one(t, s->owner, charge);
	if (s->owner != NULL)
		charge_one(t, s->owner->pod, charge);
	charge_one(t, s->process->vm, charge);
	charge_one(t, outside_of(t, s), charge);
	charge_one(t, s->cgroup->step, charge);
	charge_one(t, job_of(t, s), charge);
}

bool tw_workloads_ended_since(const struct tw_workload *w, uint64_t since)
{
	return w->ended && w->ended_at >= since;
}

uint64_t tw_workloads_tick_number(const struct tw_workloads *t)
{
	return t->tick;
}

const struct tw_charge *tw_workloads_ticked(const struct tw_workloads *t,
					    const struct tw_workload *w)
{
	static const struct tw_charge none = { { 0 }, { 0 } };

	return w->ticked_at == t->tick ? &w->ticked : &none;
}
