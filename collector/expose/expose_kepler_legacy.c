/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics of Kepler 0.5 to 0.9. The total of a series is the sum of its modes dynamic
 * and idle. Two pseudo containers hold all processes outside containers, so that the
 * containers add up to the machine: dashboards and trainers of that time rely on it.
 */
#include "collector/collector.h"
#include "collector/expose/expose.h"
#include "collector/meters/microarch.h"
#include "collector/power/power.h"
#include "collector/workloads/cgroup.h"
#include "lib/core/array.h"
#include "lib/field/energy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* In the order of COUNTERS(). */
static const enum tw_counter counters[] = {
	TW_COUNTER_CYCLES,          TW_COUNTER_INSTRUCTIONS,
	TW_COUNTER_CACHE_MISSES,    TW_COUNTER_PAGE_CACHE_HITS,
	TW_COUNTER_NET_TX_SOFTIRQS, TW_COUNTER_NET_RX_SOFTIRQS,
	TW_COUNTER_BLOCK_SOFTIRQS,
};

#define USAGE(level, name, text)                                               \
	{                                                                      \
		"kepler_" level "_" name "_total", TW_EXPO_COUNTER, NULL, text \
	}
#define COUNTERS(level)                                                                \
	{                                                                              \
		USAGE(level, "cpu_cycles", "CPU cycles."),                             \
			USAGE(level, "cpu_instructions", "Instructions."),             \
			USAGE(level, "cache_miss", "Misses of the last level cache."), \
			USAGE(level, "bpf_page_cache_hit",                             \
			      "Pages read from the page cache, or written."),          \
			USAGE(level, "bpf_net_tx_irq",                                 \
			      "Softirqs of network transmission."),                    \
			USAGE(level, "bpf_net_rx_irq",                                 \
			      "Softirqs of network reception."),                       \
			USAGE(level, "bpf_block_irq", "Softirqs of block devices.")    \
	}

static const struct {
	struct tw_expo_family counter[TW_COUNT(counters)], ms, us;
} families[TW_LEVEL_COUNT] = {
#define LEVEL(name)                                                                  \
	{                                                                            \
		COUNTERS(name),                                                      \
			USAGE(name, "bpf_cpu_time_ms", "CPU time in milliseconds."), \
			USAGE(name, "bpf_cpu_time_us", "CPU time in milliseconds.")  \
	}
	[TW_LEVEL_PROCESS] = LEVEL("process"),
	[TW_LEVEL_CONTAINER] = LEVEL("container"),
	[TW_LEVEL_VM] = LEVEL("vm"),
};

/*
 * Metrics of containers from their cgroups. Like in Kepler, memory in use has a counter's
 * name.
 */
static const struct old {
	struct tw_expo_family family;
	enum tw_cgroup_figure figure;
	unsigned decimals;
	bool of_pods;
} old[] = {
	{ USAGE("container", "cgroupfs_cpu_usage_us", "CPU time of the cgroup."),
	  TW_CGROUP_CPU_US, 0, false },
	{ USAGE("container", "cgroupfs_user_cpu_usage_us",
		"CPU time of the cgroup in user mode."),
	  TW_CGROUP_USER_US, 0, false },
	{ USAGE("container", "cgroupfs_system_cpu_usage_us",
		"CPU time of the cgroup in the kernel."),
	  TW_CGROUP_SYSTEM_US, 0, false },
	{ USAGE("container", "cgroupfs_memory_usage_bytes",
		"Memory usage of the cgroup."),
	  TW_CGROUP_MEMORY_BYTES, 0, false },
	{ USAGE("container", "kubelet_cpu_usage",
		"CPU time in seconds, as the kubelet reports it."),
	  TW_CGROUP_CPU_US, 6, true },
	{ USAGE("container", "kubelet_memory_bytes",
		"Working set, as the kubelet reports it."),
	  TW_CGROUP_WORKING_SET_BYTES, 0, true },
};

static bool is_of_pod(const struct tw_workload *w)
{
	return w->who != NULL && w->who->pod_uid[0] != '\0';
}

static void expose_old(const struct tw_exposure *x, const struct tw_shown *s,
		       const struct tw_cgroup_use *use)
{
	static const struct tw_expo_label source = { "source", "cgroup" };
	struct tw_buf b = { 0 };
	const struct tw_expo_text more = tw_shown_text(x, &b, &source, 1);

	for (size_t k = 0; k < TW_COUNT(old); k++) {
		const struct old *o = &old[k];

		tw_expo_family(x->e, &o->family);
		for (size_t i = 0; i < s->count; i++)
			if (use[i].known[o->figure] &&
			    (!o->of_pods || is_of_pod(s->of[i].w)))
				tw_shown_sample(x, s, i, &more, use[i].of[o->figure],
						o->decimals);
	}
	tw_buf_clear(&b);
}

/* Read the cgroups at the scrape: no tick needs them. */
static void expose_cgroups(const struct tw_exposure *x, const struct tw_shown *s)
{
	const struct tw_cgroup_tree *tree = tw_workloads_tree(x->c->workloads);
	struct tw_cgroup_use *use = calloc(s->count + 1, sizeof(*use));

	if (use == NULL) {
		x->e->out->failed = true;
		return;
	}
	for (size_t i = 0; i < s->count; i++)
		if (s->of[i].w->path != NULL)
			tw_cgroup_use_read(tree, s->of[i].w->path, &use[i]);
	expose_old(x, s, use);
	free(use);
}

static void expose_cpu_time(const struct tw_exposure *x, const struct tw_shown *s,
			    const struct tw_expo_family *family, unsigned decimals,
			    const struct tw_expo_text *bpf)
{
	tw_expo_family(x->e, family);
	for (size_t i = 0; i < s->count; i++)
		tw_shown_sample(x, s, i, bpf, tw_own_cpu_ns(s->of[i].w), decimals);
}

static void expose_usage(const struct tw_exposure *x, const struct tw_shown *s,
			 enum tw_level level)
{
	static const struct tw_expo_label source = { "source", "bpf" };
	struct tw_buf b = { 0 };
	const struct tw_expo_text bpf = tw_shown_text(x, &b, &source, 1);

	for (size_t k = 0; k < TW_COUNT(counters); k++) {
		if (!tw_workloads_counts(x->c->workloads, counters[k]))
			continue;
		tw_expo_family(x->e, &families[level].counter[k]);
		for (size_t i = 0; i < s->count; i++)
			tw_shown_sample(x, s, i, &bpf,
					tw_own_count(s->of[i].w, counters[k]), 0);
	}
	expose_cpu_time(x, s, &families[level].ms, 6, &bpf);
	if (x->c->show.kepler_05)
		expose_cpu_time(x, s, &families[level].us, 6, &bpf);
	if (x->c->show.kepler_05 && level == TW_LEVEL_CONTAINER)
		expose_cgroups(x, s);
	tw_buf_clear(&b);
}

/* The kinds of zones with metrics in Kepler. */
static const enum tw_zone_kind kinds[] = { TW_ZONE_PACKAGE,  TW_ZONE_CORE,
					   TW_ZONE_UNCORE,   TW_ZONE_DRAM,
					   TW_ZONE_PLATFORM, TW_ZONE_GPU,
					   TW_ZONE_OTHER };

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
#define TOTAL(level)                                                                    \
	{                                                                               \
		"kepler_" level "_joules_total", TW_EXPO_COUNTER, "joules",             \
			"Energy of package, dram, other and gpu, else of the platform." \
	}

static const struct legacy_level {
	enum tw_level level;
	struct tw_expo_family zone[TW_COUNT(kinds)];
	struct tw_expo_family total; /* name NULL: none */
} levels[] = {
	{ TW_LEVEL_CONTAINER, ZONES("container"), TOTAL("container") },
	{ TW_LEVEL_PROCESS, ZONES("process"), TOTAL("process") },
	{ TW_LEVEL_VM, ZONES("vm"), { .name = NULL } },
};

static const struct tw_expo_family node_zones[TW_COUNT(kinds)] = ZONES("node");

/* The pseudo containers for processes outside containers; [1] holds kernel threads. */
static const struct {
	const char *name, *name_space;
} outside[] = { { "system_processes", "system" }, { "kernel_processes", "kernel" } };

/* ---- labels ---- */

static void label_container(struct tw_labels *l, const struct tw_workload *w)
{
	const char *all = w->who == NULL ? outside[w->kernel].name : NULL;

	tw_labels_add(l, "container_id", all != NULL ? all : w->who->id);
	tw_labels_add(l, "pod_name", all != NULL ? all : w->pod_name);
	tw_labels_add(l, "container_name", all != NULL ? all : w->container_name);
	tw_labels_add(l, "container_namespace",
		      all != NULL ? outside[w->kernel].name_space : w->pod_namespace);
}

static void label_process(struct tw_labels *l, const struct tw_workload *w)
{
	const char *container = tw_owner_id(w, TW_LEVEL_CONTAINER);

	snprintf(l->text[0], sizeof(l->text[0]), "%u", w->tgid);
	tw_labels_add(l, "pid", l->text[0]);
	tw_labels_add(l, "container_id",
		      container[0] != '\0' ? container : outside[w->kernel].name);
	tw_labels_add(l, "vm_id", tw_owner_id(w, TW_LEVEL_VM));
	tw_labels_add(l, "command", w->comm);
}

static void label_vm(struct tw_labels *l, const struct tw_workload *w)
{
	tw_labels_add(l, "vm_id", w->who->id);
}

static tw_label_of *const label_of[TW_LEVEL_COUNT] = {
	[TW_LEVEL_PROCESS] = label_process,
	[TW_LEVEL_CONTAINER] = label_container,
	[TW_LEVEL_VM] = label_vm,
};

/* ---- workloads ---- */

static uint64_t total_of(const struct tw_exposure *x, const struct tw_workload *w,
			 bool idle)
{
	uint64_t uj = 0;

	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++)
		if ((x->sum >> kind & 1) != 0)
			uj += tw_own_uj(w, (enum tw_zone_kind)kind, idle);
	return uj;
}

/* Write dynamic and idle energy of a kind; NULL: of the total. */
static void expose_modes(const struct tw_exposure *x, const struct tw_shown *s,
			 const enum tw_zone_kind *kind, const char *source)
{
	struct tw_buf b = { 0 };

	for (int idle = 0; idle < 2; idle++) {
		const struct tw_expo_label labels[] = { { "mode", tw_mode_name(idle) },
							{ "source", source } };
		const struct tw_expo_text more = tw_shown_text(x, &b, labels, 2);

		for (size_t i = 0; i < s->count; i++) {
			const struct tw_workload *w = s->of[i].w;

			tw_shown_sample(x, s, i, &more,
					kind != NULL ? tw_own_uj(w, *kind, idle)
						     : total_of(x, w, idle),
					6);
		}
	}
	tw_buf_clear(&b);
}

static void expose_energy(const struct tw_exposure *x, const struct tw_shown *s,
			  const struct legacy_level *v)
{
	for (size_t i = 0; i < TW_COUNT(kinds); i++) {
		const char *source = tw_exposure_source(x, kinds[i]);

		if (source == NULL)
			continue;
		tw_expo_family(x->e, &v->zone[i]);
		expose_modes(x, s, &kinds[i], tw_energy_source_of_meter(source));
	}
	if (v->total.name == NULL || x->sum == 0)
		return;
	tw_expo_family(x->e, &v->total);
	expose_modes(x, s, NULL, "");
}

static void expose_level(const struct tw_exposure *x, const struct legacy_level *v)
{
	struct tw_shown s = { .count = 0 };

	if (!x->c->show.level[v->level])
		return;
	tw_shown_add_level(&s, x, v->level, true, label_of[v->level]);
	for (int kernel = 0; v->level == TW_LEVEL_CONTAINER && kernel < 2; kernel++)
		tw_shown_add(&s, x, tw_workloads_outside(x->c->workloads, kernel),
			     label_container);
	expose_energy(x, &s, v);
	expose_usage(x, &s, v->level);
	tw_shown_release(&s);
}

/* ---- node ---- */

/*
 * The label `package`: the package number, if known. Dies and cores of a package are
 * merged.
 */
static void name_package(const struct tw_zone *z, char *text, size_t size,
			 const char **out)
{
	*out = z->kind == TW_ZONE_GPU ? z->gpu.index : z->name;
	if (z->package < 0)
		return;
	snprintf(text, size, "%d", z->package);
	*out = text;
}

static bool is_read_as(const struct tw_exposure *x, const struct tw_power_zone *z,
		       enum tw_zone_kind kind)
{
	return z->zone->kind == kind && tw_exposure_believes(x, z);
}

static bool is_same_package(const struct tw_power_zone *a, const struct tw_power_zone *b)
{
	return a->zone->package >= 0 && a->zone->package == b->zone->package;
}

/* True if an earlier zone has the same label. */
static bool is_merged_before(const struct tw_exposure *x, const struct tw_power_zone *z,
			     size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (is_read_as(x, &z[i], z[at].zone->kind) &&
		    is_same_package(&z[i], &z[at]))
			return true;
	return false;
}

static void expose_package(const struct tw_exposure *x, const struct tw_power_zone *z,
			   size_t count, size_t at)
{
	uint64_t uj[2] = { z[at].dynamic_uj, z[at].idle_uj };
	struct tw_labels l = { .count = 0 };
	const char *package;

	for (size_t i = at + 1; i < count; i++)
		if (is_read_as(x, &z[i], z[at].zone->kind) &&
		    is_same_package(&z[i], &z[at])) {
			uj[0] += z[i].dynamic_uj;
			uj[1] += z[i].idle_uj;
		}
	name_package(z[at].zone, l.text[0], sizeof(l.text[0]), &package);
	for (int idle = 0; idle < 2; idle++) {
		l.count = 0;
		tw_labels_add(&l, "package", package);
		tw_labels_add(&l, "instance", x->c->show.node_name);
		tw_labels_add(&l, "mode", tw_mode_name(idle));
		tw_labels_add(&l, "source", tw_energy_source_of_meter(z[at].source));
		tw_expo_sample(x->e, l.at, l.count, tw_joules(uj[idle]));
	}
}

static void expose_node_zone(const struct tw_exposure *x, size_t zone)
{
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(x->c->power, &count);

	if (tw_exposure_source(x, kinds[zone]) == NULL)
		return;
	tw_expo_family(x->e, &node_zones[zone]);
	for (size_t i = 0; i < count; i++)
		if (is_read_as(x, &z[i], kinds[zone]) && !is_merged_before(x, z, i))
			expose_package(x, z, count, i);
}

static const char *source_or_none(const struct tw_exposure *x, enum tw_zone_kind kind)
{
	const char *source = tw_exposure_source(x, kind);

	return source != NULL ? tw_energy_source_of_meter(source) : "";
}

static void expose_info(const struct tw_exposure *x)
{
	static const struct tw_expo_family info = {
		"kepler_node_info", TW_EXPO_INFO, NULL,
		"CPU architecture of the node, and the sources of its power."
	};
	struct tw_labels l = { .count = 0 };
	const struct tw_processors *p = &x->c->processors;
	const char *arch = p->count > 0 ? tw_microarch_name(&p->at[0]) : NULL;
	struct utsname name;

	if (arch == NULL)
		arch = uname(&name) == 0 ? name.machine : "";
	tw_labels_add(&l, "cpu_architecture", arch);
	tw_labels_add(&l, "components_power_source", source_or_none(x, TW_ZONE_PACKAGE));
	tw_labels_add(&l, "platform_power_source", source_or_none(x, TW_ZONE_PLATFORM));
	tw_labels_add(&l, "source", "tallywatt");
	tw_expo_family(x->e, &info);
	tw_expo_count(x->e, l.at, l.count, 1);
}

void tw_expose_kepler_legacy(const struct tw_exposure *x)
{
	expose_info(x);
	for (size_t i = 0; i < TW_COUNT(kinds); i++)
		expose_node_zone(x, i);
	for (size_t i = 0; i < TW_COUNT(levels); i++)
		expose_level(x, &levels[i]);
}
