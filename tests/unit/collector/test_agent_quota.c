/* SPDX-License-Identifier: Apache-2.0 */
/* The shares of tables: what an agent has in any case, and what it has at most. */
#include "tests/unit/tw_test.h"

#include "collector/agents/quota.h"

#define SOURCES_EACH 4
#define ROWS_EACH 8192

static struct tw_quota_user *join(struct tw_quota *q)
{
	struct tw_quota_user *u = tw_quota_join(q);

	assert_non_null(u);
	return u;
}

static size_t take_all(struct tw_quota *q, struct tw_quota_user *u, enum tw_quota_of of)
{
	size_t taken = 0;

	while (tw_quota_take(q, u, of))
		taken++;
	return taken;
}

static void give_all(struct tw_quota *q, struct tw_quota_user *u, enum tw_quota_of of,
		     size_t count)
{
	for (size_t i = 0; i < count; i++)
		tw_quota_give(q, u, of);
}

/* One of very many users: their shares are less than what each may have. */
static void a_user_has_its_most_and_no_more(void **state)
{
	struct tw_quota q = { 0 };
	struct tw_quota_user *u = join(&q);

	(void)state;
	q.users = 1000;
	assert_int_equal(take_all(&q, u, TW_QUOTA_ROWS), ROWS_EACH);
	assert_int_equal(take_all(&q, u, TW_QUOTA_SOURCES), SOURCES_EACH);
	assert_int_equal(u->left_out[TW_QUOTA_ROWS], 1);
	give_all(&q, u, TW_QUOTA_ROWS, 2);
	assert_int_equal(take_all(&q, u, TW_QUOTA_ROWS), 2);
	give_all(&q, u, TW_QUOTA_ROWS, ROWS_EACH);
	give_all(&q, u, TW_QUOTA_SOURCES, SOURCES_EACH);
	assert_int_equal(q.used[TW_QUOTA_ROWS] + q.used[TW_QUOTA_SOURCES], 0);
	tw_quota_leave(&q, u);
}

/* 16 users have two sources each of the half of 64; early ones may have four. */
static void late_users_have_their_share_of_a_full_table(void **state)
{
	struct tw_quota q = { 0 };
	struct tw_quota_user *user[17] = { NULL };
	size_t taken[16], all = 0;

	(void)state;
	for (size_t i = 0; i < 16; i++)
		user[i] = join(&q);
	for (size_t i = 0; i < 16; i++) {
		taken[i] = take_all(&q, user[i], TW_QUOTA_SOURCES);
		assert_int_equal(taken[i], i < 8 ? 4 : 2);
		all += taken[i];
	}
	assert_int_equal(q.used[TW_QUOTA_SOURCES], all);
	assert_false(tw_quota_take(&q, NULL, TW_QUOTA_SOURCES));
	for (size_t i = 0; i < 16; i++) {
		give_all(&q, user[i], TW_QUOTA_SOURCES, taken[i]);
		tw_quota_leave(&q, user[i]);
	}
	assert_int_equal(q.users, 0);
}

/* A table has no more places than it has, and those without a share have its half. */
static void a_table_has_an_end(void **state)
{
	struct tw_quota q = { 0 };
	struct tw_quota_user *u[2];

	(void)state;
	assert_int_equal(take_all(&q, NULL, TW_QUOTA_SOURCES), SOURCES_EACH * 8);
	u[0] = join(&q);
	u[1] = join(&q);
	q.users = 1; /* both have the half */
	assert_int_equal(take_all(&q, u[0], TW_QUOTA_SOURCES), 32);
	assert_int_equal(q.used[TW_QUOTA_SOURCES], TW_SUM_SOURCES_MAX);
	assert_int_equal(take_all(&q, u[1], TW_QUOTA_SOURCES), 0);
	give_all(&q, u[0], TW_QUOTA_SOURCES, 32);
	tw_quota_leave(&q, u[0]);
	tw_quota_leave(&q, u[1]);
}

/* A user that has left lives as long as anything of it: freed before, a sanitizer says
 * so. */
static void what_a_user_leaves_behind_is_its_own(void **state)
{
	(void)state;
	for (int of = 0; of < TW_QUOTAS; of++) {
		struct tw_quota q = { 0 };
		struct tw_quota_user *u = join(&q);

		assert_true(tw_quota_take(&q, u, (enum tw_quota_of)of));
		tw_quota_leave(&q, u);
		assert_true(u->gone);
		assert_int_equal(u->used[of], 1);
		tw_quota_give(&q, u, (enum tw_quota_of)of);
		assert_int_equal(q.used[of], 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_user_has_its_most_and_no_more),
		cmocka_unit_test(late_users_have_their_share_of_a_full_table),
		cmocka_unit_test(a_table_has_an_end),
		cmocka_unit_test(what_a_user_leaves_behind_is_its_own),
	};

	return cmocka_run_group_tests_name("agent_quota", tests, NULL, NULL);
}
