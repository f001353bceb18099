/* SPDX-License-Identifier: Apache-2.0 */
/* Archives at the limits of sizes, and those whose members are not where they should be.
 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "tests/unit/in_use.h"
#include "tests/unit/scratch.h"
#include "tests/unit/zip_bytes.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB 1048576u
/* A member of 64 MiB may be packed in so few bytes, but not in less: 200 times. */
#define PACKED_64_MIB 335544u

/* An archive in the making. The packed bytes of its members are zeros. */
struct archive {
	struct tw_buf body, directory;
	unsigned members;
};

static void add_number(struct tw_buf *b, size_t number, int bytes)
{
	for (; bytes > 0; bytes--, number >>= 8) {
		const char byte = (char)(number & 0xff);

		tw_buf_add(b, &byte, 1);
	}
}

static void add_zeros(struct tw_buf *b, size_t count)
{
	char *zeros = calloc(1, count + 1);

	assert_non_null(zeros);
	tw_buf_add(b, zeros, count);
	free(zeros);
}

/* The fields that a local header and an entry share (APPNOTE.TXT 4.3.7, 4.3.12). */
static void add_fields(struct tw_buf *b, const char *name, size_t packed, size_t len,
		       size_t extra)
{
	add_number(b, 20, 2); /* version */
	add_number(b, 0, 2);  /* flags */
	add_number(b, TW_ZIP_DEFLATED, 2);
	add_zeros(b, 8); /* time, CRC */
	add_number(b, packed, 4);
	add_number(b, len, 4);
	add_number(b, strlen(name), 2);
	add_number(b, extra, 2);
}

/* An entry for a local header at the offset. */
static void add_entry(struct archive *a, const char *name, size_t packed, size_t len,
		      size_t offset)
{
	tw_buf_adds(&a->directory, "PK\1\2");
	add_number(&a->directory, 20, 2);
	add_fields(&a->directory, name, packed, len, 0);
	add_zeros(&a->directory, 10); /* comment, disk, attributes */
	add_number(&a->directory, offset, 4);
	tw_buf_adds(&a->directory, name);
	a->members++;
}

static void add_header(struct tw_buf *b, const char *name, size_t packed, size_t len,
		       size_t extra)
{
	tw_buf_adds(b, "PK\3\4");
	add_fields(b, name, packed, len, extra);
	tw_buf_adds(b, name);
}

static void add_member(struct archive *a, size_t packed, size_t len)
{
	char name[16];

	snprintf(name, sizeof(name), "f%u", a->members);
	add_entry(a, name, packed, len, a->body.len);
	add_header(&a->body, name, packed, len, 0);
	add_zeros(&a->body, packed);
}

/* The archive is empty afterwards. */
static struct zip_bytes finish(struct archive *a, size_t comment)
{
	const size_t start = a->body.len, size = a->directory.len;
	struct zip_bytes b;

	tw_buf_add(&a->body, a->directory.data, size);
	tw_buf_adds(&a->body, "PK\5\6");
	add_zeros(&a->body, 4);
	add_number(&a->body, a->members, 2);
	add_number(&a->body, a->members, 2);
	add_number(&a->body, size, 4);
	add_number(&a->body, start, 4);
	add_number(&a->body, comment, 2);
	add_zeros(&a->body, comment);
	b.data = tw_buf_detach(&a->body, &b.len);
	assert_non_null(b.data);
	tw_buf_clear(&a->directory);
	*a = (struct archive){ 0 };
	return b;
}

/* Assert that the list is read (text is NULL), or rejected with the text. */
static void listed(struct zip_bytes b, const struct tw_fileset_limits *limits,
		   const char *text)
{
	struct tw_zip_list list = { 0 };
	struct tw_err err = { 0 };
	const int rc = tw_zip_list_read(b.data, b.len, limits, &list, &err);

	assert_string_equal(err.text, text != NULL ? text : "");
	assert_int_equal(rc, text != NULL ? -1 : 0);
	tw_zip_list_release(&list);
	free(b.data);
}

static void a_number_of_members_is_allowed(void **state)
{
	static const struct {
		const struct tw_fileset_limits *limits;
		unsigned max;
		const char *text;
	} cases[] = {
		{ &tw_zip_model_limits, 64, "archive: 65 members, limit is 64" },
		{ &tw_zip_pipeline_limits, 20000,
		  "archive: 20001 members, limit is 20000" },
	};

	(void)state;
	for (size_t i = 0; i < 2; i++)
		for (unsigned more = 0; more < 2; more++) {
			struct archive a = { 0 };

			while (a.members < cases[i].max + more)
				add_member(&a, 0, 0);
			listed(finish(&a, 0), cases[i].limits,
			       more > 0 ? cases[i].text : NULL);
		}
}

static void a_member_has_64_mib_and_a_set_has_its_sum(void **state)
{
	static const struct {
		const struct tw_fileset_limits *limits;
		unsigned members; /* of 64 MiB */
		const char *text;
	} cases[] = {
		{ &tw_zip_model_limits, 2,
		  "archive: more than 134217728 bytes unpacked" },
		{ &tw_zip_pipeline_limits, 16,
		  "archive: more than 1073741824 bytes unpacked" },
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct archive a = { 0 };

		add_member(&a, PACKED_64_MIB, 64 * MIB + 1);
		listed(finish(&a, 0), cases[i].limits,
		       "archive member 'f0': 67108865 bytes, limit is 67108864");
		for (size_t more = 0; more < 2; more++) {
			while (a.members < cases[i].members)
				add_member(&a, PACKED_64_MIB, 64 * MIB);
			add_member(&a, more, more);
			listed(finish(&a, 0), cases[i].limits,
			       more > 0 ? cases[i].text : NULL);
		}
	}
}

/* len / packed, rounded down, may not exceed the ratio from 64 KiB on. */
static void a_member_may_be_packed_in_a_200th(void **state)
{
	static const struct {
		size_t packed, len;
		const char *text;
	} cases[] = {
		{ 1, 65536, NULL },
		{ 1, 65537,
		  "archive member 'f0': 65537 bytes packed in 1, limit is 200 times" },
		{ 400, 200 * 401 - 1, NULL },
		{ 400, 200 * 401,
		  "archive member 'f0': 80200 bytes packed in 400, limit is 200 times" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct archive a = { 0 };

		add_member(&a, cases[i].packed, cases[i].len);
		listed(finish(&a, 0), &tw_zip_model_limits, cases[i].text);
		add_member(&a, cases[i].packed, cases[i].len);
		listed(finish(&a, 0), &tw_zip_pipeline_limits, cases[i].text);
	}
}

/* The end record is searched as far from the end as its longest comment. */
static void a_comment_has_at_most_65535_bytes(void **state)
{
	static const size_t lengths[] = { 1, 65534, 65535 };
	static const char none[] = "archive: no end record: not a zip, or cut short";
	struct archive a = { 0 };
	struct zip_bytes b;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		add_member(&a, 100, 100);
		listed(finish(&a, lengths[i]), &tw_zip_model_limits, NULL);
	}
	/* An end record in a comment reaches to its end; this one ends before. */
	add_member(&a, 1, 1);
	b = finish(&a, 30);
	memcpy(b.data + b.len - 30, "PK\5\6", 4);
	listed(b, &tw_zip_model_limits, NULL);
	add_member(&a, 1, 1);
	b = finish(&a, 30);
	b.len--;
	listed(b, &tw_zip_model_limits, none);
}

/* What follows an end record's first four bytes is the number of its disk. */
static void an_end_record_is_known_by_four_bytes(void **state)
{
	struct archive a = { 0 };
	struct zip_bytes b;

	(void)state;
	add_member(&a, 1, 1);
	b = finish(&a, 0);
	b.data[b.len - 22 + 4] = 1;
	b.data[b.len - 22 + 10] = 9; /* members */
	listed(b, &tw_zip_model_limits,
	       "archive: the end record gives a wrong place for the directory");
}

/* Every header in front of the directory is whole. */
static void a_header_may_not_reach_into_the_directory(void **state)
{
	static const char lost[] = "archive member 'PK': no header where the directory "
				   "says";
	struct archive a = { 0 };
	struct zip_bytes b;

	(void)state;
	/* Its name would be the directory's first two bytes. */
	add_entry(&a, "PK", 0, 0, 10);
	add_zeros(&a.body, 10);
	add_header(&a.body, "PK", 0, 0, 0);
	a.body.len -= 2;
	b = finish(&a, 0);
	zip_refuses(&b, &tw_zip_model_limits, TW_PARSE, lost);
	free(b.data);
	/* It is the entry's comment. */
	add_entry(&a, "PK", 0, 0, 48);
	add_header(&a.directory, "PK", 0, 0, 0);
	a.directory.data[32] = 32; /* length of the comment */
	b = finish(&a, 0);
	zip_refuses(&b, &tw_zip_model_limits, TW_PARSE, lost);
	b.data[42] = -1; /* far behind the archive */
	b.data[45] = -1;
	zip_refuses(&b, &tw_zip_model_limits, TW_PARSE, lost);
	free(b.data);
}

/* After the header come its extra bytes, then the packed ones, then the directory. */
static void a_member_may_not_reach_into_the_directory(void **state)
{
	static const struct {
		size_t extra, packed, room;
	} cases[] = { { 0, 5, 4 }, { 5, 0, 4 }, { 3, 2, 4 }, { 3, 2, 5 } };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const size_t packed = cases[i].packed;
		struct archive a = { 0 };

		add_entry(&a, "m", packed, packed, 10);
		add_zeros(&a.body, 10);
		add_header(&a.body, "m", packed, packed, cases[i].extra);
		add_zeros(&a.body, cases[i].room);
		listed(finish(&a, 0), &tw_zip_model_limits,
		       cases[i].room < 5 ? "archive member 'm': cut short" : NULL);
	}
}

/* Each alone would fit in front of the directory. */
static void members_that_share_their_bytes_are_rejected(void **state)
{
	struct archive a = { 0 };

	(void)state;
	/* Three headers of 32 bytes and 20 bytes; the members want 50 + 50 + 20. */
	for (size_t i = 0; i < 3; i++) {
		const char name[] = { 'f', (char)('0' + i), '\0' };
		const size_t len = i < 2 ? 50 : 20;

		add_entry(&a, name, len, len, i * 32);
		add_header(&a.body, name, len, len, 0);
	}
	add_zeros(&a.body, 20);
	listed(finish(&a, 0), &tw_zip_model_limits,
	       "archive member 'f2': overlaps another");
}

static void the_directory_may_not_be_cut_short(void **state)
{
	struct archive a = { 0 };
	struct zip_bytes b;

	(void)state;
	add_member(&a, 0, 0);
	b = finish(&a, 0);
	/* Of the directory's 48 bytes 46 are the entry, 2 the name: none is left. */
	for (size_t at = 28; at <= 32; at += 2) {
		b.data[32 + at]++;
		zip_refuses(&b, &tw_zip_model_limits, TW_PARSE,
			    "archive: the directory is cut short");
		b.data[32 + at]--;
	}
	free(b.data);
	/* The end record counts a second entry of 45 bytes. */
	add_member(&a, 0, 0);
	a.members = 2;
	tw_buf_adds(&a.directory, "PK\1\2");
	add_zeros(&a.directory, 41);
	b = finish(&a, 0);
	zip_refuses(&b, &tw_zip_model_limits, TW_PARSE,
		    "archive: the directory is broken");
	free(b.data);
}

static void a_name_is_neither_empty_nor_has_a_nul(void **state)
{
	struct archive a = { 0 };
	struct zip_bytes b;

	(void)state;
	add_entry(&a, "", 0, 0, 0);
	add_header(&a.body, "", 0, 0, 0);
	listed(finish(&a, 0), &tw_zip_model_limits, "archive: member without a name");
	add_entry(&a, "abc", 0, 0, 0);
	add_header(&a.body, "abc", 0, 0, 0);
	b = finish(&a, 0);
	b.data[32] = b.data[33 + 46 + 2] = '\0';
	listed(b, &tw_zip_model_limits,
	       "archive: name of a member: text contains a NUL byte");
}

/* The repeated name is first and last in the archive. */
static void a_name_may_not_come_back_later(void **state)
{
	static const char *const names[] = { "b", "c", "a", "b" };
	struct archive a = { 0 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		add_entry(&a, names[i], 0, 0, a.body.len);
		add_header(&a.body, names[i], 0, 0, 0);
	}
	listed(finish(&a, 0), &tw_zip_model_limits,
	       "archive: two members have the same name");
}

static uint64_t sum_of_list(struct zip_bytes b, struct tw_zip_list *list)
{
	struct tw_err err = { 0 };

	assert_int_equal(
		tw_zip_list_read(b.data, b.len, &tw_zip_model_limits, list, &err), 0);
	return tw_zip_list_sum(list);
}

static uint64_t sum_of(const struct zip_member *m, size_t count)
{
	struct zip_bytes b = zip_pack(m, count);
	struct tw_zip_list list = { 0 };
	const uint64_t sum = sum_of_list(b, &list);

	for (size_t i = 0; i < count; i++)
		assert_string_equal(tw_zip_list_find(&list, m[i].name)->name, m[i].name);
	assert_null(tw_zip_list_find(&list, "none"));
	tw_zip_list_release(&list);
	free(b.data);
	return sum;
}

static void the_sum_is_of_names_and_bytes(void **state)
{
	static const char text[] = "text text text text text text text text";
	const struct zip_member first[] = { { .name = "a", .text = text },
					    { .name = "b", .text = "2" } };
	const struct zip_member same[] = {
		{ .name = "b", .text = "2" },
		{ .name = "a", .text = text, .method = ZIP_CM_STORE },
	};
	const struct zip_member other[][2] = {
		{ { .name = "a", .text = text }, { .name = "c", .text = "2" } },
		{ { .name = "a", .text = text }, { .name = "b", .text = "3" } },
		{ { .name = "a", .text = "3" }, { .name = "b", .text = "2" } },
		{ { .name = "a", .text = "2" }, { .name = "b", .text = text } },
	};
	const uint64_t sum = sum_of(first, 2);

	(void)state;
	assert_int_equal(sum_of(same, 2), sum);
	for (size_t i = 0; i < 4; i++)
		assert_int_not_equal(sum_of(other[i], 2), sum);
	assert_int_not_equal(sum_of(first, 1), sum);
}

/* Both have the same CRC in their directories. */
static void the_sum_is_of_lengths(void **state)
{
	uint64_t sums[2];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct tw_zip_list list = { 0 };
		struct archive a = { 0 };
		struct zip_bytes b;

		add_member(&a, 10, 10 + i);
		b = finish(&a, 0);
		sums[i] = sum_of_list(b, &list);
		tw_zip_list_release(&list);
		free(b.data);
	}
	assert_int_not_equal(sums[0], sums[1]);
}

/* A name takes 32 bytes. */
static void a_released_list_frees_its_names(void **state)
{
	size_t before = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		struct archive a = { 0 };

		while (a.members < 3)
			add_member(&a, 1, 1);
		listed(finish(&a, 0), &tw_zip_model_limits, NULL);
		if (i == 100)
			before = bytes_in_use();
	}
	assert_true(bytes_in_use() < before + 99 * 32);
}

static void path_refused(const char *path, size_t max, const char *text)
{
	struct tw_fileset out = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_zip_read_path(path, max, &tw_zip_model_limits, &out, &err),
			 -1);
	if (strstr(err.text, text) == NULL || strstr(err.text, path) == NULL)
		fail_msg("%s", err.text);
	assert_null(out.at);
}

static void a_path_is_of_an_archive_or_a_directory(void **state)
{
	const struct zip_member m = { .name = "m", .text = "text" };
	struct zip_bytes b = zip_pack(&m, 1);
	char *dir = scratch_new(), file[512];
	struct tw_err err = { 0 };

	(void)state;
	snprintf(file, sizeof(file), "%s/m", dir);
	path_refused(file, 1000, "cannot read");
	assert_int_equal(tw_file_create(file, b.data, b.len, &err), 0);
	for (int i = 0; i < 2; i++) {
		struct tw_fileset out = { 0 };

		assert_int_equal(tw_zip_read_path(i == 0 ? file : dir, b.len,
						  &tw_zip_model_limits, &out, &err),
				 0);
		assert_int_equal(out.count, 1);
		assert_string_equal(out.at[0].name, "m");
		assert_int_equal(out.at[0].len, i == 0 ? 4 : b.len);
		tw_fileset_clear(&out);
	}
	path_refused(file, b.len - 1, "m'");
	assert_int_equal(tw_file_replace(file, "text", 4, &err), 0);
	path_refused(file, 1000, "m': archive: 4 bytes are too few for a zip");
	free(b.data);
	scratch_free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_of_members_is_allowed),
		cmocka_unit_test(a_member_has_64_mib_and_a_set_has_its_sum),
		cmocka_unit_test(a_member_may_be_packed_in_a_200th),
		cmocka_unit_test(a_comment_has_at_most_65535_bytes),
		cmocka_unit_test(an_end_record_is_known_by_four_bytes),
		cmocka_unit_test(a_header_may_not_reach_into_the_directory),
		cmocka_unit_test(a_member_may_not_reach_into_the_directory),
		cmocka_unit_test(members_that_share_their_bytes_are_rejected),
		cmocka_unit_test(the_directory_may_not_be_cut_short),
		cmocka_unit_test(a_name_is_neither_empty_nor_has_a_nul),
		cmocka_unit_test(a_name_may_not_come_back_later),
		cmocka_unit_test(the_sum_is_of_names_and_bytes),
		cmocka_unit_test(the_sum_is_of_lengths),
		cmocka_unit_test(a_released_list_frees_its_names),
		cmocka_unit_test(a_path_is_of_an_archive_or_a_directory),
	};

	return cmocka_run_group_tests_name("zip limits", tests, NULL, NULL);
}
