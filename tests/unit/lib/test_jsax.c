/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/code_name.h"
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/jsax.h"
#include "tests/unit/fail_alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct tw_jsax_limits limits = { .depth = 5, .text_bytes = 16 };

/* Write each event as one word, so that tests compare texts. */
static int record(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	static const char marks[] = { '{', '}', '[', ']', 'k', 't', 'n', 'T', 'F', 'N' };
	struct tw_buf *b = arg;

	tw_buf_addf(b, "%c%u@%" PRIu64, marks[e->type], e->depth, e->offset);
	if (e->type == TW_JSAX_KEY || e->type == TW_JSAX_TEXT) {
		tw_buf_adds(b, "=");
		tw_buf_add(b, e->text, e->len);
	}
	if (e->type == TW_JSAX_NUMBER)
		tw_buf_addf(b, "=%g", e->number);
	tw_buf_adds(b, " ");
	if (e->type == TW_JSAX_TEXT && e->len == 4 && memcmp(e->text, "stop", 4) == 0)
		return tw_fail(err, TW_INVALID, "stopped by the test");
	return 0;
}

/* Feed text in pieces of `piece` bytes. Return events and error as text, yours. */
static char *events(const char *text, size_t len, size_t piece, size_t *used_out)
{
	struct tw_err err = { 0 };
	struct tw_buf b = { 0 };
	struct tw_jsax *p = NULL;
	size_t at = 0;
	int rc = 0;

	assert_int_equal(tw_jsax_new(&limits, record, &b, &p, &err), 0);
	while (rc == 0 && at < len && !tw_jsax_done(p)) {
		size_t n = len - at < piece ? len - at : piece, used = 0;
		/* A copy, so that a sanitizer detects reads past its end. */
		char *copy = malloc(n);

		memcpy(copy, text + at, n);
		rc = tw_jsax_feed(p, copy, n, &used, &err);
		free(copy);
		at += used;
	}
	if (rc == 0 && at == len)
		rc = tw_jsax_end(p, &err);
	if (rc < 0)
		tw_buf_addf(&b, "! %s: %s", code_name(err.code), err.text);
	tw_jsax_free(p);
	if (used_out != NULL)
		*used_out = at;
	return tw_buf_detach(&b, NULL);
}

/* The events must not depend on the sizes of the pieces. */
static void expect(const char *text, const char *want)
{
	size_t len = strlen(text);

	for (size_t piece = 1; piece <= len + 1; piece++) {
		char *got = events(text, len, piece, NULL);

		assert_string_equal(got, want);
		free(got);
	}
}

static void events_come_in_order_with_depth_and_offset(void **state)
{
	(void)state;
	expect(" {\"a\" : [1, -2.5e1,true],\"b\":{\"c\":null},\"d\":\"x\",\"e\":false, "
	       "\"f\":[],\"g\":{}}\n",
	       "{0@1 k1@2=a [1@8 n2@9=1 n2@12=-25 T2@19 ]1@23 k1@25=b {1@29 k2@30=c "
	       "N2@34 }1@38 k1@40=d t1@44=x k1@48=e F1@52 k1@59=f [1@63 ]1@64 k1@66=g "
	       "{1@70 }1@71 }0@72 ");
}

static void scalars_are_documents(void **state)
{
	(void)state;
	expect("\"\"", "t0@0= ");
	expect(" 0 ", "n0@1=0 ");
	expect("-0.5", "n0@0=-0.5 ");
	expect("null", "N0@0 ");
}

static void escapes_and_utf8_are_decoded(void **state)
{
	(void)state;
	expect("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "t0@0=\"\\/\b\f\n\r\t ");
	expect("\"a\\u00e9\\u20AC\\ud83d\\ude00z\"",
	       "t0@0=a\303\251\342\202\254\360\237\230\200z ");
	expect("\"\303\251\342\202\254\360\237\230\200\"",
	       "t0@0=\303\251\342\202\254\360\237\230\200 ");
	expect("\"0123456789abcdef\"", "t0@0=0123456789abcdef ");
}

static void an_escaped_nul_is_decoded(void **state)
{
	static const char want[] = "t0@0=a\0b ";
	char *got = events("\"a\\u0000b\"", 10, 3, NULL);

	(void)state;
	assert_memory_equal(got, want, sizeof(want));
	free(got);
}

static void bad_strings_are_rejected_with_their_offset(void **state)
{
	(void)state;
	expect("\"a\001b\"", "! parse: byte 2: control character in a text");
	expect("\"\\x\"", "! parse: byte 2: unknown escape");
	expect("\"\\u12g4\"", "! parse: byte 5: expected a hex digit");
	expect("\"\\ud800\"", "! parse: byte 7: half a surrogate pair");
	expect("\"\\ud800\\n\"", "! parse: byte 8: half a surrogate pair");
	expect("\"\\ud800\\u0041\"", "! parse: byte 12: half a surrogate pair");
	expect("\"\\udc00\"", "! parse: byte 6: half a surrogate pair");
	expect("\"\300\200\"", "! parse: byte 1: not UTF-8");
	expect("\"\355\240\200\"", "! parse: byte 2: not UTF-8");
	expect("\"\340\237\277\"", "! parse: byte 2: not UTF-8");
	expect("\"\364\220\200\200\"", "! parse: byte 2: not UTF-8");
	expect("\"\342\202\"", "! parse: byte 3: not UTF-8");
	expect("\"0123456789abcdefg\"", "! parse: byte 17: text of more than 16 bytes");
	expect("\"0123456789abcde\\u20ac\"",
	       "! parse: byte 21: text of more than 16 bytes");
}

static void bad_structure_is_rejected_with_its_offset(void **state)
{
	(void)state;
	expect("", "! parse: byte 0: cut short before a value");
	expect("  ", "! parse: byte 2: cut short before a value");
	expect("x", "! parse: byte 0: expected a value");
	expect("[1,]", "[0@0 n1@1=1 ! parse: byte 3: expected a value");
	expect("[,1]", "[0@0 ! parse: byte 1: expected a value or ']'");
	expect("[1 2]", "[0@0 n1@1=1 ! parse: byte 3: expected ',' or ']'");
	expect("[1}", "[0@0 n1@1=1 ! parse: byte 2: expected ',' or ']'");
	expect("{\"a\" 1}", "{0@0 k1@1=a ! parse: byte 5: expected ':'");
	expect("{\"a\":1,}", "{0@0 k1@1=a n1@5=1 ! parse: byte 7: expected a key");
	expect("{1:2}", "{0@0 ! parse: byte 1: expected a key or '}'");
	expect("{\"a\":1 \"b\"}",
	       "{0@0 k1@1=a n1@5=1 ! parse: byte 7: expected ',' or '}'");
	expect("{]", "{0@0 ! parse: byte 1: expected a key or '}'");
	expect("nul!", "! parse: byte 0: expected 'null'");
	expect("[[[[[[",
	       "[0@0 [1@1 [2@2 [3@3 [4@4 ! parse: byte 5: nested deeper than 5");
}

static void bad_numbers_are_rejected(void **state)
{
	static const char *const bad[] = { "01", "1.", "-",   "+1",
					   ".5", "1e", "1-2", "1e999" };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(bad); i++) {
		char text[32];

		snprintf(text, sizeof(text), "[%s]", bad[i]);
		expect(text,
		       bad[i][0] == '+' || bad[i][0] == '.'
			       ? "[0@0 ! parse: byte 1: expected a value or ']'"
			       : "[0@0 ! parse: byte 1: not a number, or too large");
	}
}

static void a_number_of_endless_digits_is_rejected(void **state)
{
	char text[2000];

	(void)state;
	memset(text, '1', sizeof(text));
	text[1] = '.';
	for (size_t piece = 1; piece < 3000; piece += 499) {
		char *got = events(text, sizeof(text), piece, NULL);

		assert_string_equal(got, "! parse: byte 0: not a number, or too large");
		free(got);
	}
}

static void a_truncated_document_names_the_open_token(void **state)
{
	(void)state;
	expect("{\"a", "{0@0 ! parse: byte 3: cut short in a key");
	expect("[\"a", "[0@0 ! parse: byte 3: cut short in a string");
	expect("[1", "[0@0 ! parse: byte 2: cut short in a value");
	expect("tru", "! parse: byte 3: cut short in a value");
	expect("[1,", "[0@0 n1@1=1 ! parse: byte 3: cut short in an array");
	expect("{\"a\":", "{0@0 k1@1=a ! parse: byte 5: cut short in an object");
}

static void bytes_after_the_document_are_not_consumed(void **state)
{
	static const char *const texts[] = { "{} {}", "12,", "\"a\"x", "truetrue" };
	static const size_t ends[] = { 2, 2, 3, 4 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		for (size_t piece = 1; piece < 10; piece++) {
			size_t used;

			free(events(texts[i], strlen(texts[i]), piece, &used));
			assert_int_equal(used, ends[i]);
		}
	}
}

static void the_callback_can_stop_the_parser(void **state)
{
	(void)state;
	expect("[\"stop\",1]", "[0@0 t1@1=stop ! invalid: stopped by the test");
}

static void a_parser_can_be_reset_after_a_failure(void **state)
{
	struct tw_err err = { 0 }, fresh = { 0 };
	struct tw_buf b = { 0 };
	struct tw_jsax *p = NULL;
	char *got;
	size_t used = 0;

	(void)state;
	assert_int_equal(tw_jsax_new(&limits, record, &b, &p, &err), 0);
	assert_int_equal(tw_jsax_feed(p, " ", 1, &used, &err), 0);
	assert_false(tw_jsax_started(p));
	assert_int_equal(tw_jsax_feed(p, "[12", 3, &used, &err), 0);
	assert_true(tw_jsax_started(p));
	assert_int_equal(tw_jsax_feed(p, "}", 1, &used, &err), -1);
	tw_jsax_reset(p);
	assert_false(tw_jsax_started(p));
	assert_false(tw_jsax_done(p));
	assert_int_equal(tw_jsax_feed(p, "[3]", 3, &used, &fresh), 0);
	assert_true(tw_jsax_done(p));
	assert_int_equal(tw_jsax_end(p, &fresh), 0);
	tw_jsax_free(p);
	got = tw_buf_detach(&b, NULL);
	assert_string_equal(got, "[0@1 n1@2=12 [0@0 n1@1=3 ]0@2 ");
	free(got);
}

static int ignore(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	(void)arg;
	(void)e;
	(void)err;
	return 0;
}

static void every_failed_allocation_is_reported(void **state)
{
	static const char text[] = "[\"\\n\"]";

	(void)state;
	for (int n = 1;; n++) {
		struct tw_jsax *p = NULL;
		struct tw_err err = { 0 };
		size_t used = 0;
		int rc;

		fail_alloc_at(n);
		rc = tw_jsax_new(&limits, ignore, NULL, &p, &err);
		if (rc == 0)
			rc = tw_jsax_feed(p, text, sizeof(text) - 1, &used, &err);
		tw_jsax_free(p);
		if (!fail_alloc_told(rc, &err)) {
			assert_true(n > 2);
			break;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_come_in_order_with_depth_and_offset),
		cmocka_unit_test(scalars_are_documents),
		cmocka_unit_test(escapes_and_utf8_are_decoded),
		cmocka_unit_test(an_escaped_nul_is_decoded),
		cmocka_unit_test(bad_strings_are_rejected_with_their_offset),
		cmocka_unit_test(bad_structure_is_rejected_with_its_offset),
		cmocka_unit_test(bad_numbers_are_rejected),
		cmocka_unit_test(a_number_of_endless_digits_is_rejected),
		cmocka_unit_test(a_truncated_document_names_the_open_token),
		cmocka_unit_test(bytes_after_the_document_are_not_consumed),
		cmocka_unit_test(the_callback_can_stop_the_parser),
		cmocka_unit_test(a_parser_can_be_reset_after_a_failure),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("jsax", tests, NULL, NULL);
}
