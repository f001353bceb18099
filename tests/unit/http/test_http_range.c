/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/http/server/http_range.h"

#include <string.h>

#define ETAG "\"abc\""
#define SIZE 1000

static void a_range_header_selects_the_range(void **state)
{
	static const struct {
		const char *none_match, *if_range, *range;
		enum tw_http_wants want;
		uint64_t from, len;
	} cases[] = {
		{ NULL, NULL, NULL, TW_HTTP_WHOLE, 0, 0 },
		{ NULL, NULL, "bytes=0-0", TW_HTTP_PART, 0, 1 },
		{ NULL, NULL, "bytes=10-19", TW_HTTP_PART, 10, 10 },
		{ NULL, NULL, "Bytes= 10-", TW_HTTP_PART, 10, 990 },
		{ NULL, NULL, "bytes=10-99999", TW_HTTP_PART, 10, 990 },
		{ NULL, NULL, "bytes=-10", TW_HTTP_PART, 990, 10 },
		{ NULL, NULL, "bytes=-5000", TW_HTTP_PART, 0, SIZE },
		{ NULL, NULL, "bytes=999-", TW_HTTP_PART, 999, 1 },
		{ NULL, NULL, "bytes=1000-", TW_HTTP_BEHIND, 0, 0 },
		{ NULL, NULL, "bytes=-0", TW_HTTP_BEHIND, 0, 0 },
		{ NULL, NULL, "bytes=5-4", TW_HTTP_WHOLE, 0, 0 },
		{ NULL, NULL, "bytes=1-2,4-5", TW_HTTP_WHOLE, 0, 0 },
		{ NULL, NULL, "bytes=-", TW_HTTP_WHOLE, 0, 0 },
		{ NULL, NULL, "bytes=", TW_HTTP_WHOLE, 0, 0 },
		{ NULL, NULL, "bytes=a-b", TW_HTTP_WHOLE, 0, 0 },
		{ NULL, NULL, "lines=1-2", TW_HTTP_WHOLE, 0, 0 },
		{ NULL, NULL, "bytes=99999999999999999999999-", TW_HTTP_WHOLE, 0, 0 },
		{ NULL, NULL, "bytes=18446744073709551615-", TW_HTTP_WHOLE, 0, 0 },
		{ NULL, ETAG, "bytes=1-2", TW_HTTP_PART, 1, 2 },
		{ NULL, "W/" ETAG, "bytes=1-2", TW_HTTP_WHOLE, 0, 0 },
		{ NULL, "\"x\"", "bytes=1-2", TW_HTTP_WHOLE, 0, 0 },
		{ ETAG, NULL, NULL, TW_HTTP_NOTHING, 0, 0 },
		{ "W/" ETAG, NULL, "bytes=1-2", TW_HTTP_NOTHING, 0, 0 },
		{ " \"x\" ,\t" ETAG, NULL, NULL, TW_HTTP_NOTHING, 0, 0 },
		{ "*", NULL, NULL, TW_HTTP_NOTHING, 0, 0 },
		{ "\"x\", \"abcd\"", NULL, NULL, TW_HTTP_WHOLE, 0, 0 },
		{ "abc", NULL, NULL, TW_HTTP_WHOLE, 0, 0 },
		{ "\"abc", NULL, NULL, TW_HTTP_WHOLE, 0, 0 },
		{ "", NULL, NULL, TW_HTTP_WHOLE, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_http_range r = { 0 };
		const enum tw_http_wants got =
			tw_http_wants(cases[i].none_match, cases[i].if_range,
				      cases[i].range, ETAG, SIZE, &r);

		if (got != cases[i].want || r.from != cases[i].from ||
		    r.len != cases[i].len)
			fail_msg("case %zu: got %d", i, (int)got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_range_header_selects_the_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
