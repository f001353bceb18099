/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/zip.h"

#include "lib/err.h"
#include "lib/file.h"
#include "lib/fileset.h"
#include "lib/zip_error.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zip.h>

#define MIB ((size_t)1 << 20)

/*
 * Measured: XGBoost's JSON of real data packs 4 times, 2000 trees of a constant label 93
 * times. Deflate's own limit, which bombs come near, is 1032.
 */
const struct tw_fileset_limits tw_zip_model_limits = {
	.files = 64,
	.file_bytes = 64 * MIB,
	.total_bytes = 128 * MIB,
	.ratio = 200,
};

const struct tw_fileset_limits tw_zip_pipeline_limits = {
	.files = 20000,
	.file_bytes = 64 * MIB,
	.total_bytes = 1024 * MIB,
	.ratio = 200,
};

/* Below this a member's ratio says nothing: a page of zeros is no bomb. */
#define RATIO_FREE_BYTES ((size_t)64 * 1024)

/* The record at an archive's end (APPNOTE 4.3.16), little endian. */
#define END_MAGIC "PK\5\6"
#define END_BYTES 22
#define END_COUNT_AT 10
#define END_COMMENT_AT 20
#define END_COMMENT_MAX 65535
#define END64_MAGIC "PK\6\7"
#define END64_BYTES 20

/* Z_MEM_ERROR of zlib.h, which is not needed for anything else. */
#define ZLIB_MEM_ERROR (-4)

static size_t read_u16(const char *p)
{
	return (size_t)(unsigned char)p[0] | (size_t)(unsigned char)p[1] << 8;
}

int tw_zip_fail(struct tw_err *err, zip_error_t *e, const char *what)
{
	const int what_failed = zip_error_code_zip(e);
	const bool no_memory = what_failed == ZIP_ER_MEMORY ||
			       (what_failed == ZIP_ER_ZLIB &&
				zip_error_code_system(e) == ZLIB_MEM_ERROR);
	const enum tw_code code = no_memory ? TW_NOMEM : TW_PARSE;

	return tw_fail(err, code, "%s: %s", what, zip_error_strerror(e));
}

/*
 * Look at the end record before libzip does: libzip allocates what the record claims, and
 * reads the directory once for each record that could be the archive's. So there must be
 * exactly one, which claims no more than we take. Archives within our limits need no
 * zip64.
 */
static int check_end(const char *data, size_t len, const struct tw_fileset_limits *limits,
		     struct tw_err *err)
{
	size_t start = 0, count = 0, found = 0;

	if (len < END_BYTES)
		return tw_fail(err, TW_PARSE, "archive: %zu bytes are too few for a zip",
			       len);
	if (len > END_BYTES + END_COMMENT_MAX)
		start = len - END_BYTES - END_COMMENT_MAX;
	for (size_t i = start; i <= len - END_BYTES; i++) {
		if (memcmp(data + i, END_MAGIC, 4) != 0 ||
		    read_u16(data + i + END_COMMENT_AT) != len - i - END_BYTES)
			continue;
		if (i >= END64_BYTES &&
		    memcmp(data + i - END64_BYTES, END64_MAGIC, 4) == 0)
			return tw_fail(err, TW_UNSUPPORTED,
				       "archive: zip64 is not taken");
		count = read_u16(data + i + END_COUNT_AT);
		found++;
	}
	if (found == 0)
		return tw_fail(err, TW_PARSE, "archive: not a zip, or cut short");
	if (found > 1)
		return tw_fail(err, TW_PARSE, "archive: %zu ends, want one", found);
	if (limits->files != 0 && count > limits->files)
		return tw_fail(err, TW_INVALID, "archive: %zu members, limit is %zu",
			       count, limits->files);
	return 0;
}

static int open_archive(const char *data, size_t len, zip_t **out, struct tw_err *err)
{
	zip_source_t *src;
	zip_error_t e;
	int rc = -1;

	zip_error_init(&e);
	src = zip_source_buffer_create(data, len, 0, &e);
	if (src == NULL) {
		tw_zip_fail(err, &e, "archive");
		goto out;
	}
	*out = zip_open_from_source(src, ZIP_RDONLY | ZIP_CHECKCONS, &e);
	if (*out == NULL) {
		zip_source_free(src);
		if (zip_error_code_zip(&e) == ZIP_ER_EXISTS)
			tw_fail(err, TW_INVALID, "archive: two members of one name");
		tw_zip_fail(err, &e, "archive");
		goto out;
	}

	rc = 0;
out:
	zip_error_fini(&e);
	return rc;
}

/* Every part of the path must be a plain name; a directory's ends in '/'. */
static int check_path(const char *name, struct tw_err *err)
{
	const char *part = name;

	if (*part == '\0')
		return tw_fail(err, TW_INVALID, "archive: member without a name");
	do {
		size_t len = strcspn(part, "/");

		if (tw_name_check("archive member", part, len, err) < 0)
			return -1;
		part += len;
		part += *part == '/';
	} while (*part != '\0');
	return 0;
}

static bool is_directory(const char *name)
{
	return name[strlen(name) - 1] == '/';
}

/* What was declared of the members so far. */
struct totals {
	uint64_t bytes;
	uint64_t packed;
};

static int check_size(const char *name, const zip_stat_t *st, size_t archive_len,
		      const struct tw_fileset_limits *limits, struct totals *t,
		      struct tw_err *err)
{
	if (limits->file_bytes != 0 && st->size > limits->file_bytes)
		return tw_fail(err, TW_INVALID,
			       "archive member '%s': %" PRIu64 " bytes, limit is %zu",
			       name, (uint64_t)st->size, limits->file_bytes);
	if (st->size > SIZE_MAX - 1 || st->comp_size > archive_len - t->packed)
		return tw_fail(err, TW_PARSE, "archive member '%s': overlaps another",
			       name);
	if (limits->ratio != 0 && st->size > RATIO_FREE_BYTES &&
	    st->size / limits->ratio > st->comp_size)
		return tw_fail(err, TW_INVALID,
			       "archive member '%s': %" PRIu64 " bytes packed in %" PRIu64
			       ", limit is %zu times",
			       name, (uint64_t)st->size, (uint64_t)st->comp_size,
			       limits->ratio);
	if (limits->total_bytes != 0 && st->size > limits->total_bytes - t->bytes)
		return tw_fail(err, TW_INVALID, "archive: more than %zu bytes unpacked",
			       limits->total_bytes);
	t->bytes += st->size;
	t->packed += st->comp_size;
	return 0;
}

/* All that can be known of a member without reading it. */
static int check_member(zip_t *z, zip_uint64_t i, const char *name, zip_stat_t *st,
			struct tw_err *err)
{
	const zip_uint64_t want = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
				  ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
	zip_uint32_t attributes;
	zip_uint8_t system;
	mode_t mode;

	if (check_path(name, err) < 0)
		return -1;
	if (zip_stat_index(z, i, 0, st) < 0 || (st->valid & want) != want ||
	    zip_file_get_external_attributes(z, i, 0, &system, &attributes) < 0)
		return tw_fail(err, TW_PARSE, "archive member '%s': %s", name,
			       zip_strerror(z));
	mode = (mode_t)(attributes >> 16) & S_IFMT;
	if (mode != 0 && mode != (is_directory(name) ? S_IFDIR : S_IFREG))
		return tw_fail(err, TW_INVALID,
			       "archive member '%s': a link or special file", name);
	if (st->encryption_method != ZIP_EM_NONE)
		return tw_fail(err, TW_UNSUPPORTED, "archive member '%s': encrypted",
			       name);
	if (st->comp_method != ZIP_CM_STORE && st->comp_method != ZIP_CM_DEFLATE)
		return tw_fail(err, TW_UNSUPPORTED,
			       "archive member '%s': packing method %u", name,
			       (unsigned)st->comp_method);
	return 0;
}

/* Sizes that are declared may lie: no byte more than declared is ever unpacked. */
static int unpack(zip_t *z, zip_uint64_t i, const char *name, size_t size, char **out,
		  struct tw_err *err)
{
	zip_file_t *f = NULL;
	char *data, more;
	size_t len = 0;
	zip_int64_t n;
	int rc = -1;

	data = malloc(size + 1);
	if (data == NULL) {
		tw_fail(err, TW_NOMEM, "archive member '%s': %zu bytes", name, size);
		goto out;
	}
	f = zip_fopen_index(z, i, 0);
	if (f == NULL) {
		tw_fail(err, TW_PARSE, "archive member '%s': %s", name, zip_strerror(z));
		goto out;
	}
	while (len < size && (n = zip_fread(f, data + len, size - len)) > 0)
		len += (size_t)n;
	/* The read at the end of the member is the one that checks its sum. */
	n = zip_fread(f, &more, 1);
	if (n < 0) {
		tw_fail(err, TW_PARSE, "archive member '%s': %s", name,
			zip_file_strerror(f));
		goto out;
	}
	if (n > 0 || len < size) {
		tw_fail(err, TW_PARSE,
			"archive member '%s': %s than the %zu bytes declared", name,
			n > 0 ? "more" : "less", size);
		goto out;
	}
	data[len] = '\0';

	*out = data;
	data = NULL;
	rc = 0;
out:
	free(data);
	if (f != NULL)
		zip_fclose(f);
	return rc;
}

/* Nothing is unpacked before every member has been looked at. */
static int check_members(zip_t *z, zip_uint64_t count, size_t archive_len,
			 const struct tw_fileset_limits *limits, struct tw_err *err)
{
	struct totals totals = { 0 };

	for (zip_uint64_t i = 0; i < count; i++) {
		const char *name = zip_get_name(z, i, ZIP_FL_ENC_RAW);
		zip_stat_t st;

		if (name == NULL)
			return tw_fail(err, TW_PARSE, "archive: %s", zip_strerror(z));
		if (check_member(z, i, name, &st, err) < 0 ||
		    check_size(name, &st, archive_len, limits, &totals, err) < 0)
			return -1;
	}
	return 0;
}

static int unpack_members(zip_t *z, zip_uint64_t count, struct tw_fileset *set,
			  struct tw_err *err)
{
	for (zip_uint64_t i = 0; i < count; i++) {
		const char *name = zip_get_name(z, i, ZIP_FL_ENC_RAW);
		zip_stat_t st;
		char *data;

		if (name == NULL || zip_stat_index(z, i, 0, &st) < 0)
			return tw_fail(err, TW_PARSE, "archive: %s", zip_strerror(z));
		if (is_directory(name))
			continue;
		if (unpack(z, i, name, (size_t)st.size, &data, err) < 0)
			return -1;
		if (tw_fileset_take(set, name, data, (size_t)st.size, err) < 0)
			return tw_err_wrap(err, "archive");
	}
	return 0;
}

int tw_zip_read(const char *data, size_t len, const struct tw_fileset_limits *limits,
		struct tw_fileset *out, struct tw_err *err)
{
	struct tw_fileset set = { 0 };
	zip_uint64_t count;
	zip_t *z = NULL;
	int rc = -1;

	if (check_end(data, len, limits, err) < 0 || open_archive(data, len, &z, err) < 0)
		goto out;
	count = (zip_uint64_t)zip_get_num_entries(z, 0);
	if (check_members(z, count, len, limits, err) < 0 ||
	    unpack_members(z, count, &set, err) < 0)
		goto out;

	*out = set;
	set = (struct tw_fileset){ 0 };
	rc = 0;
out:
	tw_fileset_clear(&set);
	if (z != NULL)
		zip_discard(z);
	return rc;
}
