/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/http/server/expo.h"
#include "lib/json/json.h"
#include "trainer/unit/unit_results.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

static struct tw_unit_spec spec = { .name = "chat" };
static const struct tw_unit_file file = { .unit = &spec, .count = 1 };

static void open_results(struct tw_unit_results *r)
{
	struct tw_err err = { 0 };

	if (tw_unit_results_open(r, &file, &err) < 0)
		fail_msg("%s", err.text);
}

/* An evaluation whose numbers tell its time. */
static struct tw_unit_evaluation evaluation(int n)
{
	return (struct tw_unit_evaluation){
		.to_ms = 1000 * (int64_t)(1700000000 + n),
		.standing_w = { .at = n, .low = n, .high = n },
		.joules = { { .at = 2, .low = 1, .high = 3 } },
		.r2 = 0.5,
		.residual_w = 0.25,
		.drift = TW_UNIT_DRIFT_NONE
	};
}

static void expect_metrics(struct tw_unit_results *r, const char *line, bool there)
{
	struct tw_buf b = { 0 };
	struct tw_expo e = { .out = &b };

	tw_unit_results_metrics(r, &e);
	assert_false(tw_buf_failed(&b));
	if ((strstr(b.data, line) != NULL) != there)
		fail_msg("%s:\n%s", line, b.data);
	tw_buf_clear(&b);
}

static json_t *list(struct tw_unit_results *r)
{
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };
	json_t *doc = NULL;

	tw_buf_adds(&b, "[");
	tw_unit_results_list(r, &b);
	tw_buf_adds(&b, "]");
	if (tw_json_parse(b.data, b.len, "units", &doc, &err) < 0)
		fail_msg("%s", err.text);
	tw_buf_clear(&b);
	return doc;
}

static void numbers_are_there_while_the_unit_is_up(void **state)
{
	struct tw_unit_evaluation e = evaluation(7);
	struct tw_strs warnings = { 0 };
	struct tw_err why = { 0 };
	struct tw_unit_results r;

	(void)state;
	open_results(&r);
	expect_metrics(&r, "up{unit=\"chat\",reason=\"not evaluated yet\"} 0\n", true);
	expect_metrics(&r, "tallywatt_unit_joules{", false);
	if (tw_strs_adds(&warnings, "a longer --block", &why) < 0)
		fail_msg("%s", why.text);
	assert_true(tw_unit_results_add(&r, 0, &e, &warnings));
	assert_int_equal(warnings.count, 0);
	expect_metrics(&r, "tallywatt_unit_warnings{unit=\"chat\"} 1\n", true);
	assert_false(tw_unit_results_add(&r, 0, &e, &warnings));
	expect_metrics(&r, "tallywatt_unit_warnings{unit=\"chat\"} 0\n", true);
	expect_metrics(&r, "up{unit=\"chat\",reason=\"\"} 1\n", true);
	expect_metrics(&r, "tallywatt_unit_high_joules{unit=\"chat\",counter=\"n\"} 3\n",
		       true);
	expect_metrics(&r, "tallywatt_unit_standing_watts{unit=\"chat\"} 7\n", true);
	expect_metrics(&r, "tallywatt_unit_drift{unit=\"chat\"} 0\n", true);
	e.drift = TW_UNIT_DRIFT_UNKNOWN;
	e.r2 = NAN;
	tw_unit_results_add(&r, 0, &e, &warnings);
	expect_metrics(&r, "tallywatt_unit_drift{", false);
	expect_metrics(&r, "tallywatt_unit_r2{", false);

	tw_fail(&why, TW_INVALID, "n moves together with m");
	assert_true(tw_unit_results_fail(&r, 0, &why));
	assert_false(tw_unit_results_fail(&r, 0, &why));
	expect_metrics(&r, "up{unit=\"chat\",reason=\"no result\"} 0\n", true);
	expect_metrics(&r, "tallywatt_unit_joules{", false);
	expect_metrics(&r, "evaluated_timestamp_seconds{unit=\"chat\"} 1700000007\n",
		       true);
	tw_unit_results_close(&r);
}

static void the_last_evaluations_are_kept(void **state)
{
	const int added = TW_UNIT_HISTORY + 5;
	struct tw_strs warnings = { 0 };
	struct tw_unit_results r;
	json_t *doc, *unit, *evaluations;

	(void)state;
	open_results(&r);
	for (int n = 0; n < added; n++) {
		struct tw_unit_evaluation e = evaluation(n);

		tw_unit_results_add(&r, 0, &e, &warnings);
	}
	doc = list(&r);
	unit = json_array_get(doc, 0);
	evaluations = json_object_get(unit, "evaluations");
	assert_int_equal(json_array_size(evaluations), TW_UNIT_HISTORY);
	for (size_t i = 0; i < TW_UNIT_HISTORY; i++) {
		const json_t *w =
			json_object_get(json_array_get(evaluations, i), "standing_watts");

		assert_int_equal((int)json_number_value(json_object_get(w, "value")),
				 5 + (int)i);
	}
	assert_true(json_is_null(json_object_get(unit, "problem")));
	assert_string_equal(
		json_string_value(json_array_get(json_object_get(unit, "energy"), 0)),
		TW_UNIT_NODE_ENERGY);
	json_decref(doc);
	tw_unit_results_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_there_while_the_unit_is_up),
		cmocka_unit_test(the_last_evaluations_are_kept),
	};
	struct tw_err err = { 0 };
	int failed;

	if (tw_strs_adds(&spec.ask.work, "n=work_total", &err) < 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	tw_strs_clear(&spec.ask.work);
	return failed;
}
