/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/model_files.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/json/json.h"
#include "lib/zip/fileset.h"
#include "model-db/model.h"
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

/* ---- reading ---- */

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

/* kepler-model-server's fe_files are pickles, which we never open. */
static int refuse_fe_files(const json_t *obj, const char *where, struct tw_err *err)
{
	const json_t *list = NULL;

	if (tw_json_array(obj, where, "fe_files", true, &list, err) < 0)
		return -1;
	if (json_array_size(list) > 0)
		return tw_fail(err, TW_UNSUPPORTED,
			       "%s.fe_files: %zu files of feature engineering; pickles "
			       "are not supported",
			       where, json_array_size(list));
	return 0;
}

static int read_name(const json_t *obj, const char *key, char out[TW_MODEL_NAME_MAX],
		     struct tw_err *err)
{
	const char *text;

	if (tw_json_text(obj, metadata_name, key, false, &text, err) < 0)
		return -1;
	if (strlen(text) >= TW_MODEL_NAME_MAX)
		return tw_fail(err, TW_INVALID, "%s.%s: %zu bytes, limit is %d",
			       metadata_name, key, strlen(text), TW_MODEL_NAME_MAX - 1);
	snprintf(out, TW_MODEL_NAME_MAX, "%s", text);
	return 0;
}

/* The name contains trainer and node_type; tw_model_check_info() compares them. */
static int read_identity(const json_t *obj, struct tw_model_info *i, struct tw_err *err)
{
	size_t len;

	if (read_name(obj, "model_name", i->name, err) < 0 ||
	    read_name(obj, "model_class", i->predictor, err) < 0)
		return -1;
	if (tw_model_name_split(i->name, &len, &i->node_type))
		snprintf(i->trainer, sizeof(i->trainer), "%.*s", (int)len, i->name);
	if (json_object_get(obj, "trainer") != NULL &&
	    read_name(obj, "trainer", i->trainer, err) < 0)
		return -1;
	return tw_json_int(obj, metadata_name, "node_type", true, 0,
			   TW_MODEL_NODE_TYPE_MAX, &i->node_type, err);
}

/* Read the directory levels of the model: source, group, output. */
static int read_place(const json_t *obj, struct tw_model_info *i, struct tw_err *err)
{
	const char *text;

	if (tw_json_text(obj, metadata_name, "energy_source", false, &text, err) < 0)
		return -1;
	if (tw_energy_source_open(text, &i->source, err) < 0)
		return tw_err_wrap(err, "%s.energy_source", metadata_name);
	if (tw_json_text(obj, metadata_name, "feature_group", false, &text, err) < 0)
		return -1;
	i->group = tw_feature_group_find(text);
	if (i->group == NULL)
		return tw_fail(err, TW_INVALID, "%s.feature_group: '%s' is not known",
			       metadata_name, text);
	if (tw_json_text(obj, metadata_name, "output_type", false, &text, err) < 0)
		return -1;
	if (!tw_output_find(text, &i->output))
		return tw_fail(err, TW_INVALID, "%s.output_type: '%s' is not known",
			       metadata_name, text);
	return 0;
}

static int read_errors(const json_t *obj, struct tw_model_info *i, struct tw_err *err)
{
	i->mae_w = NAN;
	i->mape_percent = NAN;
	if (tw_json_number(obj, metadata_name, "mae", true, &i->mae_w, err) < 0 ||
	    tw_json_number(obj, metadata_name, "mape", true, &i->mape_percent, err) < 0)
		return -1;
	/* kepler-model-server writes -1 for an undefined error. */
	if (i->mape_percent == -1)
		i->mape_percent = NAN;
	return 0;
}

static int read_info(const json_t *obj, struct tw_model_info *i, struct tw_err *err)
{
	long long format = TW_MODEL_FORMAT;

	if (!json_is_object(obj))
		return tw_fail(err, TW_PARSE, "%s: expected an object, got %s",
			       metadata_name, tw_json_type_name(obj));
	if (tw_json_int(obj, metadata_name, "format_version", true, 0, INT32_MAX, &format,
			err) < 0)
		return -1;
	if (format != TW_MODEL_FORMAT)
		return tw_fail(err, TW_UNSUPPORTED, "%s.format_version: %lld, want %d",
			       metadata_name, format, TW_MODEL_FORMAT);
	if (refuse_fe_files(obj, metadata_name, err) < 0 ||
	    read_identity(obj, i, err) < 0 || read_place(obj, i, err) < 0 ||
	    read_errors(obj, i, err) < 0)
		return -1;
	if (tw_json_strs(obj, metadata_name, "features", false, &i->features, err) < 0)
		return -1;
	tw_strs_sort(&i->features);
	return tw_machine_spec_from_json(json_object_get(obj, "machine_spec"),
					 "metadata.json.machine_spec", &i->spec, err);
}

static int read_range(const json_t *obj, const char *where, const char *key, size_t count,
		      double **out, struct tw_err *err)
{
	const json_t *list = NULL;
	double *v = NULL;

	if (tw_json_array(obj, where, key, true, &list, err) < 0)
		return -1;
	if (list == NULL)
		return 0;
	if (json_array_size(list) != count)
		return tw_fail(err, TW_INVALID, "%s.%s: %zu numbers for %zu features",
			       where, key, json_array_size(list), count);
	v = calloc(count + 1, sizeof(*v));
	if (v == NULL)
		return tw_fail(err, TW_NOMEM, "range of %zu features", count);
	for (size_t i = 0; i < count; i++) {
		if (!json_is_number(json_array_get(list, i))) {
			free(v);
			return tw_fail(err, TW_PARSE, "%s.%s[%zu]: expected a number",
				       where, key, i);
		}
		v[i] = json_number_value(json_array_get(list, i));
	}
	*out = v;
	return 0;
}

static int read_part(const struct reader *r, const json_t *obj, const char *where,
		     struct tw_model_part *p, struct tw_err *err)
{
	char file_where[2 * TW_MODEL_NAME_MAX + 16];
	const char *file, *errors = NULL;

	if (!json_is_object(obj))
		return tw_fail(err, TW_PARSE, "%s: expected an object, got %s", where,
			       tw_json_type_name(obj));
	snprintf(file_where, sizeof(file_where), "%s.model_file", where);
	if (refuse_fe_files(obj, where, err) < 0 ||
	    tw_json_text(obj, where, "model_file", false, &file, err) < 0 ||
	    tw_json_text(obj, where, "error_file", true, &errors, err) < 0)
		return -1;
	if (tw_json_strs(obj, where, "features", false, &p->features, err) < 0)
		return -1;
	if (p->features.count > TW_MODEL_FEATURES_MAX)
		return tw_fail(err, TW_INVALID, "%s.features: %zu features, limit is %d",
			       where, p->features.count, TW_MODEL_FEATURES_MAX);
	if (read_range(obj, where, "feature_min", p->features.count, &p->feature_min,
		       err) < 0 ||
	    read_range(obj, where, "feature_max", p->features.count, &p->feature_max,
		       err) < 0)
		return -1;
	if (get_file(r, file_where, file, TW_MODEL_PART_BYTES_MAX, &p->text, &p->len,
		     err) < 0)
		return -1;
	if (errors == NULL || r->no_errors)
		return 0;
	snprintf(file_where, sizeof(file_where), "%s.error_file", where);
	return get_file(r, file_where, errors, TW_MODEL_PART_BYTES_MAX, &p->error_text,
			&p->error_len, err);
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

/* ---- writing ---- */

/* A number; null if it is not finite. */
static json_t *number(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static json_t *numbers(const double *v, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; list != NULL && i < count; i++) {
		if (json_array_append_new(list, json_real(v[i])) < 0) {
			json_decref(list);
			list = NULL;
		}
	}
	return list;
}

/* Add the value as an indented JSON file. */
static int add_json(struct tw_fileset *files, const char *name, const json_t *v,
		    struct tw_err *err)
{
	struct tw_buf b = { 0 };
	char *text;
	size_t len;

	tw_buf_add_json_pretty(&b, v);
	text = tw_buf_detach(&b, &len);
	if (text == NULL)
		return tw_fail(err, TW_NOMEM, "%s", name);
	return tw_fileset_take(files, name, text, len, err);
}

static void set_derived(json_t *obj, const struct tw_model_info *i, bool *failed)
{
	char file[TW_MODEL_NAME_MAX + 8];

	snprintf(file, sizeof(file), "%s.json", i->name);
	set(obj, "format_version", json_integer(TW_MODEL_FORMAT), failed);
	set(obj, "model_name", json_string(i->name), failed);
	set(obj, "model_class", json_string(i->predictor), failed);
	set(obj, "model_file", json_string(file), failed);
	set(obj, "energy_source", json_string(i->source->name), failed);
	set(obj, "output_type", json_string(tw_output_name(i->output)), failed);
	set(obj, "feature_group", json_string(i->group->name), failed);
	set(obj, "features", tw_json_texts(&i->features), failed);
	set(obj, "fe_files", json_array(), failed);
	set(obj, "trainer", json_string(i->trainer), failed);
	set(obj, "node_type", json_integer(i->node_type), failed);
	set(obj, "mae", number(i->mae_w), failed);
	set(obj, "mape", number(i->mape_percent), failed);
	/* add_metadata() never copies an older machine_spec from the metadata. */
	if (tw_machine_spec_known(&i->spec))
		set(obj, "machine_spec", tw_machine_spec_to_json(&i->spec), failed);
}

static int add_metadata(const struct tw_model_info *i, struct tw_fileset *files,
			struct tw_err *err)
{
	json_t *obj = json_object(), *details = json_object(), *v;
	bool failed = obj == NULL || details == NULL;
	const char *key;
	int rc = -1;

	set_derived(obj, i, &failed);
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

static json_t *describe_part(const struct tw_model_part *p, const char *file,
			     const char *error_file)
{
	json_t *obj = json_object();
	bool failed = obj == NULL;

	set(obj, "model_file", json_string(file), &failed);
	if (p->error_text != NULL)
		set(obj, "error_file", json_string(error_file), &failed);
	set(obj, "features", tw_json_texts(&p->features), &failed);
	set(obj, "fe_files", json_array(), &failed);
	if (p->feature_min != NULL) {
		set(obj, "feature_min", numbers(p->feature_min, p->features.count),
		    &failed);
		set(obj, "feature_max", numbers(p->feature_max, p->features.count),
		    &failed);
	}
	if (failed) {
		json_decref(obj);
		return NULL;
	}
	return obj;
}

static int add_parts(const struct tw_model *m, struct tw_fileset *files,
		     struct tw_err *err)
{
	json_t *obj = json_object();
	bool failed = obj == NULL;
	char name[TW_MODEL_NAME_MAX + 8], errors[64];
	int rc = -1;

	for (size_t i = 0; i < m->parts; i++) {
		const struct tw_model_part *p = &m->part[i];
		const char *component = tw_component_name(p->component);

		snprintf(name, sizeof(name), "%s.json", component);
		snprintf(errors, sizeof(errors), "%s" TW_MODEL_ERROR_SUFFIX, component);
		set(obj, component, describe_part(p, name, errors), &failed);
		if (tw_fileset_add(files, name, p->text, p->len, err) < 0 ||
		    (p->error_text != NULL &&
		     tw_fileset_add(files, errors, p->error_text, p->error_len, err) < 0))
			goto out;
	}
	if (failed) {
		tw_fail(err, TW_NOMEM, "components of model '%s'", m->info.name);
		goto out;
	}
	snprintf(name, sizeof(name), "%s.json", m->info.name);
	if (add_json(files, name, obj, err) < 0)
		goto out;

	rc = 0;
out:
	json_decref(obj);
	return rc;
}

/* Leave out weights that can give negative power: no client can use them. */
static int add_weights(const struct tw_model *m, struct tw_fileset *files,
		       struct tw_err *err)
{
	struct tw_buf b = { 0 };
	struct tw_err why = { 0 };
	char *text;
	size_t len;

	if (!tw_weights_plain(m))
		return 0;
	if (tw_weights_write(m, TW_CLIENT_0_7, &b, &why) < 0) {
		tw_buf_clear(&b);
		return why.code == TW_UNSUPPORTED
			       ? 0
			       : tw_fail(err, why.code, "%s", why.text);
	}
	text = tw_buf_detach(&b, &len);
	if (text == NULL)
		return tw_fail(err, TW_NOMEM, "weights of model '%s'", m->info.name);
	return tw_fileset_take(files, "weight.json", text, len, err);
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
