/* SPDX-License-Identifier: Apache-2.0 */
/* The machine under names and labels of Kepler 0.10 and later. */
#include "collector/collector.h"
#include "collector/expose/expose.h"
#include "collector/power/node.h"
#include "collector/power/power.h"
#include "lib/core/array.h"
#include "lib/http/url.h"

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

static bool is_cpu(enum tw_zone_kind kind)
{
	return kind == TW_ZONE_PACKAGE || kind == TW_ZONE_CORE ||
	       kind == TW_ZONE_UNCORE || kind == TW_ZONE_DRAM || kind == TW_ZONE_PSYS;
}

/* It tells the directory of a zone, not the file. */
static const char *directory(const char *path, char out[TW_ZONE_PATH])
{
	static const char file[] = "/energy_uj";
	const size_t len = strlen(path), n = sizeof(file) - 1;

	if (len <= n || strcmp(path + len - n, file) != 0)
		return path;
	memcpy(out, path, len - n);
	out[len - n] = '\0';
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
			char path[TW_ZONE_PATH];

			if (!tw_exposure_believes(x, &z[i]) || !is_cpu(z[i].zone->kind))
				continue;
			tw_labels_add(&l, "zone", tw_zone_kind_name(z[i].zone->kind));
			tw_labels_add(&l, "path", directory(z[i].zone->path, path));
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

/* Who is asked by Redfish: what its URL has behind the scheme. */
static const char *bmc_id(const struct tw_exposure *x, const struct tw_power_zone *z,
			  char shown[TW_URL_SHOWN])
{
	const char *host;

	if (x->c->show.redfish == NULL || z->meter != &tw_meter_redfish)
		return "";
	host = strstr(tw_url_show(x->c->show.redfish, shown), "://");
	return host != NULL ? host + 3 : "";
}

/* What a chassis is called; of several power meters of one name, what is read. */
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
						     "Load of the processors, 0 to 1." };
	static const struct tw_expo_family platform =
		WATTS("kepler_platform_watts", "Power of the machine.");
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(x->c->power, &count);
	struct tw_labels l = { .count = 0 };
	char shown[TW_URL_SHOWN];

	tw_expo_family(x->e, &ratio);
	sample(x, &l, tw_node_load(&x->c->node));
	tw_expo_family(x->e, &platform);
	for (size_t i = 0; i < count; i++) {
		if (!z[i].told || z[i].zone->kind != TW_ZONE_PLATFORM)
			continue;
		l.count = 0;
		tw_labels_add(&l, "source", z[i].meter->name);
		tw_labels_add(&l, "bmc_id", bmc_id(x, &z[i], shown));
		tw_labels_add(&l, "chassis_id", chassis_id(z, count, i));
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

void tw_expose_kepler_node(const struct tw_exposure *x)
{
	expose_node(x);
	if (tw_power_meter(x->c->power, TW_ZONE_GPU) != NULL)
		expose_gpus(x);
	expose_usage(x);
	expose_processors(x);
}
