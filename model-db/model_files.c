/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/model_files.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/json/fields.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/weights.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * kepler-model-server's estimator takes each object of metadata.json, in lists too, for a
 * model, and rejects the file. It removes machine_spec before.
 */
static bool has_objects(const json_t *v)
{
	const json_t *one;
	size_t i;

	json_array_foreach(v, i, one)
		if (has_objects(one))
			return true;
	return json_is_object(v);
}

static bool is_detail(const char *key, const json_t *v)
{
	return strcmp(key, "machine_spec") != 0 && has_objects(v);
}

bool tw_model_has_details(const struct tw_model_info *i)
{
	const char *key;
	json_t *v;

	json_object_foreach(i->metadata, key, v)
		if (is_detail(key, v))
			return true;
	return false;
}

static const char metadata_name[] = "metadata.json", details_name[] = "details.json";

/* Reads the files of a model by name. */
struct reader {
	tw_model_file_fn *file;
	void *arg;
	bool no_errors; /* leave the components' error texts out */
};

/* Read a file whose name is untrusted: it must be a plain name. */
static int get_file(const struct reader *r, const char *where, const char *name,
		    size_t max, char **data, size_t *len, struct tw_err *err)
{
	struct tw_err why = { 0 };

	if (tw_name_check(where, name, strlen(name), err) < 0)
		return -1;
	if (r->file(r->arg, name, max, data, len, &why) == 0)
		return 0;
	if (why.code == TW_NOTFOUND)
		return tw_fail(err, TW_INVALID, "%s: there is no file '%s'", where, name);
	return tw_fail(err, why.code, "%s", why.text);
}

static int parse_file(const struct reader *r, const char *where, const char *name,
		      json_t **out, struct tw_err *err)
{
	char *data = NULL;
	size_t len;
	int rc = -1;

	if (get_file(r, where, name, TW_MODEL_METADATA_BYTES_MAX, &data, &len, err) ==
		    0 &&
	    tw_json_parse(data, len, name, out, err) == 0)
		rc = 0;
	free(data);
	return rc;
}

/* ---- the tables ---- */

/* kepler-model-server's fe_files are pickles, which we never open. */
static int refuse_fe_files(const json_t *v, const char *where, void *none,
			   struct tw_err *err)
{
	(void)none;
	if (!json_is_array(v))
		return tw_fail(err, TW_PARSE, "%s: expected a list, got %s", where,
			       tw_json_type_name(v));
	if (json_array_size(v) > 0)
		return tw_fail(err, TW_UNSUPPORTED,
			       "%s: %zu files of feature engineering; pickles are not "
			       "supported",
			       where, json_array_size(v));
	return 0;
}

static void write_fe_files(const void *none, struct tw_buf *out)
{
	(void)none;
	tw_buf_adds(out, "[]");
}

/* The name of a model determines the name of its file. */
static void write_model_file(const void *name, struct tw_buf *out)
{
	char file[TW_MODEL_NAME_MAX + 8];

	snprintf(file, sizeof(file), "%s.json", (const char *)name);
	tw_json_add_text(out, NULL, file);
}

static int parse_source(const char *text, void *source, struct tw_err *err)
{
	return tw_energy_source_open(text, source, err);
}

static const char *source_text(const void *source)
{
	return (*(const struct tw_energy_source *const *)source)->name;
}

static int parse_output(const char *text, void *output, struct tw_err *err)
{
	return tw_output_find(text, output)
		       ? 0
		       : tw_fail(err, TW_INVALID, "'%s' is not known", text);
}

static const char *output_text(const void *output)
{
	return tw_output_name(*(const enum tw_output *)output);
}

static int parse_group(const char *text, void *group, struct tw_err *err)
{
	const struct tw_feature_group *found = tw_feature_group_find(text);

	if (found == NULL)
		return tw_fail(err, TW_INVALID, "'%s' is not known", text);
	*(const struct tw_feature_group **)group = found;
	return 0;
}

static const char *group_text(const void *group)
{
	return (*(const struct tw_feature_group *const *)group)->name;
}

static const struct tw_field_own fe_files_own = { .read = refuse_fe_files,
						  .write = write_fe_files },
				 model_file_own = { .write = write_model_file },
				 source_own = { .parse = parse_source,
						.text = source_text },
				 output_own = { .parse = parse_output,
						.text = output_text },
				 group_own = { .parse = parse_group, .text = group_text };

static bool knows_spec(const void *info)
{
	return tw_machine_spec_known(&((const struct tw_model_info *)info)->spec);
}

#define INFO(member) TW_FIELD_AT(struct tw_model_info, member)

static const struct tw_field info_fields[] = {
	{ "format_version", TW_FIELD_FORMAT, .min = TW_MODEL_FORMAT,
	  .max = TW_MODEL_FORMAT, .optional = true },
	{ "model_name", TW_FIELD_TEXT, INFO(name) },
	{ "model_class", TW_FIELD_TEXT, INFO(predictor) },
	{ "model_file", TW_FIELD_OWN, INFO(name), .own = &model_file_own,
	  .unread = true },
	{ "energy_source", TW_FIELD_OWN, INFO(source), .own = &source_own },
	{ "output_type", TW_FIELD_OWN, INFO(output), .own = &output_own },
	{ "feature_group", TW_FIELD_OWN, INFO(group), .own = &group_own },
	{ "features", TW_FIELD_STRS, INFO(features) },
	{ "fe_files", TW_FIELD_OWN, .own = &fe_files_own, .optional = true },
	{ "trainer", TW_FIELD_TEXT, INFO(trainer), .optional = true },
	{ "node_type", TW_FIELD_INT, INFO(node_type), .max = TW_MODEL_NODE_TYPE_MAX,
	  .optional = true },
	{ "mae", TW_FIELD_DOUBLE, INFO(mae_w), .optional = true },
	{ "mape", TW_FIELD_DOUBLE, INFO(mape_percent), .optional = true },
	{ "machine_spec", TW_FIELD_OWN, INFO(spec), .own = &tw_machine_spec_own,
	  .optional = true, .when = knows_spec },
};

static const struct tw_fields info_table = TW_FIELDS(info_fields, struct tw_model_info);

/* A component in <name>.json. */
struct listed {
	const char *file, *error_file;
	struct tw_strs features;
	double *min, *max;
	size_t mins, maxs;
};

#define LISTED(member) TW_FIELD_AT(struct listed, member)

static const struct tw_field listed_fields[] = {
	{ "model_file", TW_FIELD_BORROWED, LISTED(file) },
	{ "error_file", TW_FIELD_BORROWED, LISTED(error_file), .optional = true,
	  .omit_empty = true },
	{ "features", TW_FIELD_STRS, LISTED(features) },
	{ "fe_files", TW_FIELD_OWN, .own = &fe_files_own, .optional = true },
	{ "feature_min", TW_FIELD_DOUBLE, TW_FIELD_LIST_AT(struct listed, min, mins),
	  .optional = true, .omit_empty = true },
	{ "feature_max", TW_FIELD_DOUBLE, TW_FIELD_LIST_AT(struct listed, max, maxs),
	  .optional = true, .omit_empty = true },
};

static const struct tw_fields listed_table = TW_FIELDS(listed_fields, struct listed);

/* ---- reading ---- */

/* The name contains trainer and node_type; tw_model_check_info() compares them. */
static void read_identity(const json_t *obj, struct tw_model_info *i)
{
	long long node_type;
	size_t len;

	if (!tw_model_name_split(i->name, &len, &node_type))
		return;
	if (json_object_get(obj, "trainer") == NULL)
		snprintf(i->trainer, sizeof(i->trainer), "%.*s", (int)len, i->name);
	if (!json_is_integer(json_object_get(obj, "node_type")))
		i->node_type = node_type;
}

static int read_info(const json_t *obj, struct tw_model_info *i, struct tw_err *err)
{
	i->mae_w = NAN;
	i->mape_percent = NAN;
	if (tw_fields_read(&info_table, obj, metadata_name, i, err) < 0)
		return -1;
	read_identity(obj, i);
	/* kepler-model-server writes -1 for an undefined error. */
	if (i->mape_percent == -1)
		i->mape_percent = NAN;
	tw_strs_sort(&i->features);
	return 0;
}

/* Move the members that a component keeps. */
static int take_listed(struct listed *l, const char *where, struct tw_model_part *p,
		       struct tw_err *err)
{
	const size_t n = l->features.count;

	if (n > TW_MODEL_FEATURES_MAX)
		return tw_fail(err, TW_INVALID, "%s.features: %zu features, limit is %d",
			       where, n, TW_MODEL_FEATURES_MAX);
	if ((l->min != NULL && l->mins != n) || (l->max != NULL && l->maxs != n))
		return tw_fail(err, TW_INVALID,
			       "%s.feature_%s: %zu numbers for %zu features", where,
			       l->mins != n ? "min" : "max",
			       l->mins != n ? l->mins : l->maxs, n);
	p->features = l->features;
	p->feature_min = l->min;
	p->feature_max = l->max;
	*l = (struct listed){ .file = l->file, .error_file = l->error_file };
	return 0;
}

static int read_part(const struct reader *r, const json_t *obj, const char *where,
		     struct tw_model_part *p, struct tw_err *err)
{
	char file_where[2 * TW_MODEL_NAME_MAX + 16];
	struct listed l = { .file = NULL };
	int rc = -1;

	if (tw_fields_read(&listed_table, obj, where, &l, err) < 0 ||
	    take_listed(&l, where, p, err) < 0)
		goto out;
	snprintf(file_where, sizeof(file_where), "%s.model_file", where);
	if (get_file(r, file_where, l.file, TW_MODEL_PART_BYTES_MAX, &p->text, &p->len,
		     err) < 0)
		goto out;
	snprintf(file_where, sizeof(file_where), "%s.error_file", where);
	if (l.error_file != NULL && !r->no_errors &&
	    get_file(r, file_where, l.error_file, TW_MODEL_PART_BYTES_MAX, &p->error_text,
		     &p->error_len, err) < 0)
		goto out;
	rc = 0;
out:
	tw_fields_release(&listed_table, &l);
	return rc;
}

/* Read <name>.json: for each component its file, features and ranges. */
static int read_parts(const struct reader *r, json_t *obj, const char *file,
		      struct tw_model *m, struct tw_err *err)
{
	enum tw_component unused;
	const char *key;
	json_t *v;

	if (!json_is_object(obj))
		return tw_fail(err, TW_PARSE, "%s: expected an object, got %s", file,
			       tw_json_type_name(obj));
	json_object_foreach(obj, key, v)
		if (!tw_component_find(key, &unused))
			return tw_fail(err, TW_INVALID, "%s.%s: no such component", file,
				       key);
	for (int c = 0; c < TW_COMPONENT_COUNT; c++) {
		const char *component = tw_component_name((enum tw_component)c);
		char where[2 * TW_MODEL_NAME_MAX];

		v = json_object_get(obj, component);
		if (v == NULL)
			continue;
		snprintf(where, sizeof(where), "%s.%s", file, component);
		m->part[m->parts].component = (enum tw_component)c;
		m->parts++;
		if (read_part(r, v, where, &m->part[m->parts - 1], err) < 0)
			return -1;
	}
	return 0;
}

static int read_list(const struct reader *r, struct tw_model *m, struct tw_err *err)
{
	json_t *parts = NULL;
	const char *file;
	int rc = -1;

	if (tw_json_text(m->info.metadata, metadata_name, "model_file", false, &file,
			 err) == 0 &&
	    parse_file(r, "metadata.json.model_file", file, &parts, err) == 0 &&
	    read_parts(r, parts, file, m, err) == 0)
		rc = 0;
	json_decref(parts);
	return rc;
}

static int read_metadata(const struct reader *r, struct tw_model_info *i,
			 struct tw_err *err)
{
	if (parse_file(r, "model", metadata_name, &i->metadata, err) < 0)
		return -1;
	return read_info(i->metadata, i, err);
}

/* Set *failed if v is NULL or there is no memory; otherwise leave it. */
static void set(json_t *obj, const char *key, json_t *v, bool *failed)
{
	if (json_object_set_new(obj, key, v) < 0)
		*failed = true;
}

/* Add details.json to the metadata, if the model has it; metadata.json goes before it. */
static int read_details(const struct tw_fileset *files, json_t *metadata,
			struct tw_err *err)
{
	const struct tw_fileset_file *f = tw_fileset_find(files, details_name);
	json_t *details = NULL, *v;
	bool failed = false;
	const char *key;
	int rc = -1;

	if (f == NULL)
		return 0;
	if (f->len > TW_MODEL_METADATA_BYTES_MAX)
		return tw_fail(err, TW_INVALID, "%s: %zu bytes, limit is %zu",
			       details_name, f->len, TW_MODEL_METADATA_BYTES_MAX);
	if (tw_json_parse(f->data, f->len, details_name, &details, err) < 0)
		goto out;
	if (!json_is_object(details)) {
		tw_fail(err, TW_PARSE, "%s: expected an object, got %s", details_name,
			tw_json_type_name(details));
		goto out;
	}
	json_object_foreach(details, key, v)
		if (is_detail(key, v) && json_object_get(metadata, key) == NULL)
			set(metadata, key, json_incref(v), &failed);
	if (failed) {
		tw_fail(err, TW_NOMEM, "%s", details_name);
		goto out;
	}
	rc = 0;
out:
	json_decref(details);
	return rc;
}

int tw_model_glance(tw_model_file_fn *file, void *arg, tw_model_wants_parts_fn *wants,
		    struct tw_model *out, struct tw_err *err)
{
	const struct reader r = { .file = file, .arg = arg, .no_errors = true };
	struct tw_model m = { 0 };
	int rc = -1;

	if (read_metadata(&r, &m.info, err) < 0 || tw_model_check_info(&m.info, err) < 0)
		goto out;
	if (wants(&m.info) && read_list(&r, &m, err) < 0)
		goto out;

	*out = m;
	m = (struct tw_model){ 0 };
	rc = 0;
out:
	tw_model_release(&m);
	return rc;
}

/* tw_model_file_fn of a set of files: copies the file. */
static int copy_file(void *arg, const char *name, size_t max, char **data, size_t *len,
		     struct tw_err *err)
{
	const struct tw_fileset_file *f = tw_fileset_find(arg, name);

	if (f == NULL)
		return tw_fail(err, TW_NOTFOUND, "there is no file '%s'", name);
	if (f->len > max)
		return tw_fail(err, TW_INVALID, "%s: %zu bytes, limit is %zu", name,
			       f->len, max);
	*data = malloc(f->len + 1);
	if (*data == NULL)
		return tw_fail(err, TW_NOMEM, "%s: %zu bytes", name, f->len);
	memcpy(*data, f->data, f->len);
	(*data)[f->len] = '\0';
	*len = f->len;
	return 0;
}

int tw_model_from_files(const struct tw_fileset *files, struct tw_model *out,
			struct tw_err *err)
{
	/* copy_file() does not change the set. */
	const struct reader r = { .file = copy_file, .arg = (void *)(uintptr_t)files };
	struct tw_model m = { 0 };
	int rc = -1;

	if (read_metadata(&r, &m.info, err) < 0 ||
	    read_details(files, m.info.metadata, err) < 0 || read_list(&r, &m, err) < 0 ||
	    tw_model_check(&m, err) < 0)
		goto out;

	*out = m;
	m = (struct tw_model){ 0 };
	rc = 0;
out:
	tw_model_release(&m);
	return rc;
}

int tw_model_from_zip(const char *data, size_t len, struct tw_model *out,
		      struct tw_err *err)
{
	struct tw_fileset files = { 0 };
	int rc = -1;

	if (tw_zip_read(data, len, &tw_zip_model_limits, &files, err) == 0 &&
	    tw_model_from_files(&files, out, err) == 0)
		rc = 0;
	tw_fileset_clear(&files);
	return rc;
}

/* ---- writing ---- */

/* Add the value as an indented JSON file. */
static int add_json(struct tw_fileset *files, const char *name, const json_t *v,
		    struct tw_err *err)
{
	struct tw_buf b = { 0 };

	tw_buf_add_json_pretty(&b, v);
	return tw_fileset_take_buf(files, name, &b, err);
}

static int add_metadata(const struct tw_model_info *i, struct tw_fileset *files,
			struct tw_err *err)
{
	json_t *obj = tw_fields_to_json(&info_table, i), *details = json_object(), *v;
	bool failed = obj == NULL || details == NULL;
	const char *key;
	int rc = -1;

	/* Copies: models of several threads share metadata, whose counts of references
	 * jansson reads without a lock. */
	json_object_foreach(i->metadata, key, v)
		if (strcmp(key, "machine_spec") != 0 && json_object_get(obj, key) == NULL)
			set(is_detail(key, v) ? details : obj, key, json_deep_copy(v),
			    &failed);
	if (failed) {
		tw_fail(err, TW_NOMEM, "metadata of model '%s'", i->name);
		goto out;
	}
	if (add_json(files, metadata_name, obj, err) < 0 ||
	    (json_object_size(details) > 0 &&
	     add_json(files, details_name, details, err) < 0))
		goto out;

	rc = 0;
out:
	json_decref(obj);
	json_decref(details);
	return rc;
}

static void describe_part(const struct tw_model_part *p, const char *name,
			  const char *error_file, struct tw_buf *out)
{
	const size_t range = p->feature_min != NULL ? p->features.count : 0;
	const struct listed l = { .file = name,
				  .error_file = p->error_text != NULL ? error_file : NULL,
				  .features = p->features,
				  .min = p->feature_min,
				  .max = p->feature_max,
				  .mins = range,
				  .maxs = range };

	tw_json_add_key(out, tw_component_name(p->component));
	tw_fields_write(&listed_table, &l, out);
}

static int add_parts(const struct tw_model *m, struct tw_fileset *files,
		     struct tw_err *err)
{
	char name[TW_MODEL_NAME_MAX + 8], errors[64];
	struct tw_buf list = { 0 };

	tw_json_add_object(&list, NULL);
	for (size_t i = 0; i < m->parts; i++) {
		const struct tw_model_part *p = &m->part[i];
		const char *component = tw_component_name(p->component);

		snprintf(name, sizeof(name), "%s.json", component);
		snprintf(errors, sizeof(errors), "%s" TW_MODEL_ERROR_SUFFIX, component);
		describe_part(p, name, errors, &list);
		if (tw_fileset_add(files, name, p->text, p->len, err) < 0 ||
		    (p->error_text != NULL && tw_fileset_add(files, errors, p->error_text,
							     p->error_len, err) < 0)) {
			tw_buf_clear(&list);
			return -1;
		}
	}
	tw_json_end_object(&list);
	tw_json_indent(&list);
	snprintf(name, sizeof(name), "%s.json", m->info.name);
	return tw_fileset_take_buf(files, name, &list, err);
}

/* Leave out weights that can give negative power: no client can use them. */
static int add_weights(const struct tw_model *m, struct tw_fileset *files,
		       struct tw_err *err)
{
	struct tw_buf b = { 0 };
	struct tw_err why = { 0 };

	if (!tw_weights_plain(m))
		return 0;
	if (tw_weights_write(m, TW_CLIENT_0_7, &b, &why) < 0) {
		tw_buf_clear(&b);
		return why.code == TW_UNSUPPORTED
			       ? 0
			       : tw_fail(err, why.code, "%s", why.text);
	}
	return tw_fileset_take_buf(files, "weight.json", &b, err);
}

int tw_model_to_files(const struct tw_model *m, struct tw_fileset *out,
		      struct tw_err *err)
{
	struct tw_fileset files = { 0 };
	int rc = -1;

	if (tw_model_check(m, err) < 0 || add_metadata(&m->info, &files, err) < 0 ||
	    add_parts(m, &files, err) < 0 || add_weights(m, &files, err) < 0)
		goto out;
	tw_fileset_sort(&files);

	*out = files;
	files = (struct tw_fileset){ 0 };
	rc = 0;
out:
	tw_fileset_clear(&files);
	return rc;
}
