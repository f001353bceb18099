/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "lib/zip/zip_store.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/zip_bytes.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <zip.h>

static void refuses_member(struct zip_member m, enum tw_code code, const char *text)
{
	struct zip_bytes b = zip_pack(&m, 1);

	zip_refuses(&b, &tw_zip_model_limits, code, text);
	free(b.data);
}

static void a_written_archive_reads_back(void **state)
{
	struct tw_fileset in = { 0 }, out = { 0 };
	struct tw_err err = { 0 };
	struct zip_bytes b;

	(void)state;
	zip_add_to(&in, "rapl-sysfs/AbsPower/m_1.json", "{\"a\":1}", 7);
	zip_add_to(&in, "empty.csv", "", 0);
	zip_add_to(&in, "binary", "a\0b\xff", 4);
	b = zip_write_set(&in);
	assert_int_equal(b.data[b.len], '\0');
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
	struct zip_bytes b = zip_write_set(&in);

	(void)state;
	assert_int_equal(b.len, 22);
	assert_int_equal(b.data[22], '\0');
	for (int at_end = 0; at_end < 2; at_end++) {
		assert_int_equal(
			zip_read_fenced(&b, at_end, &tw_zip_model_limits, &out, &err), 0);
		assert_int_equal(out.count, 0);
	}
	free(b.data);
}

static void equal_sets_give_equal_bytes_in_any_order_time_and_zone(void **state)
{
	static const char *const zones[] = { "UTC0", "Asia/Tokyo", "America/New_York",
					     "XXX-14", "XXX+12" };
	struct tw_fileset one = { 0 }, two = { 0 };
	struct zip_bytes a, b;

	(void)state;
	zip_add_to(&one, "b", "2", 1);
	zip_add_to(&one, "a", "1", 1);
	zip_add_to(&two, "a", "1", 1);
	zip_add_to(&two, "b", "2", 1);
	a = zip_write_set(&one);
	/* The first local header: time 0, date 1980-01-01. */
	assert_memory_equal(a.data + 10, "\0\0\x21\0", 4);
	assert_memory_equal(a.data + 30, "a", 1);
	for (size_t i = 0; i < TW_COUNT(zones); i++) {
		setenv("TZ", zones[i], 1);
		tzset();
		b = zip_write_set(&two);
		assert_int_equal(a.len, b.len);
		assert_memory_equal(a.data, b.data, a.len);
		free(b.data);
	}
	unsetenv("TZ");
	free(a.data);
	tw_fileset_clear(&one);
	tw_fileset_clear(&two);
}

static void members_are_plain_files_of_mode_0644(void **state)
{
	struct tw_fileset in = { 0 };
	struct zip_bytes b;
	zip_source_t *src;
	zip_uint32_t attributes;
	zip_uint8_t system;
	zip_t *z;

	(void)state;
	zip_add_to(&in, "a", "1", 1);
	b = zip_write_set(&in);
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

static void directories_are_skipped_and_names_are_case_sensitive(void **state)
{
	const struct zip_member m[] = {
		{ .name = "d/", .text = "", .mode = S_IFDIR | 0755 },
		{ .name = "d/x", .text = "1", .mode = S_IFREG | 0600 },
		{ .name = "d/X", .text = "2" },
		{ .name = "d/untyped", .text = "3", .mode = 0600 },
	};
	struct zip_bytes b = zip_pack(m, 4);
	struct tw_fileset out = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_zip_read(b.data, b.len, &tw_zip_model_limits, &out, &err), 0);
	assert_int_equal(out.count, 3);
	assert_string_equal(tw_fileset_find(&out, "d/x")->data, "1");
	assert_string_equal(tw_fileset_find(&out, "d/X")->data, "2");
	tw_fileset_clear(&out);
	free(b.data);
}

static void names_that_leave_the_archive_are_rejected(void **state)
{
	static const char *const names[] = { "../x",  "/etc/x", "a/../x", "a//b", "./a",
					     "..",    "..\\x",  "\\x",    "a/..", "../",
					     "a/../", "/",      "~/x",    "a\nb" };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(names); i++) {
		struct zip_member m = { .name = names[i], .text = "1" };
		struct tw_fileset out = { 0 };
		struct tw_err err = { 0 };
		struct zip_bytes b = zip_pack(&m, 1);

		assert_int_equal(
			tw_zip_read(b.data, b.len, &tw_zip_model_limits, &out, &err), -1);
		assert_int_equal(err.code, TW_INVALID);
		assert_memory_equal(err.text, "archive member '", 16);
		assert_int_equal(out.count, 0);
		free(b.data);
	}
}

/* As Finder and Windows PowerShell pack a directory. */
static void names_of_other_systems_are_read(void **state)
{
	const struct zip_member m[] = {
		{ .name = "d\\", .text = "", .mode = S_IFDIR | 0755 },
		{ .name = "d\\x", .text = "1" },
		{ .name = ".DS_Store", .text = "2" },
		{ .name = "d/.DS_Store", .text = "2" },
		{ .name = "__MACOSX/", .text = "", .mode = S_IFDIR | 0755 },
		{ .name = "__MACOSX/d/._x", .text = "2" },
		{ .name = "d/._x", .text = "2" },
		{ .name = "__MACOSX_", .text = "3" },
	};
	struct zip_bytes b = zip_pack(m, TW_COUNT(m));
	struct tw_fileset out = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	if (tw_zip_read(b.data, b.len, &tw_zip_model_limits, &out, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(out.count, 2);
	assert_string_equal(tw_fileset_find(&out, "d/x")->data, "1");
	assert_string_equal(tw_fileset_find(&out, "__MACOSX_")->data, "3");
	tw_fileset_clear(&out);
	free(b.data);
}

static void links_and_devices_are_rejected(void **state)
{
	(void)state;
	refuses_member((struct zip_member){ "l", "/etc/passwd", S_IFLNK | 0777, NULL, 0 },
		       TW_INVALID, "archive member 'l': a link or special file");
	refuses_member((struct zip_member){ "c", "", S_IFCHR | 0666, NULL, 0 },
		       TW_INVALID, "archive member 'c': a link or special file");
	refuses_member((struct zip_member){ "d/", "x", S_IFLNK | 0777, NULL, 0 },
		       TW_INVALID, "archive member 'd/': a link or special file");
}

static void encrypted_members_and_other_methods_are_rejected(void **state)
{
	(void)state;
	refuses_member((struct zip_member){ "s", "text", 0, "secret", 0 }, TW_UNSUPPORTED,
		       "archive member 's': encrypted");
	if (zip_compression_method_supported(ZIP_CM_BZIP2, 1))
		refuses_member((struct zip_member){ "b", "text text text", 0, NULL,
						    ZIP_CM_BZIP2 },
			       TW_UNSUPPORTED,
			       "archive member 'b': packing method 12 is not supported");
}

static void an_archive_in_an_archive_is_read(void **state)
{
	const struct zip_member m = { .name = "a", .text = "1" };
	struct zip_bytes inner = zip_pack(&m, 1), b;
	struct tw_fileset in = { 0 }, out = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	zip_add_to(&in, "inner.zip", inner.data, inner.len);
	b = zip_write_set(&in);
	assert_int_equal(tw_zip_read(b.data, b.len, &tw_zip_pipeline_limits, &out, &err),
			 0);
	assert_int_equal(out.at[0].len, inner.len);
	assert_memory_equal(out.at[0].data, inner.data, inner.len);
	free(inner.data);
	free(b.data);
	tw_fileset_clear(&in);
	tw_fileset_clear(&out);
}

/*
 * As `zip - m | cat` writes it: the local header has no sizes, and they follow the data
 * in a descriptor (APPNOTE 4.3.9).
 */
static void an_archive_that_was_written_to_a_pipe_is_read(void **state)
{
	enum { HEAD = 30 + 1 + 4, DESCRIPTOR = 16 };
	const struct zip_member m = { .name = "m",
				      .text = "text",
				      .method = ZIP_CM_STORE };
	struct zip_bytes b = zip_pack(&m, 1);
	char *s = malloc(b.len + DESCRIPTOR), *rest = s + HEAD + DESCRIPTOR;
	struct tw_fileset out = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_non_null(s);
	memcpy(s, b.data, HEAD);
	memcpy(s + HEAD, "PK\7\10", 4);
	memcpy(s + HEAD + 4, b.data + 14, 12); /* CRC and both sizes */
	memcpy(rest, b.data + HEAD, b.len - HEAD);
	assert_memory_equal(rest, "PK\1\2", 4);
	memset(s + 14, 0, 12);
	s[6] |= 8;
	rest[8] |= 8;
	s[b.len + DESCRIPTOR - 22 + 16] += DESCRIPTOR; /* offset of the directory */
	if (tw_zip_read(s, b.len + DESCRIPTOR, &tw_zip_model_limits, &out, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(tw_fileset_find(&out, "m")->data, "text");
	tw_fileset_clear(&out);
	free(s);
	free(b.data);
}

static void every_failed_allocation_is_reported(void **state)
{
	struct tw_fileset in = { 0 }, out = { 0 };
	struct zip_bytes b = { 0 };
	int failures = 0;

	(void)state;
	zip_add_to(&in, "a", "1", 1);
	zip_add_to(&in, "b", "2", 1);
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_zip_write(&in, &b.data, &b.len, &err);
		if (rc == 0)
			rc = tw_zip_read(b.data, b.len, &tw_zip_model_limits, &out, &err);
		free(b.data);
		b.data = NULL;
		if (!fail_alloc_told(rc, &err))
			break;
		failures++;
	}
	assert_true(failures >= 4);
	tw_fileset_clear(&in);
	tw_fileset_clear(&out);
}

static void a_stored_zip_is_a_zip(void **state)
{
	struct tw_fileset in = { 0 }, out = { 0 };
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(
		tw_fileset_take(&in, "metadata.json", strdup("{\"a\":1}"), 7, &err), 0);
	assert_int_equal(tw_fileset_take(&in, "empty", strdup(""), 0, &err), 0);
	assert_int_equal(tw_zip_store(&in, &b, &err), 0);
	assert_int_equal(tw_zip_read(b.data, b.len, &tw_zip_model_limits, &out, &err), 0);
	assert_int_equal(out.count, 2);
	for (size_t i = 0; i < 2; i++)
		if (strcmp(out.at[i].name, "metadata.json") == 0)
			assert_memory_equal(out.at[i].data, "{\"a\":1}", 7);
	tw_fileset_clear(&in);
	tw_fileset_clear(&out);
	tw_buf_clear(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_written_archive_reads_back),
		cmocka_unit_test(an_empty_set_is_an_empty_archive),
		cmocka_unit_test(equal_sets_give_equal_bytes_in_any_order_time_and_zone),
		cmocka_unit_test(members_are_plain_files_of_mode_0644),
		cmocka_unit_test(directories_are_skipped_and_names_are_case_sensitive),
		cmocka_unit_test(names_that_leave_the_archive_are_rejected),
		cmocka_unit_test(names_of_other_systems_are_read),
		cmocka_unit_test(links_and_devices_are_rejected),
		cmocka_unit_test(encrypted_members_and_other_methods_are_rejected),
		cmocka_unit_test(an_archive_in_an_archive_is_read),
		cmocka_unit_test(an_archive_that_was_written_to_a_pipe_is_read),
		cmocka_unit_test(every_failed_allocation_is_reported),
		cmocka_unit_test(a_stored_zip_is_a_zip),
	};

	return cmocka_run_group_tests_name("zip", tests, NULL, NULL);
}
