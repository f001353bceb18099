/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/train/cmd_table.h"
#include "cli/command.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"

#include <stdio.h>

struct config {
	unsigned level;
	struct tw_table_config table;
	struct tw_extract_args args;
};

/* Names by enum tw_row_level. */
static const char *const level_names[] = { "node", "container", NULL };

static const struct tw_opt options[] = {
	TW_TABLE_OPTS,
	{ TW_ROW(CHOICE, "level", level, "LEVEL", "level of a row: node or container"),
	  .fallback = "node", .choices = level_names },
};

static int extract(void *config, struct tw_err *err)
{
	const struct config *c = config;
	struct tw_dataset d = { 0 };
	struct tw_buf quality = { 0 };
	int rc = -1;

	if (tw_table_extract(&c->table, &c->args, &d, &quality, err) < 0 ||
	    tw_table_smooth(&c->table, &d, err) < 0 ||
	    tw_table_write(&d, c->table.output, err) < 0)
		goto out;
	/* After a failure to write, stderr has the one line of the error. */
	if (quality.len > 0 && fflush(stdout) == 0 && !ferror(stdout))
		tw_command_warn(&quality);
	rc = 0;
out:
	tw_buf_clear(&quality);
	tw_dataset_release(&d);
	return rc;
}

static int check_use(void *config, struct tw_err *err)
{
	struct config *c = config;

	if (c->table.input == NULL)
		return tw_fail(err, TW_INVALID, "--input is missing");
	return tw_table_args(&c->table, (enum tw_row_level)c->level, &c->args, err);
}

static void release(void *config)
{
	struct config *c = config;

	tw_table_release(&c->table);
}

const struct tw_command tw_command_extract = {
	.opts = TW_COMMAND_OPTS(
		"extract", NULL,
		"Extract a table of feature rates and watts from a Prometheus response."),
	.config_size = sizeof(struct config),
	.check = check_use,
	.work = extract,
	.release = release,
};
