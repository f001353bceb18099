/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/zip/fileset.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool tw_fileset_ignores(const char *name)
{
	while (*name != '\0') {
		const size_t len = strcspn(name, "/");

		if (strncmp(name, "._", 2) == 0 ||
		    (len == 8 && memcmp(name, "__MACOSX", len) == 0) ||
		    (len == 9 && memcmp(name, ".DS_Store", len) == 0))
			return true;
		name += len;
		name += *name == '/';
	}
	return false;
}

/* Check each component of the path. */
static int check_name(const char *name, struct tw_err *err)
{
	const char *part = name;

	for (;;) {
		size_t len = strcspn(part, "/");

		if (tw_name_check("file name", part, len, err) < 0)
			return -1;
		if (part[len] == '\0')
			return 0;
		part += len + 1;
	}
}

static int take(struct tw_fileset *s, const char *name, char *data, size_t len,
		bool repeated, struct tw_err *err)
{
	char *copy = NULL;

	if (check_name(name, err) < 0)
		goto fail;
	if (repeated) {
		tw_fail(err, TW_INVALID, "file '%s' is given twice", name);
		goto fail;
	}
	if (tw_text_copy(name, strlen(name), &copy, err) < 0) {
		tw_err_wrap(err, "file '%s'", name);
		goto fail;
	}
	if (!tw_grow(&s->at, &s->size, s->count, sizeof(*s->at))) {
		tw_fail(err, TW_NOMEM, "set of %zu files", s->count);
		goto fail;
	}
	s->at[s->count++] =
		(struct tw_fileset_file){ .name = copy, .data = data, .len = len };
	return 0;

fail:
	free(copy);
	free(data);
	return -1;
}

int tw_fileset_take(struct tw_fileset *s, const char *name, char *data, size_t len,
		    struct tw_err *err)
{
	return take(s, name, data, len, tw_fileset_find(s, name) != NULL, err);
}

int tw_fileset_take_next(struct tw_fileset *s, const char *name, char *data, size_t len,
			 struct tw_err *err)
{
	const bool next = s->count == 0 || strcmp(s->at[s->count - 1].name, name) < 0;

	return take(s, name, data, len, !next, err);
}

int tw_fileset_take_buf(struct tw_fileset *s, const char *name, struct tw_buf *text,
			struct tw_err *err)
{
	size_t len;
	char *data = tw_buf_detach(text, &len);

	if (data == NULL)
		return tw_fail(err, TW_NOMEM, "file '%s'", name);
	return tw_fileset_take(s, name, data, len, err);
}

int tw_fileset_add(struct tw_fileset *s, const char *name, const void *data, size_t len,
		   struct tw_err *err)
{
	char *copy = malloc(len + 1);

	if (copy == NULL)
		return tw_fail(err, TW_NOMEM, "file '%s' of %zu bytes", name, len);
	if (len > 0)
		memcpy(copy, data, len);
	copy[len] = '\0';
	return tw_fileset_take(s, name, copy, len, err);
}

const struct tw_fileset_file *tw_fileset_find(const struct tw_fileset *s,
					      const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->at[i].name, name) == 0)
			return &s->at[i];
	return NULL;
}

void tw_fileset_sort(struct tw_fileset *s)
{
	if (s->count > 1)
		qsort(s->at, s->count, sizeof(s->at[0]), tw_compare_texts);
}

int tw_fileset_merge(struct tw_fileset *to, struct tw_fileset *from, struct tw_err *err)
{
	const size_t count = to->count + from->count;
	struct tw_fileset_file *all;
	size_t i = 0, k = 0;

	tw_fileset_sort(to);
	tw_fileset_sort(from);
	if (TW_NEW(all, count + 1, err) < 0)
		return -1;
	while (i + k < count) {
		int d = i == to->count     ? 1
			: k == from->count ? -1
					   : strcmp(to->at[i].name, from->at[k].name);

		if (d == 0) {
			free(all);
			return tw_fail(err, TW_INVALID, "file '%s' is in both sets",
				       to->at[i].name);
		}
		if (d < 0) {
			all[i + k] = to->at[i];
			i++;
		} else {
			all[i + k] = from->at[k];
			k++;
		}
	}
	free(to->at);
	*to = (struct tw_fileset){ .at = all, .count = count, .size = count + 1 };
	free(from->at);
	*from = (struct tw_fileset){ 0 };
	return 0;
}

void tw_fileset_clear(struct tw_fileset *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->at[i].name);
		free(s->at[i].data);
	}
	free(s->at);
	*s = (struct tw_fileset){ 0 };
}

#define DEPTH_MAX 16
#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define READS_MAX 10
#define PATH_TEXT 4096

struct reading {
	struct tw_fileset *set;
	const struct tw_fileset_limits *limits;
	size_t total_bytes;
};

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Largest size of the next file; a limit of 0 means no limit. */
static size_t bytes_left(const struct reading *r)
{
	size_t max = SIZE_MAX - 1;

	if (r->limits->file_bytes != 0)
		max = least(max, r->limits->file_bytes);
	if (r->limits->total_bytes != 0)
		max = least(max, r->limits->total_bytes - r->total_bytes);
	return max;
}

/* A directory that is read: its descriptor, its path for errors, its name in the set. */
struct level {
	int fd;
	const char *path, *prefix;
	int depth;
};

static int read_file(struct reading *r, int dir, const char *entry, const char *path,
		     const char *name, struct tw_err *err)
{
	char *data;
	size_t len;

	if (r->limits->files != 0 && r->set->count >= r->limits->files)
		return tw_fail(err, TW_INVALID, "more than %zu files", r->limits->files);
	if (tw_file_read_in(dir, entry, path, bytes_left(r), &data, &len, err) < 0)
		return -1;
	r->total_bytes += len;
	return tw_fileset_take(r->set, name, data, len, err);
}

static int read_level(struct reading *r, const struct level *l, struct tw_err *err);

static int read_directory(struct reading *r, const struct level *above, const char *entry,
			  const char *path, const char *prefix, struct tw_err *err)
{
	const struct level l = { openat(above->fd, entry, DIRECTORY_FLAGS | O_NOFOLLOW),
				 path, prefix, above->depth + 1 };

	if (l.fd < 0)
		return tw_fail_errno(err, errno, "cannot open '%s'", path);
	return read_level(r, &l, err);
}

static int read_entry(struct reading *r, const struct level *l, const char *entry,
		      struct tw_err *err)
{
	char path[PATH_TEXT], name[PATH_TEXT];
	struct stat st;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", l->path, entry) >=
		    sizeof(path) ||
	    (size_t)snprintf(name, sizeof(name), "%s%s", l->prefix, entry) >=
		    sizeof(name))
		return tw_fail(err, TW_INVALID, "path below '%.64s' is too long",
			       l->path);
	if (fstatat(l->fd, entry, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return tw_fail_errno(err, errno, "cannot read '%s'", path);
	if (S_ISREG(st.st_mode))
		return read_file(r, l->fd, entry, path, name, err);
	if (!S_ISDIR(st.st_mode))
		return tw_fail(err, TW_INVALID, "'%s' is a link or special file", path);
	if (l->depth >= DEPTH_MAX)
		return tw_fail(err, TW_INVALID, "'%s' is more than %d deep", path,
			       DEPTH_MAX);
	if (strlen(name) + 1 >= sizeof(name))
		return tw_fail(err, TW_INVALID, "path below '%.64s' is too long",
			       l->path);
	strcat(name, "/");
	return read_directory(r, l, entry, path, name, err);
}

/* Closes l->fd. */
static int read_level(struct reading *r, const struct level *l, struct tw_err *err)
{
	struct dirent *e;
	int rc = -1;
	DIR *d;

	d = fdopendir(l->fd);
	if (d == NULL) {
		tw_fail_errno(err, errno, "cannot open '%s'", l->path);
		close(l->fd);
		return -1;
	}
	while ((errno = 0, e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    tw_fileset_ignores(e->d_name))
			continue;
		if (read_entry(r, l, e->d_name, err) < 0)
			goto out;
	}
	if (errno != 0) {
		tw_fail_errno(err, errno, "cannot read '%s'", l->path);
		goto out;
	}
	rc = 0;
out:
	closedir(d);
	return rc;
}

/* Whether another directory, or nothing, is now at the path of the open directory. */
static bool was_replaced(int fd, const char *path)
{
	struct stat ours, now;

	if (fstat(fd, &ours) < 0)
		return false;
	return stat(path, &now) < 0 || now.st_ino != ours.st_ino ||
	       now.st_dev != ours.st_dev;
}

static int read_tree(struct tw_fileset *s, const char *dir,
		     const struct tw_fileset_limits *limits, bool *replaced,
		     struct tw_err *err)
{
	struct reading r = { .set = s, .limits = limits };
	struct level top = { .path = dir, .prefix = "" };
	const int fd = open(dir, DIRECTORY_FLAGS);
	int rc = -1;

	*replaced = false;
	if (fd < 0)
		return tw_fail_errno(err, errno, "cannot open '%s'", dir);
	top.fd = openat(fd, ".", DIRECTORY_FLAGS);
	if (top.fd < 0)
		tw_fail_errno(err, errno, "cannot open '%s'", dir);
	else
		rc = read_level(&r, &top, err);
	*replaced = was_replaced(fd, dir);
	close(fd);
	return rc;
}

/*
 * A publisher may exchange the directory for another version. All files are read by the
 * descriptor of the first, so that versions are not mixed. A version that was replaced
 * may be removed while it is read, so it is read again.
 */
int tw_fileset_read_dir(struct tw_fileset *s, const char *dir,
			const struct tw_fileset_limits *limits, struct tw_err *err)
{
	for (int i = 0; i < READS_MAX; i++) {
		struct tw_fileset set = { 0 };
		struct tw_err why = { 0 };
		bool replaced;
		const int rc = read_tree(&set, dir, limits, &replaced, &why);

		if (rc == 0 && !replaced) {
			tw_fileset_sort(&set);
			*s = set;
			return 0;
		}
		tw_fileset_clear(&set);
		if (!replaced)
			return tw_fail(err, why.code, "%s", why.text);
	}
	return tw_fail(err, TW_IO, "'%s' was replaced while it was read", dir);
}

/*
 * fsync each directory of a file's path below root that is complete. The set is sorted,
 * so a directory is complete if the next name is not below it.
 */
static int sync_complete_dirs(const char *root, const char *name, const char *next,
			      struct tw_err *err)
{
	char path[PATH_TEXT];

	for (size_t len = strlen(name); len > 0; len--) {
		if (name[len] != '/' ||
		    (next != NULL && strncmp(name, next, len + 1) == 0))
			continue;
		snprintf(path, sizeof(path), "%s/%.*s", root, (int)len, name);
		if (tw_dir_sync(path, err) < 0)
			return -1;
	}
	return 0;
}

static int write_file(const char *root, const struct tw_fileset_file *f,
		      struct tw_err *err)
{
	char path[PATH_TEXT];
	size_t dir;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", root, f->name) >= sizeof(path))
		return tw_fail(err, TW_INVALID, "path of '%s' is too long", f->name);
	dir = (size_t)(strrchr(path, '/') - path);
	path[dir] = '\0';
	if (tw_dir_make(path, err) < 0)
		return -1;
	path[dir] = '/';
	return tw_file_create(path, f->data, f->len, err);
}

int tw_fileset_write_dir(const struct tw_fileset *s, const char *dir, struct tw_err *err)
{
	struct tw_fileset sorted = *s;
	int rc = -1;

	/* Sort a copy of the entries; the files stay in the set. */
	sorted.at = malloc((s->count + 1) * sizeof(*sorted.at));
	if (sorted.at == NULL) {
		tw_fail(err, TW_NOMEM, "set of %zu files", s->count);
		goto out;
	}
	if (s->count > 0)
		memcpy(sorted.at, s->at, s->count * sizeof(*sorted.at));
	tw_fileset_sort(&sorted);

	if (mkdir(dir, 0755) < 0) {
		tw_fail_errno(err, errno, "cannot make directory '%s'", dir);
		goto out;
	}
	for (size_t i = 0; i < sorted.count; i++) {
		const char *next = i + 1 < sorted.count ? sorted.at[i + 1].name : NULL;

		if (write_file(dir, &sorted.at[i], err) < 0 ||
		    sync_complete_dirs(dir, sorted.at[i].name, next, err) < 0)
			goto out;
	}
	if (tw_dir_sync(dir, err) < 0)
		goto out;
	rc = 0;
out:
	free(sorted.at);
	return rc;
}
