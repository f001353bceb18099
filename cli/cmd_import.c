/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "lib/http/client/credentials.h"
#include "lib/http/client/http.h"
#include "lib/http/client/url.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/import/import.h"
#include "model-db/import/import_find.h"
#include "model-db/publish.h"
#include "trainer/publishing.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DOWNLOAD_MAX ((size_t)1 << 30)
#define DOWNLOAD_MS 600000
#define STALL_MS 30000

struct config {
	char *to, *name;
	const char *from;
	struct tw_credentials_config web;
};

static const struct tw_opt options[] = {
	{ TW_ROW(TEXT, "to", to, "DB", "directory of the model database"),
	  .env = "TW_MODEL_DB", .required = true },
	{ TW_ROW(TEXT, "name", name, "NAME",
		 "name of the pipeline [name of its directory, zip or URL]") },
	TW_CREDENTIALS_OPTS(struct config, NULL),
};

/* The state of an import. */
struct importing {
	const struct config *config;
	const char *prefix; /* prefix of model names in the report: "", or the pipeline */
	size_t of[TW_IMPORT_OUTCOMES];    /* counts of the pipeline */
	size_t total[TW_IMPORT_OUTCOMES]; /* counts of all pipelines */
	size_t failed;                    /* number of pipelines that failed */
};

static void tell(void *arg, const char *model, enum tw_import_outcome outcome,
		 const char *why)
{
	static const char *const words[TW_IMPORT_OUTCOMES] = { "usable", "kept",
							       "refused" };
	struct importing *im = arg;

	im->of[outcome]++;
	im->total[outcome]++;
	printf("%-8s %s%s%s: %s\n", words[outcome], im->prefix,
	       *im->prefix != '\0' ? "/" : "", model, why);
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
	    tw_command_credentials(&web, &c->web, NULL, "tallywatt import", err) < 0 ||
	    tw_http_call(&call, &answer, err) < 0)
		goto out;
	if (answer.status != 200) {
		tw_fail(err, TW_IO, "'%s': status %u", c->from, answer.status);
		goto out;
	}
	if (tw_zip_read(answer.body, answer.len, &tw_zip_pipeline_limits, out, err) < 0) {
		tw_err_wrap(err, "'%s'", c->from);
		goto out;
	}
	rc = 0;
out:
	tw_http_answer_release(&answer);
	tw_credentials_release(&web);
	return rc;
}

static int take_operands(void *config, char **operand, size_t count, struct tw_err *err)
{
	struct config *c = config;

	return tw_command_operand(operand, count, "one directory, zip file or URL",
				  &c->from, err);
}

static void tell_counts(const char *name, const size_t of[TW_IMPORT_OUTCOMES])
{
	printf("%s: usable=%zu kept=%zu refused=%zu\n", name, of[TW_IMPORT_USABLE],
	       of[TW_IMPORT_KEPT], of[TW_IMPORT_REFUSED]);
}

static int import_one(struct importing *im, struct tw_fileset *old, const char *name,
		      struct tw_err *err)
{
	const struct tw_import_listener listener = { .report = tell,
						     .look = tw_publishing_look,
						     .arg = im };
	struct tw_fileset pipeline = { 0 };
	size_t models;
	int rc = -1;

	memset(im->of, 0, sizeof(im->of));
	if (tw_import_pipeline(old, &pipeline, &listener, err) < 0 ||
	    tw_publishing_check(&pipeline, &models, err) < 0 ||
	    tw_pipeline_publish(im->config->to, name, &pipeline, err) < 0)
		goto out;
	tell_counts(name, im->of);
	rc = 0;
out:
	tw_fileset_clear(&pipeline);
	return rc;
}

/* The files of one pipeline: part of those already read, or read from its directory. */
static int take_place(const struct config *c, struct tw_fileset *all, const char *place,
		      struct tw_fileset *out, struct tw_err *err)
{
	char *path = NULL;
	int rc = -1;

	if (all != NULL)
		return tw_import_move(all, place, out, err);
	if (tw_path_join(&path, err, c->from, *place != '\0' ? place : ".", NULL) < 0 ||
	    tw_publishing_read(path, out, err) < 0)
		goto out;
	rc = 0;
out:
	free(path);
	return rc;
}

/* With several pipelines, a failure of one does not stop the others. */
static int import_place(struct importing *im, struct tw_fileset *all, const char *place,
			const char *name, struct tw_err *err)
{
	struct tw_fileset old = { 0 };
	struct tw_err why = { 0 };

	if (take_place(im->config, all, place, &old, &why) < 0 ||
	    import_one(im, &old, name, &why) < 0) {
		if (*im->prefix == '\0')
			tw_fail(err, why.code, "'%s': %s", im->config->from, why.text);
		else
			printf("failed   %s: %s\n", name, why.text);
		im->failed++;
	}
	tw_fileset_clear(&old);
	return why.code == TW_OK || *im->prefix != '\0' ? 0 : -1;
}

static int import_places(const struct config *c, struct tw_fileset *all,
			 const struct tw_strs *places, const struct tw_strs *names,
			 struct tw_err *err)
{
	struct importing im = { .config = c, .prefix = "" };

	for (size_t i = 0; i < places->count; i++) {
		if (places->count > 1)
			im.prefix = names->at[i];
		if (import_place(&im, all, places->at[i], names->at[i], err) < 0)
			return -1;
	}
	if (places->count == 1)
		return 0;
	printf("pipelines=%zu failed=%zu ", places->count - im.failed, im.failed);
	tell_counts("of all", im.total);
	return im.failed == 0
		       ? 0
		       : tw_fail(err, TW_INVALID,
				 "'%s': %zu of %zu pipelines could not be imported",
				 c->from, im.failed, places->count);
}

/* The names of the pipelines: --name, or the names of their places. */
static int name_places(const struct config *c, const struct tw_strs *places,
		       struct tw_strs *out, struct tw_err *err)
{
	char self[129] = "";

	if (c->name != NULL && places->count > 1)
		return tw_fail(err, TW_INVALID, "--name, and '%s' has %zu pipelines",
			       c->from, places->count);
	if ((c->name != NULL || *places->at[0] == '\0') &&
	    tw_publishing_name(c->name != NULL ? c->name : c->from, self, sizeof(self),
			       err) < 0)
		return -1;
	return c->name != NULL ? tw_strs_adds(out, self, err)
			       : tw_import_names(places, self, out, err);
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Find the pipelines. A directory is only listed; other sources are read. */
static int find_places(const struct config *c, struct tw_fileset *all,
		       struct tw_strs *places, struct tw_err *err)
{
	int status;

	if (is_directory(c->from)) {
		status = tw_import_places_in(c->from, places, err);
	} else {
		/* The errors of both name the source. */
		if ((tw_url_is(c->from) ? download(c, all, err)
					: tw_publishing_read(c->from, all, err)) < 0)
			return -1;
		tw_fileset_sort(all);
		status = tw_import_places(all, places, err);
	}
	return status < 0 ? tw_err_wrap(err, "'%s'", c->from) : 0;
}

static int import(void *config, struct tw_err *err)
{
	const struct config *c = config;
	struct tw_strs places = { 0 }, names = { 0 };
	struct tw_fileset all = { 0 };
	int rc = -1;

	if (find_places(c, &all, &places, err) < 0)
		goto out;
	if (places.count == 0) {
		tw_fail(err, TW_INVALID, "'%s': not a pipeline: it has no model",
			c->from);
		goto out;
	}
	if (name_places(c, &places, &names, err) < 0 ||
	    import_places(c, all.count > 0 ? &all : NULL, &places, &names, err) < 0)
		goto out;
	rc = 0;
out:
	tw_fileset_clear(&all);
	tw_strs_clear(&names);
	tw_strs_clear(&places);
	return rc;
}

const struct tw_command tw_command_import = {
	.opts = TW_COMMAND_OPTS(
		"import", "DIR|ZIP|URL",
		"Convert pipelines of kepler-model-server: one, or a database."),
	.config_size = sizeof(struct config),
	.operands = take_operands,
	.work = import,
};
