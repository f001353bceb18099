/* SPDX-License-Identifier: Apache-2.0 */
/* A web configuration that changes while it is read. */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/http/web/web.h"
#include "lib/http/web/web_config.h"
#include "tests/unit/scratch.h"

#include <stdio.h>
#include <string.h>

static uint64_t now_ms = 1000;
static const char *next_text; /* written once the file has been read; NULL: nothing */

uint64_t __wrap_tw_now_ms(void);
int __real_tw_web_config_read(const char *path, struct tw_web_config *out,
			      struct tw_err *err);
int __wrap_tw_web_config_read(const char *path, struct tw_web_config *out,
			      struct tw_err *err);

uint64_t __wrap_tw_now_ms(void)
{
	return now_ms;
}

static void write_config(const char *path, const char *text)
{
	struct tw_err err = { 0 };

	assert_int_equal(tw_file_replace(path, text, strlen(text), &err), 0);
}

int __wrap_tw_web_config_read(const char *path, struct tw_web_config *out,
			      struct tw_err *err)
{
	const int rc = __real_tw_web_config_read(path, out, err);

	if (next_text != NULL)
		write_config(path, next_text);
	next_text = NULL;
	return rc;
}

#define HEADER(value) "http_server_config:\n  headers:\n    X-Frame-Options: " value "\n"

static int copy_value(void *arg, const char *name, const char *value)
{
	(void)name;
	snprintf(arg, 32, "%s", value);
	return 0;
}

static void assert_header(struct tw_web *w, const char *value)
{
	struct tw_web_client nobody = { .authorization = NULL };
	uint64_t wait_ms;
	char text[32] = "";

	now_ms += 1000;
	assert_int_equal(tw_web_access(w, &nobody, &wait_ms), TW_WEB_ALLOWED);
	assert_int_equal(tw_web_headers(w, copy_value, text), 0);
	assert_string_equal(text, value);
}

static void a_change_during_the_reading_is_seen_at_the_next_check(void **state)
{
	struct tw_web *w = NULL;
	struct tw_err err = { 0 };
	char path[512];

	snprintf(path, sizeof(path), "%s/web.yml", (char *)*state);
	write_config(path, HEADER("one"));
	next_text = HEADER("second");
	assert_int_equal(tw_web_open(path, NULL, NULL, &w, &err), 0);
	assert_header(w, "second");
	write_config(path, HEADER("the third"));
	next_text = HEADER("the fourth");
	assert_header(w, "the third");
	assert_header(w, "the fourth");
	tw_web_close(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_change_during_the_reading_is_seen_at_the_next_check,
			scratch_set_up, scratch_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
