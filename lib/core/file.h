/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_FILE_H
#define TW_FILE_H

/*
 * Files and directories: reads with a size limit, atomic and durable writes.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_strs;

/*
 * Read a whole file of at most max bytes. *data is yours (free()) and NUL-terminated;
 * *len excludes the NUL. Only regular files are read: links are followed, directories,
 * devices and FIFOs are rejected. A file of size 0, as below /proc, is read to its end.
 */
int tw_file_read(const char *path, size_t max, char **data, size_t *len,
		 struct tw_err *err);

/*
 * The same, of the file name in the open directory dir; links are rejected. path is for
 * errors.
 */
int tw_file_read_in(int dir, const char *name, const char *path, size_t max, char **data,
		    size_t *len, struct tw_err *err);

/*
 * Read a small file of /proc or /sys into buf and add a NUL. A file of size bytes or more
 * is rejected. path is relative to the open directory dir (or AT_FDCWD). Allocates
 * nothing.
 */
int tw_file_read_at(int dir, const char *path, char *buf, size_t size, size_t *len,
		    struct tw_err *err);

/*
 * Replace or create a file: write a temporary file beside it, fsync it, rename it, fsync
 * the directory. A reader sees the old or the new content. After a failure the old
 * content remains, unless the fsync of the directory failed: then the new content is in
 * place, but may not survive a crash. A path that is not a regular file (a device, a
 * link) is rejected.
 */
int tw_file_replace(const char *path, const void *data, size_t len, struct tw_err *err);

/*
 * As tw_file_replace(), for content that does not fit in memory: open, write in pieces,
 * commit. The file changes at the commit. tw_replace_abort() leaves the old file; it does
 * nothing on all zero bytes and after a commit.
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

/* Write all of data to a descriptor. path is used in the error only. */
int tw_fd_write(int fd, const void *data, size_t len, const char *path,
		struct tw_err *err);

/*
 * Open a new file in memory. -1: errno has the reason. The sysctl vm.memfd_noexec (Linux
 * 6.3) may refuse an executable one.
 */
int tw_file_in_memory(const char *name, bool executable);

/* Create a new file with its content and fsync it. Fails if the file exists. */
int tw_file_create(const char *path, const void *data, size_t len, struct tw_err *err);

/* Make a directory and its parents. An existing directory is not a failure. */
int tw_dir_make(const char *path, struct tw_err *err);

/* Append the names in a directory, all but "." and "..", sorted. */
int tw_dir_list(const char *path, struct tw_strs *out, struct tw_err *err);

/* fsync a directory, so that names created or renamed in it are durable. */
int tw_dir_sync(const char *path, struct tw_err *err);

/*
 * Remove a file or a tree. Links are removed, never followed. A missing path is not a
 * failure.
 */
int tw_tree_remove(const char *path, struct tw_err *err);

/* Join the parts of a path with '/'. The last argument is NULL. *out is yours. */
int tw_path_join(char **out, struct tw_err *err, ...) __attribute__((sentinel));

/*
 * Check that a foreign name is safe as one component of a path: 1 to 128 bytes, only
 * letters, digits, '-', '_', '.', '+', ':', '@', no leading '.', and no leading '-',
 * which commands would take as an option. `what` starts the error: "pipeline name '../x':
 * ...".
 */
int tw_name_check(const char *what, const char *name, size_t len, struct tw_err *err);

#endif /* TW_FILE_H */
