/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/pipeline_check.h"

#include "lib/core/err.h"
#include "lib/json/json.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/model.h"
#include "profiler/node_types.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* <source>/<output>/<group>/<model>.zip: so many slashes. */
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

/* On a file system that does not tell cases apart, one of the two would be lost. */
static int refuse_case_twins(const struct tw_fileset *s, struct tw_err *err)
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
	const struct tw_fileset_file *f = tw_fileset_find(s, "metadata.json");
	json_t *doc = NULL;
	int rc = -1;

	if (f == NULL)
		return tw_fail(err, TW_INVALID, "no pipeline: there is no metadata.json");
	if (tw_json_parse(f->data, f->len, f->name, &doc, err) < 0)
		goto out;
	if (!json_is_object(doc)) {
		tw_fail(err, TW_PARSE, "%s: expected an object, got %s", f->name,
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
	const struct tw_fileset_file *f = tw_fileset_find(s, "node_type_index.json");
	struct tw_node_types types = { 0 };
	json_t *doc = NULL;
	int rc = -1;

	if (f == NULL)
		return 0;
	if (tw_json_parse(f->data, f->len, f->name, &doc, err) < 0 ||
	    tw_node_types_from_json(doc, f->name, &types, err) < 0)
		goto out;
	rc = 0;
out:
	tw_node_types_release(&types);
	json_decref(doc);
	return rc;
}

static bool is_below(const char *name, const char *dir)
{
	const size_t len = strlen(dir);

	return strncmp(name, dir, len) == 0 && name[len] == '/';
}

static bool is_model(const char *name)
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
	struct tw_fileset files = { 0 };
	struct tw_model m = { 0 };
	int rc = -1;

	if (tw_zip_read(f->data, f->len, &tw_zip_model_limits, &files, err) < 0 ||
	    tw_model_from_files(&files, &m, err) < 0 ||
	    check_place(&m.info, f->name, err) < 0)
		goto out;
	if (c->look != NULL && c->look(c->arg, &m, err) < 0)
		goto out;
	c->models++;
	rc = 0;
out:
	tw_model_release(&m);
	tw_fileset_clear(&files);
	if (rc < 0)
		tw_err_wrap(err, "'%s'", f->name);
	return rc;
}

int tw_pipeline_check(struct tw_fileset *pipeline, tw_pipeline_look_fn *look, void *arg,
		      size_t *models_out, struct tw_err *err)
{
	struct checking c = { .look = look, .arg = arg };

	tw_fileset_sort(pipeline);
	if (refuse_case_twins(pipeline, err) < 0 || check_metadata(pipeline, err) < 0 ||
	    check_node_types(pipeline, err) < 0)
		return -1;
	for (size_t i = 0; i < pipeline->count; i++)
		if (is_model(pipeline->at[i].name) &&
		    check_model(&c, &pipeline->at[i], err) < 0)
			return -1;
	if (c.models == 0)
		return tw_fail(err, TW_INVALID, "no pipeline: there is no model");
	*models_out = c.models;
	return 0;
}
