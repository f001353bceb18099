/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/http_calls.h"

#include "lib/http/client/http.h"
#include "tests/unit/tw_test.h"

#include <stdlib.h>
#include <string.h>

int http_begin(void **state)
{
	struct tw_err err = { 0 };

	(void)state;
	unsetenv("http_proxy");
	unsetenv("all_proxy");
	unsetenv("ALL_PROXY");
	return tw_http_init(&err);
}

void http_fails(const struct tw_http_call *c, enum tw_code code, const char *start_text,
		const char *within)
{
	struct tw_http_answer a = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_http_call(c, &a, &err), -1);
	assert_int_equal(err.code, code);
	assert_memory_equal(err.text, start_text, strlen(start_text));
	assert_non_null(strstr(err.text, within));
	assert_null(a.body);
}
