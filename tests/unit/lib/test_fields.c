/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/json/json.h"
#include "lib/json/fields.h"
#include "tests/unit/fail_alloc.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum colour { RED, GREEN };

static const char *const colours[] = { "red", "green", NULL };

struct leaf {
	char *note;
	double low[2];
	int32_t small;
};

struct tree {
	char label[8], name[8];
	char reason[TW_ERR_TEXT];
	struct tw_strs words;
	bool on;
	uint32_t count;
	size_t bytes;
	int64_t offset, since_ms;
	enum colour colour;
	double watts, share;
	struct leaf leaf;
	struct leaf some[2];
	struct leaf *leaves;
	size_t some_count, leaf_count;
	int own, size;
};

static bool is_path(const char *text)
{
	return text[0] == '/';
}

static int read_own(const json_t *v, const char *where, void *member, struct tw_err *err)
{
	if (!json_is_array(v))
		return tw_fail(err, TW_PARSE, "%s: no list", where);
	*(int *)member = (int)json_array_size(v);
	return 0;
}

static void write_own(const void *member, struct tw_buf *out)
{
	tw_buf_addf(out, "\"%d\"", *(const int *)member);
}

static bool is_on(const void *record)
{
	return ((const struct tree *)record)->on;
}

static const struct tw_field_own own = { read_own, write_own, NULL, NULL };

static int parse_size(const char *text, void *member, struct tw_err *err)
{
	if (strcmp(text, "big") != 0)
		return tw_fail(err, TW_INVALID, "'%s' is no size", text);
	*(int *)member = 9;
	return 0;
}

static const char *size_text(const void *member)
{
	return *(const int *)member == 9 ? "big" : NULL;
}

static const struct tw_field_own size_own = { NULL, NULL, parse_size, size_text };

#define LEAF(member) TW_FIELD_AT(struct leaf, member)

static const struct tw_field leaf_fields[] = {
	{ "note", TW_FIELD_STRING, LEAF(note), .check = is_path, .noun = "path" },
	{ "low", TW_FIELD_DOUBLE, TW_FIELD_ARRAY_AT(struct leaf, low), .low = -1,
	  .high = 1, .optional = true },
	{ "small", TW_FIELD_INT, LEAF(small), .optional = true, .omit_empty = true },
};

static const struct tw_fields leaf_table = TW_FIELDS(leaf_fields, struct leaf);

#define AT(member) TW_FIELD_AT(struct tree, member)

static const struct tw_field fields[] = {
	{ "format", TW_FIELD_FORMAT, .min = 1, .max = 2 },
	{ "label", TW_FIELD_TEXT, AT(label) },
	{ "name", TW_FIELD_NAME, AT(name), .optional = true, .omit_empty = true },
	{ "reason", TW_FIELD_REASON, AT(reason), .optional = true, .omit_empty = true },
	{ "words", TW_FIELD_STRS, AT(words), .optional = true, .omit_empty = true },
	{ "on", TW_FIELD_BOOL, AT(on), .optional = true, .omit_empty = true },
	{ "count", TW_FIELD_UINT, AT(count), .optional = true, .omit_empty = true },
	{ "bytes", TW_FIELD_UINT, AT(bytes), .optional = true, .omit_empty = true },
	{ "offset", TW_FIELD_INT, AT(offset), .optional = true, .omit_empty = true },
	{ "since", TW_FIELD_DATE, AT(since_ms), .optional = true, .omit_empty = true },
	{ "colour", TW_FIELD_ENUM, AT(colour), .names = colours, .optional = true },
	{ "watts", TW_FIELD_DOUBLE, AT(watts), .optional = true },
	{ "share", TW_FIELD_DOUBLE, AT(share), .decimals = 2, .when = is_on,
	  .unread = true },
	{ "leaf", TW_FIELD_RECORD, AT(leaf), .record = &leaf_table, .optional = true },
	{ "some", TW_FIELD_RECORD, TW_FIELD_FILLED_AT(struct tree, some, some_count),
	  .record = &leaf_table, .optional = true, .omit_empty = true, .least = 1 },
	{ "leaves", TW_FIELD_RECORD, TW_FIELD_LIST_AT(struct tree, leaves, leaf_count),
	  .record = &leaf_table, .optional = true, .omit_empty = true, .most = 3 },
	{ "own", TW_FIELD_OWN, AT(own), .own = &own, .optional = true },
	{ "size", TW_FIELD_OWN, AT(size), .own = &size_own, .optional = true,
	  .omit_empty = true },
};

static const struct tw_fields tree_table = TW_FIELDS(fields, struct tree);

static int parse(const char *text, struct tree *out, struct tw_err *err)
{
	return tw_fields_parse(&tree_table, text, strlen(text), "t", out, err);
}

static const char full[] =
	"{\"format\":1,\"label\":\"lab\",\"name\":\"n\",\"reason\":\"r s\","
	"\"words\":[\"a\",\"b\"],\"on\":true,\"count\":4294967295,"
	"\"bytes\":9223372036854775807,\"offset\":-9223372036854775808,"
	"\"since\":\"2026-11-21T12:00:00.000Z\",\"colour\":\"green\",\"watts\":0.1,"
	"\"leaf\":{\"note\":\"/a\",\"low\":[1,-0.5],\"small\":-2147483648},"
	"\"some\":[{\"note\":\"/b\"}],\"leaves\":[{\"note\":\"/c\"},{\"note\":\"/d\"}],"
	"\"own\":[0,0,0],\"size\":\"big\",\"unknown\":{\"deep\":[[[[{}]]]]}}";

static void a_record_is_read_and_written(void **state)
{
	struct tree t = { .share = 0.125 };
	struct tw_err err = { 0 };
	struct tw_buf b = { 0 };
	json_t *doc;

	(void)state;
	assert_int_equal(parse(full, &t, &err), 0);
	assert_string_equal(t.label, "lab");
	assert_string_equal(t.reason, "r s");
	assert_int_equal(t.words.count, 2);
	assert_true(t.count == UINT32_MAX && t.bytes == INT64_MAX);
	assert_true(t.offset == INT64_MIN && t.leaf.small == INT32_MIN);
	assert_int_equal(t.colour, GREEN);
	assert_int_equal(t.some_count, 1);
	assert_int_equal(t.leaf_count, 2);
	assert_string_equal(t.leaves[1].note, "/d");
	assert_int_equal(t.own, 3);

	t.leaf.low[0] = NAN;
	t.leaf.low[1] = 0.125;
	tw_fields_write(&tree_table, &t, &b);
	assert_string_equal(
		b.data,
		"{\"format\":2,\"label\":\"lab\",\"name\":\"n\",\"reason\":\"r s\","
		"\"words\":[\"a\",\"b\"],\"on\":true,\"count\":4294967295,"
		"\"bytes\":9223372036854775807,\"offset\":-9223372036854775808,"
		"\"since\":\"2026-11-21T12:00:00.000Z\",\"colour\":\"green\","
		"\"watts\":0.1,\"share\":0.12,"
		"\"leaf\":{\"note\":\"/a\",\"low\":[null,0.125],\"small\":-2147483648},"
		"\"some\":[{\"note\":\"/b\",\"low\":[0,0]}],"
		"\"leaves\":[{\"note\":\"/c\",\"low\":[0,0]},"
		"{\"note\":\"/d\",\"low\":[0,0]}],\"own\":\"3\",\"size\":\"big\"}");
	doc = tw_fields_to_json(&tree_table, &t);
	assert_int_equal(json_object_size(doc), 18);
	json_decref(doc);
	tw_buf_clear(&b);
	tw_fields_release(&tree_table, &t);
	assert_null(t.leaves);
	assert_null(t.leaf.note);
	assert_int_equal(t.leaf_count, 0);
}

static void empty_members_are_left_out(void **state)
{
	struct tree t = { .watts = -0.0 };
	struct tw_err err = { 0 };
	struct tw_buf b = { 0 };

	(void)state;
	tw_fields_write(&tree_table, &t, &b);
	assert_string_equal(b.data,
			    "{\"format\":2,\"label\":\"\",\"colour\":\"red\","
			    "\"watts\":-0.0,\"leaf\":{\"note\":null,\"low\":[0,0]},"
			    "\"own\":\"0\"}");
	tw_buf_clear(&b);

	/* Absent and null members leave the default. */
	t = (struct tree){ .watts = 5, .count = 6 };
	assert_int_equal(parse("{\"format\":2,\"label\":\"\",\"watts\":null}", &t, &err),
			 0);
	assert_true(t.watts == 5 && t.count == 6);
}

static void a_long_reason_ends_after_a_word(void **state)
{
	struct tree t = { .own = 0 };
	struct tw_err err = { 0 };
	char text[600];
	int n;

	(void)state;
	n = snprintf(text, sizeof(text), "{\"format\":1,\"label\":\"\",\"reason\":\"");
	for (int i = 0; i < 60; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "abc%s ", "\xc3\xa4");
	snprintf(text + n, sizeof(text) - (size_t)n, "\"}");
	assert_int_equal(parse(text, &t, &err), 0);
	assert_true(strlen(t.reason) < TW_ERR_TEXT);
	assert_non_null(strstr(t.reason, "\xc3\xa4 .."));
}

static void wrong_members_are_rejected_with_their_place(void **state)
{
	static const struct {
		const char *members; /* after format and label */
		enum tw_code code;
		const char *want;
	} cases[] = {
		{ ",\"name\":5", TW_PARSE, "t.name: expected a string, got a number" },
		{ ",\"name\":\"../x\"", TW_INVALID, "t.name '../x'" },
		{ ",\"name\":\"12345678\"", TW_INVALID, "t.name: longer than 7 bytes" },
		{ ",\"reason\":[]", TW_PARSE, "t.reason: expected a string, got a list" },
		{ ",\"words\":{}", TW_PARSE, "t.words: expected a list, got an object" },
		{ ",\"words\":[\"a\",null]", TW_PARSE,
		  "t.words[1]: expected a string, got null" },
		{ ",\"on\":0", TW_PARSE, "t.on: expected true or false, got a number" },
		{ ",\"count\":-1", TW_INVALID,
		  "t.count: -1 is not from 0 to 4294967295" },
		{ ",\"count\":4294967296", TW_INVALID, "t.count: 4294967296 is not" },
		{ ",\"count\":1.0", TW_PARSE, "t.count: expected a whole number" },
		{ ",\"bytes\":-1", TW_INVALID, "t.bytes: -1 is not from 0 to 9223372" },
		{ ",\"bytes\":9223372036854775808", TW_PARSE, "more than 64 bits" },
		{ ",\"since\":1", TW_PARSE, "t.since: expected a string" },
		{ ",\"since\":\"soon\"", TW_INVALID, "t.since: " },
		{ ",\"colour\":\"blue\"", TW_INVALID, "t.colour: 'blue' is not known" },
		{ ",\"colour\":1", TW_PARSE, "t.colour: expected a string" },
		{ ",\"watts\":\"1\"", TW_PARSE, "t.watts: expected a finite number" },
		{ ",\"watts\":1e999", TW_PARSE, "too large" },
		{ ",\"leaf\":[]", TW_PARSE, "t.leaf: expected an object, got a list" },
		{ ",\"leaf\":{}", TW_PARSE, "t.leaf.note: missing" },
		{ ",\"leaf\":{\"note\":null}", TW_PARSE,
		  "t.leaf.note: must not be null" },
		{ ",\"leaf\":{\"note\":\"a\"}", TW_INVALID,
		  "t.leaf.note: 'a' is no path" },
		{ ",\"leaf\":{\"note\":\"/\",\"low\":[1,1.5]}", TW_INVALID,
		  "t.leaf.low[1]: 1.5 is not from -1 to 1" },
		{ ",\"leaf\":{\"note\":\"/\",\"low\":[1]}", TW_INVALID,
		  "t.leaf.low: 1 entries, want at least 2" },
		{ ",\"leaf\":{\"note\":\"/\",\"low\":[1,1,1]}", TW_INVALID,
		  "t.leaf.low: 3 entries, limit is 2" },
		{ ",\"leaf\":{\"note\":\"/\",\"low\":[1,null]}", TW_PARSE,
		  "t.leaf.low[1]: expected a finite number, got null" },
		{ ",\"leaf\":{\"note\":\"/\",\"small\":2147483648}", TW_INVALID,
		  "t.leaf.small: 2147483648 is not from -2147483648 to 2147483647" },
		{ ",\"some\":[]", TW_INVALID, "t.some: 0 entries, want at least 1" },
		{ ",\"some\":[{\"note\":\"/\"},{\"note\":\"/\"},{\"note\":\"/\"}]",
		  TW_INVALID, "t.some: 3 entries, limit is 2" },
		{ ",\"leaves\":[{\"note\":\"/\"},7]", TW_PARSE,
		  "t.leaves[1]: expected an object, got a number" },
		{ ",\"leaves\":[{\"note\":\"/\"},{\"note\":\"/\"},{}]", TW_PARSE,
		  "t.leaves[2].note: missing" },
		{ ",\"leaves\":[1,2,3,4]", TW_INVALID,
		  "t.leaves: 4 entries, limit is 3" },
		{ ",\"own\":{}", TW_PARSE, "t.own: no list" },
		{ ",\"size\":1", TW_PARSE, "t.size: expected a string, got a number" },
		{ ",\"size\":\"x\"", TW_INVALID, "t.size: 'x' is no size" },
		{ ",\"count\":1,\"count\":1", TW_PARSE,
		  "the key 'count' is there twice" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tree t = { .own = 0 };
		struct tw_err err = { 0 };
		char text[256];

		snprintf(text, sizeof(text), "{\"format\":1,\"label\":\"\"%s}",
			 cases[i].members);
		assert_int_equal(parse(text, &t, &err), -1);
		if (strstr(err.text, cases[i].want) == NULL)
			fail_msg("'%s' lacks '%s'", err.text, cases[i].want);
		assert_int_equal(err.code, cases[i].code);
		/* Nothing is left to free. */
		assert_null(t.leaves);
		assert_null(t.leaf.note);
		assert_int_equal(t.words.count, 0);
	}
}

static void wrong_documents_are_rejected(void **state)
{
	static const struct {
		const char *text;
		enum tw_code code;
		const char *want;
	} cases[] = {
		{ "[]", TW_PARSE, "t: expected an object, got a list" },
		{ "null", TW_PARSE, "t: expected an object, got null" },
		{ "{}", TW_PARSE, "t.format: missing" },
		{ "{\"format\":null}", TW_PARSE, "t.format: must not be null" },
		{ "{\"format\":\"1\"}", TW_PARSE, "t.format: expected a whole number" },
		{ "{\"format\":3}", TW_UNSUPPORTED, "t.format: 3, want 2" },
		{ "{\"format\":0}", TW_UNSUPPORTED, "t.format: 0, want 2" },
		{ "{\"format\":1,\"label\":\"12345678\"}", TW_INVALID,
		  "t.label: longer than 7 bytes" },
		{ "{\"format\":1,\"label\":\"\\u0000\"}", TW_PARSE, "not allowed" },
		{ "{\"format\":1", TW_PARSE, "t: line 1" },
	};
	struct tree t = { .own = 0 };
	struct tw_err err = { 0 };
	char deep[200];

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		tw_err_clear(&err);
		assert_int_equal(parse(cases[i].text, &t, &err), -1);
		if (strstr(err.text, cases[i].want) == NULL)
			fail_msg("'%s' lacks '%s'", err.text, cases[i].want);
		assert_int_equal(err.code, cases[i].code);
	}
	memset(deep, '[', sizeof(deep) - 1);
	memcpy(deep, "{\"own\":", strlen("{\"own\":"));
	deep[sizeof(deep) - 1] = '\0';
	tw_err_clear(&err);
	assert_int_equal(parse(deep, &t, &err), -1);
	assert_non_null(strstr(err.text, "deep"));
	tw_err_clear(&err);
	assert_int_equal(tw_fields_read(&tree_table, NULL, "t", &t, &err), -1);
	assert_string_equal(err.text, "t: expected an object, got nothing");
}

static void a_failed_allocation_is_told(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		struct tree t = { .own = 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = parse(full, &t, &err);
		tw_fields_release(&tree_table, &t);
		if (!fail_alloc_told(rc, &err))
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_is_read_and_written),
		cmocka_unit_test(empty_members_are_left_out),
		cmocka_unit_test(a_long_reason_ends_after_a_word),
		cmocka_unit_test(wrong_members_are_rejected_with_their_place),
		cmocka_unit_test(wrong_documents_are_rejected),
		cmocka_unit_test(a_failed_allocation_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
