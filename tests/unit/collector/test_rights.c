/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "trainer/service/rights.h"

#include <string.h>

static struct tw_strs rules_of(const char *const *text, size_t count)
{
	struct tw_strs rules = { 0 };
	struct tw_err err = { 0 };

	for (size_t i = 0; i < count; i++)
		assert_int_equal(tw_strs_add(&rules, text[i], strlen(text[i]), &err), 0);
	return rules;
}

static void rules_are_checked(void **state)
{
	static const char *const good[] = { "alice=a", "bob=x-*,y" };
	static const char *const bad[] = { "alice", "=a", "alice=" };
	struct tw_strs rules = rules_of(good, 2);
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_rights_check_rules(&rules, &err), 0);
	tw_strs_clear(&rules);
	for (size_t i = 0; i < 3; i++) {
		rules = rules_of(&bad[i], 1);
		assert_int_equal(tw_rights_check_rules(&rules, &err), -1);
		assert_int_equal(err.code, TW_INVALID);
		assert_non_null(strstr(err.text, "want USER=PATTERN"));
		tw_strs_clear(&rules);
	}
}

static void without_rules_a_user_adds_to_its_own_pipelines(void **state)
{
	static const struct {
		const char *user, *owner;
		int rc;
	} cases[] = { { "alice", "alice", 0 }, { "alice", "bob", -1 },
		      { "alice", "alic", -1 }, { "alice", NULL, -1 },
		      { NULL, "alice", -1 },   { NULL, NULL, 0 } };
	const struct tw_strs none = { 0 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };

		assert_int_equal(tw_rights_check_name(&none, cases[i].user, "p", &err),
				 0);
		assert_int_equal(tw_rights_check_owner(&none, cases[i].user, "p",
						       cases[i].owner, &err),
				 cases[i].rc);
		assert_int_equal(err.code, cases[i].rc < 0 ? TW_DENIED : TW_OK);
	}
}

static void with_rules_only_their_users_train_into_their_pipelines(void **state)
{
	static const char *const text[] = { "alice=web-*, db", "alice=late", "al=other" };
	static const struct {
		const char *user, *pipeline;
		int rc;
	} cases[] = { { "alice", "web-1", 0 }, { "alice", "db", 0 },
		      { "alice", "late", 0 },  { "alice", "web", -1 },
		      { "alice", "db2", -1 },  { "alice", "other", -1 },
		      { "al", "other", 0 },    { "al", "db", -1 },
		      { "bob", "db", -1 },     { NULL, "db", -1 } };
	struct tw_strs rules = rules_of(text, 3);

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };

		assert_int_equal(tw_rights_check_name(&rules, cases[i].user,
						      cases[i].pipeline, &err),
				 cases[i].rc);
		/* A rule counts more than the owner. */
		assert_int_equal(tw_rights_check_owner(&rules, cases[i].user,
						       cases[i].pipeline, "bob", &err),
				 cases[i].rc);
		assert_int_equal(err.code, cases[i].rc < 0 ? TW_DENIED : TW_OK);
	}
	tw_strs_clear(&rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_are_checked),
		cmocka_unit_test(without_rules_a_user_adds_to_its_own_pipelines),
		cmocka_unit_test(with_rules_only_their_users_train_into_their_pipelines),
	};

	return cmocka_run_group_tests_name("rights", tests, NULL, NULL);
}
