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
	};

	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
