/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_isolation.h"
#include "cli/train/cmd_table.h"
#include "cli/command.h"
#include "isolator/isolator.h"
#include "lib/core/err.h"
#include "lib/field/csv.h"
#include "trainer/names.h"

#include <stdio.h>

struct config {
	char *isolator, *csv, *model_db;
	bool list;
	struct tw_isolation_texts isolation;
	struct tw_table_config table;
	/* The objects that the options name. */
	const struct tw_isolator *named;
	struct tw_extract_args args; /* only the source, with --csv */
};

static const struct tw_opt options[] = {
	{ TW_ROW(TEXT, "isolator", isolator, "NAME", "isolator to apply") },
	{ TW_ROW(BOOL, "list", list, NULL, "list the isolators") },
	{ TW_ROW(TEXT, "csv", csv, "FILE", "extracted table, instead of --input") },
	TW_ISOLATION_OPTS(struct config),
	{ TW_ROW(TEXT, "model-db", model_db, "DIR", "model database of --abs-pipeline"),
	  .env = "TW_MODEL_DB" },
	TW_TABLE_OPTS,
};

static int check_use(void *config, struct tw_err *err)
{
	struct config *c = config;

	if (c->list)
		return 0;
	if (c->isolator == NULL)
		return tw_fail(err, TW_INVALID,
			       "--isolator is missing (--list lists them)");
	if ((c->table.input == NULL) == (c->csv == NULL))
		return tw_fail(err, TW_INVALID, "want one of --input and --csv");
	if (tw_names_isolator(c->isolator, &c->named, err) < 0)
		return -1;
	if (c->csv != NULL)
		return tw_names_source(c->table.source, &c->args.source, err);
	return tw_table_args(&c->table, TW_ROWS_FINEST, &c->args, err);
}

static int read_table(const struct config *c, struct tw_dataset *out, struct tw_err *err)
{
	if (c->csv != NULL)
		return tw_csv_load(c->csv, out, err);
	return tw_table_extract(&c->table, &c->args, out, NULL, err);
}

/* Fit the isolator to the rows and apply it in place. */
static int apply(const struct config *c, const struct tw_isolation *isolation,
		 struct tw_dataset *d, struct tw_err *err)
{
	void *state = NULL;
	int rc = -1;

	if (c->named->fit(&isolation->args, d, c->args.source, &state, err) < 0 ||
	    tw_isolate_apply(c->named, state, c->args.source, d, err) < 0) {
		tw_err_wrap(err, "%s", c->named->name);
		goto out;
	}
	rc = 0;
out:
	free(state);
	return rc;
}

static void list(void)
{
	for (size_t i = 0; i < tw_isolator_count(); i++)
		printf("%-24s %s\n", tw_isolator_at(i)->name, tw_isolator_at(i)->summary);
}

static int isolate(void *config, struct tw_err *err)
{
	const struct config *c = config;
	const struct tw_isolation_machine machine = { c->table.machine, 0 };
	struct tw_isolation_input input = { 0 };
	struct tw_isolation isolation = { 0 };
	struct tw_dataset d = { 0 }, all = { 0 };
	int rc = -1;

	if (c->list) {
		list();
		return 0;
	}
	if (tw_isolation_read(&c->isolation, c->model_db, &input, err) < 0)
		goto out;
	input.config.source = c->args.source;
	if (tw_isolation_init(c->named, &input.config, &machine, 1, &isolation, err) < 0)
		goto out;
	if (read_table(c, &d, err) < 0 ||
	    tw_isolate_prepare(c->named, &isolation.args, &d, &all, err) < 0 ||
	    tw_table_smooth(&c->table, &all, err) < 0 ||
	    apply(c, &isolation, &all, err) < 0)
		goto out;
	tw_dataset_drop(&all, TW_BACKGROUND_PREFIX);
	if (tw_table_write(&all, c->table.output, err) < 0)
		goto out;
	rc = 0;
out:
	tw_isolation_release(&isolation);
	tw_isolation_input_release(&input);
	tw_dataset_release(&all);
	tw_dataset_release(&d);
	return rc;
}

static void release(void *config)
{
	struct config *c = config;

	tw_table_release(&c->table);
}

const struct tw_command tw_command_isolate = {
	.opts = TW_COMMAND_OPTS(
		"isolate", NULL,
		"Separate workload power from idle and background power."),
	.config_size = sizeof(struct config),
	.check = check_use,
	.work = isolate,
	.release = release,
};
