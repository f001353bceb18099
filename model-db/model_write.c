/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/model.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/json.h"
#include "lib/zip/fileset.h"
#include "model-db/model_check.h"
#include "model-db/weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number, or null where there is none. */
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

/* Sticky: a value or member that could not be made is told once, by *failed. */
static void set(json_t *obj, const char *key, json_t *v, bool *failed)
{
	if (json_object_set_new(obj, key, v) < 0)
		*failed = true;
}

/* The file's text, indented. */
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
	/* Always taken from the fields: an old one must not come back from the metadata.
	 */
	if (tw_machine_spec_known(&i->spec))
		set(obj, "machine_spec", tw_machine_spec_to_json(&i->spec), failed);
}

static int add_metadata(const struct tw_model_info *i, struct tw_fileset *files,
			struct tw_err *err)
{
	json_t *obj = json_object(), *v;
	bool failed = obj == NULL;
	const char *key;
	int rc = -1;

	set_derived(obj, i, &failed);
	json_object_foreach(i->metadata, key, v)
		if (strcmp(key, "machine_spec") != 0 &&
		    json_object_get(obj, key) == NULL && json_object_set(obj, key, v) < 0)
			failed = true;
	if (failed) {
		tw_fail(err, TW_NOMEM, "metadata of model '%s'", i->name);
		goto out;
	}
	if (add_json(files, "metadata.json", obj, err) < 0)
		goto out;

	rc = 0;
out:
	json_decref(obj);
	return rc;
}

static json_t *describe_part(const struct tw_model_part *p, const char *file)
{
	json_t *obj = json_object();
	bool failed = obj == NULL;

	set(obj, "model_file", json_string(file), &failed);
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
	char name[TW_MODEL_NAME_MAX + 8];
	int rc = -1;

	for (size_t i = 0; i < m->parts; i++) {
		const struct tw_model_part *p = &m->part[i];
		const char *component = tw_component_name(p->component);

		snprintf(name, sizeof(name), "%s.json", component);
		set(obj, component, describe_part(p, name), &failed);
		if (tw_fileset_add(files, name, p->text, p->len, err) < 0)
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

/* Weights that no client can use are left out: those that give negative power. */
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
