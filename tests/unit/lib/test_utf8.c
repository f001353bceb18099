/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/utf8.h"

#include <string.h>

static void the_length_of_a_character_is_that_of_rfc_3629(void **state)
{
	static const struct {
		const char *text;
		size_t want;
	} cases[] = {
		{ "", 1 },
		{ "a", 1 },
		{ "\x7f", 1 },
		{ "\x80", 0 },
		{ "\xc1\xbf", 0 }, /* overlong */
		{ "\xc2\x80", 2 },
		{ "\xdf\xbf", 2 },
		{ "\xc2", 0 },
		{ "\xc2\xc0", 0 },
		{ "\xe0\x9f\xbf", 0 }, /* overlong */
		{ "\xe0\xa0\x80", 3 },
		{ "\xe1\x80\x80", 3 },
		{ "\xe1\x80", 0 },
		{ "\xe1\x80\xff", 0 },
		{ "\xed\x9f\xbf", 3 },
		{ "\xed\xa0\x80", 0 }, /* a surrogate */
		{ "\xef\xbf\xbf", 3 },
		{ "\xf0\x8f\xbf\xbf", 0 }, /* overlong */
		{ "\xf0\x90\x80\x80", 4 },
		{ "\xf3\xbf\xbf\xbf", 4 },
		{ "\xf4\x8f\xbf\xbf", 4 },
		{ "\xf4\x90\x80\x80", 0 }, /* above U+10FFFF */
		{ "\xf4\x8f\xbf", 0 },
		{ "\xf5\x80\x80\x80", 0 },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const size_t len = strlen(cases[i].text);

		if (tw_utf8_length(cases[i].text, 4) != cases[i].want)
			fail_msg("case %zu: %zu bytes", i,
				 tw_utf8_length(cases[i].text, 4));
		if (len > 0)
			assert_int_equal(tw_utf8_length(cases[i].text, len),
					 cases[i].want);
		/* Cut short, whatever follows. */
		if (len > 1)
			assert_int_equal(tw_utf8_length(cases[i].text, len - 1), 0);
	}
	assert_int_equal(tw_utf8_length("a", 0), 0);
}

static void every_character_of_a_text_counts(void **state)
{
	(void)state;
	assert_true(tw_is_utf8(""));
	assert_true(tw_is_utf8("a\xc3\xa9\xf0\x9f\x98\x80z"));
	assert_false(tw_is_utf8("a\xc3\xa9\xff"));
	assert_false(tw_is_utf8("\xc3"));
	assert_false(tw_is_utf8("a\xe9z"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_length_of_a_character_is_that_of_rfc_3629),
		cmocka_unit_test(every_character_of_a_text_counts),
	};

	return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
