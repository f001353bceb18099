/* SPDX-License-Identifier: Apache-2.0 */
/* What a user's own meter may say: values, lines of a command, answers of a server. */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "collector/ask/value.h"
#include "lib/core/err.h"

#include <stdio.h>
#include <string.h>

static struct tw_value parse(const char *text, enum tw_unit unit)
{
	struct tw_err err = { 0 };
	struct tw_value v;

	if (tw_value_parse(text, strlen(text), unit, &v, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	return v;
}

static void units_of_power_and_of_energy_are_scaled(void **state)
{
	(void)state;
	assert_float_equal(parse("42.5", TW_UNIT_W).power_w, 42.5, 0);
	assert_float_equal(parse(" 42500\r\n", TW_UNIT_MW).power_w, 42.5, 1e-9);
	assert_float_equal(parse("1e6", TW_UNIT_UW).power_w, 1, 1e-12);
	assert_float_equal(parse("\t0\t", TW_UNIT_W).power_w, 0, 0);
	assert_true(parse("0", TW_UNIT_KWH).energy_uj == 0);
	assert_true(parse("12.5", TW_UNIT_J).energy_uj == 12500000);
	assert_true(parse("+7", TW_UNIT_MJ).energy_uj == 7000);
	assert_true(parse("123456789", TW_UNIT_UJ).energy_uj == 123456789);
	assert_true(parse("0.5", TW_UNIT_WH).energy_uj == 1800000000);
	assert_true(parse("1.5", TW_UNIT_KWH).energy_uj == UINT64_C(5400000000000));
	assert_true(parse("1e12", TW_UNIT_J).energy_uj == UINT64_C(1000000000000000000));
	assert_false(tw_unit_is_energy(TW_UNIT_UW));
	assert_true(tw_unit_is_energy(TW_UNIT_J));
	for (int i = 0; i < TW_UNIT_COUNT; i++)
		assert_non_null(tw_unit_names[i]);
	assert_null(tw_unit_names[TW_UNIT_COUNT]);
}

static void expect_error(const char *text, size_t len, enum tw_unit unit, const char *why)
{
	struct tw_err err = { 0 };
	struct tw_value v;

	assert_int_equal(tw_value_parse(text, len, unit, &v, &err), -1);
	assert_string_equal(err.text, why);
}

static void other_texts_are_no_values(void **state)
{
	(void)state;
	expect_error("", 0, TW_UNIT_W, "'' is not a number");
	expect_error("   7", 2, TW_UNIT_W, "'' is not a number");
	expect_error("nan", 3, TW_UNIT_W, "'nan' is not a number");
	expect_error("NaN", 3, TW_UNIT_W, "'NaN' is not a value");
	expect_error("+Inf", 4, TW_UNIT_J, "'+Inf' is not a value");
	expect_error("-1", 2, TW_UNIT_W, "'-1' is below 0");
	expect_error("5 W", 3, TW_UNIT_W, "'5 W' is not a number");
	expect_error("a\0b\x7f\xff", 5, TW_UNIT_W, "'a?b?\?' is not a number");
	expect_error("2e9", 3, TW_UNIT_W, "'2e9' W is more than there can be");
	expect_error("2e12", 4, TW_UNIT_J, "'2e12' J is more than there can be");
	expect_error("1e400", 5, TW_UNIT_J, "'1e400' is not a number");
	expect_error("0123456789012345678901234567890123456789x", 41, TW_UNIT_W,
		     "'01234567890123456789012345678901' is not a number");
}

/* ---- lines ---- */

/* Lines, each followed by '|', or by '!' if it was cut off. */
static void note(void *arg, const char *line, size_t len, bool cut)
{
	char *out = arg;

	snprintf(out + strlen(out), 1024 - strlen(out), "%.*s%c", (int)len, line,
		 cut ? '!' : '|');
}

static void lines_end_wherever_the_pieces_do(void **state)
{
	static const char text[] = "one\n\ntwo three\nfour";

	(void)state;
	for (size_t piece = 1; piece <= sizeof(text); piece++) {
		struct tw_lines l = { .len = 0 };
		char found[1024] = "";

		for (size_t i = 0; i < sizeof(text) - 1; i += piece)
			tw_lines_feed(&l, text + i,
				      piece < sizeof(text) - 1 - i ? piece
								   : sizeof(text) - 1 - i,
				      note, found);
		assert_string_equal(found, "one||two three|");
		tw_lines_end(&l, note, found);
		tw_lines_end(&l, note, found);
		assert_string_equal(found, "one||two three|four|");
	}
}

static void a_line_without_an_end_takes_no_room(void **state)
{
	struct tw_lines l = { .len = 0 };
	char found[1024] = "", wanted[TW_LINE_MAX + 16], flood[1000];

	(void)state;
	memset(flood, 'x', sizeof(flood));
	for (int i = 0; i < 1000; i++)
		tw_lines_feed(&l, flood, sizeof(flood), note, found);
	assert_string_equal(found, "");
	tw_lines_feed(&l, "\nok\n", 4, note, found);
	snprintf(wanted, sizeof(wanted), "%.*s!ok|", TW_LINE_MAX, flood);
	assert_string_equal(found, wanted);
	/* The last line has no end. */
	found[0] = '\0';
	tw_lines_feed(&l, flood, sizeof(flood), note, found);
	tw_lines_end(&l, note, found);
	assert_int_equal(found[TW_LINE_MAX], '!');
	found[0] = '\0';
	tw_lines_feed(&l, "7", 1, note, found);
	tw_lines_end(&l, note, found);
	assert_string_equal(found, "7|");
	/* A line of just the length is whole. */
	found[0] = '\0';
	tw_lines_feed(&l, flood, TW_LINE_MAX, note, found);
	tw_lines_feed(&l, "\n", 1, note, found);
	assert_int_equal(found[TW_LINE_MAX], '|');
}

/* ---- answers of a server ---- */

#define VECTOR(result)                                                                   \
	"{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":" result \
	"}}"

static void the_only_sample_of_an_answer_is_found(void **state)
{
	static const char scalar[] = "{\"status\":\"success\",\"data\":{\"resultType\":"
				     "\"scalar\",\"result\":[1,\"7\"]}}",
			  vector[] = VECTOR("[{\"metric\":{\"a\":\"b\"},"
					    "\"value\":[1.5,\"42.5\"]}]");
	struct tw_err err = { 0 };
	char text[TW_INSTANT_VALUE];

	(void)state;
	assert_int_equal(tw_instant_parse(scalar, strlen(scalar), text, &err), 0);
	assert_string_equal(text, "7");
	assert_int_equal(tw_instant_parse(vector, strlen(vector), text, &err), 0);
	assert_string_equal(text, "42.5");
}

#define SIXTEEN "0000000000000000"

static void other_answers_say_why_not(void **state)
{
	static const struct {
		const char *body, *why;
	} cases[] = {
		{ VECTOR("[]"), "the query has no series now" },
		{ VECTOR("[{\"value\":[1,\"1\"]},{\"value\":[1,\"2\"]}]"),
		  "the query has 2 series: choose one, or sum them" },
		{ VECTOR("[{\"value\":[1]}]"),
		  "answer: a sample is no [time, \"value\"]" },
		{ VECTOR("[{\"value\":[1,2]}]"),
		  "answer: a sample is no [time, \"value\"]" },
		{ VECTOR("[{\"value\":[1,\"" SIXTEEN SIXTEEN SIXTEEN SIXTEEN "\"]}]"),
		  "answer: a sample is no [time, \"value\"]" },
		{ "{\"status\":\"success\"}", "answer.data: " },
		{ VECTOR("[{\"value\":[1,\"2\",3]}]"),
		  "answer: a sample is no [time, \"value\"]" },
		{ VECTOR("[7]"), "answer.data.result[0]" },
		{ "{\"status\":\"error\",\"error\":\"parse error\"}",
		  "the server refuses the query: parse error" },
		/* The data of a part of it may be there. */
		{ "{\"status\":\"error\",\"error\":\"timed out\",\"data\":"
		  "{\"resultType\":\"scalar\",\"result\":[1,\"7\"]}}",
		  "the server refuses the query: timed out" },
		{ "{\"status\":\"error\"}", "the server refuses the query: no reason" },
		{ "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\","
		  "\"result\":[]}}",
		  "the query is a matrix: want a scalar or a vector" },
		{ "[]", "answer: expected an object, got a list" },
		{ "<html>", "answer" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };
		char text[TW_INSTANT_VALUE];

		assert_int_equal(tw_instant_parse(cases[i].body, strlen(cases[i].body),
						  text, &err),
				 -1);
		if (strncmp(err.text, cases[i].why, strlen(cases[i].why)) != 0)
			fail_msg("%s: %s", cases[i].body, err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_of_power_and_of_energy_are_scaled),
		cmocka_unit_test(other_texts_are_no_values),
		cmocka_unit_test(lines_end_wherever_the_pieces_do),
		cmocka_unit_test(a_line_without_an_end_takes_no_room),
		cmocka_unit_test(the_only_sample_of_an_answer_is_found),
		cmocka_unit_test(other_answers_say_why_not),
	};

	return cmocka_run_group_tests_name("value", tests, NULL, NULL);
}
