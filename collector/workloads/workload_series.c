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
 *
 * Usage and energy come in slices of a tick: the usage of each process in one cgroup, and
 * the energy charged for it. Both are added to every workload that contains the process.
 */
#include "collector/workloads/workload_state.h"
#include "lib/core/array.h"

#include <string.h>

/*
 * Steps of the binary search for the oldest LAST series: precise to 30 ms if series stay
 * for 2 min.
 */
#define EARLY_STEPS 12

static bool is_in_other(const struct tw_workload *w)
{
	return w->series == TW_SERIES_LAST || w->series == TW_SERIES_OTHER;
}

static void use_series(struct tw_workloads *t, struct tw_workload *w,
		       const struct tw_usage *use)
{
	tw_usage_add(&w->used, use);
	if (!is_in_other(w))
		return;
	tw_usage_add(&w->other_used, use);
	tw_usage_add(&t->other[w->level].used, use);
}

static void charge_series(struct tw_workloads *t, struct tw_workload *w,
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
	use_series(t, to, &from->used);
	charge_series(t, to, &from->charged);
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

bool tw_workload_is_unused(const struct tw_workload *w)
{
	return memcmp(&w->used, &(struct tw_usage){ 0 }, sizeof(w->used)) == 0 &&
	       memcmp(&w->charged, &(struct tw_charge){ 0 }, sizeof(w->charged)) == 0;
}

/* The number of LAST series whose time is not over at `when_ns`. */
static size_t count_last(const struct tw_workloads *t, enum tw_level level,
			 uint64_t when_ns)
{
	size_t count = 0;

	for (const struct tw_workload *w = t->level[level].first; w != NULL; w = w->next)
		count += w->series == TW_SERIES_LAST && when_ns < w->until_ns;
	return count;
}

/*
 * End LAST series whose time is over, and the oldest of too many. One scrape begins at
 * most as many as it exports, so those of the scrape before stay: each of two scrapers
 * that take turns reads every last value.
 */
static void limit_last(struct tw_workloads *t, enum tw_level level, size_t max)
{
	uint64_t when_ns = t->now_ns;

	if (count_last(t, level, when_ns) > max) {
		uint64_t step_ns = t->config.keep_ms * UINT64_C(1000000);

		/* The last time that leaves too many, to within keep_ms / 2^EARLY_STEPS.
		 */
		for (unsigned i = 0; i < EARLY_STEPS; i++) {
			step_ns /= 2;
			if (count_last(t, level, when_ns + step_ns) > max)
				when_ns += step_ns;
		}
		when_ns += step_ns;
	}
	for (struct tw_workload *w = t->level[level].first; w != NULL; w = w->next)
		if (w->series == TW_SERIES_LAST && when_ns >= w->until_ns)
			w->series = TW_SERIES_OTHER;
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
			else if (!tw_workload_is_unused(w))
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

tw_u128 tw_own_tariff_pico(const struct tw_workload *w, enum tw_tariff tariff)
{
	return w->charged.tariff_pico[tariff] - w->other_charged.tariff_pico[tariff];
}

/* ---- slices ---- */

/* Add an empty slice; NULL without memory. */
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
	use_series(t, w, use);
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

/* The workloads and totals that contain a slice; NULL: no workload of that kind does. */
#define CONTAINING 8

static void find_containing(struct tw_workloads *t, const struct tw_slice *s,
			    struct tw_workload *out[CONTAINING])
{
	out[0] = s->process;
	out[1] = s->cgroup;
	out[2] = s->owner;
	out[3] = s->owner != NULL ? s->owner->pod : NULL;
	out[4] = s->process->vm;
	out[5] = outside_of(t, s);
	out[6] = s->cgroup->step;
	out[7] = job_of(t, s);
}

/* Add to a slice and to every workload that contains it. */
static void add_everywhere(struct tw_workloads *t, struct tw_slice *s,
			   const struct tw_usage *use)
{
	struct tw_workload *w[CONTAINING];

	tw_usage_add(&s->used, use);
	find_containing(t, s, w);
	for (int i = 0; i < CONTAINING; i++)
		if (w[i] != NULL)
			add_use(t, w[i], use);
	/* A scrape must read the last values, of a pseudo process, too. */
	if (s->process->ended || s->process->tgid == 0)
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
		       const struct tw_charge *charge, const struct tw_charge *ticked)
{
	if (w->ticked_at != t->tick) {
		w->ticked = (struct tw_charge){ 0 };
		w->ticked_at = t->tick;
	}
	tw_charge_add(&w->ticked, ticked);
	charge_series(t, w, charge);
}

void tw_workloads_charge(struct tw_workloads *t, const struct tw_slice *s,
			 const struct tw_charge *charge, const struct tw_charge *ticked)
{
	struct tw_workload *w[CONTAINING];

	find_containing(t, s, w);
	for (int i = 0; i < CONTAINING; i++)
		if (w[i] != NULL)
			charge_one(t, w[i], charge, ticked);
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
	static const struct tw_charge none = { 0 };

	return w->ticked_at == t->tick ? &w->ticked : &none;
}
