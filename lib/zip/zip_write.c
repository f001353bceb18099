/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "lib/zip/zip.h"

#include "lib/core/err.h"
#include "lib/zip/fileset.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zip.h>

/* The end record. An empty archive consists of it alone. */
#define EMPTY_BYTES 22

/* 1980-01-01 in MS-DOS format, independent of the time zone: year 0, month 1, day 1. */
#define DOS_DATE (1 << 5 | 1)
#define DOS_TIME 0

/* libzip's default, 9, takes four times as long and saves 6 % of the bytes. */
#define DEFLATE_LEVEL 5

/* Z_MEM_ERROR of zlib.h. */
#define ZLIB_MEM_ERROR (-4)

/*
 * Fail with "what: libzip's text". libzip tells no error where it has no memory for the
 * object that would have it.
 */
static int fail_zip(struct tw_err *err, zip_error_t *e, const char *what)
{
	const int code = zip_error_code_zip(e);
	const bool no_memory =
		code == ZIP_ER_OK || code == ZIP_ER_MEMORY ||
		(code == ZIP_ER_ZLIB && zip_error_code_system(e) == ZLIB_MEM_ERROR);

	tw_fail(err, no_memory ? TW_NOMEM : TW_IO, "%s: %s", what, zip_error_strerror(e));
	zip_error_fini(e); /* the text: zip_source_free() forgets that of its own error */
	return -1;
}

static int add_member(zip_t *z, const struct tw_fileset_file *f, struct tw_err *err)
{
	zip_source_t *src = zip_source_buffer(z, f->data, f->len, 0);
	zip_int64_t i = -1;

	if (src != NULL) {
		i = zip_file_add(z, f->name, src, ZIP_FL_ENC_UTF_8);
		if (i < 0)
			zip_source_free(src);
	}
	if (i < 0 ||
	    zip_set_file_compression(z, (zip_uint64_t)i, ZIP_CM_DEFLATE, DEFLATE_LEVEL) <
		    0 ||
	    zip_file_set_dostime(z, (zip_uint64_t)i, DOS_TIME, DOS_DATE, 0) < 0 ||
	    zip_file_set_external_attributes(z, (zip_uint64_t)i, 0, ZIP_OPSYS_UNIX,
					     (zip_uint32_t)(S_IFREG | 0644) << 16) < 0)
		return fail_zip(err, zip_get_error(z), f->name);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct tw_fileset_file *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static int add_members(zip_t *z, const struct tw_fileset *s, struct tw_err *err)
{
	const struct tw_fileset_file **sorted;
	int rc = -1;

	if (TW_NEW(sorted, s->count + 1, err) < 0)
		return -1;
	for (size_t i = 0; i < s->count; i++)
		sorted[i] = &s->at[i];
	qsort(sorted, s->count, sizeof(*sorted), by_name);
	for (size_t i = 0; i < s->count; i++)
		if (add_member(z, sorted[i], err) < 0)
			goto out;

	rc = 0;
out:
	free(sorted);
	return rc;
}

/* Copy the archive that zip_close() wrote to the source. */
static int take_bytes(zip_source_t *src, char **data, size_t *len, struct tw_err *err)
{
	char *copy = NULL;
	zip_stat_t st;
	int rc = -1;

	if (zip_source_stat(src, &st) < 0 || (st.valid & ZIP_STAT_SIZE) == 0 ||
	    zip_source_open(src) < 0)
		return fail_zip(err, zip_source_error(src), "archive");
	copy = malloc((size_t)st.size + 1);
	if (copy == NULL) {
		tw_fail(err, TW_NOMEM, "archive of %" PRIu64 " bytes", (uint64_t)st.size);
		goto out;
	}
	if (zip_source_read(src, copy, st.size) != (zip_int64_t)st.size) {
		fail_zip(err, zip_source_error(src), "archive");
		goto out;
	}
	copy[st.size] = '\0';

	*data = copy;
	*len = (size_t)st.size;
	copy = NULL;
	rc = 0;
out:
	free(copy);
	zip_source_close(src);
	return rc;
}

/* libzip writes nothing for an archive without members: write the end record. */
static int write_empty(char **data, size_t *len, struct tw_err *err)
{
	char *end = calloc(1, EMPTY_BYTES + 1);

	if (end == NULL)
		return tw_fail(err, TW_NOMEM, "empty archive");
	memcpy(end, "PK\5\6", 4);
	*data = end;
	*len = EMPTY_BYTES;
	return 0;
}

/*
 * libzip 1.7.3 initialises static variables in the first call, without a lock. A second
 * thread at that moment may fail with "read-only archive".
 */
static zip_t *open_new(zip_source_t *src, zip_error_t *e)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	zip_t *z;

	pthread_mutex_lock(&lock);
	z = zip_open_from_source(src, ZIP_CREATE | ZIP_TRUNCATE, e);
	pthread_mutex_unlock(&lock);
	return z;
}

int tw_zip_write(const struct tw_fileset *s, char **data, size_t *len, struct tw_err *err)
{
	zip_source_t *src = NULL;
	zip_t *z = NULL;
	zip_error_t e;
	int rc = -1;

	if (s->count == 0)
		return write_empty(data, len, err);
	zip_error_init(&e);
	src = zip_source_buffer_create(NULL, 0, 0, &e);
	if (src == NULL) {
		fail_zip(err, &e, "archive");
		goto out;
	}
	zip_source_keep(src); /* zip_close() drops its own reference */
	z = open_new(src, &e);
	if (z == NULL) {
		zip_source_free(src);
		fail_zip(err, &e, "archive");
		goto out;
	}
	if (add_members(z, s, err) < 0)
		goto out;
	if (zip_close(z) < 0) {
		fail_zip(err, zip_get_error(z), "archive");
		goto out;
	}
	z = NULL;
	if (take_bytes(src, data, len, err) < 0)
		goto out;

	rc = 0;
out:
	if (z != NULL)
		zip_discard(z);
	if (src != NULL)
		zip_source_free(src);
	return rc;
}
