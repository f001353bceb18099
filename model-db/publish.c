/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/publish.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "lib/json/json.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/manifest.h"
#include "model-db/pipeline_merge.h"
#include "profiler/node_types.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The new version while it is written; after the exchange the previous one. */
#define NEW_PREFIX ".new-"
/* The previous version, for tw_pipeline_rollback(). */
#define OLD_PREFIX ".old-"

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

static int list_left_overs(const char *db, struct tw_strs *out, struct tw_err *err)
{
	DIR *d = opendir(db);
	const struct dirent *e;
	int rc = -1;

	if (d == NULL)
		return tw_fail_errno(err, errno, "cannot read '%s'", db);
	while ((errno = 0, e = readdir(d)) != NULL)
		if (strncmp(e->d_name, NEW_PREFIX, strlen(NEW_PREFIX)) == 0 &&
		    tw_strs_adds(out, e->d_name, err) < 0)
			goto out;
	if (errno != 0) {
		tw_fail_errno(err, errno, "cannot read '%s'", db);
		goto out;
	}

	rc = 0;
out:
	closedir(d);
	return rc;
}

/* Remove .new-* of killed publishers: we hold the lock, so no other writes them. */
static int remove_left_overs(const char *db, struct tw_err *err)
{
	struct tw_strs names = { 0 };
	char *path = NULL;
	int rc = -1;

	if (list_left_overs(db, &names, err) < 0)
		goto out;
	for (size_t i = 0; i < names.count; i++) {
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
	struct stat st;

	if (lstat(fresh, &st) < 0)
		return errno == ENOENT
			       ? 0
			       : tw_fail_errno(err, errno, "cannot stat '%s'", fresh);
	return put_in_place(fresh, old, err);
}

/* Write a manifest, unless the set has one: that was checked when it was received. */
static int write_manifest(const struct tw_fileset *pipeline, const char *fresh,
			  struct tw_err *err)
{
	struct tw_buf b = { 0 };
	char *path = NULL;
	int rc = -1;

	if (tw_fileset_find(pipeline, TW_MANIFEST_NAME) != NULL)
		return 0;
	if (tw_path_join(&path, err, fresh, TW_MANIFEST_NAME, NULL) < 0 ||
	    tw_manifest_write(pipeline, &b, err) < 0 ||
	    tw_file_create(path, b.data, b.len, err) < 0 || tw_dir_sync(fresh, err) < 0)
		goto out;
	rc = 0;
out:
	free(path);
	tw_buf_clear(&b);
	return rc;
}

int tw_pipeline_publish_with(const char *db, const char *name,
			     const struct tw_fileset *pipeline, tw_pipeline_meet_fn *meet,
			     void *arg, struct tw_err *err)
{
	struct tw_err ignored = { 0 };
	char fresh_name[160], old_name[160], *fresh = NULL, *path = NULL, *old = NULL;
	int lock = -1, rc = -1;

	if (tw_name_check("pipeline name", name, strlen(name), err) < 0)
		return -1;
	if (pipeline->count == 0)
		return tw_fail(err, TW_INVALID, "cannot publish '%s': it has no files",
			       name);
	snprintf(fresh_name, sizeof(fresh_name), NEW_PREFIX "%s", name);
	snprintf(old_name, sizeof(old_name), OLD_PREFIX "%s", name);
	if (tw_path_join(&fresh, err, db, fresh_name, NULL) < 0 ||
	    tw_path_join(&old, err, db, old_name, NULL) < 0 ||
	    tw_path_join(&path, err, db, name, NULL) < 0 || tw_dir_make(db, err) < 0)
		goto out;
	if (lock_database(db, &lock, err) < 0 || remove_left_overs(db, err) < 0)
		goto out;
	if (meet != NULL && meet(arg, path, err) < 0)
		goto out;
	if (tw_fileset_write_dir(pipeline, fresh, err) < 0 ||
	    write_manifest(pipeline, fresh, err) < 0 ||
	    put_in_place(fresh, path, err) < 0 || keep_previous(fresh, old, err) < 0 ||
	    tw_dir_sync(db, err) < 0)
		goto out;

	rc = 0;
out:
	/* Remove the version that failed or the one before the previous. The next
	 * publisher retries. */
	if (lock >= 0) {
		tw_tree_remove(fresh, &ignored);
		close(lock);
	}
	free(path);
	free(old);
	free(fresh);
	if (rc < 0)
		tw_err_wrap(err, "cannot publish '%s'", name);
	return rc;
}

int tw_pipeline_publish(const char *db, const char *name,
			const struct tw_fileset *pipeline, struct tw_err *err)
{
	return tw_pipeline_publish_with(db, name, pipeline, NULL, NULL, err);
}

int tw_pipeline_rollback(const char *db, const char *name, struct tw_err *err)
{
	char old_name[160], *path = NULL, *old = NULL;
	struct stat st;
	int lock = -1, rc = -1;

	if (tw_name_check("pipeline name", name, strlen(name), err) < 0)
		return -1;
	snprintf(old_name, sizeof(old_name), OLD_PREFIX "%s", name);
	if (tw_path_join(&old, err, db, old_name, NULL) < 0 ||
	    tw_path_join(&path, err, db, name, NULL) < 0 ||
	    lock_database(db, &lock, err) < 0)
		goto out;
	if (lstat(old, &st) < 0 && errno == ENOENT) {
		tw_fail(err, TW_NOTFOUND, "there is no previous version");
		goto out;
	}
	if (put_in_place(old, path, err) < 0 || tw_dir_sync(db, err) < 0)
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
	struct stat st;
	int rc = -1;

	if (tw_name_check("pipeline name", name, strlen(name), err) < 0 ||
	    tw_path_join(&path, err, db, name, "node_type_index.json", NULL) < 0)
		goto out;
	if ((lstat(path, &st) == 0 || errno != ENOENT) &&
	    tw_node_types_read(path, out, err) < 0)
		goto out;

	rc = 0;
out:
	free(path);
	return rc;
}

/* Merge the published version into the set. */
static int add_old(void *pipeline, const char *path, struct tw_err *err)
{
	struct tw_fileset old = { 0 };
	struct stat st;
	int rc = -1;

	if (lstat(path, &st) < 0 && errno == ENOENT)
		return 0;
	if (tw_fileset_read_dir(&old, path, &tw_zip_pipeline_limits, err) < 0 ||
	    tw_pipeline_merge(pipeline, &old, err) < 0)
		goto out;

	rc = 0;
out:
	tw_fileset_clear(&old);
	return rc;
}

int tw_pipeline_update(const char *db, const char *name, struct tw_fileset *pipeline,
		       struct tw_err *err)
{
	return tw_pipeline_publish_with(db, name, pipeline, add_old, pipeline, err);
}
