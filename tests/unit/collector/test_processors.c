/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/system/processors.h"

#include "collector/system/roots.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/tw_test.h"

#include <stdlib.h>
#include <string.h>

static const char two[] = "processor\t: 0\n"
			  "vendor_id\t: GenuineIntel\n"
			  "model name\t: Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz\n"
			  "physical id\t: 0\n"
			  "core id\t\t: 3\n"
			  "\n"
			  "processor\t: 1\n"
			  "vendor_id\t: GenuineIntel\n"
			  "physical id\t: 1\n";

static void each_processor_has_its_own_strings(void **state)
{
	struct tw_processors p = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_processors_parse(two, strlen(two), &p, &err), 0);
	assert_int_equal(p.count, 2);
	assert_string_equal(p.at[0].number, "0");
	assert_string_equal(p.at[0].vendor, "GenuineIntel");
	assert_string_equal(p.at[0].model, "Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz");
	assert_string_equal(p.at[0].package, "0");
	assert_string_equal(p.at[0].core, "3");
	assert_string_equal(p.at[1].number, "1");
	assert_string_equal(p.at[1].package, "1");
	/* A processor without a field does not inherit the one before. */
	assert_string_equal(p.at[1].model, "");
	assert_string_equal(p.at[1].core, "");
	tw_processors_release(&p);
}

static void odd_bytes_are_skipped_cut_or_replaced(void **state)
{
	static const struct {
		const char *text;
		size_t count;
		const char *number;
	} cases[] = {
		{ "", 0, NULL },
		{ "core id : 3\n", 0, NULL },
		{ "processor", 0, NULL },
		{ "processors : 3\n", 0, NULL },
		{ "processor :", 1, "" },
		{ "processor : a\x1b\"\xff z \r\n", 1, "a?\"? z" },
		{ "processor : 01234567890123456789", 1, "012345678901234" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_processors p = { 0 };
		struct tw_err err = { 0 };

		assert_int_equal(tw_processors_parse(cases[i].text, strlen(cases[i].text),
						     &p, &err),
				 0);
		assert_int_equal(p.count, cases[i].count);
		if (p.count > 0)
			assert_string_equal(p.at[0].number, cases[i].number);
		tw_processors_release(&p);
	}
}

static void too_many_processors_are_rejected(void **state)
{
	static const char line[] = "processor : 1\n";
	const size_t len = strlen(line), all = len * (TW_PROCESSORS_MAX + 1);
	char *text = malloc(all + 1);
	struct tw_processors p = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i <= TW_PROCESSORS_MAX; i++)
		memcpy(text + i * len, line, len);
	assert_int_equal(tw_processors_parse(text, all, &p, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_string_equal(err.text, "more than 16384 processors");
	assert_null(p.at);
	free(text);
}

static void a_missing_cpuinfo_is_named_in_the_error(void **state)
{
	const struct tw_roots roots = { .proc = "/nowhere" };
	struct tw_processors p = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_processors_read(&roots, &p, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_non_null(strstr(err.text, "/nowhere/cpuinfo"));
}

static void without_memory_it_fails(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		struct tw_processors p = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_processors_parse(two, strlen(two), &p, &err);
		if (!fail_alloc_hit()) {
			assert_int_equal(rc, 0);
			tw_processors_release(&p);
			break;
		}
		assert_int_equal(rc, -1);
		assert_int_equal(err.code, TW_NOMEM);
		assert_null(p.at);
	}
}

static void microarchitectures_have_kepler_s_names(void **state)
{
	static const struct {
		struct tw_processor p;
		const char *name;
	} cases[] = {
		{ { .vendor = "GenuineIntel", .family = "6", .model_number = "63" },
		  "Haswell" },
		{ { .vendor = "GenuineIntel",
		    .family = "6",
		    .model_number = "85",
		    .stepping = "4" },
		  "Skylake" },
		{ { .vendor = "GenuineIntel",
		    .family = "6",
		    .model_number = "85",
		    .stepping = "7" },
		  "Cascade Lake" },
		{ { .vendor = "GenuineIntel",
		    .family = "6",
		    .model_number = "85",
		    .stepping = "11" },
		  "Cooper Lake" },
		{ { .vendor = "AuthenticAMD", .family = "25", .model_number = "17" },
		  "Zen 4" },
		{ { .vendor = "AuthenticAMD", .family = "6", .model_number = "63" },
		  NULL },
		{ { .vendor = "GenuineIntel", .family = "6", .model_number = "9999999" },
		  NULL },
		{ { .vendor = "" }, NULL },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const char *name = tw_processor_microarch(&cases[i].p);

		assert_int_equal(name != NULL, cases[i].name != NULL);
		if (name != NULL)
			assert_string_equal(name, cases[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_processor_has_its_own_strings),
		cmocka_unit_test(odd_bytes_are_skipped_cut_or_replaced),
		cmocka_unit_test(too_many_processors_are_rejected),
		cmocka_unit_test(a_missing_cpuinfo_is_named_in_the_error),
		cmocka_unit_test(without_memory_it_fails),
		cmocka_unit_test(microarchitectures_have_kepler_s_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
