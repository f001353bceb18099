/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/collector.h"
#include "collector/expose.h"
#include "collector/workload.h"

#define COUNTER(level, name, text)                                                \
	{                                                                         \
		"tallywatt_" level "_" name "_total", TW_EXPO_COUNTER, NULL, text \
	}
#define SOFTIRQS(level, vector, what)      \
	COUNTER(level, vector "_softirqs", \
		"Softirqs " vector " that interrupted " what ".")
#define FAMILIES(level, what)                                                            \
	{                                                                                \
		{ "tallywatt_" level "_cpu_seconds_total", TW_EXPO_COUNTER, "seconds",   \
		  "CPU time of " what "." },                                             \
			{ "tallywatt_" level "_energy_joules_total", TW_EXPO_COUNTER,    \
			  "joules", "Energy of " what ", by zone and mode." },           \
		{                                                                        \
			[TW_COUNTER_CYCLES] =                                            \
				COUNTER(level, "cpu_cycles", "CPU cycles of " what "."), \
			[TW_COUNTER_REF_CYCLES] =                                        \
				COUNTER(level, "cpu_reference_cycles",                   \
					"CPU cycles of " what                            \
					", of a clock that does not change."),           \
			[TW_COUNTER_INSTRUCTIONS] = COUNTER(                             \
				level, "cpu_instructions", "Instructions of " what "."), \
			[TW_COUNTER_CACHE_MISSES] =                                      \
				COUNTER(level, "cache_misses",                           \
					"Misses of the last cache of " what "."),        \
			[TW_COUNTER_PAGE_CACHE_HITS] =                                   \
				COUNTER(level, "page_cache_hits",                        \
					"Pages that " what                               \
					" read where they were cached, or wrote."),      \
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
};

static void expose_cpu(const struct tw_exposure *x, enum tw_level level)
{
	const struct tw_workload *w = NULL;
	struct tw_labels l;

	tw_expo_family(x->e, &families[level].cpu);
	while ((w = tw_exposure_next(x, level, w)) != NULL) {
		tw_labels_of(&l, w);
		tw_expo_sample(x->e, l.at, l.count, tw_seconds(w->used.cpu_ns));
	}
}

/* Those that the machine has; what is not counted is absent, not 0. */
static void expose_counters(const struct tw_exposure *x, enum tw_level level)
{
	for (int i = 0; i < TW_COUNTER_COUNT; i++) {
		const struct tw_workload *w = NULL;
		struct tw_labels l;

		if (!tw_workloads_counts(x->c->workloads, (enum tw_counter)i))
			continue;
		tw_expo_family(x->e, &families[level].counter[i]);
		while ((w = tw_exposure_next(x, level, w)) != NULL) {
			tw_labels_of(&l, w);
			tw_expo_count(x->e, l.at, l.count, w->used.counter[i]);
		}
	}
}

/* Both modes of a kind that has had energy: both add up to its total. */
static void expose_kind(const struct tw_exposure *x, struct tw_labels *l,
			const struct tw_charge *c, enum tw_zone_kind kind,
			const char *source)
{
	const size_t count = l->count;

	if (c->dynamic_uj[kind] == 0 && c->idle_uj[kind] == 0)
		return;
	for (int idle = 0; idle < 2; idle++) {
		l->count = count;
		tw_labels_add(l, "zone", tw_zone_kind_name(kind));
		tw_labels_add(l, "mode", tw_mode_name(idle));
		tw_labels_add(l, "source", source);
		tw_expo_sample(x->e, l->at, l->count,
			       tw_joules(idle ? c->idle_uj[kind] : c->dynamic_uj[kind]));
	}
	l->count = count;
}

static void expose_energy(const struct tw_exposure *x, enum tw_level level)
{
	const struct tw_workload *w = NULL;
	struct tw_labels l;

	tw_expo_family(x->e, &families[level].energy);
	while ((w = tw_exposure_next(x, level, w)) != NULL) {
		tw_labels_of(&l, w);
		for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++) {
			const char *source =
				tw_exposure_source(x, (enum tw_zone_kind)kind);

			if (source != NULL)
				expose_kind(x, &l, &w->charged, (enum tw_zone_kind)kind,
					    source);
		}
	}
}

void tw_expose_workloads(const struct tw_exposure *x)
{
	for (int level = 0; level < TW_LEVEL_COUNT; level++) {
		if (!x->c->show.level[level])
			continue;
		expose_cpu(x, (enum tw_level)level);
		expose_counters(x, (enum tw_level)level);
		expose_energy(x, (enum tw_level)level);
	}
}
