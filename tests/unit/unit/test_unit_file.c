/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"
#include "trainer/unit/unit_file.h"

#include <stdlib.h>
#include <string.h>

static const char whole[] =
	"{\"window\":\"2h\",\"every\":\"30s\",\"units\":["
	"{\"name\":\"chat\",\"energy\":[\"a{b=\\\"c\\\"}\",\"d\"],\"idle\":\"2.5\","
	"\"block\":\"1m\",\"work\":[\"prefill=p_total\",\"decode=d_total{x=~\\\"y.*\\\"}"
	"\"]},"
	"{\"name\":\"web\",\"work\":[\"requests_total\"]}]}";

static int read_text(const char *text, struct tw_unit_file *out, struct tw_err *err)
{
	char *dir = scratch_new(), *path = scratch_path(dir, "units.json");
	struct tw_err ignored = { 0 };
	int rc;

	if (tw_file_create(path, text, strlen(text), &ignored) < 0)
		fail_msg("%s", ignored.text);
	rc = tw_unit_file_read(path, out, err);
	free(path);
	scratch_free(dir);
	return rc;
}

static void a_file_is_read(void **state)
{
	struct tw_unit_file f;
	struct tw_err err = { 0 };

	(void)state;
	if (read_text(whole, &f, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(f.window_ms, 2 * 3600 * 1000);
	assert_int_equal(f.every_ms, 30 * 1000);
	assert_int_equal(f.count, 2);
	assert_string_equal(f.unit[0].name, "chat");
	assert_int_equal(f.unit[0].ask.energy.count, 2);
	assert_string_equal(f.unit[0].ask.work.at[0], "prefill=p_total");
	assert_string_equal(f.unit[0].ask.idle, "2.5");
	assert_string_equal(f.unit[0].ask.block, "1m");
	assert_int_equal(f.unit[1].ask.energy.count, 0);
	tw_unit_file_release(&f);
	if (read_text("{\"units\":[{\"name\":\"a\",\"work\":[\"b\"]}]}", &f, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(f.window_ms, 24 * 3600 * 1000);
	assert_int_equal(f.every_ms, 600 * 1000);
	tw_unit_file_release(&f);
}

#define UNITS(text) "{\"units\":[" text "]}"
#define UNIT(more) UNITS("{\"name\":\"a\",\"work\":[\"b\"]" more "}")

static void what_is_wrong_is_named_with_its_place(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "[]", "file: expected an object" },
		{ "{\"units\":[]}", "file.units: 0 entries, want at least 1" },
		{ "{}", "file.units" },
		{ UNITS("3"), "file.units[0]" },
		{ UNITS("{\"name\":\"../a\",\"work\":[\"b\"]}"), "file.units[0].name" },
		{ UNITS("{\"name\":\"a\"}"), "file.units[0].work" },
		{ UNITS("{\"name\":\"a\",\"work\":[]}"),
		  "file.units[0]: work: no counter" },
		{ UNITS("{\"name\":\"a\",\"work\":[\"b{c}\"]}"),
		  "file.units[0]: work: 'b{c}'" },
		{ UNITS("{\"name\":\"a\",\"work\":[\"b\",\"b\"]}"),
		  "two counters named 'b'" },
		{ UNIT(",\"energy\":[\"x{\"]"), "file.units[0]: energy: 'x{'" },
		{ UNIT(",\"energy\":\"x\""), "file.units[0].energy" },
		{ UNIT(",\"idle\":\"-1\""), "file.units[0]: idle: '-1': want a number" },
		{ UNIT(",\"block\":\"0s\""), "file.units[0]: block: '0s'" },
		{ UNIT(",\"blok\":\"1m\""), "file.units[0]: a: unknown key 'blok'" },
		{ UNITS("{\"name\":\"a\",\"work\":[\"b\"]},{\"name\":\"a\",\"work\":["
			"\"b\"]}"),
		  "file.units[1]: name: 'a' is there twice" },
		{ "{\"windw\":\"1h\",\"units\":[{\"name\":\"a\",\"work\":[\"b\"]}]}",
		  "file: unknown key 'windw'" },
		{ "{\"window\":\"1s\",\"units\":[{\"name\":\"a\",\"work\":[\"b\"]}]}",
		  "file.window: want 1m to 744h" },
		{ "{\"window\":\"1x\",\"units\":[{\"name\":\"a\",\"work\":[\"b\"]}]}",
		  "file.window" },
		{ "{\"every\":\"0s\",\"units\":[{\"name\":\"a\",\"work\":[\"b\"]}]}",
		  "file.every: want 1s to the window" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_unit_file f;
		struct tw_err err = { 0 };

		if (read_text(cases[i].text, &f, &err) == 0)
			fail_msg("%s: accepted", cases[i].text);
		if (strstr(err.text, cases[i].why) == NULL ||
		    strstr(err.text, "units.json") == NULL)
			fail_msg("%s: %s", cases[i].text, err.text);
	}
}

static void too_much_is_refused(void **state)
{
	struct tw_buf b = { 0 };
	struct tw_unit_file f;
	struct tw_err err = { 0 };

	(void)state;
	tw_buf_adds(&b, "{\"units\":[");
	for (int i = 0; i <= TW_UNIT_FILE_UNITS; i++)
		tw_buf_addf(&b, "%s{\"name\":\"u%d\",\"work\":[\"b\"]}", i > 0 ? "," : "",
			    i);
	tw_buf_adds(&b, "]}");
	assert_int_equal(read_text(b.data, &f, &err), -1);
	assert_non_null(strstr(err.text, "file.units: 33 entries, limit is 32"));
	tw_buf_clear(&b);

	tw_err_clear(&err);
	while (b.len < 300 * 1024)
		tw_buf_adds(&b, "                                ");
	assert_int_equal(read_text(b.data, &f, &err), -1);
	assert_non_null(strstr(err.text, "units.json"));
	tw_buf_clear(&b);
}

static void every_failed_allocation_is_reported(void **state)
{
	char *dir = scratch_new(), *path = scratch_path(dir, "units.json");
	struct tw_err err = { 0 };

	(void)state;
	if (tw_file_create(path, whole, strlen(whole), &err) < 0)
		fail_msg("%s", err.text);
	for (int n = 1;; n++) {
		struct tw_unit_file f = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_unit_file_read(path, &f, &err);
		tw_unit_file_release(&f);
		if (!fail_alloc_told(rc, &err)) {
			assert_true(n > 10);
			break;
		}
		tw_err_clear(&err);
	}
	free(path);
	scratch_free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_read),
		cmocka_unit_test(what_is_wrong_is_named_with_its_place),
		cmocka_unit_test(too_much_is_refused),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
