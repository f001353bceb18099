/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which usage is in which series, such that nothing is lost or counted twice between two
 * scrapes of any scraper, although a scrape exports only some processes and cgroups:
 *
 *	own series of w   = used(w) - other_used(w)
 *	"other" of a level = sum of other_used over all workloads, removed ones included
 *
 * While w has a series of its own, used(w) grows alone. Else other_used(w) and "other"
 * grow with it, and w's own series keeps its value. Each of these values only grows, and
 * each growth of used(w) is in one of them. Energy likewise.
 */
#include "collector/workloads/workload_state.h"

#include <string.h>

/* Resolution of the time that a LAST series stays, if there are too many. */
#define EARLY_STEPS 8

static bool is_in_other(const struct tw_workload *w)
{
	return w->series == TW_SERIES_LAST || w->series == TW_SERIES_OTHER;
}

void tw_series_use(struct tw_workloads *t, struct tw_workload *w,
		   const struct tw_usage *use)
{
	tw_usage_add(&w->used, use);
	if (!is_in_other(w))
		return;
	tw_usage_add(&w->other_used, use);
	tw_usage_add(&t->other[w->level].used, use);
}

void tw_series_charge(struct tw_workloads *t, struct tw_workload *w,
		      const struct tw_charge *charge)
{
	tw_charge_add(&w->charged, charge);
	if (!is_in_other(w))
		return;
	tw_charge_add(&w->other_charged, charge);
	tw_charge_add(&t->other[w->level].charged, charge);
}

void tw_series_fold(struct tw_workloads *t, struct tw_workload *to,
		    const struct tw_workload *from)
{
	tw_series_use(t, to, &from->used);
	tw_series_charge(t, to, &from->charged);
	to->ended_at = t->tick + 1;
}

void tw_series_give_up(struct tw_workloads *t, const struct tw_workload *w)
{
	tw_usage_add(&t->other[w->level].used, &w->used);
	tw_charge_add(&t->other[w->level].charged, &w->charged);
}

/* "other" takes a workload that no scrape has seen. */
static void enter_other(struct tw_workloads *t, struct tw_workload *w)
{
	tw_series_give_up(t, w);
	w->other_used = w->used;
	w->other_charged = w->charged;
	w->series = TW_SERIES_OTHER;
}

static bool is_unused(const struct tw_workload *w)
{
	return memcmp(&w->used, &(struct tw_usage){ 0 }, sizeof(w->used)) == 0 &&
	       memcmp(&w->charged, &(struct tw_charge){ 0 }, sizeof(w->charged)) == 0;
}

/* End LAST series whose time is over at `when_ns`; return the number of the others. */
static size_t end_last(struct tw_workloads *t, enum tw_level level, uint64_t when_ns)
{
	size_t count = 0;

	for (struct tw_workload *w = t->level[level].first; w != NULL; w = w->next) {
		if (w->series != TW_SERIES_LAST)
			continue;
		if (when_ns < w->until_ns)
			count++;
		else
			w->series = TW_SERIES_OTHER;
	}
	return count;
}

/* If there are too many, the oldest end early: each was exported at least once. */
static void limit_last(struct tw_workloads *t, enum tw_level level, size_t max)
{
	const uint64_t step_ns = t->config.keep_ms * UINT64_C(1000000) / EARLY_STEPS;

	for (unsigned i = 0; i <= EARLY_STEPS; i++)
		if (end_last(t, level, t->now_ns + i * step_ns) <= max)
			return;
}

/* w had a series of its own. An ended workload's until_ns is set already. */
static void begin_last(const struct tw_workloads *t, struct tw_workload *w)
{
	w->series = TW_SERIES_LAST;
	if (!w->ended)
		w->until_ns = t->now_ns + t->config.keep_ms * UINT64_C(1000000);
}

void tw_workloads_choose(struct tw_workloads *t, enum tw_level level, size_t last_max,
			 bool (*wanted)(const void *arg, const struct tw_workload *w),
			 const void *arg)
{
	limit_last(t, level, last_max);
	for (struct tw_workload *w = t->level[level].first; w != NULL; w = w->next) {
		const bool wants = wanted(arg, w);

		if (w->series == TW_SERIES_NEW) {
			if (wants)
				w->series = TW_SERIES_OWN;
			else if (!is_unused(w))
				enter_other(t, w);
		} else if (w->series == TW_SERIES_OWN) {
			if (!wants)
				begin_last(t, w);
		} else if (wants && !w->ended) {
			w->series = TW_SERIES_OWN;
		}
	}
}

void tw_workloads_scraped(struct tw_workloads *t)
{
	t->scraped = t->tick;
}

bool tw_workloads_was_last_read(const struct tw_workloads *t, const struct tw_workload *w)
{
	return w->ended && w->ended_at <= t->scraped;
}

const struct tw_workload *tw_workloads_other(const struct tw_workloads *t,
					     enum tw_level level)
{
	return &t->other[level];
}

uint64_t tw_own_cpu_ns(const struct tw_workload *w)
{
	return w->used.cpu_ns - w->other_used.cpu_ns;
}

uint64_t tw_own_count(const struct tw_workload *w, enum tw_counter counter)
{
	return w->used.counter[counter] - w->other_used.counter[counter];
}

uint64_t tw_own_uj(const struct tw_workload *w, enum tw_zone_kind kind, bool idle)
{
	const struct tw_charge *all = &w->charged, *rest = &w->other_charged;

	return idle ? all->idle_uj[kind] - rest->idle_uj[kind]
		    : all->dynamic_uj[kind] - rest->dynamic_uj[kind];
}
