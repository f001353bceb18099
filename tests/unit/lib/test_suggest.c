/* SPDX-License-Identifier: Apache-2.0 */
/* Names that a person meant. */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/program/suggest.h"

#include <string.h>

static void changes_between_two_texts_are_counted(void **state)
{
	static const struct {
		const char *a, *b;
		size_t far;
	} cases[] = {
		{ "", "", 0 },
		{ "", "abc", 3 },
		{ "train", "train", 0 },
		{ "trian", "train", 1 },
		{ "tran", "train", 1 },
		{ "traiin", "train", 1 },
		{ "strain", "train", 1 },
		{ "xyz", "abc", 3 },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		assert_int_equal(tw_text_distance(cases[i].a, cases[i].b), cases[i].far);
		assert_int_equal(tw_text_distance(cases[i].b, cases[i].a), cases[i].far);
	}
}

static void only_near_names_are_suggested(void **state)
{
	char long_text[200];
	const char *best = NULL;

	(void)state;
	memset(long_text, 'a', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	tw_suggest("xyz", "top", &best);
	tw_suggest(long_text, "aaaa", &best);
	assert_null(best);
	tw_suggest("exrpot", "extract", &best);
	assert_null(best);
	tw_suggest("exrpot", "export", &best);
	assert_string_equal(best, "export");
	tw_suggest("exrpot", "expert", &best);
	assert_string_equal(best, "export");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_between_two_texts_are_counted),
		cmocka_unit_test(only_near_names_are_suggested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
