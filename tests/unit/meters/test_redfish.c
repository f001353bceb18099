/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/code_name.h"
#include "tests/unit/tw_test.h"

#include "collector/ask/redfish.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "tests/unit/fail_alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASES "tests/cases/redfish/answers"
#define FILE_MAX 65536
#define SHOWN 1024

static const char *or_dash(const char *text)
{
	return text[0] != '\0' ? text : "-";
}

static void show_number(char *out, size_t size, double value)
{
	if (isnan(value))
		snprintf(out, size, "-");
	else
		snprintf(out, size, "%.17g", value);
}

static int show_power(enum tw_redfish_type type, const char *data, size_t len, char *out,
		      struct tw_err *err)
{
	union tw_redfish_doc doc;
	char watts[32], joules[32];

	if (tw_redfish_parse(type, data, len, &doc, err) < 0)
		return -1;
	show_number(watts, sizeof(watts), doc.power.power_w);
	show_number(joules, sizeof(joules), doc.power.energy_j);
	snprintf(out, SHOWN, "%s %s %llu", watts, joules,
		 (unsigned long long)doc.power.window_ms);
	if (doc.power.doubtful)
		strcat(out, " doubtful");
	if (doc.power.input_w > 0 || doc.power.output_w > 0)
		snprintf(out + strlen(out), SHOWN - strlen(out), " %g %g",
			 doc.power.input_w, doc.power.output_w);
	return 0;
}

static int power(const char *data, size_t len, char *out, struct tw_err *err)
{
	return show_power(TW_REDFISH_POWER, data, len, out, err);
}

static int metrics(const char *data, size_t len, char *out, struct tw_err *err)
{
	return show_power(TW_REDFISH_METRICS, data, len, out, err);
}

static int given(const char *data, size_t len, char *out, struct tw_err *err)
{
	return show_power(TW_REDFISH_SUPPLY_METRICS, data, len, out, err);
}

static int supply(const char *data, size_t len, char *out, struct tw_err *err)
{
	union tw_redfish_doc doc;

	if (tw_redfish_parse(TW_REDFISH_SUPPLY, data, len, &doc, err) < 0)
		return -1;
	snprintf(out, SHOWN, "%s%s", or_dash(doc.supply.metrics),
		 doc.supply.off ? " off" : "");
	return 0;
}

static int sensor(const char *data, size_t len, char *out, struct tw_err *err)
{
	return show_power(TW_REDFISH_SENSOR, data, len, out, err);
}

static int subsystem(const char *data, size_t len, char *out, struct tw_err *err)
{
	union tw_redfish_doc doc;

	if (tw_redfish_parse(TW_REDFISH_SUBSYSTEM, data, len, &doc, err) < 0)
		return -1;
	snprintf(out, SHOWN, "%s", or_dash(doc.supplies));
	return 0;
}

static void show_links(const struct tw_redfish_links *links, char *out)
{
	for (size_t i = 0; i < links->count; i++)
		snprintf(out + strlen(out), SHOWN - strlen(out), " %s", links->path[i]);
}

static int machine(const char *data, size_t len, char *out, struct tw_err *err)
{
	union tw_redfish_doc doc;

	if (tw_redfish_parse(TW_REDFISH_SYSTEM, data, len, &doc, err) < 0)
		return -1;
	snprintf(out, SHOWN, doc.system.part ? "part" : "whole");
	show_links(&doc.system.chassis, out);
	return 0;
}

static int chassis(const char *data, size_t len, char *out, struct tw_err *err)
{
	static const char *const kinds[] = {
		[TW_REDFISH_OTHER] = "other",   [TW_REDFISH_NAMED] = "named",
		[TW_REDFISH_PART] = "part",     [TW_REDFISH_ENCLOSURE] = "enclosure",
		[TW_REDFISH_GROUP] = "group",   [TW_REDFISH_PLUGGED] = "plugged",
		[TW_REDFISH_SINGLE] = "single",
	};
	union tw_redfish_doc doc;

	if (tw_redfish_parse(TW_REDFISH_CHASSIS, data, len, &doc, err) < 0)
		return -1;
	snprintf(out, SHOWN, "%s %s %s %s %s", or_dash(doc.chassis.id),
		 or_dash(doc.chassis.power), or_dash(doc.chassis.metrics),
		 or_dash(doc.chassis.contained_by), kinds[doc.chassis.kind]);
	show_links(&doc.chassis.systems, out);
	if (doc.chassis.contains.count > 0)
		strcat(out, " contains");
	show_links(&doc.chassis.contains, out);
	return 0;
}

static int root(const char *data, size_t len, char *out, struct tw_err *err)
{
	union tw_redfish_doc doc;

	if (tw_redfish_parse(TW_REDFISH_ROOT, data, len, &doc, err) < 0)
		return -1;
	snprintf(out, SHOWN, "%s %s", or_dash(doc.root.chassis),
		 or_dash(doc.root.sessions));
	return 0;
}

static int members(const char *data, size_t len, char *out, struct tw_err *err)
{
	char next[TW_REDFISH_PATH] = "";
	struct tw_strs found = { 0 };
	size_t n;

	if (tw_redfish_parse_members(data, len, &found, next, err) < 0) {
		tw_strs_clear(&found);
		return -1;
	}
	n = (size_t)snprintf(out, SHOWN, "%s", or_dash(next));
	for (size_t i = 0; i < found.count; i++)
		n += (size_t)snprintf(out + n, SHOWN - n, " %s", found.at[i]);
	tw_strs_clear(&found);
	return 0;
}

typedef int show_fn(const char *data, size_t len, char *out, struct tw_err *err);

static show_fn *show_of(const char *kind)
{
	static const struct {
		const char *kind;
		show_fn *show;
	} kinds[] = { { "power", power },    { "metrics", metrics },
		      { "given", given },    { "supply", supply },
		      { "sensor", sensor },  { "subsystem", subsystem },
		      { "system", machine }, { "chassis", chassis },
		      { "root", root },      { "members", members } };

	for (size_t i = 0; i < TW_COUNT(kinds); i++)
		if (strcmp(kinds[i].kind, kind) == 0)
			return kinds[i].show;
	fail_msg("no kind '%s'", kind);
	return NULL;
}

/* "!invalid text": the text is at the end of the error's. */
static void check_error(const char *json, const char *wanted, const struct tw_err *err)
{
	const char *text = strchr(wanted, ' ');

	assert_non_null(text);
	if (strncmp(wanted + 1, code_name(err->code), (size_t)(text - wanted) - 1) != 0 ||
	    strstr(err->text, text + 1) == NULL)
		fail_msg("%s: wanted %s, got %s %s", json, wanted, code_name(err->code),
			 err->text);
}

static void check_case(char *line)
{
	char *save = NULL, *kind = strtok_r(line, "\t", &save),
	     *json = strtok_r(NULL, "\t", &save), *wanted = strtok_r(NULL, "\t", &save);
	struct tw_err err = { 0 };
	char shown[SHOWN] = "", *copy;
	int rc;

	assert_non_null(wanted);
	/* Without a NUL, so that a sanitizer sees reads past its end. */
	copy = malloc(strlen(json));
	memcpy(copy, json, strlen(json));
	rc = show_of(kind)(copy, strlen(json), shown, &err);
	free(copy);
	if (wanted[0] == '!') {
		assert_int_equal(rc, -1);
		check_error(json, wanted, &err);
	} else if (rc < 0) {
		fail_msg("%s: %s", json, err.text);
	} else {
		assert_string_equal(shown, wanted);
	}
}

static void answers_equal_the_cases(void **state)
{
	struct tw_err err = { 0 };
	char *text, *save = NULL;
	size_t len, count = 0;

	(void)state;
	if (tw_file_read(CASES, FILE_MAX, &text, &len, &err) < 0)
		fail_msg("%s", err.text);
	for (char *line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save))
		if (line[0] != '#') {
			check_case(line);
			count++;
		}
	free(text);
	assert_true(count > 40);
}

static void an_error_has_the_controller_s_message(void **state)
{
	static const struct {
		const char *json, *wanted;
	} cases[] = {
		{ "{\"error\":{\"message\":\"a\"}}", "a" },
		{ "{\"error\":{\"message\":\"a\",\"@Message.ExtendedInfo\":[{\"Message\":"
		  "\"b\"}]}}",
		  "b" },
		{ "{\"error\":{\"@Message.ExtendedInfo\":[]}}", "" },
		{ "{\"error\":7}", "" },
		{ "<html>", "" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		char out[8] = "x";

		tw_redfish_parse_error(cases[i].json, strlen(cases[i].json), out,
				       sizeof(out));
		assert_string_equal(out, cases[i].wanted);
	}
}

static void a_collection_has_a_limit(void **state)
{
	(void)state;
	for (size_t count = 1024; count <= 1025; count++) {
		struct tw_buf text = { 0 };
		struct tw_strs found = { 0 };
		struct tw_err err = { 0 };
		char next[TW_REDFISH_PATH];

		tw_buf_adds(&text, "{\"Members\":[");
		for (size_t i = 0; i < count; i++)
			tw_buf_addf(&text, "%s{\"@odata.id\":\"/%zu\"}", i > 0 ? "," : "",
				    i);
		tw_buf_adds(&text, "]}");
		assert_int_equal(
			tw_redfish_parse_members(text.data, text.len, &found, next, &err),
			count > 1024 ? -1 : 0);
		assert_int_equal(found.count, count > 1024 ? 0 : count);
		assert_string_equal(err.text,
				    count > 1024 ? "Members: more than 1024" : "");
		tw_strs_clear(&found);
		tw_buf_clear(&text);
	}
}

static void without_memory_it_fails_and_leaks_nothing(void **state)
{
	static const char text[] = "{\"Members\":[{\"@odata.id\":\"/a\"},"
				   "{\"@odata.id\":\"/b\"}]}";

	(void)state;
	for (int n = 1;; n++) {
		struct tw_strs found = { 0 };
		struct tw_err err = { 0 };
		char next[TW_REDFISH_PATH];
		int rc;

		fail_alloc_at(n);
		rc = tw_redfish_parse_members(text, sizeof(text) - 1, &found, next, &err);
		tw_strs_clear(&found);
		if (!fail_alloc_told(rc, &err))
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_equal_the_cases),
		cmocka_unit_test(an_error_has_the_controller_s_message),
		cmocka_unit_test(a_collection_has_a_limit),
		cmocka_unit_test(without_memory_it_fails_and_leaks_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
