/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/program/words.h"
#include "tests/unit/fail_alloc.h"

#include <string.h>

/* The words of a line, each followed by '|'. */
static void expect(const char *line, const char *wanted)
{
	struct tw_strs words = { 0 };
	struct tw_err err = { 0 };
	char found[256] = "";

	if (tw_words_split(line, &words, &err) < 0)
		fail_msg("%s: %s", line, err.text);
	for (size_t i = 0; i < words.count; i++) {
		strcat(found, words.at[i]);
		strcat(found, "|");
	}
	assert_string_equal(found, wanted);
	tw_strs_clear(&words);
}

static void words_are_separated_by_blanks_and_grouped_by_quotes(void **state)
{
	(void)state;
	expect("ipmitool", "ipmitool|");
	expect("  a\tb \n c  ", "a|b|c|");
	expect("sh -c 'a | b; $c'", "sh|-c|a | b; $c|");
	expect("x \"two words\" \"a\\\"b\\\\c\" ''", "x|two words|a\"b\\c||");
	expect("a'b'\"c\"d\\ e\\$f", "abcd e$f|");
	expect("'back\\slash'", "back\\slash|");
}

static void expect_error(const char *line, const char *why)
{
	struct tw_strs words = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_words_split(line, &words, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_non_null(strstr(err.text, why));
	assert_int_equal(words.count, 0);
}

static void a_line_for_a_shell_is_refused(void **state)
{
	static const char *const lines[] = { "cat x | head", "a; b",   "a && b", "a > b",
					     "a $HOME",      "a `b`",  "a *.c",  "(a)",
					     "a <b",         "a file?" };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(lines); i++)
		expect_error(lines[i], "needs a shell");
	expect_error("a 'b", "a ' is not closed");
	expect_error("a \"b\\\"", "a \" is not closed");
	expect_error("a \\", "backslash");
	expect_error("", "no command");
	expect_error(" \t\n", "no command");
}

static void memory_that_runs_out_is_an_error(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		struct tw_strs words = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_words_split("a 'b c' d", &words, &err);
		tw_strs_clear(&words);
		if (!fail_alloc_told(rc, &err))
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_separated_by_blanks_and_grouped_by_quotes),
		cmocka_unit_test(a_line_for_a_shell_is_refused),
		cmocka_unit_test(memory_that_runs_out_is_an_error),
	};

	return cmocka_run_group_tests_name("words", tests, NULL, NULL);
}
