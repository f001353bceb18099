/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_FILESET_H
#define TW_FILESET_H

/*
 * A set of named files in memory: the content of a model, a pipeline or an archive.
 * Names are relative paths; each component must pass tw_name_check(). All zero bytes is
 * an empty set.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_buf;
struct tw_err;

struct tw_fileset_file {
	char *name; /* first, for tw_compare_texts() */
	char *data; /* len bytes and a NUL */
	size_t len;
};

struct tw_fileset {
	struct tw_fileset_file *at;
	size_t count;
	size_t size; /* allocated entries */
};

/* Limits for reading. 0 means no limit. */
struct tw_fileset_limits {
	size_t files;       /* number of files */
	size_t file_bytes;  /* of one file */
	size_t total_bytes; /* of all files */
	size_t ratio;       /* of unpacked to packed bytes; archives only */
};

/*
 * Add a file and take over data, even on failure. data is malloc'ed and has a NUL after
 * len bytes. A bad or repeated name is TW_INVALID.
 */
int tw_fileset_take(struct tw_fileset *s, const char *name, char *data, size_t len,
		    struct tw_err *err);

/* The same in order of names, without a search among the others. */
int tw_fileset_take_next(struct tw_fileset *s, const char *name, char *data, size_t len,
			 struct tw_err *err);

/* Add a file with the text of the buffer, which is empty afterwards, even on failure. */
int tw_fileset_take_buf(struct tw_fileset *s, const char *name, struct tw_buf *text,
			struct tw_err *err);

/* Add a file with a copy of data. */
int tw_fileset_add(struct tw_fileset *s, const char *name, const void *data, size_t len,
		   struct tw_err *err);

/*
 * Move all files of `from` into `to`, sorted by name. A name in both sets is TW_INVALID;
 * then both sets keep their files and are sorted.
 */
int tw_fileset_merge(struct tw_fileset *to, struct tw_fileset *from, struct tw_err *err);

/* Whether it is a file of a desktop, which is no part of a set: __MACOSX/, ._name and
 * .DS_Store. Archives and directories are read without them. */
bool tw_fileset_ignores(const char *name);

/* Find a file by name. NULL if there is none. */
const struct tw_fileset_file *tw_fileset_find(const struct tw_fileset *s,
					      const char *name);

/* Sort by name: the order in archives, so that equal sets give equal bytes. */
void tw_fileset_sort(struct tw_fileset *s);

/*
 * Read a directory and its subdirectories into an empty set, sorted. Links and special
 * files are rejected. If the directory is exchanged for another meanwhile, the set has
 * the files of one of the two.
 */
int tw_fileset_read_dir(struct tw_fileset *s, const char *dir,
			const struct tw_fileset_limits *limits, struct tw_err *err);

/* Write all files below the new directory dir. Files and directories are fsynced. */
int tw_fileset_write_dir(const struct tw_fileset *s, const char *dir, struct tw_err *err);

/* Free the files; the set is empty and reusable afterwards. */
void tw_fileset_clear(struct tw_fileset *s);

#endif /* TW_FILESET_H */
