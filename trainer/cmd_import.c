/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/err.h"
#include "lib/file.h"
#include "lib/fileset.h"
#include "lib/http.h"
#include "lib/opt.h"
#include "lib/zip.h"
#include "model-db/import.h"
#include "model-db/pipeline.h"
#include "trainer/cmd_credentials.h"
#include "trainer/command.h"
#include "trainer/publishing.h"

#include <stdio.h>
#include <string.h>

#define DOWNLOAD_MAX ((size_t)1 << 30)
#define DOWNLOAD_MS 600000
#define STALL_MS 30000

struct config {
	char *to, *name;
	const char *from;
	struct tw_credentials_config web;
};

static const struct tw_opt options[] = {
	{ .name = "to",
	  .env = "TW_MODEL_DB",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, to),
	  .arg = "DB",
	  .help = "the model database's directory" },
	{ .name = "name",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, name),
	  .arg = "NAME",
	  .help = "of the pipeline; else that of the directory, zip or URL" },
	TW_CREDENTIALS_OPTS(struct config, NULL),
};

static const struct tw_opts opts = {
	.program = "tallywatt import",
	.operands = "DIR|ZIP|URL",
	.summary = "Make a pipeline of kepler-model-server ours.",
	.opt = options,
	.count = sizeof(options) / sizeof(options[0]),
};

struct counts {
	size_t of[TW_IMPORT_OUTCOMES];
};

static void tell(void *arg, const char *model, enum tw_import_outcome outcome,
		 const char *why)
{
	static const char *const words[TW_IMPORT_OUTCOMES] = { "usable", "kept",
							       "refused" };
	struct counts *c = arg;

	c->of[outcome]++;
	printf("%-8s %s: %s\n", words[outcome], model, why);
}

static int download(const struct config *c, struct tw_fileset *out, struct tw_err *err)
{
	struct tw_http_answer answer = { 0 };
	struct tw_credentials web = { 0 };
	const struct tw_http_call call = { .url = c->from,
					   .timeout_ms = DOWNLOAD_MS,
					   .stall_ms = STALL_MS,
					   .answer_max = DOWNLOAD_MAX,
					   .access = &web.access };
	int rc = -1;

	if (tw_http_init(err) < 0 ||
	    tw_credentials_open(&web, &c->web, NULL, "tallywatt import", err) < 0 ||
	    tw_http_call(&call, &answer, err) < 0)
		goto out;
	if (answer.status != 200) {
		tw_fail(err, TW_IO, "status %u", answer.status);
		goto out;
	}
	if (tw_zip_read(answer.body, answer.len, &tw_zip_pipeline_limits, out, err) < 0)
		goto out;
	rc = 0;
out:
	tw_http_answer_release(&answer);
	tw_credentials_release(&web);
	return rc;
}

static int take_operands(void *config, char **operand, size_t count, struct tw_err *err)
{
	struct config *c = config;

	if (count != 1)
		return tw_fail(err, TW_INVALID,
			       "%zu operands, want one directory, zip file or URL",
			       count);
	c->from = operand[0];
	return 0;
}

static int check_use(void *config, struct tw_err *err)
{
	const struct config *c = config;

	return c->to != NULL ? 0 : tw_fail(err, TW_INVALID, "--to is missing");
}

static int import(void *config, struct tw_err *err)
{
	const struct config *c = config;
	struct tw_fileset old = { 0 }, pipeline = { 0 };
	struct counts counts = { { 0 } };
	const struct tw_import_listener listener = { .told = tell,
						     .look = tw_publishing_look,
						     .arg = &counts };
	char name[129];
	size_t models;
	int rc = -1;

	if (tw_publishing_name(c->name != NULL ? c->name : c->from, name, sizeof(name),
			       err) < 0)
		goto out;
	if ((tw_is_url(c->from) ? download(c, &old, err)
				: tw_publishing_read(c->from, &old, err)) < 0 ||
	    tw_import_pipeline(&old, &pipeline, &listener, err) < 0 ||
	    tw_publishing_check(&pipeline, &models, err) < 0) {
		tw_err_wrap(err, "'%s'", c->from);
		goto out;
	}
	if (tw_pipeline_publish(c->to, name, &pipeline, err) < 0)
		goto out;
	printf("%s: usable=%zu kept=%zu refused=%zu\n", name, counts.of[TW_IMPORT_USABLE],
	       counts.of[TW_IMPORT_KEPT], counts.of[TW_IMPORT_REFUSED]);
	rc = 0;
out:
	tw_fileset_clear(&pipeline);
	tw_fileset_clear(&old);
	return rc;
}

const struct tw_command tw_command_import = {
	.name = "import",
	.summary = "make a pipeline of kepler-model-server ours",
	.opts = &opts,
	.config_size = sizeof(struct config),
	.operands = take_operands,
	.check = check_use,
	.work = import,
};
