/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and labels of Kepler 0.10 and later. Its joules of workloads are the dynamic
 * part: idle energy is the node's.
 */
#include "collector/collector.h"
#include "collector/expose.h"
#include "collector/node.h"
#include "collector/power.h"

#include <stdio.h>

static const enum tw_zone_kind kinds[] = { TW_ZONE_PACKAGE, TW_ZONE_CORE, TW_ZONE_UNCORE,
					   TW_ZONE_DRAM, TW_ZONE_PSYS };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define JOULES(name, text)                            \
	{                                             \
		name, TW_EXPO_COUNTER, "joules", text \
	}
#define WATTS(name, text)                          \
	{                                          \
		name, TW_EXPO_GAUGE, "watts", text \
	}
#define LEVEL(level, what)                                                          \
	{                                                                           \
		.joules = JOULES("kepler_" level "_cpu_joules_total",               \
				 "Dynamic energy of " what "."),                    \
		.watts = WATTS("kepler_" level "_cpu_watts",                        \
			       "Dynamic power of " what "."),                       \
		.seconds = { "kepler_" level "_cpu_seconds_total", TW_EXPO_COUNTER, \
			     "seconds", "CPU time of " what "." },                  \
	}

static const struct {
	struct tw_expo_family joules, watts, seconds;
} families[TW_LEVEL_COUNT] = {
	[TW_LEVEL_PROCESS] = LEVEL("process", "a process"),
	[TW_LEVEL_CONTAINER] = LEVEL("container", "a container"),
	[TW_LEVEL_POD] = LEVEL("pod", "a pod"),
	[TW_LEVEL_VM] = LEVEL("vm", "a virtual machine"),
};

static void label_process(struct tw_labels *l, const struct tw_workload *w)
{
	const bool container = tw_owner_id(w, TW_LEVEL_CONTAINER)[0] != '\0',
		   vm = tw_owner_id(w, TW_LEVEL_VM)[0] != '\0';

	snprintf(l->text[0], sizeof(l->text[0]), "%u", w->tgid);
	tw_labels_add(l, "pid", l->text[0]);
	tw_labels_add(l, "comm", w->comm);
	tw_labels_add(l, "exe", w->path);
	tw_labels_add(l, "type", container ? "container" : vm ? "vm" : "regular");
	tw_labels_add(l, "container_id", tw_owner_id(w, TW_LEVEL_CONTAINER));
	tw_labels_add(l, "vm_id", tw_owner_id(w, TW_LEVEL_VM));
}

/* What its seconds have; energy has state and zone besides, except a container's state.
 */
static void label(struct tw_labels *l, const struct tw_workload *w, bool seconds)
{
	l->count = 0;
	if (w->level == TW_LEVEL_PROCESS) {
		label_process(l, w);
	} else if (w->level == TW_LEVEL_CONTAINER) {
		tw_labels_add(l, "container_id", w->who->id);
		tw_labels_add(l, "container_name", w->container_name);
		tw_labels_add(l, "runtime", w->who->runtime);
		tw_labels_add(l, "pod_id", w->who->pod_uid);
	} else if (w->level == TW_LEVEL_POD) {
		tw_labels_add(l, "pod_id", w->who->pod_uid);
		tw_labels_add(l, "pod_name", w->pod_name);
		tw_labels_add(l, "pod_namespace", w->pod_namespace);
	} else {
		tw_labels_add(l, "vm_id", w->who->id);
		tw_labels_add(l, "vm_name", w->who->name);
		tw_labels_add(l, "hypervisor", w->who->runtime);
	}
	if (!seconds || w->level != TW_LEVEL_PROCESS)
		tw_labels_add(l, "state", w->ended ? "terminated" : "running");
}

static void sample(const struct tw_exposure *x, struct tw_labels *l, double value)
{
	tw_labels_add(l, "node_name", x->c->show.node_name);
	tw_expo_sample(x->e, l->at, l->count, value);
}

/* ---- workloads ---- */

static double watts_of(const struct tw_exposure *x, const struct tw_workload *w,
		       enum tw_zone_kind kind)
{
	const struct tw_charge *c = tw_workloads_ticked(x->c->workloads, w);

	return (double)c->dynamic_uj[kind] * 1e3 / (double)x->c->elapsed_ns;
}

static void expose_energy(const struct tw_exposure *x, enum tw_level level, bool watts)
{
	const struct tw_workload *w = NULL;

	tw_expo_family(x->e, watts ? &families[level].watts : &families[level].joules);
	while ((w = tw_exposure_next_seen(x, level, w)) != NULL) {
		for (size_t i = 0; i < COUNT(kinds); i++) {
			struct tw_labels l;

			if (tw_exposure_source(x, kinds[i]) == NULL)
				continue;
			label(&l, w, false);
			tw_labels_add(&l, "zone", tw_zone_kind_name(kinds[i]));
			sample(x, &l,
			       watts ? watts_of(x, w, kinds[i])
				     : tw_joules(w->charged.dynamic_uj[kinds[i]]));
		}
	}
}

static void expose_level(const struct tw_exposure *x, enum tw_level level)
{
	const struct tw_workload *w = NULL;

	if (!x->c->show.level[level])
		return;
	expose_energy(x, level, false);
	if (x->c->elapsed_ns > 0)
		expose_energy(x, level, true);
	if (level != TW_LEVEL_PROCESS && level != TW_LEVEL_CONTAINER)
		return;
	tw_expo_family(x->e, &families[level].seconds);
	while ((w = tw_exposure_next_seen(x, level, w)) != NULL) {
		struct tw_labels l;

		label(&l, w, true);
		sample(x, &l, tw_seconds(w->used.cpu_ns));
	}
}

/* ---- node ---- */

static double joules(const struct tw_power_zone *z)
{
	return tw_joules(z->dynamic_uj + z->idle_uj);
}

static double active_joules(const struct tw_power_zone *z)
{
	return tw_joules(z->dynamic_uj);
}

static double idle_joules(const struct tw_power_zone *z)
{
	return tw_joules(z->idle_uj);
}

static double watts(const struct tw_power_zone *z)
{
	return z->power_w;
}

static double idle_watts(const struct tw_power_zone *z)
{
	return z->idle_w < z->power_w ? z->idle_w : z->power_w;
}

static double active_watts(const struct tw_power_zone *z)
{
	return z->power_w - idle_watts(z);
}

static const struct node_metric {
	struct tw_expo_family family;
	double (*value)(const struct tw_power_zone *z);
} node_metrics[] = {
	{ JOULES("kepler_node_cpu_joules_total", "Energy of a zone."), joules },
	{ JOULES("kepler_node_cpu_active_joules_total", "Energy of a zone by load."),
	  active_joules },
	{ JOULES("kepler_node_cpu_idle_joules_total", "Energy of a zone without load."),
	  idle_joules },
	{ WATTS("kepler_node_cpu_watts", "Power of a zone."), watts },
	{ WATTS("kepler_node_cpu_active_watts", "Power of a zone by load."),
	  active_watts },
	{ WATTS("kepler_node_cpu_idle_watts", "Power of a zone without load."),
	  idle_watts },
};

static const struct node_metric gpu_metrics[] = {
	{ JOULES("kepler_node_gpu_joules_total", "Energy of a GPU."), joules },
	{ JOULES("kepler_node_gpu_active_joules_total", "Energy of a GPU by load."),
	  active_joules },
	{ JOULES("kepler_node_gpu_idle_joules_total", "Energy of a GPU without load."),
	  idle_joules },
	{ WATTS("kepler_node_gpu_watts", "Power of a GPU."), watts },
	{ WATTS("kepler_node_gpu_active_watts", "Power of a GPU by load."),
	  active_watts },
	{ WATTS("kepler_node_gpu_idle_watts", "Power of a GPU without load."),
	  idle_watts },
};

static bool is_kind(enum tw_zone_kind kind)
{
	for (size_t i = 0; i < COUNT(kinds); i++)
		if (kinds[i] == kind)
			return true;
	return false;
}

static void expose_node(const struct tw_exposure *x)
{
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(x->c->power, &count);

	for (size_t m = 0; m < COUNT(node_metrics); m++) {
		tw_expo_family(x->e, &node_metrics[m].family);
		for (size_t i = 0; i < count; i++) {
			struct tw_labels l = { .count = 0 };

			if (!tw_exposure_believes(x, &z[i]) || !is_kind(z[i].zone->kind))
				continue;
			tw_labels_add(&l, "zone", tw_zone_kind_name(z[i].zone->kind));
			tw_labels_add(&l, "path", z[i].zone->path);
			sample(x, &l, node_metrics[m].value(&z[i]));
		}
	}
}

/* The first is a name of Kepler 0.5 to 0.9, too, with other labels: where both are asked
 * for, it is theirs. */
static void expose_gpus(const struct tw_exposure *x)
{
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(x->c->power, &count);

	for (size_t m = x->c->show.kepler_legacy; m < COUNT(gpu_metrics); m++) {
		tw_expo_family(x->e, &gpu_metrics[m].family);
		for (size_t i = 0; i < count; i++) {
			const struct tw_zone_gpu *gpu = &z[i].zone->gpu;
			struct tw_labels l = { .count = 0 };

			if (!tw_exposure_believes(x, &z[i]) ||
			    z[i].zone->kind != TW_ZONE_GPU)
				continue;
			tw_labels_add(&l, "gpu", gpu->index);
			tw_labels_add(&l, "gpu_uuid", gpu->uuid);
			tw_labels_add(&l, "gpu_name", gpu->model);
			tw_labels_add(&l, "vendor", gpu->vendor);
			sample(x, &l, gpu_metrics[m].value(&z[i]));
		}
	}
}

static void expose_usage(const struct tw_exposure *x)
{
	static const struct tw_expo_family ratio = { "kepler_node_cpu_usage_ratio",
						     TW_EXPO_GAUGE, "ratio",
						     "Load of the processors, 0 to 1." };
	static const struct tw_expo_family platform =
		WATTS("kepler_platform_watts", "Power of the machine.");
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(x->c->power, &count);
	struct tw_labels l = { .count = 0 };

	tw_expo_family(x->e, &ratio);
	sample(x, &l, tw_node_load(&x->c->node));
	tw_expo_family(x->e, &platform);
	for (size_t i = 0; i < count; i++) {
		if (!z[i].told || z[i].zone->kind != TW_ZONE_PLATFORM)
			continue;
		l.count = 0;
		tw_labels_add(&l, "source", z[i].meter->name);
		tw_labels_add(&l, "bmc_id", "");
		tw_labels_add(&l, "chassis_id", z[i].zone->name);
		sample(x, &l, z[i].power_w);
	}
}

static void expose_processors(const struct tw_exposure *x)
{
	static const struct tw_expo_family info = { "kepler_node_cpu_info", TW_EXPO_INFO,
						    NULL, "What a processor is." };
	const struct tw_processors *p = &x->c->processors;

	if (p->count == 0)
		return;
	tw_expo_family(x->e, &info);
	for (size_t i = 0; i < p->count; i++) {
		struct tw_labels l = { .count = 0 };

		tw_labels_add(&l, "processor", p->at[i].number);
		tw_labels_add(&l, "vendor_id", p->at[i].vendor);
		tw_labels_add(&l, "model_name", p->at[i].model);
		tw_labels_add(&l, "physical_id", p->at[i].package);
		tw_labels_add(&l, "core_id", p->at[i].core);
		sample(x, &l, 1);
	}
}

void tw_expose_kepler(const struct tw_exposure *x)
{
	static const enum tw_level levels[] = { TW_LEVEL_PROCESS, TW_LEVEL_CONTAINER,
						TW_LEVEL_POD, TW_LEVEL_VM };

	expose_node(x);
	if (tw_power_meter(x->c->power, TW_ZONE_GPU) != NULL)
		expose_gpus(x);
	expose_usage(x);
	expose_processors(x);
	for (size_t i = 0; i < COUNT(levels); i++)
		expose_level(x, levels[i]);
}
