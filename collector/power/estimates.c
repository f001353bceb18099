/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/estimates.h"

#include "collector/power/estimates_parts.h"
#include "collector/power/model_keeper.h"
#include "collector/power/node.h"
#include "collector/system/virtual.h"
#include "estimator/asker.h"
#include "estimator/predict/power_model.h"
#include "lib/program/log.h"
#include "profiler/cpus.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const tw_estimated_idle_names[] = { "auto", "hide", "scale", NULL };

static const enum tw_zone_kind kind_of[TW_COMPONENT_COUNT] = {
	[TW_PACKAGE] = TW_ZONE_PACKAGE,   [TW_CORE] = TW_ZONE_CORE,
	[TW_UNCORE] = TW_ZONE_UNCORE,     [TW_DRAM] = TW_ZONE_DRAM,
	[TW_PLATFORM] = TW_ZONE_PLATFORM,
};

/* ---- opening ---- */

static struct tw_slot *slot_of(struct tw_estimates *e, const struct tw_energy_source *s)
{
	for (size_t i = 0; i < e->slots; i++)
		if (e->slot[i].source == s)
			return &e->slot[i];
	return NULL;
}

static int add_slot(struct tw_estimates *e, const struct tw_energy_source *source,
		    struct tw_err *err)
{
	if (e->slots == TW_ESTIMATES_MAX)
		return tw_fail(err, TW_INVALID, "more than %d models", TW_ESTIMATES_MAX);
	e->slot[e->slots++] = (struct tw_slot){ .source = source, .core_ratio = 1 };
	return 0;
}

static int add_file(struct tw_estimates *e, const char *path, struct tw_err *err)
{
	struct tw_power_model *model = NULL;
	struct tw_model_file file = { 0 };
	const struct tw_energy_source *source;
	struct tw_slot *s;

	if (tw_model_file_open(&file, path, &model, err) < 0)
		return -1;
	source = tw_power_model_info(model)->source;
	if (slot_of(e, source) != NULL) {
		tw_power_model_free(model);
		return tw_fail(err, TW_INVALID, "'%s': a second model of %s", path,
			       source->name);
	}
	if (add_slot(e, source, err) < 0) {
		tw_power_model_free(model);
		return -1;
	}
	s = &e->slot[e->slots - 1];
	s->file = file;
	snprintf(s->origin, sizeof(s->origin), "file");
	snprintf(s->from, sizeof(s->from), "%s", path);
	if (tw_slot_take(s, model, &e->features, e->cores, err) < 0)
		return tw_err_wrap(err, "'%s'", path);
	tw_slot_tell_loaded(s);
	return 0;
}

/* A source of which there is a file is asked of the estimator only. */
static int add_wishes(struct tw_estimates *e, struct tw_err *err)
{
	if (e->keeper_fd < 0 && e->asker == NULL)
		return 0;
	for (size_t i = 0; i < e->c.sources->count; i++) {
		const struct tw_energy_source *s =
			tw_energy_source_find(e->c.sources->at[i]);

		if (s == NULL)
			return tw_fail(err, TW_INVALID, "no energy source '%s'",
				       e->c.sources->at[i]);
		if (slot_of(e, s) == NULL && add_slot(e, s, err) < 0)
			return -1;
		if (i < TW_KEEPER_SOURCES_MAX)
			e->wished[i] = (size_t)(slot_of(e, s) - e->slot);
	}
	return e->keeper_fd < 0
		       ? 0
		       : tw_keeper_tell_metrics(e->keeper_fd, &e->features.names, err);
}

/* A component that two sources have is told once: kinds of zones are summed up. */
static void add_zones(struct tw_estimates *e)
{
	bool has[TW_COMPONENT_COUNT] = { false };

	for (size_t i = 0; i < e->slots; i++) {
		const struct tw_energy_source *s = e->slot[i].source;

		for (size_t k = 0; k < s->count; k++) {
			const enum tw_component c = s->components[k];
			struct tw_zone *z = &e->zone[e->zones];

			if (has[c])
				continue;
			has[c] = true;
			*z = (struct tw_zone){ .kind = kind_of[c],
					       .tells_power = true,
					       .estimated = true,
					       .package = -1 };
			snprintf(z->name, sizeof(z->name), "%s", tw_component_name(c));
			snprintf(z->path, sizeof(z->path), "model:%s", s->name);
			e->of[e->zones++] = (struct tw_estimated_zone){ i, c };
		}
	}
}

static int open_parts(struct tw_estimates *e, const struct tw_workloads *workloads,
		      struct tw_err *err)
{
	struct tw_err unknown = { 0 };

	/* Without it the ratio of cores is 1, as docs/wire.md has it. */
	if (tw_cores_discover(e->c.sys, &e->cores, &unknown) < 0)
		e->cores = 0;
	e->hide_idle = e->c.idle == TW_ESTIMATED_IDLE_AUTO
			       ? tw_is_virtual(e->c.proc, e->c.sys)
			       : e->c.idle == TW_ESTIMATED_IDLE_HIDE;
	if (tw_features_open(&e->features, e->node, workloads, err) < 0)
		return -1;
	for (size_t i = 0; e->c.paths != NULL && i < e->c.paths->count; i++)
		if (add_file(e, e->c.paths->at[i], err) < 0)
			return -1;
	if (e->c.estimator != NULL && tw_asker_open(e->c.estimator, &e->asker, err) < 0)
		return -1;
	if (add_wishes(e, err) < 0)
		return -1;
	if (e->slots == 0)
		return tw_fail(err, TW_NOTFOUND, "no model is given");
	add_zones(e);
	return 0;
}

int tw_estimates_open(const struct tw_estimates_config *c, const struct tw_node *node,
		      const struct tw_workloads *workloads, struct tw_estimates **out,
		      struct tw_err *err)
{
	struct tw_estimates *e = calloc(1, sizeof(*e));

	if (e == NULL) {
		if (c->keeper_fd >= 0)
			close(c->keeper_fd);
		return tw_fail(err, TW_NOMEM, "estimates");
	}
	e->c = *c;
	e->node = node;
	e->keeper_fd = c->keeper_fd;
	if (open_parts(e, workloads, err) < 0) {
		tw_estimates_close(e);
		return -1;
	}
	*out = e;
	return 0;
}

void tw_estimates_close(struct tw_estimates *e)
{
	if (e == NULL)
		return;
	for (size_t i = 0; i < e->slots; i++)
		tw_slot_release(&e->slot[i]);
	tw_asker_close(e->asker);
	tw_features_release(&e->features);
	if (e->keeper_fd >= 0)
		close(e->keeper_fd);
	free(e);
}

/* ---- what is told ---- */

int tw_estimates_fd(const struct tw_estimates *e)
{
	return e->keeper_fd;
}

const struct tw_zone *tw_estimates_zones(const struct tw_estimates *e, size_t *count)
{
	*count = e->zones;
	return e->zone;
}

size_t tw_estimates_count(const struct tw_estimates *e)
{
	return e->slots;
}

struct tw_estimate tw_estimates_at(const struct tw_estimates *e, size_t i)
{
	const struct tw_slot *s = &e->slot[i];

	return (struct tw_estimate){
		.source = s->source,
		.model = s->model,
		.origin = s->origin,
		.from = s->from,
		.core_ratio = s->by_estimator ? s->worth.core_ratio : s->core_ratio,
		.confirmed_s = s->confirmed_s,
		.loads = s->loads,
		.failures = s->failures,
		.failing = s->failing,
		.why = s->why,
		.told = s->told,
		.by_estimator = s->by_estimator,
		.worth = s->worth,
		.outside = s->outside,
		.rows = s->rows,
		.rows_outside = s->rows_outside,
		.ns = s->ns,
		.outside_ns = s->outside_ns,
	};
}

const char *tw_estimate_model(const struct tw_estimate *s)
{
	if (s->by_estimator)
		return s->worth.model;
	return s->model != NULL ? tw_power_model_info(s->model)->name : "";
}

struct tw_estimate tw_estimates_of_zone(const struct tw_estimates *e,
					const struct tw_zone *z)
{
	return tw_estimates_at(e, e->of[z - e->zone].slot);
}

double tw_estimates_mae(const struct tw_estimates *e, const struct tw_zone *z)
{
	const struct tw_estimated_zone *of = &e->of[z - e->zone];
	const struct tw_slot *s = &e->slot[of->slot];

	if (s->by_estimator)
		return s->worth.has[of->component] ? s->worth.mae_w[of->component] : NAN;
	if (s->model == NULL || s->part[of->component] < 0)
		return NAN;
	return tw_power_model_figure(s->model, (size_t)s->part[of->component], "mae");
}

const struct tw_estimator_counts *tw_estimates_asked(const struct tw_estimates *e)
{
	return e->asker != NULL ? &e->asked : NULL;
}

bool tw_estimates_hide_idle(const struct tw_estimates *e)
{
	return e->hide_idle;
}
