/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ZIP_H
#define TW_ZIP_H

/*
 * Zip archives in memory (APPNOTE.TXT 6.3): read with zlib, written with libzip.
 *
 * Archives are untrusted. Before any member is unpacked, the central directory is
 * checked: names that leave the archive, links, repeated names, encrypted members and
 * sizes over the limits are rejected. A backslash in a name separates directories.
 * Members that a set ignores (tw_fileset_ignores()) are left out.
 *
 * The reader does not use libzip, so that programs that only read need not link it and
 * the five libraries of its other formats. The writer is in lib/zip/zip_write.c.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_fileset;
struct tw_fileset_limits;

/* Limits for a model, and for a pipeline that contains zipped models. */
extern const struct tw_fileset_limits tw_zip_model_limits;
extern const struct tw_fileset_limits tw_zip_pipeline_limits;

/* Unpack data[0..len) into an empty set. Members that are directories are skipped. */
int tw_zip_read(const char *data, size_t len, const struct tw_fileset_limits *limits,
		struct tw_fileset *out, struct tw_err *err);

/*
 * As tw_zip_read(), from an archive file of at most bytes_max, or from a directory that
 * contains the members as files.
 */
int tw_zip_read_path(const char *path, size_t bytes_max,
		     const struct tw_fileset_limits *limits, struct tw_fileset *out,
		     struct tw_err *err);

/*
 * Pack a set. Equal sets give equal bytes: members are sorted by name, have the time
 * stamp 1980-01-01 and mode 0644. *data is yours (free()), and has a NUL after len bytes,
 * as the files of a set have.
 */
int tw_zip_write(const struct tw_fileset *s, char **data, size_t *len,
		 struct tw_err *err);

/* The list of members, for callers that unpack only some of them. */
enum tw_zip_method { TW_ZIP_STORED = 0, TW_ZIP_DEFLATED = 8 };

struct tw_zip_member {
	char *name;         /* first; owned; its components pass tw_name_check() */
	const char *packed; /* borrowed from the archive */
	size_t packed_len;
	size_t len; /* declared, unpacked */
	uint32_t crc;
	enum tw_zip_method method;
	bool directory;
};

struct tw_zip_list {
	struct tw_zip_member *at;
	size_t count;
};

/*
 * Read the central directory of data[0..len), sorted by name. Fails if a declared size
 * exceeds the limits. *out must be all zero and must be released, also after a failure.
 * Members point into data. Names are unique.
 */
int tw_zip_list_read(const char *data, size_t len, const struct tw_fileset_limits *limits,
		     struct tw_zip_list *out, struct tw_err *err);

/* Find a member by name. NULL if there is none. */
const struct tw_zip_member *tw_zip_list_find(const struct tw_zip_list *l,
					     const char *name);

/*
 * A hash of the names, lengths and CRCs of all members. Archives of equal files have
 * equal hashes. It does not detect forgery.
 */
uint64_t tw_zip_list_sum(const struct tw_zip_list *l);

/* Unpack a member. *out is yours (free()): len bytes and a NUL. */
int tw_zip_unpack(const struct tw_zip_member *m, char **out, struct tw_err *err);

/* Free the list. It is empty afterwards. */
void tw_zip_list_release(struct tw_zip_list *l);

#endif /* TW_ZIP_H */
