/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "tests/unit/zip_bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

/* Replace every occurrence of a byte string by another of equal length. */
static size_t patch(struct zip_bytes *b, const char *from, const char *to, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i + len <= b->len; i++) {
		if (memcmp(b->data + i, from, len) == 0) {
			memcpy(b->data + i, to, len);
			n++;
		}
	}
	return n;
}

static void a_repeated_name_is_rejected(void **state)
{
	const struct zip_member m[] = { { .name = "aa", .text = "1" },
					{ .name = "ab", .text = "2" } };
	struct zip_bytes b = zip_pack(m, 2);

	(void)state;
	assert_int_equal(patch(&b, "ab", "aa", 2), 2);
	zip_refuses(&b, &tw_zip_model_limits, TW_INVALID,
		    "archive: two members have the same name");
	free(b.data);
}

static struct zip_bytes pack_zeros(size_t files, size_t size)
{
	struct tw_fileset in = { 0 };
	char *zeros = calloc(1, size);
	struct zip_bytes b;

	assert_non_null(zeros);
	for (size_t i = 0; i < files; i++) {
		char name[32];

		snprintf(name, sizeof(name), "zeros%zu", i);
		zip_add_to(&in, name, zeros, size);
	}
	b = zip_write_set(&in);
	free(zeros);
	tw_fileset_clear(&in);
	return b;
}

static void a_ratio_of_a_thousand_is_rejected(void **state)
{
	struct zip_bytes b = pack_zeros(1, 2 << 20);
	struct tw_fileset out = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_true(b.len < (2 << 20) / 900);
	assert_int_equal(tw_zip_read(b.data, b.len, &tw_zip_model_limits, &out, &err),
			 -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_non_null(strstr(err.text, "'zeros0': 2097152 bytes packed in"));
	assert_non_null(strstr(err.text, "limit is 200 times"));
	free(b.data);
}

/* Members that together are packed in more bytes than the archive has. */
static void members_that_overlap_are_rejected(void **state)
{
	const struct zip_member m[] = { { .name = "aa", .text = "1234567890" },
					{ .name = "ab", .text = "1234567890" } };
	struct zip_bytes b = zip_pack(m, 2);
	const char *first, *second;

	(void)state;
	/* The packed size is 20 bytes behind a central header's start (APPNOTE 4.3.12).
	 */
	first = memmem(b.data, b.len, "PK\1\2", 4);
	assert_non_null(first);
	second = memmem(first + 4, b.len - (size_t)(first + 4 - b.data), "PK\1\2", 4);
	assert_non_null(second);
	/* Alone it would fit in front of the directory, with the 10 bytes of aa not. */
	b.data[second + 20 - b.data] = (char)(first - b.data - 5);
	zip_refuses(&b, &tw_zip_model_limits, TW_PARSE,
		    "archive member 'ab': overlaps another");
	free(b.data);
}

/* The ratio is of unpacked to packed bytes, and a page of zeros is exempt. */
static void the_ratio_has_its_limit(void **state)
{
	struct zip_bytes b = pack_zeros(1, 300000);
	struct tw_fileset_limits limits = { 0 };
	struct tw_fileset out = { 0 };
	struct tw_err err = { 0 };
	struct tw_zip_list list = { 0 };
	size_t packed;

	(void)state;
	assert_int_equal(tw_zip_list_read(b.data, b.len, &limits, &list, &err), 0);
	packed = list.at[0].packed_len;
	tw_zip_list_release(&list);
	limits.ratio = 300000 / (packed + 1);
	assert_int_equal(tw_zip_read(b.data, b.len, &limits, &out, &err), -1);
	assert_non_null(strstr(err.text, "300000 bytes packed in"));
	limits.ratio = 300000 / packed + 1;
	err = (struct tw_err){ 0 };
	assert_int_equal(tw_zip_read(b.data, b.len, &limits, &out, &err), 0);
	tw_fileset_clear(&out);
	free(b.data);
}

static void each_size_has_its_limit(void **state)
{
	const struct tw_fileset_limits file = { .file_bytes = 9999 };
	const struct tw_fileset_limits total = { .total_bytes = 29999 };
	const struct tw_fileset_limits exact = { 3, 10000, 30000, 1 };
	struct zip_bytes b = pack_zeros(3, 10000);
	struct tw_fileset out = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	zip_refuses(&b, &file, TW_INVALID,
		    "archive member 'zeros0': 10000 bytes, limit is 9999");
	zip_refuses(&b, &total, TW_INVALID, "archive: more than 29999 bytes unpacked");
	assert_int_equal(tw_zip_read(b.data, b.len, &exact, &out, &err), 0);
	tw_fileset_clear(&out);
	free(b.data);
}

/* Falsify the size in the local header and in the directory. */
static void a_wrong_declared_size_is_rejected(void **state)
{
	struct zip_bytes b = pack_zeros(1, 0x2345);

	(void)state;
	assert_int_equal(patch(&b, "\x45\x23\0\0", "\x10\0\0\0", 4), 2);
	zip_refuses(&b, &tw_zip_model_limits, TW_PARSE,
		    "archive member 'zeros0': more than the 16 bytes declared");
	assert_int_equal(patch(&b, "\x10\0\0\0", "\x46\x23\0\0", 4), 2);
	zip_refuses(&b, &tw_zip_model_limits, TW_PARSE,
		    "archive member 'zeros0': less than the 9030 bytes declared");
	free(b.data);
}

static void a_wrong_size_of_a_stored_member_is_rejected(void **state)
{
	const struct zip_member m = { .name = "m",
				      .text = "text",
				      .method = ZIP_CM_STORE };
	struct zip_bytes b = zip_pack(&m, 1);
	char *entry = memmem(b.data, b.len, "PK\1\2", 4);

	(void)state;
	assert_non_null(entry);
	b.data[22] = entry[24] = 3; /* unpacked sizes in header and entry */
	zip_refuses(&b, &tw_zip_model_limits, TW_PARSE,
		    "archive member 'm': more than the 3 bytes declared");
	b.data[22] = entry[24] = 5;
	zip_refuses(&b, &tw_zip_model_limits, TW_PARSE,
		    "archive member 'm': less than the 5 bytes declared");
	free(b.data);
}

static void a_changed_byte_fails_the_crc(void **state)
{
	const struct zip_member m = { .name = "m",
				      .text = "text",
				      .method = ZIP_CM_STORE };
	struct zip_bytes b = zip_pack(&m, 1);

	(void)state;
	assert_int_equal(patch(&b, "text", "next", 4), 1);
	zip_refuses(&b, &tw_zip_model_limits, TW_PARSE, "archive member 'm': CRC error");
	free(b.data);
}

/* The packed bytes follow a local header of 30 bytes and the name. */
static void packed_bytes_that_are_no_deflate_stream_are_rejected(void **state)
{
	const size_t at = 30 + strlen("zeros0");
	struct zip_bytes b = pack_zeros(1, 300);
	const char first = b.data[at];

	(void)state;
	b.data[at] = 7; /* the last block, of type 3, which deflate does not have */
	zip_refuses(&b, &tw_zip_model_limits, TW_PARSE,
		    "archive member 'zeros0': invalid block type");
	b.data[at] = (char)(first & ~1); /* not the last block, but no other follows */
	zip_refuses(&b, &tw_zip_model_limits, TW_PARSE,
		    "archive member 'zeros0': the packed bytes are cut short");
	free(b.data);
}

static void every_truncation_is_rejected(void **state)
{
	const struct zip_member m[] = { { .name = "a", .text = "some text" },
					{ .name = "b", .text = "more text" } };
	struct zip_bytes b = zip_pack(m, 2);

	(void)state;
	for (size_t len = 0; len < b.len; len++) {
		struct tw_fileset out = { 0 };
		struct tw_err err = { 0 };

		assert_int_equal(zip_read_fenced(&(struct zip_bytes){ b.data, len }, true,
						 &tw_zip_model_limits, &out, &err),
				 -1);
		assert_int_equal(err.code, TW_PARSE);
		assert_null(out.at);
	}
	free(b.data);
}

/* The local header is first in the archive; the directory follows the data. */
static void a_directory_that_differs_from_the_headers_is_rejected(void **state)
{
	const struct zip_member m = { .name = "m",
				      .text = "text",
				      .method = ZIP_CM_STORE };
	struct zip_bytes b = zip_pack(&m, 1);
	char *entry = memmem(b.data, b.len, "PK\1\2", 4);
	char *end = memmem(b.data, b.len, "PK\5\6", 4);

	(void)state;
	assert_non_null(entry);
	assert_non_null(end);
	/* Method, CRC and both sizes, length of the name, name (4.3.7). */
	for (size_t i = 8; i <= 30; i += i == 8 ? 6 : i == 26 ? 4 : 1) {
		b.data[i] ^= 1;
		zip_refuses(&b, &tw_zip_model_limits, TW_PARSE,
			    "archive member 'm': header and directory differ");
		b.data[i] ^= 1;
	}
	/* Only flag 8 says that the header has no sizes. */
	b.data[6] = ~8;
	b.data[22] ^= 1;
	zip_refuses(&b, &tw_zip_model_limits, TW_PARSE,
		    "archive member 'm': header and directory differ");
	b.data[6] = 0;
	b.data[22] ^= 1;
	entry[42] = 1; /* offset of the local header */
	zip_refuses(&b, &tw_zip_model_limits, TW_PARSE,
		    "archive member 'm': no header where the directory says");
	entry[42] = 0;
	entry[0] = 'Q';
	zip_refuses(&b, &tw_zip_model_limits, TW_PARSE,
		    "archive: the directory is broken");
	entry[0] = 'P';
	end[10] = 0; /* number of members */
	zip_refuses(&b, &tw_zip_model_limits, TW_PARSE,
		    "archive: more members than the end record says");
	end[10] = 2;
	zip_refuses(&b, &tw_zip_model_limits, TW_PARSE,
		    "archive: the end record gives a wrong place for the directory");
	end[10] = 1;
	end[16]++; /* offset of the directory */
	zip_refuses(&b, &tw_zip_model_limits, TW_PARSE,
		    "archive: the end record gives a wrong place for the directory");
	free(b.data);
}

static void two_end_records_are_rejected(void **state)
{
	static const char locator[20] = "PK\6\7";
	static const char end[22] = "PK\5\6";
	struct zip_bytes b = { malloc(64), 0 };

	(void)state;
	memcpy(b.data, locator, 20);
	memcpy(b.data + 20, end, 22);
	b.len = 42;
	zip_refuses(&b, &tw_zip_model_limits, TW_PARSE,
		    "archive: zip64's end record is not before its locator");
	memcpy(b.data, end, 22);
	memcpy(b.data + 22, end, 22);
	b.data[20] = 22; /* the second end record is the comment of the first */
	b.len = 44;
	zip_refuses(&b, &tw_zip_model_limits, TW_PARSE,
		    "archive: 2 end records, expected one");
	free(b.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_repeated_name_is_rejected),
		cmocka_unit_test(a_ratio_of_a_thousand_is_rejected),
		cmocka_unit_test(members_that_overlap_are_rejected),
		cmocka_unit_test(the_ratio_has_its_limit),
		cmocka_unit_test(each_size_has_its_limit),
		cmocka_unit_test(a_wrong_declared_size_is_rejected),
		cmocka_unit_test(a_wrong_size_of_a_stored_member_is_rejected),
		cmocka_unit_test(a_changed_byte_fails_the_crc),
		cmocka_unit_test(packed_bytes_that_are_no_deflate_stream_are_rejected),
		cmocka_unit_test(every_truncation_is_rejected),
		cmocka_unit_test(a_directory_that_differs_from_the_headers_is_rejected),
		cmocka_unit_test(two_end_records_are_rejected),
	};

	return cmocka_run_group_tests_name("zip lies", tests, NULL, NULL);
}
