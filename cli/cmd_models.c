/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "lib/core/err.h"
#include "lib/program/opt.h"
#include "model-db/index/index.h"
#include "model-db/index/index_load.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

struct config {
	char *model_db;
};

static const struct tw_opt options[] = {
	{ .name = "model-db",
	  .env = "TW_MODEL_DB",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, model_db),
	  .fallback = TW_MODEL_DB,
	  .arg = "DIR",
	  .help = "model database to list" },
};

static const struct tw_opts opts = {
	.program = "tallywatt models",
	.summary = "List the models of a model database.",
	.opt = options,
	.count = sizeof(options) / sizeof(options[0]),
};

static void refused(void *arg, const char *path, const struct tw_err *why)
{
	size_t *count = arg;

	(*count)++;
	fprintf(stderr, "tallywatt models: '%s': %s\n", path, why->text);
}

static void print_model(const struct tw_index_entry *e)
{
	char mae[32] = "-", mape[32] = "-";

	if (isfinite(e->mae_w))
		snprintf(mae, sizeof(mae), "%.3f", e->mae_w);
	if (isfinite(e->mape_percent))
		snprintf(mape, sizeof(mape), "%.2f", e->mape_percent);
	printf("%-20s %-12s %-8s %-18s %-35s %8s %8s %11s\n", e->pipeline,
	       e->source->name, tw_output_name(e->output), e->group->name, e->name, mae,
	       mape, tw_fitness_word(e->fitness));
}

/* List all models. Fail at the end if a model is broken. */
static int list(void *config, struct tw_err *err)
{
	const struct config *c = config;
	const char *db = c->model_db;
	struct tw_index *x = NULL;
	size_t broken = 0;

	/*
	 * A server may start before its database exists; here a missing directory is a
	 * mistake.
	 */
	if (access(db, F_OK) < 0)
		return tw_fail_errno(err, errno, "cannot read '%s'", db);
	if (tw_index_load(db, refused, &broken, &x, err) < 0)
		return -1;
	printf("%-20s %-12s %-8s %-18s %-35s %8s %8s %11s\n", "pipeline", "source",
	       "output", "group", "model", "MAE W", "MAPE %", "certificate");
	for (size_t i = 0; i < tw_index_count(x); i++)
		print_model(tw_index_at(x, i));
	tw_index_unref(x);
	if (broken > 0)
		return tw_fail(err, TW_INVALID, "%zu broken models in '%s'", broken, db);
	return 0;
}

const struct tw_command tw_command_models = {
	.name = "models",
	.summary = "list the models of a model database",
	.opts = &opts,
	.config_size = sizeof(struct config),
	.work = list,
};
