/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/date.h"
#include "lib/core/err.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static void dates_parse_to_known_times(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
	} cases[] = {
		{ "1970-01-01T00:00:00Z", 0 },
		{ "2023-11-14T22:13:20Z", INT64_C(1700000000000) },
		{ "2023-11-14 22:13:20z", INT64_C(1700000000000) },
		{ "2023-11-14T23:43:20.25+01:30", INT64_C(1700000000250) },
		{ "2023-11-14t17:13:20.9999-05:00", INT64_C(1700000000999) },
		{ "2000-02-29T00:00:00Z", INT64_C(951782400000) },
		{ "2016-12-31T23:59:60Z", INT64_C(1483228800000) },
		{ "9999-12-31T23:59:59.999Z", TW_DATE_MAX_MS },
		{ "0", 0 },
		{ "1700000000", INT64_C(1700000000000) },
		{ "1700000000.123", INT64_C(1700000000123) },
		{ "1.7e9", INT64_C(1700000000000) },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };
		int64_t ms = -1;

		assert_int_equal(tw_parse_date_ms(cases[i].text, &ms, &err), 0);
		assert_true(ms == cases[i].ms);
	}
}

/* Compare with the C library's calendar. */
static void each_day_of_four_hundred_years_is_a_day_later(void **state)
{
	(void)state;
	for (int64_t day = 0; day < 146097; day++) {
		time_t t = (time_t)(day * 86400);
		struct tm tm;
		char text[64];
		struct tw_err err = { 0 };
		int64_t ms;

		assert_non_null(gmtime_r(&t, &tm));
		assert_true(strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm) > 0);
		assert_int_equal(tw_parse_date_ms(text, &ms, &err), 0);
		assert_true(ms == day * 86400000);
	}
}

static void texts_that_are_not_times_are_rejected(void **state)
{
	static const char *const cases[] = {
		"",
		"now",
		"-1",
		"1e18",
		"nan",
		"253402300800",
		"2023-11-14",
		"2023-11-14T22:13:20",
		"2023-11-14T22:13:20+0100",
		"2023-11-14T22:13:20Zx",
		"2023-11-14T22:13:20.Z",
		"2023-13-01T00:00:00Z",
		"2023-00-01T00:00:00Z",
		"2023-02-29T00:00:00Z",
		"1900-02-29T00:00:00Z",
		"1969-12-31T23:59:59Z",
		"1970-01-01T00:00:00+00:01",
		"2023-11-14T24:00:00Z",
		"2023-11-14T22:60:00Z",
		"2023-11-14T22:13:61Z",
		" 2023-11-14T22:13:20Z",
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };
		int64_t ms = 7;

		if (tw_parse_date_ms(cases[i], &ms, &err) == 0 || err.code != TW_INVALID)
			fail_msg("'%s' is taken", cases[i]);
		assert_non_null(strstr(err.text, "is not a time"));
		assert_true(ms == 7);
	}
}

static void formatted_times_parse_back(void **state)
{
	static const int64_t ms[] = { 0, 1, 1695361428999, TW_DATE_MAX_MS };
	char text[TW_DATE_TEXT];

	(void)state;
	for (size_t i = 0; i < TW_COUNT(ms); i++) {
		struct tw_err err = { 0 };
		int64_t again;

		assert_true(tw_format_date_ms(ms[i], text));
		assert_int_equal(tw_parse_date_ms(text, &again, &err), 0);
		assert_int_equal(again, ms[i]);
	}
	assert_true(tw_format_date_ms(1695361428250, text));
	assert_string_equal(text, "2023-09-22T05:43:48.250Z");
	assert_false(tw_format_date_ms(-1, text));
	assert_string_equal(text, "");
	assert_false(tw_format_date_ms(TW_DATE_MAX_MS + 1, text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dates_parse_to_known_times),
		cmocka_unit_test(each_day_of_four_hundred_years_is_a_day_later),
		cmocka_unit_test(texts_that_are_not_times_are_rejected),
		cmocka_unit_test(formatted_times_parse_back),
	};

	return cmocka_run_group_tests_name("date", tests, NULL, NULL);
}
