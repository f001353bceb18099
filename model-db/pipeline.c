/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/pipeline.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/json.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/model.h"
#include "model-db/summary.h"
#include "model-db/weights.h"
#include "profiler/node_types.h"

#include <stdio.h>
#include <stdlib.h>

/* Longest path in a pipeline: source, output, group, two model names. */
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

static int take_buf(struct tw_fileset *pipeline, const char *name, struct tw_buf *b,
		    struct tw_err *err)
{
	size_t len;
	char *text = tw_buf_detach(b, &len);

	if (text == NULL)
		return tw_fail(err, TW_NOMEM, "%s", name);
	return tw_fileset_take(pipeline, name, text, len, err);
}

static bool has_models(const struct tw_model *models, size_t count,
		       const struct tw_energy_source *source, enum tw_output output)
{
	for (size_t i = 0; i < count; i++)
		if (models[i].info.source == source && models[i].info.output == output)
			return true;
	return false;
}

static int add_tables(struct tw_fileset *pipeline, const struct tw_model *models,
		      size_t count, struct tw_err *err)
{
	struct tw_buf b = { 0 };
	char name[128];

	for (size_t s = 0; s < tw_energy_source_count(); s++) {
		const struct tw_energy_source *source = tw_energy_source_at(s);

		for (int o = 0; o < TW_OUTPUT_COUNT; o++) {
			enum tw_output output = (enum tw_output)o;

			if (!has_models(models, count, source, output))
				continue;
			snprintf(name, sizeof(name), "%s_%s_model_metadata.csv",
				 source->name, tw_output_name(output));
			if (tw_summary_table(models, count, source, output, &b, err) <
			    0) {
				tw_buf_clear(&b);
				return -1;
			}
			if (take_buf(pipeline, name, &b, err) < 0)
				return -1;
		}
	}
	return 0;
}

static int add_node_types(struct tw_fileset *pipeline, const struct tw_node_types *types,
			  struct tw_err *err)
{
	json_t *obj = tw_node_types_to_json(types);
	struct tw_buf b = { 0 };

	if (obj == NULL)
		return tw_fail(err, TW_NOMEM, "node_type_index.json");
	tw_buf_add_json_pretty(&b, obj);
	json_decref(obj);
	return take_buf(pipeline, "node_type_index.json", &b, err);
}

int tw_pipeline_add_index(struct tw_fileset *pipeline, const json_t *metadata,
			  const struct tw_node_types *types,
			  const struct tw_model *models, size_t count, struct tw_err *err)
{
	struct tw_buf b = { 0 };

	tw_buf_add_json_pretty(&b, metadata);
	if (take_buf(pipeline, "metadata.json", &b, err) < 0 ||
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

	if (tw_summary_node_types(metadata, models, count, &types, err) < 0 ||
	    tw_pipeline_add_index(pipeline, metadata, &types, models, count, err) < 0)
		goto out;

	rc = 0;
out:
	tw_node_types_release(&types);
	return rc;
}
