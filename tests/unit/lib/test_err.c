/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"

#include <errno.h>
#include <string.h>

static void first_failure_wins(void **state)
{
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_fail(&err, TW_PARSE, "line %d", 3), -1);
	assert_int_equal(tw_fail(&err, TW_IO, "close failed"), -1);
	assert_int_equal(err.code, TW_PARSE);
	assert_string_equal(err.text, "line 3");
}

static void errno_gives_code_and_text(void **state)
{
	struct tw_err err = { 0 };

	(void)state;
	tw_fail_errno(&err, ENOENT, "cannot open '%s'", "/x");
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_string_equal(err.text, "cannot open '/x': No such file or directory");
}

static void out_of_memory_is_in_the_text_once(void **state)
{
	struct tw_err err = { 0 }, again = { 0 };

	(void)state;
	tw_fail(&err, TW_NOMEM, "%d rows", 7);
	assert_string_equal(err.text, "7 rows: out of memory");
	tw_fail(&again, err.code, "trainer 't': %s", err.text);
	assert_string_equal(again.text, "trainer 't': 7 rows: out of memory");
	tw_err_clear(&err);
	tw_fail(&err, TW_NOMEM, "x");
	assert_string_equal(err.text, "x: out of memory");
}

static void wrap_adds_context_and_keeps_code(void **state)
{
	struct tw_err err = { 0 };

	(void)state;
	tw_fail(&err, TW_PARSE, "expected a number");
	tw_err_wrap(&err, "model '%s'", "m1");
	assert_int_equal(err.code, TW_PARSE);
	assert_string_equal(err.text, "model 'm1': expected a number");
}

static void an_error_stays_one_line(void **state)
{
	struct tw_err err = { 0 };

	(void)state;
	tw_fail(&err, TW_PARSE, "key '%s'", "a\nlevel=error\x1b[2J\x7f");
	assert_string_equal(err.text, "key 'a?level=error?[2J?'");
	tw_err_wrap(&err, "file '%s'", "x\r\n");
	assert_string_equal(err.text, "file 'x?"
				      "?': key 'a?level=error?[2J?'");
}

static void c1_controls_of_utf8_are_replaced_too(void **state)
{
	struct tw_err err = { 0 };

	(void)state;
	tw_fail(&err, TW_PARSE, "key '%s'", "\xc2\x9b[2J \xc2\xa0\xc3\xa9");
	assert_string_equal(err.text, "key '??[2J \xc2\xa0\xc3\xa9'");
}

static void turned_text_is_replaced_too(void **state)
{
	struct tw_err err = { 0 };

	(void)state;
	tw_fail(&err, TW_PARSE,
		"\xe2\x80\xae|\xe2\x80\xaa|\xe2\x80\x8e|\xe2\x80\x8f|"
		"\xe2\x81\xa6|\xe2\x81\xa9|\xd8\x9c");
	assert_string_equal(err.text, "???|???|???|???|???|???|??");
	tw_err_clear(&err);
	tw_fail(&err, TW_PARSE, "\xe2\x80\x93 \xe2\x81\xaa \xe2\x80\xaf \xe2\x80");
	assert_string_equal(err.text, "\xe2\x80\x93 \xe2\x81\xaa \xe2\x80\xaf \xe2\x80");
}

/* U+00DC and U+3066 end as U+061C and U+2066 do. */
static void letters_of_other_scripts_stay(void **state)
{
	struct tw_err err = { 0 };

	(void)state;
	tw_fail(&err, TW_PARSE, "\xc3\x9c \xe3\x81\xa6");
	assert_string_equal(err.text, "\xc3\x9c \xe3\x81\xa6");
}

static void ends_with(const struct tw_err *err, const char *end)
{
	const size_t len = strlen(err->text), n = strlen(end);

	assert_true(len < TW_ERR_TEXT && len >= n);
	assert_string_equal(err->text + len - n, end);
}

static void a_long_text_ends_after_a_word(void **state)
{
	struct tw_err failed = { 0 }, wrapped = { 0 }, at_errno = { 0 }, fits = { 0 };
	char text[TW_ERR_TEXT + 8];

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text + TW_ERR_TEXT - 12, " last ", 6);
	text[sizeof(text) - 1] = '\0';
	tw_fail(&failed, TW_PARSE, "%s", text);
	ends_with(&failed, "aa last ..");
	/* As a whole it fits; with context it does not. */
	text[TW_ERR_TEXT - 7] = '\0';
	tw_fail(&fits, TW_PARSE, "%s", text);
	ends_with(&fits, "aa last");
	tw_fail(&wrapped, TW_PARSE, "%s", text);
	tw_err_wrap(&wrapped, "file");
	ends_with(&wrapped, "aa last");
	tw_err_wrap(&wrapped, "directory");
	ends_with(&wrapped, "aa ..");
	tw_fail_errno(&at_errno, ENOENT, "%s", text);
	ends_with(&at_errno, "last: ..");
}

static void a_word_that_is_too_long_is_cut_between_characters(void **state)
{
	char text[TW_ERR_TEXT + 8];
	struct tw_err err = { 0 };

	(void)state;
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	memcpy(text + TW_ERR_TEXT - 5, "\xc3\xa9", 2);
	tw_fail(&err, TW_PARSE, "%s", text);
	ends_with(&err, "aaa ..");
	assert_int_equal(strlen(err.text), TW_ERR_TEXT - 2);
}

/* A word that begins before the middle fills half of the text. */
static void a_text_is_cut_after_a_word_in_its_second_half(void **state)
{
	static const size_t middle = TW_ERR_TEXT / 2;

	(void)state;
	for (size_t space = middle - 1; space <= middle; space++) {
		char text[TW_ERR_TEXT + 8];
		struct tw_err err = { 0 };

		memset(text, 'a', sizeof(text));
		text[sizeof(text) - 1] = '\0';
		text[space] = ' ';
		tw_fail(&err, TW_PARSE, "%s", text);
		assert_int_equal(strlen(err.text),
				 space == middle ? middle + 3 : TW_ERR_TEXT - 1);
	}
}

/* Bytes of which each goes on a character that never began. */
static void a_text_that_is_no_utf8_is_cut(void **state)
{
	char text[TW_ERR_TEXT + 8];
	struct tw_err err = { 0 };

	(void)state;
	memset(text, 0x80, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	tw_fail(&err, TW_PARSE, "%s", text);
	assert_string_equal(err.text, " ..");
	assert_int_equal(err.code, TW_PARSE);
}

static void nothing_is_written_behind_a_text(void **state)
{
	static const char guard[] = "guard";

	(void)state;
	for (size_t len = TW_ERR_TEXT - 4; len < TW_ERR_TEXT + 2; len++) {
		struct {
			struct tw_err err;
			char guard[sizeof(guard)];
		} at = { .guard = "guard" };
		char text[TW_ERR_TEXT + 8] = "";

		memset(text, 'a', len);
		tw_fail(&at.err, TW_PARSE, "%s", text);
		tw_err_wrap(&at.err, "b");
		assert_string_equal(at.guard, guard);
		assert_true(strlen(at.err.text) < TW_ERR_TEXT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_failure_wins),
		cmocka_unit_test(errno_gives_code_and_text),
		cmocka_unit_test(out_of_memory_is_in_the_text_once),
		cmocka_unit_test(wrap_adds_context_and_keeps_code),
		cmocka_unit_test(an_error_stays_one_line),
		cmocka_unit_test(c1_controls_of_utf8_are_replaced_too),
		cmocka_unit_test(turned_text_is_replaced_too),
		cmocka_unit_test(a_long_text_ends_after_a_word),
		cmocka_unit_test(a_word_that_is_too_long_is_cut_between_characters),
		cmocka_unit_test(letters_of_other_scripts_stay),
		cmocka_unit_test(a_text_is_cut_after_a_word_in_its_second_half),
		cmocka_unit_test(a_text_that_is_no_utf8_is_cut),
		cmocka_unit_test(nothing_is_written_behind_a_text),
	};

	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
