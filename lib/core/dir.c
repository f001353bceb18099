/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"
#include "lib/core/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Deepest tree that is removed; each level holds a descriptor. */
#define TREE_DEPTH_MAX 64

static int make_one(const char *path, struct tw_err *err)
{
	struct stat st;

	if (mkdir(path, 0755) == 0 ||
	    (errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode)))
		return 0;
	return tw_fail_errno(err, errno, "cannot make directory '%s'", path);
}

int tw_dir_make(const char *path, struct tw_err *err)
{
	char *copy = strdup(path);
	int rc = -1;

	if (copy == NULL)
		return tw_fail(err, TW_NOMEM, "directory '%s'", path);
	for (char *p = copy + 1; copy[0] != '\0' && *p != '\0'; p++) {
		if (*p != '/' || p[-1] == '/')
			continue;
		*p = '\0';
		if (make_one(copy, err) < 0)
			goto out;
		*p = '/';
	}
	if (make_one(copy, err) < 0)
		goto out;
	rc = 0;
out:
	free(copy);
	return rc;
}

int tw_dir_sync(const char *path, struct tw_err *err)
{
	int fd, rc = -1;

	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		tw_fail_errno(err, errno, "cannot open '%s'", path);
		goto out;
	}
	/* Some file systems cannot sync a directory and say EINVAL: nothing to be done.
	 */
	if (fsync(fd) < 0 && errno != EINVAL) {
		tw_fail_errno(err, errno, "cannot sync '%s'", path);
		goto out;
	}
	rc = 0;
out:
	if (fd >= 0)
		close(fd);
	return rc;
}

static int remove_at(int dirfd, const char *name, int depth, struct tw_err *err);

/* Takes fd over. */
static int remove_children(int fd, const char *name, int depth, struct tw_err *err)
{
	DIR *dir = fdopendir(fd);
	struct dirent *e;
	int rc = -1;

	if (dir == NULL) {
		tw_fail_errno(err, errno, "cannot read directory '%s'", name);
		close(fd);
		return -1;
	}
	while ((errno = 0, e = readdir(dir)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (remove_at(fd, e->d_name, depth + 1, err) < 0)
			goto out;
	}
	if (errno != 0) {
		tw_fail_errno(err, errno, "cannot read directory '%s'", name);
		goto out;
	}
	rc = 0;
out:
	closedir(dir);
	return rc;
}

static int remove_at(int dirfd, const char *name, int depth, struct tw_err *err)
{
	int fd;

	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return tw_fail_errno(err, errno, "cannot remove '%s'", name);
	if (depth >= TREE_DEPTH_MAX)
		return tw_fail(err, TW_INVALID, "directory '%s' is too deep to remove",
			       name);
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return tw_fail_errno(err, errno, "cannot open '%s'", name);
	if (remove_children(fd, name, depth, err) < 0)
		return -1;
	if (unlinkat(dirfd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return tw_fail_errno(err, errno, "cannot remove '%s'", name);
	return 0;
}

int tw_tree_remove(const char *path, struct tw_err *err)
{
	return remove_at(AT_FDCWD, path, 0, err);
}

int tw_path_join(char **out, struct tw_err *err, ...)
{
	size_t len = 0, at = 0;
	const char *part;
	va_list ap;
	char *path;

	va_start(ap, err);
	while ((part = va_arg(ap, const char *)) != NULL)
		len += strlen(part) + 1;
	va_end(ap);

	path = malloc(len + 1);
	if (path == NULL)
		return tw_fail(err, TW_NOMEM, "path of %zu bytes", len);
	va_start(ap, err);
	while ((part = va_arg(ap, const char *)) != NULL) {
		size_t n = strlen(part);

		if (at > 0 && path[at - 1] != '/')
			path[at++] = '/';
		memcpy(path + at, part, n);
		at += n;
	}
	va_end(ap);
	path[at] = '\0';
	*out = path;
	return 0;
}
