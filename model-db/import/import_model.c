/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/import/import_model.h"

#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/field/feature.h"
#include "lib/json/json.h"
#include "lib/zip/zip.h"
#include "model-db/import/import_find.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SGD "SGDRegressorTrainer_"
#define GROUP_WEIGHTS "weight.json"

/* ---- where models are ---- */

static bool ends_with(const char *name, size_t len, const char *end)
{
	const size_t n = strlen(end);

	return len > n && strncmp(name + len - n, end, n) == 0;
}

/* The beginning of the part that begins so many slashes further; NULL: it has fewer. */
static const char *part_of(const char *name, int slashes)
{
	for (; slashes > 0 && name != NULL; slashes--) {
		name = strchr(name, '/');
		name += name != NULL;
	}
	return name;
}

/* <source>/<output>/..: others' directories are not looked into. */
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

/* The length of the base that a file tells of; 0: of none. */
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

/* "<group>/weight.json": the length of the group; else 0. */
static size_t group_length(const char *name)
{
	const char *model = part_of(name, 3);

	return model != NULL && strcmp(model, GROUP_WEIGHTS) == 0 && is_placed(name)
		       ? (size_t)(model - name) - 1
		       : 0;
}

/* l is sorted: whether one of it begins so. */
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
	strcat(base, "1"); /* there is room: see above */
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

/* ---- what there is of one ---- */

/* The document, where it is there and can be read. TW_NOMEM alone is a failure. */
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

/* By release: beside the zip, in its directory, one for the group. */
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
	if (strncmp(model, SGD, strlen(SGD)) != 0)
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

/* The features of weights, in the order in which the first component has them. */
static json_t *list_features(const json_t *weights)
{
	json_t *out = json_array(), *component, *value;
	const json_t *variables = NULL;
	const char *name;

	/* jansson's macro wants to change what it walks. */
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
	return tw_import_figures(old, f->base, f->metadata, err);
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
