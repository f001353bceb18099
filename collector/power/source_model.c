/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/source_model.h"

#include "estimator/predict/power_model.h"
#include "lib/program/log.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the file of a model ---- */

/*
 * The version of a path; for a directory, of its metadata.json, because models are
 * replaced, never edited. All 0: missing.
 */
static struct tw_file_mark look_at(const char *path)
{
	char inside[PATH_MAX];
	struct stat st;

	if (stat(path, &st) < 0)
		return (struct tw_file_mark){ 0 };
	if (S_ISDIR(st.st_mode) &&
	    ((size_t)snprintf(inside, sizeof(inside), "%s/metadata.json", path) >=
		     sizeof(inside) ||
	     stat(inside, &st) < 0))
		return (struct tw_file_mark){ 0 };
	return (struct tw_file_mark){
		.dev = st.st_dev,
		.ino = st.st_ino,
		.size = st.st_size,
		.changed_ns =
			(int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec,
	};
}

static bool same(const struct tw_file_mark *a, const struct tw_file_mark *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       a->changed_ns == b->changed_ns;
}

int tw_model_file_open(struct tw_model_file *f, const char *path,
		       struct tw_power_model **out, struct tw_err *err)
{
	/* Take the mark before reading, so that no change is missed. */
	const struct tw_file_mark mark = look_at(path);

	if (tw_power_model_load(path, out, err) < 0)
		return -1;
	*f = (struct tw_model_file){ .path = path, .read = mark, .seen = mark };
	return 0;
}

int tw_model_file_look(struct tw_model_file *f, struct tw_power_model **out,
		       struct tw_err *err)
{
	const struct tw_file_mark now = look_at(f->path), before = f->seen;

	f->seen = now;
	/* A missing file may be in the middle of a replacement. */
	if (now.ino == 0 || same(&now, &f->read) || !same(&now, &before))
		return 0;
	f->read = now;
	return tw_power_model_load(f->path, out, err) < 0 ? -1 : 1;
}

void tw_model_file_reload(struct tw_model_file *f)
{
	f->read = (struct tw_file_mark){ 0 };
}

static int check(const struct tw_source_model *s, const struct tw_power_model *m,
		 struct tw_err *err)
{
	const struct tw_model_info *info = tw_power_model_info(m);

	if (info->source != s->is.source)
		return tw_fail(err, TW_INVALID,
			       "model '%s': want energy source %s, not %s", info->name,
			       s->is.source->name, info->source->name);
	if (info->features.count > TW_FEATURES_MAX)
		return tw_fail(err, TW_INVALID, "model '%s': more than %d features",
			       info->name, TW_FEATURES_MAX);
	return 0;
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
	tw_power_model_free(s->is.model);
	s->is.model = model;
	model = NULL;
	memcpy(s->part, part, sizeof(part));
	memcpy(s->place, place, sizeof(place));
	s->is.core_ratio = tw_power_model_core_ratio(s->is.model, cores);
	if (!s->is.fresh)
		s->is.output = tw_power_model_info(s->is.model)->output;
	s->is.loads++;
	rc = 0;
out:
	tw_power_model_free(model);
	return rc;
}

void tw_source_model_log(const struct tw_source_model *s)
{
	const struct tw_model_info *info = tw_power_model_info(s->is.model);

	tw_log_info("model in use name=%s output=%s source=%s origin=%s from='%s'",
		    info->name, tw_output_name(info->output), s->is.source->name,
		    s->is.origin, s->is.from);
}

void tw_source_model_predict(const struct tw_source_model *s,
			     const struct tw_tick_rows *t, struct tw_predicted *out)
{
	struct tw_rows machine, rest;

	tw_recent_rows_newest(&t->machine, &machine);
	tw_recent_rows_newest(&t->rest, &rest);
	machine.categories = rest.categories = NULL;
	*out = (struct tw_predicted){ .output = tw_power_model_info(s->is.model)->output,
				      .core_ratio = s->is.core_ratio };
	for (int c = 0; c < TW_COMPONENT_COUNT; c++) {
		unsigned char outside = 0;
		size_t part;

		if (s->part[c] < 0)
			continue;
		part = (size_t)s->part[c];
		machine.place = rest.place = s->place[c];
		tw_power_model_predict(s->is.model, part, &machine, &out->power_w[c]);
		tw_power_model_predict(s->is.model, part, &rest, &out->rest_w[c]);
		tw_power_model_mark_outside(s->is.model, part, &machine, &outside);
		out->has[c] = true;
		out->outside = out->outside || outside != 0;
	}
}

void tw_source_model_count(struct tw_source_model *s, bool outside, uint64_t elapsed_ns)
{
	s->is.fresh = true;
	s->is.outside = outside;
	s->is.rows++;
	s->is.ns += elapsed_ns;
	s->is.rows_outside += outside;
	s->is.outside_ns += outside ? elapsed_ns : 0;
}

void tw_source_model_failed(struct tw_source_model *s, const char *why)
{
	s->is.failures++;
	snprintf(s->is.why, sizeof(s->is.why), "%s", why);
}

void tw_source_model_release(struct tw_source_model *s)
{
	tw_power_model_free(s->is.model);
	*s = (struct tw_source_model){ 0 };
}
