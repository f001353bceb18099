/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/sha256.h"
#include "lib/program/daemon.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/index/index.h"
#include "model-db/manifest.h"
#include "model-db/pipeline.h"
#include "server/routes.h"
#include "server/send.h"
#include "server/service.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A whole pipeline as a zip, for other servers and for kepler-model-server, whose
 * MODEL_TOPURL it serves. Foreign files are included only with --serve-foreign.
 */

#define MANIFEST_MAX ((size_t)64 << 20)

/* The place of foreign files in the zip. */
enum foreign {
	FOREIGN_NOT,
	FOREIGN_AS_KEPT, /* below foreign/, as the manifest lists them */
	FOREIGN_IN_PLACE /* where the old programs look for them */
};

struct packing {
	const char *model_db;
	const char *pipeline;
	enum foreign foreign;
};

static bool is_foreign(const char *name)
{
	return strncmp(name, TW_PIPELINE_FOREIGN "/", strlen(TW_PIPELINE_FOREIGN "/")) ==
	       0;
}

static bool is_manifest(const char *name)
{
	return strcmp(name, TW_MANIFEST_NAME) == 0 ||
	       strcmp(name, TW_MANIFEST_SIGNATURE) == 0;
}

/* Move a file from the directory's set to the zip's. */
static int move_file(struct tw_fileset_file *f, const char *name, struct tw_fileset *to,
		     struct tw_err *err)
{
	char *data = f->data;

	f->data = NULL;
	return tw_fileset_take(to, name, data, f->len, err);
}

/* A file of ours precedes a foreign file of the same name. */
static int arrange(const struct packing *p, struct tw_fileset *from,
		   struct tw_fileset *to, struct tw_err *err)
{
	for (size_t i = 0; i < from->count; i++)
		if (!is_foreign(from->at[i].name) && !is_manifest(from->at[i].name) &&
		    move_file(&from->at[i], from->at[i].name, to, err) < 0)
			return -1;
	tw_fileset_sort(to);
	for (size_t i = 0; i < from->count; i++) {
		const char *name = from->at[i].name + strlen(TW_PIPELINE_FOREIGN "/");

		if (from->at[i].data != NULL && is_foreign(from->at[i].name) &&
		    p->foreign == FOREIGN_IN_PLACE && tw_fileset_find(to, name) == NULL &&
		    move_file(&from->at[i], name, to, err) < 0)
			return -1;
	}
	return 0;
}

static bool has_foreign(const struct tw_fileset *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (is_foreign(s->at[i].name))
			return true;
	return false;
}

static void format_tag(const struct packing *p, const char *manifest, size_t len,
		       char etag[TW_ETAG_TEXT])
{
	char digest[TW_SHA256_TEXT];

	tw_sha256_text(manifest, len, digest);
	snprintf(etag, TW_ETAG_TEXT, "\"%.32s-%d\"", digest, (int)p->foreign);
}

/*
 * The tag follows from the manifest, so that it is known before packing. False: the
 * pipeline has no manifest.
 */
static bool tag_of(const struct packing *p, char etag[TW_ETAG_TEXT])
{
	char *path = NULL, *text = NULL;
	struct tw_err ignored = { 0 };
	size_t len;
	const bool found = tw_path_join(&path, &ignored, p->model_db, p->pipeline,
					TW_MANIFEST_NAME, NULL) == 0 &&
			   tw_file_read(path, MANIFEST_MAX, &text, &len, &ignored) == 0;

	if (found)
		format_tag(p, text, len, etag);
	free(text);
	free(path);
	return found;
}

/* The published version may have changed since tag_of(). */
static int pack(const struct packing *p, char **data, size_t *len,
		char etag[TW_ETAG_TEXT], struct tw_err *err)
{
	struct tw_fileset all = { 0 }, some = { 0 };
	const struct tw_fileset_file *manifest;
	char *dir = NULL;
	int rc = -1;

	if (tw_path_join(&dir, err, p->model_db, p->pipeline, NULL) < 0 ||
	    tw_fileset_read_dir(&all, dir, &tw_zip_pipeline_limits, err) < 0)
		goto out;
	manifest = tw_fileset_find(&all, TW_MANIFEST_NAME);
	if (manifest != NULL)
		format_tag(p, manifest->data, manifest->len, etag);
	else
		etag[0] = '\0';
	if (p->foreign == FOREIGN_AS_KEPT || !has_foreign(&all)) {
		if (tw_zip_write(&all, data, len, err) < 0)
			goto out;
	} else if (arrange(p, &all, &some, err) < 0 ||
		   tw_zip_write(&some, data, len, err) < 0) {
		goto out;
	}
	rc = 0;
out:
	tw_fileset_clear(&some);
	tw_fileset_clear(&all);
	free(dir);
	return rc;
}

static void tag_of_bytes(const char *data, size_t len, char etag[TW_ETAG_TEXT])
{
	char digest[TW_SHA256_TEXT];

	tw_sha256_text(data, len, digest);
	snprintf(etag, TW_ETAG_TEXT, "\"%.32s\"", digest);
}

/* A zip may need hundreds of times the memory of everything else. */
static void let_go(void *data)
{
	free(data);
	tw_daemon_trim();
}

static void send_packed(const struct packing *p, const struct tw_http_request *q,
			struct tw_http_reply *r)
{
	char etag[TW_ETAG_TEXT];
	struct tw_err err = { 0 };
	struct tw_http_range range;
	char *data = NULL;
	size_t len;

	if (pack(p, &data, &len, etag, &err) < 0) {
		tw_http_reply_error(r, &err);
		return;
	}
	if (etag[0] == '\0')
		tag_of_bytes(data, len, etag);
	if (!tw_send_begin(q, r, etag, len, &range)) {
		let_go(data);
		return;
	}
	tw_http_reply_lend(r, data + range.from, (size_t)range.len, let_go, data);
	tw_send_as_zip(r, p->pipeline);
}

/* Pack one pipeline at a time: each takes its whole size in memory. */
static void send_pipeline(struct tw_service *s, const struct packing *p,
			  const struct tw_http_request *q, struct tw_http_reply *r)
{
	const char *known = tw_http_header(q, "If-None-Match");
	char etag[TW_ETAG_TEXT];

	if (known != NULL && tag_of(p, etag) && tw_http_etag_listed(known, etag)) {
		r->status = 304;
		tw_http_reply_header(r, "ETag", etag);
	} else if (atomic_flag_test_and_set(&s->packing)) {
		tw_http_reply_problem(r, 503,
				      "a pipeline is being packed for another client");
		tw_http_reply_header(r, "Retry-After", "1");
	} else {
		send_packed(p, q, r);
		atomic_flag_clear(&s->packing);
	}
}

static void find_and_send(struct tw_service *s, const char *pipeline,
			  enum foreign foreign, const struct tw_http_request *q,
			  struct tw_http_reply *r)
{
	const struct packing p = { .model_db = s->model_db,
				   .pipeline = pipeline,
				   .foreign = s->serve_foreign ? foreign : FOREIGN_NOT };
	struct tw_index *x = tw_catalog_ref(&s->catalog, r);
	struct tw_err err = { 0 };

	if (x == NULL)
		return;
	if (tw_index_pipeline_find(x, pipeline) != NULL) {
		send_pipeline(s, &p, q, r);
	} else {
		tw_fail(&err, TW_NOTFOUND, "no pipeline is called '%.64s'", pipeline);
		tw_http_reply_error(r, &err);
	}
	tw_index_unref(x);
}

void tw_get_pipeline_zip(void *app, const struct tw_http_request *q,
			 struct tw_http_reply *r)
{
	find_and_send(app, tw_http_param(q, "pipeline"), FOREIGN_AS_KEPT, q, r);
}

/* "<pipeline>.zip" */
void tw_get_pipeline_file(void *app, const struct tw_http_request *q,
			  struct tw_http_reply *r)
{
	const char *file = tw_http_param(q, "file");
	const size_t len = strlen(file);
	char name[160];

	if (len <= 4 || strcmp(file + len - 4, ".zip") != 0 || len - 4 >= sizeof(name)) {
		tw_http_reply_problem(r, 404, "only <pipeline>.zip is here");
		return;
	}
	snprintf(name, sizeof(name), "%.*s", (int)(len - 4), file);
	find_and_send(app, name, FOREIGN_IN_PLACE, q, r);
}
