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

static void a_long_text_is_truncated_between_characters(void **state)
{
	char text[TW_ERR_TEXT + 8];
	struct tw_err err = { 0 };

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text + TW_ERR_TEXT - 2, "\xc3\xa9", 3);
	tw_fail(&err, TW_PARSE, "%s", text);
	assert_int_equal(strlen(err.text), TW_ERR_TEXT - 2);
	assert_int_equal(err.text[TW_ERR_TEXT - 3], 'a');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_failure_wins),
		cmocka_unit_test(errno_gives_code_and_text),
		cmocka_unit_test(out_of_memory_is_in_the_text_once),
		cmocka_unit_test(wrap_adds_context_and_keeps_code),
		cmocka_unit_test(an_error_stays_one_line),
		cmocka_unit_test(a_long_text_is_truncated_between_characters),
	};

	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
