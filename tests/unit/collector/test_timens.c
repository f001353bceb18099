/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "collector/system/process.h"

#include <stddef.h>

#define S INT64_C(1000000000)

static void the_lines_are_offsets(void **state)
{
	const struct tw_clock_offsets o =
		tw_clock_offsets_parse("monotonic           -5         7\n"
				       "boottime        864000         0\n");

	(void)state;
	assert_true(o.monotonic_ns == -5 * S + 7);
	assert_true(o.boot_ns == 864000 * S);
}

static void a_malformed_line_is_no_offset(void **state)
{
	static const char *const texts[] = {
		"",
		"\n\n",
		"boottime",
		"boottime\n",
		"boottime 5\n",
		"boottime x 5\n",
		"boottime 5 x\n",
		"boottime 5 5 5\n",
		"boottime 5 -1\n",
		"boottime 5 1000000000\n",
		"boottime 9223372036854775807 0\n",
		"boottime 99999999999999999999 0\n",
		"boottimes 5 0\n",
		"xboottime 5 0\n",
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(texts); i++)
		assert_true(tw_clock_offsets_parse(texts[i]).boot_ns == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_lines_are_offsets),
		cmocka_unit_test(a_malformed_line_is_no_offset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
