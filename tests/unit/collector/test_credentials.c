/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "collector/system/credentials.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fixture {
	char *dir, *path;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct tw_err err = { 0 };

	assert_non_null(f);
	f->dir = scratch_new();
	assert_int_equal(tw_path_join(&f->path, &err, f->dir, "login", NULL), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	scratch_free(f->dir);
	free(f->path);
	free(f);
	return 0;
}

static void put(const struct fixture *f, const char *text, mode_t mode)
{
	struct tw_err err = { 0 };

	unlink(f->path);
	assert_int_equal(tw_file_create(f->path, text, strlen(text), &err), 0);
	assert_int_equal(chmod(f->path, mode), 0);
}

static void a_login_is_read_from_a_file_of_its_own(void **state)
{
	struct fixture *f = *state;
	struct tw_login login;
	struct tw_err err = { 0 };

	put(f, "# controller\nuser = me\npassword =  a = \"b\"# \n", 0600);
	assert_int_equal(tw_login_read(f->path, &login, &err), 0);
	assert_string_equal(login.user, "me");
	assert_string_equal(login.password, "a = \"b\"#");
	put(f, "user=me\npassword=x", 0640);
	assert_int_equal(tw_login_read(f->path, &login, &err), 0);
}

static void a_file_that_others_may_read_is_refused(void **state)
{
	static const mode_t modes[] = { 0644, 0604, 0602, 0620, 0601 };
	struct fixture *f = *state;

	for (size_t i = 0; i < TW_COUNT(modes); i++) {
		struct tw_login login = { .user = "before" };
		struct tw_err err = { 0 };
		char wanted[64];

		put(f, "user = me\npassword = x\n", modes[i]);
		assert_int_equal(tw_login_read(f->path, &login, &err), -1);
		assert_int_equal(err.code, TW_DENIED);
		snprintf(wanted, sizeof(wanted), "mode is %04o, want 0600 or 0640",
			 (unsigned)modes[i]);
		assert_non_null(strstr(err.text, wanted));
		assert_string_equal(login.user, "before");
	}
}

static void a_malformed_login_is_rejected(void **state)
{
	static const struct {
		const char *text, *error;
		enum tw_code code;
	} cases[] = {
		{ "", ": no user", TW_NOTFOUND },
		{ "user = me\n", ": no password", TW_NOTFOUND },
		{ "user =\npassword = x\n", ": no user", TW_NOTFOUND },
		{ "user = me\npasword = x\n", ":2: unknown option 'pasword'",
		  TW_INVALID },
		{ "me:x\n", ":1: expected 'name = value'", TW_PARSE },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_login login;
		struct tw_err err = { 0 };

		put(f, cases[i].text, 0600);
		assert_int_equal(tw_login_read(f->path, &login, &err), -1);
		assert_int_equal(err.code, cases[i].code);
		assert_non_null(strstr(err.text, cases[i].error));
	}
}

static void a_long_password_is_refused(void **state)
{
	struct fixture *f = *state;
	char text[400] = "user = me\npassword = ";
	struct tw_login login;
	struct tw_err err = { 0 };

	memset(text + strlen(text), 'x', 256);
	put(f, text, 0600);
	assert_int_equal(tw_login_read(f->path, &login, &err), -1);
	assert_non_null(strstr(err.text, "password of over 255 bytes"));
}

static void a_token_is_a_file_s_one_word(void **state)
{
	struct fixture *f = *state;
	static const char *const none[] = { "", "\n", "two words\n", "two\nlines\n" };
	char token[16];
	struct tw_err err = { 0 };

	put(f, "t0ken \n", 0644);
	assert_int_equal(tw_token_read(f->path, token, sizeof(token), &err), 0);
	assert_string_equal(token, "t0ken");
	for (size_t i = 0; i < TW_COUNT(none); i++) {
		err = (struct tw_err){ 0 };
		put(f, none[i], 0644);
		assert_int_equal(tw_token_read(f->path, token, sizeof(token), &err), -1);
		assert_int_equal(err.code, TW_PARSE);
		assert_string_equal(token, "t0ken");
	}
	put(f, "0123456789abcdef", 0644);
	assert_int_equal(tw_token_read(f->path, token, sizeof(token), &err), -1);
}

static void without_memory_it_fails_and_leaks_nothing(void **state)
{
	struct fixture *f = *state;

	put(f, "user = me\npassword = x\n", 0600);
	for (int n = 1;; n++) {
		struct tw_login login;
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_login_read(f->path, &login, &err);
		if (!fail_alloc_hit())
			break;
		assert_int_equal(rc, -1);
		assert_int_equal(err.code, TW_NOMEM);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_login_is_read_from_a_file_of_its_own),
		TEST(a_file_that_others_may_read_is_refused),
		TEST(a_malformed_login_is_rejected),
		TEST(a_long_password_is_refused),
		TEST(a_token_is_a_file_s_one_word),
		TEST(without_memory_it_fails_and_leaks_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
