/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/err.h"
#include "lib/file.h"
#include "lib/json.h"
#include "profiler/spec.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"

#include <stdlib.h>
#include <string.h>

static json_t *parse(const char *text)
{
	json_t *v = json_loads(text, JSON_DECODE_ANY, NULL);

	assert_non_null(v);
	return v;
}

static struct tw_machine_spec read_spec(const char *text)
{
	struct tw_machine_spec s = { 0 };
	struct tw_err err = { 0 };
	json_t *v = parse(text);

	if (tw_machine_spec_from_json(v, "machine_spec", &s, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	json_decref(v);
	return s;
}

static void the_wires_object_is_read_and_written(void **state)
{
	static const char text[] =
		"{\"vendor\":\"authenticamd\",\"processor\":\"amd_epyc\",\"cores\":2,"
		"\"chips\":1,\"memory\":23,\"frequency\":2600,\"threads_per_core\":1}";
	struct tw_machine_spec s = read_spec(text);
	char *again;
	json_t *v;

	(void)state;
	assert_string_equal(s.vendor, "authenticamd");
	assert_string_equal(s.processor, "amd_epyc");
	assert_int_equal(s.cores, 2);
	assert_int_equal(s.chips, 1);
	assert_int_equal(s.memory_gib, 23);
	assert_int_equal(s.frequency_mhz, 2600);
	assert_int_equal(s.threads_per_core, 1);
	v = tw_machine_spec_to_json(&s);
	again = json_dumps(v, JSON_COMPACT);
	assert_string_equal(again, text);
	free(again);
	json_decref(v);
}

static void what_is_missing_null_zero_or_minus_one_is_unknown(void **state)
{
	static const char *const texts[] = {
		"null",
		"{}",
		"{\"vendor\":null,\"processor\":\"\",\"cores\":0,\"chips\":-1}",
		"{\"memory\":\"\",\"frequency\":\"-1\",\"threads_per_core\":null}",
		"{\"gpus\":[1]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct tw_machine_spec s = read_spec(texts[i]);
		json_t *v;

		assert_false(tw_machine_spec_known(&s));
		v = tw_machine_spec_to_json(&s);
		assert_int_equal(json_object_size(v), 0);
		json_decref(v);
	}
}

static void numbers_may_be_text_or_have_a_point(void **state)
{
	struct tw_machine_spec s = read_spec("{\"cores\":\"96\",\"chips\":2.0,\"memory\":"
					     "376.6,\"frequency\":\"3500.4\"}");

	(void)state;
	assert_int_equal(s.cores, 96);
	assert_int_equal(s.chips, 2);
	assert_int_equal(s.memory_gib, 377);
	assert_int_equal(s.frequency_mhz, 3500);
	assert_true(tw_machine_spec_known(&s));
}

static void what_is_no_number_is_refused_with_its_path(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "{\"cores\":\"abc\"}", "machine_spec.cores: 'abc' is not a number" },
		{ "{\"cores\":4.5}",
		  "machine_spec.cores: 4.5 is not a whole number from 0 to 1000000000" },
		{ "{\"chips\":-2}",
		  "machine_spec.chips: -2 is not a whole number from 0 to 1000000000" },
		{ "{\"memory\":1e10}",
		  "machine_spec.memory: 1e+10 is not a number from 0 to 1000000000" },
		{ "{\"frequency\":[]}",
		  "machine_spec.frequency: expected a number, got a list" },
		{ "{\"threads_per_core\":true}",
		  "machine_spec.threads_per_core: expected a number, got true" },
		{ "{\"processor\":7}",
		  "machine_spec.processor: expected a string, got a number" },
		{ "{\"processor\":\"a\\nb\"}",
		  "machine_spec.processor: control character" },
		{ "{\"vendor\":"
		  "\"0123456789012345678901234567890123456789012345678901234567890123\"}",
		  "machine_spec.vendor: 64 bytes, limit is 63" },
		{ "[1]", "machine_spec: expected an object, got a list" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tw_machine_spec s = { .cores = 77 };
		struct tw_err err = { 0 };
		json_t *v = parse(cases[i].text);

		assert_int_equal(tw_machine_spec_from_json(v, "machine_spec", &s, &err),
				 -1);
		assert_string_equal(err.text, cases[i].want);
		assert_int_equal(err.code, TW_INVALID);
		assert_int_equal(s.cores, 77);
		json_decref(v);
	}
}

static int discover(const char *list, uint32_t *out, struct tw_err *err)
{
	char *sys = scratch_new(), path[512];
	struct tw_err ours = { 0 };
	int rc;

	snprintf(path, sizeof(path), "%s/devices/system/cpu", sys);
	assert_int_equal(tw_dir_make(path, &ours), 0);
	snprintf(path, sizeof(path), "%s/devices/system/cpu/present", sys);
	if (list != NULL)
		assert_int_equal(tw_file_create(path, list, strlen(list), &ours), 0);
	rc = tw_cores_discover(sys, out, err);
	scratch_free(sys);
	return rc;
}

static void cores_are_counted_from_the_list_of_cpus(void **state)
{
	static const struct {
		const char *list;
		uint32_t want;
	} cases[] = {
		{ "0\n", 1 },   { "0-3\n", 4 },       { "0-95", 96 },
		{ "0,2\n", 2 }, { "0-3,5,7-8\n", 7 }, { "3-65535\n", 65533 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tw_err err = { 0 };
		uint32_t cores = 0;

		assert_int_equal(discover(cases[i].list, &cores, &err), 0);
		assert_int_equal(cores, cases[i].want);
	}
}

static void a_list_that_is_none_is_refused(void **state)
{
	static const char *const lists[] = {
		"",      "\n", "a",   "0-",    "-1",          "3-1",   "0,0",
		"0-3,2", "0,", "0 1", "65536", "99999999999", "0\n\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct tw_err err = { 0 };
		uint32_t cores = 5;

		assert_int_equal(discover(lists[i], &cores, &err), -1);
		assert_int_equal(err.code, TW_PARSE);
		assert_non_null(strstr(err.text, "is not a list of CPUs"));
		assert_null(strchr(err.text, '\n'));
		assert_int_equal(cores, 5);
	}
}

static void a_machine_without_the_file_is_not_found(void **state)
{
	struct tw_err err = { 0 };
	uint32_t cores;

	(void)state;
	assert_int_equal(discover(NULL, &cores, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
}

static void every_failed_allocation_is_reported(void **state)
{
	char *sys = scratch_new(), path[512];
	struct tw_err err = { 0 };
	int failures = 0;

	(void)state;
	snprintf(path, sizeof(path), "%s/devices/system/cpu", sys);
	assert_int_equal(tw_dir_make(path, &err), 0);
	snprintf(path, sizeof(path), "%s/devices/system/cpu/present", sys);
	assert_int_equal(tw_file_create(path, "0-1", 3, &err), 0);
	for (int n = 1;; n++) {
		struct tw_err why = { 0 };
		uint32_t cores = 0;
		int rc;

		fail_alloc_at(n);
		rc = tw_cores_discover(sys, &cores, &why);
		if (!fail_alloc_hit()) {
			assert_int_equal(rc, 0);
			assert_int_equal(cores, 2);
			break;
		}
		assert_int_equal(rc, -1);
		assert_int_equal(why.code, TW_NOMEM);
		failures++;
	}
	assert_true(failures >= 2);
	scratch_free(sys);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_wires_object_is_read_and_written),
		cmocka_unit_test(what_is_missing_null_zero_or_minus_one_is_unknown),
		cmocka_unit_test(numbers_may_be_text_or_have_a_point),
		cmocka_unit_test(what_is_no_number_is_refused_with_its_path),
		cmocka_unit_test(cores_are_counted_from_the_list_of_cpus),
		cmocka_unit_test(a_list_that_is_none_is_refused),
		cmocka_unit_test(a_machine_without_the_file_is_not_found),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
