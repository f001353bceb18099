/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/http/client/credentials.h"
#include "lib/http/client/url.h"
#include "model-db/publish.h"
#include "model-db/signature.h"
#include "trainer/publishing.h"

struct config {
	char *to;
	const char *name;
	struct tw_strs keys;
	bool require_signature;
	struct tw_credentials_config web;
};

static const struct tw_opt options[] = {
	TW_OPT_TO,
	TW_OPTS_SIGNED_BY,
	TW_CREDENTIALS_OPTS(struct config, NULL),
};

static int take_operands(void *config, char **operand, size_t count, struct tw_err *err)
{
	struct config *c = config;

	return tw_command_operand(operand, count, "one pipeline's name", &c->name, err);
}

/* Check the previous version as before publishing. */
static int check_files(void *arg, const char *name, struct tw_fileset *files,
		       struct tw_err *err)
{
	const struct config *c = arg;
	struct tw_strs keys = { 0 };
	size_t models;
	int rc = -1;

	if (tw_signature_read_keys(&c->keys, &keys, err) < 0)
		goto out;
	if (tw_signature_check_pipeline(files, name, &keys, c->require_signature, err) <
		    0 ||
	    tw_publishing_check(files, &models, err) < 0)
		goto out;
	rc = 0;
out:
	tw_strs_clear(&keys);
	return rc;
}

static int roll_back(void *config, struct tw_err *err)
{
	struct config *c = config;
	struct tw_credentials web = { 0 };
	int rc = -1;

	if (!tw_url_is(c->to))
		return tw_pipeline_rollback(c->to, c->name, check_files, c, err);
	if (tw_command_credentials(&web, &c->web, NULL, "tallywatt rollback", err) == 0 &&
	    tw_publishing_send_rollback(c->to, c->name, &web.access, err) == 0)
		rc = 0;
	tw_credentials_release(&web);
	return rc;
}

static int check_use(void *config, struct tw_err *err)
{
	const struct config *c = config;

	if (c->require_signature && c->keys.count == 0)
		return tw_fail(err, TW_INVALID,
			       "--require-signature without a --public-key");
	return 0;
}

const struct tw_command tw_command_rollback = {
	.opts = TW_COMMAND_OPTS("rollback", "PIPELINE",
				"Restore the previous version of a pipeline."),
	.config_size = sizeof(struct config),
	.operands = take_operands,
	.check = check_use,
	.work = roll_back,
};
