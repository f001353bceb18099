/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/collector.h"
#include "collector/expose/expose.h"
#include "collector/power/attribute.h"
#include "collector/power/node.h"
#include "collector/power/power.h"
#include "collector/workloads/pods.h"
#include "lib/core/array.h"

#include <stdio.h>

static const struct tw_expo_family zone_energy = {
	"tallywatt_node_energy_joules_total", TW_EXPO_COUNTER, "joules",
	"Energy of the machine, by zone and mode. Zones overlap."
};
static const struct tw_expo_family zone_power = { "tallywatt_node_power_watts",
						  TW_EXPO_GAUGE, "watts",
						  "Power in the last tick." };
static const struct tw_expo_family zone_idle = {
	"tallywatt_node_idle_power_watts", TW_EXPO_GAUGE, "watts",
	"Idle power: learned, or from the model."
};
static const struct tw_expo_family zone_up = { "tallywatt_meter_up", TW_EXPO_GAUGE, NULL,
					       "1 if the zone was read in the last "
					       "tick; else `reason` says why not." };
static const struct tw_expo_family zone_lost[] = {
	{ "tallywatt_meter_wraps_total", TW_EXPO_COUNTER, NULL,
	  "Wrap-arounds of energy counters at their range." },
	{ "tallywatt_meter_resets_total", TW_EXPO_COUNTER, NULL,
	  "Resets of energy counters: the energy of that tick is lost." },
	{ "tallywatt_meter_refused_total", TW_EXPO_COUNTER, NULL,
	  "Readings rejected as impossible." },
};

static const struct tw_expo_family zone_info = {
	"tallywatt_meter_info", TW_EXPO_INFO, NULL,
	"Whether a zone reports energy or power, the time that power averages, and the "
	"origin of power that the host has passed on."
};

/* The labels of a zone: its meter, kind and name. */
static void label_zone(struct tw_labels *l, const struct tw_power_zone *z)
{
	l->count = 0;
	tw_labels_add(l, "zone", tw_zone_kind_name(z->zone->kind));
	tw_labels_add(l, "name", z->zone->name);
	tw_labels_add(l, "path", z->zone->path);
	if (z->zone->package >= 0) {
		snprintf(l->text[0], sizeof(l->text[0]), "%d", z->zone->package);
		tw_labels_add(l, "package", l->text[0]);
	}
	if (z->zone->kind == TW_ZONE_GPU) {
		tw_labels_add(l, "gpu", z->zone->gpu.index);
		tw_labels_add(l, "uuid", z->zone->gpu.uuid);
	}
	tw_labels_add(l, "source", z->source);
}

static void expose_energy(const struct tw_exposure *x, const struct tw_power_zone *z,
			  size_t count)
{
	tw_expo_family(x->e, &zone_energy);
	for (size_t i = 0; i < count; i++) {
		struct tw_labels l;

		/* The sum of a zone's meters goes on where another meter takes over. */
		if (!tw_exposure_believes(x, &z[i]) &&
		    (!z[i].superseded || z[i].dynamic_uj + z[i].idle_uj == 0))
			continue;
		label_zone(&l, &z[i]);
		tw_labels_add(&l, "mode", tw_mode_name(false));
		tw_expo_sample(x->e, l.at, l.count, tw_joules(z[i].dynamic_uj));
		l.at[l.count - 1].value = tw_mode_name(true);
		tw_expo_sample(x->e, l.at, l.count, tw_joules(z[i].idle_uj));
	}
}

static double power_of(const struct tw_power_zone *z)
{
	return z->power_w;
}

static double idle_of(const struct tw_power_zone *z)
{
	return z->idle_w;
}

/* Rules and queries select the zones of a sum by it: see docs/prometheus.md. */
static void expose_sum(const struct tw_exposure *x)
{
	static const struct tw_expo_family family = {
		"tallywatt_node_sum_info", TW_EXPO_INFO, NULL,
		"Zones whose sum is the power of the machine and of workloads. They do "
		"not overlap."
	};

	tw_expo_family(x->e, &family);
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++) {
		const struct tw_expo_label l = {
			"zone", tw_zone_kind_name((enum tw_zone_kind)kind)
		};

		if ((x->sum >> kind & 1) != 0)
			tw_expo_count(x->e, &l, 1, 1);
	}
}

/* Watts of the zones that were read. 0 means unknown, except for estimates. */
static void expose_watts(const struct tw_exposure *x, const struct tw_power_zone *z,
			 size_t count, const struct tw_expo_family *family,
			 double (*watts)(const struct tw_power_zone *))
{
	tw_expo_family(x->e, family);
	for (size_t i = 0; i < count; i++) {
		struct tw_labels l;

		if (!z[i].told || !(watts(&z[i]) > 0 || z[i].zone->estimated))
			continue;
		label_zone(&l, &z[i]);
		tw_expo_sample(x->e, l.at, l.count, watts(&z[i]));
	}
}

/* window_seconds is "" if the meter does not report it. */
static void expose_info(const struct tw_exposure *x, const struct tw_power_zone *z,
			size_t count)
{
	tw_expo_family(x->e, &zone_info);
	for (size_t i = 0; i < count; i++) {
		const uint64_t ms = z[i].zone->window_ms;
		struct tw_labels l;

		label_zone(&l, &z[i]);
		l.text[1][0] = '\0';
		if (ms != 0)
			snprintf(l.text[1], sizeof(l.text[1]), "%g", (double)ms / 1e3);
		tw_labels_add(&l, "reports",
			      z[i].zone->reports_power ? "power" : "energy");
		tw_labels_add(&l, "window_seconds", l.text[1]);
		if (z[i].zone->origin.source[0] != '\0') {
			tw_labels_add(&l, "origin", z[i].zone->origin.source);
			tw_labels_add(&l, "model", z[i].zone->origin.model);
		}
		tw_expo_count(x->e, l.at, l.count, 1);
	}
}

static void expose_up(const struct tw_exposure *x, const struct tw_power_zone *z,
		      size_t count)
{
	tw_expo_family(x->e, &zone_up);
	for (size_t i = 0; i < count; i++) {
		struct tw_labels l;

		label_zone(&l, &z[i]);
		tw_labels_add(&l, "reason", z[i].why);
		tw_expo_count(x->e, l.at, l.count, z[i].told);
	}
	for (size_t f = 0; f < TW_COUNT(zone_lost); f++) {
		tw_expo_family(x->e, &zone_lost[f]);
		for (size_t i = 0; i < count; i++) {
			const uint64_t value[] = { z[i].track.wraps, z[i].track.resets,
						   z[i].track.refused };
			struct tw_labels l;

			label_zone(&l, &z[i]);
			tw_expo_count(x->e, l.at, l.count, value[f]);
		}
	}
}

/* ---- what the kernel counts ---- */

static void expose_counts(const struct tw_exposure *x)
{
	static const struct tw_expo_family cpu = { "tallywatt_node_cpu_seconds_total",
						   TW_EXPO_COUNTER, "seconds",
						   "CPU time of the machine, by mode." };
	static const struct tw_expo_family counters[] = {
		{ "tallywatt_node_context_switches_total", TW_EXPO_COUNTER, NULL,
		  "Context switches." },
		{ "tallywatt_node_interrupts_total", TW_EXPO_COUNTER, NULL,
		  "Interrupts." },
		{ "tallywatt_node_page_faults_total", TW_EXPO_COUNTER, NULL,
		  "Page faults." },
	};
	static const struct tw_expo_family softirqs = { "tallywatt_node_softirqs_total",
							TW_EXPO_COUNTER, NULL,
							"Softirqs, by vector." };
	const struct tw_node *n = &x->c->node;
	const uint64_t value[] = { n->total.context_switches, n->total.interrupts,
				   n->total.page_faults };

	if (!n->there)
		return;
	tw_expo_family(x->e, &cpu);
	for (int i = 0; i < TW_CPU_MODE_COUNT; i++) {
		const struct tw_expo_label l = { "mode",
						 tw_cpu_mode_name((enum tw_cpu_mode)i) };

		tw_expo_sample(x->e, &l, 1, (double)n->total.cpu_ms[i] / 1e3);
	}
	for (size_t i = 0; i < TW_COUNT(counters); i++) {
		tw_expo_family(x->e, &counters[i]);
		tw_expo_count(x->e, NULL, 0, value[i]);
	}
	tw_expo_family(x->e, &softirqs);
	for (int i = 0; i < TW_SOFTIRQ_COUNT; i++) {
		const struct tw_expo_label l = { "vector",
						 tw_softirq_name((enum tw_softirq)i) };

		tw_expo_count(x->e, &l, 1, n->total.softirqs[i]);
	}
}

static void expose_frequencies(const struct tw_exposure *x)
{
	static const struct tw_expo_family family = {
		"tallywatt_node_cpu_frequency_hertz", TW_EXPO_GAUGE, "hertz",
		"Frequency of a CPU."
	};
	const struct tw_node *n = &x->c->node;

	if (n->frequencies == 0)
		return;
	tw_expo_family(x->e, &family);
	for (size_t i = 0; i < n->frequencies; i++) {
		char cpu[24];
		const struct tw_expo_label l = { "cpu", cpu };

		snprintf(cpu, sizeof(cpu), "%zu", i);
		if (n->hz[i] != 0)
			tw_expo_count(x->e, &l, 1, n->hz[i]);
	}
}

/* ---- the machine ---- */

/* Attributes that are not known have no label. */
static void expose_spec(const struct tw_exposure *x)
{
	static const struct tw_expo_family family = {
		"tallywatt_node_info", TW_EXPO_INFO, NULL,
		"Machine: memory in GiB, frequency in MHz."
	};
	const struct tw_machine_spec *s = &x->c->spec;
	const struct {
		const char *name;
		uint32_t value;
	} figures[] = { { "cores", s->cores },
			{ "chips", s->chips },
			{ "memory", s->memory_gib },
			{ "frequency", s->frequency_mhz },
			{ "threads_per_core", s->threads_per_core } };
	char text[TW_COUNT(figures)][12];
	struct tw_labels l = { .count = 0 };

	if (!tw_machine_spec_known(s))
		return;
	if (s->vendor[0] != '\0')
		tw_labels_add(&l, "vendor", s->vendor);
	if (s->processor[0] != '\0')
		tw_labels_add(&l, "processor", s->processor);
	for (size_t i = 0; i < TW_COUNT(figures); i++) {
		snprintf(text[i], sizeof(text[i]), "%u", figures[i].value);
		if (figures[i].value != 0)
			tw_labels_add(&l, figures[i].name, text[i]);
	}
	tw_expo_family(x->e, &family);
	tw_expo_sample(x->e, l.at, l.count, 1);
}

/* ---- attribution ---- */

static void expose_attribution(const struct tw_exposure *x)
{
	static const struct tw_expo_family waiting = {
		"tallywatt_node_unattributed_joules", TW_EXPO_GAUGE, "joules",
		"Energy that is not attributed to a workload."
	};
	static const struct tw_expo_family errors = {
		"tallywatt_collector_attribution_errors_total", TW_EXPO_COUNTER, NULL,
		"Attributions whose parts did not add up to the whole."
	};
	const struct tw_attribution_stats *s = tw_attribution_stats(x->c->attribution);

	tw_expo_family(x->e, &errors);
	tw_expo_count(x->e, NULL, 0, s->errors);
	tw_expo_family(x->e, &waiting);
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++) {
		const struct tw_expo_label l = {
			"zone", tw_zone_kind_name((enum tw_zone_kind)kind)
		};

		if (tw_exposure_source(x, (enum tw_zone_kind)kind) != NULL)
			tw_expo_sample(x->e, &l, 1,
				       tw_joules(s->waiting.dynamic_uj[kind] +
						 s->waiting.idle_uj[kind]));
	}
}

/* ---- names ---- */

static void expose_pods(const struct tw_exposure *x)
{
	static const struct tw_expo_family up = {
		"tallywatt_pod_names_up", TW_EXPO_GAUGE, NULL,
		"1 if the last request for pod names succeeded; else `reason` says "
		"why not."
	};
	static const struct tw_expo_family known = { "tallywatt_pod_names", TW_EXPO_GAUGE,
						     NULL,
						     "Containers and pods with known "
						     "names." };
	static const struct tw_expo_family counts[] = {
		{ "tallywatt_pod_names_answers_total", TW_EXPO_COUNTER, NULL,
		  "Successful requests for pod names." },
		{ "tallywatt_pod_names_failures_total", TW_EXPO_COUNTER, NULL,
		  "Failed requests for pod names." },
		{ "tallywatt_pod_names_left_out_total", TW_EXPO_COUNTER, NULL,
		  "Names dropped because the table was full." },
	};
	const struct tw_pods_stats *s = tw_pods_stats(x->c->pods);
	const struct tw_expo_label reason = { "reason", s->why };
	const uint64_t value[] = { s->rounds, s->failures, s->left_out };

	tw_expo_family(x->e, &up);
	tw_expo_count(x->e, &reason, 1, s->up);
	tw_expo_family(x->e, &known);
	tw_expo_count(x->e, NULL, 0, s->known);
	for (size_t i = 0; i < TW_COUNT(counts); i++) {
		tw_expo_family(x->e, &counts[i]);
		tw_expo_count(x->e, NULL, 0, value[i]);
	}
}

void tw_expose_node(const struct tw_exposure *x)
{
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(x->c->power, &count);

	if (count > 0) {
		expose_energy(x, z, count);
		expose_watts(x, z, count, &zone_power, power_of);
		expose_watts(x, z, count, &zone_idle, idle_of);
		expose_up(x, z, count);
		expose_info(x, z, count);
		expose_sum(x);
		expose_attribution(x);
	}
	expose_spec(x);
	expose_counts(x);
	expose_frequencies(x);
	if (x->c->pods != NULL)
		expose_pods(x);
}
