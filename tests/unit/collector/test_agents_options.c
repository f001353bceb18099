/* SPDX-License-Identifier: Apache-2.0 */
/* Options of --agents at their limits. */
#include "tests/unit/tw_test.h"

#include "collector/agents/agents.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void urls_are_checked(void **state)
{
	static const struct {
		const char *url, *why; /* why NULL: accepted */
	} cases[] = {
		{ "http://a:1", NULL },
		{ "https://a", NULL },
		{ "dns:a", NULL },
		{ "ftp://a", "want http://ADDR:PORT or dns:NAME" },
		{ "http://a/?x", "want http://ADDR:PORT" },
		{ "http://a/#x", "want http://ADDR:PORT" },
		{ "dns:a/b", "--agents" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_agents_options o = { 0 };
		struct tw_err err = { 0 };
		int rc;

		assert_int_equal(tw_strs_adds(&o.urls, cases[i].url, &err), 0);
		rc = tw_agents_options_check(&o, &err);
		assert_int_equal(rc, cases[i].why == NULL ? 0 : -1);
		if (cases[i].why != NULL && strstr(err.text, cases[i].why) == NULL)
			fail_msg("%zu: %s", i, err.text);
		tw_strs_clear(&o.urls);
	}
}

/* URLs of this many bytes each, and their number. */
static void urls_have_limits(void **state)
{
	static const struct {
		size_t bytes, count;
		const char *why;
	} cases[] = {
		{ 1024, 1, NULL },  { 1025, 1, "a URL of over 1024 bytes" },
		{ 20, 1024, NULL }, { 20, 1025, "over 1024 URLs" },
		{ 99, 1000, NULL }, { 100, 1000, "over 100000 bytes" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_agents_options o = { 0 };
		char *url = calloc(1, cases[i].bytes + 1);
		struct tw_err err = { 0 };

		assert_non_null(url);
		memset(url, 'a', cases[i].bytes);
		memcpy(url, "http://a/", 9);
		for (size_t k = 0; k < cases[i].count; k++)
			assert_int_equal(tw_strs_adds(&o.urls, url, &err), 0);
		assert_int_equal(tw_agents_options_check(&o, &err),
				 cases[i].why == NULL ? 0 : -1);
		if (cases[i].why != NULL && strstr(err.text, cases[i].why) == NULL)
			fail_msg("%zu: %s", i, err.text);
		tw_strs_clear(&o.urls);
		free(url);
	}
}

static void a_file_of_secrets_is_checked(void **state)
{
	static char access[] = "/nonexistent/access";
	struct tw_agents_options o = { .access = access };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_agents_options_check(&o, &err), -1);
	assert_non_null(strstr(err.text, "--agents-access: '/nonexistent/access'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urls_are_checked),
		cmocka_unit_test(urls_have_limits),
		cmocka_unit_test(a_file_of_secrets_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
