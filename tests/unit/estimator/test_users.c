/* SPDX-License-Identifier: Apache-2.0 */
/* Who may ask, and sockets that are passed. */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "estimator/listen.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/program/daemon.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int read_users(const char *text, struct tw_users *u, struct tw_err *err)
{
	struct tw_strs names = { 0 };
	int rc;

	assert_int_equal(tw_strs_split(&names, text, err), 0);
	rc = tw_users_read(&names, u, err);
	tw_strs_clear(&names);
	return rc;
}

static void users_are_names_or_numbers(void **state)
{
	struct tw_users u = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(read_users("root,4711", &u, &err), 0);
	assert_int_equal(u.count, 2);
	assert_int_equal(u.id[0], 0);
	assert_int_equal(u.id[1], 4711);
	tw_users_release(&u);
	assert_int_equal(read_users("root,no such user", &u, &err), -1);
	assert_string_equal(err.text, "user 'no such user' is not known");
	tw_users_release(&u);
}

static void an_owner_is_a_user_a_group_or_both(void **state)
{
	static const struct {
		const char *text;
		uid_t user;
		gid_t group;
	} cases[] = {
		{ "7", 7, (gid_t)-1 },
		{ "root:8", 0, 8 },
		{ ":root", (uid_t)-1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };
		uid_t user = 99;
		gid_t group = 99;

		assert_int_equal(tw_owner_read(cases[i].text, &user, &group, &err), 0);
		assert_int_equal(user, cases[i].user);
		assert_int_equal(group, cases[i].group);
	}
}

static void an_unknown_owner_is_refused(void **state)
{
	static const char *const texts[] = { "root:", "-1", "no one", "root:no group" };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(texts); i++) {
		struct tw_err err = { 0 };
		uid_t user = 99;
		gid_t group = 99;

		assert_int_equal(tw_owner_read(texts[i], &user, &group, &err), -1);
		assert_int_equal(err.code, TW_INVALID);
		assert_int_equal(user, 99);
	}
}

static void a_peer_is_accepted_if_listed_or_root(void **state)
{
	const uid_t me = geteuid();
	uid_t listed[] = { 4711, me };
	const struct tw_users u = { .id = listed, .count = 2 },
			      others = { .id = listed, .count = 1 };
	struct tw_err err = { 0 };
	int fd[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	assert_int_equal(tw_users_check_peer(&u, fd[0], &err), 0);
	if (me != 0) {
		assert_int_equal(tw_users_check_peer(&others, fd[0], &err), -1);
		assert_int_equal(err.code, TW_DENIED);
	}
	close(fd[0]);
	close(fd[1]);
}

static void set_passed(pid_t pid, const char *fds)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)pid);
	setenv("LISTEN_PID", text, 1);
	setenv("LISTEN_FDS", fds, 1);
}

static void sockets_of_systemd_are_used_if_the_pid_matches(void **state)
{
	struct tw_err err = { 0 };
	unsigned count = 9;
	int first = -1;

	(void)state;
	assert_int_equal(tw_systemd_sockets(&first, &count, &err), 0);
	assert_int_equal(count, 0);
	set_passed(getppid(), "1");
	assert_int_equal(tw_systemd_sockets(&first, &count, &err), 0);
	assert_int_equal(count, 0);
	assert_null(getenv("LISTEN_FDS"));
	set_passed(getpid(), "1000");
	assert_int_equal(tw_systemd_sockets(&first, &count, &err), -1);
	assert_string_equal(err.text, "LISTEN_FDS: '1000' is not a number from 0 to 64");
	assert_null(getenv("LISTEN_PID"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(users_are_names_or_numbers),
		cmocka_unit_test(an_owner_is_a_user_a_group_or_both),
		cmocka_unit_test(an_unknown_owner_is_refused),
		cmocka_unit_test(a_peer_is_accepted_if_listed_or_root),
		cmocka_unit_test(sockets_of_systemd_are_used_if_the_pid_matches),
	};

	return cmocka_run_group_tests_name("users", tests, NULL, NULL);
}
