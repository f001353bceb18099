/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/http/client/credentials.h"
#include "lib/http/client/url.h"
#include "lib/zip/fileset.h"
#include "model-db/manifest.h"
#include "model-db/publish.h"
#include "model-db/signature.h"
#include "trainer/publishing.h"

#include <stdio.h>
#include <time.h>

struct config {
	char *to, *name, *sign, *sign_password_file;
	const char *from;
	struct tw_strs keys;
	bool require_signature, allow_downgrade;
	struct tw_credentials_config web;
};

static const struct tw_opt options[] = {
	TW_OPT_TO,
	{ TW_ROW(TEXT, "name", name, "NAME",
		 "name of the pipeline [name of the directory or zip]") },
	TW_OPTS_SIGN(struct config),
	TW_OPTS_SIGNED_BY,
	{ TW_ROW(BOOL, "allow-downgrade", allow_downgrade, NULL,
		 "replace a newer version in a model database's directory"),
	  .env = "TW_ALLOW_DOWNGRADE" },
	TW_CREDENTIALS_OPTS(struct config, NULL),
};

/* Sign the pipeline with a new version; the receiver refuses one that is not later. */
static int sign(const struct config *c, const char *name, const struct tw_signer *signer,
		struct tw_fileset *pipeline, struct tw_err *err)
{
	struct tw_manifest_id id = { "", 0 }, next = { "", (long long)time(NULL) };

	if (tw_fileset_find(pipeline, TW_MANIFEST_NAME) != NULL &&
	    tw_manifest_check(pipeline, &id, err) < 0)
		return -1;
	if (!tw_url_is(c->to)) {
		tw_manifest_drop(pipeline); /* signed with the lock of the database */
		return 0;
	}
	snprintf(next.pipeline, sizeof(next.pipeline), "%s", name);
	if (next.version <= id.version)
		next.version = id.version + 1;
	return tw_signer_add(signer, &next, pipeline, err);
}

static int put(const struct config *c, const char *name, const struct tw_signer *signer,
	       const struct tw_fileset *s, struct tw_err *err)
{
	const struct tw_publish_terms terms = { .signer = signer,
						.allow_downgrade = c->allow_downgrade };
	struct tw_credentials web = { 0 };
	int rc = -1;

	if (!tw_url_is(c->to))
		return tw_pipeline_publish_with(c->to, name, s, &terms, err);
	if (tw_command_credentials(&web, &c->web, NULL, "tallywatt publish", err) == 0 &&
	    tw_publishing_send(c->to, name, s, &web.access, err) == 0)
		rc = 0;
	tw_credentials_release(&web);
	return rc;
}

/* Check the pipeline. A signature made here is of the name that it is published under. */
static int check(const struct config *c, const char *name, struct tw_fileset *pipeline,
		 size_t *models, struct tw_err *err)
{
	struct tw_strs keys = { 0 };
	int rc = -1;

	if (tw_signature_read_keys(&c->keys, &keys, err) < 0)
		goto out;
	if ((c->name != NULL && tw_manifest_rename(pipeline, name, err) < 0) ||
	    tw_signature_check_pipeline(pipeline, c->sign != NULL ? NULL : name, &keys,
					c->require_signature, err) < 0 ||
	    tw_publishing_check(pipeline, models, err) < 0) {
		tw_err_wrap(err, "'%s'", c->from);
		goto out;
	}
	rc = 0;
out:
	tw_strs_clear(&keys);
	return rc;
}

static int publish(void *config, struct tw_err *err)
{
	const struct config *c = config;
	struct tw_fileset pipeline = { 0 };
	struct tw_signer signer = { 0 };
	char name[129];
	size_t models;
	bool is_signed;
	int rc = -1;

	if (tw_publishing_name(c->name != NULL ? c->name : c->from, name, sizeof(name),
			       err) < 0 ||
	    tw_publishing_read(c->from, &pipeline, err) < 0 ||
	    check(c, name, &pipeline, &models, err) < 0)
		goto out;
	if (c->sign != NULL &&
	    (tw_signer_read(c->sign, c->sign_password_file, &signer, err) < 0 ||
	     sign(c, name, &signer, &pipeline, err) < 0))
		goto out;
	if (put(c, name, c->sign != NULL ? &signer : NULL, &pipeline, err) < 0)
		goto out;
	is_signed = c->sign != NULL ||
		    tw_fileset_find(&pipeline, TW_MANIFEST_SIGNATURE) != NULL;
	printf("%s: models=%zu files=%zu signed=%s\n", name, models, pipeline.count,
	       is_signed ? "yes" : "no");
	rc = 0;
out:
	tw_signer_release(&signer);
	tw_fileset_clear(&pipeline);
	return rc;
}

static int take_operands(void *config, char **operand, size_t count, struct tw_err *err)
{
	struct config *c = config;

	return tw_command_operand(operand, count, "a directory or a zip file", &c->from,
				  err);
}

static int check_use(void *config, struct tw_err *err)
{
	const struct config *c = config;

	if (c->require_signature && c->keys.count == 0)
		return tw_fail(err, TW_INVALID,
			       "--require-signature without a --public-key");
	if (c->allow_downgrade && tw_url_is(c->to))
		return tw_fail(err, TW_INVALID,
			       "--allow-downgrade with a URL: it is an option of the "
			       "server, too");
	return 0;
}

const struct tw_command tw_command_publish = {
	.opts = TW_COMMAND_OPTS("publish", "DIR|ZIP",
				"Check a pipeline, sign it on request, and publish it."),
	.config_size = sizeof(struct config),
	.operands = take_operands,
	.check = check_use,
	.work = publish,
};
