/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power by a trained model of what the machine does, where there is no meter: its
 * features are what the kernel counts and what workloads used, per second of the last
 * tick.
 */
#include "collector/meter.h"
#include "collector/node.h"
#include "estimator/power_model.h"
#include "lib/err.h"
#include "lib/strs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FEATURES_MAX 32

/* A feature of docs/wire.md, per second; NaN: not known now. */
struct told_feature {
	const char *name;
	double (*value)(const struct tw_node *n, double seconds);
};

static double cpu_mode(const struct tw_node *n, enum tw_cpu_mode mode, double seconds)
{
	return n->there ? (double)n->last.cpu_ms[mode] / seconds : NAN;
}

static double cpu_time(const struct tw_node *n, double seconds)
{
	return (double)n->used.cpu_ns / 1e6 / seconds;
}

static double frequency(const struct tw_node *n, double seconds)
{
	double sum = 0;

	(void)seconds;
	for (size_t i = 0; i < n->frequencies; i++)
		sum += (double)n->hz[i];
	return n->frequencies > 0 ? sum / (double)n->frequencies : NAN;
}

static double switches(const struct tw_node *n, double seconds)
{
	return n->there ? (double)n->last.context_switches / seconds : NAN;
}

static double interrupts(const struct tw_node *n, double seconds)
{
	return n->there ? (double)n->last.interrupts / seconds : NAN;
}

static double page_faults(const struct tw_node *n, double seconds)
{
	return n->there ? (double)n->last.page_faults / seconds : NAN;
}

#define MODE(id, mode)                                                   \
	static double mode_##id(const struct tw_node *n, double seconds) \
	{                                                                \
		return cpu_mode(n, mode, seconds);                       \
	}

MODE(irq, TW_CPU_IRQ)
MODE(nice, TW_CPU_NICE)
MODE(softirq, TW_CPU_SOFTIRQ)
MODE(system, TW_CPU_SYSTEM)
MODE(user, TW_CPU_USER)

static const struct told_feature features[] = {
	{ "bpf_cpu_time_ms", cpu_time },
	{ "cpu_scaling_frequency_hertz", frequency },
	{ "node_context_switches", switches },
	{ "node_cpu_irq_ms", mode_irq },
	{ "node_cpu_nice_ms", mode_nice },
	{ "node_cpu_softirq_ms", mode_softirq },
	{ "node_cpu_system_ms", mode_system },
	{ "node_cpu_user_ms", mode_user },
	{ "node_interrupts", interrupts },
	{ "node_page_faults", page_faults },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const enum tw_zone_kind kind_of[TW_COMPONENT_COUNT] = {
	[TW_PACKAGE] = TW_ZONE_PACKAGE,   [TW_CORE] = TW_ZONE_CORE,
	[TW_UNCORE] = TW_ZONE_UNCORE,     [TW_DRAM] = TW_ZONE_DRAM,
	[TW_PLATFORM] = TW_ZONE_PLATFORM,
};

struct model {
	struct tw_power_model *model;
	const struct tw_node *node;
	struct tw_zone zone[TW_COMPONENT_COUNT];
	uint32_t place[TW_COMPONENT_COUNT][FEATURES_MAX];
	size_t parts;
};

static void close_model(void *state)
{
	struct model *m = state;

	if (m == NULL)
		return;
	tw_power_model_free(m->model);
	free(m);
}

static int list_features(struct tw_strs *names, struct tw_err *err)
{
	for (size_t i = 0; i < COUNT(features); i++)
		if (tw_strs_adds(names, features[i].name, err) < 0)
			return -1;
	return 0;
}

static int add_part(struct model *m, const struct tw_strs *names, size_t part,
		    struct tw_err *err)
{
	struct tw_zone *z = &m->zone[part];
	const enum tw_component c = tw_power_model_component(m->model, part);

	*z = (struct tw_zone){ .kind = kind_of[c], .tells_power = true, .package = -1 };
	snprintf(z->name, sizeof(z->name), "%s", tw_component_name(c));
	snprintf(z->path, sizeof(z->path), "model:%s",
		 tw_power_model_info(m->model)->name);
	return tw_power_model_bind(m->model, part, names, m->place[part], err);
}

/* A model of a workload's power above idle is none of the machine's. */
static int check_model(const struct model *m, const char *path, struct tw_err *err)
{
	const struct tw_model_info *info = tw_power_model_info(m->model);

	if (info->output != TW_ABS_POWER)
		return tw_fail(err, TW_INVALID, "'%s': want a model of AbsPower, not %s",
			       path, tw_output_name(info->output));
	if (info->features.count > FEATURES_MAX)
		return tw_fail(err, TW_INVALID, "'%s': more than %d features", path,
			       FEATURES_MAX);
	return 0;
}

static int open_model(const struct tw_meter_config *c, void **state, struct tw_err *err)
{
	struct tw_strs names = { 0 };
	struct model *m = NULL;
	int rc = -1;

	if (c->model == NULL)
		return tw_fail(err, TW_NOTFOUND, "no model is given");
	m = calloc(1, sizeof(*m));
	if (m == NULL)
		return tw_fail(err, TW_NOMEM, "'%s'", c->model);
	m->node = c->node;
	if (tw_power_model_load(c->model, &m->model, err) < 0 ||
	    check_model(m, c->model, err) < 0 || list_features(&names, err) < 0)
		goto out;
	m->parts = tw_power_model_parts(m->model);
	for (size_t i = 0; i < m->parts; i++) {
		if (add_part(m, &names, i, err) < 0) {
			tw_err_wrap(err, "'%s'", c->model);
			goto out;
		}
	}

	*state = m;
	m = NULL;
	rc = 0;
out:
	tw_strs_clear(&names);
	close_model(m);
	return rc;
}

static const struct tw_zone *zones_of_model(const void *state, size_t *count)
{
	const struct model *m = state;

	*count = m->parts;
	return m->zone;
}

/* False: something that the part needs is not known now. */
static bool is_known(const struct model *m, size_t part, const double *x)
{
	const size_t count = tw_power_model_info(m->model)->features.count;

	for (size_t i = 0; i < count; i++)
		if (m->place[part][i] < COUNT(features) && isnan(x[m->place[part][i]]))
			return false;
	return true;
}

static void read_model(void *state, struct tw_reading *out)
{
	struct model *m = state;
	const double seconds = (double)m->node->elapsed_ns / 1e9;
	double x[COUNT(features)];

	for (size_t i = 0; i < COUNT(features); i++)
		x[i] = seconds > 0 ? features[i].value(m->node, seconds) : NAN;
	for (size_t part = 0; part < m->parts; part++) {
		const struct tw_rows in = { .x = x,
					    .rows = 1,
					    .stride = COUNT(features),
					    .place = m->place[part] };

		out[part] = (struct tw_reading){ 0 };
		if (!is_known(m, part, x)) {
			snprintf(out[part].why, sizeof(out[part].why),
				 "the machine's counters are not known");
			continue;
		}
		out[part].there = true;
		tw_power_model_predict(m->model, part, &in, &out[part].power_w);
	}
}

const struct tw_meter tw_meter_model = {
	.name = "model",
	.summary = "an estimate by a trained model: no measurement",
	.open = open_model,
	.zones = zones_of_model,
	.read = read_model,
	.close = close_model,
};
