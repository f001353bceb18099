/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/access.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "tests/unit/scratch.h"
#include "tests/unit/tw_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file in the scratch directory that only its user may read. */
static char *write_secret(char *dir, const char *name, const char *text)
{
	char *path = scratch_path(dir, name);
	struct tw_err err = { 0 };

	assert_int_equal(tw_file_replace(path, text, strlen(text), &err), 0);
	assert_int_equal(chmod(path, 0600), 0);
	return path;
}

static void without_a_file_there_are_no_credentials(void **state)
{
	struct tw_access a = { .token_file = NULL };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_access_open(&a, NULL, &err), 0);
	assert_null(a.http.user);
	assert_null(a.http.token);
	assert_false(a.http.insecure);
	tw_access_close(&a);
}

static void a_file_has_credentials_by_name(void **state)
{
	static const struct {
		const char *text, *user, *ca;
		bool insecure;
		const char *error; /* ends so; NULL: none */
	} cases[] = {
		{ "", NULL, NULL, false, NULL },
		{ "user = me\npassword = x\nca = /a\n", "me", "/a", false, NULL },
		{ "insecure = yes\n", NULL, NULL, true, NULL },
		{ "insecure = no\n", NULL, NULL, false, NULL },
		{ "insecure = maybe\n", NULL, NULL, false, ": insecure: want yes or no" },
		{ "insecure =\n", NULL, NULL, false, ": insecure: want yes or no" },
		{ "usr = me\n", NULL, NULL, false, "unknown option 'usr'" },
	};

	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		char *path = write_secret(*state, "access", cases[i].text);
		struct tw_access a = { .token_file = NULL };
		struct tw_err err = { 0 };
		const int status = tw_access_open(&a, path, &err);

		if (cases[i].error != NULL) {
			const size_t len = strlen(cases[i].error);

			assert_int_equal(status, -1);
			assert_true(strlen(err.text) > len);
			assert_string_equal(err.text + strlen(err.text) - len,
					    cases[i].error);
		} else {
			assert_int_equal(status, 0);
			assert_int_equal(a.http.insecure, cases[i].insecure);
			if (cases[i].user == NULL) {
				assert_null(a.http.user);
			} else {
				assert_string_equal(a.http.user, cases[i].user);
				assert_string_equal(a.http.password, "x");
				assert_string_equal(a.http.ca_file, cases[i].ca);
			}
		}
		tw_access_close(&a);
		free(path);
	}
}

/* Before the rights to read it are dropped: also in the first minute of a machine, whose
 * clock is younger than the time between reads. */
static void a_token_is_read_at_once(void **state)
{
	char *token = write_secret(*state, "token", "one\n"), text[512], *path;
	struct tw_access a = { .token_file = NULL };
	struct tw_err err = { 0 };

	snprintf(text, sizeof(text), "token-file = %s\n", token);
	path = write_secret(*state, "access", text);
	if (tw_access_open(&a, path, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(a.http.token, "one");
	tw_access_close(&a);
	a = (struct tw_access){ .token_file = token };
	tw_access_renew(&a, 5, 60000);
	assert_string_equal(a.http.token, "one");
	tw_access_close(&a);
	free(path);
	free(token);
}

static void a_file_that_others_may_read_is_refused(void **state)
{
	char *path = write_secret(*state, "access", "user = me\n");
	struct tw_access a = { .token_file = NULL };
	struct tw_err err = { 0 };

	assert_int_equal(chmod(path, 0604), 0);
	assert_int_equal(tw_access_open(&a, path, &err), -1);
	assert_null(a.http.user);
	if (strncmp(err.text, "'", 1) != 0 || strstr(err.text, path) == NULL)
		fail_msg("%s", err.text);
	tw_access_close(&a);
	free(path);
}

/* A token is read again after a while. The last one stays while there is no new one. */
static void a_token_may_be_replaced(void **state)
{
	char *token = write_secret(*state, "token", "one\n");
	struct tw_access a = { .token_file = token };
	struct tw_err err = { 0 };

	assert_int_equal(tw_access_read(&a, &err), 0);
	assert_string_equal(a.http.token, "one");
	tw_access_renew(&a, 5000, 1000);
	free(write_secret(*state, "token", "two\n"));
	tw_access_renew(&a, 5999, 1000);
	assert_string_equal(a.http.token, "one");
	tw_access_renew(&a, 6000, 1000);
	assert_string_equal(a.http.token, "two");
	assert_int_equal(unlink(token), 0);
	tw_access_renew(&a, 9000, 1000);
	assert_string_equal(a.http.token, "two");
	assert_int_equal(tw_access_read(&a, &err), 0);
	tw_access_close(&a);
	/* One that was never readable is a failure. */
	a = (struct tw_access){ .token_file = token };
	assert_int_equal(tw_access_read(&a, &err), -1);
	assert_non_null(strstr(err.text, token));
	free(token);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, scratch_set_up, scratch_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_file_there_are_no_credentials),
		TEST(a_file_has_credentials_by_name),
		TEST(a_token_is_read_at_once),
		TEST(a_file_that_others_may_read_is_refused),
		TEST(a_token_may_be_replaced),
	};

	return cmocka_run_group_tests_name("access", tests, NULL, NULL);
}
