/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/zip/zip.h"

#include "lib/core/err.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip_list.h"

#include <stdlib.h>
#include <string.h>
/* zlib's input is const where this is set. */
#define ZLIB_CONST
#include <zlib.h>

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
	.files = 60000,
	.file_bytes = 64 * MIB,
	.total_bytes = 1024 * MIB,
	.ratio = 200,
};

static int fail_length(const struct tw_zip_member *m, const char *how, struct tw_err *err)
{
	return tw_fail(err, TW_PARSE,
		       "archive member '%s': %s than the %zu bytes declared", m->name,
		       how, m->len);
}

static int copy_stored(const struct tw_zip_member *m, char *out, struct tw_err *err)
{
	if (m->packed_len != m->len)
		return fail_length(m, m->packed_len > m->len ? "more" : "less", err);
	memcpy(out, m->packed, m->len);
	return 0;
}

/*
 * Sizes that are declared may lie: no byte more than declared is ever unpacked. out
 * has room for one more, which tells whether there would be.
 */
static int inflate_all(z_stream *z, const struct tw_zip_member *m, char *out,
		       struct tw_err *err)
{
	int end;

	z->next_in = (const Bytef *)m->packed;
	z->avail_in = (uInt)m->packed_len;
	z->next_out = (Bytef *)out;
	z->avail_out = (uInt)m->len + 1;
	end = inflate(z, Z_FINISH);
	if (end == Z_MEM_ERROR)
		return tw_fail(err, TW_NOMEM, "archive member '%s'", m->name);
	if (z->total_out > m->len)
		return fail_length(m, "more", err);
	if (end != Z_STREAM_END)
		return tw_fail(err, TW_PARSE, "archive member '%s': %s", m->name,
			       z->msg != NULL ? z->msg
					      : "the packed bytes are cut short");
	if (z->total_out < m->len)
		return fail_length(m, "less", err);
	return 0;
}

static int unpack_deflated(const struct tw_zip_member *m, char *out, struct tw_err *err)
{
	z_stream z = { 0 };
	int rc = -1;

	/* Minus: the bare stream, without zlib's header. */
	if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
		return tw_fail(err, TW_NOMEM, "archive member '%s'", m->name);
	if (inflate_all(&z, m, out, err) < 0)
		goto out;
	rc = 0;
out:
	inflateEnd(&z);
	return rc;
}

/* The NUL goes where the one too many would have gone. */
int tw_zip_unpack(const struct tw_zip_member *m, char **out, struct tw_err *err)
{
	char *data = malloc(m->len + 1);
	int rc = -1;

	if (data == NULL) {
		tw_fail(err, TW_NOMEM, "archive member '%s': %zu bytes", m->name, m->len);
		goto out;
	}
	if ((m->method == TW_ZIP_STORED ? copy_stored(m, data, err)
					: unpack_deflated(m, data, err)) < 0)
		goto out;
	if (crc32_z(0, (const Bytef *)data, m->len) != m->crc) {
		tw_fail(err, TW_PARSE, "archive member '%s': CRC error", m->name);
		goto out;
	}
	data[m->len] = '\0';

	*out = data;
	data = NULL;
	rc = 0;
out:
	free(data);
	return rc;
}

static int unpack_members(const struct tw_zip_list *d, struct tw_fileset *set,
			  struct tw_err *err)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct tw_zip_member *m = &d->at[i];
		char *data;

		if (m->directory)
			continue;
		if (tw_zip_unpack(m, &data, err) < 0)
			return -1;
		if (tw_fileset_take(set, m->name, data, m->len, err) < 0)
			return tw_err_wrap(err, "archive");
	}
	return 0;
}

int tw_zip_read(const char *data, size_t len, const struct tw_fileset_limits *limits,
		struct tw_fileset *out, struct tw_err *err)
{
	struct tw_fileset set = { 0 };
	struct tw_zip_list dir = { 0 };
	int rc = -1;

	if (tw_zip_list_read(data, len, limits, &dir, err) < 0 ||
	    unpack_members(&dir, &set, err) < 0)
		goto out;

	*out = set;
	set = (struct tw_fileset){ 0 };
	rc = 0;
out:
	tw_fileset_clear(&set);
	tw_zip_list_release(&dir);
	return rc;
}
