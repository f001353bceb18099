/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/collector.h"
#include "collector/expose/expose.h"
#include "collector/power/tariff.h"
#include "collector/workloads/workload.h"

static const struct tw_expo_level levels[TW_LEVEL_COUNT] = {
	[TW_LEVEL_PROCESS] = { "process", "a process, its threads together" },
	[TW_LEVEL_CGROUP] = { "cgroup", "a cgroup, without those below it" },
	[TW_LEVEL_CONTAINER] = { "container", "a container" },
	[TW_LEVEL_POD] = { "pod", "the containers of a pod" },
	[TW_LEVEL_VM] = { "vm", "a virtual machine, on its host" },
	[TW_LEVEL_JOB] = { "job", "a Slurm job, on this node" },
	[TW_LEVEL_STEP] = { "step", "a step of a Slurm job, on this node" },
};

enum { CPU = TW_COUNTER_COUNT, ENERGY, TARIFF };

#define COUNTER(name, help)                                               \
	{                                                                 \
		"tallywatt_*_" name "_total", TW_EXPO_COUNTER, NULL, help \
	}

static const struct tw_expo_family families[] = {
	[TW_COUNTER_CYCLES] = COUNTER("cpu_cycles", "CPU cycles of *."),
	[TW_COUNTER_REF_CYCLES] = COUNTER("cpu_reference_cycles",
					  "CPU cycles of *, at the reference clock."),
	[TW_COUNTER_INSTRUCTIONS] = COUNTER("cpu_instructions", "Instructions of *."),
	[TW_COUNTER_CACHE_MISSES] =
		COUNTER("cache_misses", "Misses of the last level cache by *."),
	[TW_COUNTER_PAGE_CACHE_HITS] = COUNTER(
		"page_cache_hits", "Pages read from the page cache or written by *."),
	[TW_COUNTER_NET_TX_SOFTIRQS] =
		COUNTER("net_tx_softirqs", "Softirqs net_tx that ran during *."),
	[TW_COUNTER_NET_RX_SOFTIRQS] =
		COUNTER("net_rx_softirqs", "Softirqs net_rx that ran during *."),
	[TW_COUNTER_BLOCK_SOFTIRQS] =
		COUNTER("block_softirqs", "Softirqs block that ran during *."),
	[CPU] = { "tallywatt_*_cpu_seconds_total", TW_EXPO_COUNTER, "seconds",
		  "CPU time of *." },
	[ENERGY] = { "tallywatt_*_energy_joules_total", TW_EXPO_COUNTER, "joules",
		     "Energy of *, by zone and mode." },
	[TARIFF + TW_TARIFF_CO2E] = { "tallywatt_*_co2e_grams_total", TW_EXPO_COUNTER,
				      "grams",
				      "CO2e that the energy of * emitted, idle energy "
				      "included." },
	[TARIFF + TW_TARIFF_PRICE] = { "tallywatt_*_cost_total", TW_EXPO_COUNTER, NULL,
				       "Cost of the energy of *, in the currency of "
				       "--price." },
};

const struct tw_expo_table tw_workload_families[] = {
	TW_EXPO_TABLE_OF(families, levels, TW_LEVEL_COUNT),
	{ .first = NULL },
};

/*
 * For workloads with energy of the kind: both modes are written, so that they add up to
 * the total.
 */
static bool energy_of(const struct tw_figure *f, const struct tw_exposure *x,
		      const struct tw_shown_one *one, tw_u128 *out)
{
	const struct tw_charge *c = &one->w->charged;

	return (c->dynamic_uj[f->kind] != 0 || c->idle_uj[f->kind] != 0) &&
	       tw_figure_uj(f, x, one, out);
}

static void expose_energy(const struct tw_exposure *x, const struct tw_shown *s)
{
	for (int i = 0; i < TW_ZONE_KIND_COUNT * 2; i++) {
		const struct tw_figure f = { .of = energy_of,
					     .decimals = 6,
					     .kind = (enum tw_zone_kind)(i / 2),
					     .idle = i % 2 != 0 };
		const char *source = tw_exposure_source(x, f.kind);
		struct tw_labels l = { .count = 0 };

		if (source == NULL)
			continue;
		tw_labels_add(&l, "zone", tw_zone_kind_name(f.kind));
		tw_labels_add(&l, "mode", tw_mode_name(f.idle));
		tw_labels_add(&l, "source", source);
		tw_shown_samples(x, s, &l, NULL, &f);
	}
}

static bool tariff_of(const struct tw_figure *f, const struct tw_exposure *x,
		      const struct tw_shown_one *one, tw_u128 *out)
{
	(void)x;
	*out = tw_own_tariff_pico(one->w, f->tariff);
	return true;
}

/* A missing counter is absent, not 0. */
static void expose_level(const struct tw_exposure *x, const struct tw_shown *s,
			 const struct tw_expo_level *level)
{
	struct tw_figure f = { .of = tw_figure_cpu_ns, .decimals = 9 };

	tw_expo_family_of(x->e, &families[CPU], level);
	tw_shown_samples(x, s, NULL, NULL, &f);
	for (int i = 0; i < TW_COUNTER_COUNT; i++) {
		f = (struct tw_figure){ .of = tw_figure_count,
					.counter = (enum tw_counter)i };
		if (!tw_workloads_counts(x->c->workloads, f.counter))
			continue;
		tw_expo_family_of(x->e, &families[i], level);
		tw_shown_samples(x, s, NULL, NULL, &f);
	}
	tw_expo_family_of(x->e, &families[ENERGY], level);
	expose_energy(x, s);
	for (int i = 0; i < TW_TARIFF_COUNT; i++) {
		f = (struct tw_figure){ .of = tariff_of,
					.decimals = 12,
					.tariff = (enum tw_tariff)i };
		if (tw_tariff_of(x->c->tariffs, f.tariff) == NULL)
			continue;
		tw_expo_family_of(x->e, &families[TARIFF + i], level);
		tw_shown_samples(x, s, NULL, NULL, &f);
	}
}

/* Nodes without jobs have no series of all that is in no job. */
static bool has_other(const struct tw_exposure *x, enum tw_level level)
{
	return x->scrape &&
	       !tw_workload_is_unused(tw_workloads_other(x->c->workloads, level)) &&
	       (level != TW_LEVEL_JOB || tw_workloads_count(x->c->workloads, level) > 0);
}

void tw_expose_workloads(const struct tw_exposure *x)
{
	for (int i = 0; i < TW_LEVEL_COUNT; i++) {
		const enum tw_level level = (enum tw_level)i;
		struct tw_shown s = { .count = 0 };

		if (!x->c->show.level[level])
			continue;
		tw_shown_add_level(&s, x, level, false, tw_labels_of);
		if (has_other(x, level))
			tw_shown_add(&s, x, tw_workloads_other(x->c->workloads, level),
				     tw_labels_of);
		expose_level(x, &s, &levels[level]);
		tw_shown_release(&s);
	}
}
