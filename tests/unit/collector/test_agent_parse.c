/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of agents, and their names, as texts. */
#include "tests/unit/tw_test.h"

#include "collector/ask/agent_lookup.h"
#include "collector/ask/agent_parse.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"

#include <stddef.h>
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
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		snprintf(
			text, sizeof(text),
			"{\"workloads\":[{\"level\":\"pod\",\"pod_id\":\"u\",\"zones\":[{"
			"\"zone\":\"dram\",\"source\":\"s\",\"dynamic_joules\":%s,\"x\":"
			"1}]}]}",
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

/* A later release may have lists of other things, with keys of the same names. */
static void lists_of_other_things_are_no_zones(void **state)
{
	struct tw_agent_rows r = { 0 };

	(void)state;
	parse(ANSWER("{\"level\":\"pod\",\"pod_id\":\"u\",\"zones\":[" ZONE(
		      "package",
		      "1") "],\"others\":[" ZONE("dram",
						 "7") "],\"more\":{\"zone\":\"x\","
						      "\"dynamic_joules\":9}}"),
	      &r);
	assert_int_equal(r.count, 1);
	assert_int_equal(r.at[0].energies, 1);
	assert_string_equal(r.at[0].energy[0].zone, "package");
	assert_int_equal(r.at[0].energy[0].dynamic_uj, 1000000);
	tw_agent_rows_release(&r);
	/* Also before the zones. */
	parse(ANSWER("{\"level\":\"pod\",\"pod_id\":\"u\",\"others\":[" ZONE(
		      "dram",
		      "7") "],\"zones\":[{\"source\":\"s\",\"zone\":\"package\"}]}"),
	      &r);
	assert_int_equal(r.count, 1);
	assert_int_equal(r.at[0].energies, 0);
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
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
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
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };
		char *url = NULL;

		assert_int_equal(tw_agent_name_read(cases[i].text, &url, &err),
				 cases[i].url != NULL ? 0 : -1);
		if (cases[i].url != NULL)
			assert_string_equal(url, cases[i].url);
		free(url);
	}
}

/* ---- fields and their limits ---- */

#define ROW(of) offsetof(struct tw_ask_row, of), sizeof(((struct tw_ask_row *)0)->of)
#define HEAD(of) \
	offsetof(struct tw_ask_answer, of), sizeof(((struct tw_ask_answer *)0)->of)
#define JOULES(of)                                 \
	offsetof(struct tw_ask_row, energy[0].of), \
		sizeof(((struct tw_ask_row *)0)->energy[0].of)

/* Where a text of the answer goes: ids are whole or refused, names are cut. */
static const struct field {
	const char *answer; /* %: the text */
	const char *key;
	size_t offset, size;
	bool head, id;
} fields[] = {
#define WORKLOAD(key, level)                                               \
	"{\"workloads\":[{\"level\":\"" level "\",\"" level "_id\":\"i\"," \
	"\"" key "\":\"%\"}]}",                                            \
		key
#define ENERGY(key)                                                                      \
	"{\"workloads\":[{\"level\":\"pod\",\"pod_id\":\"i\",\"zones\":[{\"zone\":\"z\"" \
	",\"dynamic_joules\":1,\"" key "\":\"%\"}]}]}",                                  \
		key
#define ANSWER_TEXT(key) "{\"" key "\":\"%\",\"workloads\":[]}", key
	{ WORKLOAD("container_id", "container"), ROW(id), false, true },
	{ WORKLOAD("pod_id", "pod"), ROW(id), false, true },
	{ WORKLOAD("vm_id", "vm"), ROW(id), false, true },
	{ WORKLOAD("job_id", "job"), ROW(id), false, true },
	{ WORKLOAD("user_id", "job"), ROW(name), false, false },
	{ WORKLOAD("pod_name", "pod"), ROW(name), false, false },
	{ WORKLOAD("vm_name", "vm"), ROW(name), false, false },
	{ WORKLOAD("namespace", "pod"), ROW(name_space), false, true },
	{ WORKLOAD("container_name", "container"), ROW(container), false, false },
	{ WORKLOAD("runtime", "container"), ROW(runtime), false, false },
	{ WORKLOAD("hypervisor", "vm"), ROW(runtime), false, false },
	{ ENERGY("zone"), JOULES(zone), false, true },
	{ ENERGY("source"), JOULES(source), false, true },
	{ ANSWER_TEXT("node_name"), HEAD(node), true, false },
	{ ANSWER_TEXT("instance"), HEAD(instance), true, true },
	{ ANSWER_TEXT("vm_id"), HEAD(vm_id), true, true },
};

static void check_field(const struct field *f, size_t len)
{
	const char *gap = strchr(f->answer, '%');
	char value[TW_ASK_ID + 8] = "", want[64];
	struct tw_agent_rows r = { 0 };
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 };
	const char *got;
	int rc;

	memset(value, 'v', len);
	tw_buf_addf(&text, "%.*s%s%s", (int)(gap - f->answer), f->answer, value, gap + 1);
	rc = tw_agent_parse(text.data, text.len, &r, &err);
	tw_buf_clear(&text);
	if (f->id && len >= f->size) {
		assert_int_equal(rc, -1);
		snprintf(want, sizeof(want), "%s of over %zu bytes", f->key, f->size - 1);
		if (strstr(err.text, want) == NULL)
			fail_msg("%s, want %s", err.text, want);
	} else {
		if (rc < 0)
			fail_msg("%s: %s", f->key, err.text);
		got = (const char *)(f->head ? (const void *)&r.answer : r.at) +
		      f->offset;
		assert_int_equal(strlen(got), len < f->size ? len : f->size - 1);
		assert_int_equal(strspn(got, "v"), strlen(got));
	}
	tw_agent_rows_release(&r);
}

static void texts_are_whole_or_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < TW_COUNT(fields); i++) {
		check_field(&fields[i], 1);
		check_field(&fields[i], fields[i].size - 1);
		check_field(&fields[i], fields[i].size);
	}
}

#define POD "{\"level\":\"pod\",\"pod_id\":\"p\",\"zones\":["
#define PODS(zones) "{\"workloads\":[" POD zones "]}]}"
#define Z "\"zone\":\"dram\",\"dynamic_joules\":1"

/* Power is the sum of what is told; a text or another type is not a number. */
static void numbers_have_a_type_and_a_range(void **state)
{
	static const struct {
		const char *zone;
		uint64_t dynamic_uj, idle_uj;
		double watts;
		uint32_t powered, energies;
	} cases[] = {
		{ "{" Z "}", 1000000, 0, 0, 0, 1 },
		{ "{" Z ",\"idle_joules\":2.5}", 1000000, 2500000, 0, 0, 1 },
		{ "{" Z ",\"idle_joules\":\"2\"}", 1000000, 0, 0, 0, 1 },
		{ "{" Z ",\"idle_joules\":2.5,\"idle_joules\":\"2\"}", 1000000, 2500000,
		  0, 0, 1 },
		{ "{" Z ",\"watts\":1}", 1000000, 0, 1, 1, 1 },
		{ "{" Z ",\"watts\":1,\"dynamic_watts\":20,\"idle_watts\":300}", 1000000,
		  0, 321, 1, 1 },
		{ "{" Z ",\"dynamic_watts\":20}", 1000000, 0, 20, 1, 1 },
		{ "{" Z ",\"idle_watts\":0}", 1000000, 0, 0, 1, 1 },
		{ "{" Z ",\"watts\":\"1\",\"idle_watts\":null}", 1000000, 0, 0, 0, 1 },
		{ "{" Z ",\"watts\":1e9}", 1000000, 0, 1e9, 1, 1 },
		{ "{" Z ",\"used\":true}", 1000000, 0, 0, 0, 1 },
		{ "{" Z ",\"used\":false}", 0, 0, 0, 0, 0 },
		{ "{\"zone\":\"d\",\"dynamic_joules\":1}", 1000000, 0, 0, 0, 1 },
		{ "{\"zone\":\"dram\",\"dynamic_joules\":\"1\"}", 0, 0, 0, 0, 0 },
		{ "{\"zone\":7,\"dynamic_joules\":1}", 0, 0, 0, 0, 0 },
		{ "{\"dynamic_joules\":1}", 0, 0, 0, 0, 0 },
		{ "{\"zone\":\"dram\",\"dynamic_joules\":1e12}",
		  UINT64_C(1000000000000000000), 0, 0, 0, 1 },
		{ "{\"zone\":\"dram\",\"dynamic_joules\":1.0000009}", 1000001, 0, 0, 0,
		  1 },
		{ "{\"zone\":\"dram\",\"dynamic_joules\":1.5E1}", 15000000, 0, 0, 0, 1 },
		{ "{\"zone\":\"dram\",\"dynamic_joules\":0.1}", 100000, 0, 0, 0, 1 },
		{ "{\"zone\":\"dram\",\"dynamic_joules\":0.9}", 900000, 0, 0, 0, 1 },
		{ "{\"zone\":\"dram\",\"dynamic_joules\":-0.0}", 0, 0, 0, 0, 1 },
		{ "{\"zone\":\"dram\",\"dynamic_joules\":909}", 909000000, 0, 0, 0, 1 },
	};
	struct tw_agent_rows r = { 0 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const struct tw_ask_energy *e;
		char text[512];

		snprintf(text, sizeof(text), PODS("%s"), cases[i].zone);
		parse(text, &r);
		assert_int_equal(r.count, 1);
		if (r.at[0].energies != cases[i].energies)
			fail_msg("%s: %u", cases[i].zone, r.at[0].energies);
		e = &r.at[0].energy[0];
		if (e->dynamic_uj != cases[i].dynamic_uj ||
		    e->idle_uj != cases[i].idle_uj || e->watts != cases[i].watts ||
		    e->powered != cases[i].powered)
			fail_msg("%s", cases[i].zone);
	}
	tw_agent_rows_release(&r);
}

static void impossible_numbers_are_refused(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ PODS("{" Z ",\"watts\":1.1e9}"), "impossible power in watts" },
		{ PODS("{" Z ",\"idle_watts\":-1}"), "impossible power in watts" },
		{ PODS("{" Z ",\"idle_joules\":1.1e12}"), "impossible energy" },
		{ "{\"workloads\":[],\"uptime_seconds\":1.1e11}",
		  "impossible uptime_seconds" },
		{ "{\"workloads\":[],\"elapsed_seconds\":-1}",
		  "impossible elapsed_seconds" },
		{ PODS("{" Z "},{" Z "},{" Z "},{" Z "},{" Z "},{" Z "},{" Z "},{" Z
		       "},{" Z "},{" Z "}"),
		  "over 9 zones of a workload" },
	};
	struct tw_agent_rows r = { 0 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };

		assert_int_equal(
			tw_agent_parse(cases[i].text, strlen(cases[i].text), &r, &err),
			-1);
		if (strstr(err.text, cases[i].why) == NULL)
			fail_msg("%zu: '%s', want '%s'", i, err.text, cases[i].why);
	}
	parse(PODS("{" Z "},{" Z "},{" Z "},{" Z "},{" Z "},{" Z "},{" Z "},{" Z "},{" Z
		   "}"),
	      &r);
	assert_int_equal(r.at[0].energies, TW_ASK_ENERGIES);
	tw_agent_rows_release(&r);
}

/* No workload, zone or answer has what was told of the one before. */
static void each_object_begins_anew(void **state)
{
	static const char *const levels[] = { "container", "pod", "vm", "job" };
	struct tw_agent_rows r = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	parse("{\"node_name\":\"n\",\"instance\":\"i\",\"vm_id\":\"v\",\"workloads\":[{"
	      "\"level\":\"vm\",\"vm_id\":\"v\",\"pod_id\":\"p\",\"vm_name\":\"n\","
	      "\"namespace\":\"s\",\"zones\":[{" Z ",\"watts\":4,\"source\":\"s\","
	      "\"idle_joules\":7},{\"zone\":\"gpu\",\"dynamic_joules\":2},{\"zone\":"
	      "\"core\",\"used\":false}]},{\"level\":\"vm\",\"vm_id\":\"w\",\"zones\":["
	      "{" Z "}]},{\"level\":\"job\",\"job_id\":\"1\",\"pod_id\":\"q\"}]}",
	      &r);
	assert_int_equal(r.count, 3);
	assert_int_equal(r.at[0].energies, 2);
	assert_true(r.at[0].in_pod);
	assert_string_equal(r.at[0].energy[1].source, "");
	assert_int_equal(r.at[0].energy[1].idle_uj, 0);
	assert_int_equal(r.at[0].energy[1].powered, 0);
	assert_false(r.at[1].in_pod);
	assert_string_equal(r.at[1].name, "");
	assert_string_equal(r.at[1].name_space, "");
	assert_int_equal(r.at[1].energies, 1);
	assert_false(r.at[2].in_pod);
	assert_int_equal(r.at[2].energies, 0);
	parse("{\"workloads\":[]}", &r);
	assert_string_equal(r.answer.node, "");
	assert_string_equal(r.answer.instance, "");
	assert_string_equal(r.answer.vm_id, "");
	assert_int_equal(r.answer.bytes, strlen("{\"workloads\":[]}"));
	/* An id of another workload is none of its own. */
	for (size_t i = 0; i < TW_COUNT(levels); i++) {
		char text[256];

		snprintf(text, sizeof(text),
			 "{\"workloads\":[{\"level\":\"%s\",\"%s_id\":\"1\"},{"
			 "\"level\":\"%s\"}]}",
			 levels[i], levels[i], levels[i]);
		assert_int_equal(tw_agent_parse(text, strlen(text), &r, &err), -1);
	}
	tw_agent_rows_release(&r);
}

/* The same keys elsewhere are of something else. */
static void keys_count_in_their_place(void **state)
{
	struct tw_agent_rows r = { 0 };

	(void)state;
	parse("{\"models\":[{\"level\":\"pod\",\"pod_id\":\"x\",\"zones\":[{" Z
	      "}]}],\"more\":{\"node_name\":\"x\"},\"workloads\":[{\"level\":\"pod\","
	      "\"pod_id\":\"p\",\"parts\":[{" Z "}],\"zones\":[{" Z
	      ",\"of\":{\"watts\":9}}]}]}",
	      &r);
	assert_int_equal(r.count, 1);
	assert_string_equal(r.at[0].id, "p");
	assert_string_equal(r.answer.node, "");
	assert_int_equal(r.at[0].energies, 1);
	assert_int_equal(r.at[0].energy[0].powered, 0);
	tw_agent_rows_release(&r);
}

/* A zone of the node is told apart by its source, path and name, as long as fits. */
static void zones_of_the_node_have_an_id(void **state)
{
	struct tw_agent_rows r = { 0 };
	char text[1024];

	(void)state;
	for (size_t len = 1; len < 200; len += 1) {
		char path[200] = "", id[512];

		memset(path, 'p', len);
		snprintf(text, sizeof(text),
			 "{\"workloads\":[{\"level\":\"node\",\"zones\":[{" Z
			 ",\"source\":\"acpi\",\"path\":\"%s\",\"name\":\"zone\"}]}]}",
			 path);
		snprintf(id, sizeof(id), "acpi %s zone", path);
		if (strlen(id) >= TW_ASK_ID) {
			path[TW_ASK_ID / 2] = '\0';
			snprintf(id, sizeof(id), "acpi %s zone", path);
		}
		parse(text, &r);
		assert_string_equal(r.at[0].id, id);
	}
	/* Both are long. */
	snprintf(text, sizeof(text),
		 "{\"workloads\":[{\"level\":\"node\",\"zones\":[{" Z
		 ",\"source\":\"acpi\",\"path\":\"%0150d\",\"name\":\"%0150d\"}]}]}",
		 0, 0);
	parse(text, &r);
	assert_int_equal(strlen(r.at[0].id), 4 + 1 + 64 + 1 + 32);
	tw_agent_rows_release(&r);
}

static void without_memory_an_answer_fails(void **state)
{
	static const char text[] = PODS("{" Z "}");

	(void)state;
	for (int n = 1;; n++) {
		struct tw_agent_rows r = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_agent_parse(text, strlen(text), &r, &err);
		tw_agent_rows_release(&r);
		assert_null(r.at);
		if (!fail_alloc_told(rc, &err))
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(energy_is_exact_to_the_microjoule),
		cmocka_unit_test(each_zone_of_the_node_is_a_row),
		cmocka_unit_test(a_superseded_zone_has_energy_and_no_watts),
		cmocka_unit_test(lists_of_other_things_are_no_zones),
		cmocka_unit_test(a_hostile_answer_is_refused_with_a_reason),
		cmocka_unit_test(surplus_workloads_are_left_out),
		cmocka_unit_test(texts_are_whole_or_cut),
		cmocka_unit_test(numbers_have_a_type_and_a_range),
		cmocka_unit_test(impossible_numbers_are_refused),
		cmocka_unit_test(each_object_begins_anew),
		cmocka_unit_test(keys_count_in_their_place),
		cmocka_unit_test(zones_of_the_node_have_an_id),
		cmocka_unit_test(without_memory_an_answer_fails),
		cmocka_unit_test(names_of_agents_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
