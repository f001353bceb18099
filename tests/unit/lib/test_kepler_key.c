/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/program/kepler_key.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"

#include <stdlib.h>
#include <string.h>

static const char *const keys[] = { "TW_TEST_KEY", "TW_TEST_OTHER", NULL };

static int setup(void **state)
{
	*state = scratch_new();
	setenv("CONFIG_PATH", *state, 1);
	unsetenv("TW_TEST_KEY");
	setenv("TW_TEST_OTHER", "as it was", 1);
	return 0;
}

static int teardown(void **state)
{
	unsetenv("CONFIG_PATH");
	scratch_free(*state);
	return 0;
}

static void write_key(const char *dir, const char *text)
{
	struct tw_err err = { 0 };
	char *path = NULL;

	assert_int_equal(tw_path_join(&path, &err, dir, "TW_TEST_KEY", NULL), 0);
	assert_int_equal(tw_file_replace(path, text, strlen(text), &err), 0);
	free(path);
}

static void a_file_overrides_the_environment(void **state)
{
	struct tw_err err = { 0 };

	assert_int_equal(tw_kepler_keys_load(keys, &err), 0);
	assert_null(getenv("TW_TEST_KEY"));
	setenv("TW_TEST_KEY", "environment", 1);
	assert_int_equal(tw_kepler_keys_load(keys, &err), 0);
	assert_string_equal(getenv("TW_TEST_KEY"), "environment");
	write_key(*state, " file \r\n\n");
	assert_int_equal(tw_kepler_keys_load(keys, &err), 0);
	assert_string_equal(getenv("TW_TEST_KEY"), " file");
	assert_string_equal(getenv("TW_TEST_OTHER"), "as it was");
}

static void a_key_that_is_a_directory_is_an_error(void **state)
{
	struct tw_err err = { 0 };
	char *path = NULL;

	assert_int_equal(tw_path_join(&path, &err, *state, "TW_TEST_KEY", NULL), 0);
	assert_int_equal(tw_dir_make(path, &err), 0);
	assert_int_equal(tw_kepler_keys_load(keys, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_non_null(strstr(err.text, "TW_TEST_KEY' is not a regular file"));
	free(path);
}

static void a_missing_directory_is_ignored(void **state)
{
	struct tw_err err = { 0 };

	(void)state;
	setenv("CONFIG_PATH", "/nowhere", 1);
	assert_int_equal(tw_kepler_keys_load(keys, &err), 0);
	unsetenv("CONFIG_PATH");
	assert_int_equal(tw_kepler_keys_load(keys, &err), 0);
}

static void every_failed_allocation_is_reported(void **state)
{
	write_key(*state, "file");
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_kepler_keys_load(keys, &err);
		if (!fail_alloc_told(rc, &err)) {
			assert_true(n > 2);
			break;
		}
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_file_overrides_the_environment),
		TEST(a_key_that_is_a_directory_is_an_error),
		TEST(a_missing_directory_is_ignored),
		TEST(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("kepler_key", tests, NULL, NULL);
}
