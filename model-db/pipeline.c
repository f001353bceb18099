/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/pipeline.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/model.h"
#include "model-db/model_files.h"
#include "profiler/node_types.h"
#include "profiler/profile.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Refuse the endings that routes and files add to a name, or have beside it. */
static int check_ending(const char *name, size_t len, struct tw_err *err)
{
	static const char *const endings[] = { ".zip", ".rollout.json", "index.json" };

	for (size_t i = 0; i < TW_COUNT(endings); i++) {
		const size_t of = strlen(endings[i]);

		if (len >= of && strncasecmp(name + len - of, endings[i], of) == 0)
			return tw_fail(err, TW_INVALID,
				       "pipeline name '%.*s': no name ends in '%s'",
				       (int)len, name, endings[i]);
	}
	return 0;
}

int tw_pipeline_name_check(const char *name, size_t len, struct tw_err *err)
{
	if (tw_name_check("pipeline name", name, len, err) < 0)
		return -1;
	if (len == strlen(TW_PIPELINE_PRIOR) && memcmp(name, TW_PIPELINE_PRIOR, len) == 0)
		return tw_fail(err, TW_INVALID,
			       "pipeline name '" TW_PIPELINE_PRIOR
			       "': a database has its prior there; take another name");
	return check_ending(name, len, err);
}

/* ---- reading ---- */

#define METADATA "metadata.json"
#define NODE_TYPES "node_type_index.json"

int tw_pipeline_parse(const struct tw_fileset *pipeline, const char *name, json_t **out,
		      struct tw_err *err)
{
	const struct tw_fileset_file *f = tw_fileset_find(pipeline, name);

	if (f == NULL)
		return tw_fail(err, TW_NOTFOUND, "there is no %s", name);
	return tw_json_parse(f->data, f->len, name, out, err);
}

static int parse_metadata(const struct tw_fileset *pipeline, json_t **out,
			  struct tw_err *err)
{
	if (tw_fileset_find(pipeline, METADATA) == NULL)
		return tw_fail(err, TW_INVALID, "no pipeline: there is no " METADATA);
	return tw_pipeline_parse(pipeline, METADATA, out, err);
}

int tw_pipeline_read_node_types(const struct tw_fileset *pipeline,
				struct tw_node_types *out, struct tw_err *err)
{
	json_t *doc = NULL;
	int rc = -1;

	if (tw_pipeline_parse(pipeline, NODE_TYPES, &doc, err) == 0 &&
	    tw_node_types_from_json(doc, NODE_TYPES, out, err) == 0)
		rc = 0;
	json_decref(doc);
	return rc;
}

/* ---- models ---- */

/* The longest path in a pipeline has source, output, group and two model names. */
#define PATH_TEXT (4 * TW_MODEL_NAME_MAX)

static int add_zip(struct tw_fileset *pipeline, const char *base,
		   const struct tw_fileset *files, struct tw_err *err)
{
	char path[PATH_TEXT], *data;
	size_t len;

	if (tw_zip_write(files, &data, &len, err) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s.zip", base);
	return tw_fileset_take(pipeline, path, data, len, err);
}

static int add_weights(struct tw_fileset *pipeline, const char *base,
		       const struct tw_fileset *files, struct tw_err *err)
{
	const struct tw_fileset_file *f = tw_fileset_find(files, "weight.json");
	char path[PATH_TEXT];

	if (f == NULL)
		return 0;
	snprintf(path, sizeof(path), "%s.json", base);
	return tw_fileset_add(pipeline, path, f->data, f->len, err);
}

static void base_path(const struct tw_model *m, char out[PATH_TEXT / 2])
{
	snprintf(out, PATH_TEXT / 2, "%s/%s/%s/%s", m->info.source->name,
		 tw_output_name(m->info.output), m->info.group->name, m->info.name);
}

int tw_pipeline_take_validation(struct tw_fileset *pipeline, const struct tw_model *m,
				char *text, size_t len, struct tw_err *err)
{
	char base[PATH_TEXT / 2], path[PATH_TEXT];

	base_path(m, base);
	snprintf(path, sizeof(path), "%s" TW_PIPELINE_VALIDATION, base);
	return tw_fileset_take(pipeline, path, text, len, err);
}

int tw_pipeline_add_model(struct tw_fileset *pipeline, const struct tw_model *m,
			  struct tw_err *err)
{
	struct tw_fileset files = { 0 };
	char base[PATH_TEXT / 2], path[PATH_TEXT];
	int rc = -1;

	if (tw_model_to_files(m, &files, err) < 0)
		goto out;
	base_path(m, base);
	if (add_zip(pipeline, base, &files, err) < 0 ||
	    add_weights(pipeline, base, &files, err) < 0)
		goto out;
	for (size_t i = 0; i < files.count; i++) {
		char *data = files.at[i].data;

		snprintf(path, sizeof(path), "%s/%s", base, files.at[i].name);
		files.at[i].data = NULL;
		if (tw_fileset_take(pipeline, path, data, files.at[i].len, err) < 0)
			goto out;
	}

	rc = 0;
out:
	tw_fileset_clear(&files);
	if (rc < 0)
		tw_err_wrap(err, "model '%s'", m->info.name);
	return rc;
}

/* ---- tables and node types ---- */

/* Order by group, error (undefined last), name. */
static int by_group_and_error(const void *a, const void *b)
{
	const struct tw_model_info *x = &(*(const struct tw_model *const *)a)->info;
	const struct tw_model_info *y = &(*(const struct tw_model *const *)b)->info;
	int d = strcmp(x->group->name, y->group->name);

	if (d != 0)
		return d;
	if (isnan(x->mae_w) != isnan(y->mae_w))
		return isnan(x->mae_w) ? 1 : -1;
	if (x->mae_w < y->mae_w || x->mae_w > y->mae_w)
		return x->mae_w < y->mae_w ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void add_number(struct tw_buf *b, double v)
{
	if (isfinite(v))
		tw_buf_add_double(b, v);
	tw_buf_adds(b, ",");
}

/* "['a', 'b']" with the quotes of CSV. */
static void add_feature_list(struct tw_buf *b, const struct tw_strs *l)
{
	tw_buf_adds(b, "\"[");
	for (size_t i = 0; i < l->count; i++) {
		tw_buf_adds(b, i > 0 ? ", '" : "'");
		for (const char *p = l->at[i]; *p != '\0'; p++)
			tw_buf_add(b, *p == '"' ? "\"\"" : p, *p == '"' ? 2 : 1);
		tw_buf_adds(b, "'");
	}
	tw_buf_adds(b, "]\",");
}

static void add_header(struct tw_buf *b, const struct tw_energy_source *source)
{
	tw_buf_adds(b, ",model_name,model_class,model_file,features,fe_files,output_type,"
		       "mae,mape,");
	for (size_t c = 0; c < source->count; c++)
		tw_buf_addf(b, "%s_mae,", tw_component_name(source->components[c]));
	for (size_t c = 0; c < source->count; c++)
		tw_buf_addf(b, "%s_mape,", tw_component_name(source->components[c]));
	tw_buf_adds(b, "trainer,node_type,feature_group\n");
}

static void add_model_row(struct tw_buf *b, size_t row, const struct tw_model_info *i)
{
	const struct tw_energy_source *s = i->source;

	tw_buf_addf(b, "%zu,%s,%s,%s.json,", row, i->name, i->predictor, i->name);
	add_feature_list(b, &i->features);
	tw_buf_addf(b, "[],%s,", tw_output_name(i->output));
	add_number(b, i->mae_w);
	add_number(b, i->mape_percent);
	for (size_t c = 0; c < s->count; c++)
		add_number(b, tw_model_figure(i->metadata, s->components[c], "mae"));
	for (size_t c = 0; c < s->count; c++)
		add_number(b, tw_model_figure(i->metadata, s->components[c], "mape"));
	tw_buf_addf(b, "%s,%lld,%s\n", i->trainer, i->node_type, i->group->name);
}

/*
 * Append a CSV of the models of one source and output, sorted by group, error and name,
 * in the form that kepler-model-server and its users' scripts read (docs/model-db.md).
 * `features` is a Python list; an undefined figure is an empty cell.
 */
static int write_table(const struct tw_model *models, size_t count,
		       const struct tw_energy_source *source, enum tw_output output,
		       struct tw_buf *out, struct tw_err *err)
{
	const struct tw_model **rows = calloc(count + 1, sizeof(struct tw_model *));
	size_t n = 0;

	if (rows == NULL)
		return tw_fail(err, TW_NOMEM, "table of %zu models", count);
	for (size_t i = 0; i < count; i++)
		if (models[i].info.source == source && models[i].info.output == output)
			rows[n++] = &models[i];
	qsort(rows, n, sizeof(rows[0]), by_group_and_error);
	add_header(out, source);
	for (size_t i = 0; i < n; i++)
		add_model_row(out, i, &rows[i]->info);
	free(rows);
	return 0;
}

/* The first known spec among the models of a node type. */
static const struct tw_machine_spec *find_spec(const struct tw_model *models,
					       size_t count, long long node_type)
{
	static const struct tw_machine_spec unknown;

	for (size_t i = 0; i < count; i++)
		if (models[i].info.node_type == node_type &&
		    tw_machine_spec_known(&models[i].info.spec))
			return &models[i].info.spec;
	return &unknown;
}

/* Add the names of machines in metadata's "machines". */
static int add_members(struct tw_node_type *type, const json_t *metadata,
		       struct tw_err *err)
{
	const json_t *machines = NULL;
	char key[16];

	if (tw_json_object(metadata, METADATA, "machines", true, &machines, err) < 0)
		return -1;
	if (machines == NULL)
		return 0;
	snprintf(key, sizeof(key), "%u", type->number);
	return tw_json_strs(machines, "metadata.json.machines", key, true, &type->members,
			    err);
}

static int by_number(const void *a, const void *b)
{
	const long long x = *(const long long *)a, y = *(const long long *)b;

	return (x > y) - (x < y);
}

/*
 * List the node types of the models. The spec of each is the first known spec among its
 * models; the members come from metadata's "machines" ({"0":["name"]}).
 */
static int list_node_types(const json_t *metadata, const struct tw_model *models,
			   size_t count, struct tw_node_types *out, struct tw_err *err)
{
	long long *numbers = calloc(count + 1, sizeof(*numbers));
	struct tw_node_types types = { 0 };
	struct tw_node_type *type;
	int rc = -1;

	if (numbers == NULL) {
		tw_fail(err, TW_NOMEM, "node types");
		goto out;
	}
	for (size_t i = 0; i < count; i++)
		numbers[i] = models[i].info.node_type;
	qsort(numbers, count, sizeof(numbers[0]), by_number);
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && numbers[i] == numbers[i - 1])
			continue;
		if (tw_node_types_add(&types, (uint32_t)numbers[i],
				      find_spec(models, count, numbers[i]), &type,
				      err) < 0 ||
		    add_members(type, metadata, err) < 0)
			goto out;
	}

	*out = types;
	types = (struct tw_node_types){ 0 };
	rc = 0;
out:
	tw_node_types_release(&types);
	free(numbers);
	return rc;
}

/* ---- common files ---- */

static int by_source(const void *a, const void *b)
{
	const struct tw_energy_source *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static bool has_models(const struct tw_model *models, size_t count,
		       const struct tw_energy_source *source, enum tw_output output)
{
	for (size_t i = 0; i < count; i++)
		if (models[i].info.source == source && models[i].info.output == output)
			return true;
	return false;
}

static int add_table(struct tw_fileset *pipeline, const struct tw_model *models,
		     size_t count, const struct tw_energy_source *source,
		     enum tw_output output, struct tw_err *err)
{
	struct tw_buf b = { 0 };
	char name[128];

	if (!has_models(models, count, source, output))
		return 0;
	snprintf(name, sizeof(name), "%s_%s_model_metadata.csv", source->name,
		 tw_output_name(output));
	if (write_table(models, count, source, output, &b, err) < 0) {
		tw_buf_clear(&b);
		return -1;
	}
	return tw_fileset_take_buf(pipeline, name, &b, err);
}

/* A table for each source and output, sorted by the source's name. */
static int add_tables(struct tw_fileset *pipeline, const struct tw_model *models,
		      size_t count, struct tw_err *err)
{
	const struct tw_energy_source **source = calloc(count + 1, sizeof(*source));
	int rc = -1;

	if (source == NULL)
		return tw_fail(err, TW_NOMEM, "%zu models", count);
	for (size_t i = 0; i < count; i++)
		source[i] = models[i].info.source;
	qsort(source, count, sizeof(*source), by_source);
	for (size_t i = 0; i < count; i++)
		for (int o = 0; o < TW_OUTPUT_COUNT; o++)
			if ((i == 0 || source[i] != source[i - 1]) &&
			    add_table(pipeline, models, count, source[i],
				      (enum tw_output)o, err) < 0)
				goto out;
	rc = 0;
out:
	free(source);
	return rc;
}

static int add_node_types(struct tw_fileset *pipeline, const struct tw_node_types *types,
			  struct tw_err *err)
{
	json_t *obj = tw_node_types_to_json(types);
	struct tw_buf b = { 0 };

	if (obj == NULL)
		return tw_fail(err, TW_NOMEM, NODE_TYPES);
	tw_buf_add_json_pretty(&b, obj);
	json_decref(obj);
	return tw_fileset_take_buf(pipeline, NODE_TYPES, &b, err);
}

int tw_pipeline_add_index(struct tw_fileset *pipeline, const json_t *metadata,
			  const struct tw_node_types *types,
			  const struct tw_model *models, size_t count, struct tw_err *err)
{
	struct tw_buf b = { 0 };

	tw_buf_add_json_pretty(&b, metadata);
	if (tw_fileset_take_buf(pipeline, METADATA, &b, err) < 0 ||
	    add_node_types(pipeline, types, err) < 0)
		return -1;
	return add_tables(pipeline, models, count, err);
}

int tw_pipeline_add_summary(struct tw_fileset *pipeline, const json_t *metadata,
			    const struct tw_model *models, size_t count,
			    struct tw_err *err)
{
	struct tw_node_types types = { 0 };
	int rc = -1;

	if (list_node_types(metadata, models, count, &types, err) == 0 &&
	    tw_pipeline_add_index(pipeline, metadata, &types, models, count, err) == 0)
		rc = 0;
	tw_node_types_release(&types);
	return rc;
}

/* ---- profile.json ---- */

/* Add the entries of the pipeline's profile.json, if it has one. */
static int join_from(struct tw_profile *to, const struct tw_fileset *pipeline,
		     struct tw_err *err)
{
	struct tw_profile p = { 0 };
	json_t *doc = NULL;
	int rc = -1;

	if (tw_fileset_find(pipeline, TW_PIPELINE_PROFILE) == NULL)
		return 0;
	if (tw_pipeline_parse(pipeline, TW_PIPELINE_PROFILE, &doc, err) == 0 &&
	    tw_profile_from_json(doc, TW_PIPELINE_PROFILE, &p, err) == 0 &&
	    tw_profile_join(to, &p, err) == 0)
		rc = 0;
	json_decref(doc);
	tw_profile_release(&p);
	return rc;
}

static int put(struct tw_fileset *pipeline, char *data, size_t len, struct tw_err *err)
{
	for (size_t i = 0; i < pipeline->count; i++) {
		struct tw_fileset_file *f = &pipeline->at[i];

		if (strcmp(f->name, TW_PIPELINE_PROFILE) != 0)
			continue;
		free(f->data);
		f->data = data;
		f->len = len;
		return 0;
	}
	return tw_fileset_take(pipeline, TW_PIPELINE_PROFILE, data, len, err);
}

int tw_pipeline_set_profile(struct tw_fileset *pipeline, const struct tw_profile *p,
			    struct tw_err *err)
{
	json_t *doc = tw_profile_to_json(p);
	struct tw_buf text = { 0 };
	char *data = NULL;
	size_t len = 0;

	if (doc != NULL) {
		tw_buf_add_json_pretty(&text, doc);
		data = tw_buf_detach(&text, &len);
	}
	json_decref(doc);
	if (data == NULL)
		return tw_fail(err, TW_NOMEM, "%s", TW_PIPELINE_PROFILE);
	return put(pipeline, data, len, err);
}

int tw_pipeline_join_profile(struct tw_fileset *fresh, const struct tw_fileset *old,
			     struct tw_err *err)
{
	struct tw_profile p = { 0 };
	int rc = -1;

	if (tw_fileset_find(old, TW_PIPELINE_PROFILE) == NULL)
		return 0;
	if (join_from(&p, fresh, err) == 0 && join_from(&p, old, err) == 0 &&
	    tw_pipeline_set_profile(fresh, &p, err) == 0)
		rc = 0;
	tw_profile_release(&p);
	return rc;
}

/* ---- checks ---- */

/* Slashes in <source>/<output>/<group>/<model>.zip. */
#define MODEL_SLASHES 3

struct checking {
	tw_pipeline_look_fn *look;
	void *arg;
	size_t models;
};

static int by_letters(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcasecmp(*x, *y);
}

/* On a case-insensitive file system one of two such files would be lost. */
static int refuse_case_conflicts(const struct tw_fileset *s, struct tw_err *err)
{
	const char **names = calloc(s->count + 1, sizeof(*names));
	int rc = -1;

	if (names == NULL)
		return tw_fail(err, TW_NOMEM, "%zu names", s->count);
	for (size_t i = 0; i < s->count; i++)
		names[i] = s->at[i].name;
	qsort(names, s->count, sizeof(*names), by_letters);
	for (size_t i = 1; i < s->count; i++)
		if (strcasecmp(names[i - 1], names[i]) == 0) {
			tw_fail(err, TW_INVALID,
				"'%s' and '%s' differ only in the case of their letters",
				names[i - 1], names[i]);
			goto out;
		}
	rc = 0;
out:
	free(names);
	return rc;
}

static int check_metadata(const struct tw_fileset *s, struct tw_err *err)
{
	json_t *doc = NULL;
	int rc = -1;

	if (parse_metadata(s, &doc, err) < 0)
		goto out;
	if (!json_is_object(doc)) {
		tw_fail(err, TW_PARSE, METADATA ": expected an object, got %s",
			tw_json_type_name(doc));
		goto out;
	}
	rc = 0;
out:
	json_decref(doc);
	return rc;
}

static int check_node_types(const struct tw_fileset *s, struct tw_err *err)
{
	struct tw_node_types types = { 0 };
	const bool ok = tw_fileset_find(s, NODE_TYPES) == NULL ||
			tw_pipeline_read_node_types(s, &types, err) == 0;

	tw_node_types_release(&types);
	return ok ? 0 : -1;
}

int tw_pipeline_owner(const struct tw_fileset *pipeline, char **owner, struct tw_err *err)
{
	json_t *metadata = NULL;
	const char *name;
	int rc = -1;

	*owner = NULL;
	if (parse_metadata(pipeline, &metadata, err) < 0)
		return -1;
	name = json_string_value(json_object_get(metadata, "trained_by"));
	if (name != NULL && (*owner = strdup(name)) == NULL)
		tw_fail(err, TW_NOMEM, "owner of the pipeline");
	else
		rc = 0;
	json_decref(metadata);
	return rc;
}

static bool is_below(const char *name, const char *dir)
{
	const size_t len = strlen(dir);

	return strncmp(name, dir, len) == 0 && name[len] == '/';
}

bool tw_pipeline_is_model(const char *name)
{
	const size_t len = strlen(name);
	size_t slashes = 0;

	for (const char *p = name; *p != '\0'; p++)
		slashes += *p == '/';
	return slashes == MODEL_SLASHES && len > 4 &&
	       strcmp(name + len - 4, ".zip") == 0 &&
	       !is_below(name, TW_PIPELINE_FOREIGN);
}

static int check_place(const struct tw_model_info *i, const char *name,
		       struct tw_err *err)
{
	char place[4 * TW_MODEL_NAME_MAX];

	snprintf(place, sizeof(place), "%s/%s/%s/%s.zip", i->source->name,
		 tw_output_name(i->output), i->group->name, i->name);
	if (strcmp(place, name) != 0)
		return tw_fail(err, TW_INVALID, "it belongs at '%s'", place);
	return 0;
}

static int check_model(struct checking *c, const struct tw_fileset_file *f,
		       struct tw_err *err)
{
	struct tw_model m = { 0 };
	int rc = -1;

	if (tw_model_from_zip(f->data, f->len, &m, err) < 0 ||
	    check_place(&m.info, f->name, err) < 0)
		goto out;
	if (c->look != NULL && c->look(c->arg, &m, err) < 0)
		goto out;
	c->models++;
	rc = 0;
out:
	tw_model_release(&m);
	if (rc < 0)
		tw_err_wrap(err, "'%s'", f->name);
	return rc;
}

int tw_pipeline_check(struct tw_fileset *pipeline, tw_pipeline_look_fn *look, void *arg,
		      size_t *models_out, struct tw_err *err)
{
	struct checking c = { .look = look, .arg = arg };

	tw_fileset_sort(pipeline);
	if (refuse_case_conflicts(pipeline, err) < 0 ||
	    check_metadata(pipeline, err) < 0 || check_node_types(pipeline, err) < 0)
		return -1;
	for (size_t i = 0; i < pipeline->count; i++)
		if (tw_pipeline_is_model(pipeline->at[i].name) &&
		    check_model(&c, &pipeline->at[i], err) < 0)
			return -1;
	if (c.models == 0)
		return tw_fail(err, TW_INVALID, "not a pipeline: it has no model");
	*models_out = c.models;
	return 0;
}
