/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/manifest.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/sha256.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "lib/zip/fileset.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether the file is the manifest or its signature, which no manifest lists. */
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

static json_t *describe(const struct tw_fileset *s, const struct tw_manifest_id *id)
{
	json_t *files = json_object(), *doc;

	for (size_t i = 0; files != NULL && i < s->count; i++)
		if (!is_own(s->at[i].name) &&
		    json_object_set_new(files, s->at[i].name, describe_file(&s->at[i])) <
			    0) {
			json_decref(files);
			return NULL;
		}
	doc = json_pack("{s:i,s:s}", "format_version", TW_MANIFEST_VERSION, "creator",
			"tallywatt " TW_VERSION);
	if (doc != NULL &&
	    ((id->pipeline[0] != '\0' &&
	      json_object_set_new(doc, "pipeline", json_string(id->pipeline)) < 0) ||
	     (id->version != 0 &&
	      json_object_set_new(doc, "version", json_integer(id->version)) < 0) ||
	     json_object_set(doc, "files", files) < 0)) {
		json_decref(doc);
		doc = NULL;
	}
	json_decref(files);
	return doc;
}

int tw_manifest_write(const struct tw_fileset *pipeline, const struct tw_manifest_id *id,
		      struct tw_buf *out, struct tw_err *err)
{
	json_t *doc = describe(pipeline, id);

	if (doc == NULL)
		return tw_fail(err, TW_NOMEM, TW_MANIFEST_NAME);
	tw_buf_add_json_pretty(out, doc);
	json_decref(doc);
	if (tw_buf_failed(out))
		return tw_fail(err, TW_NOMEM, TW_MANIFEST_NAME);
	return 0;
}

void tw_manifest_drop(struct tw_fileset *s)
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

int tw_manifest_add(struct tw_fileset *pipeline, const struct tw_manifest_id *id,
		    struct tw_err *err)
{
	struct tw_buf b = { 0 };

	tw_manifest_drop(pipeline);
	tw_fileset_sort(pipeline);
	if (tw_manifest_write(pipeline, id, &b, err) < 0) {
		tw_buf_clear(&b);
		return -1;
	}
	return tw_fileset_take_buf(pipeline, TW_MANIFEST_NAME, &b, err);
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

static int read_id(const json_t *doc, struct tw_manifest_id *out, struct tw_err *err)
{
	struct tw_manifest_id id = { "", 0 };
	const char *name = NULL;

	if (tw_json_text(doc, TW_MANIFEST_NAME, "pipeline", true, &name, err) < 0 ||
	    tw_json_int(doc, TW_MANIFEST_NAME, "version", true, 1, TW_MANIFEST_ID_MAX,
			&id.version, err) < 0)
		return -1;
	if ((name == NULL) != (id.version == 0))
		return tw_fail(err, TW_INVALID,
			       TW_MANIFEST_NAME
			       ": want both pipeline and version, or neither");
	if (name != NULL) {
		if (tw_name_check(TW_MANIFEST_NAME ".pipeline", name, strlen(name), err) <
		    0)
			return -1;
		snprintf(id.pipeline, sizeof(id.pipeline), "%s", name);
	}
	*out = id;
	return 0;
}

/* Parse a manifest and check its version. *doc is yours. */
static int read_manifest(const char *text, size_t len, json_t **out, struct tw_err *err)
{
	json_t *doc = NULL;
	long long version;
	int rc = -1;

	if (tw_json_parse(text, len, TW_MANIFEST_NAME, &doc, err) < 0 ||
	    tw_json_int(doc, TW_MANIFEST_NAME, "format_version", false, 0, INT32_MAX,
			&version, err) < 0)
		goto out;
	if (version != TW_MANIFEST_VERSION) {
		tw_fail(err, TW_UNSUPPORTED,
			TW_MANIFEST_NAME ".format_version: %lld, want %d", version,
			TW_MANIFEST_VERSION);
		goto out;
	}

	*out = doc;
	doc = NULL;
	rc = 0;
out:
	json_decref(doc);
	return rc;
}

int tw_manifest_read_id(const char *text, size_t len, struct tw_manifest_id *id,
			struct tw_err *err)
{
	json_t *doc = NULL;
	int rc = -1;

	if (read_manifest(text, len, &doc, err) == 0 && read_id(doc, id, err) == 0)
		rc = 0;
	json_decref(doc);
	return rc;
}

int tw_manifest_check(struct tw_fileset *pipeline, struct tw_manifest_id *id,
		      struct tw_err *err)
{
	const struct tw_fileset_file *f;
	struct tw_manifest_id found;
	const json_t *files;
	json_t *doc = NULL;
	int rc = -1;

	tw_fileset_sort(pipeline);
	f = tw_fileset_find(pipeline, TW_MANIFEST_NAME);
	if (f == NULL)
		return tw_fail(err, TW_NOTFOUND, "there is no " TW_MANIFEST_NAME);
	if (read_manifest(f->data, f->len, &doc, err) < 0 ||
	    read_id(doc, &found, err) < 0 ||
	    tw_json_object(doc, TW_MANIFEST_NAME, "files", false, &files, err) < 0 ||
	    check_files(pipeline, files, err) < 0)
		goto out;

	if (id != NULL)
		*id = found;
	rc = 0;
out:
	json_decref(doc);
	return rc;
}

int tw_manifest_rename(struct tw_fileset *pipeline, const char *name, struct tw_err *err)
{
	struct tw_manifest_id id;

	if (tw_fileset_find(pipeline, TW_MANIFEST_NAME) == NULL ||
	    tw_fileset_find(pipeline, TW_MANIFEST_SIGNATURE) != NULL)
		return 0;
	if (tw_manifest_check(pipeline, &id, err) < 0)
		return -1;
	if (id.version == 0 || strcmp(id.pipeline, name) == 0)
		return 0;
	snprintf(id.pipeline, sizeof(id.pipeline), "%s", name);
	return tw_manifest_add(pipeline, &id, err);
}

/* ---- the listing ---- */

#define MANIFEST_MAX ((size_t)64 << 20)

/* Keep the list of a manifest. */
static int take_list(struct tw_listing *l, const char *text, size_t len, const char *name,
		     struct tw_err *err)
{
	struct tw_manifest_id id;
	json_t *doc = NULL;
	const json_t *files;
	int rc = -1;

	if (read_manifest(text, len, &doc, err) < 0 || read_id(doc, &id, err) < 0 ||
	    tw_json_object(doc, TW_MANIFEST_NAME, "files", false, &files, err) < 0)
		goto out;
	if (id.version != 0 && strcmp(id.pipeline, name) != 0) {
		tw_fail(err, TW_DENIED, TW_MANIFEST_NAME " is of pipeline '%s'",
			id.pipeline);
		goto out;
	}
	l->files = json_incref(json_object_get(doc, "files"));
	rc = 0;
out:
	json_decref(doc);
	return rc;
}

/* Files about a pipeline decide which of its models a machine gets. */
static int check_common(const struct tw_listing *l, const char *path, struct tw_err *err)
{
	static const char *const names[] = { "metadata.json", "node_type_index.json" };
	char *file = NULL;
	int rc = -1;

	for (size_t i = 0; i < 2; i++) {
		free(file);
		file = NULL;
		if (tw_path_join(&file, err, path, names[i], NULL) < 0)
			goto out;
		if (access(file, F_OK) == 0 && tw_listing_check(l, file, err) < 0) {
			tw_err_wrap(err, "%s", names[i]);
			goto out;
		}
	}
	rc = 0;
out:
	free(file);
	return rc;
}

int tw_listing_read(struct tw_listing *l, const char *path, const char *name,
		    struct tw_err *err)
{
	char *manifest = NULL, *text = NULL;
	struct stat st;
	size_t len;
	int rc = -1;

	tw_listing_release(l);
	l->root = strlen(path) + 1;
	if (tw_path_join(&manifest, err, path, TW_MANIFEST_NAME, NULL) < 0)
		goto out;
	if (lstat(manifest, &st) < 0 && errno == ENOENT) {
		rc = 0;
		goto out;
	}
	if (tw_file_read(manifest, MANIFEST_MAX, &text, &len, err) < 0 ||
	    take_list(l, text, len, name, err) < 0 || check_common(l, path, err) < 0)
		goto out;
	rc = 0;
out:
	free(text);
	free(manifest);
	return rc;
}

int tw_listing_check(const struct tw_listing *l, const char *path, struct tw_err *err)
{
	if (l->files == NULL || json_object_get(l->files, path + l->root) != NULL)
		return 0;
	return tw_fail(err, TW_INVALID, TW_MANIFEST_NAME " does not list it");
}

void tw_listing_release(struct tw_listing *l)
{
	json_decref(l->files);
	*l = (struct tw_listing){ 0 };
}
