/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "tests/unit/fail_alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static json_t *parse(const char *text)
{
	struct tw_err err = { 0 };
	json_t *v = NULL;

	assert_int_equal(tw_json_parse(text, strlen(text), "t", &v, &err), 0);
	return v;
}

static void bad_json_is_rejected_with_its_place(void **state)
{
	static const struct {
		const char *text;
		const char *want;
	} cases[] = {
		{ "", "t: line 1, column 1: cut short before a value" },
		{ "{\"a\":\n1,}", "t: line 2, column 3: expected a key" },
		{ "{\"a\":1,\"a\":2}", "column 8: the key 'a' is there twice" },
		{ "{\"\":1,\"\":2}", "column 7: the key '' is there twice" },
		{ "{\"a\\u0000\":1}", "column 2: \\u0000 is not allowed" },
		{ "{\"\x1b\":1,\"\x1b\":2}", "control character" },
		{ "{\"\\u001b\":1,\"\\u001b\":2}", "the key '?' is there twice" },
		{ "[1] 2", "column 5: text after the end" },
		{ "[\"\x1b\"]", "control character" },
		{ "[\x1b]", "column 2: expected a value or ']'" },
		{ "[\"\xff\"]", "column 3: not UTF-8" },
		{ "[1e400]", "column 2: not a number, or too large" },
		{ "[9223372036854775808]", "column 2: an integer of more than 64 bits" },
		{ "[-9223372036854775809]", "column 2: an integer of more than 64 bits" },
		{ "[-99999999999999999999]", "an integer of more than 64 bits" },
		{ "[NaN]", "column 2: expected a value" },
		{ "[\"\\u0000\"]", "\\u0000 is not allowed" },
	};
	json_t *v = NULL;

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };

		assert_int_equal(tw_json_parse(cases[i].text, strlen(cases[i].text), "t",
					       &v, &err),
				 -1);
		assert_int_equal(err.code, TW_PARSE);
		if (strstr(err.text, cases[i].want) == NULL)
			fail_msg("'%s' lacks '%s'", err.text, cases[i].want);
		for (const char *p = err.text; *p != '\0'; p++)
			assert_true((unsigned char)*p >= 0x20);
	}
	assert_null(v);
}

/* As bad_json_is_rejected_with_its_place(), in members that nobody reads. */
static void loose_json_is_read_where_it_is_json(void **state)
{
	static const char text[] = "{\"a\":\"\xff\xc3\",\"b\":\"\xc3\xa9\x01\n\","
				   "\"c\":{\"d\":1},\"c\":2,\n\t\"e\":3}";
	struct tw_err err = { 0 }, why = { 0 };
	json_t *v = NULL;

	(void)state;
	assert_int_equal(tw_json_parse_loose(text, sizeof(text) - 1, "t", &v, &err), 0);
	assert_string_equal(json_string_value(json_object_get(v, "a")), "??");
	assert_string_equal(json_string_value(json_object_get(v, "b")), "\xc3\xa9  ");
	assert_int_equal(json_integer_value(json_object_get(v, "c")), 2);
	assert_int_equal(json_integer_value(json_object_get(v, "e")), 3);
	json_decref(v);
	assert_int_equal(tw_json_parse_loose("{\"a\":1", 6, "t", &v, &why), -1);
	assert_int_equal(why.code, TW_PARSE);
	for (int n = 1;; n++) {
		int rc;

		err = (struct tw_err){ 0 };
		v = NULL;
		fail_alloc_at(n);
		rc = tw_json_parse_loose(text, sizeof(text) - 1, "t", &v, &err);
		if (!fail_alloc_told(rc, &err))
			break;
	}
	json_decref(v);
}

static void integers_of_64_bits_are_exact(void **state)
{
	static const char text[] = "[9223372036854775807,-9223372036854775808,-0,12]";
	json_t *v = parse(text), *real = parse("-1.5e3"), *top = parse("-7");
	json_int_t want[] = { INT64_MAX, INT64_MIN, 0, 12 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		assert_true(json_is_integer(json_array_get(v, i)));
		assert_true(json_integer_value(json_array_get(v, i)) == want[i]);
	}
	assert_true(json_is_real(real) && json_real_value(real) == -1500);
	assert_true(json_is_integer(top) && json_integer_value(top) == -7);
	json_decref(v);
	json_decref(real);
	json_decref(top);
}

static void depth_is_limited_and_brackets_in_strings_do_not_count(void **state)
{
	struct tw_err err = { 0 };
	char text[300];
	json_t *v = NULL;

	(void)state;
	memset(text, '[', 65);
	memset(text + 65, ']', 65);
	assert_int_equal(tw_json_parse(text, 130, "t", &v, &err), -1);
	assert_int_equal(err.code, TW_PARSE);
	assert_string_equal(err.text, "t: line 1, column 65: nested deeper than 64");
	assert_int_equal(tw_json_parse(text + 1, 128, "t", &v, &(struct tw_err){ 0 }), 0);
	json_decref(v);

	memset(text, '[', 200);
	memcpy(text, "[\"\\\"", 4);
	memcpy(text + 198, "\"]", 2);
	assert_int_equal(tw_json_parse(text, 200, "t", &v, &(struct tw_err){ 0 }), 0);
	json_decref(v);
}

static void a_million_brackets_do_no_harm(void **state)
{
	struct tw_err err = { 0 };
	char *text = malloc(1000000);
	json_t *v = NULL;

	(void)state;
	memset(text, '[', 1000000);
	assert_int_equal(tw_json_parse(text, 1000000, "t", &v, &err), -1);
	assert_int_equal(err.code, TW_PARSE);
	free(text);
}

static void getters_find_values_of_their_type(void **state)
{
	json_t *v = parse("{\"t\":\"x\",\"n\":1.5,\"i\":3,\"b\":true,\"o\":{},\"l\":["
			  "\"p\",\"q\"]}");
	const json_t *o = NULL, *l = NULL, *m = NULL;
	struct tw_strs strs = { 0 };
	struct tw_err err = { 0 };
	const char *text = NULL;
	long long i = 0;
	double n = 0.0;
	bool b = false;

	(void)state;
	assert_int_equal(tw_json_text(v, "t", "t", false, &text, &err), 0);
	assert_string_equal(text, "x");
	assert_int_equal(tw_json_number(v, "t", "n", false, &n, &err), 0);
	assert_true(n == 1.5);
	assert_int_equal(tw_json_number(v, "t", "i", false, &n, &err), 0);
	assert_true(n == 3.0);
	assert_int_equal(tw_json_int(v, "t", "i", false, 3, 3, &i, &err), 0);
	assert_int_equal(i, 3);
	assert_int_equal(tw_json_bool(v, "t", "b", false, &b, &err), 0);
	assert_true(b);
	assert_int_equal(tw_json_object(v, "t", "o", false, &o, &err), 0);
	assert_int_equal(tw_json_array(v, "t", "l", false, &l, &err), 0);
	assert_int_equal(tw_json_member(v, "t", "l", false, &m, &err), 0);
	assert_ptr_equal(l, m);
	assert_int_equal(tw_json_strs(v, "t", "l", false, &strs, &err), 0);
	assert_int_equal(strs.count, 2);
	assert_string_equal(strs.at[1], "q");
	tw_strs_clear(&strs);
	json_decref(v);
}

/* The error of a getter for member "x" of a document. */
static void assert_says(const char *doc, char kind, enum tw_code code, const char *want)
{
	json_t *v = parse(doc);
	const json_t *any = NULL;
	struct tw_strs strs = { 0 };
	struct tw_err err = { 0 };
	const char *text = NULL;
	long long i = 7;
	double n = 7.0;
	bool b = false;
	int rc = 0;

	switch (kind) {
	case 't':
		rc = tw_json_text(v, "doc", "x", false, &text, &err);
		break;
	case 'n':
		rc = tw_json_number(v, "doc", "x", false, &n, &err);
		break;
	case 'i':
		rc = tw_json_int(v, "doc", "x", false, 1, 9, &i, &err);
		break;
	case 'b':
		rc = tw_json_bool(v, "doc", "x", false, &b, &err);
		break;
	case 'o':
		rc = tw_json_object(v, "doc", "x", false, &any, &err);
		break;
	case 'l':
		rc = tw_json_array(v, "doc", "x", false, &any, &err);
		break;
	default:
		rc = tw_json_strs(v, "doc", "x", false, &strs, &err);
	}
	assert_int_equal(rc, -1);
	assert_int_equal(err.code, code);
	assert_string_equal(err.text, want);
	assert_true(text == NULL && any == NULL && n == 7.0 && i == 7 && !b);
	tw_strs_clear(&strs);
	json_decref(v);
}

static void errors_name_the_path(void **state)
{
	(void)state;
	assert_says("{}", 't', TW_PARSE, "doc.x: missing");
	assert_says("{\"x\":null}", 't', TW_PARSE, "doc.x: must not be null");
	assert_says("[]", 't', TW_PARSE, "doc: expected an object, got a list");
	assert_says("{\"x\":1}", 't', TW_PARSE, "doc.x: expected a string, got a number");
	assert_says("{\"x\":\"1\"}", 'n', TW_PARSE,
		    "doc.x: expected a finite number, got a string");
	assert_says("{\"x\":1.5}", 'i', TW_PARSE,
		    "doc.x: expected a whole number, got a number");
	assert_says("{\"x\":10}", 'i', TW_INVALID, "doc.x: 10 is not from 1 to 9");
	assert_says("{\"x\":0}", 'i', TW_INVALID, "doc.x: 0 is not from 1 to 9");
	assert_says("{\"x\":1}", 'b', TW_PARSE,
		    "doc.x: expected true or false, got a number");
	assert_says("{\"x\":[]}", 'o', TW_PARSE, "doc.x: expected an object, got a list");
	assert_says("{\"x\":{}}", 'l', TW_PARSE, "doc.x: expected a list, got an object");
	assert_says("{\"x\":[\"a\",true]}", 's', TW_PARSE,
		    "doc.x[1]: expected a string, got true");
}

static void absent_optional_members_leave_the_value(void **state)
{
	json_t *v = parse("{\"x\":null}");
	const json_t *any = v;
	struct tw_strs strs = { 0 };
	struct tw_err err = { 0 };
	const char *text = "kept";
	long long i = 7;
	double n = 7.0;
	bool b = true;

	(void)state;
	for (int pass = 0; pass < 2; pass++) {
		const char *key = pass == 0 ? "x" : "y";

		assert_int_equal(tw_json_text(v, "t", key, true, &text, &err), 0);
		assert_int_equal(tw_json_number(v, "t", key, true, &n, &err), 0);
		assert_int_equal(tw_json_int(v, "t", key, true, 0, 1, &i, &err), 0);
		assert_int_equal(tw_json_bool(v, "t", key, true, &b, &err), 0);
		assert_int_equal(tw_json_object(v, "t", key, true, &any, &err), 0);
		assert_int_equal(tw_json_array(v, "t", key, true, &any, &err), 0);
		assert_int_equal(tw_json_strs(v, "t", key, true, &strs, &err), 0);
	}
	assert_string_equal(text, "kept");
	assert_true(n == 7.0 && i == 7 && b && any == v && strs.count == 0);
	json_decref(v);
}

static void documents_are_written_in_order_and_read_back(void **state)
{
	static const char doc[] =
		"{\"z\":[1,-2,0.1,1e+300,3,-0.0],\"a\":{},\"b\":[],"
		"\"n\":[{\"k\":null},[true,false]],\"t\":\"\\\"\\\\\\n\\u0001\u00e9\"}";
	static const char pretty[] =
		"{\n  \"b\": [1, 2],\n  \"a\": [\n    {\n      \"k\": {}\n"
		"    }\n  ]\n}\n";
	json_t *v = parse(doc), *p = parse(pretty), *again;
	struct tw_buf b = { 0 };

	(void)state;
	tw_buf_add_json(&b, v);
	assert_string_equal(b.data, doc);
	tw_buf_clear(&b);
	tw_buf_add_json_pretty(&b, p);
	assert_string_equal(b.data, pretty);
	tw_buf_clear(&b);
	tw_buf_add_json_pretty(&b, v);
	again = parse(b.data);
	assert_true(json_equal(v, again));
	json_decref(again);
	tw_buf_clear(&b);
	json_decref(p);
	json_decref(v);
}

static void invalid_utf8_is_replaced(void **state)
{
	static const struct {
		const char *in;
		const char *out;
	} cases[] = {
		{ "\xff", "\"\xef\xbf\xbd\"" },
		{ "a\xc3", "\"a\xef\xbf\xbd\"" },
		{ "\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\"" },
		{ "\x1b\x7f\t", "\"\\u001b\\u007f\\u0009\"" },
		{ "\xc2\x9b\xc2\xa0", "\"\\u009b\xc2\xa0\"" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_buf b = { 0 };

		tw_buf_add_json_text(&b, cases[i].in, strlen(cases[i].in));
		assert_string_equal(b.data, cases[i].out);
		json_decref(parse(b.data));
		tw_buf_clear(&b);
	}
}

static void failed_allocations_of_lists_are_reported(void **state)
{
	json_t *v = parse("{\"x\":[\"a\",\"b\"]}");

	(void)state;
	for (int n = 1;; n++) {
		struct tw_strs strs = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_json_strs(v, "t", "x", false, &strs, &err);
		tw_strs_clear(&strs);
		if (!fail_alloc_told(rc, &err)) {
			assert_int_equal(n, 4);
			break;
		}
	}
	json_decref(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_json_is_rejected_with_its_place),
		cmocka_unit_test(loose_json_is_read_where_it_is_json),
		cmocka_unit_test(integers_of_64_bits_are_exact),
		cmocka_unit_test(depth_is_limited_and_brackets_in_strings_do_not_count),
		cmocka_unit_test(a_million_brackets_do_no_harm),
		cmocka_unit_test(getters_find_values_of_their_type),
		cmocka_unit_test(errors_name_the_path),
		cmocka_unit_test(absent_optional_members_leave_the_value),
		cmocka_unit_test(documents_are_written_in_order_and_read_back),
		cmocka_unit_test(invalid_utf8_is_replaced),
		cmocka_unit_test(failed_allocations_of_lists_are_reported),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
