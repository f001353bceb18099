/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/service/job_record.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/json/json.h"
#include "lib/zip/zip.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *const state_names[] = {
	[TW_JOB_WAITING] = "waiting",     [TW_JOB_RUNNING] = "running",
	[TW_JOB_DONE] = "done",           [TW_JOB_FAILED] = "failed",
	[TW_JOB_CANCELLED] = "cancelled", [TW_JOB_LOST] = "lost",
	[TW_JOB_STATES] = NULL,
};

const char *tw_job_state_name(enum tw_job_state s)
{
	return state_names[s];
}

bool tw_job_state_ended(enum tw_job_state s)
{
	return s != TW_JOB_WAITING && s != TW_JOB_RUNNING;
}

static bool is_running(const void *record)
{
	return ((const struct tw_job_record *)record)->state == TW_JOB_RUNNING;
}

static bool has_estimate(const void *record)
{
	return is_running(record) &&
	       ((const struct tw_job_record *)record)->remaining_s >= 0.0;
}

static bool is_done(const void *record)
{
	return ((const struct tw_job_record *)record)->state == TW_JOB_DONE;
}

#define AT(member) TW_FIELD_AT(struct tw_job_record, member)

static const struct tw_field fields[] = {
	{ "id", TW_FIELD_NAME, AT(id) },
	{ "pipeline", TW_FIELD_NAME, AT(pipeline) },
	{ "state", TW_FIELD_ENUM, AT(state), .names = state_names },
	{ "stage", TW_FIELD_BORROWED, AT(stage), .omit_empty = true, .unread = true,
	  .when = is_running },
	{ "progress", TW_FIELD_DOUBLE, AT(fraction), .decimals = 3, .unread = true,
	  .when = is_running },
	{ "remaining_s", TW_FIELD_DOUBLE, AT(remaining_s), .decimals = 1, .unread = true,
	  .when = has_estimate },
	{ "created", TW_FIELD_DATE, AT(created_ms), .optional = true,
	  .omit_empty = true },
	{ "started", TW_FIELD_DATE, AT(started_ms), .optional = true,
	  .omit_empty = true },
	{ "ended", TW_FIELD_DATE, AT(ended_ms), .optional = true, .omit_empty = true },
	{ "models", TW_FIELD_UINT, AT(models), .max = UINT32_MAX, .optional = true,
	  .when = is_done },
	{ "published", TW_FIELD_BOOL, AT(published), .optional = true, .when = is_done },
	{ "error", TW_FIELD_REASON, AT(error), .optional = true, .omit_empty = true },
};

const struct tw_fields tw_job_fields = TW_FIELDS(fields, struct tw_job_record);

void tw_job_record_write(const struct tw_job_record *r, struct tw_buf *out)
{
	tw_fields_write(&tw_job_fields, r, out);
}

int tw_job_record_read(const char *data, size_t len, struct tw_job_record *out,
		       struct tw_err *err)
{
	struct tw_job_record r = { .remaining_s = -1.0 };

	if (tw_fields_parse(&tw_job_fields, data, len, "job", &r, err) < 0)
		return -1;
	*out = r;
	return 0;
}

/* ---- report ---- */

/* Metadata of a model is below source, output, group and name. */
#define MODEL_DEPTH 4

/* Keys of metadata.json that are the report's keys, too. */
static const char *const keys[] = { "model_name",    "energy_source", "output_type",
				    "feature_group", "trainer",       "node_type",
				    "machine_spec",  "mae",           "mape",
				    "data_rows" };

/* Keys of components: package_mae, dram_p95, .. */
static const char *const figures[] = { "_mae", "_rmse", "_r2", "_bias", "_p95" };

/* Whether name is that of a model's file: file is "/metadata.json". */
static bool is_of_model(const char *name, const char *file)
{
	size_t depth = 0;

	for (const char *p = name; *p != '\0'; p++)
		depth += *p == '/';
	return depth == MODEL_DEPTH && tw_ends_with(name, file);
}

static bool ends_in_figure(const char *key)
{
	const char *end = strrchr(key, '_');

	for (size_t i = 0; end != NULL && i < TW_COUNT(figures); i++)
		if (strcmp(end, figures[i]) == 0)
			return true;
	return false;
}

/* A new object with the report's part of a model's metadata; NULL: no memory. */
static json_t *report_of(json_t *metadata)
{
	json_t *o = json_object(), *value;
	const char *key;

	for (size_t i = 0; o != NULL && i < TW_COUNT(keys); i++) {
		value = json_object_get(metadata, keys[i]);
		if (value != NULL && json_object_set(o, keys[i], value) < 0)
			goto fail;
	}
	json_object_foreach(metadata, key, value)
		if ((strncmp(key, "certificate_", 12) == 0 || ends_in_figure(key)) &&
		    json_object_set(o, key, value) < 0)
			goto fail;
	return o;
fail:
	json_decref(o);
	return NULL;
}

/*
 * Models of one recording have the same quality, so each is reported once. Take the
 * model's own: a list of details.json, in older models of metadata.json, or absent.
 */
static int add_quality(json_t *all, json_t *metadata)
{
	json_t *own = json_object_get(metadata, "data_quality"), *q, *known;
	size_t i, k;

	json_array_foreach(own, i, q) {
		bool is_known = false;

		json_array_foreach(all, k, known)
			is_known = is_known || json_equal(known, q);
		if (!is_known && json_array_append(all, q) < 0)
			return -1;
	}
	return 0;
}

static int add_file(const struct tw_zip_member *m, json_t *models, json_t *quality,
		    struct tw_err *err)
{
	const bool is_model = is_of_model(m->name, "/metadata.json");
	json_t *file = NULL, *model = NULL;
	char *text = NULL;
	int rc = -1;

	if (!is_model && !is_of_model(m->name, "/details.json"))
		return 0;
	if (tw_zip_unpack(m, &text, err) < 0 ||
	    tw_json_parse(text, m->len, m->name, &file, err) < 0)
		goto out;
	model = is_model ? report_of(file) : NULL;
	if ((is_model && (model == NULL || json_array_append(models, model) < 0)) ||
	    add_quality(quality, file) < 0) {
		tw_fail(err, TW_NOMEM, "report");
		goto out;
	}

	rc = 0;
out:
	free(text);
	json_decref(file);
	json_decref(model);
	return rc;
}

int tw_job_report_write(const char *zip, size_t len, struct tw_buf *out,
			struct tw_err *err)
{
	json_t *models = json_array(), *quality = json_array();
	struct tw_zip_list list = { 0 };
	int rc = -1;

	if (models == NULL || quality == NULL) {
		tw_fail(err, TW_NOMEM, "report");
		goto out;
	}
	if (tw_zip_list_read(zip, len, &tw_zip_pipeline_limits, &list, err) < 0)
		goto out;
	for (size_t i = 0; i < list.count; i++)
		if (add_file(&list.at[i], models, quality, err) < 0)
			goto out;
	tw_buf_adds(out, "{\"models\":");
	tw_buf_add_json(out, models);
	tw_buf_adds(out, ",\"data_quality\":");
	tw_buf_add_json(out, quality);
	tw_buf_adds(out, "}");

	rc = 0;
out:
	tw_zip_list_release(&list);
	json_decref(models);
	json_decref(quality);
	return rc;
}
