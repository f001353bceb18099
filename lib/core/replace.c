/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/file.h"

#include "lib/core/err.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_TEXT 4096

/* The directory that a path is in: "." for a bare name. */
static int sync_parent(const char *path, struct tw_err *err)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_TEXT];
	size_t len;

	if (slash == NULL)
		return tw_dir_sync(".", err);
	len = slash == path ? 1 : (size_t)(slash - path);
	if (len >= sizeof(dir))
		return tw_fail(err, TW_INVALID, "path of %zu bytes", strlen(path));
	memcpy(dir, path, len);
	dir[len] = '\0';
	return tw_dir_sync(dir, err);
}

/* To rename over a device or a link would take it away from everybody. */
static int check_replaceable(const char *path, struct tw_err *err)
{
	struct stat st;

	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return tw_fail(err, TW_INVALID,
			       "cannot replace '%s': it is not a regular file", path);
	return 0;
}

/* The process id is not enough: in a container it is 1 each time. */
static int name_neighbour(const char *path, char **out, struct tw_err *err)
{
	uint64_t chance;
	char *name = NULL;

	if (strlen(path) >= PATH_TEXT)
		return tw_fail(err, TW_INVALID, "path of %zu bytes", strlen(path));
	if (getrandom(&chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
		return tw_fail_errno(err, errno, "cannot name a file beside '%s'", path);
	if (asprintf(&name, "%s.%ld-%016" PRIx64 ".tmp", path, (long)getpid(), chance) <
	    0)
		return tw_fail(err, TW_NOMEM, "'%s'", path);
	*out = name;
	return 0;
}

int tw_replace_open(struct tw_replace *r, const char *path, struct tw_err *err)
{
	struct tw_replace opened = { .fd = -1 };
	int rc = -1;

	if (check_replaceable(path, err) < 0 ||
	    name_neighbour(path, &opened.tmp, err) < 0)
		goto out;
	opened.path = strdup(path);
	if (opened.path == NULL) {
		tw_fail(err, TW_NOMEM, "'%s'", path);
		goto out;
	}
	opened.fd = open(opened.tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			 0644);
	if (opened.fd < 0) {
		tw_fail_errno(err, errno, "cannot create '%s'", opened.tmp);
		goto out;
	}

	*r = opened;
	opened = (struct tw_replace){ .fd = -1 };
	rc = 0;
out:
	free(opened.path);
	free(opened.tmp);
	return rc;
}

int tw_replace_write(struct tw_replace *r, const void *data, size_t len,
		     struct tw_err *err)
{
	return tw_fd_write(r->fd, data, len, r->tmp, err);
}

int tw_replace_commit(struct tw_replace *r, struct tw_err *err)
{
	int fd = r->fd, rc = -1;

	r->fd = -1;
	if (fsync(fd) < 0) {
		tw_fail_errno(err, errno, "cannot write '%s'", r->tmp);
		close(fd);
		goto out;
	}
	if (close(fd) < 0) {
		tw_fail_errno(err, errno, "cannot close '%s'", r->tmp);
		goto out;
	}
	if (rename(r->tmp, r->path) < 0) {
		tw_fail_errno(err, errno, "cannot replace '%s'", r->path);
		goto out;
	}
	r->tmp[0] = '\0'; /* it has its name */
	if (sync_parent(r->path, err) < 0)
		goto out;
	rc = 0;
out:
	tw_replace_abort(r);
	return rc;
}

void tw_replace_abort(struct tw_replace *r)
{
	if (r->tmp == NULL)
		return;
	if (r->fd >= 0)
		close(r->fd);
	if (r->tmp[0] != '\0')
		unlink(r->tmp);
	free(r->path);
	free(r->tmp);
	*r = (struct tw_replace){ 0 };
}

int tw_file_replace(const char *path, const void *data, size_t len, struct tw_err *err)
{
	struct tw_replace r = { 0 };

	if (tw_replace_open(&r, path, err) < 0)
		return -1;
	if (tw_replace_write(&r, data, len, err) < 0) {
		tw_replace_abort(&r);
		return -1;
	}
	return tw_replace_commit(&r, err);
}
