/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/json/json.h"
#include "model-db/index/index_impl.h"
#include "model-db/index/index_load.h"

#include <stdlib.h>
#include <string.h>

#define METADATA_BYTES_MAX ((size_t)256 << 10)
#define TYPES_BYTES_MAX ((size_t)16 << 20)

static const char metadata_name[] = "metadata.json";
static const char types_name[] = "node_type_index.json";

static int read_json(const char *path, const char *name, size_t max, char **text,
		     size_t *len, json_t **out, struct tw_err *err)
{
	if (tw_file_read(path, max, text, len, err) < 0)
		return -1;
	if (tw_json_parse(*text, *len, name, out, err) < 0)
		return -1;
	if (!json_is_object(*out))
		return tw_fail(err, TW_PARSE, "%s: expected an object, got %s", name,
			       tw_json_type_name(*out));
	return 0;
}

static int read_metadata(struct tw_index_pipeline *p, const char *path,
			 struct tw_err *err)
{
	json_t *doc = NULL;
	char *text = NULL;
	size_t len;
	int rc = -1;

	if (read_json(path, metadata_name, METADATA_BYTES_MAX, &text, &len, &doc, err) <
	    0)
		goto out;

	p->metadata = text;
	text = NULL;
	p->metadata_len = len;
	rc = 0;
out:
	json_decref(doc);
	free(text);
	return rc;
}

static int read_types(struct tw_index_pipeline *p, const char *path, struct tw_err *err)
{
	json_t *doc = NULL;
	char *text = NULL;
	size_t len;
	int rc = -1;

	if (read_json(path, types_name, TYPES_BYTES_MAX, &text, &len, &doc, err) < 0 ||
	    tw_node_types_from_json(doc, types_name, &p->types, err) < 0)
		goto out;
	rc = 0;
out:
	json_decref(doc);
	free(text);
	return rc;
}

typedef int read_fn(struct tw_index_pipeline *p, const char *path, struct tw_err *err);

/* A file that is not there is none; one that is broken is told. */
static int read_file(struct tw_index_pipeline *p, const char *db, const char *name,
		     read_fn *read, tw_index_refused_fn *refused, void *arg,
		     struct tw_err *err)
{
	struct tw_err why = { 0 };
	char *path = NULL;
	int rc = -1;

	if (tw_path_join(&path, err, db, p->name, name, NULL) < 0)
		goto out;
	if (read(p, path, &why) < 0) {
		if (why.code == TW_NOMEM) {
			tw_fail(err, TW_NOMEM, "'%s'", path);
			goto out;
		}
		if (why.code != TW_NOTFOUND && refused != NULL)
			refused(arg, path, &why);
	}
	rc = 0;
out:
	free(path);
	return rc;
}

static int add_pipelines(struct tw_index *x, struct tw_err *err)
{
	struct tw_index_pipeline *p = NULL;
	size_t count = 0;

	for (size_t i = 0; i < x->count; i++)
		count += i == 0 || x->entry[i - 1].pipeline != x->entry[i].pipeline;
	x->pipeline = calloc(count + 1, sizeof(*x->pipeline));
	if (x->pipeline == NULL)
		return tw_fail(err, TW_NOMEM, "%zu pipelines", count);
	for (size_t i = 0; i < x->count; i++) {
		if (p == NULL || p->name != x->entry[i].pipeline) {
			p = &x->pipeline[x->pipeline_count++];
			p->name = x->entry[i].pipeline;
			p->first = i;
		}
		p->count++;
	}
	return 0;
}

int tw_index_read_pipelines(struct tw_index *x, const char *db,
			    tw_index_refused_fn *refused, void *arg, struct tw_err *err)
{
	if (add_pipelines(x, err) < 0)
		return -1;
	for (size_t i = 0; i < x->pipeline_count; i++) {
		struct tw_index_pipeline *p = &x->pipeline[i];

		if (read_file(p, db, metadata_name, read_metadata, refused, arg, err) <
			    0 ||
		    read_file(p, db, types_name, read_types, refused, arg, err) < 0)
			return -1;
	}
	return 0;
}
