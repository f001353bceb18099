/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_credentials.h"
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "lib/core/err.h"
#include "lib/http/url.h"
#include "lib/program/opt.h"
#include "model-db/publish.h"
#include "trainer/publishing.h"

#include <stdio.h>

struct config {
	char *to;
	const char *name;
	struct tw_credentials_config web;
};

static const struct tw_opt options[] = {
	TW_OPT_TO(struct config),
	TW_CREDENTIALS_OPTS(struct config, NULL),
};

static const struct tw_opts opts = {
	.program = "tallywatt rollback",
	.operands = "PIPELINE",
	.summary = "Exchange a pipeline with its previous version.",
	.opt = options,
	.count = sizeof(options) / sizeof(options[0]),
};

static int take_operands(void *config, char **operand, size_t count, struct tw_err *err)
{
	struct config *c = config;

	return tw_command_operand(operand, count, "one pipeline's name", &c->name, err);
}

static int roll_back(void *config, struct tw_err *err)
{
	const struct config *c = config;
	struct tw_credentials web = { 0 };
	int rc = -1;

	if (!tw_url_is(c->to))
		return tw_pipeline_rollback(c->to, c->name, err);
	if (tw_credentials_open(&web, &c->web, NULL, "tallywatt rollback", err) < 0 ||
	    tw_publishing_send_rollback(c->to, c->name, &web.access, err) < 0)
		goto out;
	rc = 0;
out:
	tw_credentials_release(&web);
	return rc;
}

const struct tw_command tw_command_rollback = {
	.name = "rollback",
	.summary = "restore the previous version of a pipeline",
	.opts = &opts,
	.config_size = sizeof(struct config),
	.operands = take_operands,
	.work = roll_back,
};
