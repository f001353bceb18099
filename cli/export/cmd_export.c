/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "cli/export/export.h"
#include "cli/memory.h"
#include "lib/core/date.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/pipeline.h"
#include "model-db/publish.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limit of a response. All files together have the limit of a pipeline. */
#define RAW_MAX ((size_t)64 << 20)

struct config {
	char *model_db, *name, *output, *publisher, *max_mae, *max_mape;
	char *collect_date;
	struct tw_strs raw;
	bool zip;
	struct tw_export_args args;
};

static const struct tw_opt options[] = {
	{ TW_ROW(TEXT, "model-db", model_db, "DIR", "directory of the model database"),
	  .env = "TW_MODEL_DB", .fallback = TW_MODEL_DB },
	{ TW_ROW(TEXT, "name", name, "NAME", "the pipeline"), .required = true },
	{ TW_ROW(TEXT, "output", output, "DIR",
		 "directory to write the pipeline's directory to"),
	  .required = true },
	{ TW_ROW(TEXT, "max-mae", max_mae, "WATTS",
		 "leave out models with a larger error") },
	{ TW_ROW(TEXT, "max-mape", max_mape, "PERCENT",
		 "leave out models with a larger error") },
	{ TW_ROW(TEXT, "publisher", publisher, "TEXT", "name of the publisher") },
	{ TW_ROW(TEXT, "collect-date", collect_date, "DATE",
		 "when the data was recorded: 2026-11-21, or with a time") },
	{ TW_ROW(LIST, "include-raw", raw, "FILE,...",
		 "also publish these responses or tables, below raw/") },
	{ TW_ROW(BOOL, "zip", zip, NULL,
		 "also write the export as NAME.zip beside its directory") },
};

static int set_limit(const char *flag, const char *text, double *out, struct tw_err *err)
{
	*out = NAN;
	if (text == NULL || (tw_parse_double(text, strlen(text), out) && *out >= 0.0))
		return 0;
	return tw_fail(err, TW_INVALID, "--%s: '%.64s' is not a number of 0 or more",
		       flag, text);
}

/* A day, or a day with a time. */
static int check_date(const char *text, struct tw_err *err)
{
	char whole[64];
	int64_t ms;

	snprintf(whole, sizeof(whole), "%.40s%s", text,
		 strlen(text) == 10 ? "T00:00:00Z" : "");
	if (strchr(text, '-') == NULL)
		return tw_fail(err, TW_INVALID, "--collect-date: '%.40s' is not a date",
			       text);
	return tw_parse_date_ms(whole, &ms, err) < 0 ? tw_err_wrap(err, "--collect-date")
						     : 0;
}

static int check_use(void *config, struct tw_err *err)
{
	struct config *c = config;

	if (tw_pipeline_name_check(c->name, strlen(c->name), err) < 0)
		return -1;
	c->args.name = c->name;
	c->args.publisher = c->publisher;
	c->args.collect_date = c->collect_date;
	if (c->collect_date != NULL && check_date(c->collect_date, err) < 0)
		return -1;
	if (set_limit("max-mae", c->max_mae, &c->args.max_mae_w, err) < 0)
		return -1;
	return set_limit("max-mape", c->max_mape, &c->args.max_mape_percent, err);
}

static int add_raw(const struct config *c, struct tw_fileset *files, struct tw_err *err)
{
	for (size_t i = 0; i < c->raw.count; i++) {
		const char *path = c->raw.at[i], *base = strrchr(path, '/');
		char name[300];
		char *data;
		size_t len;

		snprintf(name, sizeof(name), "raw/%.255s",
			 base != NULL ? base + 1 : path);
		if (tw_file_read(path, RAW_MAX, &data, &len, err) < 0)
			return -1;
		if (tw_fileset_take(files, name, data, len, err) < 0)
			return tw_err_wrap(err, "--include-raw");
	}
	tw_fileset_sort(files);
	return 0;
}

static int write_zip(const struct config *c, const struct tw_fileset *files,
		     struct tw_err *err)
{
	char *path = tw_must_printf("%s/%s.zip", c->output, c->name), *zip = NULL;
	size_t len;
	int rc = -1;

	if (tw_zip_write(files, &zip, &len, err) == 0 &&
	    tw_file_replace(path, zip, len, err) == 0)
		rc = 0;
	free(path);
	free(zip);
	return rc;
}

static int export_pipeline(void *config, struct tw_err *err)
{
	const struct config *c = config;
	struct tw_fileset pipeline = { 0 }, files = { 0 };
	struct tw_export_counts n;
	char *path = NULL;
	int rc = -1;

	if (tw_path_join(&path, err, c->model_db, c->name, NULL) < 0 ||
	    tw_fileset_read_dir(&pipeline, path, &tw_zip_pipeline_limits, err) < 0)
		goto out;
	if (tw_export(&pipeline, &c->args, &files, &n, err) < 0) {
		tw_err_wrap(err, "'%s'", path);
		goto out;
	}
	if (add_raw(c, &files, err) < 0 ||
	    tw_pipeline_publish(c->output, c->name, &files, err) < 0 ||
	    (c->zip && write_zip(c, &files, err) < 0))
		goto out;
	printf("%s/%s: models=%zu left-out=%zu node-types=%zu files=%zu\n", c->output,
	       c->name, n.models, n.left_out, n.node_types, files.count);

	rc = 0;
out:
	tw_fileset_clear(&files);
	tw_fileset_clear(&pipeline);
	free(path);
	return rc;
}

const struct tw_command tw_command_export = {
	.opts = TW_COMMAND_OPTS(
		"export", NULL,
		"Prepare a pipeline for publication: tables, model cards, plots."),
	.config_size = sizeof(struct config),
	.check = check_use,
	.work = export_pipeline,
};
