/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/err.h"
#include "lib/fileset.h"
#include "lib/zip.h"
#include "tests/unit/fail_alloc.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <zip.h>

struct bytes {
	char *data;
	size_t len;
};

/* A member as a stranger may make it. */
struct member {
	const char *name;
	const char *text;
	mode_t mode;        /* 0: none recorded */
	const char *secret; /* encrypted with this */
	zip_int32_t method;
};

static struct bytes pack(const struct member *m, size_t count)
{
	zip_source_t *src = zip_source_buffer_create(NULL, 0, 0, NULL);
	struct bytes b = { 0 };
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

static void refuses(const struct bytes *b, const struct tw_fileset_limits *limits,
		    enum tw_code code, const char *text)
{
	struct tw_fileset out = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_zip_read(b->data, b->len, limits, &out, &err), -1);
	assert_string_equal(err.text, text);
	assert_int_equal(err.code, code);
	assert_int_equal(out.count, 0);
	assert_null(out.at);
}

static void refuses_member(struct member m, enum tw_code code, const char *text)
{
	struct bytes b = pack(&m, 1);

	refuses(&b, &tw_zip_model_limits, code, text);
	free(b.data);
}

static struct bytes write_set(const struct tw_fileset *s)
{
	struct tw_err err = { 0 };
	struct bytes b = { 0 };

	assert_int_equal(tw_zip_write(s, &b.data, &b.len, &err), 0);
	return b;
}

static void add(struct tw_fileset *s, const char *name, const char *data, size_t len)
{
	struct tw_err err = { 0 };

	assert_int_equal(tw_fileset_add(s, name, data, len, &err), 0);
}

static void what_is_written_reads_back(void **state)
{
	struct tw_fileset in = { 0 }, out = { 0 };
	struct tw_err err = { 0 };
	struct bytes b;

	(void)state;
	add(&in, "rapl-sysfs/AbsPower/m_1.json", "{\"a\":1}", 7);
	add(&in, "empty.csv", "", 0);
	add(&in, "binary", "a\0b\xff", 4);
	b = write_set(&in);
	assert_int_equal(tw_zip_read(b.data, b.len, &tw_zip_model_limits, &out, &err), 0);
	assert_int_equal(out.count, 3);
	assert_string_equal(out.at[0].name, "binary");
	assert_int_equal(out.at[0].len, 4);
	assert_memory_equal(out.at[0].data, "a\0b\xff", 5);
	assert_string_equal(out.at[1].name, "empty.csv");
	assert_int_equal(out.at[1].len, 0);
	assert_string_equal(out.at[1].data, "");
	assert_string_equal(tw_fileset_find(&out, "rapl-sysfs/AbsPower/m_1.json")->data,
			    "{\"a\":1}");
	free(b.data);
	tw_fileset_clear(&in);
	tw_fileset_clear(&out);
}

static void an_empty_set_is_an_empty_archive(void **state)
{
	struct tw_fileset in = { 0 }, out = { 0 };
	struct tw_err err = { 0 };
	struct bytes b = write_set(&in);

	(void)state;
	assert_int_equal(b.len, 22);
	assert_int_equal(tw_zip_read(b.data, b.len, &tw_zip_model_limits, &out, &err), 0);
	assert_int_equal(out.count, 0);
	free(b.data);
}

static void equal_sets_give_equal_bytes_in_any_order_time_and_zone(void **state)
{
	static const char *const zones[] = { "UTC0", "Asia/Tokyo", "America/New_York",
					     "XXX-14", "XXX+12" };
	struct tw_fileset one = { 0 }, two = { 0 };
	struct bytes a, b;

	(void)state;
	add(&one, "b", "2", 1);
	add(&one, "a", "1", 1);
	add(&two, "a", "1", 1);
	add(&two, "b", "2", 1);
	a = write_set(&one);
	/* The first local header: time 0, date 1980-01-01. */
	assert_memory_equal(a.data + 10, "\0\0\x21\0", 4);
	assert_memory_equal(a.data + 30, "a", 1);
	for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++) {
		setenv("TZ", zones[i], 1);
		tzset();
		b = write_set(&two);
		assert_int_equal(a.len, b.len);
		assert_memory_equal(a.data, b.data, a.len);
		free(b.data);
	}
	unsetenv("TZ");
	free(a.data);
	tw_fileset_clear(&one);
	tw_fileset_clear(&two);
}

static void members_are_plain_files_for_everybody(void **state)
{
	struct tw_fileset in = { 0 };
	struct bytes b;
	zip_source_t *src;
	zip_uint32_t attributes;
	zip_uint8_t system;
	zip_t *z;

	(void)state;
	add(&in, "a", "1", 1);
	b = write_set(&in);
	src = zip_source_buffer_create(b.data, b.len, 0, NULL);
	z = zip_open_from_source(src, ZIP_RDONLY, NULL);
	assert_non_null(z);
	assert_int_equal(zip_file_get_external_attributes(z, 0, 0, &system, &attributes),
			 0);
	assert_int_equal(system, ZIP_OPSYS_UNIX);
	assert_int_equal(attributes >> 16, S_IFREG | 0644);
	zip_discard(z);
	free(b.data);
	tw_fileset_clear(&in);
}

static void directories_are_passed_over_and_case_tells_names_apart(void **state)
{
	const struct member m[] = {
		{ .name = "d/", .text = "", .mode = S_IFDIR | 0755 },
		{ .name = "d/x", .text = "1", .mode = S_IFREG | 0600 },
		{ .name = "d/X", .text = "2" }
	};
	struct bytes b = pack(m, 3);
	struct tw_fileset out = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_zip_read(b.data, b.len, &tw_zip_model_limits, &out, &err), 0);
	assert_int_equal(out.count, 2);
	assert_string_equal(tw_fileset_find(&out, "d/x")->data, "1");
	assert_string_equal(tw_fileset_find(&out, "d/X")->data, "2");
	tw_fileset_clear(&out);
	free(b.data);
}

static void names_that_leave_the_archive_are_refused(void **state)
{
	static const char *const names[] = { "../x",  "/etc/x", "a/../x", "a//b", "./a",
					     "..",    "..\\x",  "C:\\x",  "a/..", "../",
					     "a/../", "/",      "~/x",    "a\nb" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct member m = { .name = names[i], .text = "1" };
		struct tw_fileset out = { 0 };
		struct tw_err err = { 0 };
		struct bytes b = pack(&m, 1);

		assert_int_equal(
			tw_zip_read(b.data, b.len, &tw_zip_model_limits, &out, &err), -1);
		assert_int_equal(err.code, TW_INVALID);
		assert_memory_equal(err.text, "archive member '", 16);
		assert_int_equal(out.count, 0);
		free(b.data);
	}
}

static void links_and_devices_are_refused(void **state)
{
	(void)state;
	refuses_member((struct member){ "l", "/etc/passwd", S_IFLNK | 0777, NULL, 0 },
		       TW_INVALID, "archive member 'l': a link or special file");
	refuses_member((struct member){ "c", "", S_IFCHR | 0666, NULL, 0 }, TW_INVALID,
		       "archive member 'c': a link or special file");
	refuses_member((struct member){ "d/", "x", S_IFLNK | 0777, NULL, 0 }, TW_INVALID,
		       "archive member 'd/': a link or special file");
}

static void encrypted_and_rarely_packed_members_are_refused(void **state)
{
	(void)state;
	refuses_member((struct member){ "s", "text", 0, "secret", 0 }, TW_UNSUPPORTED,
		       "archive member 's': encrypted");
	if (zip_compression_method_supported(ZIP_CM_BZIP2, 1))
		refuses_member(
			(struct member){ "b", "text text text", 0, NULL, ZIP_CM_BZIP2 },
			TW_UNSUPPORTED, "archive member 'b': packing method 12");
}

/* Replace every occurrence of one byte string by another of its length. */
static size_t patch(struct bytes *b, const char *from, const char *to, size_t len)
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

static void a_repeated_name_is_refused(void **state)
{
	const struct member m[] = { { .name = "aa", .text = "1" },
				    { .name = "ab", .text = "2" } };
	struct bytes b = pack(m, 2);

	(void)state;
	assert_int_equal(patch(&b, "ab", "aa", 2), 2);
	refuses(&b, &tw_zip_model_limits, TW_INVALID, "archive: two members of one name");
	free(b.data);
}

static void ten_thousand_members_are_refused_by_the_number_alone(void **state)
{
	struct tw_fileset in = { 0 };
	struct bytes b;

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%u", i);
		add(&in, name, "", 0);
	}
	b = write_set(&in);
	refuses(&b, &tw_zip_model_limits, TW_INVALID,
		"archive: 10000 members, limit is 64");
	free(b.data);
	tw_fileset_clear(&in);
}

static struct bytes pack_zeros(size_t files, size_t size)
{
	struct tw_fileset in = { 0 };
	char *zeros = calloc(1, size);
	struct bytes b;

	assert_non_null(zeros);
	for (size_t i = 0; i < files; i++) {
		char name[32];

		snprintf(name, sizeof(name), "zeros%zu", i);
		add(&in, name, zeros, size);
	}
	b = write_set(&in);
	free(zeros);
	tw_fileset_clear(&in);
	return b;
}

static void what_unpacks_a_thousandfold_is_refused(void **state)
{
	struct bytes b = pack_zeros(1, 2 << 20);
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

static void each_size_has_its_limit(void **state)
{
	const struct tw_fileset_limits file = { .file_bytes = 9999 };
	const struct tw_fileset_limits total = { .total_bytes = 29999 };
	const struct tw_fileset_limits exact = { 3, 10000, 30000, 1 };
	struct bytes b = pack_zeros(3, 10000);
	struct tw_fileset out = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	refuses(&b, &file, TW_INVALID,
		"archive member 'zeros0': 10000 bytes, limit is 9999");
	refuses(&b, &total, TW_INVALID, "archive: more than 29999 bytes unpacked");
	assert_int_equal(tw_zip_read(b.data, b.len, &exact, &out, &err), 0);
	tw_fileset_clear(&out);
	free(b.data);
}

/* Sizes stand in the local header and in the directory: both lie alike. */
static void a_size_that_lies_gains_nothing(void **state)
{
	struct bytes b = pack_zeros(1, 0x2345);

	(void)state;
	assert_int_equal(patch(&b, "\x45\x23\0\0", "\x10\0\0\0", 4), 2);
	refuses(&b, &tw_zip_model_limits, TW_PARSE,
		"archive member 'zeros0': more than the 16 bytes declared");
	assert_int_equal(patch(&b, "\x10\0\0\0", "\x46\x23\0\0", 4), 2);
	refuses(&b, &tw_zip_model_limits, TW_PARSE,
		"archive member 'zeros0': less than the 9030 bytes declared");
	free(b.data);
}

static void a_changed_byte_is_found_by_the_sum(void **state)
{
	const struct member m = { .name = "m", .text = "text", .method = ZIP_CM_STORE };
	struct bytes b = pack(&m, 1);

	(void)state;
	assert_int_equal(patch(&b, "text", "next", 4), 1);
	refuses(&b, &tw_zip_model_limits, TW_PARSE, "archive member 'm': CRC error");
	free(b.data);
}

static void every_cut_is_refused(void **state)
{
	const struct member m[] = { { .name = "a", .text = "some text" },
				    { .name = "b", .text = "more text" } };
	struct bytes b = pack(m, 2);

	(void)state;
	for (size_t len = 0; len < b.len; len++) {
		struct tw_fileset out = { 0 };
		struct tw_err err = { 0 };

		assert_int_equal(
			tw_zip_read(b.data, len, &tw_zip_model_limits, &out, &err), -1);
		assert_int_equal(err.code, TW_PARSE);
		assert_null(out.at);
	}
	free(b.data);
}

/* The member's own header is first in the archive, the directory's entry behind it. */
static void a_directory_that_lies_is_found_out(void **state)
{
	const struct member m = { .name = "m", .text = "text", .method = ZIP_CM_STORE };
	struct bytes b = pack(&m, 1);
	char *entry = memmem(b.data, b.len, "PK\1\2", 4);
	char *end = memmem(b.data, b.len, "PK\5\6", 4);

	(void)state;
	assert_non_null(entry);
	assert_non_null(end);
	b.data[30] = 'x';
	refuses(&b, &tw_zip_model_limits, TW_PARSE,
		"archive member 'm': not what the directory says");
	b.data[30] = 'm';
	entry[42] = 1; /* where the member is */
	refuses(&b, &tw_zip_model_limits, TW_PARSE,
		"archive member 'm': not where the directory says");
	entry[42] = 0;
	entry[0] = 'Q';
	refuses(&b, &tw_zip_model_limits, TW_PARSE, "archive: the directory is broken");
	entry[0] = 'P';
	end[10] = 0; /* how many there are */
	refuses(&b, &tw_zip_model_limits, TW_PARSE,
		"archive: more members than its end says");
	end[10] = 1;
	end[16]++; /* where the directory is */
	refuses(&b, &tw_zip_model_limits, TW_PARSE,
		"archive: the directory is not where its end says");
	free(b.data);
}

static void an_archive_has_one_end_and_no_zip64(void **state)
{
	static const char locator[20] = "PK\6\7";
	static const char end[22] = "PK\5\6";
	struct bytes b = { malloc(64), 0 };

	(void)state;
	memcpy(b.data, locator, 20);
	memcpy(b.data + 20, end, 22);
	b.len = 42;
	refuses(&b, &tw_zip_model_limits, TW_UNSUPPORTED, "archive: zip64 is not taken");
	memcpy(b.data, end, 22);
	memcpy(b.data + 22, end, 22);
	b.data[20] = 22; /* the second is the first one's comment */
	b.len = 44;
	refuses(&b, &tw_zip_model_limits, TW_PARSE, "archive: 2 ends, want one");
	free(b.data);
}

static void an_archive_in_an_archive_is_read(void **state)
{
	const struct member m = { .name = "a", .text = "1" };
	struct bytes inner = pack(&m, 1), b;
	struct tw_fileset in = { 0 }, out = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	add(&in, "inner.zip", inner.data, inner.len);
	b = write_set(&in);
	assert_int_equal(tw_zip_read(b.data, b.len, &tw_zip_pipeline_limits, &out, &err),
			 0);
	assert_int_equal(out.at[0].len, inner.len);
	assert_memory_equal(out.at[0].data, inner.data, inner.len);
	free(inner.data);
	free(b.data);
	tw_fileset_clear(&in);
	tw_fileset_clear(&out);
}

static void every_failed_allocation_is_reported(void **state)
{
	struct tw_fileset in = { 0 }, out = { 0 };
	struct bytes b = { 0 };
	int failures = 0;

	(void)state;
	add(&in, "a", "1", 1);
	add(&in, "b", "2", 1);
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_zip_write(&in, &b.data, &b.len, &err);
		if (rc == 0)
			rc = tw_zip_read(b.data, b.len, &tw_zip_model_limits, &out, &err);
		free(b.data);
		b.data = NULL;
		if (!fail_alloc_hit()) {
			assert_int_equal(rc, 0);
			break;
		}
		assert_int_equal(rc, -1);
		assert_int_equal(err.code, TW_NOMEM);
		failures++;
	}
	assert_true(failures >= 4);
	tw_fileset_clear(&in);
	tw_fileset_clear(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_reads_back),
		cmocka_unit_test(an_empty_set_is_an_empty_archive),
		cmocka_unit_test(equal_sets_give_equal_bytes_in_any_order_time_and_zone),
		cmocka_unit_test(members_are_plain_files_for_everybody),
		cmocka_unit_test(directories_are_passed_over_and_case_tells_names_apart),
		cmocka_unit_test(names_that_leave_the_archive_are_refused),
		cmocka_unit_test(links_and_devices_are_refused),
		cmocka_unit_test(encrypted_and_rarely_packed_members_are_refused),
		cmocka_unit_test(a_repeated_name_is_refused),
		cmocka_unit_test(ten_thousand_members_are_refused_by_the_number_alone),
		cmocka_unit_test(what_unpacks_a_thousandfold_is_refused),
		cmocka_unit_test(each_size_has_its_limit),
		cmocka_unit_test(a_size_that_lies_gains_nothing),
		cmocka_unit_test(a_changed_byte_is_found_by_the_sum),
		cmocka_unit_test(every_cut_is_refused),
		cmocka_unit_test(a_directory_that_lies_is_found_out),
		cmocka_unit_test(an_archive_has_one_end_and_no_zip64),
		cmocka_unit_test(an_archive_in_an_archive_is_read),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("zip", tests, NULL, NULL);
}
