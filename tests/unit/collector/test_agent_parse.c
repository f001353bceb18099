/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of agents, and their names, as texts. */
#include "tests/unit/tw_test.h"

#include "collector/ask/agent_lookup.h"
#include "collector/ask/agent_parse.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZONE(name, joules)                                            \
	"{\"zone\":\"" name                                           \
	"\",\"source\":\"rapl-sysfs\",\"path\":\"p\",\"name\":\"n\"," \
	"\"dynamic_joules\":" joules ",\"idle_joules\":0.000001,\"watts\":7.5}"
#define ANSWER(workloads)                                                               \
	"{\"node_name\":\"n1\",\"instance\":\"abc\",\"vm_id\":\"\",\"uptime_seconds\":" \
	"60,"                                                                           \
	"\"elapsed_seconds\":3,\"workloads\":[" workloads "],\"models\":[]}"

static void parse(const char *text, struct tw_agent_rows *out)
{
	struct tw_err err = { 0 };

	if (tw_agent_parse(text, strlen(text), out, &err) < 0)
		fail_msg("%s", err.text);
}

static void energy_is_exact_to_the_microjoule(void **state)
{
	static const struct {
		const char *joules;
		uint64_t uj;
	} cases[] = { { "0.000000", 0 },
		      { "12.5", 12500000 },
		      /* A double has 9007199254.740993 as 9007199254.740994. */
		      { "9007199254.740993", UINT64_C(9007199254740993) },
		      { "123456789012.000001", UINT64_C(123456789012000001) },
		      { "1.5e3", 1500000000 },
		      { "0.0000016", 2 } };
	struct tw_agent_rows r = { 0 };
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(
			text, sizeof(text),
			"{\"workloads\":[{\"level\":\"pod\",\"pod_id\":\"u\",\"zones\":[{"
			"\"zone\":\"dram\",\"source\":\"s\",\"dynamic_joules\":%s}]}]}",
			cases[i].joules);
		parse(text, &r);
		assert_int_equal(r.count, 1);
		assert_int_equal(r.at[0].energy[0].dynamic_uj, cases[i].uj);
	}
	tw_agent_rows_release(&r);
}

static void each_zone_of_the_node_is_a_row(void **state)
{
	struct tw_agent_rows r = { 0 };

	(void)state;
	parse(ANSWER("{\"level\":\"node\",\"zones\":[" ZONE("package", "1") "," ZONE(
		      "dram", "2") ",{\"zone\":\"gpu\",\"source\":\"nvml\",\"missing\":"
				   "\"no answer\"},{\"zone\":\"psys\",\"source\":\"s\","
				   "\"used\":false,\"dynamic_joules\":9}]},"
				   "{\"level\":\"vm\",\"vm_id\":\"v-1\",\"vm_name\":"
				   "\"b\\u00f6se\\u0007\",\"zones\":[" ZONE(
					   "package",
					   "0.5") "]},"
						  "{\"level\":\"cgroup\",\"cgroup_id\":"
						  "\"1\",\"zones\":"
						  "[]}"),
	      &r);
	assert_int_equal(r.count, 4);
	assert_string_equal(r.at[0].level, "node");
	assert_string_equal(r.at[0].energy[0].zone, "package");
	assert_string_equal(r.at[0].energy[0].source, "rapl-sysfs");
	assert_int_equal(r.at[0].energy[0].idle_uj, 1);
	assert_true(r.at[0].energy[0].watts > 7.4 && r.at[0].energy[0].watts < 7.6);
	assert_string_equal(r.at[1].energy[0].zone, "dram");
	assert_string_equal(r.at[2].id, "nvml  ");
	assert_int_equal(r.at[2].energies, 0);
	assert_string_equal(r.at[3].id, "v-1");
	assert_string_equal(r.at[3].name, "b??se?");
	assert_string_equal(r.answer.node, "n1");
	assert_string_equal(r.answer.instance, "abc");
	assert_int_equal(r.answer.uptime_ms, 60000);
	assert_int_equal(r.answer.elapsed_ms, 3000);
	assert_int_equal(r.answer.rows, 4);
	tw_agent_rows_release(&r);
}

/* Its meter has taken over: its last growth counts, and it has no power. */
static void a_superseded_zone_has_energy_and_no_watts(void **state)
{
	struct tw_agent_rows r = { 0 };

	(void)state;
	parse(ANSWER("{\"level\":\"node\",\"zones\":[{\"zone\":\"package\",\"source\":"
		     "\"model\",\"used\":true,\"dynamic_joules\":9,\"idle_joules\":1,"
		     "\"missing\":\"rapl-sysfs has taken over\"}," ZONE("package",
									"2") "]}"),
	      &r);
	assert_int_equal(r.count, 2);
	assert_int_equal(r.at[0].energies, 1);
	assert_int_equal(r.at[0].energy[0].dynamic_uj, 9000000);
	assert_int_equal(r.at[0].energy[0].powered, 0);
	assert_int_equal(r.at[1].energy[0].powered, 1);
	tw_agent_rows_release(&r);
}

static void a_hostile_answer_is_refused_with_a_reason(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "", "cut short" },
		{ "<html>", "expected" },
		{ "{}", "not the answer of a tw-collector" },
		{ "{\"workloads\":7}", "not the answer of a tw-collector" },
		{ ANSWER("{\"level\":\"pod\",\"zones\":[]}"), "a pod without an id" },
		{ ANSWER("{\"level\":\"node\",\"zones\":[" ZONE("package", "-1") "]}"),
		  "impossible energy" },
		{ ANSWER("{\"level\":\"node\",\"zones\":[" ZONE("package", "1e15") "]}"),
		  "impossible energy" },
		{ "{\"workloads\":[],\"uptime_seconds\":-4}",
		  "impossible uptime_seconds" },
		{ "{\"workloads\":[{\"level\":\"pod\",\"pod_id\":\""
		  "0123456789012345678901234567890123456789012345678901234567890123456789"
		  "0123456789012345678901234567890123456789012345678901234567890123456789"
		  "\"}]}",
		  "pod_id of over 128 bytes" },
		{ "{\"workloads\":[[[[[[[[[[[[[[[[[[", "nest" },
	};
	struct tw_agent_rows r = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tw_err err = { 0 };

		assert_int_equal(
			tw_agent_parse(cases[i].text, strlen(cases[i].text), &r, &err),
			-1);
		if (strstr(err.text, cases[i].why) == NULL)
			fail_msg("%zu: '%s', want '%s'", i, err.text, cases[i].why);
		assert_int_equal(r.count, 0);
	}
	tw_agent_rows_release(&r);
}

static void surplus_workloads_are_left_out(void **state)
{
	struct tw_agent_rows r = { 0 };
	struct tw_buf b = { 0 };

	(void)state;
	tw_buf_adds(&b, "{\"workloads\":[");
	for (int i = 0; i < TW_AGENT_ROWS_MAX + 3; i++)
		tw_buf_addf(&b, "%s{\"level\":\"pod\",\"pod_id\":\"%d\"}",
			    i > 0 ? "," : "", i);
	tw_buf_adds(&b, "]}");
	parse(b.data, &r);
	assert_int_equal(r.count, TW_AGENT_ROWS_MAX);
	assert_int_equal(r.answer.rows, TW_AGENT_ROWS_MAX);
	assert_int_equal(r.answer.rows_cut, 3);
	tw_buf_clear(&b);
	tw_agent_rows_release(&r);
}

static void names_of_agents_are_checked(void **state)
{
	static const struct {
		const char *text, *url;
	} cases[] = { { "dns:agents.example", "http://agents.example:8103" },
		      { "dns:agents:9000", "http://agents:9000" },
		      { "dns:https://agents:9000", "https://agents:9000" },
		      { "dns:", NULL },
		      { "dns:a:b", NULL },
		      { "dns:a:99999", NULL },
		      { "dns:user@a", NULL },
		      { "dns:a/b", NULL } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tw_err err = { 0 };
		char *url = NULL;

		assert_int_equal(tw_agent_name_read(cases[i].text, &url, &err),
				 cases[i].url != NULL ? 0 : -1);
		if (cases[i].url != NULL)
			assert_string_equal(url, cases[i].url);
		free(url);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(energy_is_exact_to_the_microjoule),
		cmocka_unit_test(each_zone_of_the_node_is_a_row),
		cmocka_unit_test(a_superseded_zone_has_energy_and_no_watts),
		cmocka_unit_test(a_hostile_answer_is_refused_with_a_reason),
		cmocka_unit_test(surplus_workloads_are_left_out),
		cmocka_unit_test(names_of_agents_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
