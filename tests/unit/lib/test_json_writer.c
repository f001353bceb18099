/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void assert_text(struct tw_buf *b, const char *want)
{
	assert_false(tw_buf_failed(b));
	assert_string_equal(b->data, want);
	tw_buf_clear(b);
}

static void commas_are_between_members_and_elements(void **state)
{
	struct tw_buf b = { 0 };

	(void)state;
	tw_json_add_object(&b, NULL);
	tw_json_add_text(&b, "a", "{[:, \n");
	tw_json_add_array(&b, "b");
	tw_json_add_uint(&b, NULL, 1);
	tw_json_add_object(&b, NULL);
	tw_json_end_object(&b);
	tw_json_add_array(&b, NULL);
	tw_json_end_array(&b);
	tw_json_add_null(&b, NULL);
	tw_json_end_array(&b);
	tw_json_add_bool(&b, "c", true);
	tw_json_add_key(&b, "d");
	tw_json_add_object(&b, NULL);
	tw_json_add_bool(&b, "e", false);
	tw_json_end_object(&b);
	tw_json_end_object(&b);
	assert_text(&b, "{\"a\":\"{[:, \\n\",\"b\":[1,{},[],null],\"c\":true,"
			"\"d\":{\"e\":false}}");
}

static void documents_may_follow_other_text(void **state)
{
	struct tw_buf b = { 0 };

	(void)state;
	tw_buf_adds(&b, "data: ");
	tw_json_add_text(&b, NULL, "x");
	tw_buf_adds(&b, "\n");
	tw_json_add_text(&b, NULL, "y");
	assert_text(&b, "data: \"x\"\n\"y\"");
}

static void an_emptied_buffer_goes_on(void **state)
{
	struct tw_buf b = { 0 };

	(void)state;
	tw_json_add_array(&b, NULL);
	tw_json_add_uint(&b, NULL, 1);
	tw_json_add_object(&b, NULL);
	b.len = 0;
	tw_json_add_uint(&b, "a", 2);
	tw_json_end_object(&b);
	tw_json_end_array(&b);
	assert_text(&b, "\"a\":2}]");
}

static void numbers(void **state)
{
	const double list[] = { 0.1, NAN, 1e300, -INFINITY, 3 };
	struct tw_buf b = { 0 };

	(void)state;
	tw_json_add_array(&b, NULL);
	tw_json_add_number(&b, NULL, 12.5);
	tw_json_add_number(&b, NULL, -0.0);
	tw_json_add_number(&b, NULL, NAN);
	tw_json_add_number(&b, NULL, INFINITY);
	tw_json_add_rounded(&b, NULL, 1.23456, 3);
	tw_json_add_rounded(&b, NULL, 2, 4);
	tw_json_add_rounded(&b, NULL, NAN, 4);
	tw_json_add_fixed(&b, NULL, 2, 1);
	tw_json_add_fixed(&b, NULL, 2.5, 0);
	tw_json_add_fixed(&b, NULL, INFINITY, 0);
	tw_json_add_int(&b, NULL, 0);
	tw_json_add_int(&b, NULL, INT64_MIN);
	tw_json_add_int(&b, NULL, INT64_MAX);
	tw_json_add_uint(&b, NULL, UINT64_MAX);
	tw_json_add_numbers(&b, NULL, list, 5);
	tw_json_add_numbers(&b, NULL, list, 0);
	tw_json_end_array(&b);
	assert_text(&b, "[12.5,-0.0,null,null,1.235,2,null,2.0,2,null,0,"
			"-9223372036854775808,9223372036854775807,"
			"18446744073709551615,[0.1,null,1e+300,null,3],[]]");
}

static void texts_are_escaped(void **state)
{
	struct tw_buf b = { 0 };
	struct tw_strs l = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	tw_json_add_array(&b, NULL);
	tw_json_add_text(&b, NULL, NULL);
	tw_json_add_text(&b, NULL, "\"\\\x01\x7f");
	tw_json_add_text(&b, NULL, "a\xff");
	tw_json_add_texts(&b, NULL, &l);
	assert_int_equal(tw_strs_adds(&l, "p\"", &err), 0);
	assert_int_equal(tw_strs_adds(&l, "", &err), 0);
	tw_json_add_texts(&b, NULL, &l);
	tw_json_end_array(&b);
	assert_text(&b, "[null,\"\\\"\\\\\\u0001\\u007f\",\"a\xef\xbf\xbd\",[],"
			"[\"p\\\"\",\"\"]]");
	tw_strs_clear(&l);
	tw_json_add_text(&b, "\"\n\xc2\x85", "\xc3\xa4");
	assert_text(&b, "\"\\\"\\n\\u0085\":\"\xc3\xa4\"");
}

static void documents_of_jansson_are_values(void **state)
{
	struct tw_buf b = { 0 };

	(void)state;
	tw_json_add_object(&b, NULL);
	tw_json_add_value_take(&b, "a", json_pack("{s:i}", "x", 1));
	tw_json_add_value_take(&b, "b", json_true());
	tw_json_end_object(&b);
	assert_text(&b, "{\"a\":{\"x\":1},\"b\":true}");
	tw_json_add_value_take(&b, NULL, NULL);
	assert_true(tw_buf_failed(&b));
	tw_buf_clear(&b);
}

/* The same document, written compact, indented. */
static void assert_indented(const char *text, const char *want)
{
	struct tw_buf b = { 0 };

	tw_buf_adds(&b, text);
	tw_json_indent(&b);
	assert_text(&b, want);
}

static void documents_are_indented(void **state)
{
	(void)state;
	assert_indented("1", "1\n");
	assert_indented("\"a,:{\\\"[\\\\\"", "\"a,:{\\\"[\\\\\"\n");
	assert_indented("{}", "{}\n");
	assert_indented("[]", "[]\n");
	assert_indented("[1,[2,3],{\"a\":4,\"b\":[5,6]}]",
			"[1, [2,3], {\"a\":4,\"b\":[5,6]}]\n");
	assert_indented("{\"a\":{},\"b\":[],\"c\":[\"x\",\",\"],\"d\":{\"e\":-1.5}}",
			"{\n  \"a\": {},\n  \"b\": [],\n  \"c\": [\"x\", \",\"],\n"
			"  \"d\": {\n    \"e\": -1.5\n  }\n}\n");
	assert_indented("[{\"a\":1},2,[[3,4],[]]]",
			"[\n  {\n    \"a\": 1\n  },\n  2,\n  [\n    [3, 4],\n    []\n"
			"  ]\n]\n");
}

/* Cut anywhere, a text is read to its end and not beyond. */
static void cut_documents_are_indented_somehow(void **state)
{
	static const char text[] = "[{\"a\\\"\":[1,\"}\"]},[[]],{}]]}";

	(void)state;
	for (size_t n = 0; n < sizeof(text); n++) {
		struct tw_buf b = { 0 };

		tw_buf_add(&b, text, n);
		tw_json_indent(&b);
		assert_false(tw_buf_failed(&b));
		tw_buf_clear(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_are_between_members_and_elements),
		cmocka_unit_test(documents_may_follow_other_text),
		cmocka_unit_test(an_emptied_buffer_goes_on),
		cmocka_unit_test(numbers),
		cmocka_unit_test(texts_are_escaped),
		cmocka_unit_test(documents_of_jansson_are_values),
		cmocka_unit_test(documents_are_indented),
		cmocka_unit_test(cut_documents_are_indented_somehow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
