/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics of Kepler 0.5 to 0.9. The total of a series is the sum of its modes dynamic
 * and idle. Two pseudo containers hold all processes outside containers, so that the
 * containers add up to the machine: dashboards and trainers of that time rely on it.
 */
#include "collector/collector.h"
#include "collector/expose/expose.h"
#include "collector/power/power.h"
#include "collector/workloads/cgroup.h"
#include "lib/core/array.h"
#include "lib/field/energy.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

static const struct tw_expo_family node_info[] = {
	{ "kepler_node_info", TW_EXPO_INFO, NULL,
	  "CPU architecture of the node, and the sources of its power." },
};

static const struct tw_expo_level levels[] = {
	{ "node", "" }, { "container", "" }, { "process", "" }, { "vm", "" }
};

#define JOULES(zone)                                                         \
	{                                                                    \
		"kepler_*_" zone "_joules_total", TW_EXPO_COUNTER, "joules", \
			"Energy of zone " zone "."                           \
	}

/* Families of all levels. */
static const struct {
	struct tw_expo_family family;
	enum tw_zone_kind kind;
} zones[] = {
	{ JOULES("package"), TW_ZONE_PACKAGE },   { JOULES("core"), TW_ZONE_CORE },
	{ JOULES("uncore"), TW_ZONE_UNCORE },     { JOULES("dram"), TW_ZONE_DRAM },
	{ JOULES("platform"), TW_ZONE_PLATFORM }, { JOULES("gpu"), TW_ZONE_GPU },
	{ JOULES("other"), TW_ZONE_OTHER },
};

/* Families of containers and processes. */
static const struct tw_expo_family total[] = {
	{ "kepler_*_joules_total", TW_EXPO_COUNTER, "joules",
	  "Energy of package, dram, other and gpu, else of the platform." },
};

#define USAGE(name, help)                                              \
	{                                                              \
		"kepler_*_" name "_total", TW_EXPO_COUNTER, NULL, help \
	}

/* Families of all levels except the node. */
static const struct {
	struct tw_expo_family family;
	enum tw_counter counter;
} usage[] = {
	{ USAGE("cpu_cycles", "CPU cycles."), TW_COUNTER_CYCLES },
	{ USAGE("cpu_instructions", "Instructions."), TW_COUNTER_INSTRUCTIONS },
	{ USAGE("cache_miss", "Misses of the last level cache."),
	  TW_COUNTER_CACHE_MISSES },
	{ USAGE("bpf_page_cache_hit", "Pages read from the page cache, or written."),
	  TW_COUNTER_PAGE_CACHE_HITS },
	{ USAGE("bpf_net_tx_irq", "Softirqs of network transmission."),
	  TW_COUNTER_NET_TX_SOFTIRQS },
	{ USAGE("bpf_net_rx_irq", "Softirqs of network reception."),
	  TW_COUNTER_NET_RX_SOFTIRQS },
	{ USAGE("bpf_block_irq", "Softirqs of block devices."),
	  TW_COUNTER_BLOCK_SOFTIRQS },
};

/* The second one was removed by 0.7.12. */
static const struct tw_expo_family cpu_time[] = {
	USAGE("bpf_cpu_time_ms", "CPU time in milliseconds."),
	USAGE("bpf_cpu_time_us", "CPU time in milliseconds."),
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
	{ USAGE("cgroupfs_cpu_usage_us", "CPU time of the cgroup."), TW_CGROUP_CPU_US, 0,
	  false },
	{ USAGE("cgroupfs_user_cpu_usage_us", "CPU time of the cgroup in user mode."),
	  TW_CGROUP_USER_US, 0, false },
	{ USAGE("cgroupfs_system_cpu_usage_us", "CPU time of the cgroup in the kernel."),
	  TW_CGROUP_SYSTEM_US, 0, false },
	{ USAGE("cgroupfs_memory_usage_bytes", "Memory usage of the cgroup."),
	  TW_CGROUP_MEMORY_BYTES, 0, false },
	{ USAGE("kubelet_cpu_usage", "CPU time in seconds, as the kubelet reports it."),
	  TW_CGROUP_CPU_US, 6, true },
	{ USAGE("kubelet_memory_bytes", "Working set, as the kubelet reports it."),
	  TW_CGROUP_WORKING_SET_BYTES, 0, true },
};

const struct tw_expo_table tw_kepler_legacy_families[] = {
	TW_EXPO_TABLE(node_info),
	TW_EXPO_TABLE_OF(zones, levels, 4),
	TW_EXPO_TABLE_OF(total, &levels[1], 2),
	TW_EXPO_TABLE_OF(usage, &levels[1], 3),
	TW_EXPO_TABLE_OF(cpu_time, &levels[1], 3),
	TW_EXPO_TABLE_OF(old, &levels[1], 1),
	{ .first = NULL },
};

/* ---- cgroups ---- */

static bool is_of_pod(const struct tw_workload *w)
{
	return w->who != NULL && w->who->pod_uid[0] != '\0';
}

struct cgroups {
	const struct tw_shown *s;
	const struct tw_cgroup_use *use; /* of each of s */
	const struct old *old;
};

static bool use_of(const struct tw_figure *f, const struct tw_exposure *x,
		   const struct tw_shown_one *one, tw_u128 *out)
{
	const struct cgroups *c = f->arg;
	const struct tw_cgroup_use *use = &c->use[one - c->s->of];

	(void)x;
	*out = use->of[c->old->figure];
	return use->known[c->old->figure] && (!c->old->of_pods || is_of_pod(one->w));
}

static void expose_old(const struct tw_exposure *x, const struct tw_shown *s,
		       const struct tw_cgroup_use *use, const struct tw_expo_level *level)
{
	static const struct tw_labels cgroup = { .at = { { "source", "cgroup" } },
						 .count = 1 };

	for (size_t k = 0; k < TW_COUNT(old); k++) {
		const struct cgroups c = { .s = s, .use = use, .old = &old[k] };
		const struct tw_figure f = { .of = use_of,
					     .decimals = old[k].decimals,
					     .arg = &c };

		tw_expo_family_of(x->e, &old[k].family, level);
		tw_shown_samples(x, s, &cgroup, NULL, &f);
	}
}

/* Read the cgroups at the scrape: no tick needs them. */
static void expose_cgroups(const struct tw_exposure *x, const struct tw_shown *s,
			   const struct tw_expo_level *level)
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
	expose_old(x, s, use, level);
	free(use);
}

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

/* ---- workloads ---- */

static bool total_of(const struct tw_figure *f, const struct tw_exposure *x,
		     const struct tw_shown_one *one, tw_u128 *out)
{
	*out = 0;
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++)
		if ((x->sum >> kind & 1) != 0)
			*out += tw_own_uj(one->w, (enum tw_zone_kind)kind, f->idle);
	return true;
}

/* Write dynamic and idle energy. */
static void expose_modes(const struct tw_exposure *x, const struct tw_shown *s,
			 struct tw_figure f, const char *source)
{
	f.decimals = 6;
	for (int idle = 0; idle < 2; idle++) {
		struct tw_labels l = { .count = 0 };

		f.idle = idle != 0;
		tw_labels_add(&l, "mode", tw_mode_name(f.idle));
		tw_labels_add(&l, "source", source);
		tw_shown_samples(x, s, &l, NULL, &f);
	}
}

static void expose_energy(const struct tw_exposure *x, const struct tw_shown *s,
			  const struct tw_expo_level *level, bool sums)
{
	for (size_t i = 0; i < TW_COUNT(zones); i++) {
		const struct tw_figure f = { .of = tw_figure_uj, .kind = zones[i].kind };
		const char *source = tw_exposure_source(x, f.kind);

		if (source == NULL)
			continue;
		tw_expo_family_of(x->e, &zones[i].family, level);
		expose_modes(x, s, f, tw_energy_source_of_meter(source));
	}
	if (!sums || x->sum == 0)
		return;
	tw_expo_family_of(x->e, &total[0], level);
	expose_modes(x, s, (struct tw_figure){ .of = total_of }, "");
}

static void expose_usage(const struct tw_exposure *x, const struct tw_shown *s,
			 const struct tw_expo_level *level)
{
	static const struct tw_labels bpf = { .at = { { "source", "bpf" } }, .count = 1 };
	struct tw_figure f = { .of = tw_figure_count };

	for (size_t k = 0; k < TW_COUNT(usage); k++) {
		f.counter = usage[k].counter;
		if (!tw_workloads_counts(x->c->workloads, f.counter))
			continue;
		tw_expo_family_of(x->e, &usage[k].family, level);
		tw_shown_samples(x, s, &bpf, NULL, &f);
	}
	f = (struct tw_figure){ .of = tw_figure_cpu_ns, .decimals = 6 };
	for (int i = 0; i <= x->c->show.kepler_05; i++) {
		tw_expo_family_of(x->e, &cpu_time[i], level);
		tw_shown_samples(x, s, &bpf, NULL, &f);
	}
}

static void expose_level(const struct tw_exposure *x, enum tw_level level,
			 const struct tw_expo_level *l, tw_label_of *label)
{
	struct tw_shown s = { .count = 0 };

	if (!x->c->show.level[level])
		return;
	tw_shown_add_level(&s, x, level, true, label);
	for (int kernel = 0; level == TW_LEVEL_CONTAINER && kernel < 2; kernel++)
		tw_shown_add(&s, x, tw_workloads_outside(x->c->workloads, kernel), label);
	expose_energy(x, &s, l, level != TW_LEVEL_VM);
	expose_usage(x, &s, l);
	if (x->c->show.kepler_05 && level == TW_LEVEL_CONTAINER)
		expose_cgroups(x, &s, l);
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

static bool is_read_as(const struct tw_power_zone *z, enum tw_zone_kind kind)
{
	return z->zone->kind == kind && tw_exposure_believes(z);
}

static bool is_same_package(const struct tw_power_zone *a, const struct tw_power_zone *b)
{
	return a->zone->package >= 0 && a->zone->package == b->zone->package;
}

/* True if an earlier zone has the same label. */
static bool is_merged_before(const struct tw_power_zone *z, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (is_read_as(&z[i], z[at].zone->kind) && is_same_package(&z[i], &z[at]))
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
		if (is_read_as(&z[i], z[at].zone->kind) &&
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

	if (tw_exposure_source(x, zones[zone].kind) == NULL)
		return;
	tw_expo_family_of(x->e, &zones[zone].family, &levels[0]);
	for (size_t i = 0; i < count; i++)
		if (is_read_as(&z[i], zones[zone].kind) && !is_merged_before(z, i))
			expose_package(x, z, count, i);
}

static const char *source_or_none(const struct tw_exposure *x, enum tw_zone_kind kind)
{
	const char *source = tw_exposure_source(x, kind);

	return source != NULL ? tw_energy_source_of_meter(source) : "";
}

static void expose_info(const struct tw_exposure *x)
{
	struct tw_labels l = { .count = 0 };
	const struct tw_processors *p = &x->c->processors;
	const char *arch = p->count > 0 ? tw_processor_microarch(&p->at[0]) : NULL;
	struct utsname name;

	if (arch == NULL)
		arch = uname(&name) == 0 ? name.machine : "";
	tw_labels_add(&l, "cpu_architecture", arch);
	tw_labels_add(&l, "components_power_source", source_or_none(x, TW_ZONE_PACKAGE));
	tw_labels_add(&l, "platform_power_source", source_or_none(x, TW_ZONE_PLATFORM));
	tw_labels_add(&l, "source", "tallywatt");
	tw_expo_family(x->e, &node_info[0]);
	tw_expo_count(x->e, l.at, l.count, 1);
}

void tw_expose_kepler_legacy(const struct tw_exposure *x)
{
	expose_info(x);
	for (size_t i = 0; i < TW_COUNT(zones); i++)
		expose_node_zone(x, i);
	expose_level(x, TW_LEVEL_CONTAINER, &levels[1], label_container);
	expose_level(x, TW_LEVEL_PROCESS, &levels[2], label_process);
	expose_level(x, TW_LEVEL_VM, &levels[3], label_vm);
}
