/* SPDX-License-Identifier: Apache-2.0 */
/* Passwords and their cache. tests/integration/test_server_setup.py has requests. */
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/core/base64.h"
#include "lib/http/web_users.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of "secret", with few rounds. */
#define HASH "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"

static struct tw_web_users *make(const char *const *name, size_t count)
{
	struct tw_strs pairs = { 0 };
	struct tw_web_users *u;
	struct tw_err err = { 0 };

	for (size_t i = 0; i < count; i++) {
		tw_strs_add(&pairs, name[i], strlen(name[i]), &err);
		tw_strs_add(&pairs, HASH, strlen(HASH), &err);
	}
	assert_int_equal(tw_web_users_new(&pairs, &u, &err), 0);
	tw_strs_clear(&pairs);
	return u;
}

/* The header of a pair "name:password"; it lives until the next call. */
static const char *header(const char *pair)
{
	static char text[2048];
	struct tw_buf b = { 0 };

	tw_buf_adds(&b, "Basic ");
	tw_buf_add_base64(&b, pair, strlen(pair));
	assert_true(b.len < sizeof(text));
	memcpy(text, b.data, b.len + 1);
	tw_buf_clear(&b);
	return text;
}

static void answers(struct tw_web_users *u, const char *pair, enum tw_web_access known,
		    enum tw_web_access checked)
{
	assert_int_equal(tw_web_users_known(u, header(pair)), known);
	assert_int_equal(tw_web_users_check(u, header(pair)), checked);
}

static void a_password_is_checked_once(void **state)
{
	static const char *const names[] = { "alice", "bob" };
	struct tw_web_users *u = make(names, 2);

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char pair[32];

		snprintf(pair, sizeof(pair), "%s:secret", names[i]);
		answers(u, pair, TW_WEB_UNCHECKED, TW_WEB_ALLOWED);
		answers(u, pair, TW_WEB_ALLOWED, TW_WEB_ALLOWED);
	}
	answers(u, "alice:wrong", TW_WEB_UNCHECKED, TW_WEB_UNKNOWN);
	answers(u, "alice:wrong", TW_WEB_UNKNOWN, TW_WEB_UNKNOWN);
	answers(u, "alice:secret", TW_WEB_ALLOWED, TW_WEB_ALLOWED);
	answers(u, "alic:secret", TW_WEB_UNCHECKED, TW_WEB_UNKNOWN);
	answers(u, "blice:secret", TW_WEB_UNCHECKED, TW_WEB_UNKNOWN);
	answers(u, "alice2:secret", TW_WEB_UNCHECKED, TW_WEB_UNKNOWN);
	answers(u, ":secret", TW_WEB_UNCHECKED, TW_WEB_UNKNOWN);
	tw_web_users_free(u);
}

static void a_check_that_has_begun_is_not_begun_again(void **state)
{
	static const char *const name = "alice";
	struct tw_web_users *u = make(&name, 1);

	(void)state;
	assert_int_equal(tw_web_users_known(u, header("alice:secret")), TW_WEB_UNCHECKED);
	assert_int_equal(tw_web_users_known(u, header("alice:secret")), TW_WEB_CHECKING);
	tw_web_users_skip(u, header("alice:secret"));
	assert_int_equal(tw_web_users_known(u, header("alice:secret")), TW_WEB_UNCHECKED);
	assert_int_equal(tw_web_users_check(u, header("alice:secret")), TW_WEB_ALLOWED);
	/* A known result stays. */
	tw_web_users_skip(u, header("alice:secret"));
	assert_int_equal(tw_web_users_known(u, header("alice:secret")), TW_WEB_ALLOWED);
	tw_web_users_skip(u, header("alice:unknown"));
	/* Of a check that did not take place nothing stays. */
	assert_int_equal(tw_web_users_known(u, header(":x")), TW_WEB_UNCHECKED);
	tw_web_users_skip(u, header(":x"));
	assert_int_equal(tw_web_users_known(u, header(":")), TW_WEB_UNCHECKED);
	/* The shortest pair is remembered, too. */
	assert_int_equal(tw_web_users_known(u, header(":")), TW_WEB_CHECKING);
	tw_web_users_free(u);
}

/* Guesses fill their half of the cache only. */
static void guesses_do_not_evict_a_user(void **state)
{
	static const char *const name = "alice";
	struct tw_web_users *u = make(&name, 1);

	(void)state;
	answers(u, "alice:secret", TW_WEB_UNCHECKED, TW_WEB_ALLOWED);
	for (int i = 0; i < 200; i++) {
		char pair[32];

		snprintf(pair, sizeof(pair), "alice:%d", i);
		assert_int_equal(tw_web_users_known(u, header(pair)), TW_WEB_UNCHECKED);
	}
	answers(u, "alice:secret", TW_WEB_ALLOWED, TW_WEB_ALLOWED);
	tw_web_users_free(u);
}

static void malformed_headers_are_unknown(void **state)
{
	static const char *const texts[] = {
		NULL,
		"",
		"Basic ",
		"Basic =",
		"Basic YWxpY2U", /* "alice" */
		"Basic YWxpY2U6c2VjcmV0!",
		"Bearer YWxpY2U6c2VjcmV0",
		"Basic YTphAGI=", /* a NUL */
	};
	static const char *const name = "alice";
	struct tw_web_users *u = make(&name, 1);
	char user[TW_WEB_USER];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(tw_web_users_known(u, texts[i]), TW_WEB_UNKNOWN);
		assert_int_equal(tw_web_users_check(u, texts[i]), TW_WEB_UNKNOWN);
		assert_false(tw_web_users_name(u, texts[i], user));
		tw_web_users_skip(u, texts[i]);
	}
	assert_int_equal(tw_web_users_known(u, "basic  YWxpY2U6c2VjcmV0"),
			 TW_WEB_UNCHECKED);
	tw_web_users_free(u);
}

static void a_long_header_is_unknown(void **state)
{
	static const char *const name = "alice";
	struct tw_web_users *u = make(&name, 1);
	char pair[TW_WEB_USER + 600];

	(void)state;
	for (size_t len = TW_WEB_USER - 2; len < TW_WEB_USER + 500; len++) {
		memset(pair, 'x', len);
		pair[5] = ':';
		pair[len] = '\0';
		assert_int_equal(tw_web_users_known(u, header(pair)),
				 len < TW_WEB_USER ? TW_WEB_UNCHECKED : TW_WEB_UNKNOWN);
	}
	tw_web_users_free(u);
}

static void a_name_is_known_only_with_users(void **state)
{
	static const char *const name = "alice";
	struct tw_web_users *u = make(&name, 1), *nobody = make(NULL, 0);
	char user[TW_WEB_USER] = "";

	(void)state;
	assert_true(tw_web_users_name(u, header("alice:a:b"), user));
	assert_string_equal(user, "alice");
	assert_false(tw_web_users_name(nobody, header("alice:secret"), user));
	answers(nobody, "bob:", TW_WEB_ALLOWED, TW_WEB_ALLOWED);
	assert_int_equal(tw_web_users_known(nobody, NULL), TW_WEB_ALLOWED);
	tw_web_users_free(nobody);
	/* A reference keeps the users. */
	assert_ptr_equal(tw_web_users_ref(u), u);
	tw_web_users_free(u);
	answers(u, "alice:secret", TW_WEB_UNCHECKED, TW_WEB_ALLOWED);
	tw_web_users_free(u);
	tw_web_users_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_password_is_checked_once),
		cmocka_unit_test(a_check_that_has_begun_is_not_begun_again),
		cmocka_unit_test(guesses_do_not_evict_a_user),
		cmocka_unit_test(malformed_headers_are_unknown),
		cmocka_unit_test(a_long_header_is_unknown),
		cmocka_unit_test(a_name_is_known_only_with_users),
	};

	return cmocka_run_group_tests_name("web users", tests, NULL, NULL);
}
