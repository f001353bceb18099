/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/collector.h"
#include "collector/expose/expose.h"
#include "collector/power/attribute.h"
#include "collector/power/node.h"
#include "collector/power/power.h"
#include "collector/power/tariff.h"
#include "collector/workloads/pods.h"
#include "lib/core/array.h"

#include <stdio.h>

/* ---- zones ---- */

enum { ENERGY, POWER, IDLE_POWER, IDLE_KNOWN, UP, VIOLATION, INFO };

static const struct tw_expo_family zones[] = {
	[ENERGY] = { "tallywatt_node_energy_joules_total", TW_EXPO_COUNTER, "joules",
		     "Energy of the machine, by zone and mode. Zones overlap." },
	[POWER] = { "tallywatt_node_power_watts", TW_EXPO_GAUGE, "watts",
		    "Power in the last tick." },
	[IDLE_POWER] = { "tallywatt_node_idle_power_watts", TW_EXPO_GAUGE, "watts",
			 "Idle power: learned, or from the model." },
	[IDLE_KNOWN] = { "tallywatt_node_idle_power_known", TW_EXPO_GAUGE, NULL,
			 "1 if the idle power of the zone is known; 0: it is in its "
			 "dynamic energy." },
	[UP] = { "tallywatt_meter_up", TW_EXPO_GAUGE, NULL,
		 "1 if the zone was read in the last tick; else `reason` says why not." },
	[VIOLATION] = { "tallywatt_meter_violation", TW_EXPO_GAUGE, NULL,
			"1 for a zone whose readings contradict physics; `reason` says "
			"how." },
	[INFO] = { "tallywatt_meter_info", TW_EXPO_INFO, NULL,
		   "Whether a zone reports energy or power, the time that power "
		   "averages, "
		   "and the origin of power that the host has passed on." },
};

#define LOST(name, help, member) \
	TW_EXPO_ROW(name, TW_EXPO_COUNTER, NULL, help, struct tw_power_zone, member, 1)

static const struct tw_expo_row lost[] = {
	LOST("tallywatt_meter_wraps_total",
	     "Wrap-arounds of energy counters at their range.", track.wraps),
	LOST("tallywatt_meter_resets_total",
	     "Resets of energy counters: the energy of that tick is lost.", track.resets),
	LOST("tallywatt_meter_refused_total", "Readings rejected as impossible.",
	     track.refused),
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

static void expose_energy(const struct tw_exposure *x, const struct tw_power_zone *z)
{
	struct tw_labels l;

	/* The sum of a zone's meters goes on where another meter takes over. */
	if (!tw_exposure_believes(z) &&
	    (!z->superseded || z->dynamic_uj + z->idle_uj == 0))
		return;
	label_zone(&l, z);
	tw_labels_add(&l, "mode", tw_mode_name(false));
	tw_expo_sample(x->e, l.at, l.count, tw_joules(z->dynamic_uj));
	l.at[l.count - 1].value = tw_mode_name(true);
	tw_expo_sample(x->e, l.at, l.count, tw_joules(z->idle_uj));
}

/* Watts of a zone that was read. 0 means unknown, except for estimates. */
static void expose_watts(const struct tw_exposure *x, const struct tw_power_zone *z,
			 double watts)
{
	struct tw_labels l;

	if (!z->fresh || !(watts > 0 || z->zone->estimated))
		return;
	label_zone(&l, z);
	tw_expo_sample(x->e, l.at, l.count, watts);
}

static void expose_power(const struct tw_exposure *x, const struct tw_power_zone *z)
{
	expose_watts(x, z, z->power_w);
}

static void expose_idle(const struct tw_exposure *x, const struct tw_power_zone *z)
{
	expose_watts(x, z, z->idle_w);
}

static void expose_idle_known(const struct tw_exposure *x, const struct tw_power_zone *z)
{
	struct tw_labels l;

	if (!tw_exposure_believes(z))
		return;
	label_zone(&l, z);
	tw_expo_count(x->e, l.at, l.count, tw_power_knows_idle(x->c->power, z));
}

static void expose_up(const struct tw_exposure *x, const struct tw_power_zone *z)
{
	struct tw_labels l;

	label_zone(&l, z);
	tw_labels_add(&l, "reason", z->why);
	tw_expo_count(x->e, l.at, l.count, z->fresh);
}

static void expose_violation(const struct tw_exposure *x, const struct tw_power_zone *z)
{
	struct tw_labels l;

	if (z->doubt[0] == '\0')
		return;
	label_zone(&l, z);
	tw_labels_add(&l, "reason", z->doubt);
	tw_expo_count(x->e, l.at, l.count, 1);
}

/* window_seconds is "" if the meter does not report it. */
static void expose_info(const struct tw_exposure *x, const struct tw_power_zone *z)
{
	const struct tw_zone *zone = z->zone;
	struct tw_labels l;

	label_zone(&l, z);
	l.text[1][0] = '\0';
	if (zone->window_ms != 0)
		snprintf(l.text[1], sizeof(l.text[1]), "%g",
			 (double)zone->window_ms / 1e3);
	tw_labels_add(&l, "reports", zone->reports_power ? "power" : "energy");
	tw_labels_add(&l, "window_seconds", l.text[1]);
	if (zone->origin.source[0] != '\0') {
		tw_labels_add(&l, "origin", zone->origin.source);
		tw_labels_add(&l, "model", zone->origin.model);
	}
	tw_expo_count(x->e, l.at, l.count, 1);
}

static void expose_family(const struct tw_exposure *x, const struct tw_expo_family *f,
			  void (*write)(const struct tw_exposure *x,
					const struct tw_power_zone *z))
{
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(x->c->power, &count);

	tw_expo_family(x->e, f);
	for (size_t i = 0; i < count; i++)
		write(x, &z[i]);
}

static void expose_lost(const struct tw_exposure *x)
{
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(x->c->power, &count);

	for (size_t r = 0; r < TW_COUNT(lost); r++) {
		tw_expo_family(x->e, &lost[r].family);
		for (size_t i = 0; i < count; i++) {
			struct tw_labels l;

			label_zone(&l, &z[i]);
			tw_expo_number(x->e, &lost[r], &l, &z[i]);
		}
	}
}

/* ---- by kind of zone ---- */

enum { SUM, RULE, UNATTRIBUTED };

static const struct tw_expo_family kinds[] = {
	/* Rules and queries select the zones of a sum by it: see docs/prometheus.md. */
	[SUM] = { "tallywatt_node_sum_info", TW_EXPO_INFO, NULL,
		  "Zones whose sum is the power of the machine and of workloads. They do "
		  "not overlap." },
	[RULE] = { "tallywatt_node_attribution_info", TW_EXPO_INFO, NULL,
		   "The rule that last divided the dynamic energy of a zone: "
		   "plain, package, or learned." },
	[UNATTRIBUTED] = { "tallywatt_node_unattributed_joules", TW_EXPO_GAUGE, "joules",
			   "Energy that is not attributed to a workload." },
};

static const struct tw_expo_row errors[] = {
	TW_EXPO_ROW("tallywatt_collector_attribution_errors_total", TW_EXPO_COUNTER, NULL,
		    "Attributions whose parts did not add up to the whole.",
		    struct tw_attribution_stats, errors, 1),
};

/* A GPU's energy is divided by its meter. */
static void expose_rule(const struct tw_exposure *x, enum tw_zone_kind kind)
{
	const struct tw_expo_label l[] = {
		{ "zone", tw_zone_kind_name(kind) },
		{ "rule", tw_attribution_rule(x->c->attribution, kind) },
	};

	if (kind != TW_ZONE_GPU && kind != TW_ZONE_SENSOR &&
	    tw_exposure_source(x, kind) != NULL)
		tw_expo_sample(x->e, l, TW_COUNT(l), 1);
}

static void expose_kinds(const struct tw_exposure *x)
{
	const struct tw_attribution_stats *s = tw_attribution_stats(x->c->attribution);

	tw_expo_family(x->e, &kinds[SUM]);
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++)
		if ((x->sum >> kind & 1) != 0)
			tw_expo_count_by(x->e, "zone",
					 tw_zone_kind_name((enum tw_zone_kind)kind), 1);
	tw_expo_family(x->e, &kinds[RULE]);
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++)
		expose_rule(x, (enum tw_zone_kind)kind);
	tw_expo_numbers(x->e, errors, TW_COUNT(errors), s);
	tw_expo_family(x->e, &kinds[UNATTRIBUTED]);
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

/* ---- tariffs ---- */

enum { TOTAL, UNKNOWN, RATE, TARIFF_UP, TARIFF_FAMILIES };

#define TARIFF(total, total_unit, name, per_kwh, what)                                \
	{                                                                             \
		[TOTAL] = { "tallywatt_node_" total "_total", TW_EXPO_COUNTER,        \
			    total_unit, what " of the machine's energy." },           \
		[UNKNOWN] = { "tallywatt_node_" name "_unknown_joules_total",         \
			      TW_EXPO_COUNTER, "joules",                              \
			      "Energy of times at which the tariff was not known." }, \
		[RATE] = { "tallywatt_" per_kwh, TW_EXPO_GAUGE, NULL,                 \
			   what " of a kWh." },                                       \
		[TARIFF_UP] = {                                                       \
			"tallywatt_" name "_up", TW_EXPO_GAUGE, NULL,                 \
			"1 if the tariff is known; else `reason` says why not."       \
		},                                                                    \
	}

static const struct tw_expo_family tariffs[TW_TARIFF_COUNT][TARIFF_FAMILIES] = {
	[TW_TARIFF_CO2E] =
		TARIFF("co2e_grams", "grams", "co2e", "co2e_grams_per_kwh", "CO2e"),
	[TW_TARIFF_PRICE] = TARIFF("cost", NULL, "cost", "price_per_kwh", "Price"),
};

static void expose_tariff(const struct tw_exposure *x, enum tw_tariff tariff)
{
	const struct tw_tariff_state *s = tw_tariff_of(x->c->tariffs, tariff);
	const struct tw_expo_family *f = tariffs[tariff];

	if (s == NULL)
		return;
	tw_expo_family(x->e, &f[TOTAL]);
	tw_expo_fixed(x->e, NULL, 0, s->pico, 12);
	tw_expo_family(x->e, &f[UNKNOWN]);
	tw_expo_fixed(x->e, NULL, 0, s->unknown_uj, 6);
	tw_expo_family(x->e, &f[RATE]);
	if (s->why[0] == '\0')
		tw_expo_sample(x->e, NULL, 0, s->per_kwh);
	tw_expo_family(x->e, &f[TARIFF_UP]);
	tw_expo_count_by(x->e, "reason", s->why, s->why[0] == '\0');
}

/* ---- the machine, and what the kernel counts ---- */

enum { SPEC, CPU_TIME, SOFTIRQS, FREQUENCY };

static const struct tw_expo_family machine[] = {
	[SPEC] = { "tallywatt_node_info", TW_EXPO_INFO, NULL,
		   "Machine: memory in GiB, frequency in MHz." },
	[CPU_TIME] = { "tallywatt_node_cpu_seconds_total", TW_EXPO_COUNTER, "seconds",
		       "CPU time of the machine, by mode." },
	[SOFTIRQS] = { "tallywatt_node_softirqs_total", TW_EXPO_COUNTER, NULL,
		       "Softirqs, by vector." },
	[FREQUENCY] = { "tallywatt_node_cpu_frequency_hertz", TW_EXPO_GAUGE, "hertz",
			"Frequency of a CPU." },
};

#define COUNT(name, help, member) \
	TW_EXPO_ROW(name, TW_EXPO_COUNTER, NULL, help, struct tw_node_counts, member, 1)

static const struct tw_expo_row counts[] = {
	COUNT("tallywatt_node_context_switches_total", "Context switches.",
	      context_switches),
	COUNT("tallywatt_node_interrupts_total", "Interrupts.", interrupts),
	COUNT("tallywatt_node_page_faults_total", "Page faults.", page_faults),
};

static void expose_counts(const struct tw_exposure *x)
{
	const struct tw_node *n = &x->c->node;

	if (!n->fresh)
		return;
	tw_expo_family(x->e, &machine[CPU_TIME]);
	for (int i = 0; i < TW_CPU_MODE_COUNT; i++) {
		const struct tw_expo_label l = { "mode", tw_cpu_mode_names[i] };

		tw_expo_sample(x->e, &l, 1, (double)n->total.cpu_ms[i] / 1e3);
	}
	tw_expo_numbers(x->e, counts, TW_COUNT(counts), &n->total);
	tw_expo_family(x->e, &machine[SOFTIRQS]);
	for (int i = 0; i < TW_SOFTIRQ_COUNT; i++)
		tw_expo_count_by(x->e, "vector", tw_softirq_names[i],
				 n->total.softirqs[i]);
}

static void expose_frequencies(const struct tw_exposure *x)
{
	const struct tw_node *n = &x->c->node;

	if (n->frequencies == 0)
		return;
	tw_expo_family(x->e, &machine[FREQUENCY]);
	for (size_t i = 0; i < n->frequencies; i++) {
		char cpu[24];

		snprintf(cpu, sizeof(cpu), "%zu", i);
		if (n->hz[i] != 0)
			tw_expo_count_by(x->e, "cpu", cpu, n->hz[i]);
	}
}

/* Attributes that are not known have no label. */
static void expose_spec(const struct tw_exposure *x)
{
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
	tw_expo_family(x->e, &machine[SPEC]);
	tw_expo_sample(x->e, l.at, l.count, 1);
}

/* ---- names ---- */

#define UP(of)                                                      \
	{                                                           \
		"tallywatt_" of "_names_up", TW_EXPO_GAUGE, NULL,   \
			"1 if the last request for " of             \
			" names succeeded; else `reason` says why " \
			"not."                                      \
	}
#define NAMES(name, type, help, member) \
	TW_EXPO_ROW(name, type, NULL, help, struct tw_pods_stats, member, 1)

/*
 * Families of a kind of names: pods with their containers, or containers without a pod.
 */
#define ALL_NAMES(of, known_text)                                               \
	NAMES("tallywatt_" of "_names", TW_EXPO_GAUGE, known_text, known),      \
		NAMES("tallywatt_" of "_names_answers_total", TW_EXPO_COUNTER,  \
		      "Successful requests for " of " names.", rounds),         \
		NAMES("tallywatt_" of "_names_failures_total", TW_EXPO_COUNTER, \
		      "Failed requests for " of " names.", failures),           \
		NAMES("tallywatt_" of "_names_left_out_total", TW_EXPO_COUNTER, \
		      "Names of " of "s dropped because the table was full.", left_out)

static const struct tw_expo_family pods_up[] = { UP("pod") };
static const struct tw_expo_family engines_up[] = { UP("container") };

static const struct tw_expo_row pods[] = {
	ALL_NAMES("pod", "Containers and pods with known names."),
};
static const struct tw_expo_row engines[] = {
	ALL_NAMES("container", "Containers in no pod with known names."),
};

static void expose_names(const struct tw_exposure *x, const struct tw_pods *of,
			 const struct tw_expo_family *up, const struct tw_expo_row *rows)
{
	const struct tw_pods_stats *s = tw_pods_stats(of);

	tw_expo_family(x->e, up);
	tw_expo_count_by(x->e, "reason", s->why, s->up);
	tw_expo_numbers(x->e, rows, TW_COUNT(pods), s);
}

/* ---- ---- */

void tw_expose_node(const struct tw_exposure *x)
{
	size_t count;

	(void)tw_power_zones(x->c->power, &count);
	if (count > 0) {
		expose_family(x, &zones[ENERGY], expose_energy);
		expose_family(x, &zones[POWER], expose_power);
		expose_family(x, &zones[IDLE_POWER], expose_idle);
		expose_family(x, &zones[IDLE_KNOWN], expose_idle_known);
		expose_family(x, &zones[UP], expose_up);
		expose_family(x, &zones[VIOLATION], expose_violation);
		expose_lost(x);
		expose_family(x, &zones[INFO], expose_info);
		expose_kinds(x);
		for (int i = 0; i < TW_TARIFF_COUNT; i++)
			expose_tariff(x, (enum tw_tariff)i);
	}
	expose_spec(x);
	expose_counts(x);
	expose_frequencies(x);
	if (x->c->pods != NULL)
		expose_names(x, x->c->pods, pods_up, pods);
	if (x->c->engines != NULL)
		expose_names(x, x->c->engines, engines_up, engines);
}

const struct tw_expo_table tw_node_families[] = {
	TW_EXPO_TABLE(zones),
	TW_EXPO_TABLE(lost),
	TW_EXPO_TABLE(kinds),
	TW_EXPO_TABLE(errors),
	TW_EXPO_TABLE(machine),
	TW_EXPO_TABLE(counts),
	TW_EXPO_TABLE(pods_up),
	TW_EXPO_TABLE(pods),
	TW_EXPO_TABLE(engines_up),
	TW_EXPO_TABLE(engines),
	TW_EXPO_TABLE(tariffs[TW_TARIFF_CO2E]),
	TW_EXPO_TABLE(tariffs[TW_TARIFF_PRICE]),
	{ .first = NULL },
};
