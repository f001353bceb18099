/* SPDX-License-Identifier: Apache-2.0 */
/* What a source of tasks tells, and what it does not: who lives, moves and ends. */
#include "collector/workloads/workload_parts.h"

#include <string.h>

/* How long one that is not seen may yet be told to have ended: RCU may wait 10 s. */
#define MISSING_NS UINT64_C(30000000000)

/* In no fewer ticks: a machine that sleeps or a collector that is stopped ticks not. */
#define MISSING_TICKS 4

/* A source that does not tell of moves is asked again for each process so often. */
#define MOVED_TICKS 16

/* ---- processes ---- */

/* A group's owner is its processes'; one that is a VM by itself stays that. */
static void enter_group(struct tw_process *p, struct tw_group *g)
{
	struct tw_workload *old = p->w.cgroup, *owner = g->w.owner;

	if (owner == NULL && old != NULL && p->w.owner != old->owner)
		owner = p->w.owner;
	tw_owner_set(&p->w, owner, 1);
	if (old == &g->w)
		return;
	if (old != NULL) {
		old->refs--;
		old->members--;
	}
	g->w.refs++;
	g->w.members++;
	g->w.ended = false;
	p->w.cgroup = &g->w;
	if (g->who.kind == TW_OWNER_VM)
		p->looked = false; /* it may know its machine's uuid */
}

static struct tw_process *add_process(struct tw_workloads *t, const struct tw_task *task,
				      struct tw_group *g)
{
	struct tw_process *p = g != NULL ? tw_process_new(t) : NULL;

	if (p == NULL)
		return NULL;
	p->w.tgid = task->tgid;
	p->w.start_ns = task->start_ns;
	p->w.kernel = (task->flags & TW_TASK_KERNEL) != 0;
	p->execs = task->execs;
	p->seen_ns = t->now_ns;
	memcpy(p->w.comm, task->comm, sizeof(p->w.comm));
	/* What was before us is not ours to tell. */
	if (task->start_ns < t->opened_ns || t->tick == 0)
		p->counted_ns = task->cpu_ns;
	if (!tw_level_add(t, &p->w)) {
		tw_process_free(t, p);
		return NULL;
	}
	t->living++;
	enter_group(p, g);
	return p;
}

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

/* It lives no more. */
static void end_process(struct tw_workloads *t, struct tw_process *p)
{
	if (p->w.ended)
		return;
	p->w.ended = true;
	p->w.ended_at = t->tick + 1;
	p->seen_ns = t->now_ns;
	p->w.cgroup->members--;
	if (p->w.owner != NULL) {
		p->w.owner->members--;
		if (p->w.owner->pod != NULL)
			p->w.owner->pod->members--;
	}
	t->living--;
	queue_ended(t, p);
}

/* One that was taken for gone, and is not. */
static void revive(struct tw_workloads *t, struct tw_process *p)
{
	p->w.ended = false;
	p->w.cgroup->members++;
	if (p->w.owner != NULL) {
		p->w.owner->members++;
		if (p->w.owner->pod != NULL)
			p->w.owner->pod->members++;
	}
	t->living++;
}

/* The program that it is; another one is looked at anew. */
static void update_program(struct tw_process *p, const struct tw_task *task)
{
	if (p->execs == task->execs &&
	    memcmp(p->w.comm, task->comm, sizeof(p->w.comm)) == 0)
		return;
	p->execs = task->execs;
	memcpy(p->w.comm, task->comm, sizeof(p->w.comm));
	p->looked = false;
}

/* ---- what a source tells ---- */

/*
 * A child is on the list of tasks before it has its parent's cgroup: one that was seen in
 * that moment and then never again was taken for the root's.
 */
static struct tw_process *take_last(struct tw_workloads *t, const struct tw_task *task)
{
	struct tw_process *p = tw_process_find(t, task->tgid, task->start_ns);
	struct tw_group *g = tw_group_get(t, task->cgroup_id, 0);

	if (p == NULL)
		p = add_process(t, task, g);
	if (p == NULL) {
		t->dropped++;
		return NULL;
	}
	if (g != NULL && task->cgroup_id != 0 && !p->w.ended)
		enter_group(p, g);
	update_program(p, task);
	tw_process_take(t, p, task->cpu_ns);
	return p;
}

static void on_left(void *arg, const struct tw_task *task)
{
	take_last(arg, task);
}

static void on_ended(void *arg, const struct tw_task *task)
{
	struct tw_process *p = take_last(arg, task);

	if (p != NULL)
		end_process(arg, p);
}

/* What comes too late even for a process that is forgotten is its cgroup's. */
static void on_late(void *arg, const struct tw_task *task, uint64_t more_ns)
{
	struct tw_workloads *t = arg;
	struct tw_process *p = tw_process_find(t, task->tgid, task->start_ns);
	struct tw_group *g;

	if (p != NULL) {
		tw_process_take(t, p, task->cpu_ns);
		p->w.ended_at = t->tick + 1; /* it waits for the next scrape */
		return;
	}
	g = tw_group_get(t, task->cgroup_id, 0);
	p = g != NULL ? tw_group_rest(t, g) : NULL;
	if (p == NULL)
		t->dropped++;
	else
		tw_process_more(t, p, more_ns);
}

/* Whose a process was that is first heard of as it moves: its parent's, who made it. */
static struct tw_group *group_before(struct tw_workloads *t, const struct tw_task *task,
				     struct tw_group *now)
{
	const struct tw_process *parent =
		task->parent != 0 ? tw_process_find(t, task->parent, 0) : NULL;

	return parent != NULL ? (struct tw_group *)parent->w.cgroup : now;
}

static void on_moved(void *arg, const struct tw_task *task)
{
	struct tw_workloads *t = arg;
	struct tw_process *p = tw_process_find(t, task->tgid, task->start_ns);
	struct tw_group *g = tw_group_get(t, task->cgroup_id, task->tgid);

	if (p == NULL && g != NULL)
		p = add_process(t, task, group_before(t, task, g));
	if (p == NULL || g == NULL) {
		t->dropped++;
		return;
	}
	if (p->w.ended)
		return;
	tw_process_take(t, p, task->cpu_ns);
	enter_group(p, g);
}

static void on_cgroup(void *arg, uint64_t cgroup_id, const char *path)
{
	tw_group_told(arg, cgroup_id, path);
}

static void on_overflow(void *arg, uint64_t cgroup_id,
			const struct tw_task_overflow *more)
{
	struct tw_workloads *t = arg;
	struct tw_group *g = tw_group_get(t, cgroup_id, 0);

	if (g == NULL) {
		t->dropped++;
		return;
	}
	g->overflow_ns += more->cpu_ns;
	t->overflowed = true;
}

/* The cgroup that a living process is in; NULL without memory. */
static struct tw_group *group_now(struct tw_workloads *t, const struct tw_process *p,
				  const struct tw_task *task)
{
	uint64_t id = task->cgroup_id;

	if (p != NULL && id == p->w.cgroup->cgroup_id)
		return (struct tw_group *)p->w.cgroup;
	if (id == 0) {
		if (p != NULL && (t->tick + task->tgid) % MOVED_TICKS != 0)
			return (struct tw_group *)p->w.cgroup;
		id = tw_cgroup_tree_id(t->tree, task->tgid);
		if (p != NULL && id == 0)
			return (struct tw_group *)p->w.cgroup;
	}
	return tw_group_get(t, id, task->tgid);
}

/* At a command line: not of one that may be another program in a moment. */
static bool wants_look(const struct tw_workloads *t, const struct tw_process *p)
{
	return !p->looked && !p->w.kernel && t->looks > 0 && t->proc >= 0 &&
	       p->seen_at != 0;
}

static void on_alive(void *arg, const struct tw_task *task)
{
	struct tw_workloads *t = arg;
	struct tw_process *p = tw_process_find(t, task->tgid, task->start_ns);
	struct tw_group *g = group_now(t, p, task);

	if (p == NULL)
		p = add_process(t, task, g);
	if (p == NULL || g == NULL) {
		t->dropped++;
		return;
	}
	if (p->w.ended)
		revive(t, p);
	enter_group(p, g);
	update_program(p, task);
	if (wants_look(t, p)) {
		t->looks--;
		tw_process_look(t, p);
	}
	p->seen_at = t->tick + 1;
	p->seen_ns = t->now_ns;
	p->missing = 0;
	t->seen++;
	tw_process_take(t, p, task->cpu_ns);
}

struct tw_task_sink tw_workloads_sink(struct tw_workloads *t)
{
	return (struct tw_task_sink){ .arg = t,
				      .left = on_left,
				      .ended = on_ended,
				      .late = on_late,
				      .moved = on_moved,
				      .cgroup = on_cgroup,
				      .overflowed = on_overflow,
				      .alive = on_alive };
}

/* ---- what a source did not tell ---- */

/*
 * One that is not seen has ended. Where ends are told, its own may still come; until
 * then, what it had counts as among what was lost with its cgroup.
 */
static void settle_missing(struct tw_workloads *t, struct tw_process *p)
{
	struct tw_group *g = (struct tw_group *)p->w.cgroup;

	if (!t->source->tells_ends) {
		end_process(t, p);
	} else if (++p->missing >= MISSING_TICKS && t->now_ns - p->seen_ns > MISSING_NS) {
		g->lost_ns += p->counted_ns;
		end_process(t, p);
	} else {
		g->missing_ns += p->counted_ns;
	}
}

/*
 * The totals of those that were lost with their cgroup, less what was counted of them
 * while they lived.
 */
static void settle_rest(struct tw_workloads *t, struct tw_group *g)
{
	const uint64_t known_ns = g->missing_ns + g->lost_ns;
	struct tw_process *rest;

	if (g->overflow_ns <= known_ns)
		return;
	rest = tw_group_rest(t, g);
	if (rest == NULL) {
		t->dropped++;
		return;
	}
	tw_process_take(t, rest, g->overflow_ns - known_ns);
}

void tw_workloads_settle(struct tw_workloads *t)
{
	struct tw_workload *w;

	if (t->overflowed)
		for (w = t->level[TW_LEVEL_CGROUP].first; w != NULL; w = w->next)
			((struct tw_group *)w)->missing_ns = 0;
	if (t->seen < t->living)
		for (w = t->level[TW_LEVEL_PROCESS].first; w != NULL; w = w->next) {
			struct tw_process *p = (struct tw_process *)w;

			if (!w->ended && w->tgid != 0 && p->seen_at <= t->tick)
				settle_missing(t, p);
		}
	if (t->overflowed)
		for (w = t->level[TW_LEVEL_CGROUP].first; w != NULL; w = w->next)
			settle_rest(t, (struct tw_group *)w);
}
