/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/import/import_model.h"

#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/field/csv.h"
#include "lib/field/feature.h"
#include "lib/json/json.h"
#include "lib/zip/zip.h"
#include "model-db/import/import_find.h"
#include "model-db/import/import_part.h"
#include "model-db/model.h"
#include "model-db/model_files.h"
#include "profiler/node_types.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SGD "SGDRegressorTrainer_"
#define GROUP_WEIGHTS "weight.json"

/* ---- list of models ---- */

static bool ends_with(const char *name, size_t len, const char *end)
{
	const size_t n = strlen(end);

	return len > n && strncmp(name + len - n, end, n) == 0;
}

/* The path component after this many slashes; NULL if there are fewer. */
static const char *part_of(const char *name, int slashes)
{
	for (; slashes > 0 && name != NULL; slashes--) {
		name = strchr(name, '/');
		name += name != NULL;
	}
	return name;
}

/* Whether the path begins with a known source. */
static bool is_placed(const char *name)
{
	char source[64];
	const size_t len = strcspn(name, "/");

	if (len >= sizeof(source))
		return false;
	memcpy(source, name, len);
	source[len] = '\0';
	return tw_import_source(source) != NULL;
}

/* The length of the model's base in a file's name; 0 if it belongs to no model. */
static size_t base_length(const char *name)
{
	const char *model = part_of(name, 3), *below;
	size_t len;

	if (model == NULL || !is_placed(name))
		return 0;
	below = part_of(model, 1);
	if (below != NULL)
		return strcmp(below, "metadata.json") == 0 ||
				       strcmp(below, GROUP_WEIGHTS) == 0
			       ? (size_t)(below - name) - 1
			       : 0;
	len = strlen(name);
	if (strcmp(model, GROUP_WEIGHTS) == 0)
		return 0;
	if (ends_with(model, strlen(model), ".zip"))
		return len - strlen(".zip");
	return ends_with(model, strlen(model), ".json") ? len - strlen(".json") : 0;
}

/* The length of the group in "<group>/weight.json"; 0 for other names. */
static size_t group_length(const char *name)
{
	const char *model = part_of(name, 3);

	return model != NULL && strcmp(model, GROUP_WEIGHTS) == 0 && is_placed(name)
		       ? (size_t)(model - name) - 1
		       : 0;
}

/* Whether a text of the list begins with the prefix. */
static bool has_prefix(const struct tw_strs *l, const char *prefix)
{
	for (size_t i = 0; i < l->count; i++)
		if (strncmp(l->at[i], prefix, strlen(prefix)) == 0)
			return true;
	return false;
}

static int add_group(const char *name, size_t len, struct tw_strs *bases,
		     struct tw_err *err)
{
	char base[TW_IMPORT_PLACE];

	if (snprintf(base, sizeof(base), "%.*s/" SGD, (int)len, name) >=
	    (int)sizeof(base) - 1)
		return 0;
	if (has_prefix(bases, base))
		return 0;
	strcat(base, "1"); /* snprintf() left room for it */
	return tw_strs_adds(bases, base, err);
}

int tw_import_list(const struct tw_fileset *old, struct tw_strs *out, struct tw_err *err)
{
	struct tw_strs bases = { 0 };
	int rc = -1;

	for (size_t i = 0; i < old->count; i++) {
		const size_t len = base_length(old->at[i].name);

		if (len > 0 && tw_strs_add(&bases, old->at[i].name, len, err) < 0)
			goto out;
	}
	for (size_t i = 0; i < old->count; i++) {
		const size_t len = group_length(old->at[i].name);

		if (len > 0 && add_group(old->at[i].name, len, &bases, err) < 0)
			goto out;
	}
	tw_strs_sort(&bases);
	for (size_t i = 0; i < bases.count; i++)
		if ((i == 0 || strcmp(bases.at[i - 1], bases.at[i]) != 0) &&
		    tw_strs_adds(out, bases.at[i], err) < 0)
			goto out;
	rc = 0;
out:
	tw_strs_clear(&bases);
	return rc;
}

/* ---- figures of the pipeline's table ---- */

#define CELL_MAX 128

struct table {
	struct tw_csv_cells cells;
	struct tw_strs header;
	const char *model, *group;
	json_t *figures; /* of the row that is read */
	bool is_model, is_group;
};

static bool is_figure(const char *column)
{
	const size_t len = strlen(column);

	return (len >= 3 && strcmp(column + len - 3, "mae") == 0) ||
	       (len >= 4 && strcmp(column + len - 4, "mape") == 0);
}

static bool cell_is(const struct tw_csv_cells *c, const char *text)
{
	return c->text_len == strlen(text) && memcmp(c->text, text, c->text_len) == 0;
}

/* A cell that is not a number is not a figure. */
static int take_cell(struct table *t, size_t column, struct tw_err *err)
{
	const char *name = column < t->header.count ? t->header.at[column] : "";
	double value;

	if (strcmp(name, "model_name") == 0)
		t->is_model = cell_is(&t->cells, t->model);
	else if (strcmp(name, "feature_group") == 0)
		t->is_group = cell_is(&t->cells, t->group);
	else if (is_figure(name) && t->cells.text_len < CELL_MAX &&
		 tw_parse_double(t->cells.text, t->cells.text_len, &value) &&
		 isfinite(value) &&
		 json_object_set_new(t->figures, name, json_real(value)) < 0)
		return tw_fail(err, TW_NOMEM, "figures of a model");
	return 0;
}

/* *found: the row is the model's. False at the end. */
static bool next_row(struct table *t, bool *found, struct tw_err *err)
{
	size_t column = 0;

	json_object_clear(t->figures);
	t->is_model = false;
	t->is_group = false;
	do {
		if (!tw_csv_cells_next(&t->cells, err) || take_cell(t, column, err) < 0)
			return false;
		column++;
	} while (!t->cells.ends_row);
	*found = t->is_model && t->is_group;
	return true;
}

static bool read_header(struct table *t, struct tw_err *err)
{
	do {
		if (!tw_csv_cells_next(&t->cells, err) ||
		    tw_strs_add(&t->header, t->cells.text, t->cells.text_len, err) < 0)
			return false;
	} while (!t->cells.ends_row);
	return true;
}

static int look_up(struct table *t, json_t *metadata, struct tw_err *err)
{
	struct tw_err why = { 0 };
	bool found = false;

	if (read_header(t, &why))
		while (!found && next_row(t, &found, &why))
			;
	if (why.code == TW_NOMEM ||
	    (found && json_object_update(metadata, t->figures) < 0))
		return tw_fail(err, TW_NOMEM, "figures of a model");
	return 0;
}

/*
 * Put the numbers that the pipeline's <source>_<output>_model_metadata.csv has of the
 * model ("mae", "package_mae", ..) into metadata. No table or no row is fine, and a table
 * that is malformed counts as none.
 */
static int add_figures(const struct tw_fileset *old, const char *base, json_t *metadata,
		       struct tw_err *err)
{
	char text[TW_IMPORT_PLACE], name[TW_IMPORT_PLACE + 32], *part[4] = { NULL },
								*save = NULL;
	struct table t = { .model = "" };
	const struct tw_fileset_file *f;
	int rc = -1;

	snprintf(text, sizeof(text), "%s", base);
	for (int k = 0; k < 4; k++)
		part[k] = strtok_r(k == 0 ? text : NULL, "/", &save);
	if (part[3] == NULL)
		return 0;
	snprintf(name, sizeof(name), "%s_%s_model_metadata.csv", part[0], part[1]);
	f = tw_fileset_find(old, name);
	if (f == NULL)
		return 0;
	t.cells = (struct tw_csv_cells){ .data = f->data, .len = f->len };
	t.group = part[2];
	t.model = part[3];
	t.figures = json_object();
	if (t.figures == NULL) {
		tw_fail(err, TW_NOMEM, "figures of a model");
		goto out;
	}
	if (look_up(&t, metadata, err) < 0)
		goto out;
	rc = 0;
out:
	json_decref(t.figures);
	tw_csv_cells_release(&t.cells);
	tw_strs_clear(&t.header);
	return rc;
}

/* ---- files of one model ---- */

/* Parse a file into *out, unless it is set, absent or malformed. */
static int parse(const struct tw_fileset *s, const char *name, json_t **out,
		 struct tw_err *err)
{
	const struct tw_fileset_file *f = tw_fileset_find(s, name);
	struct tw_err why = { 0 };

	if (*out != NULL || f == NULL ||
	    tw_json_parse(f->data, f->len, name, out, &why) == 0)
		return 0;
	return why.code == TW_NOMEM ? tw_fail(err, TW_NOMEM, "'%s'", name) : 0;
}

/* Weights are beside the zip, in its directory or in the group, by release. */
static int find_weights(const struct tw_fileset *old, struct tw_import_found *f,
			struct tw_err *err)
{
	const char *model = part_of(f->base, 3);
	char name[TW_IMPORT_PLACE + 16];

	snprintf(name, sizeof(name), "%s.json", f->base);
	if (parse(old, name, &f->weights, err) < 0)
		return -1;
	snprintf(name, sizeof(name), "%s/" GROUP_WEIGHTS, f->base);
	if (parse(old, name, &f->weights, err) < 0)
		return -1;
	if (model == NULL || strncmp(model, SGD, strlen(SGD)) != 0)
		return 0;
	snprintf(name, sizeof(name), "%s/" GROUP_WEIGHTS, f->group);
	return parse(old, name, &f->weights, err);
}

static int copy_below(const struct tw_fileset *old, const char *base,
		      struct tw_fileset *out, struct tw_err *err)
{
	const size_t len = strlen(base);

	for (size_t i = 0; i < old->count; i++) {
		const struct tw_fileset_file *f = &old->at[i];

		if (strncmp(f->name, base, len) == 0 && f->name[len] == '/' &&
		    tw_fileset_add(out, f->name + len + 1, f->data, f->len, err) < 0)
			return -1;
	}
	return 0;
}

static int read_files(const struct tw_fileset *old, struct tw_import_found *f,
		      struct tw_err *err)
{
	const struct tw_fileset_file *zip;
	char name[TW_IMPORT_PLACE + 8];

	snprintf(name, sizeof(name), "%s.zip", f->base);
	zip = tw_fileset_find(old, name);
	if (zip == NULL)
		return copy_below(old, f->base, &f->files, err);
	return tw_zip_read(zip->data, zip->len, &tw_zip_model_limits, &f->files, err);
}

/* The features of the weights, in the order of the first component. */
static json_t *list_features(const json_t *weights)
{
	json_t *out = json_array(), *component, *value;
	const json_t *variables = NULL;
	const char *name;

	/* The casts are for jansson's macro; it does not change the weights. */
	json_object_foreach((json_t *)(uintptr_t)weights, name, component) {
		variables = json_object_get(json_object_get(component, "All_Weights"),
					    "Numerical_Variables");
		if (variables != NULL)
			break;
	}
	json_object_foreach((json_t *)(uintptr_t)variables, name, value)
		if (json_array_append_new(out, json_string(name)) < 0) {
			json_decref(out);
			return NULL;
		}
	return out;
}

static int make_metadata(const struct tw_fileset *old, struct tw_import_found *f,
			 struct tw_err *err)
{
	json_t *features = list_features(f->weights);

	if (features != NULL)
		f->metadata = json_pack("{s:s,s:o}", "model_name", part_of(f->base, 3),
					"features", features);
	if (f->metadata == NULL)
		return tw_fail(err, TW_NOMEM, "metadata of weights");
	return add_figures(old, f->base, f->metadata, err);
}

int tw_import_look_at(const struct tw_fileset *old, const char *base,
		      struct tw_import_found *out, struct tw_err *err)
{
	const char *model = part_of(base, 3);

	if (strlen(base) >= TW_IMPORT_PLACE)
		return tw_fail(err, TW_INVALID, "the name is too long");
	snprintf(out->base, sizeof(out->base), "%s", base);
	snprintf(out->group, sizeof(out->group), "%.*s", (int)(model - base) - 1, base);
	if (read_files(old, out, err) < 0 ||
	    parse(&out->files, "metadata.json", &out->metadata, err) < 0 ||
	    find_weights(old, out, err) < 0)
		return -1;
	if (out->metadata == NULL && out->weights != NULL)
		return make_metadata(old, out, err);
	return 0;
}

void tw_import_found_release(struct tw_import_found *f)
{
	tw_fileset_clear(&f->files);
	json_decref(f->metadata);
	json_decref(f->weights);
	*f = (struct tw_import_found){ .base = "" };
}

/* ---- conversion: metadata ---- */

static int read_place(struct tw_model_info *i, const char *base, struct tw_err *err)
{
	char text[TW_IMPORT_PLACE], *part[4] = { NULL }, *save = NULL;
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
		const char *name = tw_import_feature(old.at[k]);

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
		i->mape_percent =
			NAN; /* kepler-model-server writes -1 if it is undefined */
	read_spec(types, i);
	return read_features(i, reordered, err);
}

/* ---- components ---- */

#define MS_A_SECOND 1000.0

/*
 * Set the scale of bpf_cpu_time_ms in all components of weights JSON of SPECpower. The
 * scale of these weights is the highest value in training: the highest throughput of the
 * benchmark, in cycles of a reference processor, becomes the CPU time of all logical
 * CPUs.
 */
static int set_load(json_t *weights, double full_ms, struct tw_err *err)
{
	const char *name;
	json_t *component;

	json_object_foreach(weights, name, component) {
		json_t *variables = json_object_get(
			json_object_get(component, "All_Weights"), "Numerical_Variables");
		json_t *load = json_object_get(variables, "bpf_cpu_time_ms");

		if (json_is_number(json_object_get(load, "scale")) &&
		    json_object_set_new(load, "scale", json_real(full_ms)) < 0)
			return tw_fail(err, TW_NOMEM, "%s: scale", name);
	}
	return 0;
}

static int convert_weights(const struct tw_import_found *c, double full_ms,
			   struct tw_model *m, struct tw_err *err)
{
	if (full_ms > 0 && set_load(c->weights, full_ms, err) < 0)
		return -1;
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
 * Find the features' scales, which kepler-model-server keeps in a pickle. Models of the
 * same directory and node type share one scaler, and the JSON of those with weights has
 * its scales.
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
		       "its scales are in a pickle, and no model beside it has weights");
}

static int convert_trees(const struct tw_fileset *old, const struct tw_import_found *c,
			 double full_ms, struct tw_model *m, struct tw_err *err)
{
	const ptrdiff_t load = tw_strs_find(&m->info.features, "bpf_cpu_time_ms");
	double scale[TW_MODEL_FEATURES_MAX];

	if (find_scales(old, c, m, scale, err) < 0)
		return -1;
	if (full_ms > 0 && load >= 0)
		scale[load] = full_ms;
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

/* Take a model that already has our format: it needs no conversion. */
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
		      bool throughput, const struct tw_import_found *c,
		      struct tw_model *m, struct tw_err *err)
{
	const char *kind = "";
	bool reordered = false;
	double full_ms;

	if (json_object_get(c->metadata, "format_version") != NULL)
		return take_ours(c, m, err);
	if (read_info(types, c, &m->info, &reordered, err) < 0)
		return -1;
	(void)!tw_json_text(c->metadata, "metadata.json", "model_class", true, &kind,
			    err);
	/* CPU time of all logical CPUs in ms/s; 0 if their number is unknown. */
	full_ms = throughput ? MS_A_SECOND * m->info.spec.cores : 0;
	if (c->weights != NULL) {
		if (convert_weights(c, full_ms, m, err) < 0)
			return -1;
	} else if (strcmp(kind, "xgboost") != 0) {
		return tw_fail(err, TW_UNSUPPORTED, "a pickle of '%.32s'", kind);
	} else if (convert_trees(old, c, full_ms, m, err) < 0) {
		return -1;
	}
	/* Trees refer to features by number, so their order must not change. */
	if (reordered && strcmp(m->info.predictor, "xgboost") == 0)
		return tw_fail(err, TW_UNSUPPORTED,
			       "its trees refer to features in another order");
	return tw_model_check(m, err);
}
