/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that have exited. They wait in a queue, in the order of their exits, until
 * the scrapes have read their last values.
 */
#include "collector/workloads/workload_state.h"

static void queue_ended(struct tw_workloads *t, struct tw_process *p)
{
	if (p->queued)
		return;
	p->queued = true;
	p->ended_next = NULL;
	if (t->ended_last != NULL)
		t->ended_last->ended_next = p;
	else
		t->ended_first = p;
	t->ended_last = p;
	t->ended_count++;
}

/* Count one living process more (1) or less (-1). */
static void count_living(struct tw_workloads *t, struct tw_process *p, int change)
{
	p->w.cgroup->members += (unsigned)change;
	if (p->w.owner != NULL) {
		p->w.owner->members += (unsigned)change;
		if (p->w.owner->pod != NULL)
			p->w.owner->pod->members += (unsigned)change;
	}
	if (p->w.vm != NULL)
		p->w.vm->members += (unsigned)change;
	t->living += (size_t)change;
}

void tw_process_end(struct tw_workloads *t, struct tw_process *p)
{
	if (p->w.ended)
		return;
	p->w.ended = true;
	p->w.ended_at = t->tick + 1;
	p->w.until_ns = t->now_ns + t->config.keep_ms * UINT64_C(1000000);
	count_living(t, p, -1);
	queue_ended(t, p);
}

void tw_process_take_back(struct tw_process *p)
{
	((struct tw_group *)p->w.cgroup)->lost_ns -= p->lost_ns;
	p->lost_ns = 0;
}

void tw_process_revive(struct tw_workloads *t, struct tw_process *p)
{
	tw_process_take_back(p);
	p->w.ended = false;
	count_living(t, p, 1);
}

static void remove_process(struct tw_workloads *t, struct tw_process *p)
{
	p->w.cgroup->refs--;
	tw_owner_set(&p->w, NULL, 0);
	tw_vm_set(&p->w, NULL, 0);
	tw_level_remove(t, &p->w);
	tw_process_free(p);
}

/*
 * Move the totals of an exited process that no scrape has read to its cgroup's pseudo
 * process, so that no sum falls.
 */
static void fold(struct tw_workloads *t, struct tw_process *p)
{
	struct tw_process *rest = tw_group_rest(t, (struct tw_group *)p->w.cgroup);

	t->folded++;
	if (rest == NULL)
		t->dropped++;
	else
		tw_series_fold(t, &rest->w, &p->w);
}

/*
 * Whether an exited process may be removed. A series that a scrape has exported waits for
 * another scrape, whatever its age: there are at most as many as one scrape exports.
 */
static bool may_expire(const struct tw_workloads *t, const struct tw_process *p)
{
	if (p->w.series == TW_SERIES_OWN && !tw_workloads_was_last_read(t, &p->w))
		return false;
	return t->ended_count > t->config.ended_max || t->now_ns >= p->w.until_ns;
}

static void unqueue(struct tw_workloads *t, struct tw_process *before,
		    struct tw_process *p)
{
	*(before != NULL ? &before->ended_next : &t->ended_first) = p->ended_next;
	if (t->ended_last == p)
		t->ended_last = before;
	t->ended_count--;
	p->queued = false;
}

void tw_processes_expire(struct tw_workloads *t)
{
	struct tw_process *before = NULL, *next;

	for (struct tw_process *p = t->ended_first; p != NULL && p->w.ended_at <= t->tick;
	     p = next) {
		next = p->ended_next;
		if (p->w.ended && t->ended_count <= t->config.ended_max &&
		    t->now_ns < p->w.until_ns)
			return; /* the queue is in the order of exits */
		if (p->w.ended && !may_expire(t, p)) {
			before = p;
			continue;
		}
		unqueue(t, before, p);
		if (!p->w.ended)
			continue; /* it was revived */
		if (p->w.series == TW_SERIES_NEW && !tw_workloads_was_last_read(t, &p->w))
			fold(t, p);
		remove_process(t, p);
	}
}
