/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/code_name.h"
#include "tests/unit/tw_test.h"

#include "isolator/isolator.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "tests/unit/api_schema.h"
#include "tests/unit/fail_alloc.h"
#include "trainer/response/prom.h"
#include "trainer/service/train_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERIES                                                                           \
	"{\"kepler_node_package_joules_total\":[{\"metric\":{\"source\":\"rapl-sysfs\"}" \
	","                                                                              \
	"\"values\":[[3,\"1\"],[6,\"4\"]]}]}"
#define TRAINER                                                                     \
	"\"trainer\":{\"abs_trainers\":[\"LinearRegressionTrainer\"],"              \
	"\"dyn_trainers\":[\"SGDRegressorTrainer\"],\"isolator\":\"NoneIsolator\"," \
	"\"isolator_args\":{},\"idle_prom_response\":null}"

static const char whole[] = "{\"name\":\"p1\",\"energy_source\":\"acpi\"," TRAINER
			    ",\"prom_response\":" SERIES ",\"use_vm_metrics\":true}";

/* In pieces of `piece` bytes. */
static int read_request(const char *text, size_t len, size_t piece,
			struct tw_train_request *out, struct tw_err *err)
{
	struct tw_train_reader *r = NULL;
	int rc = -1;

	if (tw_train_reader_new(&r, err) < 0)
		return -1;
	for (size_t at = 0; at < len; at += piece)
		if (tw_train_reader_feed(r, text + at,
					 len - at < piece ? len - at : piece, err) < 0)
			goto out;
	if (tw_train_reader_end(r, out, err) < 0)
		goto out;
	rc = 0;
out:
	tw_train_reader_free(r);
	return rc;
}

static void a_whole_request_is_read_in_pieces_of_any_size(void **state)
{
	(void)state;
	for (size_t piece = 1; piece <= sizeof(whole); piece += 7) {
		struct tw_train_request q = { 0 };
		struct tw_err err = { 0 };
		size_t series;

		if (read_request(whole, strlen(whole), piece, &q, &err) < 0)
			fail_msg("%s", err.text);
		assert_string_equal(q.name, "p1");
		assert_string_equal(q.source->name, "acpi");
		assert_int_equal(q.abs_trainers.count, 1);
		assert_string_equal(q.abs_trainers.at[0], "LinearRegressionTrainer");
		assert_int_equal(q.dyn_trainers.count, 1);
		assert_string_equal(q.dyn_trainers.at[0], "SGDRegressorTrainer");
		assert_string_equal(q.isolator->name, "NoneIsolator");
		assert_true(q.vm_metrics);
		assert_null(q.idle);
		assert_non_null(tw_prom_series(
			q.response, "kepler_node_package_joules_total", &series));
		assert_int_equal(series, 1);
		tw_train_request_release(&q);
	}
}

static void arguments_of_the_isolator_are_read(void **state)
{
	static const char text[] =
		"{\"name\":\"p\",\"trainer\":{\"abs_trainers\":["
		"\"LinearRegressionTrainer\"],"
		"\"isolator\":\"TrainIsolator\",\"isolator_args\":{\"more\":{\"bg_"
		"hints\":"
		"7},\"target_hints\":[\"a\",\"b,c\"],\"bg_hints\":\"d, e\","
		"\"abs_pipeline_name\":\"std_v0.7\",\"profiles\":[{}]},"
		"\"smooth_window\":7,\"extractor\":\"smooth\"},"
		"\"prom_response\":" SERIES "}";

	(void)state;
	for (size_t piece = 1; piece <= sizeof(text); piece += 5) {
		struct tw_train_request q = { 0 };
		struct tw_err err = { 0 };

		if (read_request(text, strlen(text), piece, &q, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(q.target_hints.count, 2);
		assert_string_equal(q.target_hints.at[1], "b,c");
		assert_int_equal(q.bg_hints.count, 2);
		assert_string_equal(q.bg_hints.at[1], "e");
		assert_string_equal(q.abs_pipeline, "std_v0.7");
		assert_int_equal(q.smooth, 7);
		tw_train_request_release(&q);
	}
}

#define ANSWER(extra)                                                           \
	"{\"status\":\"success\"," extra "\"data\":{\"resultType\":\"matrix\"," \
	"\"result\":[{\"metric\":{\"__name__\":"                                \
	"\"kepler_node_package_joules_total\",\"source\":\"rapl-sysfs\"},"      \
	"\"values\":[[3,\"1\"],[6,\"4\"]]}]}}"
#define OF(answer) "{\"name\":\"a\"," TRAINER ",\"prom_response\":" answer

static void partial_answers_are_refused(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ OF(ANSWER("\"warnings\":[\"store b\\nis down\"],")) "}",
		  "prom_response: the answer is partial, series may be missing: store b "
		  "(\"partial\":\"accept\" takes it)" },
		{ OF(ANSWER("\"isPartial\":true,")) ",\"partial\":\"refuse\"}",
		  "prom_response: the answer is partial, series may be missing: "
		  "isPartial "
		  "is true (\"partial\":\"accept\" takes it)" },
		{ OF(ANSWER("\"isPartial\":true,")) ",\"partial\":\"accept\"}", NULL },
		{ "{\"partial\":\"accept\",\"name\":\"a\"," TRAINER
		  ",\"prom_response\":" ANSWER("\"warnings\":[\"b\"],") "}",
		  NULL },
		{ OF(ANSWER("\"isPartial\":false,\"warnings\":[],")) "}", NULL },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_train_request q = { 0 };
		struct tw_err err = { 0 };
		const int rc =
			read_request(cases[i].text, strlen(cases[i].text), 7, &q, &err);

		if (rc != (cases[i].why != NULL ? -1 : 0))
			fail_msg("%zu: %s", i, err.text);
		if (cases[i].why != NULL)
			assert_string_equal(err.text, cases[i].why);
		tw_train_request_release(&q);
	}
}

static void optional_members_have_defaults(void **state)
{
	static const char text[] =
		" {\"extra\":[1,{\"name\":\"../x\",\"abs_trainers\":3}],"
		"\"use_vm_metrics\":false,"
		"\"trainer\":{\"more\":{\"isolator\":7},\"dyn_trainers\":"
		"[\"LinearRegressionTrainer\"]},"
		"\"prome_response\":" SERIES
		",\"name\":\"a.b-c_1\",\"abs_trainers\":7} \r\n";
	struct tw_train_request q = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	if (read_request(text, strlen(text), 5, &q, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(q.name, "a.b-c_1");
	assert_string_equal(q.source->name, "rapl-sysfs");
	assert_string_equal(q.isolator->name, "IdleRegressionIsolator");
	assert_int_equal(q.abs_trainers.count, 0);
	assert_int_equal(q.dyn_trainers.count, 1);
	assert_false(q.vm_metrics);
	tw_train_request_release(&q);
}

static void an_idle_response_is_read_too(void **state)
{
	static const char text[] =
		"{\"name\":\"a\",\"trainer\":{\"idle_prom_response\":" SERIES
		",\"abs_trainers\":[\"LinearRegressionTrainer\"]},"
		"\"prom_response\":" SERIES "}";
	struct tw_train_request q = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	if (read_request(text, strlen(text), 1000, &q, &err) < 0)
		fail_msg("%s", err.text);
	assert_non_null(q.idle);
	tw_train_request_release(&q);
}

struct bad {
	const char *text;
	const char *error; /* how its text begins */
	enum tw_code code;
};

/* A good request but for one member. */
#define NAMED(name) "{\"name\":" name "," TRAINER ",\"prom_response\":" SERIES "}"
#define WITH(member) \
	"{\"name\":\"a\"," member "," TRAINER ",\"prom_response\":" SERIES "}"
#define TRAINED(members) \
	"{\"name\":\"a\",\"trainer\":{" members "},\"prom_response\":" SERIES "}"

static const struct bad bad[] = {
	{ "", "", TW_PARSE },
	{ "nonsense", "byte 0", TW_PARSE },
	{ "[]", "expected an object", TW_PARSE },
	{ "7 ", "expected an object", TW_PARSE },
	{ "{\"name\":\"a\"", "byte 11: cut short", TW_PARSE },
	{ "{} {}", "byte 3: text after the end", TW_PARSE },
	{ "{}", "name: missing", TW_INVALID },
	{ NAMED("\"../x\""), "pipeline name '../x': ", TW_INVALID },
	{ NAMED("\"/x\""), "pipeline name '/x': ", TW_INVALID },
	{ NAMED("\"a/b\""), "pipeline name 'a/b': ", TW_INVALID },
	{ NAMED("\"\""), "pipeline name '': ", TW_INVALID },
	{ NAMED("\".\""), "pipeline name '.': ", TW_INVALID },
	{ NAMED("\"..\""), "pipeline name '..': ", TW_INVALID },
	{ NAMED("\"machines\""), "pipeline name 'machines': a database has", TW_INVALID },
	{ NAMED("\"a\\u0000b\""), "pipeline name ", TW_INVALID },
	{ NAMED("\"a\\nb\""), "pipeline name ", TW_INVALID },
	{ NAMED("\"a\\u001b[2Jb\""), "pipeline name ", TW_INVALID },
	{ NAMED("\"\xc3\xa9\""), "pipeline name ", TW_INVALID },
	{ NAMED("7"), "name: expected a string", TW_INVALID },
	{ NAMED("null"), "name: expected a string", TW_INVALID },
	{ NAMED("{}"), "name: expected a string", TW_INVALID },
	{ WITH("\"name\":\"b\""), "name: given twice", TW_INVALID },
	{ WITH("\"energy_source\":\"the sun\""),
	  "energy_source: energy source 'the sun': want 1 to 63 letters", TW_INVALID },
	{ WITH("\"energy_source\":\"rapl-sysfs,acpi\""),
	  "energy_source: energy source 'rapl-sysfs,acpi': expected one, not a list",
	  TW_INVALID },
	{ WITH("\"energy_source\":[]"), "energy_source: expected a string", TW_INVALID },
	{ WITH("\"energy_source\":\"a\\u0000\""),
	  "energy_source: text contains a NUL byte", TW_INVALID },
	{ WITH("\"use_vm_metrics\":\"false\""), "use_vm_metrics: expected true or false",
	  TW_INVALID },
	{ WITH("\"partial\":true"), "partial: expected \"refuse\" or \"accept\"",
	  TW_INVALID },
	{ WITH("\"prome_response\":" SERIES), "prom_response: given twice", TW_INVALID },
	{ WITH("\"prome_response\":[]"), "prom_response: byte ", TW_PARSE },
	{ "{\"name\":\"a\"," TRAINER "}", "prom_response: missing", TW_INVALID },
	{ "{\"name\":\"a\"," TRAINER ",\"prom_response\":null}", "prom_response: missing",
	  TW_INVALID },
	{ "{\"name\":\"a\",\"prom_response\":" SERIES "}",
	  "trainer: no abs_trainers and no dyn_trainers", TW_INVALID },
	{ TRAINED("\"abs_trainers\":[]"), "trainer: no abs_trainers and no dyn_trainers",
	  TW_INVALID },
	{ "{\"trainer\":[]}", "trainer: expected an object", TW_INVALID },
	{ "{\"trainer\":null}", "trainer: expected an object", TW_INVALID },
	{ TRAINED("\"abs_trainers\":\"x\""), "trainer.abs_trainers: expected a list",
	  TW_INVALID },
	{ TRAINED("\"abs_trainers\":{}"), "trainer.abs_trainers: expected a list",
	  TW_INVALID },
	{ TRAINED("\"abs_trainers\":[7]"), "trainer.abs_trainers[0]: expected a string",
	  TW_INVALID },
	{ TRAINED("\"abs_trainers\":[[]]"), "trainer.abs_trainers[0]: expected a string",
	  TW_INVALID },
	{ TRAINED("\"dyn_trainers\":[\"Nope\"]"),
	  "trainer.dyn_trainers[0]: no trainer 'Nope'; there are ", TW_INVALID },
	{ TRAINED("\"dyn_trainers\":[\"SGDRegressorTrainer\",\"SGDRegressorTrainer\"]"),
	  "trainer.dyn_trainers[1]: 'SGDRegressorTrainer' twice", TW_INVALID },
	{ TRAINED("\"isolator\":\"Nope\""),
	  "trainer.isolator: no isolator 'Nope'; there are IdleRegressionIsolator, ",
	  TW_INVALID },
	{ TRAINED("\"isolator\":7"), "trainer.isolator: expected a string", TW_INVALID },
	{ TRAINED("\"isolator_args\":[]"), "trainer.isolator_args: expected an object",
	  TW_INVALID },
	{ TRAINED("\"extractor\":\"rough\""),
	  "trainer.extractor: expected \"default\" or \"smooth\"", TW_INVALID },
	{ TRAINED("\"smooth_window\":0"),
	  "trainer.smooth_window: expected a whole number from 1 to 100000", TW_INVALID },
	{ TRAINED("\"smooth_window\":100001"),
	  "trainer.smooth_window: expected a whole number from 1 to 100000", TW_INVALID },
	{ TRAINED("\"smooth_window\":2.5"),
	  "trainer.smooth_window: expected a whole number from 1 to 100000", TW_INVALID },
	{ TRAINED("\"smooth_window\":\"3\""),
	  "trainer.smooth_window: expected a whole number from 1 to 100000", TW_INVALID },
	{ TRAINED("\"isolator_args\":{\"target_hints\":7}"),
	  "trainer.isolator_args.target_hints: expected a list", TW_INVALID },
	{ TRAINED("\"isolator_args\":{\"bg_hints\":[\"a\",[]]}"),
	  "trainer.isolator_args.bg_hints[1]: expected a string", TW_INVALID },
	{ TRAINED("\"isolator_args\":{\"bg_hints\":\", \"}"),
	  "trainer.isolator_args.bg_hints: the list is empty", TW_INVALID },
	{ TRAINED("\"isolator_args\":{\"abs_pipeline_name\":\"../x\"}"),
	  "trainer.isolator_args.abs_pipeline_name ", TW_INVALID },
	{ TRAINED("\"isolator_args\":{\"abs_pipeline_name\":[]}"),
	  "trainer.isolator_args.abs_pipeline_name: expected a string", TW_INVALID },
	{ TRAINED("\"isolator_args\":{\"bg_hints\":[],\"bg_hints\":[]}"),
	  "trainer.isolator_args.bg_hints: given twice", TW_INVALID },
	{ TRAINED("\"idle_prom_response\":[]"), "trainer.idle_prom_response: byte ",
	  TW_PARSE },
	{ "{\"thirdparty_metrics\":\"a\"", "thirdparty_metrics: expected a list",
	  TW_INVALID },
	{ "{\"thirdparty_metrics\":[1]", "thirdparty_metrics[0]: expected a string",
	  TW_INVALID },
	{ "{\"thirdparty_metrics\":[\"a-b\"]",
	  "thirdparty_metrics: 'a-b' is not a valid metric name", TW_INVALID },
	{ "{\"gauges\":\"a\"", "gauges: expected a list", TW_INVALID },
	{ "{\"prom_response\":" SERIES ",\"thirdparty_metrics\":[\"a\"]",
	  "thirdparty_metrics: must come before prom_response", TW_INVALID },
	{ TRAINED("\"isolator\":null,\"isolator\":null"), "trainer.isolator: given twice",
	  TW_INVALID },
};

static void named_metrics_of_the_response_are_kept(void **state)
{
	static const char text[] =
		"{\"name\":\"p\",\"thirdparty_metrics\":[\"b_total\",\"a\"],"
		"\"gauges\":[\"a\"]," TRAINER
		",\"prom_response\":{\"a\":[{\"metric\":{\"x\":\"y\"},"
		"\"values\":[[3,\"1\"]]}],\"c\":[{\"metric\":{},"
		"\"values\":[[3,\"1\"]]}]}}";
	struct tw_train_request q = { 0 };
	struct tw_err err = { 0 };
	size_t count;

	(void)state;
	if (read_request(text, strlen(text), 5, &q, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(q.thirdparty.names.count, 2);
	assert_string_equal(q.thirdparty.names.at[0], "a");
	assert_non_null(tw_prom_series(q.response, "a", &count));
	assert_true(tw_prom_thirdparty_metric(q.response, "a")->averaged);
	assert_null(tw_prom_series(q.response, "c", &count));
	tw_train_request_release(&q);
}

static void bad_requests_are_refused_with_their_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < TW_COUNT(bad); i++) {
		struct tw_train_request q = { 0 };
		struct tw_err err = { 0 };

		if (read_request(bad[i].text, strlen(bad[i].text), 3, &q, &err) == 0)
			fail_msg("taken: %s", bad[i].text);
		if (err.code != bad[i].code ||
		    strncmp(err.text, bad[i].error, strlen(bad[i].error)) != 0)
			fail_msg("'%s' gives %s '%s', not '%s'", bad[i].text,
				 code_name(err.code), err.text, bad[i].error);
		for (const char *p = err.text; *p != '\0'; p++)
			assert_true((unsigned char)*p >= ' ');
		assert_null(q.name);
	}
}

static void a_long_name_is_refused(void **state)
{
	char text[400];
	struct tw_train_request q = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	snprintf(text, sizeof(text), "{\"name\":\"%0300d\"", 0);
	assert_int_equal(read_request(text, strlen(text), 64, &q, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_int_equal(strncmp(err.text, "pipeline name ", 14), 0);
}

static void too_many_trainers_are_refused(void **state)
{
	char text[4096] = "{\"trainer\":{\"abs_trainers\":[\"a\"";
	struct tw_train_request q = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	for (int i = 0; i < TW_TRAIN_REQUEST_TRAINERS_MAX; i++)
		strcat(text, ",\"a\"");
	assert_int_equal(read_request(text, strlen(text), 64, &q, &err), -1);
	assert_string_equal(err.text, "trainer.abs_trainers: more than 64 names");
}

/* A client need not send a gigabyte to be told of its name. */
static void a_bad_name_is_rejected_before_the_rest_arrives(void **state)
{
	static const char start[] = "{\"name\":\"../x\",\"prom_response\":{";
	struct tw_train_reader *r;
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_train_reader_new(&r, &err), 0);
	assert_int_equal(tw_train_reader_feed(r, start, strlen(start), &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	tw_train_reader_free(r);
}

static void memory_that_runs_out_is_an_error(void **state)
{
	int failures = 0;

	(void)state;
	for (int n = 1;; n++) {
		struct tw_train_request q = { 0 };
		struct tw_err err = { 0 };
		int status;

		fail_alloc_at(n);
		status = read_request(whole, strlen(whole), 11, &q, &err);
		tw_train_request_release(&q);
		if (!fail_alloc_told(status, &err))
			break;
		failures++;
	}
	assert_true(failures > 10);
}

static int parse(const char *text, struct tw_err *err)
{
	struct tw_train_request q = { 0 };
	const int rc = read_request(text, strlen(text), strlen(text), &q, err);

	tw_train_request_release(&q);
	return rc;
}

static void the_schemas_of_the_api_are_read(void **state)
{
	json_t *request = api_schema("trainer/service/openapi.json", "TrainRequest");

	(void)state;
	api_schema_is_read(request, "", parse);
	api_schema_is_read(
		json_object_get(json_object_get(request, "properties"), "trainer"),
		"trainer.", parse);
	json_decref(request);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_request_is_read_in_pieces_of_any_size),
		cmocka_unit_test(arguments_of_the_isolator_are_read),
		cmocka_unit_test(partial_answers_are_refused),
		cmocka_unit_test(optional_members_have_defaults),
		cmocka_unit_test(an_idle_response_is_read_too),
		cmocka_unit_test(named_metrics_of_the_response_are_kept),
		cmocka_unit_test(bad_requests_are_refused_with_their_place),
		cmocka_unit_test(the_schemas_of_the_api_are_read),
		cmocka_unit_test(a_long_name_is_refused),
		cmocka_unit_test(too_many_trainers_are_refused),
		cmocka_unit_test(a_bad_name_is_rejected_before_the_rest_arrives),
		cmocka_unit_test(memory_that_runs_out_is_an_error),
	};

	return cmocka_run_group_tests_name("train_request", tests, NULL, NULL);
}
