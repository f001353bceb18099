/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Energy under names and labels of Kepler 0.5 to 0.9. The total of a series is that of
 * its modes dynamic and idle. What is in no container is two containers there, so that
 * the sum of all is the machine's: clients of that age train and draw by it.
 */
#include "collector/collector.h"
#include "collector/expose/expose.h"
#include "collector/meters/microarch.h"
#include "collector/power/power.h"
#include "lib/core/array.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

/* Kinds that have a name there. */
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
#define TOTAL(level)                                                        \
	{                                                                   \
		"kepler_" level "_joules_total", TW_EXPO_COUNTER, "joules", \
			"Energy of package, dram, other and gpu."           \
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

/* What is in no container; the second is the kernel's own threads. */
static const struct {
	const char *name, *name_space;
} outside[] = { { "system_processes", "system" }, { "kernel_processes", "kernel" } };

/* What is estimated has the name there that it had. */
static const char *source_name(const char *source)
{
	return strcmp(source, "model") == 0 ? "trained_power_model" : source;
}

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

static uint64_t energy_of(const struct tw_charge *c, enum tw_zone_kind kind, bool idle)
{
	return idle ? c->idle_uj[kind] : c->dynamic_uj[kind];
}

static uint64_t total_of(const struct tw_charge *c, bool idle)
{
	return energy_of(c, TW_ZONE_PACKAGE, idle) + energy_of(c, TW_ZONE_DRAM, idle) +
	       energy_of(c, TW_ZONE_GPU, idle) + energy_of(c, TW_ZONE_OTHER, idle);
}

/* kind NULL: the total. */
static void expose_modes(const struct tw_exposure *x, const struct tw_shown *s,
			 const enum tw_zone_kind *kind, const char *source)
{
	struct tw_buf b = { 0 };

	for (int idle = 0; idle < 2; idle++) {
		const struct tw_expo_label labels[] = { { "mode", tw_mode_name(idle) },
							{ "source", source } };
		const struct tw_expo_text more = tw_shown_text(x, &b, labels, 2);

		for (size_t i = 0; i < s->count; i++) {
			const struct tw_charge *c = &s->of[i].w->charged;

			tw_shown_say(x, s, i, &more,
				     kind != NULL ? energy_of(c, *kind, idle)
						  : total_of(c, idle),
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
		expose_modes(x, s, &kinds[i], source_name(source));
	}
	if (v->total.name == NULL ||
	    (!x->by_energy && tw_power_meter(x->c->power, TW_ZONE_GPU) == NULL))
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
	tw_expose_kepler_usage(x, &s, v->level);
	tw_shown_release(&s);
}

/* ---- node ---- */

/* By package where it is known; dies of one are told together, and so are cores. */
static void name_package(const struct tw_zone *z, char *text, size_t size,
			 const char **out)
{
	*out = z->kind == TW_ZONE_GPU ? z->gpu.index : z->name;
	if (z->package < 0)
		return;
	snprintf(text, size, "%d", z->package);
	*out = text;
}

static bool is_told_as(const struct tw_exposure *x, const struct tw_power_zone *z,
		       enum tw_zone_kind kind)
{
	return z->zone->kind == kind && tw_exposure_believes(x, z);
}

static bool is_same_package(const struct tw_power_zone *a, const struct tw_power_zone *b)
{
	return a->zone->package >= 0 && a->zone->package == b->zone->package;
}

/* Whether one before it has its label. */
static bool is_told_before(const struct tw_exposure *x, const struct tw_power_zone *z,
			   size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (is_told_as(x, &z[i], z[at].zone->kind) &&
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
		if (is_told_as(x, &z[i], z[at].zone->kind) &&
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
		tw_labels_add(&l, "source", source_name(z[at].meter->name));
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
		if (is_told_as(x, &z[i], kinds[zone]) && !is_told_before(x, z, i))
			expose_package(x, z, count, i);
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
