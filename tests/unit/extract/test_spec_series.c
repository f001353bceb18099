/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "profiler/spec.h"
#include "trainer/response/prom.h"
#include "trainer/train_job.h"
#include "trainer/train_machines.h"

#include <string.h>

#define SERIES(labels, time) "{\"metric\":{" labels "},\"values\":[[" time ",\"1\"]]}"
#define OURS(series) "{\"tallywatt_node_info\":[" series "]}"
#define KEPLER(series) "{\"kepler_node_cpu_info\":[" series "]}"
#define CORES(count, time) SERIES("\"cores\":\"" count "\"", time)
#define CPU(number, chip)                                                          \
	SERIES("\"vendor_id\":\"AuthenticAMD\",\"model_name\":\"AMD EPYC 9654 "    \
	       "96-Core Processor\",\"processor\":\"" number "\",\"physical_id\":" \
	       "\"" chip "\"",                                                     \
	       "1")

static int read_spec(const char *text, struct tw_machine_spec *out, struct tw_err *err)
{
	struct tw_train_machines machines = { 0 };
	struct tw_train_response response = { 0 };
	const struct tw_train_job job = { .responses = &response, .response_count = 1 };
	struct tw_prom *p = NULL;
	int rc;

	if (tw_prom_parse(text, strlen(text), &p, err) < 0)
		fail_msg("%s", err->text);
	response.prom = p;
	rc = tw_train_machines_find(&job, &machines, err);
	if (rc == 0)
		*out = machines.at[0].spec;
	tw_train_machines_release(&machines);
	tw_prom_free(p);
	return rc;
}

static struct tw_machine_spec spec_of(const char *text)
{
	struct tw_machine_spec s;
	struct tw_err err = { 0 };

	if (read_spec(text, &s, &err) < 0)
		fail_msg("%s", err.text);
	return s;
}

static void the_collector_names_all_attributes(void **state)
{
	const struct tw_machine_spec s = spec_of(
		OURS(SERIES("\"vendor\":\"authenticamd\",\"processor\":\"amd_epyc_9654\","
			    "\"cores\":\"8\",\"chips\":\"2\",\"memory\":\"32\","
			    "\"frequency\":\"3700\",\"threads_per_core\":\"2\","
			    "\"instance\":\"a\",\"job\":\"b\"",
			    "1")));

	(void)state;
	assert_string_equal(s.vendor, "authenticamd");
	assert_string_equal(s.processor, "amd_epyc_9654");
	assert_int_equal(s.cores, 8);
	assert_int_equal(s.chips, 2);
	assert_int_equal(s.memory_gib, 32);
	assert_int_equal(s.frequency_mhz, 3700);
	assert_int_equal(s.threads_per_core, 2);
}

static void the_latest_series_of_a_machine_counts(void **state)
{
	const struct tw_machine_spec s =
		spec_of(OURS(CORES("4", "5") "," CORES("8", "9") "," CORES("2", "7")));

	(void)state;
	assert_int_equal(s.cores, 8);
}

static void kepler_names_each_cpu(void **state)
{
	struct tw_machine_spec s =
		spec_of(KEPLER(CPU("0", "0") "," CPU("1", "0") "," CPU("3", "1")));

	(void)state;
	assert_string_equal(s.vendor, "authenticamd");
	assert_string_equal(s.processor, "amd_epyc_9654");
	assert_int_equal(s.cores, 4);
	assert_int_equal(s.chips, 2);
	s = spec_of(KEPLER(CPU("0", "0") "," CPU("99999999", "")));
	assert_int_equal(s.cores, 0);
	assert_int_equal(s.chips, 0);
}

static void virtual_machines_of_the_response_are_not_asked(void **state)
{
	const struct tw_machine_spec s =
		spec_of(OURS(SERIES("\"cores\":\"4\",\"job\":\"vm\"", "1")));

	(void)state;
	assert_false(tw_machine_spec_known(&s));
}

static void a_wrong_attribute_is_named(void **state)
{
	struct tw_machine_spec s;
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(read_spec(OURS(SERIES("\"cores\":\"many\"", "1")), &s, &err),
			 -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_non_null(strstr(err.text, "tallywatt_node_info.cores"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_collector_names_all_attributes),
		cmocka_unit_test(the_latest_series_of_a_machine_counts),
		cmocka_unit_test(kepler_names_each_cpu),
		cmocka_unit_test(virtual_machines_of_the_response_are_not_asked),
		cmocka_unit_test(a_wrong_attribute_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
