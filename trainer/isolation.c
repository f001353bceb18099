/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/isolation.h"

#include "estimator/predict/power_model.h"
#include "isolator/workload_name.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "model-db/index/index_walk.h"
#include "trainer/extract/extract.h"
#include "trainer/response/machines.h"

#include <stdlib.h>
#include <string.h>

/* ---- idle responses ---- */

static int add_names(struct tw_profile *p, const struct tw_dataset *d, uint32_t node_type,
		     struct tw_err *err)
{
	for (size_t i = 0; i < d->ids.count; i++) {
		size_t len;
		const char *part = tw_workload_name(d->ids.at[i], &len);
		char *name;
		int status;

		if (tw_text_copy(part, len, &name, err) < 0)
			return -1;
		status = tw_profile_add_background(p, node_type, name, err);
		free(name);
		if (status < 0)
			return -1;
	}
	return 0;
}

static int add_rows(struct tw_profile *p, const struct tw_dataset *d,
		    const struct tw_energy_source *source, uint32_t node_type,
		    struct tw_err *err)
{
	for (size_t k = 0; k < source->count; k++) {
		const enum tw_component c = source->components[k];
		const double *watts = tw_dataset_find(d, tw_power_column(c));

		if (watts != NULL && tw_profile_add_power(p, source, c, node_type, watts,
							  d->rows, err) < 0)
			return -1;
	}
	return 0;
}

static int add_extracted(struct tw_profile *p, const struct tw_prom *idle,
			 const struct tw_extract_args *args, uint32_t node_type,
			 struct tw_err *err)
{
	struct tw_dataset d = { 0 }, all = { 0 };
	int rc = -1;

	if (tw_extract(idle, args, &d, err) < 0 ||
	    tw_isolate_aggregate(&d, &all, err) < 0 ||
	    add_rows(p, &all, args->source, node_type, err) < 0)
		goto out;
	if (args->level == TW_ROWS_CONTAINER && add_names(p, &d, node_type, err) < 0)
		goto out;
	rc = 0;
out:
	tw_dataset_release(&all);
	tw_dataset_release(&d);
	return rc;
}

/* Low is better. */
static int rank_group(const struct tw_prom *idle, const struct tw_feature_group *g)
{
	return 2 * tw_extract_of_node(idle, g) + g->by_name;
}

/* A feature group that the response has, with the source; of workloads, if possible. */
static const struct tw_feature_group *find_group(const struct tw_prom *idle,
						 const struct tw_energy_source *source)
{
	const struct tw_feature_group *found = NULL;

	for (size_t i = 0; i < tw_feature_group_count(); i++) {
		const struct tw_feature_group *g = tw_feature_group_at(i);

		if (tw_extract_has_both(idle, g, source) &&
		    (found == NULL || rank_group(idle, g) < rank_group(idle, found)))
			found = g;
	}
	return found;
}

/* The response of idle machines, and the part of one. */
struct idle {
	const struct tw_prom *all, *one;
};

/*
 * Add the rows of an energy source. Sources and groups are those of the whole response,
 * so that a machine that lacks a metric of one fails.
 */
static int add_source(struct tw_profile *p, const struct idle *idle,
		      const struct tw_energy_source *source, uint32_t node_type,
		      bool *any, struct tw_err *err)
{
	struct tw_extract_args args = {
		.source = source,
		.group = find_group(idle->all, source),
		.apart = true,
	};

	if (args.group == NULL)
		return 0;
	args.level = tw_extract_of_node(idle->all, args.group) ? TW_ROWS_NODE
							       : TW_ROWS_CONTAINER;
	if (add_extracted(p, idle->one, &args, node_type, err) < 0)
		return tw_err_wrap(err, "%s", source->name);
	*any = true;
	return 0;
}

static int add_sources(struct tw_profile *p, const struct idle *idle,
		       const struct tw_energy_source *own, uint32_t node_type,
		       struct tw_err *err)
{
	bool any = false;

	for (size_t i = 0; i < tw_energy_source_count(); i++)
		if (add_source(p, idle, tw_energy_source_at(i), node_type, &any, err) < 0)
			return -1;
	if (own != NULL && tw_energy_source_is_own(own) &&
	    add_source(p, idle, own, node_type, &any, err) < 0)
		return -1;
	if (!any)
		return tw_fail(err, TW_NOTFOUND,
			       "no energy source and feature group of which the response "
			       "has all metrics");
	return 0;
}

int tw_profile_add_response(struct tw_profile *p, const struct tw_prom *idle,
			    const struct tw_prom *one, const struct tw_energy_source *own,
			    uint32_t node_type, struct tw_err *err)
{
	return add_sources(p, &(struct idle){ idle, one }, own, node_type, err);
}

/* Find the part of a machine of the data: by its name, or that of the only one. */
static int find_part(const struct tw_machines *rest, const struct tw_prom *idle,
		     const char *name, bool only, const struct tw_prom **out,
		     struct tw_err *err)
{
	size_t i = 0;

	while (i < rest->count && (name == NULL || strcmp(rest->name[i], name) != 0))
		i++;
	if (i == rest->count && (!only || rest->count > 1))
		return tw_fail(err, TW_INVALID,
			       "the response at rest has no machine '%.60s'",
			       name != NULL ? name : "");
	*out = tw_machines_part(rest, i, idle);
	return 0;
}

static int add_machines(struct tw_isolation *s, const struct tw_isolation_config *config,
			const struct tw_isolation_machine *machine, size_t machines,
			struct tw_err *err)
{
	struct tw_machines rest = { 0 };
	int rc = -1;

	if (tw_machines_find(config->idle, NULL, TW_PARTS_OF_SEVERAL, &rest, err) < 0)
		goto out;
	for (size_t i = 0; i < machines; i++) {
		const struct tw_prom *one;

		if (find_part(&rest, config->idle, machine[i].name, machines == 1, &one,
			      err) < 0 ||
		    tw_profile_add_response(&s->own, config->idle, one, config->source,
					    machine[i].node_type, err) < 0)
			goto out;
	}
	rc = 0;
out:
	tw_machines_release(&rest);
	return rc;
}

/* ---- models of a pipeline ---- */

struct loading {
	struct tw_isolation *to;
	const char *pipeline;
};

static int load_model(void *arg, const struct tw_index_place *at, struct tw_err *err)
{
	const struct loading *l = arg;
	struct tw_isolation *s = l->to;

	if (at->output != TW_ABS_POWER || strcmp(at->pipeline, l->pipeline) != 0)
		return 0;
	if (!tw_resize(&s->model, s->models + 1, sizeof(*s->model)))
		return tw_fail(err, TW_NOMEM, "%zu models", s->models + 1);
	if (tw_power_model_load(at->path, &s->model[s->models], err) < 0)
		return -1;
	s->models++;
	return 0;
}

/* Skip database entries that do not load. */
static void skip_entry(void *arg, const char *path, const struct tw_err *why)
{
	(void)arg;
	(void)path;
	(void)why;
}

static int load_models(struct tw_isolation *s, const struct tw_isolation_config *c,
		       struct tw_err *err)
{
	struct loading l = { s, c->abs_pipeline };

	if (tw_index_walk(c->model_db, NULL, load_model, skip_entry, &l, err) < 0)
		return -1;
	if (s->models == 0)
		return tw_fail(err, TW_INVALID,
			       "pipeline '%.128s' has no AbsPower model, or there is no "
			       "such pipeline in '%s'",
			       c->abs_pipeline, c->model_db);
	return 0;
}

/* ---- isolation ---- */

static int check_needs(const struct tw_isolator *isolator,
		       const struct tw_isolation_config *c, struct tw_err *err)
{
	if (isolator->needs_profile && c->idle == NULL && c->profile == NULL)
		return tw_fail(err, TW_INVALID,
			       "%s needs a response of the machine at rest, or a profile",
			       isolator->name);
	if (isolator->needs_models && (c->model_db == NULL || c->abs_pipeline == NULL))
		return tw_fail(
			err, TW_INVALID,
			"%s needs a model database, and the name of a pipeline in it",
			isolator->name);
	return 0;
}

int tw_isolation_init(const struct tw_isolator *isolator,
		      const struct tw_isolation_config *config,
		      const struct tw_isolation_machine *machine, size_t machines,
		      struct tw_isolation *out, struct tw_err *err)
{
	struct tw_isolation s = { 0 };
	int rc = -1;

	if (check_needs(isolator, config, err) < 0)
		goto out;
	if (isolator->needs_profile && config->idle != NULL &&
	    add_machines(&s, config, machine, machines, err) < 0) {
		tw_err_wrap(err, "power at rest");
		goto out;
	}
	if (isolator->needs_models && load_models(&s, config, err) < 0)
		goto out;
	s.args.target_hints = config->target_hints;
	s.args.bg_hints = config->bg_hints;
	s.args.model = s.model;
	s.args.models = s.models;
	s.args.profile = config->profile;

	*out = s;
	if (isolator->needs_profile && config->idle != NULL)
		out->args.profile = &out->own;
	s = (struct tw_isolation){ 0 };
	rc = 0;
out:
	tw_isolation_release(&s);
	return rc;
}

struct tw_isolator_args tw_isolation_args(const struct tw_isolation *isolation,
					  uint32_t node_type)
{
	struct tw_isolator_args args = { 0 };

	if (isolation != NULL)
		args = isolation->args;
	args.node_type = node_type;
	return args;
}

void tw_isolation_release(struct tw_isolation *isolation)
{
	for (size_t i = 0; i < isolation->models; i++)
		tw_power_model_free(isolation->model[i]);
	free(isolation->model);
	tw_profile_release(&isolation->own);
	*isolation = (struct tw_isolation){ 0 };
}
