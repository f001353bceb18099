/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/publish.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/manifest.h"
#include "model-db/pipeline.h"
#include "model-db/pipeline_merge.h"
#include "model-db/signature.h"
#include "profiler/node_types.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The new version while it is written; after the exchange the previous one. */
#define NEW_PREFIX ".new-"
/* The previous version, for tw_pipeline_rollback(). */
#define OLD_PREFIX ".old-"

#define MANIFEST_MAX ((size_t)64 << 20)

/* Wait for the lock. The kernel releases it with the descriptor or the process. */
static int lock_database(const char *db, int *fd_out, struct tw_err *err)
{
	char *path = NULL;
	int fd = -1, rc = -1;

	if (tw_path_join(&path, err, db, ".lock", NULL) < 0)
		goto out;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0) {
		tw_fail_errno(err, errno, "cannot open '%s'", path);
		goto out;
	}
	while (flock(fd, LOCK_EX) < 0) {
		if (errno != EINTR) {
			tw_fail_errno(err, errno, "cannot lock '%s'", path);
			goto out;
		}
	}

	*fd_out = fd;
	fd = -1;
	rc = 0;
out:
	if (fd >= 0)
		close(fd);
	free(path);
	return rc;
}

/* Remove .new-* of killed publishers: we hold the lock, so no other writes them. */
static int remove_left_overs(const char *db, struct tw_err *err)
{
	struct tw_strs names = { 0 };
	char *path = NULL;
	int rc = -1;

	if (tw_dir_list(db, &names, err) < 0)
		goto out;
	for (size_t i = 0; i < names.count; i++) {
		if (strncmp(names.at[i], NEW_PREFIX, strlen(NEW_PREFIX)) != 0)
			continue;
		free(path);
		path = NULL;
		if (tw_path_join(&path, err, db, names.at[i], NULL) < 0 ||
		    tw_tree_remove(path, err) < 0)
			goto out;
	}

	rc = 0;
out:
	free(path);
	tw_strs_clear(&names);
	return rc;
}

/* The path of a pipeline's directory with one of the prefixes above. */
static int join_hidden(char **out, const char *db, const char *prefix, const char *name,
		       struct tw_err *err)
{
	char hidden[160];

	snprintf(hidden, sizeof(hidden), "%s%s", prefix, name);
	return tw_path_join(out, err, db, hidden, NULL);
}

static bool is_missing(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 && errno == ENOENT;
}

/* Exchange two directories in one step. */
static int exchange(const char *fresh, const char *path, struct tw_err *err)
{
	if (renameat2(AT_FDCWD, fresh, AT_FDCWD, path, RENAME_EXCHANGE) == 0)
		return 0;
	if (errno == EINVAL || errno == ENOSYS)
		return tw_fail(err, TW_UNSUPPORTED,
			       "cannot replace '%s': the file system cannot exchange "
			       "two directories atomically",
			       path);
	return tw_fail_errno(err, errno, "cannot replace '%s'", path);
}

static int put_in_place(const char *fresh, const char *path, struct tw_err *err)
{
	struct stat st;

	if (lstat(path, &st) == 0) {
		if (!S_ISDIR(st.st_mode))
			return tw_fail(err, TW_INVALID, "'%s' is not a directory", path);
		return exchange(fresh, path, err);
	}
	if (errno != ENOENT)
		return tw_fail_errno(err, errno, "cannot stat '%s'", path);
	if (rename(fresh, path) < 0)
		return tw_fail_errno(err, errno, "cannot make '%s'", path);
	return 0;
}

/*
 * After an exchange, fresh holds the previous version: rename it to old in one step. If
 * old existed, fresh then holds the version before it, which the caller removes.
 */
static int keep_previous(const char *fresh, const char *old, struct tw_err *err)
{
	return is_missing(fresh) ? 0 : put_in_place(fresh, old, err);
}

/* ---- versions ---- */

/* The manifest of a directory. *text is NULL if there is none; else it is yours. */
static int read_manifest(const char *dir, char **text, size_t *len,
			 struct tw_manifest_id *id, struct tw_err *err)
{
	char *path = NULL;
	struct stat st;
	int rc = -1;

	*text = NULL;
	*id = (struct tw_manifest_id){ "", 0 };
	if (tw_path_join(&path, err, dir, TW_MANIFEST_NAME, NULL) < 0)
		goto out;
	if (lstat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR)) {
		rc = 0;
		goto out;
	}
	if (tw_file_read(path, MANIFEST_MAX, text, len, err) < 0)
		goto out;
	if (tw_manifest_read_id(*text, *len, id, err) < 0) {
		tw_err_wrap(err, "'%s'", dir);
		free(*text);
		*text = NULL;
		goto out;
	}
	rc = 0;
out:
	free(path);
	return rc;
}

/* The directories of a publishing. */
struct places {
	const char *name;
	char *path, *fresh, *old;
};

/*
 * Make the manifest of a set that has none. Its version is above the published and the
 * previous one; the same files as the published keep their version. A signed version
 * starts at the time, so that a signer without this database does not fall behind.
 */
static int make_manifest(const struct places *at, const struct tw_fileset *pipeline,
			 bool is_signed, struct tw_buf *out, struct tw_err *err)
{
	struct tw_manifest_id published, previous, next = { "", 0 };
	char *text = NULL, *old_text = NULL;
	size_t len, old_len;
	int rc = -1;

	if (read_manifest(at->path, &text, &len, &published, err) < 0 ||
	    read_manifest(at->old, &old_text, &old_len, &previous, err) < 0)
		goto out;
	snprintf(next.pipeline, sizeof(next.pipeline), "%s", at->name);
	next.version = published.version;
	if (!is_signed && next.version != 0) {
		if (tw_manifest_write(pipeline, &next, out, err) < 0)
			goto out;
		if (out->len == len && memcmp(out->data, text, len) == 0) {
			rc = 0;
			goto out;
		}
		tw_buf_clear(out);
	}
	if (next.version < previous.version)
		next.version = previous.version;
	next.version++;
	if (is_signed && next.version < (long long)time(NULL))
		next.version = (long long)time(NULL);
	if (next.version > TW_MANIFEST_ID_MAX) {
		tw_fail(err, TW_INVALID,
			TW_MANIFEST_NAME ": the published version is the largest");
		goto out;
	}
	if (tw_manifest_write(pipeline, &next, out, err) < 0)
		goto out;
	rc = 0;
out:
	free(text);
	free(old_text);
	return rc;
}

/* The set's own manifest must be of this pipeline, and not older than the published one.
 */
static int check_version(const struct tw_fileset_file *manifest, const char *name,
			 const char *path, bool allow_downgrade, struct tw_err *err)
{
	struct tw_manifest_id id, published;
	char *text = NULL;
	size_t len;
	int rc = -1;

	if (tw_manifest_read_id(manifest->data, manifest->len, &id, err) < 0)
		goto out;
	if (id.version != 0 && strcmp(id.pipeline, name) != 0) {
		tw_fail(err, TW_DENIED, TW_MANIFEST_NAME " is of pipeline '%s'",
			id.pipeline);
		goto out;
	}
	if (allow_downgrade) {
		rc = 0;
		goto out;
	}
	if (read_manifest(path, &text, &len, &published, err) < 0)
		goto out;
	if (id.version < published.version ||
	    (id.version == published.version && id.version != 0 &&
	     (len != manifest->len || memcmp(text, manifest->data, len) != 0))) {
		tw_fail(err, TW_DENIED,
			"its version %lld is not newer than the published %lld "
			"(--allow-downgrade)",
			id.version, published.version);
		goto out;
	}
	rc = 0;
out:
	free(text);
	return rc;
}

#if TW_FLEET
int tw_pipeline_check_version(const char *db, const char *name,
			      const struct tw_fileset *pipeline, bool allow_downgrade,
			      struct tw_err *err)
{
	const struct tw_fileset_file *own = tw_fileset_find(pipeline, TW_MANIFEST_NAME);
	char *path = NULL;
	int rc = -1;

	if (own == NULL)
		return 0;
	if (tw_path_join(&path, err, db, name, NULL) == 0 &&
	    check_version(own, name, path, allow_downgrade, err) == 0)
		rc = 0;
	free(path);
	return rc;
}
#endif

static int create(const char *dir, const char *name, const struct tw_buf *b,
		  struct tw_err *err)
{
	char *path = NULL;
	int rc = -1;

	if (tw_path_join(&path, err, dir, name, NULL) == 0 &&
	    tw_file_create(path, b->data, b->len, err) == 0)
		rc = 0;
	free(path);
	return rc;
}

/* Write the manifest, and its signature if there is a signer. */
static int write_manifest(const struct tw_buf *manifest, const struct tw_signer *signer,
			  const char *fresh, struct tw_err *err)
{
	struct tw_buf signature = { 0 };
	int rc = -1;

	if (create(fresh, TW_MANIFEST_NAME, manifest, err) == 0 &&
	    (signer == NULL ||
	     (tw_signer_sign(signer, manifest->data, manifest->len, &signature, err) ==
		      0 &&
	      create(fresh, TW_MANIFEST_SIGNATURE, &signature, err) == 0)) &&
	    tw_dir_sync(fresh, err) == 0)
		rc = 0;
	tw_buf_clear(&signature);
	return rc;
}

/* ---- publishing ---- */

/* Whether the new version has the manifest of the published one. */
static int is_same(const struct places *at, bool *same, struct tw_err *err)
{
	struct tw_manifest_id published, fresh;
	char *text = NULL, *fresh_text = NULL;
	size_t len, fresh_len;
	int rc = -1;

	if (read_manifest(at->path, &text, &len, &published, err) < 0 ||
	    read_manifest(at->fresh, &fresh_text, &fresh_len, &fresh, err) < 0)
		goto out;
	*same = text != NULL && fresh_text != NULL && len == fresh_len &&
		memcmp(text, fresh_text, len) == 0;
	rc = 0;
out:
	free(text);
	free(fresh_text);
	return rc;
}

/*
 * Replace the published version, and keep it as the previous one. The same version again,
 * as by a client that had no answer, leaves the previous version as it is.
 */
static int replace(const struct places *at, struct tw_err *err)
{
	bool same;

	if (is_same(at, &same, err) < 0 || put_in_place(at->fresh, at->path, err) < 0)
		return -1;
	return same ? 0 : keep_previous(at->fresh, at->old, err);
}

static int write_files(const struct places *at, const struct tw_fileset *pipeline,
		       const struct tw_publish_terms *terms, struct tw_err *err)
{
	const struct tw_fileset_file *own = tw_fileset_find(pipeline, TW_MANIFEST_NAME);
	struct tw_buf manifest = { 0 };
	int rc = -1;

	if (own != NULL) {
		if (check_version(own, at->name, at->path, terms->allow_downgrade, err) <
		    0)
			return -1;
		return tw_fileset_write_dir(pipeline, at->fresh, err);
	}
	if (make_manifest(at, pipeline, terms->signer != NULL, &manifest, err) == 0 &&
	    tw_fileset_write_dir(pipeline, at->fresh, err) == 0 &&
	    write_manifest(&manifest, terms->signer, at->fresh, err) == 0)
		rc = 0;
	tw_buf_clear(&manifest);
	return rc;
}

int tw_pipeline_publish_with(const char *db, const char *name,
			     const struct tw_fileset *pipeline,
			     const struct tw_publish_terms *terms, struct tw_err *err)
{
	struct tw_err ignored = { 0 };
	struct places at = { .name = name };
	int lock = -1, rc = -1;

	if (tw_pipeline_name_check(name, strlen(name), err) < 0)
		return -1;
	if (pipeline->count == 0)
		return tw_fail(err, TW_INVALID, "cannot publish '%s': it has no files",
			       name);
	if (join_hidden(&at.fresh, db, NEW_PREFIX, name, err) < 0 ||
	    join_hidden(&at.old, db, OLD_PREFIX, name, err) < 0 ||
	    tw_path_join(&at.path, err, db, name, NULL) < 0 || tw_dir_make(db, err) < 0)
		goto out;
	if (lock_database(db, &lock, err) < 0 || remove_left_overs(db, err) < 0)
		goto out;
	if (terms->meet != NULL && terms->meet(terms->arg, at.path, err) < 0)
		goto out;
	if (write_files(&at, pipeline, terms, err) < 0 || replace(&at, err) < 0 ||
	    tw_dir_sync(db, err) < 0)
		goto out;

	rc = 0;
out:
	/* Remove the version that failed, the one before the previous or a copy of the
	 * published one. The next publisher retries. */
	if (lock >= 0) {
		tw_tree_remove(at.fresh, &ignored);
		close(lock);
	}
	free(at.path);
	free(at.old);
	free(at.fresh);
	if (rc < 0)
		tw_err_wrap(err, "cannot publish '%s'", name);
	return rc;
}

int tw_pipeline_publish(const char *db, const char *name,
			const struct tw_fileset *pipeline, struct tw_err *err)
{
	const struct tw_publish_terms terms = { 0 };

	return tw_pipeline_publish_with(db, name, pipeline, &terms, err);
}

/* ---- rollback ---- */

static int check_previous(const char *old, const char *name, tw_pipeline_check_fn *check,
			  void *arg, struct tw_err *err)
{
	const struct tw_strs no_keys = { 0 };
	struct tw_fileset files = { 0 };
	int rc = -1;

	if (tw_fileset_read_dir(&files, old, &tw_zip_pipeline_limits, err) == 0 &&
	    tw_signature_check_pipeline(&files, name, &no_keys, false, err) == 0 &&
	    (check == NULL || check(arg, name, &files, err) == 0))
		rc = 0;
	tw_fileset_clear(&files);
	return rc;
}

int tw_pipeline_rollback(const char *db, const char *name, tw_pipeline_check_fn *check,
			 void *arg, struct tw_err *err)
{
	char *path = NULL, *old = NULL;
	int lock = -1, rc = -1;

	if (tw_name_check("pipeline name", name, strlen(name), err) < 0)
		return -1;
	if (join_hidden(&old, db, OLD_PREFIX, name, err) < 0 ||
	    tw_path_join(&path, err, db, name, NULL) < 0 ||
	    lock_database(db, &lock, err) < 0)
		goto out;
	if (is_missing(old)) {
		tw_fail(err, TW_NOTFOUND, "there is no previous version");
		goto out;
	}
	if (check_previous(old, name, check, arg, err) < 0 ||
	    put_in_place(old, path, err) < 0 || tw_dir_sync(db, err) < 0)
		goto out;

	rc = 0;
out:
	if (lock >= 0)
		close(lock);
	free(path);
	free(old);
	if (rc < 0)
		tw_err_wrap(err, "cannot roll '%s' back", name);
	return rc;
}

int tw_pipeline_known(const char *db, const char *name, struct tw_node_types *out,
		      struct tw_err *err)
{
	char *path = NULL;
	int rc = -1;

	if (tw_name_check("pipeline name", name, strlen(name), err) == 0 &&
	    tw_path_join(&path, err, db, name, "node_type_index.json", NULL) == 0 &&
	    (is_missing(path) || tw_node_types_read(path, out, err) == 0))
		rc = 0;
	free(path);
	return rc;
}

int tw_pipeline_published_owner(const char *db, const char *name, bool *exists,
				char **owner, struct tw_err *err)
{
	struct tw_fileset files = { 0 };
	char *path = NULL, *data = NULL;
	size_t len;
	int rc = -1;

	*exists = false;
	*owner = NULL;
	if (tw_name_check("pipeline name", name, strlen(name), err) < 0 ||
	    tw_path_join(&path, err, db, name, "metadata.json", NULL) < 0)
		goto out;
	*exists = !is_missing(path);
	if (!*exists || (tw_file_read(path, MANIFEST_MAX, &data, &len, err) == 0 &&
			 tw_fileset_take(&files, "metadata.json", data, len, err) == 0 &&
			 tw_pipeline_owner(&files, owner, err) == 0))
		rc = 0;
out:
	tw_fileset_clear(&files);
	free(path);
	return rc;
}

struct update {
	const char *name;
	struct tw_fileset *pipeline;
	const struct tw_signer *signer;
	tw_pipeline_check_fn *check; /* or NULL */
	void *arg;
};

/* The published files must be those of their manifest, and of the signer. */
static int check_old(const struct update *u, struct tw_fileset *old, struct tw_err *err)
{
	const struct tw_strs no_keys = { 0 };

	if (tw_signature_check_pipeline(old, u->name,
					u->signer != NULL ? &u->signer->keys : &no_keys,
					u->signer != NULL, err) < 0)
		return tw_err_wrap(err, "cannot add to the published version");
	return 0;
}

/* Merge the published version into the set. */
static int add_old(void *arg, const char *path, struct tw_err *err)
{
	const struct update *u = arg;
	struct tw_fileset old = { 0 };
	int rc = -1;

	if (is_missing(path))
		return 0;
	if (tw_fileset_read_dir(&old, path, &tw_zip_pipeline_limits, err) == 0 &&
	    check_old(u, &old, err) == 0 &&
	    (u->check == NULL || u->check(u->arg, u->name, &old, err) == 0) &&
	    tw_pipeline_merge(u->pipeline, &old, err) == 0)
		rc = 0;
	tw_fileset_clear(&old);
	return rc;
}

int tw_pipeline_update_with(const char *db, const char *name, struct tw_fileset *pipeline,
			    const struct tw_signer *signer, tw_pipeline_check_fn *check,
			    void *arg, struct tw_err *err)
{
	struct update u = { name, pipeline, signer, check, arg };
	const struct tw_publish_terms terms = { .meet = add_old,
						.arg = &u,
						.signer = signer };

	return tw_pipeline_publish_with(db, name, pipeline, &terms, err);
}

int tw_pipeline_update(const char *db, const char *name, struct tw_fileset *pipeline,
		       const struct tw_signer *signer, struct tw_err *err)
{
	return tw_pipeline_update_with(db, name, pipeline, signer, NULL, NULL, err);
}
