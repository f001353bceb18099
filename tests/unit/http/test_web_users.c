/* SPDX-License-Identifier: Apache-2.0 */
/* Passwords and their cache. tests/integration/server/test_server_setup.py has requests.
 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/core/base64.h"
#include "lib/http/web/web_users.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/in_use.h"

#include <crypt.h>
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

/* Half of the cache is for the newest guesses, and half for the newest right passwords.
 */
#define REMEMBERED 32

static void the_newest_guesses_are_remembered(void **state)
{
	static const char *const name = "alice";
	struct tw_web_users *u = make(&name, 1);
	char pair[32];

	(void)state;
	for (int i = 0; i < 200; i++) {
		snprintf(pair, sizeof(pair), "alice:%d", i);
		assert_int_equal(tw_web_users_known(u, header(pair)), TW_WEB_UNCHECKED);
	}
	for (int i = 200 - REMEMBERED; i < 200; i++) {
		snprintf(pair, sizeof(pair), "alice:%d", i);
		assert_int_equal(tw_web_users_known(u, header(pair)), TW_WEB_CHECKING);
	}
	snprintf(pair, sizeof(pair), "alice:%d", 199 - REMEMBERED);
	assert_int_equal(tw_web_users_known(u, header(pair)), TW_WEB_UNCHECKED);
	tw_web_users_free(u);
}

static void the_newest_users_are_remembered(void **state)
{
	char text[REMEMBERED + 1][16], pair[32];
	const char *names[REMEMBERED + 1];
	struct tw_web_users *u;

	(void)state;
	for (int i = 0; i <= REMEMBERED; i++) {
		snprintf(text[i], sizeof(text[i]), "u%d", i);
		names[i] = text[i];
	}
	u = make(names, REMEMBERED + 1);
	for (int i = 0; i <= REMEMBERED; i++) {
		snprintf(pair, sizeof(pair), "u%d:secret", i);
		assert_int_equal(tw_web_users_check(u, header(pair)), TW_WEB_ALLOWED);
		/* The first of 33 makes room for the last. */
		for (int j = i < REMEMBERED ? 0 : 1; j <= i; j++) {
			snprintf(pair, sizeof(pair), "u%d:secret", j);
			assert_int_equal(tw_web_users_known(u, header(pair)),
					 TW_WEB_ALLOWED);
		}
	}
	assert_int_equal(tw_web_users_known(u, header("u0:secret")), TW_WEB_UNCHECKED);
	tw_web_users_free(u);
}

/* The check that began is behind the place of its result, or in front of it. */
static void a_result_replaces_the_check_that_began(void **state)
{
	static const char *const name = "alice";
	static const struct {
		const char *pair;
		enum tw_web_access access;
	} cases[] = { { "alice:secret", TW_WEB_ALLOWED }, { ":x", TW_WEB_UNKNOWN } };

	(void)state;
	for (int guesses = 0; guesses < REMEMBERED; guesses += REMEMBERED - 1)
		for (size_t i = 0; i < 2; i++) {
			struct tw_web_users *u = make(&name, 1);

			for (int n = 0; n < guesses; n++) {
				char pair[32];

				snprintf(pair, sizeof(pair), "alice:%d", n);
				tw_web_users_known(u, header(pair));
			}
			answers(u, cases[i].pair, TW_WEB_UNCHECKED, cases[i].access);
			answers(u, cases[i].pair, cases[i].access, cases[i].access);
			/* Of a pair that was replaced nothing stays. */
			assert_int_equal(tw_web_users_known(u, header(":")),
					 TW_WEB_UNCHECKED);
			tw_web_users_free(u);
		}
}

/* A counter follows the cache. After 58 pairs its bytes read ":". */
static void the_cache_ends_after_its_last_pair(void **state)
{
	static const char *const name = "alice";
	struct tw_web_users *u = make(&name, 1);

	(void)state;
	for (int i = 0; i < ':'; i++) {
		char pair[32];

		snprintf(pair, sizeof(pair), "alice:%d", i);
		assert_int_equal(tw_web_users_known(u, header(pair)), TW_WEB_UNCHECKED);
	}
	assert_int_equal(tw_web_users_known(u, header(":")), TW_WEB_UNCHECKED);
	tw_web_users_free(u);
}

static void only_the_skipped_check_is_forgotten(void **state)
{
	static const char *const name = "alice";
	static const char *const pairs[] = { "alice:1", "alice:2", "alice:3" };

	(void)state;
	for (size_t skipped = 0; skipped < 3; skipped++) {
		struct tw_web_users *u = make(&name, 1);

		for (size_t i = 0; i < 3; i++)
			assert_int_equal(tw_web_users_known(u, header(pairs[i])),
					 TW_WEB_UNCHECKED);
		tw_web_users_skip(u, header(pairs[skipped]));
		for (size_t i = 0; i < 3; i++)
			assert_int_equal(tw_web_users_known(u, header(pairs[i])),
					 i == skipped ? TW_WEB_UNCHECKED
						      : TW_WEB_CHECKING);
		tw_web_users_free(u);
	}
}

/* Each has a struct crypt_data. The passwords in the cache are erased then, too. */
static void the_last_reference_frees_the_users(void **state)
{
	static const char *const name = "alice";
	size_t before = 0;

	(void)state;
	for (int i = 0; i < 10; i++) {
		struct tw_web_users *u = make(&name, 1);

		tw_web_users_ref(u);
		tw_web_users_free(u);
		tw_web_users_free(u);
		if (i == 4)
			before = bytes_in_use();
	}
	assert_true(bytes_in_use() < before + 5 * sizeof(struct crypt_data));
}

static void every_failed_allocation_is_reported(void **state)
{
	struct tw_strs pairs = { 0 };
	struct tw_err none = { 0 };
	int failures = 0;

	(void)state;
	assert_int_equal(tw_strs_adds(&pairs, "alice", &none), 0);
	assert_int_equal(tw_strs_adds(&pairs, HASH, &none), 0);
	for (int n = 1;; n++, failures++) {
		struct tw_web_users *u = NULL;
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_web_users_new(&pairs, &u, &err);
		if (!fail_alloc_told(rc, &err)) {
			tw_web_users_free(u);
			break;
		}
		assert_null(u);
	}
	assert_true(failures >= 3);
	tw_strs_clear(&pairs);
}

/* crypt() answers such texts with "*0", or with "*1" if it was given "*0". */
static void a_broken_hash_is_of_no_password(void **state)
{
	static const char *const hashes[] = { "", "*0", "*1", "!", "$2b$04$", "secret" };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(hashes); i++) {
		struct tw_strs pairs = { 0 };
		struct tw_web_users *u;
		struct tw_err err = { 0 };

		assert_int_equal(tw_strs_adds(&pairs, "alice", &err), 0);
		assert_int_equal(tw_strs_adds(&pairs, hashes[i], &err), 0);
		assert_int_equal(tw_web_users_new(&pairs, &u, &err), 0);
		answers(u, "alice:secret", TW_WEB_UNCHECKED, TW_WEB_UNKNOWN);
		answers(u, "alice:", TW_WEB_UNCHECKED, TW_WEB_UNKNOWN);
		tw_strs_clear(&pairs);
		tw_web_users_free(u);
	}
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
	for (size_t i = 0; i < TW_COUNT(texts); i++) {
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
		cmocka_unit_test(the_newest_guesses_are_remembered),
		cmocka_unit_test(the_newest_users_are_remembered),
		cmocka_unit_test(a_result_replaces_the_check_that_began),
		cmocka_unit_test(the_cache_ends_after_its_last_pair),
		cmocka_unit_test(only_the_skipped_check_is_forgotten),
		cmocka_unit_test(the_last_reference_frees_the_users),
		cmocka_unit_test(every_failed_allocation_is_reported),
		cmocka_unit_test(a_broken_hash_is_of_no_password),
		cmocka_unit_test(malformed_headers_are_unknown),
		cmocka_unit_test(a_long_header_is_unknown),
		cmocka_unit_test(a_name_is_known_only_with_users),
	};

	return cmocka_run_group_tests_name("web users", tests, NULL, NULL);
}
