/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/json/json.h"
#include "profiler/spec.h"

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

static void the_wire_object_is_read_and_written(void **state)
{
	static const char text[] =
		"{\"vendor\":\"authenticamd\",\"processor\":\"amd_epyc\","
		"\"system_vendor\":\"dell\",\"cores\":2,\"chips\":1,\"memory\":23,"
		"\"frequency\":2600,\"threads_per_core\":1}";
	struct tw_machine_spec s = read_spec(text);
	char *again;
	json_t *v;

	(void)state;
	assert_string_equal(s.vendor, "authenticamd");
	assert_string_equal(s.processor, "amd_epyc");
	assert_string_equal(s.system_vendor, "dell");
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

static void a_processor_is_read_without_its_number_of_cores(void **state)
{
	struct tw_machine_spec s =
		read_spec("{\"processor\":\"amd_epyc_9654_96_core\",\"cores\":192}");

	(void)state;
	assert_string_equal(s.processor, "amd_epyc_9654");
	assert_int_equal(s.cores, 192);
	/* In any order of the members. */
	s = read_spec(
		"{\"processor\":\"amd_epyc_7763_64_core\",\"vendor\":\"x_1_core\"}");
	assert_string_equal(s.processor, "amd_epyc_7763");
	assert_string_equal(s.vendor, "x_1_core");
}

static void missing_null_zero_and_minus_one_mean_unknown(void **state)
{
	static const char *const texts[] = {
		"null",
		"{}",
		"{\"vendor\":null,\"processor\":\"\",\"cores\":0,\"chips\":-1}",
		"{\"memory\":\"\",\"frequency\":\"-1\",\"threads_per_core\":null}",
		"{\"gpus\":[1]}",
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(texts); i++) {
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

static void text_that_is_no_number_is_rejected_with_its_path(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "{\"cores\":\"abc\"}", "machine_spec.cores: 'abc' is not a number" },
		{ "{\"cores\":4.5}",
		  "machine_spec.cores: 4.5 is not a whole number from 0 to 65536" },
		{ "{\"cores\":65537}",
		  "machine_spec.cores: 65537 is not a whole number from 0 to 65536" },
		{ "{\"chips\":-2}",
		  "machine_spec.chips: -2 is not a whole number from 0 to 4096" },
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
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_wire_object_is_read_and_written),
		cmocka_unit_test(a_processor_is_read_without_its_number_of_cores),
		cmocka_unit_test(missing_null_zero_and_minus_one_mean_unknown),
		cmocka_unit_test(numbers_may_be_text_or_have_a_point),
		cmocka_unit_test(text_that_is_no_number_is_rejected_with_its_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
