/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_credentials.h"
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "lib/http/url.h"
#include "lib/program/opt.h"
#include "lib/zip/fileset.h"
#include "model-db/manifest.h"
#include "model-db/publish.h"
#include "model-db/signature.h"
#include "trainer/publishing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX 4096

struct config {
	char *to, *name, *sign, *sign_password_file;
	const char *from;
	struct tw_strs keys;
	bool require_signature;
	struct tw_credentials_config web;
};

static const struct tw_opt options[] = {
	TW_OPT_TO(struct config),
	{ .name = "name",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, name),
	  .arg = "NAME",
	  .help = "name of the pipeline [name of the directory or zip]" },
	{ .name = "sign",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, sign),
	  .arg = "FILE",
	  .help = "sign with this minisign secret key" },
	{ .name = "sign-password-file",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, sign_password_file),
	  .arg = "FILE",
	  .help = "file with the password of the key [TW_SIGN_PASSWORD]" },
	{ .name = "public-key",
	  .env = "TW_PUBLIC_KEYS",
	  .type = TW_OPT_LIST,
	  .offset = offsetof(struct config, keys),
	  .arg = "KEY|FILE",
	  .help = "accept signatures of these keys only" },
	{ .name = "require-signature",
	  .env = "TW_REQUIRE_SIGNATURE",
	  .type = TW_OPT_BOOL,
	  .offset = offsetof(struct config, require_signature),
	  .help = "reject a pipeline that no public key signed" },
	TW_CREDENTIALS_OPTS(struct config, NULL),
};

static const struct tw_opts opts = {
	.program = "tallywatt publish",
	.operands = "DIR|ZIP",
	.summary = "Check a pipeline, sign it on request, and publish it.",
	.opt = options,
	.count = sizeof(options) / sizeof(options[0]),
};

/* The password of the file or the environment; NULL: none. *out is yours. */
static int read_password(const char *path, char **out, struct tw_err *err)
{
	const char *set = getenv("TW_SIGN_PASSWORD");
	size_t len;

	if (path != NULL) {
		if (tw_file_read(path, KEY_MAX, out, &len, err) < 0)
			return -1;
		(*out)[strcspn(*out, "\r\n")] = '\0';
		return 0;
	}
	if (set == NULL)
		return 0;
	*out = strdup(set);
	return *out != NULL ? 0 : tw_fail(err, TW_NOMEM, "password");
}

static int sign(const struct config *c, struct tw_fileset *pipeline, struct tw_err *err)
{
	char *key = NULL, *password = NULL;
	size_t len;
	int rc = -1;

	if (c->sign == NULL)
		return 0;
	if (read_password(c->sign_password_file, &password, err) < 0 ||
	    tw_file_read(c->sign, KEY_MAX, &key, &len, err) < 0 ||
	    tw_signature_add(pipeline, key, len, password, err) < 0)
		goto out;
	rc = 0;
out:
	if (key != NULL)
		explicit_bzero(key, strlen(key));
	if (password != NULL)
		explicit_bzero(password, strlen(password));
	free(password);
	free(key);
	return rc;
}

static int put(const struct config *c, const char *name, const struct tw_fileset *s,
	       struct tw_err *err)
{
	struct tw_credentials web = { 0 };
	int rc = -1;

	if (!tw_url_is(c->to))
		return tw_pipeline_publish(c->to, name, s, err);
	if (tw_credentials_open(&web, &c->web, NULL, "tallywatt publish", err) < 0 ||
	    tw_publishing_send(c->to, name, s, &web.access, err) < 0)
		goto out;
	rc = 0;
out:
	tw_credentials_release(&web);
	return rc;
}

static int publish(void *config, struct tw_err *err)
{
	const struct config *c = config;
	struct tw_fileset pipeline = { 0 };
	struct tw_strs keys = { 0 };
	char name[129];
	size_t models;
	int rc = -1;

	for (size_t i = 0; i < c->keys.count; i++)
		if (tw_signature_read_key(c->keys.at[i], &keys, err) < 0)
			goto out;
	if (tw_publishing_name(c->name != NULL ? c->name : c->from, name, sizeof(name),
			       err) < 0 ||
	    tw_publishing_read(c->from, &pipeline, err) < 0)
		goto out;
	if (tw_signature_check_pipeline(&pipeline, &keys, c->require_signature, err) <
		    0 ||
	    tw_publishing_check(&pipeline, &models, err) < 0) {
		tw_err_wrap(err, "'%s'", c->from);
		goto out;
	}
	if (sign(c, &pipeline, err) < 0 || put(c, name, &pipeline, err) < 0)
		goto out;
	printf("%s: models=%zu files=%zu signed=%s\n", name, models, pipeline.count,
	       tw_fileset_find(&pipeline, TW_MANIFEST_SIGNATURE) != NULL ? "yes" : "no");
	rc = 0;
out:
	tw_strs_clear(&keys);
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
	return 0;
}

const struct tw_command tw_command_publish = {
	.name = "publish",
	.summary = "publish a pipeline to a model database or a server",
	.opts = &opts,
	.config_size = sizeof(struct config),
	.operands = take_operands,
	.check = check_use,
	.work = publish,
};
