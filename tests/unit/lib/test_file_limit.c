/* SPDX-License-Identifier: Apache-2.0 */
/* lib/program/daemon.c: the limit of open files. */
#include "tests/unit/tw_test.h"

#include "lib/program/daemon.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOFT 50
#define HARD 80

/* In a child: a hard limit does not rise again. Returns the limit that was reached. */
static int raise_in_child(uint64_t wanted)
{
	const struct rlimit few = { .rlim_cur = SOFT, .rlim_max = HARD };
	const pid_t pid = fork();
	struct rlimit l;
	uint64_t raised;
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		if (setrlimit(RLIMIT_NOFILE, &few) < 0)
			_exit(1);
		raised = tw_file_limit_raise(wanted);
		if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur != raised)
			_exit(2);
		_exit((int)raised);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void the_soft_limit_rises_to_the_hard_limit_at_most(void **state)
{
	(void)state;
	assert_int_equal(raise_in_child(SOFT - 1), SOFT);
	assert_int_equal(raise_in_child(SOFT), SOFT);
	assert_int_equal(raise_in_child(SOFT + 1), SOFT + 1);
	assert_int_equal(raise_in_child(HARD), HARD);
	assert_int_equal(raise_in_child(HARD + 1), HARD);
	assert_int_equal(raise_in_child(UINT64_MAX), HARD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_soft_limit_rises_to_the_hard_limit_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
