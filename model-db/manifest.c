/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/manifest.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/sha256.h"
#include "lib/json/json.h"
#include "lib/zip/fileset.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool is_own(const char *name)
{
	return strcmp(name, TW_MANIFEST_NAME) == 0 ||
	       strcmp(name, TW_MANIFEST_SIGNATURE) == 0;
}

/* ---- writing ---- */

static json_t *describe_file(const struct tw_fileset_file *f)
{
	char digest[TW_SHA256_TEXT];

	tw_sha256_text(f->data, f->len, digest);
	return json_pack("{s:I,s:s}", "size", (json_int_t)f->len, "sha256", digest);
}

static json_t *describe(const struct tw_fileset *s)
{
	json_t *files = json_object();

	for (size_t i = 0; files != NULL && i < s->count; i++)
		if (!is_own(s->at[i].name) &&
		    json_object_set_new(files, s->at[i].name, describe_file(&s->at[i])) <
			    0) {
			json_decref(files);
			return NULL;
		}
	return json_pack("{s:i,s:s,s:o}", "format_version", TW_MANIFEST_VERSION,
			 "creator", "tallywatt " TW_VERSION, "files", files);
}

int tw_manifest_write(const struct tw_fileset *pipeline, struct tw_buf *out,
		      struct tw_err *err)
{
	json_t *doc = describe(pipeline);

	if (doc == NULL)
		return tw_fail(err, TW_NOMEM, TW_MANIFEST_NAME);
	tw_buf_add_json_pretty(out, doc);
	json_decref(doc);
	if (tw_buf_failed(out))
		return tw_fail(err, TW_NOMEM, TW_MANIFEST_NAME);
	return 0;
}

static void drop_own(struct tw_fileset *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++) {
		if (is_own(s->at[i].name)) {
			free(s->at[i].name);
			free(s->at[i].data);
		} else {
			s->at[kept++] = s->at[i];
		}
	}
	s->count = kept;
}

int tw_manifest_add(struct tw_fileset *pipeline, struct tw_err *err)
{
	struct tw_buf b = { 0 };
	char *text;
	size_t len;

	drop_own(pipeline);
	tw_fileset_sort(pipeline);
	if (tw_manifest_write(pipeline, &b, err) < 0) {
		tw_buf_clear(&b);
		return -1;
	}
	text = tw_buf_detach(&b, &len);
	return tw_fileset_take(pipeline, TW_MANIFEST_NAME, text, len, err);
}

/* ---- checking ---- */

static int check_file(const json_t *files, const struct tw_fileset_file *f,
		      struct tw_err *err)
{
	const json_t *entry = json_object_get(files, f->name);
	char digest[TW_SHA256_TEXT];
	const char *listed;
	long long size;

	if (entry == NULL)
		return tw_fail(err, TW_INVALID, TW_MANIFEST_NAME ": '%s' is not listed",
			       f->name);
	if (tw_json_int(entry, f->name, "size", false, 0, INT64_MAX, &size, err) < 0 ||
	    tw_json_text(entry, f->name, "sha256", false, &listed, err) < 0)
		return tw_err_wrap(err, TW_MANIFEST_NAME);
	if ((size_t)size != f->len)
		return tw_fail(err, TW_INVALID,
			       "'%s': %zu bytes, " TW_MANIFEST_NAME " lists %lld",
			       f->name, f->len, size);
	tw_sha256_text(f->data, f->len, digest);
	if (strcmp(digest, listed) != 0)
		return tw_fail(err, TW_INVALID,
			       "'%s': its SHA-256 is not that of " TW_MANIFEST_NAME,
			       f->name);
	return 0;
}

/* If each file is listed and the numbers agree, no listed file is missing. */
static int check_files(const struct tw_fileset *s, const json_t *files,
		       struct tw_err *err)
{
	size_t own = 0;
	const char *name;
	json_t *entry;

	for (size_t i = 0; i < s->count; i++) {
		if (is_own(s->at[i].name))
			own++;
		else if (check_file(files, &s->at[i], err) < 0)
			return -1;
	}
	if (json_object_size(files) == s->count - own)
		return 0;
	/* The cast is for jansson's macro; it does not change files. */
	json_object_foreach((json_t *)(uintptr_t)files, name, entry)
		if (tw_fileset_find(s, name) == NULL)
			return tw_fail(err, TW_INVALID,
				       TW_MANIFEST_NAME ": '%s' is listed but missing",
				       name);
	return tw_fail(err, TW_INVALID, TW_MANIFEST_NAME ": lists itself");
}

int tw_manifest_check(struct tw_fileset *pipeline, struct tw_err *err)
{
	const struct tw_fileset_file *f;
	const json_t *files;
	json_t *doc = NULL;
	long long version;
	int rc = -1;

	tw_fileset_sort(pipeline);
	f = tw_fileset_find(pipeline, TW_MANIFEST_NAME);
	if (f == NULL)
		return tw_fail(err, TW_NOTFOUND, "there is no " TW_MANIFEST_NAME);
	if (tw_json_parse(f->data, f->len, TW_MANIFEST_NAME, &doc, err) < 0 ||
	    tw_json_int(doc, TW_MANIFEST_NAME, "format_version", false, 0, INT32_MAX,
			&version, err) < 0)
		goto out;
	if (version != TW_MANIFEST_VERSION) {
		tw_fail(err, TW_UNSUPPORTED,
			TW_MANIFEST_NAME ".format_version: %lld, want %d", version,
			TW_MANIFEST_VERSION);
		goto out;
	}
	if (tw_json_object(doc, TW_MANIFEST_NAME, "files", false, &files, err) < 0 ||
	    check_files(pipeline, files, err) < 0)
		goto out;

	rc = 0;
out:
	json_decref(doc);
	return rc;
}
