/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_FILE_H
#define TW_FILE_H

/*
 * Files and directories: whole reads with a limit, atomic and durable writes.
 */

#include <stddef.h>

struct tw_err;

/*
 * The whole file, at most max bytes. *data is yours (free()) and NUL-terminated;
 * *len is without the NUL. Only regular files: a link is followed, a directory,
 * device or FIFO is refused. A file whose size is given as 0, as below /proc, is read
 * until it ends.
 */
int tw_file_read(const char *path, size_t max, char **data, size_t *len,
		 struct tw_err *err);

/*
 * A small file of /proc or /sys into buf, with a NUL: one that leaves no room for that is
 * refused. path is below the open directory dir (or AT_FDCWD). No allocation.
 */
int tw_file_read_at(int dir, const char *path, char *buf, size_t size, size_t *len,
		    struct tw_err *err);

/*
 * Replace or create a file: write a neighbour, fsync it, rename it, fsync the
 * directory. A reader sees the old or the new one; after a failure, the old one, unless
 * it was the directory's fsync that failed: then the new one, perhaps not for good.
 * What is there and is no regular file (a device, a link) is refused.
 */
int tw_file_replace(const char *path, const void *data, size_t len, struct tw_err *err);

/*
 * The same for what does not fit in memory: open, write piece by piece, then commit,
 * which is when the file changes. All zero bytes is none; abort is fine for none and
 * after a commit, and leaves the old file.
 */
struct tw_replace {
	char *path, *tmp;
	int fd;
};

int tw_replace_open(struct tw_replace *r, const char *path, struct tw_err *err);
int tw_replace_write(struct tw_replace *r, const void *data, size_t len,
		     struct tw_err *err);
int tw_replace_commit(struct tw_replace *r, struct tw_err *err);
void tw_replace_abort(struct tw_replace *r);

/* All of data to a descriptor; path is for the error. */
int tw_fd_write(int fd, const void *data, size_t len, const char *path,
		struct tw_err *err);

/* Create a new file with its content and fsync it; fails if it exists. */
int tw_file_create(const char *path, const void *data, size_t len, struct tw_err *err);

/* Make a directory and those above it; an existing one is fine. */
int tw_dir_make(const char *path, struct tw_err *err);

/* fsync a directory, so that names made or moved in it are durable. */
int tw_dir_sync(const char *path, struct tw_err *err);

/* Remove a file or a tree; links are removed, never followed. Absent is fine. */
int tw_tree_remove(const char *path, struct tw_err *err);

/* "a/b/c" from parts, ended by NULL. *out is yours. */
int tw_path_join(char **out, struct tw_err *err, ...) __attribute__((sentinel));

/*
 * Whether a foreign name may become one part of a path: 1 to 128 bytes, letters,
 * digits, '-', '_', '.', '+', ':', '@' only, and no '.' in front. "what" is put into the
 * error: "pipeline name '../x': ...".
 */
int tw_name_check(const char *what, const char *name, size_t len, struct tw_err *err);

#endif /* TW_FILE_H */
