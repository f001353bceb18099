/* SPDX-License-Identifier: Apache-2.0 */
#include "server/fleet/pull_take.h"

#include "lib/ask/fetch.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/http/client/download.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/manifest.h"
#include "model-db/publish.h"
#include "server/fleet/pull_record.h"
#include "server/fleet/pull_source.h"
#include "server/fleet/rollout.h"
#include "server/uploads.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Limit of the zip, as for uploads; lib/zip/zip.h limits its contents. */
#define ZIP_MAX ((size_t)256 << 20)
#define STALL_MS 30000
#define ROLLOUT_TIMEOUT_MS 30000

struct attempt {
	const struct tw_pull_means *m;
	const struct tw_pull_source *s;
	const char *refused;
	struct tw_pull_result *out;
	struct tw_pull_record record; /* of the published version */
	bool exists;                  /* the database has a pipeline of this name */
};

/* ---- what is in place ---- */

/* Whether a pull may replace the pipeline. */
static int look(struct attempt *a, bool *ours, struct tw_err *err)
{
	char digest[TW_SHA256_TEXT];

	if (tw_pull_digest(a->m->model_db, a->s->pipeline, &a->exists, digest, err) < 0)
		return -1;
	*ours = !a->exists || (tw_pull_record_read(a->m->model_db, a->s, &a->record) &&
			       tw_pull_record_fits(&a->record, digest));
	if (!a->exists)
		a->record = (struct tw_pull_record){ .etag = "" };
	return 0;
}

/* Another publisher may have been faster: look again under the publishers' lock. */
static int look_again(void *arg, const char *path, struct tw_err *err)
{
	const struct attempt *a = arg;
	char digest[TW_SHA256_TEXT];
	bool exists;

	(void)path;
	if (tw_pull_digest(a->m->model_db, a->s->pipeline, &exists, digest, err) < 0)
		return -1;
	if (exists == a->exists && strcmp(digest, a->record.manifest) == 0)
		return 0;
	return tw_fail(err, TW_IO, "'%s' was published by another client meanwhile",
		       a->s->pipeline);
}

/* ---- what comes ---- */

static int fail_take(struct attempt *a, enum tw_pull_outcome outcome)
{
	a->out->outcome = outcome;
	return -1;
}

/* Check the files, and convert them to what will be published. */
static int check(struct attempt *a, struct tw_fileset *files, struct tw_err *err)
{
	/* Without a version: the same files give the same manifest at each pull. */
	const struct tw_manifest_id none = { "", 0 };

	if (tw_uploads_check_any(a->m->uploads, a->s->pipeline, files, &a->out->models,
				 &a->out->kept, err) < 0)
		return -1;
	if (tw_fileset_find(files, TW_MANIFEST_NAME) == NULL &&
	    tw_manifest_add(files, &none, err) < 0)
		return -1;
	return tw_pipeline_check_version(a->m->model_db, a->s->pipeline, files,
					 tw_uploads_allow_downgrade(a->m->uploads), err);
}

static int publish(struct attempt *a, const struct tw_fileset *files,
		   const struct tw_pull_record *fresh, struct tw_err *err)
{
	const struct tw_publish_terms terms = {
		.meet = look_again,
		.arg = a,
		.allow_downgrade = tw_uploads_allow_downgrade(a->m->uploads),
	};
	struct tw_pull_record both = a->record;

	memcpy(both.next, fresh->manifest, sizeof(both.next));
	if (tw_pull_record_write(a->m->model_db, a->s, &both, err) < 0 ||
	    tw_pipeline_publish_with(a->m->model_db, a->s->pipeline, files, &terms, err) <
		    0)
		return -1;
	a->out->outcome = TW_PULL_TAKEN;
	a->out->exists = true;
	return 0;
}

static int put(struct attempt *a, const struct tw_fileset *files, const char *etag,
	       struct tw_err *err)
{
	const struct tw_fileset_file *manifest = tw_fileset_find(files, TW_MANIFEST_NAME);
	struct tw_pull_record fresh = { .etag = "" };

	memcpy(fresh.etag, etag, sizeof(fresh.etag));
	tw_sha256_text(manifest->data, manifest->len, fresh.manifest);
	a->out->outcome = TW_PULL_UNCHANGED;
	if ((!a->exists || strcmp(fresh.manifest, a->record.manifest) != 0) &&
	    publish(a, files, &fresh, err) < 0)
		return -1;
	return tw_pull_record_write(a->m->model_db, a->s, &fresh, err);
}

/* Consumes files. */
static int check_and_put(struct attempt *a, struct tw_fileset *files, const char *etag,
			 struct tw_err *err)
{
	if (check(a, files, err) < 0) {
		memcpy(a->out->etag, etag, sizeof(a->out->etag));
		return fail_take(a, err->code == TW_NOMEM ? TW_PULL_FAILED
							  : TW_PULL_REFUSED);
	}
	return put(a, files, etag, err) < 0 ? fail_take(a, TW_PULL_FAILED) : 0;
}

/* ---- from here ---- */

static int take_local(struct attempt *a, struct tw_err *err)
{
	static const char none[TW_HTTP_ETAG_MAX] = "";
	struct tw_fileset files = { 0 };
	int rc = -1;

	pthread_mutex_lock(a->m->turn);
	if (tw_zip_read_path(a->s->from, ZIP_MAX, &tw_zip_pipeline_limits, &files, err) <
	    0) {
		fail_take(a, err->code == TW_INVALID || err->code == TW_PARSE
				     ? TW_PULL_REFUSED
				     : TW_PULL_FAILED);
		goto out;
	}
	if (check_and_put(a, &files, none, err) < 0)
		goto out;
	rc = 0;
out:
	tw_fileset_clear(&files);
	pthread_mutex_unlock(a->m->turn);
	return rc;
}

/* ---- from elsewhere ---- */

static int take_part(struct attempt *a, int fd, const char *etag, struct tw_err *err)
{
	struct tw_fileset files = { 0 };
	char *zip = NULL;
	size_t len;
	int rc = -1;

	pthread_mutex_lock(a->m->turn);
	if (tw_download_file_read(fd, ZIP_MAX, &zip, &len, err) < 0) {
		fail_take(a, TW_PULL_FAILED);
		goto out;
	}
	if (tw_zip_read(zip, len, &tw_zip_pipeline_limits, &files, err) < 0) {
		memcpy(a->out->etag, etag, sizeof(a->out->etag));
		fail_take(a, err->code == TW_NOMEM ? TW_PULL_FAILED : TW_PULL_REFUSED);
		goto out;
	}
	free(zip); /* free it before the next step needs memory */
	zip = NULL;
	if (check_and_put(a, &files, etag, err) < 0)
		goto out;
	rc = 0;
out:
	free(zip);
	tw_fileset_clear(&files);
	pthread_mutex_unlock(a->m->turn);
	return rc;
}

/* Download the version of the source, unless it is the published or the rejected one. */
static const char *known_tag(const struct attempt *a)
{
	if (a->refused[0] != '\0')
		return a->refused;
	return a->exists && a->record.etag[0] != '\0' ? a->record.etag : NULL;
}

static int fail_status(struct attempt *a, const struct tw_http_answer *answer,
		       struct tw_err *err)
{
	tw_fail(err, answer->status == 404 ? TW_NOTFOUND : TW_IO, "'%s' answers %u%s%.*s",
		a->s->shown, answer->status, answer->len > 0 ? ": " : "",
		(int)strcspn(answer->body, "\r\n"), answer->body);
	return fail_take(a, TW_PULL_FAILED);
}

static int take_answer(struct attempt *a, int fd, const struct tw_http_answer *answer,
		       struct tw_err *err)
{
	a->out->retry_after_s = answer->retry_after_s;
	if (answer->status == 304) {
		a->out->outcome = TW_PULL_UNCHANGED;
		if (a->refused[0] == '\0')
			return 0;
		memcpy(a->out->etag, a->refused, strlen(a->refused) + 1);
		return fail_take(a, TW_PULL_REFUSED);
	}
	if (answer->status != 200 && answer->status != 206)
		return fail_status(a, answer, err);
	a->out->from = answer->from;
	return take_part(a, fd, answer->etag, err);
}

static int download(struct attempt *a, int fd, struct tw_err *err)
{
	const struct tw_http_call call = { .url = a->s->from,
					   .etag = known_tag(a),
					   .timeout_ms = a->m->timeout_ms,
					   .stall_ms = STALL_MS,
					   .answer_max = ZIP_MAX };
	struct tw_http_answer answer = { 0 };
	struct stat before = { 0 }, after = { 0 };
	int rc = -1;

	(void)!fstat(fd, &before);
	if (tw_fetch_save(a->m->fetch, &call, fd, &answer, err) < 0) {
		/* It is above the limit, and will be at the next attempt. */
		fail_take(a, err->code == TW_INVALID ? TW_PULL_REFUSED : TW_PULL_FAILED);
		goto out;
	}
	(void)!fstat(fd, &after);
	a->out->bytes = (uint64_t)(answer.status == 206 ? after.st_size - before.st_size
							: after.st_size);
	if (take_answer(a, fd, &answer, err) < 0)
		goto out;
	rc = 0;
out:
	tw_http_answer_release(&answer);
	return rc;
}

static int take_url(struct attempt *a, struct tw_err *err)
{
	int fd, rc = -1;

	if (tw_pull_part_open(a->m->model_db, a->s, &fd, err) < 0)
		return fail_take(a, TW_PULL_FAILED);
	if (download(a, fd, err) == 0)
		rc = 0;
	/* Keep a part that a later attempt can resume. */
	if (rc == 0 || a->out->outcome == TW_PULL_REFUSED)
		tw_pull_part_remove(a->m->model_db, a->s);
	close(fd);
	return rc;
}

/* ---- rollouts ---- */

static int get_rollout(struct attempt *a, char **text, size_t *len, struct tw_err *err)
{
	const struct tw_http_call call = { .url = a->s->from,
					   .timeout_ms = ROLLOUT_TIMEOUT_MS,
					   .answer_max = TW_ROLLOUT_MAX };
	struct tw_http_answer answer = { 0 };
	int rc = -1;

	if (a->s->local)
		return tw_file_read(a->s->from, TW_ROLLOUT_MAX, text, len, err);
	if (tw_fetch_call(a->m->fetch, &call, &answer, err) < 0)
		goto out;
	a->out->retry_after_s = answer.retry_after_s;
	if (answer.status != 200) {
		fail_status(a, &answer, err);
		goto out;
	}
	*text = answer.body;
	*len = answer.len;
	answer.body = NULL;
	rc = 0;
out:
	tw_http_answer_release(&answer);
	return rc;
}

/* Make *version the source of the version that the rollout has for this replica. */
static int choose(struct attempt *a, struct tw_pull_source *version, struct tw_err *err)
{
	char *text = NULL;
	size_t len;
	int rc = -1;

	if (get_rollout(a, &text, &len, err) < 0)
		goto out;
	if (tw_rollout_choose(text, len, a->s->from, a->m->replica, &version->from,
			      &a->out->next, err) < 0) {
		fail_take(a, err->code == TW_NOMEM ? TW_PULL_FAILED : TW_PULL_REFUSED);
		goto out;
	}
	version->pipeline = a->s->pipeline;
	version->local = version->from[0] == '/';
	tw_url_show(version->from, version->shown);
	a->s = version;
	rc = 0;
out:
	free(text);
	return rc;
}

void tw_pull_take(const struct tw_pull_means *m, const struct tw_pull_source *s,
		  const char *refused, struct tw_pull_result *out, struct tw_err *err)
{
	struct attempt a = { .m = m, .s = s, .refused = refused, .out = out };
	struct tw_pull_source version = { .from = NULL };
	bool ours;

	*out = (struct tw_pull_result){ .outcome = TW_PULL_FAILED };
	if (look(&a, &ours, err) < 0)
		return;
	out->exists = a.exists;
	/* The record is of a version, not of the rollout: look again. */
	if (s->rollout && (choose(&a, &version, err) < 0 || look(&a, &ours, err) < 0))
		goto out;
	if (!ours)
		out->outcome = TW_PULL_LOCAL;
	else if (a.s->local)
		(void)!take_local(&a, err);
	else
		(void)!take_url(&a, err);
out:
	free(version.from);
}
