/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_FILESET_H
#define TW_FILESET_H

/*
 * Several named files in memory: what a model, a pipeline or an archive is before
 * and after it is on disk. Names are relative paths with '/' between the parts,
 * each part as tw_name_check() wants it. All zero bytes is an empty set.
 */

#include <stddef.h>

struct tw_err;

struct tw_fileset_file {
	char *name;
	char *data; /* NUL-terminated behind len */
	size_t len;
};

struct tw_fileset {
	struct tw_fileset_file *at;
	size_t count;
	size_t size; /* allocated places */
};

/* What may be read into memory. 0 means no limit for that one. */
struct tw_fileset_limits {
	size_t files;       /* how many */
	size_t file_bytes;  /* of one file */
	size_t total_bytes; /* of all */
	size_t ratio;       /* unpacked to packed; archives only */
};

/*
 * Add a file. data (malloc'ed, with a NUL behind len) is consumed, even on failure.
 * A bad or repeated name is refused as TW_INVALID.
 */
int tw_fileset_take(struct tw_fileset *s, const char *name, char *data, size_t len,
		    struct tw_err *err);

/* Add a copy of data. */
int tw_fileset_add(struct tw_fileset *s, const char *name, const void *data, size_t len,
		   struct tw_err *err);

/*
 * Move all files of `from` into `to`, sorted by name. A name that both have is
 * TW_INVALID; then both are as they were, but sorted.
 */
int tw_fileset_merge(struct tw_fileset *to, struct tw_fileset *from, struct tw_err *err);

/* NULL if there is no file of that name. */
const struct tw_fileset_file *tw_fileset_find(const struct tw_fileset *s,
					      const char *name);

/* Sort by name: the order of archives, so that equal sets give equal bytes. */
void tw_fileset_sort(struct tw_fileset *s);

/*
 * Read a directory and those below it into an empty set, sorted. Links and special
 * files are refused.
 */
int tw_fileset_read_dir(struct tw_fileset *s, const char *dir,
			const struct tw_fileset_limits *limits, struct tw_err *err);

/*
 * Write all files below dir, which must not exist yet; each file and each
 * directory is fsynced.
 */
int tw_fileset_write_dir(const struct tw_fileset *s, const char *dir, struct tw_err *err);

/* Free the files; the set is empty and reusable afterwards. */
void tw_fileset_clear(struct tw_fileset *s);

#endif /* TW_FILESET_H */
