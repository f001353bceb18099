/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tick of the table: events and the walk of the source change the processes, and what
 * they used becomes slices. CPU time differences are computed here only.
 */
#include "collector/workloads/counters.h"
#include "collector/workloads/traces.h"
#include "collector/workloads/workload_state.h"
#include "lib/core/clock.h"
#include "lib/program/daemon.h"

#include <math.h>
#include <string.h>

/* Wait this long for the exit of a process that no walk lists: RCU may wait 10 s. */
#define MISSING_NS UINT64_C(30000000000)

/* Wait at least this many ticks, because a suspended machine does not tick. */
#define MISSING_TICKS 4

/* Ticks between look-ups of a process's cgroup, for sources that report no moves. */
#define MOVED_TICKS 16

/* Command lines that one tick reads: 10,000 processes take 50 ticks. */
#define LOOKS 200

/* Removed processes and cgroups whose memory, some 2 MiB, is worth a trim of the heap. */
#define BURST_MIN 2000

/*
 * A total may be lower than the one before: a thread that exits during the walk is in
 * neither sum. The next walk makes up for it.
 */
static void take_total(struct tw_workloads *t, struct tw_process *p, uint64_t total_ns)
{
	const struct tw_usage use = { .cpu_ns = total_ns - p->counted_ns };

	if (total_ns > p->counted_ns && tw_process_use(t, p, &use))
		p->counted_ns = total_ns;
}

/* ---- processes that have exited ---- */

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

static void end_process(struct tw_workloads *t, struct tw_process *p)
{
	if (p->w.ended)
		return;
	p->w.ended = true;
	p->w.ended_at = t->tick + 1;
	p->w.until_ns = t->now_ns + t->config.keep_ms * UINT64_C(1000000);
	count_living(t, p, -1);
	queue_ended(t, p);
}

static void take_back(struct tw_process *p)
{
	((struct tw_group *)p->w.cgroup)->lost_ns -= p->lost_ns;
	p->lost_ns = 0;
}

static void revive(struct tw_workloads *t, struct tw_process *p)
{
	take_back(p);
	p->w.ended = false;
	count_living(t, p, 1);
}

static void remove_process(struct tw_workloads *t, struct tw_process *p)
{
	p->w.cgroup->refs--;
	tw_owner_set(&p->w, NULL, 0);
	tw_vm_set(&p->w, NULL, 0);
	tw_workload_remove(t, &p->w);
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

static void expire_processes(struct tw_workloads *t)
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

/* ---- counters ---- */

/*
 * For counts of a process that was never seen: the pseudo process of the unknown cgroup,
 * id 0.
 */
static struct tw_process *unknown_process(struct tw_workloads *t)
{
	struct tw_group *g = tw_group_get(t, 0, 0);

	return g != NULL ? tw_group_rest(t, g) : NULL;
}

/* tw_counted of the counters and traces. */
enum tw_process_status tw_workloads_counted(void *arg, uint32_t tgid,
					    const uint64_t more[TW_COUNTER_COUNT],
					    bool last)
{
	struct tw_workloads *t = arg;
	struct tw_process *p = tw_process_recent(t, tgid, t->tick + 1);
	const enum tw_process_status status = p == NULL    ? TW_PROCESS_UNKNOWN
					      : p->w.ended ? TW_PROCESS_ENDED
							   : TW_PROCESS_LIVING;
	struct tw_usage use = { 0 };

	memcpy(use.counter, more, sizeof(use.counter));
	if (memcmp(&use, &(struct tw_usage){ 0 }, sizeof(use)) == 0 ||
	    (p == NULL && !last))
		return status;
	if (p == NULL)
		p = unknown_process(t);
	if (p == NULL)
		t->dropped++;
	else
		tw_process_use(t, p, &use);
	return status;
}

/* ---- where it ran ---- */

/* A tw_sampled. A workload without a slice has no known usage, and counts as idle. */
static void on_sampled(void *arg, const uint32_t *tgid, size_t cpus, uint64_t ns)
{
	struct tw_workloads *t = arg;

	for (size_t c = 0; c < cpus; c++) {
		const struct tw_process *p =
			tgid[c] != 0 ? tw_process_recent(t, tgid[c], t->tick + 1) : NULL;

		t->runs[c] = p != NULL && p->slice_at == t->tick + 1 ? (uint32_t)p->slice
								     : TW_SCHEDULE_IDLE;
	}
	tw_schedule_take(&t->schedule, t->next.at, t->runs, ns);
}

/* Samples of a tick that cannot be used are dropped, so that the next has its own. */
static void sample(struct tw_workloads *t)
{
	if (t->runs == NULL)
		return;
	tw_schedule_begin(&t->schedule, t->next.count);
	tw_counters_samples(t->config.counters, on_sampled, t);
	tw_schedule_end(&t->schedule, t->next.at);
}

/* ---- processes ---- */

/* Processes take the owner of their cgroup, except a process that is a VM by itself. */
static void enter_group(struct tw_process *p, struct tw_group *g)
{
	struct tw_workload *old = p->w.cgroup, *owner = g->w.owner;

	if (owner == NULL && old != NULL && p->w.owner != old->owner)
		owner = p->w.owner;
	tw_owner_set(&p->w, owner, 1);
	if (old == &g->w)
		return;
	if (p->w.vm != NULL) {
		tw_vm_set(&p->w, NULL, 1);
		p->look_at = 0;
	}
	if (old != NULL) {
		old->refs--;
		old->members--;
	}
	g->w.refs++;
	g->w.members++;
	g->w.ended = false;
	p->w.cgroup = &g->w;
	if (g->who.kind == TW_OWNER_VM)
		p->look_at = 0; /* its command line may have the VM's uuid */
}

static struct tw_process *add_process(struct tw_workloads *t, const struct tw_task *task,
				      struct tw_group *g)
{
	struct tw_workload like = { .level = TW_LEVEL_PROCESS,
				    .tgid = task->tgid,
				    .start_ns = task->start_ns,
				    .kernel = (task->flags & TW_TASK_KERNEL) != 0 };
	struct tw_process *p;

	memcpy(like.comm, task->comm, sizeof(like.comm));
	p = g != NULL ? tw_workload_new(t, &like, sizeof(*p)) : NULL;
	if (p == NULL)
		return NULL;
	p->execs = task->execs;
	p->seen_ns = t->now_ns;
	/* Time before the collector started is not charged. */
	p->newcomer = task->start_ns >= t->opened_ns && t->tick > 0;
	if (!p->newcomer)
		p->counted_ns = task->cpu_ns;
	t->living++;
	enter_group(p, g);
	return p;
}

/* After an exec the command line is read again. */
static void update_program(struct tw_process *p, const struct tw_task *task)
{
	if (p->execs == task->execs &&
	    memcmp(p->w.comm, task->comm, sizeof(p->w.comm)) == 0)
		return;
	p->execs = task->execs;
	memcpy(p->w.comm, task->comm, sizeof(p->w.comm));
	p->look_at = 0;
	p->proofs = 0;
}

/* ---- events and records of a source ---- */

/*
 * The last total of an exiting process.
 *
 * A child is on the task list before it is in its parent's cgroup: a process that was
 * seen only at that moment was taken for one of the root cgroup, so correct its cgroup.
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
	take_back(p);
	if (g != NULL && task->cgroup_id != 0 && !p->w.ended)
		enter_group(p, g);
	update_program(p, task);
	take_total(t, p, task->cpu_ns);
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

/* Time of a process that was already removed goes to its cgroup. */
static void on_late(void *arg, const struct tw_task *task, uint64_t more_ns)
{
	struct tw_workloads *t = arg;
	struct tw_process *p = tw_process_find(t, task->tgid, task->start_ns);
	struct tw_group *g;

	if (p != NULL) {
		take_total(t, p, task->cpu_ns);
		return;
	}
	g = tw_group_get(t, task->cgroup_id, 0);
	p = g != NULL ? tw_group_rest(t, g) : NULL;
	if (p == NULL)
		t->dropped++;
	else
		tw_process_use(t, p, &(struct tw_usage){ .cpu_ns = more_ns });
}

/*
 * The cgroup that a process left, if the move is its first event: its parent's, because
 * children start there.
 */
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
	take_total(t, p, task->cpu_ns);
	enter_group(p, g);
}

static void on_cgroup(void *arg, uint64_t cgroup_id, const char *path)
{
	tw_group_set_path(arg, cgroup_id, path);
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

/* The cgroup of a living process; NULL without memory. */
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

/* Do not read the command line of a new process: it may exec in a moment. */
static bool wants_look(const struct tw_workloads *t, const struct tw_process *p)
{
	return p->look_at <= t->tick && !p->w.kernel && t->looks > 0 && t->proc >= 0 &&
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
	take_total(t, p, task->cpu_ns);
}

static struct tw_task_sink make_sink(struct tw_workloads *t)
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

/* ---- missing processes ---- */

/*
 * A process that is not in the walk has exited. Where the source reports exits, the event
 * may still come; until then its counted time may be part of the overflow of its cgroup.
 */
static void settle_missing(struct tw_workloads *t, struct tw_process *p)
{
	struct tw_group *g = (struct tw_group *)p->w.cgroup;

	if (!t->source->reports_exits) {
		end_process(t, p);
	} else if (++p->missing >= MISSING_TICKS && t->now_ns - p->seen_ns > MISSING_NS) {
		p->lost_ns = p->counted_ns;
		g->lost_ns += p->lost_ns;
		end_process(t, p);
	} else {
		g->missing_ns += p->counted_ns;
	}
}

/*
 * Charge the totals of exits that had no event, less what was charged for those processes
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
	take_total(t, rest, g->overflow_ns - known_ns);
}

/* After the source was read: end missing processes, charge overflowed exits. */
static void settle(struct tw_workloads *t)
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

/* ---- memory ---- */

/*
 * After a burst of exits most entries are removed, and the heap keeps their memory:
 * return it to the kernel.
 */
static void return_memory(struct tw_workloads *t)
{
	const size_t count =
		t->level[TW_LEVEL_PROCESS].count + t->level[TW_LEVEL_CGROUP].count;

	if (count > t->most)
		t->most = count;
	if (t->most - count < BURST_MIN || count > t->most / 2)
		return;
	tw_daemon_trim();
	t->most = count;
}

/* ---- a tick ---- */

int tw_workloads_tick(struct tw_workloads *t, uint64_t now_ns, struct tw_err *err)
{
	const struct tw_task_sink sink = make_sink(t);
	const uint64_t elapsed_ns = now_ns - t->now_ns, began_ns = tw_now_ns();
	struct tw_slices shown = t->shown;

	t->now_ns = now_ns;
	t->shown.count = 0;
	tw_groups_tick(t);
	tw_cgroup_tree_tick(t->tree);
	t->seen = 0;
	t->looks = LOOKS;
	if (t->source->read(t->tasks, &sink, err) < 0)
		return -1;
	/* Processes that ended in the last tick have all their time now. */
	expire_processes(t);
	if (t->config.counters != NULL &&
	    tw_counters_read(t->config.counters, tw_workloads_counted, t, err) < 0)
		return -1;
	if (t->config.traces != NULL &&
	    tw_traces_read(t->config.traces, tw_workloads_counted, t, err) < 0)
		return -1;
	settle(t);
	t->walk_part = fmin((double)(tw_now_ns() - began_ns) / (double)elapsed_ns, 1);
	tw_workloads_unseen(t);
	sample(t);
	return_memory(t);
	shown.count = 0;
	t->shown = t->next;
	t->next = shown;
	t->tick++;
	return 0;
}

const struct tw_schedule *tw_workloads_schedule(const struct tw_workloads *t)
{
	const struct tw_schedule *s = &t->schedule;

	return s->ns > 0 && s->slices == t->shown.count ? s : NULL;
}

int tw_workloads_fd(const struct tw_workloads *t)
{
	return t->source->fd != NULL ? t->source->fd(t->tasks) : -1;
}

void tw_workloads_drain(struct tw_workloads *t)
{
	const struct tw_task_sink sink = make_sink(t);

	if (t->source->drain != NULL)
		t->source->drain(t->tasks, &sink);
}
