/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/attribute.h"

#include "collector/power/share.h"
#include "collector/power/causes.h"
#include "collector/workloads/schedule.h"
#include "collector/workloads/workload.h"
#include "lib/core/array.h"
#include "lib/core/err.h"

#include <stdlib.h>
#include <string.h>

/* CPU shares of a cgroup that has set none: those of one CPU. */
#define USUAL_SHARES 1024

/* Resolution of weights by share: parts of one share. */
#define SHARE_PARTS 1048576.0

const char *const tw_idle_by_names[] = { "use", "share", NULL };

/* Sum of learned weights: the most digits that a double has. */
#define WEIGHT_PARTS 4503599627370496.0

/* CPU time of a cgroup or container in a tick. */
struct group_use {
	const struct tw_workload *group;
	uint64_t cpu_ns;
};

struct tw_attribution {
	enum tw_idle_by idle_by;
	struct tw_attribution_stats stats;
	/* Arrays with one entry for each slice. */
	uint64_t *weight, *out_uj;
	struct tw_remainder *room;
	struct tw_charge *charge;
	/* Time of the energy that waits, by kind and mode: dynamic, idle. */
	uint64_t waiting_ns[TW_ZONE_KIND_COUNT][2];
	unsigned tariff_kinds;
	double pico_per_uj[TW_TARIFF_COUNT];
	double (*cause)[TW_CAUSE_COUNT]; /* on one package */
	size_t size;
	struct group_use *group; /* hash table with at least twice that size */
	size_t groups;
	struct tw_causes causes[TW_ZONE_KIND_COUNT];
	bool above_idle[TW_ZONE_KIND_COUNT];  /* what causes were learned from */
	const char *rule[TW_ZONE_KIND_COUNT]; /* of the last division; NULL: plain */
};

int tw_attribution_open(enum tw_idle_by idle_by, struct tw_attribution **out,
			struct tw_err *err)
{
	struct tw_attribution *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return tw_fail(err, TW_NOMEM, "attribution");
	a->idle_by = idle_by;
	*out = a;
	return 0;
}

void tw_attribution_close(struct tw_attribution *a)
{
	if (a == NULL)
		return;
	free(a->weight);
	free(a->out_uj);
	free(a->room);
	free(a->charge);
	free(a->cause);
	free(a->group);
	free(a);
}

const struct tw_attribution_stats *tw_attribution_stats(const struct tw_attribution *a)
{
	return &a->stats;
}

static int make_room(struct tw_attribution *a, size_t count, struct tw_err *err)
{
	size_t size = 256;

	if (count <= a->size)
		return 0;
	while (size < count)
		size *= 2;
	if (!tw_resize(&a->weight, size, sizeof(*a->weight)) ||
	    !tw_resize(&a->out_uj, size, sizeof(*a->out_uj)) ||
	    !tw_resize(&a->room, size, sizeof(*a->room)) ||
	    !tw_resize(&a->charge, size, sizeof(*a->charge)) ||
	    !tw_resize(&a->cause, size, sizeof(*a->cause)) ||
	    !tw_resize(&a->group, 2 * size, sizeof(*a->group)))
		return tw_fail(err, TW_NOMEM, "attribution to %zu processes", count);
	a->size = size;
	a->groups = 2 * size;
	return 0;
}

/* ---- weights ---- */

static uint64_t cpu_time(const struct tw_usage *u)
{
	return u->cpu_ns;
}

static uint64_t work(const struct tw_usage *u)
{
	return u->counter[TW_COUNTER_CYCLES] + u->counter[TW_COUNTER_INSTRUCTIONS];
}

static uint64_t misses(const struct tw_usage *u)
{
	return u->counter[TW_COUNTER_CACHE_MISSES];
}

/*
 * The usage that divides a kind's energy best; CPU time if all its values are 0. NULL:
 * not divided here.
 */
static uint64_t (*const best_usage[TW_ZONE_KIND_COUNT])(const struct tw_usage *) = {
	[TW_ZONE_PACKAGE] = work,    [TW_ZONE_CORE] = work,
	[TW_ZONE_UNCORE] = cpu_time, [TW_ZONE_DRAM] = misses,
	[TW_ZONE_PSYS] = cpu_time,   [TW_ZONE_PLATFORM] = cpu_time,
	[TW_ZONE_OTHER] = cpu_time,
};

/* Fill the weights. False: all are 0. */
static bool weigh(struct tw_attribution *a, const struct tw_slice *s, size_t count,
		  uint64_t (*usage)(const struct tw_usage *))
{
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		a->weight[i] = usage(&s[i].used);
		any = any || a->weight[i] != 0;
	}
	return any;
}

/* The workload whose shares count: the container, else the cgroup. */
static const struct tw_workload *sharer(const struct tw_slice *s)
{
	return s->owner != NULL && s->owner->cpu_shares != 0 ? s->owner : s->cgroup;
}

static struct group_use *use_of(struct tw_attribution *a, const struct tw_workload *group)
{
	size_t at = (size_t)(group->serial * UINT64_C(0x9e3779b97f4a7c15)) % a->groups;

	while (a->group[at].group != NULL && a->group[at].group != group)
		at = (at + 1) % a->groups;
	return &a->group[at];
}

/* Weigh by the shares of a cgroup, divided by CPU time within it. */
static void weigh_by_share(struct tw_attribution *a, const struct tw_slice *s,
			   size_t count)
{
	memset(a->group, 0, a->groups * sizeof(*a->group));
	for (size_t i = 0; i < count; i++) {
		struct group_use *g = use_of(a, sharer(&s[i]));

		g->group = sharer(&s[i]);
		g->cpu_ns += s[i].used.cpu_ns;
	}
	for (size_t i = 0; i < count; i++) {
		const struct group_use *g = use_of(a, sharer(&s[i]));
		const uint32_t shares =
			g->group->cpu_shares != 0 ? g->group->cpu_shares : USUAL_SHARES;

		a->weight[i] = g->cpu_ns == 0 ? 0
					      : (uint64_t)(SHARE_PARTS * shares *
							   (double)s[i].used.cpu_ns /
							   (double)g->cpu_ns);
	}
}

/* ---- energy ---- */

/* The entry of a kind and mode in struct tw_charge. */
static uint64_t *energy_of(struct tw_charge *c, int kind, bool idle)
{
	return idle ? &c->idle_uj[kind] : &c->dynamic_uj[kind];
}

/* Divide waiting energy of a kind and mode by the current weights. */
static void give_part(struct tw_attribution *a, size_t count, int kind, bool idle,
		      uint64_t energy_uj)
{
	uint64_t sum = 0;

	if (energy_uj == 0 ||
	    !tw_share_out(energy_uj, a->weight, count, a->out_uj, a->room))
		return;
	for (size_t i = 0; i < count; i++) {
		*energy_of(&a->charge[i], kind, idle) += a->out_uj[i];
		sum += a->out_uj[i];
	}
	*energy_of(&a->stats.given, kind, idle) += sum;
	a->stats.errors += sum != energy_uj;
	*energy_of(&a->stats.waiting, kind, idle) -= energy_uj;
}

/* The same, all that waits. */
static void give(struct tw_attribution *a, size_t count, int kind, bool idle)
{
	give_part(a, count, kind, idle, *energy_of(&a->stats.waiting, kind, idle));
}

/* Charge the GPU energy that the slices already carry, never more than is waiting. */
static void give_gpu(struct tw_attribution *a, const struct tw_slice *s, size_t count,
		     bool idle)
{
	uint64_t *waiting = energy_of(&a->stats.waiting, TW_ZONE_GPU, idle);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += idle ? s[i].gpu_idle_uj : s[i].gpu_dynamic_uj;
	if (sum > *waiting) {
		a->stats.errors++;
		return;
	}
	for (size_t i = 0; i < count; i++)
		*energy_of(&a->charge[i], TW_ZONE_GPU, idle) =
			idle ? s[i].gpu_idle_uj : s[i].gpu_dynamic_uj;
	*energy_of(&a->stats.given, TW_ZONE_GPU, idle) += sum;
	*waiting -= sum;
}

static void give_dynamic(struct tw_attribution *a, const struct tw_slice *s, size_t count)
{
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++) {
		if (best_usage[kind] == NULL)
			continue;
		if (!weigh(a, s, count, best_usage[kind]))
			weigh(a, s, count, cpu_time);
		give(a, count, kind, false);
	}
}

static void give_idle(struct tw_attribution *a, const struct tw_slice *s, size_t count)
{
	if (a->idle_by == TW_IDLE_BY_SHARE)
		weigh_by_share(a, s, count);
	else
		weigh(a, s, count, cpu_time);
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++)
		if (best_usage[kind] != NULL)
			give(a, count, kind, true);
}

/* ---- by package ---- */

static uint64_t work_on(const struct tw_package_use *u)
{
	return u->cycles + u->instructions;
}

static uint64_t misses_on(const struct tw_package_use *u)
{
	return u->misses;
}

/* The plain rule on one package. */
static uint64_t (*const package_usage[TW_ZONE_KIND_COUNT])(
	const struct tw_package_use *) = {
	[TW_ZONE_PACKAGE] = work_on,
	[TW_ZONE_CORE] = work_on,
	[TW_ZONE_DRAM] = misses_on,
};

static const struct tw_package_use *use_at(const struct tw_dividend *d, size_t i,
					   size_t p)
{
	return &d->use[i * d->packages + p];
}

/* The causes of power on package p, and their sums. */
static void find_causes(struct tw_attribution *a, const struct tw_dividend *d, size_t p,
			double sum[TW_CAUSE_COUNT])
{
	memset(sum, 0, TW_CAUSE_COUNT * sizeof(*sum));
	for (size_t i = 0; i < d->count; i++) {
		tw_causes_of(use_at(d, i, p), a->cause[i]);
		for (int k = 0; k < TW_CAUSE_COUNT; k++)
			sum[k] += a->cause[i][k];
	}
}

/* Fill the weights by the plain rule; their sum. */
static double weigh_on(struct tw_attribution *a, const struct tw_dividend *d, size_t p,
		       uint64_t (*usage)(const struct tw_package_use *))
{
	double sum = 0;

	for (size_t i = 0; i < d->count; i++) {
		a->weight[i] = usage(use_at(d, i, p));
		sum += (double)a->weight[i];
	}
	return sum;
}

static void weigh_learned(struct tw_attribution *a, const struct tw_causes *w,
			  size_t count, const double sum[TW_CAUSE_COUNT])
{
	const double all = tw_causes_weigh(w, sum);

	for (size_t i = 0; all > 0 && i < count; i++)
		a->weight[i] =
			(uint64_t)(tw_causes_weigh(w, a->cause[i]) / all * WEIGHT_PARTS);
}

/* Divide the energy of a kind of package p among what ran there, and learn from it. */
static void give_on(struct tw_attribution *a, const struct tw_dividend *d, size_t p,
		    int kind, const double sum[TW_CAUSE_COUNT])
{
	struct tw_causes *w = &a->causes[kind];
	uint64_t energy_uj = d->package[p].dynamic_uj[kind];
	const double plain = weigh_on(a, d, p, package_usage[kind]);

	if (plain <= 0)
		weigh_on(a, d, p, tw_package_use_ns);
	if (energy_uj > 0)
		a->rule[kind] = tw_causes_ready(w) ? "learned" : "package";
	if (tw_causes_ready(w))
		weigh_learned(a, w, d->count, sum);
	if (energy_uj > a->stats.waiting.dynamic_uj[kind])
		energy_uj = a->stats.waiting.dynamic_uj[kind];
	give_part(a, d->count, kind, false, energy_uj);
	if (d->package[p].whole[kind] &&
	    d->package[p].idle_known[kind] == a->above_idle[kind])
		tw_causes_learn(w, sum, plain, energy_uj, d->over_ns);
}

/* Forget weights of power with idle power once the idle power of a package is known. */
static void note_idle(struct tw_attribution *a, const struct tw_dividend *d, int kind)
{
	bool known = a->above_idle[kind];

	for (size_t p = 0; p < d->packages; p++)
		known = known || d->package[p].idle_known[kind];
	if (known && !a->above_idle[kind])
		a->causes[kind] = (struct tw_causes){ .rows = 0 };
	a->above_idle[kind] = known;
}

/*
 * The rest, such as the energy of a package on which nothing ran, is divided as a whole.
 */
static void give_packages(struct tw_attribution *a, const struct tw_dividend *d)
{
	double sum[TW_CAUSE_COUNT];

	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++)
		note_idle(a, d, kind);
	for (size_t p = 0; p < d->packages; p++) {
		find_causes(a, d, p, sum);
		for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++)
			if (package_usage[kind] != NULL)
				give_on(a, d, p, kind, sum);
	}
}

/* ---- the power of a tick ---- */

/*
 * Energy that waited is of several ticks: the mean power of these is that of the last
 * one, and no workload shows more power than the machine has.
 */
static void note_waiting(struct tw_attribution *a, uint64_t over_ns,
			 double part[TW_ZONE_KIND_COUNT][2])
{
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++) {
		for (int idle = 0; idle < 2; idle++) {
			uint64_t *ns = &a->waiting_ns[kind][idle];

			*ns += over_ns;
			part[kind][idle] = 1;
			if (*energy_of(&a->stats.waiting, kind, idle) > 0 &&
			    kind != TW_ZONE_GPU)
				continue;
			if (*ns > over_ns)
				part[kind][idle] = (double)over_ns / (double)*ns;
			*ns = 0;
		}
	}
}

/* The part of a charge that counts as power of the last tick. */
static struct tw_charge ticked_of(const struct tw_charge *c,
				  double part[TW_ZONE_KIND_COUNT][2])
{
	struct tw_charge ticked = *c;

	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++) {
		for (int idle = 0; idle < 2; idle++) {
			uint64_t *uj = energy_of(&ticked, kind, idle);

			if (part[kind][idle] < 1)
				*uj = (uint64_t)((double)*uj * part[kind][idle]);
		}
	}
	return ticked;
}

const char *tw_attribution_rule(const struct tw_attribution *a, enum tw_zone_kind kind)
{
	return a->rule[kind] != NULL ? a->rule[kind] : "plain";
}

void tw_attribution_set_tariff(struct tw_attribution *a, unsigned kinds,
			       const double pico_per_uj[TW_TARIFF_COUNT])
{
	a->tariff_kinds = kinds;
	memcpy(a->pico_per_uj, pico_per_uj, sizeof(a->pico_per_uj));
}

int tw_attribution_divide(struct tw_attribution *a, const struct tw_dividend *d,
			  const struct tw_charge **out, struct tw_err *err)
{
	*out = NULL;
	tw_charge_add(&a->stats.waiting, d->energy);
	if (d->count == 0)
		return 0;
	if (make_room(a, d->count, err) < 0)
		return -1;
	memset(a->charge, 0, d->count * sizeof(*a->charge));
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++)
		if (d->energy->dynamic_uj[kind] > 0)
			a->rule[kind] = NULL;
	if (d->use != NULL)
		give_packages(a, d);
	give_dynamic(a, d->slice, d->count);
	give_idle(a, d->slice, d->count);
	give_gpu(a, d->slice, d->count, false);
	give_gpu(a, d->slice, d->count, true);
	for (size_t i = 0; i < d->count; i++)
		tw_charge_add_tariff(&a->charge[i], a->tariff_kinds, a->pico_per_uj);
	*out = a->charge;
	return 0;
}

int tw_attribute(struct tw_attribution *a, struct tw_workloads *t,
		 const struct tw_charge *energy, const struct tw_package_energy *package,
		 uint64_t over_ns, struct tw_err *err)
{
	const struct tw_schedule *ran = tw_workloads_schedule(t);
	struct tw_dividend d = { .energy = energy, .over_ns = over_ns };
	const struct tw_charge *charge;
	double part[TW_ZONE_KIND_COUNT][2];
	int rc;

	d.slice = tw_workloads_slices(t, &d.count);
	if (ran != NULL && package != NULL && over_ns > 0) {
		d.packages = ran->packages;
		d.use = ran->use;
		d.package = package;
	}
	memset(&a->stats.ticked, 0, sizeof(a->stats.ticked));
	rc = tw_attribution_divide(a, &d, &charge, err);
	note_waiting(a, over_ns, part);
	for (size_t i = 0; charge != NULL && i < d.count; i++) {
		const struct tw_charge ticked = ticked_of(&charge[i], part);

		tw_charge_add(&a->stats.ticked, &ticked);
		tw_workloads_charge(t, &d.slice[i], &charge[i], &ticked);
	}
	return rc;
}
