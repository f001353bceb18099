/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/import.h"

#include "lib/err.h"
#include "lib/fileset.h"
#include "lib/json.h"
#include "lib/zip.h"
#include "model-db/import_part.h"
#include "model-db/model.h"
#include "model-db/model_check.h"
#include "model-db/pipeline.h"
#include "model-db/pipeline_check.h"
#include "profiler/node_types.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACE_TEXT 512

struct importing {
	const struct tw_fileset *old;
	struct tw_fileset *out;
	struct tw_node_types types;
	json_t *metadata;
	struct tw_model *models;
	size_t count, size, seen;
	bool reordered; /* this model's features, by sorting them */
	const struct tw_import_listener *listener;
};

/* An old model: where it is, and its zip's files. */
struct candidate {
	char base[PLACE_TEXT];  /* without ".zip" */
	char group[PLACE_TEXT]; /* the directory */
	struct tw_fileset files;
	json_t *metadata, *weights;
};

static int parse(const struct tw_fileset *s, const char *name, json_t **out,
		 struct tw_err *err)
{
	const struct tw_fileset_file *f = tw_fileset_find(s, name);

	if (f == NULL)
		return tw_fail(err, TW_NOTFOUND, "there is no %s", name);
	return tw_json_parse(f->data, f->len, name, out, err);
}

/* Where weights are, by release: beside the zip, in its directory, one for the group. */
static void find_weights(const struct tw_fileset *s, const char *base, const char *group,
			 bool sgd, json_t **out)
{
	struct tw_err ignored = { 0 };
	char name[PLACE_TEXT + 16];

	for (size_t i = 0; i < 2 && *out == NULL; i++) {
		snprintf(name, sizeof(name), i == 0 ? "%s.json" : "%s/weight.json", base);
		(void)!parse(s, name, out, &ignored);
	}
	if (*out == NULL && sgd) {
		snprintf(name, sizeof(name), "%s/weight.json", group);
		(void)!parse(s, name, out, &ignored);
	}
}

/* ---- what it is ---- */

static const struct tw_energy_source *source_of(const char *name)
{
	return strcmp(name, "rapl") == 0 ? tw_energy_source_find("rapl-sysfs")
					 : tw_energy_source_find(name);
}

static int read_place(struct tw_model_info *i, const char *base, struct tw_err *err)
{
	char text[PLACE_TEXT], *part[4], *save = NULL;
	size_t len;

	snprintf(text, sizeof(text), "%s", base);
	for (int k = 0; k < 4; k++)
		part[k] = strtok_r(k == 0 ? text : NULL, "/", &save);
	if (part[3] == NULL || strlen(part[3]) >= sizeof(i->name))
		return tw_fail(err, TW_INVALID, "not in <source>/<output>/<group>");
	i->source = source_of(part[0]);
	i->group = tw_feature_group_find(part[2]);
	if (i->source == NULL || !tw_output_find(part[1], &i->output))
		return tw_fail(err, TW_UNSUPPORTED, "no such energy source or output");
	if (i->group == NULL)
		return tw_fail(err, TW_UNSUPPORTED, "feature group '%s' is not known",
			       part[2]);
	snprintf(i->name, sizeof(i->name), "%s", part[3]);
	if (!tw_model_name_split(i->name, &len, &i->node_type))
		return tw_fail(err, TW_INVALID, "the name is not <trainer>_<node type>");
	snprintf(i->trainer, sizeof(i->trainer), "%.*s", (int)len, i->name);
	return 0;
}

static int read_features(struct tw_model_info *i, bool *reordered, struct tw_err *err)
{
	struct tw_strs old = { 0 };
	int rc = -1;

	if (tw_json_strs(i->metadata, "metadata.json", "features", false, &old, err) < 0)
		goto out;
	if (old.count > TW_MODEL_FEATURES_MAX) {
		tw_fail(err, TW_INVALID, "%zu features, limit is %d", old.count,
			TW_MODEL_FEATURES_MAX);
		goto out;
	}
	*reordered = false;
	for (size_t k = 0; k < old.count; k++) {
		double factor;
		const char *name = tw_import_feature(old.at[k], &factor);

		if (name == NULL) {
			tw_fail(err, TW_UNSUPPORTED, "feature '%s' is not known",
				old.at[k]);
			goto out;
		}
		*reordered |= k > 0 && strcmp(i->features.at[k - 1], name) >= 0;
		if (tw_strs_adds(&i->features, name, err) < 0)
			goto out;
	}
	tw_strs_sort(&i->features);
	rc = 0;
out:
	tw_strs_clear(&old);
	return rc;
}

static void read_spec(struct importing *im, struct tw_model_info *i)
{
	for (size_t k = 0; k < im->types.count; k++)
		if ((long long)im->types.at[k].number == i->node_type)
			i->spec = im->types.at[k].spec;
}

static int read_info(struct importing *im, const struct candidate *c,
		     struct tw_model_info *i, struct tw_err *err)
{
	if (read_place(i, c->base, err) < 0)
		return -1;
	if (c->metadata == NULL)
		return tw_fail(err, TW_INVALID, "there is no metadata.json");
	i->metadata = json_incref(c->metadata);
	i->mae_w = NAN;
	i->mape_percent = NAN;
	if (tw_json_number(c->metadata, "metadata.json", "mae", true, &i->mae_w, err) <
		    0 ||
	    tw_json_number(c->metadata, "metadata.json", "mape", true, &i->mape_percent,
			   err) < 0)
		return -1;
	if (i->mape_percent < 0.0)
		i->mape_percent = NAN; /* -1: the old way to say that there is none */
	read_spec(im, i);
	return read_features(i, &im->reordered, err);
}

/* ---- its components ---- */

static int convert_weights(const struct candidate *c, struct tw_model *m,
			   struct tw_err *err)
{
	for (int k = 0; k < TW_COMPONENT_COUNT; k++) {
		const char *name = tw_component_name((enum tw_component)k);
		const json_t *component = json_object_get(c->weights, name);
		const char *predictor;

		if (component == NULL)
			continue;
		if (tw_import_weights_part(component, name, m, &predictor, err) < 0)
			return -1;
		snprintf(m->info.predictor, sizeof(m->info.predictor), "%s", predictor);
	}
	return 0;
}

/*
 * The scales are in a pickle. Models of the same directory and node type were fitted to
 * the same rows by the same scaler: those of them that have weights tell it in JSON.
 */
static int find_scales(const struct importing *im, const struct candidate *c,
		       const struct tw_model *m, double *scale, struct tw_err *err)
{
	const size_t dir = strlen(c->group);

	for (size_t i = 0; i < im->old->count; i++) {
		const char *name = im->old->at[i].name;
		struct tw_err ignored = { 0 };
		char base[PLACE_TEXT];
		json_t *weights = NULL, *component;
		const char *first;
		long long type;
		size_t len;
		int found = -1;

		if (strncmp(name, c->group, dir) != 0 || name[dir] != '/' ||
		    strchr(name + dir + 1, '/') != NULL || strlen(name) >= sizeof(base) ||
		    strstr(name, ".json") == NULL)
			continue;
		snprintf(base, sizeof(base), "%.*s",
			 (int)(strlen(name + dir + 1) - strlen(".json")), name + dir + 1);
		if (!tw_model_name_split(base, &len, &type) ||
		    type != m->info.node_type ||
		    tw_json_parse(im->old->at[i].data, im->old->at[i].len, name, &weights,
				  &ignored) < 0)
			continue;
		json_object_foreach(weights, first, component) {
			found = tw_import_scales(component, m, scale, &ignored);
			break;
		}
		json_decref(weights);
		if (found == 0)
			return 0;
	}
	return tw_fail(err, TW_UNSUPPORTED,
		       "its scales are in a pickle, and no weights beside it tell them");
}

static int convert_trees(const struct importing *im, const struct candidate *c,
			 struct tw_model *m, struct tw_err *err)
{
	double scale[TW_MODEL_FEATURES_MAX];

	if (find_scales(im, c, m, scale, err) < 0)
		return -1;
	for (int k = 0; k < TW_COMPONENT_COUNT; k++) {
		const char *name = tw_component_name((enum tw_component)k);
		const struct tw_fileset_file *f;
		char file[64];

		snprintf(file, sizeof(file), "%s.json", name);
		f = tw_fileset_find(&c->files, file);
		if (f != NULL &&
		    tw_import_trees_part(f->data, f->len, scale, name, m, err) < 0)
			return -1;
	}
	snprintf(m->info.predictor, sizeof(m->info.predictor), "xgboost");
	return 0;
}

static int convert(struct importing *im, const struct candidate *c, struct tw_model *m,
		   struct tw_err *err)
{
	const char *kind = "";

	if (read_info(im, c, &m->info, err) < 0)
		return -1;
	(void)!tw_json_text(c->metadata, "metadata.json", "model_class", true, &kind,
			    err);
	if (c->weights != NULL) {
		if (convert_weights(c, m, err) < 0)
			return -1;
	} else if (strcmp(kind, "xgboost") != 0) {
		return tw_fail(err, TW_UNSUPPORTED, "a pickle of '%.32s'", kind);
	} else if (convert_trees(im, c, m, err) < 0) {
		return -1;
	}
	/* Trees count their features, the others name them. */
	if (im->reordered && strcmp(m->info.predictor, "xgboost") == 0)
		return tw_fail(err, TW_UNSUPPORTED, "trees of features in another order");
	return tw_model_check(m, err);
}

/* ---- one by one ---- */

static int keep_model(struct importing *im, struct tw_model *m, struct tw_err *err)
{
	if (im->count == im->size) {
		const size_t size = im->size != 0 ? 2 * im->size : 64;
		struct tw_model *at = realloc(im->models, size * sizeof(*at));

		if (at == NULL)
			return tw_fail(err, TW_NOMEM, "%zu models", size);
		im->models = at;
		im->size = size;
	}
	if (tw_pipeline_add_model(im->out, m, err) < 0)
		return -1;
	im->models[im->count++] = *m;
	*m = (struct tw_model){ 0 };
	return 0;
}

static int keep_foreign(struct importing *im, const struct tw_fileset_file *zip,
			struct tw_err *err)
{
	char name[PLACE_TEXT + 32];

	snprintf(name, sizeof(name), TW_PIPELINE_FOREIGN "/%s", zip->name);
	return tw_fileset_add(im->out, name, zip->data, zip->len, err);
}

static void open_candidate(struct importing *im, struct candidate *c)
{
	struct tw_err ignored = { 0 };
	const char *name = strrchr(c->base, '/') + 1;

	(void)!parse(&c->files, "metadata.json", &c->metadata, &ignored);
	find_weights(im->old, c->base, c->group, strncmp(name, "SGDRegressor", 12) == 0,
		     &c->weights);
}

static int import_zip(struct importing *im, const struct tw_fileset_file *zip,
		      struct tw_err *err)
{
	struct candidate c = { 0 };
	struct tw_err why = { 0 };
	struct tw_model m = { 0 };
	int rc = -1;

	im->seen++;
	if (strlen(zip->name) >= PLACE_TEXT)
		return tw_fail(err, TW_INVALID, "'%.64s..': the name is too long",
			       zip->name);
	snprintf(c.base, sizeof(c.base), "%.*s", (int)(strlen(zip->name) - 4), zip->name);
	snprintf(c.group, sizeof(c.group), "%.*s", (int)(strrchr(c.base, '/') - c.base),
		 c.base);
	if (tw_zip_read(zip->data, zip->len, &tw_zip_model_limits, &c.files, &why) < 0) {
		im->listener->told(im->listener->arg, c.base, TW_IMPORT_REFUSED,
				   why.text);
		rc = why.code == TW_NOMEM ? tw_fail(err, TW_NOMEM, "'%s'", zip->name) : 0;
		goto out;
	}
	open_candidate(im, &c);
	if (convert(im, &c, &m, &why) == 0 &&
	    im->listener->look(im->listener->arg, &m, &why) == 0) {
		im->listener->told(im->listener->arg, c.base, TW_IMPORT_USABLE,
				   m.info.predictor);
		if (keep_model(im, &m, err) < 0)
			goto out;
	} else if (why.code == TW_NOMEM || keep_foreign(im, zip, err) < 0) {
		tw_fail(err, TW_NOMEM, "'%s'", zip->name);
		goto out;
	} else {
		im->listener->told(im->listener->arg, c.base, TW_IMPORT_KEPT, why.text);
	}
	rc = 0;
out:
	tw_model_release(&m);
	json_decref(c.weights);
	json_decref(c.metadata);
	tw_fileset_clear(&c.files);
	return rc;
}

static bool is_old_model(const char *name)
{
	const size_t len = strlen(name);
	size_t slashes = 0;

	for (const char *p = name; *p != '\0'; p++)
		slashes += *p == '/';
	return slashes == 3 && len > 4 && strcmp(name + len - 4, ".zip") == 0;
}

static int read_common(struct importing *im, struct tw_err *err)
{
	json_t *index = NULL;
	int rc = -1;

	if (parse(im->old, "metadata.json", &im->metadata, err) < 0)
		return -1;
	/* 0.6 has no node types. */
	if (tw_fileset_find(im->old, "node_type_index.json") == NULL)
		return 0;
	if (parse(im->old, "node_type_index.json", &index, err) < 0 ||
	    tw_node_types_from_json(index, "node_type_index.json", &im->types, err) < 0)
		goto out;
	rc = 0;
out:
	json_decref(index);
	return rc;
}

int tw_import_pipeline(struct tw_fileset *old, struct tw_fileset *out,
		       const struct tw_import_listener *listener, struct tw_err *err)
{
	struct importing im = { .old = old, .out = out, .listener = listener };
	int rc = -1;

	tw_fileset_sort(old);
	if (read_common(&im, err) < 0)
		goto out;
	for (size_t i = 0; i < old->count; i++)
		if (is_old_model(old->at[i].name) &&
		    import_zip(&im, &old->at[i], err) < 0)
			goto out;
	if (im.count == 0) {
		tw_fail(err, TW_INVALID, "of %zu models none can be used", im.seen);
		goto out;
	}
	if (tw_pipeline_add_index(out, im.metadata, &im.types, im.models, im.count, err) <
	    0)
		goto out;
	rc = 0;
out:
	for (size_t i = 0; i < im.count; i++)
		tw_model_release(&im.models[i]);
	free(im.models);
	tw_node_types_release(&im.types);
	json_decref(im.metadata);
	if (rc < 0)
		tw_fileset_clear(out);
	return rc;
}
