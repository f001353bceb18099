/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/zip_bytes.h"

#include "lib/core/err.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "tests/unit/fenced.h"
#include "tests/unit/tw_test.h"

#include <stdlib.h>
#include <string.h>
#include <zip.h>

struct zip_bytes zip_pack(const struct zip_member *m, size_t count)
{
	zip_source_t *src = zip_source_buffer_create(NULL, 0, 0, NULL);
	struct zip_bytes b = { 0 };
	zip_stat_t st;
	zip_t *z;

	zip_source_keep(src);
	z = zip_open_from_source(src, ZIP_CREATE | ZIP_TRUNCATE, NULL);
	assert_non_null(z);
	for (size_t i = 0; i < count; i++) {
		zip_source_t *text =
			zip_source_buffer(z, m[i].text, strlen(m[i].text), 0);
		zip_int64_t at = zip_file_add(z, m[i].name, text, ZIP_FL_ENC_UTF_8);

		assert_true(at >= 0);
		assert_int_equal(
			zip_set_file_compression(z, (zip_uint64_t)at, m[i].method, 0), 0);
		if (m[i].mode != 0)
			zip_file_set_external_attributes(z, (zip_uint64_t)at, 0,
							 ZIP_OPSYS_UNIX,
							 (zip_uint32_t)m[i].mode << 16);
		if (m[i].secret != NULL)
			assert_int_equal(zip_file_set_encryption(z, (zip_uint64_t)at,
								 ZIP_EM_TRAD_PKWARE,
								 m[i].secret),
					 0);
	}
	assert_int_equal(zip_close(z), 0);
	assert_int_equal(zip_source_stat(src, &st), 0);
	b.len = (size_t)st.size;
	b.data = malloc(b.len);
	assert_non_null(b.data);
	assert_int_equal(zip_source_open(src), 0);
	assert_int_equal(zip_source_read(src, b.data, b.len), b.len);
	zip_source_close(src);
	zip_source_free(src);
	return b;
}

struct zip_bytes zip_write_set(const struct tw_fileset *s)
{
	struct tw_err err = { 0 };
	struct zip_bytes b = { 0 };

	assert_int_equal(tw_zip_write(s, &b.data, &b.len, &err), 0);
	return b;
}

void zip_add_to(struct tw_fileset *s, const char *name, const char *data, size_t len)
{
	struct tw_err err = { 0 };

	assert_int_equal(tw_fileset_add(s, name, data, len, &err), 0);
}

int zip_read_fenced(const struct zip_bytes *b, bool at_end,
		    const struct tw_fileset_limits *limits, struct tw_fileset *out,
		    struct tw_err *err)
{
	struct fenced f = fenced_copy(b->data, b->len, at_end);
	const int rc = tw_zip_read(f.data, b->len, limits, out, err);

	fenced_free(&f);
	return rc;
}

void zip_refuses(const struct zip_bytes *b, const struct tw_fileset_limits *limits,
		 enum tw_code code, const char *text)
{
	for (int at_end = 0; at_end < 2; at_end++) {
		struct tw_fileset out = { 0 };
		struct tw_err err = { 0 };

		assert_int_equal(zip_read_fenced(b, at_end, limits, &out, &err), -1);
		assert_string_equal(err.text, text);
		assert_int_equal(err.code, code);
		assert_int_equal(out.count, 0);
		assert_null(out.at);
	}
}
