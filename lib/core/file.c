/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/file.h"

#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_MAX_BYTES 128

static int read_all(int fd, char *data, size_t want, size_t *len)
{
	size_t have = 0;

	while (have < want) {
		ssize_t n = read(fd, data + have, want - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	*len = have;
	return 0;
}

int tw_fd_write(int fd, const void *data, size_t len, const char *path,
		struct tw_err *err)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return tw_fail_errno(err, errno, "cannot write '%s'", path);
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int tw_file_read_at(int dir, const char *path, char *buf, size_t size, size_t *len,
		    struct tw_err *err)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOCTTY), rc = -1;
	size_t have;

	if (fd < 0)
		return tw_fail_errno(err, errno, "cannot open '%s'", path);
	if (read_all(fd, buf, size, &have) < 0) {
		tw_fail_errno(err, errno, "cannot read '%s'", path);
		goto out;
	}
	if (have == size) {
		tw_fail(err, TW_INVALID, "'%s' has more than %zu bytes", path, size - 1);
		goto out;
	}
	buf[have] = '\0';
	*len = have;

	rc = 0;
out:
	close(fd);
	return rc;
}

/*
 * Read until the end, since files of the kernel are not as long as their status tells.
 * told: that length.
 */
static int read_growing(int fd, const char *path, uintmax_t told, size_t max, char **data,
			size_t *len, struct tw_err *err)
{
	size_t size = 0, have = 0, more;
	char *buf = NULL;
	int rc = -1;

	do {
		char *grown;

		size = size == 0 ? 4096 : 2 * size;
		if (size > max)
			size = max + 1;
		grown = realloc(buf, size + 1);
		if (grown == NULL) {
			tw_fail(err, TW_NOMEM, "'%s'", path);
			goto out;
		}
		buf = grown;
		if (read_all(fd, buf + have, size - have, &more) < 0) {
			tw_fail_errno(err, errno, "cannot read '%s'", path);
			goto out;
		}
		have += more;
	} while (have == size && have <= max);
	if (have > max && told > max) {
		tw_fail(err, TW_INVALID, "'%s' has %ju bytes, limit is %zu", path, told,
			max);
		goto out;
	}
	if (have > max) {
		tw_fail(err, TW_INVALID, "'%s' has more bytes than its limit, %zu", path,
			max);
		goto out;
	}

	*data = buf;
	*len = have;
	buf = NULL;
	rc = 0;
out:
	free(buf);
	return rc;
}

/* Read the whole open file, and close it. fd < 0: it could not be opened (errno). */
static int read_whole(int fd, const char *path, size_t max, char **data, size_t *len,
		      struct tw_err *err)
{
	char *buf = NULL;
	struct stat st;
	size_t have;
	int rc = -1;

	if (fd < 0 || fstat(fd, &st) < 0) {
		tw_fail_errno(err, errno, "cannot open '%s'", path);
		goto out;
	}
	if (!S_ISREG(st.st_mode)) {
		tw_fail(err, TW_INVALID, "'%s' is not a regular file", path);
		goto out;
	}
	/* Lists of CPUs in sysfs have few bytes and a size of 28672 (since Linux 6.0). */
	if (st.st_size == 0 || (uintmax_t)st.st_size > max) {
		if (read_growing(fd, path, (uintmax_t)st.st_size, max, &buf, &have, err) <
		    0)
			goto out;
	} else {
		buf = malloc((size_t)st.st_size + 1);
		if (buf == NULL) {
			tw_fail(err, TW_NOMEM, "'%s'", path);
			goto out;
		}
		if (read_all(fd, buf, (size_t)st.st_size, &have) < 0) {
			tw_fail_errno(err, errno, "cannot read '%s'", path);
			goto out;
		}
	}
	buf[have] = '\0';

	*data = buf;
	*len = have;
	buf = NULL;
	rc = 0;
out:
	free(buf);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* O_NONBLOCK: opening a FIFO without a writer must not block. */
#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK)

int tw_file_read(const char *path, size_t max, char **data, size_t *len,
		 struct tw_err *err)
{
	return read_whole(open(path, READ_FLAGS), path, max, data, len, err);
}

int tw_file_read_in(int dir, const char *name, const char *path, size_t max, char **data,
		    size_t *len, struct tw_err *err)
{
	return read_whole(openat(dir, name, READ_FLAGS | O_NOFOLLOW), path, max, data,
			  len, err);
}

/* Linux 6.3. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#define MFD_EXEC 0x0010U
#endif

int tw_file_in_memory(const char *name, bool executable)
{
	const int fd = memfd_create(
		name, MFD_CLOEXEC | (executable ? MFD_EXEC : MFD_NOEXEC_SEAL));

	/* Older kernels do not know the flags. */
	return fd < 0 && errno == EINVAL ? memfd_create(name, MFD_CLOEXEC) : fd;
}

int tw_file_create(const char *path, const void *data, size_t len, struct tw_err *err)
{
	bool made = false;
	int fd, rc = -1;

	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0) {
		tw_fail_errno(err, errno, "cannot create '%s'", path);
		goto out;
	}
	made = true;
	if (tw_fd_write(fd, data, len, path, err) < 0)
		goto out;
	if (fsync(fd) < 0) {
		tw_fail_errno(err, errno, "cannot write '%s'", path);
		goto out;
	}
	rc = 0;
out:
	if (fd >= 0 && close(fd) < 0 && rc == 0) {
		tw_fail_errno(err, errno, "cannot close '%s'", path);
		rc = -1;
	}
	if (made && rc < 0)
		unlink(path);
	return rc;
}

int tw_name_check(const char *what, const char *name, size_t len, struct tw_err *err)
{
	char shown[4 * 32 + 4];
	size_t used = 0;
	bool plain = len > 0 && len <= NAME_MAX_BYTES && name[0] != '.' && name[0] != '-';

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];
		bool alnum = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
			     (c >= 'a' && c <= 'z');

		plain = plain && (alnum || (c != '\0' && strchr("-_.+:@", c) != NULL));
	}
	if (plain)
		return 0;

	/* The name is untrusted: truncate it and escape control bytes. */
	for (size_t i = 0; i < len && i < 32; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c >= 0x20 && c < 0x7f && c != '\'' && c != '\\')
			shown[used++] = (char)c;
		else
			used += (size_t)snprintf(shown + used, 5, "\\x%02x", c);
	}
	snprintf(shown + used, sizeof(shown) - used, "%s", len > 32 ? "..." : "");
	return tw_fail(err, TW_INVALID,
		       "%s '%s': expected 1 to %d letters, digits, '-', '_', '+', ':', "
		       "'@' or '.', not starting with '.' or '-'",
		       what, shown, NAME_MAX_BYTES);
}

#define PATH_TEXT 4096

/* fsync the directory of a path; "." for a bare name. */
static int sync_parent(const char *path, struct tw_err *err)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_TEXT];
	size_t len;

	if (slash == NULL)
		return tw_dir_sync(".", err);
	len = slash == path ? 1 : (size_t)(slash - path);
	if (len >= sizeof(dir))
		return tw_fail(err, TW_INVALID, "path of %zu bytes is too long",
			       strlen(path));
	memcpy(dir, path, len);
	dir[len] = '\0';
	return tw_dir_sync(dir, err);
}

/* Renaming over a device or a link would destroy it. */
static int check_replaceable(const char *path, struct tw_err *err)
{
	struct stat st;

	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return tw_fail(err, TW_INVALID,
			       "cannot replace '%s': it is not a regular file", path);
	return 0;
}

/* Random bytes too: in a container the process id is always 1. */
static int name_neighbour(const char *path, char **out, struct tw_err *err)
{
	uint64_t chance;
	char *name = NULL;

	if (strlen(path) >= PATH_TEXT)
		return tw_fail(err, TW_INVALID, "path of %zu bytes is too long",
			       strlen(path));
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
	r->tmp[0] = '\0'; /* renamed: nothing to unlink */
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

/* Deepest tree to remove. Each level keeps a descriptor open. */
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
	/* EINVAL: the file system cannot sync a directory. */
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

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

int tw_dir_list(const char *path, struct tw_strs *out, struct tw_err *err)
{
	DIR *d = opendir(path);
	const struct dirent *e;
	int rc = -1;

	if (d == NULL)
		return tw_fail_errno(err, errno, "cannot read '%s'", path);
	while ((errno = 0, e = readdir(d)) != NULL)
		if (!is_dots(e->d_name) && tw_strs_adds(out, e->d_name, err) < 0)
			goto out;
	if (errno != 0) {
		tw_fail_errno(err, errno, "cannot read '%s'", path);
		goto out;
	}
	tw_strs_sort(out);
	rc = 0;
out:
	closedir(d);
	return rc;
}

static int remove_at(int dirfd, const char *name, int depth, struct tw_err *err);

/* Closes fd. */
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
		if (!is_dots(e->d_name) && remove_at(fd, e->d_name, depth + 1, err) < 0)
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
