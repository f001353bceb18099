/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "estimator/client.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "tests/unit/fail_alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER(powers) "{\"powers\":{" powers "},\"msg\":\"\"}"

static char name_a[] = "a", name_b[] = "b";
static char *names[] = { name_a, name_b };
static const struct tw_strs metrics = { .at = names, .count = 2 };

static void a_question_is_written_as_a_request(void **state)
{
	const double x[] = { 1, NAN, 0.5, -2 };
	struct tw_question q = { .metrics = &metrics,
				 .x = x,
				 .rows = 2,
				 .output = "AbsPower",
				 .source = "acpi" };
	struct tw_buf b = { 0 };

	(void)state;
	tw_question_write(&q, &b);
	assert_string_equal(b.data, "{\"metrics\":[\"a\",\"b\"],"
				    "\"output_type\":\"AbsPower\",\"source\":\"acpi\","
				    "\"trainer_name\":\"\",\"filter\":\"\","
				    "\"values\":[[1,null],[0.5,-2]]}");
	tw_buf_clear(&b);
}

static void an_answer_has_the_watts_of_each_row(void **state)
{
	static const char text[] = ANSWER("\"package\":[4.5,0]");
	struct tw_watts w = { .rows = 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_answer_read(text, strlen(text), 2, &w, &err), 0);
	assert_true(fabs(w.of[TW_PACKAGE][0] - 4.5) <= 0);
	assert_null(w.of[TW_DRAM]);
	tw_watts_release(&w);
}

static void a_row_without_a_prediction_is_unknown(void **state)
{
	static const char text[] = ANSWER("\"package\":[null,2]");
	struct tw_watts w = { .rows = 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_answer_read(text, strlen(text), 2, &w, &err), 0);
	assert_true(isnan(w.of[TW_PACKAGE][0]));
	assert_true(fabs(w.of[TW_PACKAGE][1] - 2) <= 0);
	tw_watts_release(&w);
}

static void invalid_answers_are_refused(void **state)
{
	static const struct {
		const char *text;
		enum tw_code code;
		const char *why;
	} cases[] = {
		{ "", TW_PARSE, "answer" },
		{ "{}", TW_PARSE, "powers" },
		{ ANSWER("\"package\":[1]"), TW_PARSE,
		  "powers.package: 1 entries for 2 rows" },
		{ ANSWER("\"package\":[1,\"2\"]"), TW_PARSE,
		  "powers.package[1]: expected a number" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_watts w = { .rows = 0 };
		struct tw_err err = { 0 };

		assert_int_equal(
			tw_answer_read(cases[i].text, strlen(cases[i].text), 2, &w, &err),
			-1);
		assert_int_equal(err.code, cases[i].code);
		if (strstr(err.text, cases[i].why) == NULL)
			fail_msg("'%s' is not in '%s'", cases[i].why, err.text);
	}
}

static void every_failed_allocation_of_an_answer_is_reported(void **state)
{
	static const char text[] = ANSWER("\"package\":[4.5,0]");

	(void)state;
	for (int n = 1;; n++) {
		struct tw_watts w = { .rows = 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_answer_read(text, strlen(text), 2, &w, &err);
		if (!fail_alloc_told(rc, &err)) {
			tw_watts_release(&w);
			return;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_question_is_written_as_a_request),
		cmocka_unit_test(an_answer_has_the_watts_of_each_row),
		cmocka_unit_test(a_row_without_a_prediction_is_unknown),
		cmocka_unit_test(invalid_answers_are_refused),
		cmocka_unit_test(every_failed_allocation_of_an_answer_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
