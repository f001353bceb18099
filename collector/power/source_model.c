/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/source_model.h"

#include "collector/power/tick_rows.h"
#include "estimator/predict/power_model.h"
#include "lib/program/log.h"

#include <stdio.h>
#include <string.h>

static int check(const struct tw_source_model *s, const struct tw_power_model *m,
		 struct tw_err *err)
{
	const struct tw_model_info *info = tw_power_model_info(m);

	if (info->source != s->source)
		return tw_fail(err, TW_INVALID,
			       "model '%s': want energy source %s, not %s", info->name,
			       s->source->name, info->source->name);
	if (info->features.count > TW_FEATURES_MAX)
		return tw_fail(err, TW_INVALID, "model '%s': more than %d features",
			       info->name, TW_FEATURES_MAX);
	return 0;
}

static double core_ratio(const struct tw_power_model *m, uint32_t cores)
{
	const uint32_t theirs = tw_power_model_info(m)->spec.cores;

	return cores > 0 && theirs > 0 ? (double)cores / (double)theirs : 1.0;
}

int tw_source_model_take(struct tw_source_model *s, struct tw_power_model *model,
			 const struct tw_features *f, uint32_t cores, struct tw_err *err)
{
	uint32_t place[TW_COMPONENT_COUNT][TW_FEATURES_MAX];
	int part[TW_COMPONENT_COUNT], rc = -1;

	memset(place, 0, sizeof(place));
	for (int c = 0; c < TW_COMPONENT_COUNT; c++)
		part[c] = -1;
	if (check(s, model, err) < 0)
		goto out;
	for (size_t i = 0; i < tw_power_model_parts(model); i++) {
		const enum tw_component c = tw_power_model_component(model, i);

		part[c] = (int)i;
		if (tw_power_model_bind(model, i, &f->names, place[c], err) < 0)
			goto out;
	}
	tw_power_model_free(s->model);
	s->model = model;
	model = NULL;
	memcpy(s->part, part, sizeof(part));
	memcpy(s->place, place, sizeof(place));
	s->core_ratio = core_ratio(s->model, cores);
	s->loads++;
	rc = 0;
out:
	tw_power_model_free(model);
	return rc;
}

void tw_source_model_log(const struct tw_source_model *s)
{
	const struct tw_model_info *info = tw_power_model_info(s->model);

	tw_log_info("model in use name=%s output=%s source=%s origin=%s from='%s'",
		    info->name, tw_output_name(info->output), s->source->name, s->origin,
		    s->from);
}

void tw_source_model_predict(const struct tw_source_model *s,
			     const struct tw_tick_rows *t, struct tw_predicted *out)
{
	struct tw_rows machine, rest;

	tw_recent_rows_newest(&t->machine, &machine);
	tw_recent_rows_newest(&t->rest, &rest);
	machine.categories = rest.categories = NULL;
	*out = (struct tw_predicted){ .output = tw_power_model_info(s->model)->output,
				      .core_ratio = s->core_ratio };
	for (int c = 0; c < TW_COMPONENT_COUNT; c++) {
		unsigned char outside = 0;
		size_t part;

		if (s->part[c] < 0)
			continue;
		part = (size_t)s->part[c];
		machine.place = rest.place = s->place[c];
		tw_power_model_predict(s->model, part, &machine, &out->power_w[c]);
		tw_power_model_predict(s->model, part, &rest, &out->rest_w[c]);
		tw_power_model_mark_outside(s->model, part, &machine, &outside);
		out->has[c] = true;
		out->outside = out->outside || outside != 0;
	}
}

void tw_source_model_count(struct tw_source_model *s, bool outside, uint64_t elapsed_ns)
{
	s->told = true;
	s->outside = outside;
	s->rows++;
	s->ns += elapsed_ns;
	s->rows_outside += outside;
	s->outside_ns += outside ? elapsed_ns : 0;
}

void tw_source_model_failed(struct tw_source_model *s, const char *why)
{
	s->failures++;
	snprintf(s->why, sizeof(s->why), "%s", why);
}

void tw_source_model_release(struct tw_source_model *s)
{
	tw_power_model_free(s->model);
	*s = (struct tw_source_model){ 0 };
}
