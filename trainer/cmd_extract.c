/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/err.h"
#include "lib/opt.h"
#include "trainer/cmd_table.h"
#include "trainer/command.h"

#include <stdio.h>

struct config {
	unsigned level;
	struct tw_table_config table;
};

/* In the order of enum tw_level. */
static const char *const level_names[] = { "node", "container", NULL };

static const struct tw_opt options[] = {
	TW_TABLE_OPTS(struct config),
	{ .name = "level",
	  .type = TW_OPT_CHOICE,
	  .offset = offsetof(struct config, level),
	  .fallback = "node",
	  .arg = "LEVEL",
	  .help = "node or container: what a row is of",
	  .choices = level_names },
};

static const struct tw_opts opts = {
	.program = "tallywatt extract",
	.summary = "Make a table of feature rates and watts from a Prometheus response.",
	.opt = options,
	.count = sizeof(options) / sizeof(options[0]),
};

static int extract(const struct config *c, const struct tw_extract_args *args,
		   struct tw_err *err)
{
	struct tw_dataset d = { 0 };
	int rc = -1;

	if (tw_table_extract(&c->table, args, &d, err) < 0 ||
	    tw_table_smooth(&c->table, &d, err) < 0 ||
	    tw_table_write(&d, c->table.output, err) < 0)
		goto out;
	rc = 0;
out:
	tw_dataset_release(&d);
	return rc;
}

static int check_use(struct config *c, struct tw_extract_args *args, struct tw_err *err)
{
	if (c->table.input == NULL)
		return tw_fail(err, TW_INVALID, "--input is missing");
	return tw_table_args(&c->table, (enum tw_level)c->level, args, err);
}

static int run(int argc, char **argv)
{
	struct tw_extract_args args = { 0 };
	struct config c = { 0 };
	enum tw_opts_action action;
	struct tw_err err = { 0 };
	int rest, status = TW_EXIT_USAGE;

	if (tw_opts_parse(&opts, argc, argv, &c, &action, &rest, &err) < 0)
		goto out;
	status = TW_EXIT_OK;
	if (action == TW_OPTS_EXIT)
		goto out;
	status = TW_EXIT_USAGE;
	if (check_use(&c, &args, &err) < 0)
		goto out;
	status = extract(&c, &args, &err) < 0 ? TW_EXIT_FAILED : TW_EXIT_OK;
out:
	if (status != TW_EXIT_OK)
		fprintf(stderr, "tallywatt extract: %s\n", err.text);
	tw_table_release(&c.table);
	tw_opts_release(&opts, &c);
	return status;
}

const struct tw_command tw_command_extract = {
	.name = "extract",
	.summary = "make a table from a Prometheus response",
	.run = run,
};
