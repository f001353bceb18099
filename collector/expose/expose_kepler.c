/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics of Kepler 0.10 and later. Joules of workloads there are the dynamic part;
 * the node has the idle energy.
 */
#include "collector/collector.h"
#include "collector/expose/expose.h"
#include "collector/expose/kepler_sum.h"
#include "collector/power/node.h"
#include "collector/power/power.h"
#include "lib/core/array.h"
#include "lib/http/client/url.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#define JOULES(name, help, member)                                                  \
	TW_EXPO_ROW("kepler_node_" name "_joules_total", TW_EXPO_COUNTER, "joules", \
		    help, struct tw_kepler_split, member, 1)
#define WATTS(name, help, member)                                               \
	TW_EXPO_ROW("kepler_node_" name "_watts", TW_EXPO_GAUGE, "watts", help, \
		    struct tw_kepler_split, member, 1)

static const struct tw_expo_row zone_rows[] = {
	JOULES("*", "Energy of *.", joules),
	JOULES("*_active", "Dynamic energy of * (by load).", active_joules),
	JOULES("*_idle", "Idle energy of *.", idle_joules),
	WATTS("*", "Power of *.", watts),
	WATTS("*_active", "Dynamic power of * (by load).", active_watts),
	WATTS("*_idle", "Idle power of *.", idle_watts),
};

static const struct tw_expo_level zone_levels[] = { { "cpu", "a zone" },
						    { "gpu", "a GPU" } };

enum { USAGE, PLATFORM, CPU, BUILD };

static const struct tw_expo_family machine[] = {
	[USAGE] = { "kepler_node_cpu_usage_ratio", TW_EXPO_GAUGE, "ratio",
		    "Load of the CPUs, 0 to 1." },
	[PLATFORM] = { "kepler_platform_watts", TW_EXPO_GAUGE, "watts",
		       "Power of the machine." },
	[CPU] = { "kepler_node_cpu_info", TW_EXPO_INFO, NULL,
		  "Vendor, model and place of a CPU." },
	[BUILD] = { "kepler_build_info", TW_EXPO_INFO, NULL,
		    "Version of the exporter, which is not Kepler." },
};

static const struct tw_expo_level levels[] = { { "process", "a process" },
					       { "container", "a container" },
					       { "pod", "a pod" },
					       { "vm", "a virtual machine" } };

enum { ENERGY, POWER };

static const struct tw_expo_family energy[] = {
	[ENERGY] = { "kepler_*_cpu_joules_total", TW_EXPO_COUNTER, "joules",
		     "Dynamic energy of *." },
	[POWER] = { "kepler_*_cpu_watts", TW_EXPO_GAUGE, "watts", "Dynamic power of *." },
};

/* Families of the first two levels. */
static const struct tw_expo_family seconds[] = {
	{ "kepler_*_cpu_seconds_total", TW_EXPO_COUNTER, "seconds", "CPU time of *." },
};

const struct tw_expo_table tw_kepler_families[] = {
	TW_EXPO_TABLE_OF(zone_rows, zone_levels, TW_COUNT(zone_levels)),
	TW_EXPO_TABLE(machine),
	TW_EXPO_TABLE_OF(energy, levels, TW_COUNT(levels)),
	TW_EXPO_TABLE_OF(seconds, levels, 2),
	{ .first = NULL },
};

/* Kepler's zones of a machine; GPUs have metrics of their own. */
static const enum tw_zone_kind kinds[] = { TW_ZONE_PACKAGE, TW_ZONE_CORE, TW_ZONE_UNCORE,
					   TW_ZONE_DRAM, TW_ZONE_PSYS };

static void sample(const struct tw_exposure *x, struct tw_labels *l, double value)
{
	tw_labels_add(l, "node_name", x->c->show.node_name);
	tw_expo_sample(x->e, l->at, l->count, value);
}

/* ---- the machine ---- */

static void label_gpu(struct tw_labels *l, const struct tw_zone_gpu *gpu)
{
	tw_labels_add(l, "gpu", gpu->index);
	tw_labels_add(l, "gpu_uuid", gpu->uuid);
	tw_labels_add(l, "gpu_name", gpu->model);
	tw_labels_add(l, "vendor", gpu->vendor);
}

static void expose_gpus(const struct tw_exposure *x, const struct tw_expo_row *row)
{
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(x->c->power, &count);

	tw_expo_family_of(x->e, &row->family, &zone_levels[1]);
	for (size_t i = 0; i < count; i++) {
		struct tw_labels l = { .count = 0 };
		struct tw_kepler_split split = { .joules = 0 };

		if (!tw_exposure_believes(&z[i]) || z[i].zone->kind != TW_ZONE_GPU)
			continue;
		tw_kepler_split_add(&split, &z[i]);
		label_gpu(&l, &z[i].zone->gpu);
		tw_labels_add(&l, "node_name", x->c->show.node_name);
		tw_expo_number(x->e, row, &l, &split);
	}
}

static void expose_kinds(const struct tw_exposure *x, const struct tw_expo_row *row)
{
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(x->c->power, &count);

	tw_expo_family_of(x->e, &row->family, &zone_levels[0]);
	for (size_t i = 0; i < TW_COUNT(kinds); i++) {
		const struct tw_kepler_sum sum = tw_kepler_sum_of(z, count, kinds[i]);
		struct tw_labels l = { .count = 0 };
		char path[TW_KEPLER_PATH];

		if (sum.zones == 0)
			continue;
		tw_labels_add(&l, "zone", tw_zone_kind_name(kinds[i]));
		tw_labels_add(&l, "path", tw_kepler_path(&sum, path));
		tw_labels_add(&l, "node_name", x->c->show.node_name);
		tw_expo_number(x->e, row, &l, &sum.split);
	}
}

/*
 * Kepler 0.5 to 0.9 has the first name of GPUs, too, with other labels. If both are
 * exported, the older one gets it.
 */
static void expose_zones_of_node(const struct tw_exposure *x)
{
	for (size_t i = 0; i < TW_COUNT(zone_rows); i++)
		expose_kinds(x, &zone_rows[i]);
	if (tw_power_meter(x->c->power, TW_ZONE_GPU) == NULL)
		return;
	for (size_t i = x->c->show.kepler_legacy; i < TW_COUNT(zone_rows); i++)
		expose_gpus(x, &zone_rows[i]);
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
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(x->c->power, &count);
	struct tw_labels l = { .count = 0 };
	char shown[TW_URL_SHOWN];

	if (tw_node_load(&x->c->node) >= 0) {
		tw_expo_family(x->e, &machine[USAGE]);
		sample(x, &l, tw_node_load(&x->c->node));
	}
	tw_expo_family(x->e, &machine[PLATFORM]);
	for (size_t i = 0; i < count; i++) {
		if (!z[i].fresh || z[i].zone->kind != TW_ZONE_PLATFORM)
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
	const struct tw_processors *p = &x->c->processors;

	if (p->count == 0)
		return;
	tw_expo_family(x->e, &machine[CPU]);
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

/* The labels are Kepler's. */
static void expose_build(const struct tw_exposure *x)
{
	struct tw_labels l = { .count = 0 };
	struct utsname name;

	tw_expo_family(x->e, &machine[BUILD]);
	tw_labels_add(&l, "arch", uname(&name) == 0 ? name.machine : "");
	tw_labels_add(&l, "branch", "");
	tw_labels_add(&l, "revision", "");
	tw_labels_add(&l, "version", "tallywatt " TW_VERSION);
	tw_labels_add(&l, "goversion", "");
	tw_expo_sample(x->e, l.at, l.count, 1);
}

/* ---- workloads ---- */

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

/* Digits of an id that Docker and podman give their containers as HOSTNAME. */
#define SHORT_ID 12

/*
 * Kepler takes HOSTNAME from the environment of a process, which needs rights that the
 * collector has given up. Without a name by the engine it is the short id.
 */
static void label_container(struct tw_labels *l, const struct tw_workload *w)
{
	const char *runtime = w->who->runtime != NULL ? w->who->runtime : "unknown";
	const bool engine =
		strcmp(runtime, "docker") == 0 || strcmp(runtime, "podman") == 0;

	snprintf(l->text[0], sizeof(l->text[0]), "%.*s", SHORT_ID, w->who->id);
	tw_labels_add(l, "container_id", w->who->id);
	tw_labels_add(l, "container_name",
		      w->container_name == NULL && engine ? l->text[0]
							  : w->container_name);
	tw_labels_add(l, "runtime", runtime);
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

static bool uw_of(const struct tw_figure *f, const struct tw_exposure *x,
		  const struct tw_shown_one *one, tw_u128 *out)
{
	const struct tw_charge *c = tw_workloads_ticked(x->c->workloads, one->w);

	*out = (uint64_t)llround((double)c->dynamic_uj[f->kind] * 1e9 /
				 (double)x->c->elapsed_ns);
	return true;
}

/* zone NULL: no zone. state: whether the workload ended is a label. */
static void expose_figure(const struct tw_exposure *x, const struct tw_shown *s,
			  const struct tw_figure *f, const char *zone, bool state)
{
	struct tw_labels l[2] = { { .count = 0 }, { .count = 0 } };

	for (int ended = 0; ended < 2; ended++) {
		if (state)
			tw_labels_add(&l[ended], "state",
				      ended != 0 ? "terminated" : "running");
		if (zone != NULL)
			tw_labels_add(&l[ended], "zone", zone);
		tw_labels_add(&l[ended], "node_name", x->c->show.node_name);
	}
	tw_shown_samples(x, s, &l[0], &l[1], f);
}

static void expose_zones(const struct tw_exposure *x, const struct tw_shown *s,
			 struct tw_figure f)
{
	f.decimals = 6;
	for (size_t i = 0; i < TW_COUNT(kinds); i++) {
		f.kind = kinds[i];
		if (tw_exposure_source(x, f.kind) != NULL)
			expose_figure(x, s, &f, tw_zone_kind_name(f.kind), true);
	}
}

static void expose_level(const struct tw_exposure *x, enum tw_level level,
			 const struct tw_expo_level *l, tw_label_of *label)
{
	const struct tw_figure cpu = { .of = tw_figure_cpu_ns, .decimals = 9 };
	struct tw_shown s = { .count = 0 };

	if (!x->c->show.level[level])
		return;
	tw_shown_add_level(&s, x, level, true, label);
	tw_expo_family_of(x->e, &energy[ENERGY], l);
	expose_zones(x, &s, (struct tw_figure){ .of = tw_figure_uj });
	if (x->c->elapsed_ns > 0) {
		tw_expo_family_of(x->e, &energy[POWER], l);
		expose_zones(x, &s, (struct tw_figure){ .of = uw_of });
	}
	if (level == TW_LEVEL_PROCESS || level == TW_LEVEL_CONTAINER) {
		tw_expo_family_of(x->e, &seconds[0], l);
		expose_figure(x, &s, &cpu, NULL, level == TW_LEVEL_CONTAINER);
	}
	tw_shown_release(&s);
}

void tw_expose_kepler(const struct tw_exposure *x)
{
	expose_zones_of_node(x);
	expose_usage(x);
	expose_processors(x);
	expose_build(x);
	expose_level(x, TW_LEVEL_PROCESS, &levels[0], label_process);
	expose_level(x, TW_LEVEL_CONTAINER, &levels[1], label_container);
	expose_level(x, TW_LEVEL_POD, &levels[2], label_pod);
	expose_level(x, TW_LEVEL_VM, &levels[3], label_vm);
}
