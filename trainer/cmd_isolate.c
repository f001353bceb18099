/* SPDX-License-Identifier: Apache-2.0 */
#include "isolator/isolator.h"
#include "lib/csv.h"
#include "lib/err.h"
#include "lib/opt.h"
#include "trainer/cmd_isolation.h"
#include "trainer/cmd_table.h"
#include "trainer/command.h"
#include "trainer/names.h"

#include <stdio.h>
#include <stdlib.h>

struct config {
	char *isolator, *csv, *model_db;
	bool list;
	struct tw_isolation_texts isolation;
	struct tw_table_config table;
};

static const struct tw_opt options[] = {
	{ .name = "isolator",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, isolator),
	  .arg = "NAME",
	  .help = "what tells the workloads' power from the rest" },
	{ .name = "list",
	  .type = TW_OPT_BOOL,
	  .offset = offsetof(struct config, list),
	  .help = "list the isolators" },
	{ .name = "csv",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, csv),
	  .arg = "FILE",
	  .help = "a table that was extracted before, instead of --input" },
	TW_ISOLATION_OPTS(struct config),
	{ .name = "model-db",
	  .env = "TW_MODEL_DB",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, model_db),
	  .arg = "DIR",
	  .help = "the model database of --abs-pipeline" },
	TW_TABLE_OPTS(struct config),
};

static const struct tw_opts opts = {
	.program = "tallywatt isolate",
	.summary = "Take from a table's power what is not its workloads'.",
	.opt = options,
	.count = sizeof(options) / sizeof(options[0]),
};

/* What the command line asks for. */
struct job {
	const struct config *config;
	const struct tw_isolator *isolator;
	struct tw_extract_args args; /* source only, with --csv */
};

static int check_use(struct config *c, struct job *j, struct tw_err *err)
{
	if (c->isolator == NULL)
		return tw_fail(err, TW_INVALID,
			       "--isolator is missing (--list lists them)");
	if ((c->table.input == NULL) == (c->csv == NULL))
		return tw_fail(err, TW_INVALID, "want one of --input and --csv");
	if (tw_names_isolator(c->isolator, &j->isolator, err) < 0)
		return -1;
	j->config = c;
	if (c->csv != NULL)
		return tw_names_source(c->table.source, &j->args.source, err);
	return tw_table_args(&c->table, TW_LEVEL_FINEST, &j->args, err);
}

static int read_table(const struct job *j, struct tw_dataset *out, struct tw_err *err)
{
	if (j->config->csv != NULL)
		return tw_csv_load(j->config->csv, out, err);
	return tw_table_extract(&j->config->table, &j->args, out, err);
}

/* Learn from the rows and apply to them, in place. */
static int apply(const struct job *j, const struct tw_isolation *isolation,
		 struct tw_dataset *d, struct tw_err *err)
{
	void *state = NULL;
	int rc = -1;

	if (j->isolator->fit(&isolation->args, d, j->args.source, &state, err) < 0 ||
	    j->isolator->apply(state, d, err) < 0) {
		tw_err_wrap(err, "%s", j->isolator->name);
		goto out;
	}
	rc = 0;
out:
	j->isolator->free(state);
	return rc;
}

static int isolate(const struct job *j, struct tw_err *err)
{
	const struct tw_isolation_machine machine = { j->config->table.machine, 0 };
	struct tw_isolation_input input = { 0 };
	struct tw_isolation isolation = { 0 };
	struct tw_dataset d = { 0 }, all = { 0 };
	int rc = -1;

	if (tw_isolation_read(&j->config->isolation, j->config->model_db, &input, err) <
		    0 ||
	    tw_isolation_init(j->isolator, &input.config, &machine, 1, &isolation, err) <
		    0)
		goto out;
	if (read_table(j, &d, err) < 0 ||
	    tw_isolate_prepare(j->isolator, &isolation.args, &d, &all, err) < 0 ||
	    tw_table_smooth(&j->config->table, &all, err) < 0 ||
	    apply(j, &isolation, &all, err) < 0)
		goto out;
	tw_dataset_drop(&all, TW_BACKGROUND_PREFIX);
	if (tw_table_write(&all, j->config->table.output, err) < 0)
		goto out;
	rc = 0;
out:
	tw_isolation_release(&isolation);
	tw_isolation_input_release(&input);
	tw_dataset_release(&all);
	tw_dataset_release(&d);
	return rc;
}

static int list(struct tw_err *err)
{
	for (size_t i = 0; i < tw_isolator_count(); i++)
		printf("%-24s %s\n", tw_isolator_at(i)->name, tw_isolator_at(i)->summary);
	return fflush(stdout) == 0 ? 0 : tw_fail(err, TW_IO, "cannot write to stdout");
}

static int run(int argc, char **argv)
{
	struct job j = { 0 };
	struct config c = { 0 };
	enum tw_opts_action action;
	struct tw_err err = { 0 };
	int rest, status = TW_EXIT_USAGE;

	if (tw_opts_parse(&opts, argc, argv, &c, &action, &rest, &err) < 0)
		goto out;
	status = TW_EXIT_OK;
	if (action == TW_OPTS_EXIT)
		goto out;
	if (c.list) {
		status = list(&err) < 0 ? TW_EXIT_FAILED : TW_EXIT_OK;
		goto out;
	}
	status = TW_EXIT_USAGE;
	if (check_use(&c, &j, &err) < 0)
		goto out;
	status = isolate(&j, &err) < 0 ? TW_EXIT_FAILED : TW_EXIT_OK;
out:
	if (status != TW_EXIT_OK)
		fprintf(stderr, "tallywatt isolate: %s\n", err.text);
	tw_table_release(&c.table);
	tw_opts_release(&opts, &c);
	return status;
}

const struct tw_command tw_command_isolate = {
	.name = "isolate",
	.summary = "take idle power and background away",
	.run = run,
};
