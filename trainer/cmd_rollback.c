/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/err.h"
#include "lib/opt.h"
#include "model-db/pipeline.h"
#include "trainer/cmd_credentials.h"
#include "trainer/command.h"
#include "trainer/publishing.h"

#include <stdio.h>

struct config {
	char *to;
	struct tw_credentials_config web;
};

static const struct tw_opt options[] = {
	{ .name = "to",
	  .env = "TW_MODEL_DB",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, to),
	  .arg = "URL|DB",
	  .help = "a tw-server that takes pipelines, or a model database's directory" },
	TW_CREDENTIALS_OPTS(struct config, NULL),
};

static const struct tw_opts opts = {
	.program = "tallywatt rollback",
	.operands = "PIPELINE",
	.summary = "Exchange a pipeline and the version of it that was there before.",
	.opt = options,
	.count = sizeof(options) / sizeof(options[0]),
};

static int roll_back(const struct config *c, const char *name, struct tw_err *err)
{
	struct tw_credentials web = { 0 };
	int rc = -1;

	if (!tw_is_url(c->to))
		return tw_pipeline_rollback(c->to, name, err);
	if (tw_credentials_open(&web, &c->web, NULL, "tallywatt rollback", err) < 0 ||
	    tw_publishing_send_rollback(c->to, name, &web.access, err) < 0)
		goto out;
	rc = 0;
out:
	tw_credentials_release(&web);
	return rc;
}

static int run(int argc, char **argv)
{
	struct config c = { 0 };
	enum tw_opts_action action;
	struct tw_err err = { 0 };
	int rest, status = TW_EXIT_USAGE;

	if (tw_opts_parse(&opts, argc, argv, &c, &action, &rest, &err) < 0)
		goto out;
	if (action == TW_OPTS_RUN && (argc - rest != 1 || c.to == NULL)) {
		tw_fail(&err, TW_INVALID, "%s",
			c.to == NULL ? "--to is missing" : "want one pipeline's name");
		goto out;
	}
	status = TW_EXIT_OK;
	if (action == TW_OPTS_RUN && roll_back(&c, argv[rest], &err) < 0)
		status = TW_EXIT_FAILED;
out:
	if (status != TW_EXIT_OK)
		fprintf(stderr, "tallywatt rollback: %s\n", err.text);
	tw_opts_release(&opts, &c);
	return status;
}

const struct tw_command tw_command_rollback = {
	.name = "rollback",
	.summary = "bring a pipeline's previous version back",
	.run = run,
};
