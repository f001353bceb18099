/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/field/rate.h"
#include "tests/unit/fail_alloc.h"

#include <math.h>
#include <string.h>

static int parse(const char *text, struct tw_rate *out, struct tw_err *err)
{
	return tw_rate_parse(text, strlen(text), out, err);
}

static void a_number_is_valid_at_all_times(void **state)
{
	static const char *const same[] = { "42.5\n", "42.5", "\n42.5\n\n" };
	struct tw_err err = { 0 };
	struct tw_rate r;

	(void)state;
	assert_int_equal(tw_rate_open("42.5", &r, &err), 0);
	assert_true(tw_rate_at(&r, 0) == 42.5 && tw_rate_at(&r, INT64_MAX) == 42.5);
	tw_rate_release(&r);
	assert_true(isnan(tw_rate_at(&r, 0)));
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(parse(same[i], &r, &err), 0);
		assert_true(tw_rate_at(&r, 1) == 42.5);
		tw_rate_release(&r);
	}
}

static void a_line_is_valid_until_the_next(void **state)
{
	struct tw_err err = { 0 };
	struct tw_rate r;

	(void)state;
	assert_int_equal(
		parse("time,gCO2e\n1970-01-01T00:01:00Z,1\n90,2.5\n100,0\n", &r, &err),
		0);
	assert_true(isnan(tw_rate_at(&r, 59999)));
	assert_true(tw_rate_at(&r, 60000) == 1);
	assert_true(tw_rate_at(&r, 89999) == 1);
	assert_true(tw_rate_at(&r, 90000) == 2.5);
	/* The last, for the 10 s of the one before. */
	assert_true(tw_rate_at(&r, 100000) == 0 && tw_rate_at(&r, 109999) == 0);
	assert_true(isnan(tw_rate_at(&r, 110000)));
	tw_rate_release(&r);
	/* A single one, for ever. */
	assert_int_equal(parse("60,3\n", &r, &err), 0);
	assert_true(isnan(tw_rate_at(&r, 0)) && tw_rate_at(&r, INT64_MAX) == 3);
	tw_rate_release(&r);
}

static void wrong_lines_are_named(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "", "no row" },
		{ "time,grams\n", "no row" },
		{ "abc", "line 1: 'abc' is not a number" },
		{ "1,2\nx,3\n", "line 2: 'x' is not a time" },
		{ "1,2\n3,x\n", "line 2: 'x' is not a number" },
		{ "1,2\n3\n", "line 2: a time that is not after" },
		{ "300\n2026-11-01T00:00:00Z,400\n",
		  "line 2: the row before has no time" },
		{ "3,2\n3,4\n", "line 2: a time that is not after" },
		{ "1,2,3\n", "line 1: more than two" },
		{ "1,-2\n", "line 1: -2 is not from 0" },
		{ "1,1e7\n", "line 1: 1e+07 is not from 0" },
		{ "-1", "line 1: -1 is not from 0" },
		{ "1,\"2\n", "line 1" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };
		struct tw_rate r;

		if (parse(cases[i].text, &r, &err) == 0)
			fail_msg("'%s' is taken", cases[i].text);
		if (strstr(err.text, cases[i].why) == NULL)
			fail_msg("'%s' is not in '%s'", cases[i].why, err.text);
	}
}

static void a_file_is_named(void **state)
{
	struct tw_err err = { 0 };
	struct tw_rate r;

	(void)state;
	assert_int_equal(tw_rate_open("/nowhere/x", &r, &err), -1);
	assert_non_null(strstr(err.text, "/nowhere/x"));
	err = (struct tw_err){ 0 };
	assert_int_equal(tw_rate_open("-3", &r, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
}

static void a_failed_allocation_is_an_error(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		struct tw_rate r = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = parse("\"time\",\"g\"\n1,2\n3,4\n", &r, &err);
		tw_rate_release(&r);
		if (!fail_alloc_told(rc, &err))
			return;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_is_valid_at_all_times),
		cmocka_unit_test(a_line_is_valid_until_the_next),
		cmocka_unit_test(wrong_lines_are_named),
		cmocka_unit_test(a_file_is_named),
		cmocka_unit_test(a_failed_allocation_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
