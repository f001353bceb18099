/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cgroups, and the containers, pods and VMs that own them: creation, paths, names,
 * removal. Jobs and their steps are cgroups, too.
 */
#include "collector/workloads/workload_state.h"

#include <stdlib.h>
#include <string.h>

/* Look-ups of a cgroup's path before it stays unknown. */
#define TRIES 3

/*
 * Ticks between two reads of CPU shares, and between two checks for a removed directory.
 */
#define SHARES_TICKS 32
#define GONE_TICKS 4

/* ---- jobs of Slurm ---- */

/*
 * A job is all cgroups whose paths name it, so a process belongs to a job by its cgroup,
 * whichever container owns it.
 */
static struct tw_workload *enter(struct tw_workloads *t, enum tw_level level,
				 const struct tw_identity *who, const char *id)
{
	struct tw_owner *o = id[0] != '\0' ? tw_owner_get(t, level, who, id) : NULL;

	if (o == NULL)
		return NULL;
	o->w.refs++;
	return &o->w;
}

static void enter_job(struct tw_workloads *t, struct tw_group *g)
{
	g->w.job = enter(t, TW_LEVEL_JOB, &g->who, g->who.job);
	if (g->w.job == NULL)
		return;
	g->w.step = enter(t, TW_LEVEL_STEP, &g->who, g->who.step);
	if (g->w.step != NULL && g->w.step->job == NULL) {
		g->w.step->job = g->w.job;
		g->w.job->refs++;
	}
}

static void leave_job(struct tw_group *g)
{
	if (g->w.step != NULL)
		g->w.step->refs--;
	if (g->w.job != NULL)
		g->w.job->refs--;
}

static void forget_members(struct tw_workloads *t, enum tw_level level)
{
	for (struct tw_workload *w = t->level[level].first; w != NULL; w = w->next)
		w->members = 0;
}

static void tick_jobs(struct tw_workloads *t)
{
	if (t->level[TW_LEVEL_JOB].first == NULL)
		return;
	forget_members(t, TW_LEVEL_JOB);
	forget_members(t, TW_LEVEL_STEP);
	for (struct tw_workload *w = t->level[TW_LEVEL_CGROUP].first; w != NULL;
	     w = w->next) {
		if (w->step != NULL)
			w->step->members += w->members;
		if (w->job != NULL)
			w->job->members += w->members;
	}
}

/* ---- cgroups ---- */

static void read_shares(struct tw_workloads *t, struct tw_group *g)
{
	struct tw_workload *owner = g->w.owner;
	char path[TW_CGROUP_PATH];

	g->w.cpu_shares = tw_cgroup_tree_shares(t->tree, g->w.path);
	if (owner == NULL || owner->level != TW_LEVEL_CONTAINER)
		return;
	memcpy(path, g->w.path, g->who.owner_len);
	path[g->who.owner_len] = '\0';
	owner->cpu_shares = tw_cgroup_tree_shares(t->tree, path);
	if (owner->path == NULL)
		owner->path = strdup(path);
}

/*
 * Identify a path. Pods, jobs and virtual machines have their energy billed: their names
 * count only where root has made them.
 */
static void identify(const struct tw_workloads *t, struct tw_group *g)
{
	const char *path = g->w.path;
	struct tw_identity *out = &g->who, all, made;
	uint32_t namer;
	const size_t len = strlen(path),
		     trusted = tw_cgroup_tree_trusted(t->tree, path, &namer);

	tw_identity_of_path(path, len, &all);
	if (trusted == len) {
		*out = all;
		out->namer = TW_NAMER_ROOT;
		return;
	}
	tw_identity_of_path(path, trusted, &made);
	*out = all.kind == TW_OWNER_VM ? made : all;
	memcpy(out->pod_uid, made.pod_uid, sizeof(out->pod_uid));
	memcpy(out->job, made.job, sizeof(out->job));
	memcpy(out->step, made.step, sizeof(out->step));
	memcpy(out->user, made.user, sizeof(out->user));
	memcpy(out->unit, all.unit, sizeof(out->unit));
	out->namer = out->owner_len > trusted ? namer : TW_NAMER_ROOT;
}

/*
 * Set the path of a cgroup, and by it its identity, owner and shares. Without memory the
 * path stays unknown.
 */
static void set_path(struct tw_workloads *t, struct tw_group *g, const char *path,
		     uint32_t tgid)
{
	struct tw_workload *owner;

	g->w.path = strndup(path, TW_CGROUP_PATH - 1);
	if (g->w.path == NULL)
		return;
	identify(t, g);
	tw_vm_complete(t, &g->who, tgid);
	owner = g->who.kind == TW_OWNER_VM ? tw_vm_of_group(t, g, &g->who)
					   : tw_owner_of(t, &g->who);
	/* members 0: its processes are counted one by one. */
	tw_owner_set(&g->w, owner, 0);
	enter_job(t, g);
	read_shares(t, g);
}

static struct tw_group *make_group(struct tw_workloads *t, uint64_t cgroup_id)
{
	const struct tw_workload like = { .level = TW_LEVEL_CGROUP,
					  .cgroup_id = cgroup_id };
	struct tw_group *g = tw_workload_new(t, &like, sizeof(*g));

	if (g != NULL)
		g->w.who = &g->who;
	return g;
}

static void find_path(struct tw_workloads *t, struct tw_group *g, uint32_t tgid)
{
	char path[TW_CGROUP_PATH];

	g->tries++;
	if (tw_cgroup_tree_path(t->tree, g->w.cgroup_id, tgid, path))
		set_path(t, g, path, tgid);
}

struct tw_group *tw_group_get(struct tw_workloads *t, uint64_t cgroup_id, uint32_t tgid)
{
	struct tw_group *g = tw_group_find(t, cgroup_id);

	if (g == NULL)
		g = make_group(t, cgroup_id);
	if (g != NULL && g->w.path == NULL && g->tries < TRIES && cgroup_id != 0)
		find_path(t, g, tgid);
	return g;
}

void tw_group_set_path(struct tw_workloads *t, uint64_t cgroup_id, const char *path)
{
	struct tw_group *g = tw_group_find(t, cgroup_id);

	if (g == NULL)
		g = make_group(t, cgroup_id);
	if (g == NULL)
		t->dropped++;
	else if (g->w.path == NULL && path[0] == '/')
		set_path(t, g, path, 0);
}

struct tw_process *tw_group_rest(struct tw_workloads *t, struct tw_group *g)
{
	const struct tw_workload like = { .level = TW_LEVEL_PROCESS,
					  .comm = "ended",
					  .cgroup = &g->w };

	if (g->rest == NULL)
		g->rest = tw_workload_new(t, &like, sizeof(*g->rest));
	if (g->rest != NULL)
		g->rest->w.owner = g->w.owner;
	return g->rest;
}

/* ---- removal ---- */

/* True once w has no members and no references, a tick after it ended. */
static bool is_over(const struct tw_workloads *t, struct tw_workload *w)
{
	if (w->members > 0) {
		w->ended = false;
		return false;
	}
	if (!w->ended) {
		w->ended = true;
		w->ended_at = t->tick + 1;
		w->until_ns = t->now_ns + t->config.keep_ms * UINT64_C(1000000);
		return false;
	}
	return w->refs == 0 && w->ended_at <= t->tick;
}

/* True if a scraper may still want w's last values. */
static bool is_wanted(const struct tw_workloads *t, const struct tw_workload *w)
{
	return !tw_workload_is_unused(w) && w->series != TW_SERIES_OTHER &&
	       (!tw_workloads_was_last_read(t, w) || t->now_ns < w->until_ns);
}

/*
 * Whether w may be removed now. The oldest go first once more than ended_max stay, except
 * those that a scrape has exported and that have grown since.
 */
static bool may_go(struct tw_workloads *t, const struct tw_workload *w)
{
	struct tw_level_list *l = &t->level[w->level];

	if (!is_wanted(t, w))
		return true;
	l->waiting++;
	return l->excess > 0 &&
	       (w->series != TW_SERIES_OWN || tw_workloads_was_last_read(t, w));
}

static void count_waiting(struct tw_workloads *t, enum tw_level level)
{
	struct tw_level_list *l = &t->level[level];

	l->excess =
		l->waiting > t->config.ended_max ? l->waiting - t->config.ended_max : 0;
	l->waiting = 0;
}

/* w is removed: one fewer exceeds ended_max. */
static void remove_waiting(struct tw_workloads *t, const struct tw_workload *w)
{
	if (is_wanted(t, w))
		t->level[w->level].excess--;
	if (w->series == TW_SERIES_NEW && !tw_workloads_was_last_read(t, w))
		tw_series_give_up(t, w);
}

/* The last values of the pseudo process "ended" were read, or no scrape has seen it. */
static bool is_rest_read(const struct tw_workloads *t, const struct tw_group *g)
{
	return g->rest == NULL || g->rest->w.series != TW_SERIES_OWN ||
	       g->rest->w.ended_at <= t->scraped;
}

static void remove_group(struct tw_workloads *t, struct tw_group *g)
{
	if (g->rest != NULL) {
		if (g->rest->w.series == TW_SERIES_NEW &&
		    g->rest->w.ended_at > t->scraped)
			tw_series_give_up(t, &g->rest->w);
		tw_workload_remove(t, &g->rest->w);
	}
	tw_owner_set(&g->w, NULL, 0);
	leave_job(g);
	tw_workload_remove(t, &g->w);
}

/*
 * A cgroup without processes stays while its directory exists: it may get processes
 * again.
 */
static void tick_group(struct tw_workloads *t, struct tw_group *g)
{
	if (g->w.path != NULL && (t->tick + g->w.serial) % SHARES_TICKS == 0)
		read_shares(t, g);
	if (!is_over(t, &g->w) || !may_go(t, &g->w) || !is_rest_read(t, g) ||
	    t->tick < g->look_at)
		return;
	g->look_at = t->tick + GONE_TICKS;
	if (g->w.path != NULL && !tw_cgroup_tree_gone(t->tree, g->w.path))
		return;
	remove_waiting(t, &g->w);
	remove_group(t, g);
}

static void tick_owners(struct tw_workloads *t, enum tw_level level)
{
	struct tw_workload *next;

	count_waiting(t, level);
	for (struct tw_workload *w = t->level[level].first; w != NULL; w = next) {
		next = w->next;
		if (!is_over(t, w) || !may_go(t, w))
			continue;
		remove_waiting(t, w);
		if (w->pod != NULL)
			w->pod->refs--;
		tw_owner_set(w, NULL, 0);
		if (w->job != NULL)
			w->job->refs--;
		tw_workload_remove(t, w);
	}
}

void tw_groups_tick(struct tw_workloads *t)
{
	struct tw_workload *next;

	count_waiting(t, TW_LEVEL_CGROUP);
	for (struct tw_workload *w = t->level[TW_LEVEL_CGROUP].first; w != NULL;
	     w = next) {
		next = w->next;
		tick_group(t, (struct tw_group *)w);
	}
	tick_owners(t, TW_LEVEL_CONTAINER);
	tick_owners(t, TW_LEVEL_VM);
	tick_owners(t, TW_LEVEL_POD);
	tick_jobs(t);
	tick_owners(t, TW_LEVEL_STEP);
	tick_owners(t, TW_LEVEL_JOB);
}
