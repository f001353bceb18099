/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ZIP_H
#define TW_ZIP_H

/*
 * Zip archives in memory: read here with zlib, written with libzip. What only reads needs
 * no libzip, whose other formats bring in five libraries. Archives are untrusted: names
 * that leave the archive, links, repeated names, encrypted members and archives that
 * unpack to more than the limits are refused before anything of them is used. So is
 * zip64, which nothing within the limits needs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_fileset;
struct tw_fileset_limits;

/* Limits for one model, and for a whole pipeline with the models zipped in it. */
extern const struct tw_fileset_limits tw_zip_model_limits;
extern const struct tw_fileset_limits tw_zip_pipeline_limits;

/* Unpack data[0..len) into an empty set. Directory members are passed over. */
int tw_zip_read(const char *data, size_t len, const struct tw_fileset_limits *limits,
		struct tw_fileset *out, struct tw_err *err);

/* The same of an archive's file of at most bytes_max, or of a directory that holds the
 * members as files. */
int tw_zip_read_path(const char *path, size_t bytes_max,
		     const struct tw_fileset_limits *limits, struct tw_fileset *out,
		     struct tw_err *err);

/*
 * Pack a set. The same set gives the same bytes: members in order of name, time
 * stamps 1980-01-01, mode 0644. *data is yours (free()).
 */
int tw_zip_write(const struct tw_fileset *s, char **data, size_t *len,
		 struct tw_err *err);

/*
 * The central directory of an archive (APPNOTE.TXT 6.3, 4.3.7, 4.3.12, 4.3.16), for
 * a reader of a few members only. It is returned only if every member may be read within
 * the limits, going by what is declared.
 */
enum tw_zip_method { TW_ZIP_STORED = 0, TW_ZIP_DEFLATED = 8 };

struct tw_zip_member {
	char *name;         /* owned; its parts are plain names */
	const char *packed; /* in the archive */
	size_t packed_len;
	size_t len; /* as declared */
	uint32_t crc;
	enum tw_zip_method method;
	bool directory;
};

struct tw_zip_list {
	struct tw_zip_member *at;
	size_t count;
};

/*
 * *out must be all zero; it is yours, on failure too: tw_zip_list_release(). It points
 * into data. No two members have one name.
 */
int tw_zip_list_read(const char *data, size_t len, const struct tw_fileset_limits *limits,
		     struct tw_zip_list *out, struct tw_err *err);

/* NULL if there is no member of that name. */
const struct tw_zip_member *tw_zip_list_find(const struct tw_zip_list *l,
					     const char *name);

/*
 * A sum of names, lengths and check sums of all members: archives of the same files have
 * the same, others another. No proof against forgery.
 */
uint64_t tw_zip_list_sum(const struct tw_zip_list *l);

/* Unpack a member: *out is yours (free()), with a NUL behind its len bytes. */
int tw_zip_unpack(const struct tw_zip_member *m, char **out, struct tw_err *err);

void tw_zip_list_release(struct tw_zip_list *l);

#endif /* TW_ZIP_H */
