/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time that no walk of /proc sees: processes that begin and exit between two ticks,
 * the last moments of others, and what hidepid hides. The kernel counts it in their
 * cgroup, so it is charged there, to the pseudo process "ended":
 *
 *	own(g)	= growth of g's total less the growth of the known cgroups below it
 *	owed(g)	= owed(g) + own(g) - growth of what was charged in g
 *
 * /proc rounds times down to ticks of some ms, so a part of owed is of living processes:
 * allowance_ns(); only what exceeds that is charged. Moves are noticed late: the time is
 * missing in one cgroup and too much in another, so the total charged is limited to the
 * sum of owed over all cgroups. Time of a cgroup that came and went unseen counts for its
 * nearest known ancestor.
 */
#include "collector/system/process.h"
#include "collector/workloads/workload_state.h"
#include "lib/core/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int rank(char c)
{
	return c == '\0' ? 0 : c == '/' ? 1 : 1 + (unsigned char)c;
}

/* Order paths so that the descendants of a cgroup follow it directly. */
static int compare_paths(const char *a, const char *b)
{
	while (*a == *b && *a != '\0') {
		a++;
		b++;
	}
	return rank(*a) - rank(*b);
}

static int by_path(const void *a, const void *b)
{
	return compare_paths((*(struct tw_group *const *)a)->w.path,
			     (*(struct tw_group *const *)b)->w.path);
}

static bool is_below(const char *path, const char *top)
{
	const size_t len = strlen(top);

	return strcmp(top, "/") == 0 ||
	       (strncmp(path, top, len) == 0 && path[len] == '/');
}

/* List the cgroups with known paths in t->paths, in order. 0 without memory. */
static size_t list_groups(struct tw_workloads *t)
{
	const size_t all = t->level[TW_LEVEL_CGROUP].count;
	size_t count = 0;

	if (all == 0 || !tw_resize(&t->paths, all, sizeof(struct tw_group *)))
		return 0;
	for (struct tw_workload *w = t->level[TW_LEVEL_CGROUP].first; w != NULL;
	     w = w->next) {
		struct tw_group *g = (struct tw_group *)w;

		if (g->w.path != NULL)
			t->paths[count++] = g;
	}
	qsort(t->paths, count, sizeof(struct tw_group *), by_path);
	return count;
}

static struct tw_group *above(struct tw_group *before, const struct tw_group *g)
{
	while (before != NULL && !is_below(g->w.path, before->w.path))
		before = before->unseen.above;
	return before;
}

/*
 * Read g's total and its growth. A new cgroup counts from 0, but for at most its
 * ancestor's growth: it may have existed before, without processes.
 */
static void read_growth(const struct tw_workloads *t, struct tw_group *g)
{
	struct tw_unseen *u = &g->unseen;
	const uint64_t before_ns = u->total_ns;
	/* A total that could not be read for a while continues from the last value. */
	const bool known = u->known || before_ns > 0;

	u->grown_ns = 0;
	u->known = tw_cgroup_tree_cpu_ns(t->tree, g->w.path, &u->total_ns);
	if (!u->known)
		return;
	if (known) {
		u->grown_ns = u->total_ns > before_ns ? u->total_ns - before_ns : 0;
	} else if (u->above != NULL && u->above->unseen.known) {
		u->grown_ns = u->above->unseen.grown_ns < u->total_ns
				      ? u->above->unseen.grown_ns
				      : u->total_ns;
	} else {
		/* Charges so far belong to totals before this one. */
		u->charged_ns = g->w.used.cpu_ns;
	}
}

/*
 * Update owed of each cgroup, descendants first, and return the sum. A cgroup that cannot
 * be read passes its owed time to its ancestor.
 */
static int64_t settle_owed(struct tw_workloads *t, size_t count)
{
	int64_t all_ns = 0;

	for (size_t i = 0; i < count; i++)
		t->paths[i]->unseen.own_ns = (int64_t)t->paths[i]->unseen.grown_ns;
	for (size_t i = count; i-- > 0;) {
		struct tw_group *g = t->paths[i];
		struct tw_unseen *u = &g->unseen;

		u->owed_ns += u->own_ns - (int64_t)(g->w.used.cpu_ns - u->charged_ns);
		u->charged_ns = g->w.used.cpu_ns;
		if (u->above != NULL)
			u->above->unseen.own_ns -= (int64_t)u->grown_ns;
		if (!u->known && u->above != NULL)
			u->above->unseen.own_ns += u->owed_ns;
		if (!u->known)
			u->owed_ns = 0;
		all_ns += u->owed_ns;
	}
	return all_ns;
}

static void charge(struct tw_workloads *t, struct tw_group *g, uint64_t ns)
{
	struct tw_process *rest = tw_group_rest(t, g);
	const uint64_t before_ns = g->w.used.cpu_ns;

	if (rest == NULL) {
		t->dropped++;
		return;
	}
	tw_process_use(t, rest, &(struct tw_usage){ .cpu_ns = ns });
	/* Time that could not be charged for want of memory is still owed. */
	g->unseen.owed_ns -= (int64_t)(g->w.used.cpu_ns - before_ns);
	t->unseen_ns += g->w.used.cpu_ns - before_ns;
	g->unseen.charged_ns = g->w.used.cpu_ns;
}

/* Count the living processes that have used CPU time, by cgroup. */
static void count_active(struct tw_workloads *t, size_t groups)
{
	for (size_t i = 0; i < groups; i++)
		t->paths[i]->unseen.active = t->paths[i]->unseen.newcomers = 0;
	for (const struct tw_workload *w = t->level[TW_LEVEL_PROCESS].first; w != NULL;
	     w = w->next) {
		struct tw_unseen *u = &((struct tw_group *)w->cgroup)->unseen;

		if (w->ended || w->tgid == 0)
			continue;
		u->newcomers += ((const struct tw_process *)w)->newcomer;
		u->active +=
			((const struct tw_process *)w)->newcomer || w->used.cpu_ns > 0;
	}
}

/*
 * Time of living processes that is not charged yet. By rounding, a process lacks 0 to 2
 * ticks, of user and of system time: a newcomer 1 tick in the mean. Others lacked as much
 * when they were first seen, so their change is 0 in the mean, with a variance of 4/12
 * tick^2. Allow three standard deviations of the sum; a worst case of 2 ticks a process
 * would delay the first seconds of unseen time on a machine with many processes. And
 * totals are read after the walk, so they have time that the walk has not.
 */
static int64_t allowance_ns(const struct tw_workloads *t, const struct tw_unseen *u)
{
	const double tick_ns = 1e9 / (double)tw_proc_ticks_per_s();
	const double ticks = u->newcomers + sqrt(3.0 * u->active);

	if (u->active == 0)
		return 0;
	return (int64_t)(fmin(ticks, 2.0 * u->active) * tick_ns +
			 fmax((double)u->own_ns, 0) * t->walk_part);
}

void tw_workloads_unseen(struct tw_workloads *t)
{
	struct tw_group *before = NULL;
	int64_t all_ns;
	size_t count;

	if (t->source->reports_exits)
		return;
	count = list_groups(t);
	for (size_t i = 0; i < count; i++) {
		struct tw_group *g = t->paths[i];

		g->unseen.above = above(before, g);
		read_growth(t, g);
		before = g;
	}
	count_active(t, count);
	all_ns = settle_owed(t, count);
	for (size_t i = 0; i < count; i++) {
		const struct tw_unseen *u = &t->paths[i]->unseen;
		const int64_t more_ns = u->owed_ns - allowance_ns(t, u);
		const int64_t ns = more_ns < all_ns ? more_ns : all_ns;

		if (ns <= 0)
			continue;
		charge(t, t->paths[i], (uint64_t)ns);
		all_ns -= ns;
	}
}
