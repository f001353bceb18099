/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and labels of Kepler 0.5 to 0.9. The total of a series is that of its modes
 * dynamic and idle.
 */
#include "collector/collector.h"
#include "collector/expose.h"
#include "collector/power.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Kinds that have a name there. */
static const enum tw_zone_kind kinds[] = { TW_ZONE_PACKAGE,  TW_ZONE_CORE,
					   TW_ZONE_UNCORE,   TW_ZONE_DRAM,
					   TW_ZONE_PLATFORM, TW_ZONE_GPU,
					   TW_ZONE_OTHER };

/* In the order of COUNTERS(). */
static const enum tw_counter counters[] = {
	TW_COUNTER_CYCLES,          TW_COUNTER_INSTRUCTIONS,
	TW_COUNTER_CACHE_MISSES,    TW_COUNTER_PAGE_CACHE_HITS,
	TW_COUNTER_NET_TX_SOFTIRQS, TW_COUNTER_NET_RX_SOFTIRQS,
	TW_COUNTER_BLOCK_SOFTIRQS,
};

#define JOULES(level, zone)                                                          \
	{                                                                            \
		"kepler_" level "_" zone "_joules_total", TW_EXPO_COUNTER, "joules", \
			"Energy of zone " zone "."                                   \
	}
#define ZONES(level)                                                     \
	{                                                                \
		JOULES(level, "package"), JOULES(level, "core"),         \
			JOULES(level, "uncore"), JOULES(level, "dram"),  \
			JOULES(level, "platform"), JOULES(level, "gpu"), \
			JOULES(level, "other")                           \
	}
#define CPU_TIME(level)                                                          \
	{                                                                        \
		"kepler_" level "_bpf_cpu_time_ms_total", TW_EXPO_COUNTER, NULL, \
			"CPU time in milliseconds."                              \
	}
#define COUNTER(level, name, text)                                             \
	{                                                                      \
		"kepler_" level "_" name "_total", TW_EXPO_COUNTER, NULL, text \
	}
#define COUNTERS(level)                                                               \
	{                                                                             \
		COUNTER(level, "cpu_cycles", "CPU cycles."),                          \
			COUNTER(level, "cpu_instructions", "Instructions."),          \
			COUNTER(level, "cache_miss", "Misses of the last cache."),    \
			COUNTER(level, "bpf_page_cache_hit",                          \
				"Pages read where they were cached, or written."),    \
			COUNTER(level, "bpf_net_tx_irq", "Softirqs of sending."),     \
			COUNTER(level, "bpf_net_rx_irq", "Softirqs of receiving."),   \
			COUNTER(level, "bpf_block_irq", "Softirqs of block devices.") \
	}
#define TOTAL(level)                                                        \
	{                                                                   \
		"kepler_" level "_joules_total", TW_EXPO_COUNTER, "joules", \
			"Energy of package, dram, other and gpu."           \
	}

static const struct legacy_level {
	enum tw_level level;
	struct tw_expo_family zone[COUNT(kinds)];
	struct tw_expo_family counter[COUNT(counters)];
	struct tw_expo_family cpu_time, total; /* name NULL: none */
} levels[] = {
	{ TW_LEVEL_CONTAINER, ZONES("container"), COUNTERS("container"),
	  CPU_TIME("container"), TOTAL("container") },
	{ TW_LEVEL_PROCESS, ZONES("process"), COUNTERS("process"), CPU_TIME("process"),
	  TOTAL("process") },
	{ TW_LEVEL_VM, ZONES("vm"), COUNTERS("vm"), CPU_TIME("vm"), { .name = NULL } },
};

static const struct tw_expo_family node_zones[COUNT(kinds)] = ZONES("node");

/* What is estimated has the name there that it had. */
static const char *source_name(const char *source)
{
	return strcmp(source, "model") == 0 ? "trained_power_model" : source;
}

static void label(struct tw_labels *l, const struct tw_workload *w)
{
	l->count = 0;
	if (w->level == TW_LEVEL_CONTAINER) {
		tw_labels_add(l, "container_id", w->who->id);
		tw_labels_add(l, "pod_name", w->pod_name);
		tw_labels_add(l, "container_name", w->container_name);
		tw_labels_add(l, "container_namespace", w->pod_namespace);
	} else if (w->level == TW_LEVEL_PROCESS) {
		snprintf(l->text[0], sizeof(l->text[0]), "%u", w->tgid);
		tw_labels_add(l, "pid", l->text[0]);
		tw_labels_add(l, "container_id", tw_owner_id(w, TW_LEVEL_CONTAINER));
		tw_labels_add(l, "vm_id", tw_owner_id(w, TW_LEVEL_VM));
		tw_labels_add(l, "command", w->comm);
	} else {
		tw_labels_add(l, "vm_id", w->who->id);
	}
}

/* Both modes, with the labels that l has. */
static void sample_modes(const struct tw_exposure *x, struct tw_labels *l,
			 uint64_t dynamic_uj, uint64_t idle_uj, const char *source)
{
	const size_t count = l->count;

	for (int idle = 0; idle < 2; idle++) {
		l->count = count;
		tw_labels_add(l, "mode", tw_mode_name(idle));
		tw_labels_add(l, "source", source);
		tw_expo_sample(x->e, l->at, l->count,
			       tw_joules(idle ? idle_uj : dynamic_uj));
	}
}

static void expose_zone(const struct tw_exposure *x, const struct legacy_level *v,
			size_t zone)
{
	const char *source = tw_exposure_source(x, kinds[zone]);
	const struct tw_workload *w = NULL;
	struct tw_labels l;

	if (source == NULL)
		return;
	tw_expo_family(x->e, &v->zone[zone]);
	while ((w = tw_exposure_next_seen(x, v->level, w)) != NULL) {
		label(&l, w);
		sample_modes(x, &l, w->charged.dynamic_uj[kinds[zone]],
			     w->charged.idle_uj[kinds[zone]], source_name(source));
	}
}

static uint64_t sum_of(const uint64_t *uj)
{
	return uj[TW_ZONE_PACKAGE] + uj[TW_ZONE_DRAM] + uj[TW_ZONE_GPU] +
	       uj[TW_ZONE_OTHER];
}

static void expose_total(const struct tw_exposure *x, const struct legacy_level *v)
{
	const struct tw_workload *w = NULL;
	struct tw_labels l;

	tw_expo_family(x->e, &v->total);
	while ((w = tw_exposure_next_seen(x, v->level, w)) != NULL) {
		label(&l, w);
		sample_modes(x, &l, sum_of(w->charged.dynamic_uj),
			     sum_of(w->charged.idle_uj), "");
	}
}

/* bpf: who counts. */
static void expose_counter(const struct tw_exposure *x, const struct legacy_level *v,
			   size_t i)
{
	const struct tw_workload *w = NULL;
	struct tw_labels l;

	if (!tw_workloads_counts(x->c->workloads, counters[i]))
		return;
	tw_expo_family(x->e, &v->counter[i]);
	while ((w = tw_exposure_next_seen(x, v->level, w)) != NULL) {
		label(&l, w);
		tw_labels_add(&l, "source", "bpf");
		tw_expo_count(x->e, l.at, l.count, w->used.counter[counters[i]]);
	}
}

static void expose_level(const struct tw_exposure *x, const struct legacy_level *v)
{
	const struct tw_workload *w = NULL;
	struct tw_labels l;

	if (!x->c->show.level[v->level])
		return;
	for (size_t i = 0; i < COUNT(kinds); i++)
		expose_zone(x, v, i);
	if (v->total.name != NULL &&
	    (x->by_energy || tw_power_meter(x->c->power, TW_ZONE_GPU) != NULL))
		expose_total(x, v);
	for (size_t i = 0; i < COUNT(counters); i++)
		expose_counter(x, v, i);
	tw_expo_family(x->e, &v->cpu_time);
	while ((w = tw_exposure_next_seen(x, v->level, w)) != NULL) {
		label(&l, w);
		tw_labels_add(&l, "source", "bpf");
		tw_expo_sample(x->e, l.at, l.count, (double)w->used.cpu_ns / 1e6);
	}
}

/* ---- node ---- */

static void expose_node_zone(const struct tw_exposure *x, size_t zone)
{
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(x->c->power, &count);

	if (tw_exposure_source(x, kinds[zone]) == NULL)
		return;
	tw_expo_family(x->e, &node_zones[zone]);
	for (size_t i = 0; i < count; i++) {
		struct tw_labels l = { .count = 0 };

		if (z[i].zone->kind != kinds[zone] || !tw_exposure_believes(x, &z[i]))
			continue;
		/* Zones of one package that are of a kind are dies. */
		tw_labels_add(&l, "package", z[i].zone->name);
		if (z[i].zone->package >= 0 && kinds[zone] != TW_ZONE_PACKAGE) {
			snprintf(l.text[0], sizeof(l.text[0]), "%d", z[i].zone->package);
			l.at[0].value = l.text[0];
		}
		if (kinds[zone] == TW_ZONE_GPU)
			l.at[0].value = z[i].zone->gpu.index;
		tw_labels_add(&l, "instance", x->c->show.node_name);
		sample_modes(x, &l, z[i].dynamic_uj, z[i].idle_uj,
			     source_name(z[i].meter->name));
	}
}

static const char *source_or_none(const struct tw_exposure *x, enum tw_zone_kind kind)
{
	const char *source = tw_exposure_source(x, kind);

	return source != NULL ? source_name(source) : "";
}

static void expose_info(const struct tw_exposure *x)
{
	static const struct tw_expo_family info = {
		"kepler_node_info", TW_EXPO_INFO, NULL,
		"What the machine is, and who tells its power."
	};
	struct tw_labels l = { .count = 0 };
	struct utsname name;

	tw_labels_add(&l, "cpu_architecture", uname(&name) == 0 ? name.machine : "");
	tw_labels_add(&l, "components_power_source", source_or_none(x, TW_ZONE_PACKAGE));
	tw_labels_add(&l, "platform_power_source", source_or_none(x, TW_ZONE_PLATFORM));
	tw_labels_add(&l, "source", "tallywatt");
	tw_expo_family(x->e, &info);
	tw_expo_count(x->e, l.at, l.count, 1);
}

void tw_expose_kepler_legacy(const struct tw_exposure *x)
{
	expose_info(x);
	for (size_t i = 0; i < COUNT(kinds); i++)
		expose_node_zone(x, i);
	for (size_t i = 0; i < COUNT(levels); i++)
		expose_level(x, &levels[i]);
}
