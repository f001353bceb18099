/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/opt_file.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "tests/unit/tw_test.h"

#include <string.h>

#define LONG "0123456789012345678901234567890123456789012345678901234567890123"

static const char *const names[] = { "threads", "dir", NULL };

static void a_line_is_a_name_and_a_value(void **state)
{
	static const struct {
		const char *text;
		const char *threads, *dir; /* NULL: not given */
	} cases[] = {
		{ "", NULL, NULL },
		{ "\n\n", NULL, NULL },
		{ " \t\r\n# threads = 3\n  # dir = x\n", NULL, NULL },
		{ "threads = 3\n", "3", NULL },
		{ "threads=3", "3", NULL },
		{ " \tthreads \t= \t3 \t\r\n\ndir = x", "3", "x" },
		{ "dir = a b\tc\n", NULL, "a b\tc" },
		{ "dir = a=b # c\n", NULL, "a=b # c" },
		{ "dir =\nthreads = ", "", "" },
		/* A value is no name. */
		{ "dir = threads\n", NULL, "threads" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const char *const want[] = { cases[i].threads, cases[i].dir };
		struct tw_strs list = { 0 };
		struct tw_err err = { 0 };

		if (tw_opt_file_parse("f", cases[i].text, strlen(cases[i].text), names,
				      &list, &err) < 0)
			fail_msg("case %zu: %s", i, err.text);
		for (size_t k = 0; k < 2; k++) {
			const char *got = tw_opt_file_find(&list, names[k]);

			if (want[k] == NULL)
				assert_null(got);
			else
				assert_string_equal(got, want[k]);
		}
		tw_strs_clear(&list);
	}
}

static void an_error_names_the_line(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "threads\n", "f:1: expected 'name = value'" },
		{ "\n# x\nthreads", "f:3: expected 'name = value'" },
		{ "thread = 3\n", "f:1: unknown option 'thread'" },
		{ "threadz = 3\n", "f:1: unknown option 'threadz'" },
		{ "Threads = 3\n", "f:1: unknown option 'Threads'" },
		{ "dir = x\n = 3\n", "f:2: unknown option ''" },
		{ LONG " = 3\n", "f:1: unknown option '" LONG "'" },
		{ LONG "4 = 3\n", "f:1: unknown option '" LONG "'" },
		{ "dir = x\ndir = y\n", "f:2: option 'dir' is given twice" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_strs list = { 0 };
		struct tw_err err = { 0 };

		assert_int_equal(tw_opt_file_parse("f", cases[i].text,
						   strlen(cases[i].text), names, &list,
						   &err),
				 -1);
		assert_string_equal(err.text, cases[i].error);
		assert_int_equal(list.count, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_a_name_and_a_value),
		cmocka_unit_test(an_error_names_the_line),
	};

	return cmocka_run_group_tests_name("opt_file", tests, NULL, NULL);
}
