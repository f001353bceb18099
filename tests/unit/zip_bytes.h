/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_ZIP_BYTES_H
#define TW_TEST_ZIP_BYTES_H

/* Archives as tw_zip_write() and as other programs make them. */

#include "lib/core/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <zip.h>

struct tw_fileset;
struct tw_fileset_limits;

struct zip_bytes {
	char *data;
	size_t len;
};

/* A member that another program may make. */
struct zip_member {
	const char *name;
	const char *text;
	mode_t mode;        /* 0: none recorded */
	const char *secret; /* encrypted with this */
	zip_int32_t method;
};

/* Make an archive. Its data is yours (free()). */
struct zip_bytes zip_pack(const struct zip_member *m, size_t count);
struct zip_bytes zip_write_set(const struct tw_fileset *s);

void zip_add_to(struct tw_fileset *s, const char *name, const char *data, size_t len);

/* tw_zip_read() of a copy as fenced_copy() makes it. */
int zip_read_fenced(const struct zip_bytes *b, bool at_end,
		    const struct tw_fileset_limits *limits, struct tw_fileset *out,
		    struct tw_err *err);

/* Assert that tw_zip_read() rejects the bytes, fenced, with this code and text. */
void zip_refuses(const struct zip_bytes *b, const struct tw_fileset_limits *limits,
		 enum tw_code code, const char *text);

#endif /* TW_TEST_ZIP_BYTES_H */
