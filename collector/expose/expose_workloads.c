/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/collector.h"
#include "collector/expose/expose.h"
#include "collector/workloads/workload.h"

#define COUNTER(level, name, text)                                                \
	{                                                                         \
		"tallywatt_" level "_" name "_total", TW_EXPO_COUNTER, NULL, text \
	}
#define SOFTIRQS(level, vector, what)      \
	COUNTER(level, vector "_softirqs", \
		"Softirqs " vector " that ran during " what ".")
#define FAMILIES(level, what)                                                            \
	{                                                                                \
		{ "tallywatt_" level "_cpu_seconds_total", TW_EXPO_COUNTER, "seconds",   \
		  "CPU time of " what "." },                                             \
			{ "tallywatt_" level "_energy_joules_total", TW_EXPO_COUNTER,    \
			  "joules", "Energy of " what ", by zone and mode." },           \
		{                                                                        \
			[TW_COUNTER_CYCLES] =                                            \
				COUNTER(level, "cpu_cycles", "CPU cycles of " what "."), \
			[TW_COUNTER_REF_CYCLES] = COUNTER(level, "cpu_reference_cycles", \
							  "CPU cycles of " what          \
							  ", at the reference clock."),  \
			[TW_COUNTER_INSTRUCTIONS] = COUNTER(                             \
				level, "cpu_instructions", "Instructions of " what "."), \
			[TW_COUNTER_CACHE_MISSES] =                                      \
				COUNTER(level, "cache_misses",                           \
					"Misses of the last level cache by " what "."),  \
			[TW_COUNTER_PAGE_CACHE_HITS] = COUNTER(                          \
				level, "page_cache_hits",                                \
				"Pages read from the page cache or written by " what     \
				"."),                                                    \
			[TW_COUNTER_NET_TX_SOFTIRQS] = SOFTIRQS(level, "net_tx", what),  \
			[TW_COUNTER_NET_RX_SOFTIRQS] = SOFTIRQS(level, "net_rx", what),  \
			[TW_COUNTER_BLOCK_SOFTIRQS] = SOFTIRQS(level, "block", what),    \
		}                                                                        \
	}

static const struct {
	struct tw_expo_family cpu, energy, counter[TW_COUNTER_COUNT];
} families[TW_LEVEL_COUNT] = {
	[TW_LEVEL_PROCESS] = FAMILIES("process", "a process, its threads together"),
	[TW_LEVEL_CGROUP] = FAMILIES("cgroup", "a cgroup, without those below it"),
	[TW_LEVEL_CONTAINER] = FAMILIES("container", "a container"),
	[TW_LEVEL_POD] = FAMILIES("pod", "the containers of a pod"),
	[TW_LEVEL_VM] = FAMILIES("vm", "a virtual machine, on its host"),
	[TW_LEVEL_JOB] = FAMILIES("job", "a Slurm job, on this node"),
	[TW_LEVEL_STEP] = FAMILIES("step", "a step of a Slurm job, on this node"),
};

static void expose_cpu(const struct tw_exposure *x, const struct tw_shown *s,
		       enum tw_level level)
{
	tw_expo_family(x->e, &families[level].cpu);
	for (size_t i = 0; i < s->count; i++)
		tw_shown_sample(x, s, i, NULL, tw_own_cpu_ns(s->of[i].w), 9);
}

/* Counters of this machine. A missing counter is absent, not 0. */
static void expose_counters(const struct tw_exposure *x, const struct tw_shown *s,
			    enum tw_level level)
{
	for (int counter = 0; counter < TW_COUNTER_COUNT; counter++) {
		if (!tw_workloads_counts(x->c->workloads, (enum tw_counter)counter))
			continue;
		tw_expo_family(x->e, &families[level].counter[counter]);
		for (size_t i = 0; i < s->count; i++)
			tw_shown_sample(x, s, i, NULL, tw_own_count(s->of[i].w, counter),
					0);
	}
}

/*
 * Energy of one kind and mode, for workloads with energy of that kind: both modes are
 * written, so that they add up to the total.
 */
static void expose_kind(const struct tw_exposure *x, const struct tw_shown *s,
			enum tw_zone_kind kind, bool idle, const char *source)
{
	const struct tw_expo_label labels[] = { { "zone", tw_zone_kind_name(kind) },
						{ "mode", tw_mode_name(idle) },
						{ "source", source } };
	struct tw_buf b = { 0 };
	const struct tw_expo_text more = tw_shown_text(x, &b, labels, 3);

	for (size_t i = 0; i < s->count; i++) {
		const struct tw_charge *c = &s->of[i].w->charged;

		if (c->dynamic_uj[kind] != 0 || c->idle_uj[kind] != 0)
			tw_shown_sample(x, s, i, &more, tw_own_uj(s->of[i].w, kind, idle),
					6);
	}
	tw_buf_clear(&b);
}

static void expose_energy(const struct tw_exposure *x, const struct tw_shown *s,
			  enum tw_level level)
{
	tw_expo_family(x->e, &families[level].energy);
	for (int i = 0; i < TW_ZONE_KIND_COUNT; i++) {
		const enum tw_zone_kind kind = (enum tw_zone_kind)i;
		const char *source = tw_exposure_source(x, kind);

		if (source == NULL)
			continue;
		expose_kind(x, s, kind, false, source);
		expose_kind(x, s, kind, true, source);
	}
}

/* Nodes without jobs have no series of all that is in no job. */
static bool has_other(const struct tw_exposure *x, enum tw_level level)
{
	return x->scrape && tw_workloads_other(x->c->workloads, level)->used.cpu_ns > 0 &&
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
		expose_cpu(x, &s, level);
		expose_counters(x, &s, level);
		expose_energy(x, &s, level);
		tw_shown_release(&s);
	}
}
