/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/base64.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/sha256.h"
#include "lib/zip/fileset.h"
#include "model-db/manifest.h"
#include "tests/unit/fail_alloc.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* FIPS 180-4's examples, and lengths at which the padding takes one more block. */
static void digests_are_those_of_the_standard(void **state)
{
	static const struct {
		char byte;
		size_t len;
		const char *text, *digest;
	} cases[] = {
		{ 0, 0, "",
		  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ 0, 0, "abc",
		  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ 0, 0, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
		{ 'a', 1000000, NULL,
		  "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const size_t len = cases[i].text ? strlen(cases[i].text) : cases[i].len;
		char *data = malloc(len + 1), got[TW_SHA256_TEXT];

		assert_non_null(data);
		if (cases[i].text != NULL)
			memcpy(data, cases[i].text, len);
		else
			memset(data, cases[i].byte, len);
		tw_sha256_text(data, len, got);
		assert_string_equal(got, cases[i].digest);
		free(data);
	}
}

static void base64_reads_back_and_other_text_is_refused(void **state)
{
	static const char *const bad[] = { "A",    "AA=",  "A===", "AA=A",    "AB==",
					   "AAB=", "AA A", "AAA*", "AA==AAAA" };
	unsigned char data[64];

	(void)state;
	for (size_t n = 0; n < sizeof(data); n++) {
		struct tw_err err = { 0 };
		struct tw_buf b = { 0 };
		char *back = NULL;
		size_t len;

		for (size_t i = 0; i < n; i++)
			data[i] = (unsigned char)(i * 37 + n);
		tw_buf_add_base64(&b, data, n);
		assert_int_equal(
			tw_base64_read(b.len > 0 ? b.data : "", b.len, &back, &len, &err),
			0);
		assert_int_equal(len, n);
		assert_memory_equal(back, data, n);
		free(back);
		tw_buf_clear(&b);
	}
	for (size_t i = 0; i < TW_COUNT(bad); i++) {
		struct tw_err err = { 0 };
		char *back;
		size_t len;

		assert_int_equal(
			tw_base64_read(bad[i], strlen(bad[i]), &back, &len, &err), -1);
		assert_int_equal(err.code, TW_PARSE);
	}
}

static const struct tw_manifest_id id = { "p", 7 };

static void make(struct tw_fileset *s)
{
	struct tw_err err = { 0 };

	assert_int_equal(tw_fileset_add(s, "b/c", "two", 3, &err), 0);
	assert_int_equal(tw_fileset_add(s, "a", "one", 3, &err), 0);
	assert_int_equal(tw_manifest_add(s, &id, &err), 0);
}

static void refused(struct tw_fileset *s, enum tw_code code, const char *text)
{
	struct tw_err err = { 0 };

	assert_int_equal(tw_manifest_check(s, NULL, &err), -1);
	assert_string_equal(err.text, text);
	assert_int_equal(err.code, code);
	tw_fileset_clear(s);
}

static void a_set_is_exactly_what_its_manifest_lists(void **state)
{
	struct tw_fileset s = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	make(&s);
	assert_int_equal(tw_manifest_check(&s, NULL, &err), 0);
	/* Again: the old one is replaced. */
	assert_int_equal(tw_manifest_add(&s, &id, &err), 0);
	assert_int_equal(s.count, 3);
	assert_int_equal(tw_manifest_check(&s, NULL, &err), 0);

	s.at[0].data[0] = 'O';
	refused(&s, TW_INVALID, "'a': its SHA-256 is not that of manifest.json");
	make(&s);
	s.at[0].len--;
	refused(&s, TW_INVALID, "'a': 2 bytes, manifest.json lists 3");
	make(&s);
	assert_int_equal(tw_fileset_add(&s, "more", "", 0, &err), 0);
	refused(&s, TW_INVALID, "manifest.json: 'more' is not listed");
	make(&s);
	free(s.at[0].name);
	free(s.at[0].data);
	s.at[0] = s.at[--s.count];
	refused(&s, TW_INVALID, "manifest.json: 'a' is listed but missing");
	assert_int_equal(tw_fileset_add(&s, "a", "", 0, &err), 0);
	refused(&s, TW_NOTFOUND, "there is no manifest.json");
	assert_int_equal(tw_fileset_add(&s, "manifest.json",
					"{\"format_version\":2,\"files\":{}}", 31, &err),
			 0);
	refused(&s, TW_UNSUPPORTED, "manifest.json.format_version: 2, want 1");
}

static void a_manifest_without_whole_figures_is_refused(void **state)
{
#define DIGEST "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
	static const struct {
		const char *entry, *text;
	} bad[] = {
		{ "{\"size\":3,\"sha256\":\"2c26b46b\"}", "its SHA-256 is not that of" },
		{ "{\"size\":3,\"sha256\":\"\"}", "its SHA-256 is not that of" },
		{ "{\"size\":3,\"sha256\":\"" DIGEST "00\"}",
		  "its SHA-256 is not that of" },
		{ "{\"size\":3}", "manifest.json: a" },
		{ "{\"sha256\":\"" DIGEST "\"}", "manifest.json: a" },
		{ "{\"size\":-1,\"sha256\":\"" DIGEST "\"}", "manifest.json: a" },
		{ "[]", "manifest.json: a" },
	};

	(void)state;
	for (size_t i = 0; i <= TW_COUNT(bad); i++) {
		const bool good = i == TW_COUNT(bad);
		struct tw_fileset s = { 0 };
		struct tw_err err = { 0 };
		char text[300];

		snprintf(text, sizeof(text),
			 "{\"format_version\":1,\"files\":{\"a\":%s}}",
			 good ? "{\"size\":3,\"sha256\":\"" DIGEST "\"}" : bad[i].entry);
		assert_int_equal(tw_fileset_add(&s, "a", "foo", 3, &err), 0);
		assert_int_equal(
			tw_fileset_add(&s, "manifest.json", text, strlen(text), &err), 0);
		assert_int_equal(tw_manifest_check(&s, NULL, &err), good ? 0 : -1);
		if (!good && strstr(err.text, bad[i].text) == NULL)
			fail_msg("'%s' is not in: %s", bad[i].text, err.text);
		tw_fileset_clear(&s);
	}
}

static void names_and_versions_are_read_and_checked(void **state)
{
	static const struct {
		const char *more, *text;
	} bad[] = {
		{ "\"pipeline\":\"p\"", "want both pipeline and version, or neither" },
		{ "\"version\":1", "want both pipeline and version, or neither" },
		{ "\"pipeline\":\"../p\",\"version\":1",
		  "manifest.json.pipeline '../p'" },
		{ "\"pipeline\":\"p\",\"version\":0", "manifest.json.version" },
		{ "\"pipeline\":\"p\",\"version\":9007199254740992",
		  "manifest.json.version" },
	};
	struct tw_manifest_id got = { "x", 1 };
	struct tw_fileset s = { 0 };
	struct tw_err err = { 0 };
	const struct tw_fileset_file *f;
	char text[200];

	(void)state;
	make(&s);
	assert_int_equal(tw_manifest_check(&s, &got, &err), 0);
	assert_string_equal(got.pipeline, "p");
	assert_int_equal(got.version, 7);
	f = tw_fileset_find(&s, "manifest.json");
	got = (struct tw_manifest_id){ "", 0 };
	assert_int_equal(tw_manifest_read_id(f->data, f->len, &got, &err), 0);
	assert_int_equal(got.version, 7);
	tw_fileset_clear(&s);

	strcpy(text, "{\"format_version\":1,\"files\":{}}");
	assert_int_equal(tw_manifest_read_id(text, strlen(text), &got, &err), 0);
	assert_string_equal(got.pipeline, "");
	assert_int_equal(got.version, 0);
	for (size_t i = 0; i < TW_COUNT(bad); i++) {
		err = (struct tw_err){ 0 };
		snprintf(text, sizeof(text), "{\"format_version\":1,%s,\"files\":{}}",
			 bad[i].more);
		assert_int_equal(tw_manifest_read_id(text, strlen(text), &got, &err), -1);
		if (strstr(err.text, bad[i].text) == NULL)
			fail_msg("'%s' is not in: %s", bad[i].text, err.text);
	}
}

static void only_an_unsigned_set_takes_another_name(void **state)
{
	struct tw_manifest_id got;
	struct tw_fileset s = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	make(&s);
	assert_int_equal(tw_manifest_rename(&s, "q", &err), 0);
	assert_int_equal(tw_manifest_check(&s, &got, &err), 0);
	assert_string_equal(got.pipeline, "q");
	assert_int_equal(got.version, 7);
	assert_int_equal(tw_fileset_add(&s, TW_MANIFEST_SIGNATURE, "x", 1, &err), 0);
	assert_int_equal(tw_manifest_rename(&s, "p", &err), 0);
	assert_int_equal(tw_manifest_check(&s, &got, &err), 0);
	assert_string_equal(got.pipeline, "q");
	tw_manifest_drop(&s);
	assert_int_equal(s.count, 2);
	assert_int_equal(tw_manifest_rename(&s, "p", &err), 0);
	assert_int_equal(s.count, 2);
	tw_fileset_clear(&s);

	make(&s);
	s.at[0].data[0] = 'O';
	assert_int_equal(tw_manifest_rename(&s, "q", &err), -1);
	tw_fileset_clear(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digests_are_those_of_the_standard),
		cmocka_unit_test(base64_reads_back_and_other_text_is_refused),
		cmocka_unit_test(a_set_is_exactly_what_its_manifest_lists),
		cmocka_unit_test(a_manifest_without_whole_figures_is_refused),
		cmocka_unit_test(names_and_versions_are_read_and_checked),
		cmocka_unit_test(only_an_unsigned_set_takes_another_name),
	};

	return cmocka_run_group_tests_name("manifest", tests, NULL, NULL);
}
