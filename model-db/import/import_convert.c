/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"
#include "lib/json/json.h"
#include "lib/zip/fileset.h"
#include "model-db/import/import_find.h"
#include "model-db/import/import_model.h"
#include "model-db/import/import_part.h"
#include "model-db/model.h"
#include "model-db/model_check.h"
#include "profiler/node_types.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An old model in our form (model-db/import/import_model.h). */

/* ---- what it is ---- */

static int read_place(struct tw_model_info *i, const char *base, struct tw_err *err)
{
	char text[TW_IMPORT_PLACE], *part[4], *save = NULL;
	size_t len;

	snprintf(text, sizeof(text), "%s", base);
	for (int k = 0; k < 4; k++)
		part[k] = strtok_r(k == 0 ? text : NULL, "/", &save);
	if (part[3] == NULL || strlen(part[3]) >= sizeof(i->name))
		return tw_fail(err, TW_INVALID, "not in <source>/<output>/<group>");
	i->source = tw_import_source(part[0]);
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

static void read_spec(const struct tw_node_types *types, struct tw_model_info *i)
{
	for (size_t k = 0; k < types->count; k++)
		if ((long long)types->at[k].number == i->node_type)
			i->spec = types->at[k].spec;
}

static int read_info(const struct tw_node_types *types, const struct tw_import_found *c,
		     struct tw_model_info *i, bool *reordered, struct tw_err *err)
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
	read_spec(types, i);
	return read_features(i, reordered, err);
}

/* ---- its components ---- */

static int convert_weights(const struct tw_import_found *c, struct tw_model *m,
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
static int find_scales(const struct tw_fileset *old, const struct tw_import_found *c,
		       const struct tw_model *m, double *scale, struct tw_err *err)
{
	const size_t dir = strlen(c->group);

	for (size_t i = 0; i < old->count; i++) {
		const char *name = old->at[i].name;
		struct tw_err ignored = { 0 };
		char base[TW_IMPORT_PLACE];
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
		    tw_json_parse(old->at[i].data, old->at[i].len, name, &weights,
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

static int convert_trees(const struct tw_fileset *old, const struct tw_import_found *c,
			 struct tw_model *m, struct tw_err *err)
{
	double scale[TW_MODEL_FEATURES_MAX];

	if (find_scales(old, c, m, scale, err) < 0)
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

/* A model of ours among the old ones: nothing is to be converted, and never twice. */
static int take_ours(const struct tw_import_found *c, struct tw_model *m,
		     struct tw_err *err)
{
	char place[4 * TW_MODEL_NAME_MAX];

	if (tw_model_from_files(&c->files, m, err) < 0)
		return -1;
	snprintf(place, sizeof(place), "%s/%s/%s/%s", m->info.source->name,
		 tw_output_name(m->info.output), m->info.group->name, m->info.name);
	if (strcmp(place, c->base) != 0)
		return tw_fail(err, TW_INVALID, "it belongs at '%s'", place);
	return 0;
}

int tw_import_convert(const struct tw_fileset *old, const struct tw_node_types *types,
		      const struct tw_import_found *c, struct tw_model *m,
		      struct tw_err *err)
{
	const char *kind = "";
	bool reordered = false;

	if (json_object_get(c->metadata, "format_version") != NULL)
		return take_ours(c, m, err);
	if (read_info(types, c, &m->info, &reordered, err) < 0)
		return -1;
	(void)!tw_json_text(c->metadata, "metadata.json", "model_class", true, &kind,
			    err);
	if (c->weights != NULL) {
		if (convert_weights(c, m, err) < 0)
			return -1;
	} else if (strcmp(kind, "xgboost") != 0) {
		return tw_fail(err, TW_UNSUPPORTED, "a pickle of '%.32s'", kind);
	} else if (convert_trees(old, c, m, err) < 0) {
		return -1;
	}
	/* Trees count their features, the others name them. */
	if (reordered && strcmp(m->info.predictor, "xgboost") == 0)
		return tw_fail(err, TW_UNSUPPORTED, "trees of features in another order");
	return tw_model_check(m, err);
}
