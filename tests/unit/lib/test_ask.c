/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers that are broken, or worse: each test has a script of its own. */
#include "tests/unit/tw_test.h"

#include "lib/ask/ask.h"
#include "lib/core/err.h"
#include "tests/unit/collector/scripted_ask.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct tw_ask *open_helper(const char *job)
{
	const struct tw_ask_config c = { .program = scripted_ask() };
	struct tw_err err = { 0 };
	struct tw_ask *a = NULL;

	assert_int_equal(tw_ask_open(&c, job, json_object(), &a, &err), 0);
	return a;
}

static void sums_that_could_wrap_are_skipped(void **state)
{
	struct tw_ask *a = open_helper("sums");
	struct tw_ask_message m;

	(void)state;
	for (uint64_t i = 1; i <= 2; i++) {
		do
			scripted_ask_wait(tw_ask_fd(a));
		while (!tw_ask_next(a, &m));
		assert_int_equal(m.kind, TW_ASK_PUSHED);
		assert_int_equal(m.of.pushed.samples, i);
	}
	tw_ask_close(a);
}

static void tell_pushed(int fd, uint64_t samples, uint64_t bytes, char why)
{
	struct tw_ask_message m = { .kind = TW_ASK_PUSHED, .why = { why } };

	m.of.pushed = (struct tw_ask_pushed){ samples, bytes };
	scripted_ask_tell(fd, &m);
}

static void tell_sums(int fd)
{
	tell_pushed(fd, 1, 1, 'x');
	tell_pushed(fd, UINT64_C(1) << 40, 1, 0);
	tell_pushed(fd, 1, UINT64_C(1) << 50, 0);
	tell_pushed(fd, 1, 1, '\n');
	tell_pushed(fd, 2, 1, 0);
	scripted_ask_hear(fd);
}

static void a_copy_of_the_socket_of_a_helper_that_is_given_up_is_shut(void **state)
{
	struct tw_ask *a = open_helper("short");
	const int copy = dup(tw_ask_fd(a));
	struct tw_ask_message m;

	(void)state;
	scripted_ask_wait(tw_ask_fd(a));
	assert_true(tw_ask_next(a, &m));
	assert_int_equal(m.kind, TW_ASK_FAILED);
	assert_int_equal(tw_ask_fd(a), -1);
	assert_int_equal(send(copy, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT), -1);
	assert_int_equal(errno, EPIPE);
	close(copy);
	tw_ask_close(a);
}

/* A helper of another version, which stays. */
static void tell_short(int fd)
{
	(void)!send(fd, "short", 5, MSG_NOSIGNAL);
	scripted_ask_hear(fd);
}

static void run_script(int fd, const char *settings)
{
	if (strstr(settings, "\"sums\"") != NULL)
		tell_sums(fd);
	else
		tell_short(fd);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_that_could_wrap_are_skipped),
		cmocka_unit_test(
			a_copy_of_the_socket_of_a_helper_that_is_given_up_is_shut),
	};

	(void)argc;
	if (scripted_ask_is_it(argv[0]))
		return scripted_ask_run(run_script);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
