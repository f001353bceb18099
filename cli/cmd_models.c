/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "model-db/index/index.h"
#include "model-db/index/index_load.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

struct config {
	char *model_db;
	bool json;
};

static const struct tw_opt options[] = {
	{ TW_ROW(TEXT, "model-db", model_db, "DIR", "model database to list"),
	  .env = "TW_MODEL_DB", .fallback = TW_MODEL_DB },
	TW_ROW_JSON,
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

static void add_error(struct tw_buf *b, const char *key, double value)
{
	if (isfinite(value))
		tw_json_add_number(b, key, value);
}

static void print_json(const struct tw_index *x)
{
	struct tw_buf b = { 0 };

	tw_json_add_array(&b, NULL);
	for (size_t i = 0; i < tw_index_count(x); i++) {
		const struct tw_index_entry *e = tw_index_at(x, i);

		tw_json_add_object(&b, NULL);
		tw_json_add_text(&b, "pipeline", e->pipeline);
		tw_json_add_text(&b, "source", e->source->name);
		tw_json_add_text(&b, "output", tw_output_name(e->output));
		tw_json_add_text(&b, "group", e->group->name);
		tw_json_add_text(&b, "model", e->name);
		tw_json_add_text(&b, "certificate", tw_fitness_word(e->fitness));
		add_error(&b, "mae_watts", e->mae_w);
		add_error(&b, "mape_percent", e->mape_percent);
		tw_json_end_object(&b);
	}
	tw_json_end_array(&b);
	tw_json_indent(&b);
	tw_command_print(&b);
}

static void print_table(const struct tw_index *x)
{
	printf("%-20s %-12s %-8s %-18s %-35s %8s %8s %11s\n", "pipeline", "source",
	       "output", "group", "model", "MAE W", "MAPE %", "certificate");
	for (size_t i = 0; i < tw_index_count(x); i++)
		print_model(tw_index_at(x, i));
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
	(c->json ? print_json : print_table)(x);
	tw_index_unref(x);
	if (broken > 0)
		return tw_fail(err, TW_INVALID, "%zu broken models in '%s'", broken, db);
	return 0;
}

const struct tw_command tw_command_models = {
	.opts = TW_COMMAND_OPTS("models", NULL, "List the models of a model database."),
	.config_size = sizeof(struct config),
	.work = list,
};
