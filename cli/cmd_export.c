/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "cli/export.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "lib/program/opt.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/publish.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct config {
	char *model_db, *name, *output, *publisher, *max_mae, *max_mape;
	struct tw_export_args args;
};

#define TEXT(flag, field, what, line) TW_OPT_ROW(struct config, flag, field, what, line)

static const struct tw_opt options[] = {
	{ .name = "model-db",
	  .env = "TW_MODEL_DB",
	  .type = TW_OPT_TEXT,
	  .fallback = TW_MODEL_DB,
	  .offset = offsetof(struct config, model_db),
	  .arg = "DIR",
	  .help = "directory of the model database" },
	TW_OPT_ROW_REQUIRED(struct config, "name", name, "NAME", "the pipeline"),
	TW_OPT_ROW_REQUIRED(struct config, "output", output, "DIR",
			    "directory to write the pipeline's directory to"),
	TEXT("max-mae", max_mae, "WATTS", "leave out models with a larger error"),
	TEXT("max-mape", max_mape, "PERCENT", "leave out models with a larger error"),
	TEXT("publisher", publisher, "TEXT", "name of the publisher"),
};

static const struct tw_opts opts = {
	.program = "tallywatt export",
	.summary = "Prepare a pipeline for publication: tables, model cards, plots.",
	.opt = options,
	.count = sizeof(options) / sizeof(options[0]),
};

static int set_limit(const char *flag, const char *text, double *out, struct tw_err *err)
{
	*out = NAN;
	if (text == NULL || (tw_parse_double(text, strlen(text), out) && *out >= 0.0))
		return 0;
	return tw_fail(err, TW_INVALID, "--%s: '%.64s' is no number from 0 on", flag,
		       text);
}

static int check_use(void *config, struct tw_err *err)
{
	struct config *c = config;

	if (tw_name_check("pipeline name", c->name, strlen(c->name), err) < 0)
		return -1;
	c->args.name = c->name;
	c->args.publisher = c->publisher;
	if (set_limit("max-mae", c->max_mae, &c->args.max_mae_w, err) < 0)
		return -1;
	return set_limit("max-mape", c->max_mape, &c->args.max_mape_percent, err);
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
	if (tw_pipeline_publish(c->output, c->name, &files, err) < 0)
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
	.name = "export",
	.summary = "prepare a pipeline for publication",
	.opts = &opts,
	.config_size = sizeof(struct config),
	.check = check_use,
	.work = export_pipeline,
};
