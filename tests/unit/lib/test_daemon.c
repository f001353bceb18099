/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/program/daemon.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int setup(void **state)
{
	unsetenv("NOTIFY_SOCKET");
	*state = scratch_new();
	return 0;
}

static int teardown(void **state)
{
	unsetenv("NOTIFY_SOCKET");
	scratch_free(*state);
	return 0;
}

static void signals_are_read_from_the_descriptor(void **state)
{
	struct tw_err err = { 0 };
	struct sigaction pipe_action;
	int fd = -1;

	(void)state;
	assert_int_equal(tw_signals_open(&fd, &err), 0);
	assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
	assert_int_equal(sigaction(SIGPIPE, NULL, &pipe_action), 0);
	assert_true(pipe_action.sa_handler == SIG_IGN);
	assert_int_equal(tw_signals_next(fd), TW_SIGNAL_NONE);
	raise(SIGHUP);
	assert_int_equal(tw_signals_next(fd), TW_SIGNAL_RELOAD);
	raise(SIGTERM);
	assert_int_equal(tw_signals_next(fd), TW_SIGNAL_STOP);
	raise(SIGINT);
	assert_int_equal(tw_signals_next(fd), TW_SIGNAL_STOP);
	assert_int_equal(tw_signals_next(fd), TW_SIGNAL_NONE);
	close(fd);
}

static void the_ready_file_is_written_and_removed(void **state)
{
	struct tw_err err = { 0 };
	char path[512], *text = NULL;
	size_t len = 0;

	snprintf(path, sizeof(path), "%s/ready", (char *)*state);
	assert_int_equal(tw_daemon_ready(path, "127.0.0.1:8100", &err), 0);
	assert_int_equal(tw_file_read(path, 100, &text, &len, &err), 0);
	assert_string_equal(text, "127.0.0.1:8100\n");
	free(text);
	tw_daemon_stopping(path);
	assert_int_equal(access(path, F_OK), -1);
	tw_daemon_stopping(NULL);
}

static void a_ready_file_that_cannot_be_written_is_an_error(void **state)
{
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_daemon_ready("/nonexistent/ready", "x", &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_non_null(strstr(err.text, "/nonexistent/ready"));
}

/* name as in NOTIFY_SOCKET: '@' starts an abstract name. */
static void assert_notified(const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct tw_err err = { 0 };
	char got[64];
	ssize_t n;
	int fd;

	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(fd >= 0);
	assert_true(strlen(name) < sizeof(at.sun_path));
	memcpy(at.sun_path, name, strlen(name));
	if (name[0] == '@')
		at.sun_path[0] = '\0';
	assert_int_equal(
		bind(fd, (struct sockaddr *)&at,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
		0);
	setenv("NOTIFY_SOCKET", name, 1);
	assert_int_equal(tw_daemon_ready(NULL, "x", &err), 0);
	n = recv(fd, got, sizeof(got), 0);
	assert_int_equal(n, strlen("READY=1"));
	assert_memory_equal(got, "READY=1", strlen("READY=1"));
	tw_daemon_stopping(NULL);
	n = recv(fd, got, sizeof(got), 0);
	assert_int_equal(n, strlen("STOPPING=1"));
	assert_memory_equal(got, "STOPPING=1", strlen("STOPPING=1"));
	close(fd);
}

static void systemd_is_notified_on_a_path(void **state)
{
	char name[100];

	snprintf(name, sizeof(name), "%s/notify", (char *)*state);
	assert_notified(name);
}

static void systemd_is_notified_on_an_abstract_socket(void **state)
{
	char name[100];

	(void)state;
	snprintf(name, sizeof(name), "@tw-test-%ld", (long)getpid());
	assert_notified(name);
}

static void a_missing_notify_socket_is_ignored(void **state)
{
	static const char *const names[] = { "", "relative", "/nonexistent/notify",
					     "vsock:2:1234" };
	char longer[300];

	(void)state;
	for (size_t i = 0; i < TW_COUNT(names); i++) {
		struct tw_err err = { 0 };

		setenv("NOTIFY_SOCKET", names[i], 1);
		assert_int_equal(tw_daemon_ready(NULL, "x", &err), 0);
	}
	memset(longer, '/', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	setenv("NOTIFY_SOCKET", longer, 1);
	tw_daemon_stopping(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(signals_are_read_from_the_descriptor,
						setup, teardown),
		cmocka_unit_test_setup_teardown(the_ready_file_is_written_and_removed,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_ready_file_that_cannot_be_written_is_an_error, setup, teardown),
		cmocka_unit_test_setup_teardown(systemd_is_notified_on_a_path, setup,
						teardown),
		cmocka_unit_test_setup_teardown(systemd_is_notified_on_an_abstract_socket,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_missing_notify_socket_is_ignored, setup,
						teardown),
	};

	return cmocka_run_group_tests_name("daemon", tests, NULL, NULL);
}
