/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/shards/plan_job.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/sha256.h"
#include "cli/shards/opt_texts.h"
#include "lib/zip/zip.h"

#include <stdlib.h>
#include <string.h>

/* ---- files beside the data ---- */

/* The digest of a list of all files: their names and their digests. */
static int digest_pipeline(const char *path, char out[TW_SHA256_TEXT], struct tw_err *err)
{
	struct tw_fileset files = { 0 };
	char each[TW_SHA256_TEXT];
	struct tw_sha256 sum;

	if (tw_fileset_read_dir(&files, path, &tw_zip_pipeline_limits, err) < 0)
		return -1;
	tw_sha256_start(&sum);
	for (size_t i = 0; i < files.count; i++) {
		tw_sha256_text(files.at[i].data, files.at[i].len, each);
		tw_sha256_add(&sum, files.at[i].name, strlen(files.at[i].name) + 1);
		tw_sha256_add(&sum, each, sizeof(each));
	}
	tw_sha256_end(&sum, out);
	tw_fileset_clear(&files);
	return 0;
}

static int visit_file(const char *path, tw_plan_file_fn *fn, void *arg,
		      struct tw_err *err)
{
	char digest[TW_SHA256_TEXT];

	if (path == NULL)
		return 0;
	return tw_sha256_file(path, digest, err) < 0 ? -1 : fn(arg, path, digest, err);
}

static int visit_pipeline(const char *db, const char *name, tw_plan_file_fn *fn,
			  void *arg, struct tw_err *err)
{
	char digest[TW_SHA256_TEXT], *path = NULL;
	int rc = -1;

	if (db == NULL)
		return 0;
	if (tw_path_join(&path, err, db, name, NULL) == 0 &&
	    digest_pipeline(path, digest, err) == 0)
		rc = fn(arg, path, digest, err);
	free(path);
	return rc;
}

int tw_plan_job_files(const struct tw_train_flags *f, const struct tw_train_job *job,
		      tw_plan_file_fn *fn, void *arg, struct tw_err *err)
{
	if (visit_file(f->isolation.idle, fn, arg, err) < 0 ||
	    visit_file(f->isolation.profile, fn, arg, err) < 0 ||
	    visit_file(job->by_response ? NULL : f->workloads, fn, arg, err) < 0)
		return -1;
	if (!job->isolator->needs_models)
		return 0;
	return visit_pipeline(f->model_db, job->isolation.abs_pipeline, fn, arg, err);
}

/* ---- the job of a plan ---- */

/* The files come in the order in which the plan was made. */
struct checking {
	const struct tw_plan *plan;
	size_t at;
};

static int check_file(void *arg, const char *path, const char *sha256, struct tw_err *err)
{
	struct checking *c = arg;
	const struct tw_plan_file *f =
		c->at < c->plan->files ? &c->plan->file[c->at++] : NULL;

	if (f != NULL && strcmp(f->text, path) == 0 && strcmp(f->sha256, sha256) == 0)
		return 0;
	return tw_fail(err, TW_INVALID, "'%s' changed after the plan was made", path);
}

static int open_options(struct tw_plan_job *p, struct tw_err *err)
{
	struct checking c = { .plan = &p->plan };

	if (tw_opts_read(&tw_train_job_opts, &p->plan.options, &p->flags, err) < 0 ||
	    tw_train_flags_job(&p->flags, &p->job, err) < 0)
		return -1;
	if (strcmp(p->flags.name, p->plan.name) != 0)
		return tw_fail(err, TW_INVALID, "the plan has two names");
	return tw_plan_job_files(&p->flags, &p->job, check_file, &c, err);
}

static int open_tables(struct tw_plan_job *p, const struct tw_strs *texts,
		       struct tw_err *err)
{
	struct tw_strs digests = { 0 };
	struct tw_buf warnings = { 0 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < p->plan.inputs; i++)
		rc = tw_strs_adds(&digests, p->plan.input[i].sha256, err);
	if (rc == 0)
		rc = tw_train_input_csv(&p->in, texts, p->job.source, p->job.group,
					&warnings, &digests, NULL, err);
	tw_strs_clear(&digests);
	tw_buf_clear(&warnings);
	p->job.tables = p->in.table;
	p->job.table_count = p->in.tables;
	return rc;
}

static int open_inputs(struct tw_plan_job *p, struct tw_err *err)
{
	struct tw_strs texts = { 0 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < p->plan.inputs; i++)
		rc = tw_strs_adds(&texts, p->plan.input[i].text, err);
	if (rc == 0 && p->plan.tables)
		rc = open_tables(p, &texts, err);
	else if (rc == 0)
		rc = tw_train_input_name(&p->in, &texts, err);
	tw_strs_clear(&texts);
	p->job.responses = p->in.response;
	p->job.response_count = p->in.responses;
	return rc;
}

int tw_plan_job_open(const char *path, const struct tw_input_cache *cache,
		     struct tw_plan_job *p, struct tw_err *err)
{
	if (tw_plan_read(path, &p->plan, err) < 0)
		return -1;
	p->in.cache = *cache;
	if (open_options(p, err) < 0 || tw_plan_machines(&p->plan, &p->planned, err) < 0)
		return tw_err_wrap(err, "%s", path);
	p->job.planned = p->planned;
	p->job.planned_count = p->plan.machines;
	if (tw_train_flags_read_options(&p->flags, &p->job, &p->in, err) < 0 ||
	    open_inputs(p, err) < 0)
		return tw_err_wrap(err, "%s", path);
	return 0;
}

void tw_plan_job_release(struct tw_plan_job *p)
{
	tw_train_job_release(&p->flags, &p->job);
	tw_opts_release(&tw_train_job_opts, &p->flags);
	tw_train_input_release(&p->in);
	tw_plan_release(&p->plan);
	free(p->planned);
	*p = (struct tw_plan_job){ 0 };
}
