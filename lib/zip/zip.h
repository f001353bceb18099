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

#include <stddef.h>

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

#endif /* TW_ZIP_H */
