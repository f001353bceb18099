/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "tests/unit/fail_alloc.h"
#include "lib/field/exposition.h"

#include <stdio.h>
#include <string.h>

/* Samples as "name label=value,..: value;". */
static int describe(void *arg, struct tw_exposition_sample *s, struct tw_err *err)
{
	struct tw_buf *b = arg;

	(void)err;
	tw_buf_adds(b, s->name);
	for (size_t i = 0; i < s->labels; i++)
		tw_buf_addf(b, " %s=%s", s->label[i].name, s->label[i].value);
	tw_buf_adds(b, ": ");
	tw_buf_add_double(b, s->value);
	tw_buf_adds(b, ";");
	return 0;
}

static void gives(const char *text, bool openmetrics, const char *wanted)
{
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };

	if (tw_exposition_parse(text, strlen(text), openmetrics, describe, &b, &err) < 0)
		fail_msg("'%s': %s", text, err.text);
	assert_string_equal(b.data != NULL ? b.data : "", wanted);
	tw_buf_clear(&b);
}

static void refuses(const char *text, bool openmetrics, enum tw_code code,
		    const char *why)
{
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };

	if (tw_exposition_parse(text, strlen(text), openmetrics, describe, &b, &err) == 0)
		fail_msg("'%s' is taken", text);
	assert_int_equal(err.code, code);
	if (strstr(err.text, why) == NULL)
		fail_msg("'%s' is not in '%s'", why, err.text);
	tw_buf_clear(&b);
}

static void samples_have_their_labels(void **state)
{
	(void)state;
	gives("", false, "");
	gives("\n\n  \n# HELP a b\n# TYPE a counter\n#\n", false, "");
	gives("a 1\n", false, "a: 1;");
	gives("a_b:c9 1.5e3 1700000000123\n", false, "a_b:c9: 1500;");
	gives("a{} 1\r\n", false, "a: 1;");
	gives("a{b=\"c\"} 1\na{b=\"d\",e=\"f\",} 2\n", false, "a b=c: 1;a b=d e=f: 2;");
	gives(" \ta { b = \"c\" , e=\"f\" }\t-1 \n", false, "a b=c e=f: -1;");
	gives("a{b=\"\\\"\\\\\\n{},=\"} 1\n", false, "a b=\"\\\n{},=: 1;");
	gives("{\"x.y\",b=\"c\",\"d.e\"=\"f\"} 1\n", false, "x.y b=c d.e=f: 1;");
}

static void numbers_have_the_syntax_of_go(void **state)
{
	static const struct {
		const char *text, *value;
	} cases[] = {
		{ "0", "0" },          { "007", "7" },         { "+1", "1" },
		{ ".5", "0.5" },       { "-.5", "-0.5" },      { "5.", "5" },
		{ "1.E2", "100" },     { "1e+06", "1000000" }, { "NaN", "nan" },
		{ "nan", "nan" },      { "+Inf", "inf" },      { "-inf", "-inf" },
		{ "Infinity", "inf" }, { "-0.0", "-0" },
	};
	static const char *const bad[] = { "",      "x",     ".",   "-",    "+-1",
					   "1e",    "0x",    "1,5", "1..2", "--1",
					   "1e400", "infin", "." };
	char line[64], wanted[64];

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		snprintf(line, sizeof(line), "a %s\n", cases[i].text);
		snprintf(wanted, sizeof(wanted), "a: %s;", cases[i].value);
		gives(line, false, wanted);
	}
	for (size_t i = 0; i < TW_COUNT(bad); i++) {
		snprintf(line, sizeof(line), "a %s\n", bad[i]);
		refuses(line, false, TW_PARSE, "line 1: a: value '");
	}
}

static void openmetrics_needs_eof_and_may_have_exemplars(void **state)
{
	(void)state;
	gives("a 1\n# EOF\n", true, "a: 1;");
	gives("a 1\n# EOF", true, "a: 1;");
	gives("a{le=\"1\"} 1 1.5 # {trace=\"x\"} 0.5 1.2\nb 2 # {} 1\n# EOF\n", true,
	      "a le=1: 1;b: 2;");
	refuses("a 1\n", true, TW_PARSE, "line 2: cut short, without '# EOF'");
	refuses("a 1\n# EO", true, TW_PARSE, "line 2: cut short");
	refuses("# EOF\na 1\n", true, TW_PARSE, "line 2: text behind '# EOF'");
	refuses("a 1 # x\n# EOF\n", true, TW_PARSE, "an exemplar's labels");
	refuses("a 1 # {b=\"c\"}\n# EOF\n", true, TW_PARSE,
		"exemplar '' is not a number");
	/* The text format has no exemplars. */
	refuses("a 1 # {} 1\n", false, TW_PARSE, "text behind the sample");
}

static void malformed_lines_are_rejected_with_their_number(void **state)
{
	(void)state;
	refuses("a 1\nb 2", false, TW_PARSE, "line 2: cut short");
	refuses("a 1\n9 2\n", false, TW_PARSE, "line 2: expected a name");
	refuses("a\n", false, TW_PARSE, "line 1: a: value '' is not a number");
	refuses("a{ 1\n", false, TW_PARSE, "line 1: expected a name");
	refuses("a{b} 1\n", false, TW_PARSE, "expected '=' behind label 'b'");
	refuses("a{b=c} 1\n", false, TW_PARSE, "label 'b': expected '\"'");
	refuses("a{b=\"c} 1\n", false, TW_PARSE, "label 'b': a text without an end");
	refuses("a{b=\"\\", false, TW_PARSE, "line 1: cut short");
	refuses("a{b=\"\\\n", false, TW_PARSE, "unknown escape");
	refuses("a{b=\"\\x\"} 1\n", false, TW_PARSE, "unknown escape");
	refuses("a{b=\"c\" d=\"e\"} 1\n", false, TW_PARSE, "expected ',' or '}'");
	refuses("a{b=\"c\"\n", false, TW_PARSE, "expected ',' or '}'");
	refuses("a{\"b\"} 1\n", false, TW_PARSE, "expected '='");
	refuses("{b=\"c\"} 1\n", false, TW_PARSE, "labels without a name");
	refuses("a 1 x\n", false, TW_PARSE, "time stamp 'x' is not a number");
	refuses("a 1 2 3\n", false, TW_PARSE, "text behind the sample");
}

static void limits_are_enforced(void **state)
{
	struct tw_buf b = { 0 };

	(void)state;
	tw_buf_adds(&b, "a{");
	for (int i = 0; i < TW_EXPOSITION_LABELS_MAX; i++)
		tw_buf_addf(&b, "l%d=\"\",", i);
	tw_buf_adds(&b, "} 1\n");
	assert_false(tw_buf_failed(&b));
	assert_int_equal(tw_exposition_parse(b.data, b.len, false, NULL, NULL, NULL), 0);
	b.len -= strlen("} 1\n");
	tw_buf_adds(&b, "x=\"\"} 1\n");
	refuses(b.data, false, TW_INVALID, "more than 128 labels");
	tw_buf_clear(&b);

	tw_buf_adds(&b, "a{b=\"");
	while (b.len < TW_EXPOSITION_LINE_MAX - strlen("\"} 1"))
		tw_buf_adds(&b, "x");
	tw_buf_adds(&b, "\"} 1\n");
	assert_int_equal(tw_exposition_parse(b.data, b.len, false, NULL, NULL, NULL), 0);
	b.data[b.len - 1] = ' ';
	tw_buf_adds(&b, "\n");
	refuses(b.data, false, TW_INVALID, "line 1: longer than 65536 bytes");
	tw_buf_clear(&b);
}

static int stop(void *arg, struct tw_exposition_sample *s, struct tw_err *err)
{
	(void)arg;
	return tw_fail(err, TW_NOTFOUND, "enough of %s", s->name);
}

static void a_failed_callback_ends_parsing(void **state)
{
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_exposition_parse("a 1\nb 2\n", 8, false, stop, NULL, &err),
			 -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_string_equal(err.text, "line 1: enough of a");
}

static void every_failed_allocation_is_reported(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_exposition_parse("a 1\n", 4, false, NULL, NULL, &err);
		if (!fail_alloc_told(rc, &err)) {
			assert_true(n > 2);
			break;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_have_their_labels),
		cmocka_unit_test(numbers_have_the_syntax_of_go),
		cmocka_unit_test(openmetrics_needs_eof_and_may_have_exemplars),
		cmocka_unit_test(malformed_lines_are_rejected_with_their_number),
		cmocka_unit_test(limits_are_enforced),
		cmocka_unit_test(a_failed_callback_ends_parsing),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("exposition", tests, NULL, NULL);
}
