/* SPDX-License-Identifier: Apache-2.0 */
/* Requests at the limits of the parser, and several requests of one parser. */
#include "tests/unit/tw_test.h"

#include "estimator/request.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define REST "\"metrics\":[\"a\"],\"values\":[[1]],\"output_type\":\"AbsPower\"}"

static struct tw_request_parser *new_parser(void)
{
	struct tw_request_parser *p = NULL;
	struct tw_err err = { 0 };

	assert_int_equal(tw_request_parser_new(&p, &err), 0);
	return p;
}

/* Parse a whole request. */
static int parse(struct tw_request_parser *p, const char *text, size_t len,
		 struct tw_err *err)
{
	size_t used = 0;
	bool done = false;

	if (tw_request_parser_feed(p, text, len, &used, &done, err) < 0)
		return -1;
	assert_int_equal(used, len);
	assert_true(done);
	return 0;
}

static const struct tw_request *take(struct tw_request_parser *p, const char *text)
{
	struct tw_err err = { 0 };

	if (parse(p, text, strlen(text), &err) < 0)
		fail_msg("%s: %s", text, err.text);
	return tw_request_parser_request(p);
}

/* head, this many times x, tail: taken if why is NULL. */
static void check_repeated(const char *head, size_t count, const char *tail,
			   const char *why)
{
	struct tw_request_parser *p = new_parser();
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };
	int rc;

	tw_buf_adds(&b, head);
	for (size_t i = 0; i < count; i++)
		tw_buf_add(&b, "x", 1);
	tw_buf_adds(&b, tail);
	rc = parse(p, b.data, b.len, &err);
	if (rc != (why != NULL ? -1 : 0) ||
	    (why != NULL && strstr(err.text, why) == NULL))
		fail_msg("%s with %zu: %d, %s", head, count, rc, err.text);
	tw_buf_clear(&b);
	tw_request_parser_free(p);
}

static void texts_are_taken_up_to_their_limits(void **state)
{
	const size_t text = TW_REQUEST_TEXT_MAX, name = TW_FEATURE_NAME_MAX;

	(void)state;
	check_repeated("{\"filter\":\"", text, "\"," REST, NULL);
	check_repeated("{\"filter\":\"", text + 1, "\"," REST,
		       "filter: longer than 1024 bytes or with a NUL");
	check_repeated("{\"trainer_name\":\"\\u0000", 1, "\"," REST,
		       "trainer_name: longer than 1024 bytes or with a NUL");
	check_repeated("{\"values\":[[1]],\"output_type\":\"AbsPower\",\"metrics\":[\"",
		       1, "\"]}", NULL);
	check_repeated("{\"values\":[[1]],\"output_type\":\"AbsPower\",\"metrics\":[\"",
		       name, "\"]}", NULL);
	check_repeated("{\"values\":[[1]],\"output_type\":\"AbsPower\",\"metrics\":[\"",
		       name + 1, "\"]}", "metrics[0]: ");
	/* Of unknown keys, too. */
	check_repeated("{\"y\":\"", 64 * 1024, "\"," REST, NULL);
	check_repeated("{\"y\":\"", 64 * 1024 + 1, "\"," REST, "byte ");
	/* A component's name is shown up to 31 characters. */
	check_repeated("{\"components\":[\"", 31, "\"]," REST,
		       "components[0]: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' is not known");
	check_repeated("{\"components\":[\"core", 40, "\"]," REST,
		       "components[0]: 'corexxxxxxxxxxxxxxxxxxxxxxxxxxx' is not known");
}

static void as_many_metrics_as_the_limit_are_taken(void **state)
{
	struct tw_request_parser *p = new_parser();
	struct tw_buf b = { 0 };
	const struct tw_request *r;

	(void)state;
	tw_buf_adds(&b, "{\"output_type\":\"AbsPower\",\"metrics\":[\"x\"");
	for (int i = 1; i < TW_REQUEST_METRICS_MAX; i++)
		tw_buf_addf(&b, ",\"m%d\"", i);
	tw_buf_adds(&b, "],\"values\":[[0");
	for (int i = 1; i < TW_REQUEST_METRICS_MAX; i++)
		tw_buf_addf(&b, ",%d", i);
	tw_buf_adds(&b, "]]}");
	r = take(p, b.data);
	assert_int_equal(r->metrics.count, TW_REQUEST_METRICS_MAX);
	assert_true(r->x[TW_REQUEST_METRICS_MAX - 1] == TW_REQUEST_METRICS_MAX - 1);
	tw_buf_clear(&b);
	tw_request_parser_free(p);
}

/* The object is the first level. */
static void values_are_nested_up_to_the_limit(void **state)
{
	(void)state;
	for (int levels = 31; levels <= 32; levels++) {
		struct tw_request_parser *p = new_parser();
		struct tw_buf b = { 0 };
		struct tw_err err = { 0 };

		tw_buf_adds(&b, "{\"y\":");
		for (int i = 0; i < levels; i++)
			tw_buf_adds(&b, "[");
		for (int i = 0; i < levels; i++)
			tw_buf_adds(&b, "]");
		tw_buf_adds(&b, "," REST);
		assert_int_equal(parse(p, b.data, b.len, &err), levels == 31 ? 0 : -1);
		if (levels > 31)
			assert_non_null(strstr(err.text, "nested deeper than 32"));
		tw_buf_clear(&b);
		tw_request_parser_free(p);
	}
}

/* Keys that resemble known ones: of the same length, shorter, longer. */
static void keys_are_compared_as_a_whole(void **state)
{
	static const char *const keys[] = { "metricz", "Metrics", "metric", "metricss",
					    "",        "filtes",  "versio", "sourcee" };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(keys); i++) {
		struct tw_request_parser *p = new_parser();
		const struct tw_request *r;
		char text[256];

		snprintf(text, sizeof(text), "{\"%s\":{\"a\":[7]}," REST, keys[i]);
		r = take(p, text);
		assert_int_equal(r->metrics.count, 1);
		assert_int_equal(r->version, 1);
		assert_null(r->filter);
		tw_request_parser_free(p);
	}
}

static void null_is_as_if_it_were_not_there(void **state)
{
	static const char *const keys[] = { "source",          "trainer_name",
					    "filter",          "version",
					    "components",      "model_name",
					    "system_features", "system_values" };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(keys); i++) {
		struct tw_request_parser *p = new_parser();
		const struct tw_request *r;
		char text[256];

		snprintf(text, sizeof(text), "{\"%s\":null," REST, keys[i]);
		r = take(p, text);
		assert_string_equal(r->source->name, "rapl-sysfs");
		assert_null(r->trainer);
		assert_null(r->filter);
		assert_int_equal(r->version, 1);
		assert_int_equal(r->components, 0);
		assert_int_equal(r->systems, 0);
		assert_int_equal(r->categories.count, 0);
		tw_request_parser_free(p);
	}
}

static void each_known_key_is_given_once(void **state)
{
	static const struct {
		const char *key, *value;
	} keys[] = {
		{ "output_type", "null" },   { "source", "null" },
		{ "system_features", "[]" }, { "system_values", "[]" },
		{ "trainer_name", "null" },  { "filter", "\"f\"" },
		{ "version", "2" },          { "components", "[]" },
		{ "series", "\"s\"" },       { "time_ms", "1" },
		{ "model_name", "\"m\"" },
	};
	struct tw_request_parser *p = new_parser();

	(void)state;
	for (size_t i = 0; i < TW_COUNT(keys); i++) {
		struct tw_err err = { 0 };
		char text[256], want[64];

		snprintf(text, sizeof(text), "{\"%s\":%s,\"metrics\":[\"a\"],\"%s\":%s}",
			 keys[i].key, keys[i].value, keys[i].key, keys[i].value);
		snprintf(want, sizeof(want), "%s: given twice", keys[i].key);
		assert_int_equal(parse(p, text, strlen(text), &err), -1);
		assert_string_equal(err.text, want);
		tw_request_parser_reset(p);
	}
	/* Unknown keys may be repeated. */
	take(p, "{\"y\":1,\"y\":2," REST);
	tw_request_parser_free(p);
}

static void a_source_of_the_users_own_is_taken(void **state)
{
	struct tw_request_parser *p = new_parser();

	(void)state;
	assert_string_equal(take(p, "{\"source\":\"my-meter\"," REST)->source->name,
			    "my-meter");
	tw_request_parser_free(p);
}

static void the_version_is_known_before_the_end(void **state)
{
	static const char head[] = "{\"version\":2";
	struct tw_request_parser *p = new_parser();
	struct tw_err err = { 0 };
	size_t used;
	bool done = true;

	(void)state;
	assert_int_equal(tw_request_parser_version(p), 1);
	assert_false(tw_request_parser_started(p));
	assert_int_equal(tw_request_parser_feed(p, " \n", 2, &used, &done, &err), 0);
	assert_false(done);
	assert_false(tw_request_parser_started(p));
	assert_int_equal(
		tw_request_parser_feed(p, head, strlen(head), &used, &done, &err), 0);
	assert_int_equal(tw_request_parser_feed(p, ",", 1, &used, &done, &err), 0);
	assert_true(tw_request_parser_started(p));
	assert_int_equal(tw_request_parser_version(p), 2);
	assert_int_equal(
		tw_request_parser_feed(p, REST, strlen(REST), &used, &done, &err), 0);
	assert_true(done);
	assert_false(tw_request_parser_started(p));
	tw_request_parser_reset(p);
	assert_int_equal(tw_request_parser_version(p), 1);
	tw_request_parser_free(p);
	tw_request_parser_free(NULL);
}

/* The limit is of one request, without the blanks before it. */
static void each_request_has_its_own_limit(void **state)
{
	struct tw_request_parser *p = new_parser();
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };
	size_t used;
	bool done;

	(void)state;
	tw_buf_adds(&b, "{");
	while (b.len < TW_REQUEST_BYTES_MAX - strlen(REST))
		tw_buf_add(&b, " ", 1);
	tw_buf_adds(&b, REST);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(parse(p, b.data, b.len, &err), 0);
		tw_request_parser_reset(p);
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(tw_request_parser_feed(p, b.data + 1,
							TW_REQUEST_BYTES_MAX - 2000,
							&used, &done, &err),
				 0);
		assert_false(done);
	}
	take(p, "{" REST);
	tw_buf_clear(&b);
	tw_request_parser_free(p);
}

/* The bytes that follow are of the next request. */
static void a_whole_request_is_finished_once(void **state)
{
	static const char text[] =
		"{\"system_features\":[\"hz\"],\"system_values\":[5]," REST;
	struct tw_request_parser *p = new_parser();
	const struct tw_request *r = take(p, text);

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct tw_err err = { 0 };
		size_t used = 7;
		bool done = false;

		assert_int_equal(tw_request_parser_feed(p, "{", 1, &used, &done, &err),
				 0);
		assert_int_equal(used, 0);
		assert_true(done);
		assert_int_equal(r->metrics.count, 2);
		assert_int_equal(r->systems, 1);
		assert_true(r->system[0] == 5);
		assert_int_equal(r->categories.count, 1);
	}
	tw_request_parser_free(p);
}

#define VERSION_2 "\"version\":2,"

static void nothing_of_a_request_of_version_2_is_left(void **state)
{
	struct tw_request_parser *p = new_parser();
	const struct tw_request *r;
	struct tw_err err = { 0 };

	(void)state;
	r = take(p, "{" VERSION_2 "\"components\":[\"core\",\"core\"],\"series\":\"s\","
		    "\"time_ms\":5,\"source\":\"acpi\"," REST);
	assert_int_equal(r->components, 1u << TW_CORE);
	assert_int_equal(r->time_ms[0], 5);
	assert_int_equal(r->series->count, 1);
	assert_string_equal(r->source->name, "acpi");
	tw_request_parser_reset(p);
	r = take(p, "{" VERSION_2 REST);
	assert_int_equal(r->version, 2);
	assert_int_equal(r->components, 0);
	assert_null(r->time_ms);
	assert_int_equal(r->series->count, 0);
	assert_string_equal(r->source->name, "rapl-sysfs");
	tw_request_parser_reset(p);
	/* Entries are counted from 0 again, and the output must be given again. */
	assert_int_equal(parse(p, "{\"components\":[5]}", 18, &err), -1);
	assert_string_equal(err.text, "components[0]: expected a string, got a number");
	tw_request_parser_reset(p);
	err = (struct tw_err){ 0 };
	assert_int_equal(parse(p, "{\"metrics\":[\"a\"],\"values\":[[1]]}", 32, &err),
			 -1);
	assert_string_equal(err.text, "output_type: missing");
	tw_request_parser_free(p);
}

static void odd_values_are_refused_by_name(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "{\"metrics\":null,\"values\":[[1]]}", "metrics: missing or empty" },
		{ "{\"metrics\":{}}", "metrics: expected an array, got an object" },
		{ "{\"metrics\":[null]}", "metrics[0]: expected a string, got null" },
		{ "{\"values\":{}}", "values: expected an array, got an object" },
		{ "{\"values\":[{}]}", "values[0]: expected an array, got an object" },
		{ "{\"values\":[[1],[{}]]}",
		  "values[1][0]: expected a number, got an object" },
		{ "{\"filter\":[]}", "filter: expected a string, got an array" },
		{ "{\"version\":0}", "version: 0, expected 1 to 2" },
		{ "{\"components\":7}", "components: expected an array, got a number" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_request_parser *p = new_parser();
		struct tw_err err = { 0 };

		assert_int_equal(parse(p, cases[i].text, strlen(cases[i].text), &err),
				 -1);
		assert_string_equal(err.text, cases[i].error);
		tw_request_parser_free(p);
	}
}

/* With all that a request may have, old names among it. */
static void running_out_of_memory_is_reported_anywhere(void **state)
{
	static const char text[] =
		"{\"metrics\":[\"cpu_instr\",\"b\"],\"values\":[[1,2],[3,4]],"
		"\"output_type\":\"AbsPower\",\"source\":\"acpi\",\"trainer_name\":\"T\","
		"\"filter\":\"mae:1\",\"system_features\":[\"c\",\"d\"],"
		"\"system_values\":[\"x\",2],\"version\":2,\"components\":[\"core\"],"
		"\"series\":[\"s\",\"t\"],\"time_ms\":[1,2],\"model_name\":\"m\"}";
	bool failed = true;
	int failures = 0;

	(void)state;
	for (int n = 1; failed; n++, failures += failed) {
		struct tw_request_parser *p = NULL;
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_request_parser_new(&p, &err);
		if (rc == 0)
			rc = parse(p, text, strlen(text), &err);
		failed = fail_alloc_told(rc, &err);
		if (!failed)
			assert_string_equal(tw_request_parser_request(p)->metrics.at[0],
					    "cpu_instructions");
		tw_request_parser_free(p);
	}
	assert_true(failures > 8);
}

/* The texts before it leave less and less of the arena's first block of 1 KiB. */
static void an_old_name_that_cannot_be_replaced_is_reported(void **state)
{
	(void)state;
	for (int len = 0; len < TW_REQUEST_TEXT_MAX; len += 8) {
		bool failed = true;
		char text[TW_REQUEST_TEXT_MAX + 256];

		snprintf(text, sizeof(text),
			 "{\"filter\":\"%0*d\",\"metrics\":[\"cpu_instr\"],\"values\":[["
			 "1]],"
			 "\"output_type\":\"AbsPower\"}",
			 len, 0);
		for (int n = 1; failed; n++) {
			struct tw_request_parser *p = new_parser();
			struct tw_err err = { 0 };

			fail_alloc_at(n);
			failed =
				fail_alloc_told(parse(p, text, strlen(text), &err), &err);
			tw_request_parser_free(p);
		}
	}
}

static void requests_of_one_parser_reuse_its_memory(void **state)
{
	struct tw_request_parser *p = new_parser();

	(void)state;
	take(p, "{\"filter\":\"mae:1\",\"trainer_name\":\"T\"," REST);
	for (int i = 0; i < 1000; i++) {
		tw_request_parser_reset(p);
		fail_alloc_at(1);
		take(p, "{\"filter\":\"mae:1\",\"trainer_name\":\"T\"," REST);
		assert_false(fail_alloc_hit());
	}
	tw_request_parser_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_taken_up_to_their_limits),
		cmocka_unit_test(as_many_metrics_as_the_limit_are_taken),
		cmocka_unit_test(values_are_nested_up_to_the_limit),
		cmocka_unit_test(keys_are_compared_as_a_whole),
		cmocka_unit_test(null_is_as_if_it_were_not_there),
		cmocka_unit_test(each_known_key_is_given_once),
		cmocka_unit_test(a_source_of_the_users_own_is_taken),
		cmocka_unit_test(the_version_is_known_before_the_end),
		cmocka_unit_test(each_request_has_its_own_limit),
		cmocka_unit_test(a_whole_request_is_finished_once),
		cmocka_unit_test(nothing_of_a_request_of_version_2_is_left),
		cmocka_unit_test(odd_values_are_refused_by_name),
		cmocka_unit_test(running_out_of_memory_is_reported_anywhere),
		cmocka_unit_test(an_old_name_that_cannot_be_replaced_is_reported),
		cmocka_unit_test(requests_of_one_parser_reuse_its_memory),
	};

	return cmocka_run_group_tests_name("request_limits", tests, NULL, NULL);
}
