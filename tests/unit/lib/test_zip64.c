/* SPDX-License-Identifier: Apache-2.0 */
/* Archives with the wide sizes of zip64, which are needed by none within the limits, but
 * written by programs that do not know a size beforehand. */
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "tests/unit/tw_test.h"
#include "tests/unit/zip_bytes.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define NAME "d/a"
#define TEXT "some text"

/* Where an archive of one stored member has wide numbers, and what is wrong in it. */
struct kind {
	bool local, entry, end, end_only_beside; /* the end record has all numbers, too */
	size_t wrong;                            /* byte that is changed; 0: none */
	size_t extra_less;                       /* bytes that the entry's field lacks */
	enum tw_code code;
	const char *text;
};

static void put(struct tw_buf *b, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++) {
		const char byte = (char)(i < 8 ? v >> (8 * i) & 0xff : 0);

		tw_buf_add(b, &byte, 1);
	}
}

/* A header from the version to the lengths; wide: its sizes are in an extra field. */
static void put_header(struct tw_buf *b, bool wide, size_t extra)
{
	const uint64_t len = strlen(TEXT), size = wide ? UINT32_MAX : len;

	put(b, 45, 2);
	put(b, 0, 2 + 2 + 4); /* flags, method, time */
	put(b, crc32(0, (const Bytef *)TEXT, (uInt)len), 4);
	put(b, size, 4);
	put(b, size, 4);
	put(b, strlen(NAME), 2);
	put(b, wide ? extra : 0, 2);
}

/* Another field comes first. */
static void put_extra(struct tw_buf *b, bool with_offset, size_t less)
{
	put(b, 0x5455, 2);
	put(b, 1, 2);
	put(b, 7, 1);
	put(b, 1, 2);
	put(b, (with_offset ? 24 : 16) - less, 2);
	put(b, strlen(TEXT), 8);
	put(b, strlen(TEXT), 8);
	if (with_offset)
		put(b, 0, (int)(8 - less));
}

static struct zip_bytes make(const struct kind *k)
{
	struct tw_buf b = { 0 };
	struct zip_bytes out;
	size_t start, end;

	tw_buf_adds(&b, "PK\3\4");
	put_header(&b, k->local, 25);
	tw_buf_adds(&b, NAME);
	if (k->local)
		put_extra(&b, false, 0);
	tw_buf_adds(&b, TEXT);
	start = b.len;
	tw_buf_adds(&b, "PK\1\2");
	put(&b, 45, 2);
	put_header(&b, k->entry, 33 - k->extra_less);
	put(&b, 0, 2 + 2 + 2 + 4);
	put(&b, k->entry ? UINT32_MAX : 0, 4);
	tw_buf_adds(&b, NAME);
	if (k->entry)
		put_extra(&b, true, k->extra_less);
	end = b.len;
	if (k->end) {
		tw_buf_adds(&b, "PK\6\6");
		put(&b, 44, 8);
		put(&b, 45, 2);
		put(&b, 45, 2);
		put(&b, 0, 8);
		put(&b, 1, 8);
		put(&b, 1, 8);
		put(&b, end - start, 8);
		put(&b, start, 8);
		tw_buf_adds(&b, "PK\6\7");
		put(&b, 0, 4);
		put(&b, end, 8);
		put(&b, 1, 4);
	}
	tw_buf_adds(&b, "PK\5\6");
	put(&b, 0, 4);
	for (int i = 0; i < 2; i++)
		put(&b, k->end && !k->end_only_beside ? UINT16_MAX : 1, 2);
	put(&b, k->end && !k->end_only_beside ? UINT32_MAX : end - start, 4);
	put(&b, k->end && !k->end_only_beside ? UINT32_MAX : start, 4);
	put(&b, 0, 2);
	out.data = tw_buf_detach(&b, &out.len);
	assert_non_null(out.data);
	if (k->wrong > 0)
		out.data[out.len - k->wrong] ^= 1;
	return out;
}

static void wide_numbers_are_read(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 16; i++) {
		const struct kind k = { .local = i & 1,
					.entry = i & 2,
					.end = i & 4,
					.end_only_beside = i & 8 };
		struct zip_bytes b = make(&k);
		struct tw_fileset out = { 0 };
		struct tw_err err = { 0 };

		if (zip_read_fenced(&b, true, &tw_zip_model_limits, &out, &err) < 0)
			fail_msg("kind %u: %s", i, err.text);
		assert_int_equal(out.count, 1);
		assert_string_equal(tw_fileset_find(&out, NAME)->data, TEXT);
		tw_fileset_clear(&out);
		free(b.data);
	}
}

/* Bytes are counted from the end: the end record has 22, the locator 20, zip64's 56. */
static void wrong_wide_numbers_are_rejected(void **state)
{
	static const char place[] =
		"archive: zip64's end record is not before its locator";
	static const char directory[] =
		"archive: the end record gives a wrong place for the directory";
	static const char differ[] = "archive: the end records differ";
	static const char header[] = "archive member 'd/a': header and directory differ";
	static const char missing[] = "archive member 'd/a': zip64's sizes are missing";
	static const struct kind kinds[] = {
		{ .end = true, .wrong = 22 + 12, .code = TW_PARSE, .text = place },
		{ .end = true, .wrong = 22 + 20 + 56, .code = TW_PARSE, .text = place },
		{ .end = true,
		  .wrong = 22 + 20 + 8,
		  .code = TW_PARSE,
		  .text = directory },
		{ .end = true,
		  .wrong = 22 + 20 + 1,
		  .code = TW_PARSE,
		  .text = directory },
		{ .end = true,
		  .wrong = 22 + 20 + 9,
		  .code = TW_PARSE,
		  .text = directory },
		{ .end = true,
		  .end_only_beside = true,
		  .wrong = 22 + 20 + 24,
		  .code = TW_PARSE,
		  .text = differ },
		{ .end = true,
		  .end_only_beside = true,
		  .wrong = 22 + 20 + 16,
		  .code = TW_PARSE,
		  .text = differ },
		{ .end = true,
		  .end_only_beside = true,
		  .wrong = 22 + 20 + 8,
		  .code = TW_PARSE,
		  .text = differ },
		{ .entry = true, .extra_less = 1, .code = TW_PARSE, .text = missing },
		{ .entry = true, .extra_less = 8, .code = TW_PARSE, .text = missing },
		/* The last byte of the offset, and of both sizes. */
		{ .entry = true,
		  .wrong = 22 + 8,
		  .code = TW_PARSE,
		  .text = "archive member 'd/a': no header where the directory says" },
		{ .local = true,
		  .wrong = 22 + 49 + 9 + 8,
		  .code = TW_PARSE,
		  .text = header },
		{ .local = true,
		  .wrong = 22 + 49 + 9 + 16,
		  .code = TW_PARSE,
		  .text = header },
		/* The number of another field: there is no wide size. */
		{ .local = true,
		  .wrong = 22 + 49 + 9 + 20,
		  .code = TW_PARSE,
		  .text = header },
		{ .entry = true, .wrong = 22 + 28, .code = TW_PARSE, .text = missing },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(kinds); i++) {
		struct zip_bytes b = make(&kinds[i]);

		zip_refuses(&b, &tw_zip_model_limits, kinds[i].code, kinds[i].text);
		free(b.data);
	}
}

static void a_wide_size_has_its_limits(void **state)
{
	static const struct kind k = { .entry = true, .end = true };
	struct zip_bytes b = make(&k);
	/* The entry's length, its highest byte but one, and the number of members. */
	const size_t len_at = b.len - 22 - 20 - 56 - 24 + 6;
	const size_t count_at = b.len - 22 - 20 - 56 + 32 + 4;

	(void)state;
	b.data[len_at] = 1;
	zip_refuses(&b, &tw_zip_model_limits, TW_INVALID,
		    "archive member 'd/a': 281474976710665 bytes, limit is 67108864");
	b.data[len_at] = 0;
	b.data[count_at] = 1;
	zip_refuses(&b, &tw_zip_model_limits, TW_INVALID,
		    "archive: 4294967297 members, limit is 64");
	free(b.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wide_numbers_are_read),
		cmocka_unit_test(wrong_wide_numbers_are_rejected),
		cmocka_unit_test(a_wide_size_has_its_limits),
	};

	return cmocka_run_group_tests_name("zip64", tests, NULL, NULL);
}
