/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/pipeline_merge.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/json/json.h"
#include "lib/zip/fileset.h"
#include "model-db/model.h"
#include "model-db/model_files.h"
#include "model-db/pipeline.h"
#include "profiler/node_types.h"

#include <stdlib.h>
#include <string.h>

#define ZIP_SUFFIX ".zip"

/* ---- files of models ---- */

/*
 * The length of the model's base in a file's name: "a/b/c/m_0.zip", "a/b/c/m_0.json" and
 * "a/b/c/m_0/metadata.json" have the base "a/b/c/m_0".
 */
static size_t base_len(const char *name)
{
	static const char *const suffixes[] = { ZIP_SUFFIX, TW_PIPELINE_VALIDATION,
						".json" };
	const size_t whole = strlen(name);
	const char *at = name;

	for (int slash = 0; at != NULL && slash < 4; slash++)
		at = strchr(at + (slash > 0), '/');
	if (at != NULL)
		return (size_t)(at - name);
	for (size_t i = 0; i < TW_COUNT(suffixes); i++) {
		const size_t len = strlen(suffixes[i]);

		if (whole > len && strcmp(name + whole - len, suffixes[i]) == 0)
			return whole - len;
	}
	return whole;
}

/* Whether the set has a model with the base of this file. */
static bool has_model_of(const struct tw_fileset *sorted, const char *name)
{
	const size_t len = base_len(name);
	size_t low = 0, high = sorted->count;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		const char *other = sorted->at[mid].name;
		int d = strncmp(other, name, len);

		if (d == 0)
			d = strcmp(other + len, ZIP_SUFFIX);
		if (d == 0)
			return true;
		if (d < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return false;
}

/* Move the files of models that only old has to fresh; leave the common files. */
static int move_models(struct tw_fileset *fresh, struct tw_fileset *old,
		       struct tw_err *err)
{
	struct tw_fileset kept = { 0 };
	int rc = -1;

	tw_fileset_sort(fresh);
	for (size_t i = 0; i < old->count; i++) {
		struct tw_fileset_file *f = &old->at[i];
		char *data = f->data;

		if (strchr(f->name, '/') == NULL || has_model_of(fresh, f->name))
			continue;
		f->data = NULL;
		if (tw_fileset_take(&kept, f->name, data, f->len, err) < 0)
			goto out;
	}
	if (tw_fileset_merge(fresh, &kept, err) < 0)
		goto out;

	rc = 0;
out:
	tw_fileset_clear(&kept);
	return rc;
}

/* ---- common files ---- */

/* Set to's list to the texts of both lists, old's first, each once. */
static int join_lists(json_t *to, const json_t *old, const char *key, struct tw_err *err)
{
	struct tw_strs all = { 0 };
	json_t *list = json_array();
	int rc = -1;

	if (tw_json_strs(old, "metadata.json", key, true, &all, err) < 0 ||
	    tw_json_strs(to, "metadata.json", key, true, &all, err) < 0)
		goto out;
	for (size_t i = 0; i < all.count; i++)
		if (tw_strs_find(&all, all.at[i]) == (ptrdiff_t)i &&
		    json_array_append_new(list, json_string(all.at[i])) < 0)
			goto nomem;
	if (json_object_set(to, key, list) < 0)
		goto nomem;

	rc = 0;
	goto out;
nomem:
	tw_fail(err, TW_NOMEM, "metadata.json");
out:
	json_decref(list);
	tw_strs_clear(&all);
	return rc;
}

/* Keep the earlier (sign 1) or later (sign -1) of two ISO times, compared as texts. */
static int join_time(json_t *to, const json_t *old, const char *key, int sign,
		     struct tw_err *err)
{
	const char *was = json_string_value(json_object_get(old, key));
	const char *is = json_string_value(json_object_get(to, key));
	const int order = was != NULL && is != NULL ? strcmp(is, was) : sign;

	if (was == NULL || order == 0 || (order < 0) == (sign > 0))
		return 0;
	if (json_object_set_new(to, key, json_string(was)) < 0)
		return tw_fail(err, TW_NOMEM, "metadata.json");
	return 0;
}

static int join_metadata(json_t *to, const json_t *old, struct tw_err *err)
{
	json_t *owner = json_object_get(old, "trained_by");
	json_t *machines = json_object_get(old, "machines"), *v;
	json_t *mine = json_object_get(to, "machines");
	json_t *data = json_object_get(to, "data");
	const char *type;

	/* A pipeline stays its first user's. */
	if (owner == NULL)
		json_object_del(to, "trained_by");
	else if (json_object_set(to, "trained_by", owner) < 0)
		return tw_fail(err, TW_NOMEM, "metadata.json");
	if (join_lists(to, old, "abs_trainers", err) < 0 ||
	    join_lists(to, old, "dyn_trainers", err) < 0)
		return -1;
	if (json_is_object(data) &&
	    (join_time(data, json_object_get(old, "data"), "first", 1, err) < 0 ||
	     join_time(data, json_object_get(old, "data"), "last", -1, err) < 0))
		return -1;
	if (machines != NULL && mine == NULL &&
	    json_object_set_new(to, "machines", mine = json_object()) < 0)
		return tw_fail(err, TW_NOMEM, "metadata.json");
	json_object_foreach(machines, type, v)
		if (json_object_get(mine, type) == NULL &&
		    json_object_set(mine, type, v) < 0)
			return tw_fail(err, TW_NOMEM, "metadata.json");
	return 0;
}

/*
 * Check that both pipelines number the machines of fresh alike: another training may have
 * added machines since this one read the node types.
 */
static int check_node_types(const struct tw_node_types *old,
			    const struct tw_node_types *fresh, struct tw_err *err)
{
	struct tw_node_types was = { 0 };
	int rc = -1;

	if (tw_node_types_merge(&was, old, err) < 0)
		goto out;
	for (size_t i = 0; i < fresh->count; i++) {
		const struct tw_node_type *n = &fresh->at[i];
		const char *name = n->members.count > 0 ? n->members.at[0] : NULL;
		uint32_t number;

		if (tw_node_types_place(&was, name, &n->spec, &number, err) < 0)
			goto out;
		if (number == n->number)
			continue;
		tw_fail(err, TW_INVALID,
			"the pipeline was changed meanwhile: node type %u of this "
			"training is %u there; train again",
			n->number, number);
		goto out;
	}

	rc = 0;
out:
	tw_node_types_release(&was);
	return rc;
}

static int join_node_types(const struct tw_fileset *fresh, const struct tw_fileset *old,
			   struct tw_node_types *out, struct tw_err *err)
{
	struct tw_node_types mine = { 0 };
	int rc = -1;

	if (tw_pipeline_read_node_types(old, out, err) == 0 &&
	    tw_pipeline_read_node_types(fresh, &mine, err) == 0 &&
	    check_node_types(out, &mine, err) == 0 &&
	    tw_node_types_merge(out, &mine, err) == 0)
		rc = 0;
	tw_node_types_release(&mine);
	return rc;
}

/* ---- models ---- */

void tw_pipeline_models_release(struct tw_pipeline_models *m)
{
	for (size_t i = 0; i < m->count; i++)
		tw_model_release(&m->at[i]);
	free(m->at);
	*m = (struct tw_pipeline_models){ 0 };
}

int tw_pipeline_read_models(const struct tw_fileset *pipeline,
			    struct tw_pipeline_models *out, struct tw_err *err)
{
	struct tw_pipeline_models m = { calloc(pipeline->count + 1, sizeof(*m.at)), 0 };

	if (m.at == NULL)
		return tw_fail(err, TW_NOMEM, "models of %zu files", pipeline->count);
	for (size_t i = 0; i < pipeline->count; i++) {
		const struct tw_fileset_file *f = &pipeline->at[i];

		if (!tw_pipeline_is_model(f->name))
			continue;
		if (tw_model_from_zip(f->data, f->len, &m.at[m.count], err) < 0) {
			tw_pipeline_models_release(&m);
			return tw_err_wrap(err, "'%.100s'", f->name);
		}
		m.count++;
	}
	*out = m;
	return 0;
}

/* ---- merge ---- */

/* Drop the common files that tw_pipeline_add_index() makes anew. */
static void drop_common_files(struct tw_fileset *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++) {
		if (strchr(s->at[i].name, '/') != NULL ||
		    strcmp(s->at[i].name, TW_PIPELINE_PROFILE) == 0 ||
		    strcmp(s->at[i].name, "train_arguments.json") == 0) {
			s->at[kept++] = s->at[i];
			continue;
		}
		free(s->at[i].name);
		free(s->at[i].data);
	}
	s->count = kept;
}

int tw_pipeline_merge(struct tw_fileset *fresh, struct tw_fileset *old,
		      struct tw_err *err)
{
	struct tw_pipeline_models models = { 0 };
	struct tw_node_types types = { 0 };
	json_t *metadata = NULL, *was = NULL;
	int rc = -1;

	if (tw_pipeline_parse(fresh, "metadata.json", &metadata, err) < 0 ||
	    tw_pipeline_parse(old, "metadata.json", &was, err) < 0 ||
	    join_metadata(metadata, was, err) < 0 ||
	    join_node_types(fresh, old, &types, err) < 0 ||
	    tw_pipeline_join_profile(fresh, old, err) < 0 ||
	    move_models(fresh, old, err) < 0 ||
	    tw_pipeline_read_models(fresh, &models, err) < 0)
		goto out;
	drop_common_files(fresh);
	if (tw_pipeline_add_index(fresh, metadata, &types, models.at, models.count, err) <
	    0)
		goto out;
	tw_fileset_sort(fresh);

	rc = 0;
out:
	tw_pipeline_models_release(&models);
	tw_node_types_release(&types);
	json_decref(metadata);
	json_decref(was);
	return rc;
}
