/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics of Kepler 0.10 and later. Joules of workloads there are the dynamic part;
 * the node has the idle energy.
 */
#include "collector/collector.h"
#include "collector/expose/expose.h"
#include "collector/power/node.h"
#include "collector/power/power.h"
#include "lib/core/array.h"
#include "lib/field/energy.h"
#include "lib/http/client/url.h"

#include <stdio.h>
#include <string.h>

#define JOULES(name, text)                            \
	{                                             \
		name, TW_EXPO_COUNTER, "joules", text \
	}
#define WATTS(name, text)                          \
	{                                          \
		name, TW_EXPO_GAUGE, "watts", text \
	}
static void sample(const struct tw_exposure *x, struct tw_labels *l, double value)
{
	tw_labels_add(l, "node_name", x->c->show.node_name);
	tw_expo_sample(x->e, l->at, l->count, value);
}

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
	{ JOULES("kepler_node_cpu_active_joules_total",
		 "Dynamic energy of a zone (by load)."),
	  active_joules },
	{ JOULES("kepler_node_cpu_idle_joules_total", "Idle energy of a zone."),
	  idle_joules },
	{ WATTS("kepler_node_cpu_watts", "Power of a zone."), watts },
	{ WATTS("kepler_node_cpu_active_watts", "Dynamic power of a zone (by load)."),
	  active_watts },
	{ WATTS("kepler_node_cpu_idle_watts", "Idle power of a zone."), idle_watts },
};

static const struct node_metric gpu_metrics[] = {
	{ JOULES("kepler_node_gpu_joules_total", "Energy of a GPU."), joules },
	{ JOULES("kepler_node_gpu_active_joules_total",
		 "Dynamic energy of a GPU (by load)."),
	  active_joules },
	{ JOULES("kepler_node_gpu_idle_joules_total", "Idle energy of a GPU."),
	  idle_joules },
	{ WATTS("kepler_node_gpu_watts", "Power of a GPU."), watts },
	{ WATTS("kepler_node_gpu_active_watts", "Dynamic power of a GPU (by load)."),
	  active_watts },
	{ WATTS("kepler_node_gpu_idle_watts", "Idle power of a GPU."), idle_watts },
};

static bool is_cpu(enum tw_zone_kind kind)
{
	return kind == TW_ZONE_PACKAGE || kind == TW_ZONE_CORE ||
	       kind == TW_ZONE_UNCORE || kind == TW_ZONE_DRAM || kind == TW_ZONE_PSYS;
}

#define PATH_SIZE (TW_ZONE_PATH + TW_ENERGY_SOURCE_NAME_MAX + 2)

static bool is_measured(const char *meter)
{
	const struct tw_energy_source *s =
		tw_energy_source_find(tw_energy_source_of_meter(meter));

	return s == NULL || tw_energy_source_is_measured(s);
}

/*
 * The label `path`: the directory of a zone, as Kepler has it, not its file. Kepler has
 * no label of the source, so the path names a meter that does not measure.
 */
static const char *name_path(const struct tw_power_zone *z, char out[PATH_SIZE])
{
	static const char file[] = "/energy_uj";
	const char *path = z->zone->path;
	const size_t len = strlen(path), n = sizeof(file) - 1;
	const bool is_file = len > n && strcmp(path + len - n, file) == 0;
	const bool marked =
		is_measured(z->source) || tw_energy_source_of_path(path) != NULL;

	snprintf(out, PATH_SIZE, "%s%s%.*s", marked ? "" : z->source, marked ? "" : ":",
		 (int)(is_file ? len - n : len), path);
	return out;
}

static void expose_node(const struct tw_exposure *x)
{
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(x->c->power, &count);

	for (size_t m = 0; m < TW_COUNT(node_metrics); m++) {
		tw_expo_family(x->e, &node_metrics[m].family);
		for (size_t i = 0; i < count; i++) {
			struct tw_labels l = { .count = 0 };
			char path[PATH_SIZE];

			if (!tw_exposure_believes(x, &z[i]) || !is_cpu(z[i].zone->kind))
				continue;
			tw_labels_add(&l, "zone", tw_zone_kind_name(z[i].zone->kind));
			tw_labels_add(&l, "path", name_path(&z[i], path));
			sample(x, &l, node_metrics[m].value(&z[i]));
		}
	}
}

/*
 * Kepler 0.5 to 0.9 has the first name, too, with other labels. If both are exported, the
 * older one gets it.
 */
static void expose_gpus(const struct tw_exposure *x)
{
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(x->c->power, &count);

	for (size_t m = x->c->show.kepler_legacy; m < TW_COUNT(gpu_metrics); m++) {
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

/* The management controller of a Redfish zone: the URL without its scheme. */
static const char *bmc_id(const struct tw_exposure *x, const struct tw_power_zone *z,
			  char shown[TW_URL_SHOWN])
{
	const char *host;

	if (x->c->show.redfish == NULL || z->meter != &tw_meter_redfish)
		return "";
	host = strstr(tw_url_show(x->c->show.redfish, shown), "://");
	return host != NULL ? host + 3 : "";
}

/* The name of a chassis; its path if several zones share the name. */
static const char *chassis_id(const struct tw_power_zone *z, size_t count, size_t at)
{
	for (size_t i = 0; i < count; i++)
		if (i != at && z[i].zone->kind == TW_ZONE_PLATFORM &&
		    z[i].meter == z[at].meter &&
		    strcmp(z[i].zone->name, z[at].zone->name) == 0)
			return z[at].zone->path;
	return z[at].zone->name;
}

static void expose_usage(const struct tw_exposure *x)
{
	static const struct tw_expo_family ratio = { "kepler_node_cpu_usage_ratio",
						     TW_EXPO_GAUGE, "ratio",
						     "Load of the CPUs, 0 to 1." };
	static const struct tw_expo_family platform =
		WATTS("kepler_platform_watts", "Power of the machine.");
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(x->c->power, &count);
	struct tw_labels l = { .count = 0 };
	char shown[TW_URL_SHOWN];

	if (tw_node_load(&x->c->node) >= 0) {
		tw_expo_family(x->e, &ratio);
		sample(x, &l, tw_node_load(&x->c->node));
	}
	tw_expo_family(x->e, &platform);
	for (size_t i = 0; i < count; i++) {
		if (!z[i].told || z[i].zone->kind != TW_ZONE_PLATFORM)
			continue;
		l.count = 0;
		tw_labels_add(&l, "source", z[i].source);
		tw_labels_add(&l, "bmc_id", bmc_id(x, &z[i], shown));
		tw_labels_add(&l, "chassis_id", chassis_id(z, count, i));
		sample(x, &l, z[i].power_w);
	}
}

static void expose_processors(const struct tw_exposure *x)
{
	static const struct tw_expo_family info = { "kepler_node_cpu_info", TW_EXPO_INFO,
						    NULL,
						    "Vendor, model and place of a CPU." };
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

static void expose_machine(const struct tw_exposure *x)
{
	expose_node(x);
	if (tw_power_meter(x->c->power, TW_ZONE_GPU) != NULL)
		expose_gpus(x);
	expose_usage(x);
	expose_processors(x);
}

static const enum tw_zone_kind kinds[] = { TW_ZONE_PACKAGE, TW_ZONE_CORE, TW_ZONE_UNCORE,
					   TW_ZONE_DRAM, TW_ZONE_PSYS };

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

static void label_container(struct tw_labels *l, const struct tw_workload *w)
{
	tw_labels_add(l, "container_id", w->who->id);
	tw_labels_add(l, "container_name", w->container_name);
	tw_labels_add(l, "runtime",
		      w->who->runtime != NULL ? w->who->runtime : "unknown");
	tw_labels_add(l, "pod_id", w->who->pod_uid);
}

static void label_pod(struct tw_labels *l, const struct tw_workload *w)
{
	tw_labels_add(l, "pod_id", w->who->pod_uid);
	tw_labels_add(l, "pod_name", w->pod_name);
	tw_labels_add(l, "pod_namespace", w->pod_namespace);
}

/* Kepler names the hypervisor, not the program that starts it. */
static const char *hypervisor(const struct tw_identity *who)
{
	static const char *const by_kvm[] = { "qemu", "firecracker", "cloud-hypervisor" };

	for (size_t i = 0; who->runtime != NULL && i < TW_COUNT(by_kvm); i++)
		if (strcmp(who->runtime, by_kvm[i]) == 0)
			return "kvm";
	return who->runtime != NULL ? who->runtime : "unknown";
}

static void label_vm(struct tw_labels *l, const struct tw_workload *w)
{
	tw_labels_add(l, "vm_id", w->who->id);
	tw_labels_add(l, "vm_name", w->who->name);
	tw_labels_add(l, "hypervisor", hypervisor(w->who));
}

/* The labels of all series of a level. */
static tw_label_of *const label_of[TW_LEVEL_COUNT] = {
	[TW_LEVEL_PROCESS] = label_process,
	[TW_LEVEL_CONTAINER] = label_container,
	[TW_LEVEL_POD] = label_pod,
	[TW_LEVEL_VM] = label_vm,
};

/* ---- workloads ---- */

/*
 * The labels after those of the workload. zone NULL: no zone. state: add it, from
 * `ended`.
 */
static struct tw_expo_text more_labels(const struct tw_exposure *x, struct tw_buf *b,
				       const char *zone, bool state, bool ended)
{
	struct tw_labels l = { .count = 0 };

	if (state)
		tw_labels_add(&l, "state", ended ? "terminated" : "running");
	if (zone != NULL)
		tw_labels_add(&l, "zone", zone);
	tw_labels_add(&l, "node_name", x->c->show.node_name);
	return tw_shown_text(x, b, l.at, l.count);
}

/* A value of a workload, in units of 1 / 10^decimals. */
struct figure {
	unsigned decimals;
	uint64_t (*of)(const struct tw_exposure *x, const struct tw_workload *w,
		       enum tw_zone_kind kind);
};

static uint64_t uj_of(const struct tw_exposure *x, const struct tw_workload *w,
		      enum tw_zone_kind kind)
{
	(void)x;
	return tw_own_uj(w, kind, false);
}

static uint64_t uw_of(const struct tw_exposure *x, const struct tw_workload *w,
		      enum tw_zone_kind kind)
{
	const struct tw_charge *c = tw_workloads_ticked(x->c->workloads, w);

	return (uint64_t)((double)c->dynamic_uj[kind] * 1e9 / (double)x->c->elapsed_ns +
			  0.5);
}

static uint64_t ns_of(const struct tw_exposure *x, const struct tw_workload *w,
		      enum tw_zone_kind kind)
{
	(void)x;
	(void)kind;
	return tw_own_cpu_ns(w);
}

static const struct figure energy = { 6, uj_of }, power = { 6, uw_of },
			   time_used = { 9, ns_of };

static void expose_figure(const struct tw_exposure *x, const struct tw_shown *s,
			  const struct figure *f, enum tw_zone_kind kind,
			  const char *zone, bool state)
{
	struct tw_buf b[2] = { { 0 }, { 0 } };
	const struct tw_expo_text more[] = { more_labels(x, &b[0], zone, state, false),
					     more_labels(x, &b[1], zone, state, true) };

	for (size_t i = 0; i < s->count; i++) {
		const struct tw_workload *w = s->of[i].w;

		tw_shown_sample(x, s, i, &more[w->ended], f->of(x, w, kind), f->decimals);
	}
	tw_buf_clear(&b[0]);
	tw_buf_clear(&b[1]);
}

static void expose_zones(const struct tw_exposure *x, const struct tw_shown *s,
			 const struct figure *f)
{
	for (size_t i = 0; i < TW_COUNT(kinds); i++)
		if (tw_exposure_source(x, kinds[i]) != NULL)
			expose_figure(x, s, f, kinds[i], tw_zone_kind_name(kinds[i]),
				      true);
}

static void expose_level(const struct tw_exposure *x, enum tw_level level)
{
	struct tw_shown s = { .count = 0 };

	if (!x->c->show.level[level])
		return;
	tw_shown_add_level(&s, x, level, true, label_of[level]);
	tw_expo_family(x->e, &families[level].joules);
	expose_zones(x, &s, &energy);
	if (x->c->elapsed_ns > 0) {
		tw_expo_family(x->e, &families[level].watts);
		expose_zones(x, &s, &power);
	}
	if (level == TW_LEVEL_PROCESS || level == TW_LEVEL_CONTAINER) {
		tw_expo_family(x->e, &families[level].seconds);
		expose_figure(x, &s, &time_used, TW_ZONE_PACKAGE, NULL,
			      level == TW_LEVEL_CONTAINER);
	}
	tw_shown_release(&s);
}

void tw_expose_kepler(const struct tw_exposure *x)
{
	static const enum tw_level levels[] = { TW_LEVEL_PROCESS, TW_LEVEL_CONTAINER,
						TW_LEVEL_POD, TW_LEVEL_VM };

	expose_machine(x);
	for (size_t i = 0; i < TW_COUNT(levels); i++)
		expose_level(x, levels[i]);
}
