/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "collector/system/process.h"
#include "collector/workloads/tasks.h"
#include "lib/core/err.h"

#include <string.h>

#define MS UINT64_C(1000000)

static void read_stat(const char *text, struct tw_task *out)
{
	struct tw_err err = { 0 };

	if (tw_proc_stat_parse(text, strlen(text), 100, out, &err) < 0)
		fail_msg("%s", err.text);
}

static void a_name_may_have_spaces_and_parentheses(void **state)
{
	struct tw_task t = { 0 };

	(void)state;
	read_stat(
		"4711 (a) b (c)) S 12 4711 4711 0 -1 4194560 1 2 3 4 150 50 7 8 20 0 1 0 "
		"12345 1 2 3\n",
		&t);
	assert_int_equal(t.tgid, 4711);
	assert_string_equal(t.comm, "a) b (c)");
	assert_int_equal(t.parent, 12);
	assert_int_equal(t.cpu_ns, 2000 * MS);
	assert_int_equal(t.start_ns, 123450 * MS);
	assert_int_equal(t.flags, 0);
	read_stat("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 1 0 0 20 0 1 0 2 0\n", &t);
	assert_int_equal(t.flags, TW_TASK_KERNEL);
}

static void a_line_of_another_format_is_rejected(void **state)
{
	static const char *const texts[] = {
		"",
		"1",
		"1 (a",
		"1 a) S 1 1 1 0 -1 0 1 2 3 4 1 1 7 8 20 0 1 0 1 1",
		"0 (a) S 1 1 1 0 -1 0 1 2 3 4 1 1 7 8 20 0 1 0 1 1",
		"x (a) S 1 1 1 0 -1 0 1 2 3 4 1 1 7 8 20 0 1 0 1 1",
		"1 (a) S 1 1 1 0 -1 0 1 2 3 4 1 1 7 8 20 0 1 0",
		"1 (a) S 1 1 1 0 -1 0 1 2 3 4 -1 1 7 8 20 0 1 0 1 1",
		"1 (a) S 1 1 1 0 -1 0 1 2 3 4 99999999999999999999 1 7 8 20 0 1 0 1 1",
		"1 (a) S 1 1 1 0 -1 0 1 2 3 4 18446744073709551615 1 7 8 20 0 1 0 1 1",
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(texts); i++) {
		struct tw_err err = { 0 };
		struct tw_task t;

		assert_int_equal(
			tw_proc_stat_parse(texts[i], strlen(texts[i]), 100, &t, &err),
			-1);
		assert_int_equal(err.code, TW_PARSE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_may_have_spaces_and_parentheses),
		cmocka_unit_test(a_line_of_another_format_is_rejected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
