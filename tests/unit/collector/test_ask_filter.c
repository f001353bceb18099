/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/ask_filter.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "tests/unit/collector/call_filters.h"
#include "tests/unit/tw_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ipmi.h>
#include <linux/seccomp.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a child under the filter does: 0, or an errno as its exit status. */
typedef int deed(void);

#define KILLED (-1)

static int errno_of(long rc)
{
	return rc < 0 ? errno : 0;
}

/* ---- what it must not do ---- */

static int start_a_program(void)
{
	static char name[] = "true";
	char *const args[] = { name, NULL };

	return errno_of(execve("/bin/true", args, args));
}

static int fork_a_process(void)
{
	const pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0UL);

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return errno_of(pid);
}

static int write_a_file(void)
{
	return errno_of(open("/dev/null", O_WRONLY | O_CLOEXEC));
}

static int make_a_file(void)
{
	return errno_of(open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
}

static int remove_a_file(void)
{
	return errno_of(unlink("/nonexistent/file"));
}

static int trace_a_process(void)
{
	return errno_of(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int signal_a_process(void)
{
	return errno_of(kill(getppid(), 0));
}

static int load_bpf(void)
{
	return errno_of(syscall(SYS_bpf, 0, NULL, 0));
}

static int hear_all_packets(void)
{
	return errno_of(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
}

static int take_connections(void)
{
	return errno_of(listen(STDIN_FILENO, 1));
}

static int become_another(void)
{
	return errno_of(setresuid(0, 0, 0));
}

static int leave_its_namespace(void)
{
	return errno_of(unshare(CLONE_NEWNS));
}

static int open_a_socket(void)
{
	return errno_of(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

/* ---- what it does without ---- */

static int map(int prot)
{
	void *at = mmap(NULL, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? errno : 0;
}

static int write_code(void)
{
	return map(PROT_WRITE | PROT_EXEC);
}

static int run_code(void)
{
	return map(PROT_READ | PROT_EXEC);
}

static int raise_a_limit(void)
{
	const struct rlimit l = { 0, 0 };

	return errno_of(setrlimit(RLIMIT_CORE, &l));
}

static int type_into_a_terminal(void)
{
	return errno_of(ioctl(STDIN_FILENO, TIOCSTI, "x"));
}

/* ---- what it is for ---- */

static int read_a_file(void)
{
	return errno_of(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

static int ask_a_device(void)
{
	struct ipmi_req req = { 0 };

	/* No controller is behind that descriptor. */
	errno = 0;
	ioctl(STDIN_FILENO, IPMICTL_SEND_COMMAND, &req);
	return errno == EPERM ? EPERM : 0;
}

static int wait_for_a_device(void)
{
	struct timeval now = { 0, 0 };

	return errno_of(select(0, NULL, NULL, NULL, &now));
}

static void *resolve(void *arg)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found = NULL;

	/* Whatever comes of it: the resolver's modules, sockets and DNS are used. */
	setenv("RES_OPTIONS", "timeout:1 attempts:1", 1);
	getaddrinfo("tallywatt.invalid", "443", &hints, &found);
	if (found != NULL)
		freeaddrinfo(found);
	if (getaddrinfo("127.0.0.1", "443", &hints, &found) != 0)
		return arg;
	freeaddrinfo(found);
	return NULL;
}

/* As libcurl does: in a thread. */
static int resolve_names(void)
{
	pthread_t thread;
	char mark;
	void *failed = &mark;

	if (pthread_create(&thread, NULL, resolve, failed) != 0)
		return EAGAIN;
	pthread_join(thread, &failed);
	return failed != NULL ? EIO : 0;
}

/* To a port that nobody has. */
static int connect_somewhere(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(1) };
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)) < 0)
		return errno;
	connect(fd, (struct sockaddr *)&a, sizeof(a));
	return errno == EPERM ? EPERM : 0;
}

/* ---- ---- */

struct
try {
	const char *what;
	deed *does;
	int with_net, without; /* KILLED, or an errno */
};

static const struct try tries[] = {
	{ "start a program", start_a_program, KILLED, KILLED },
	{ "fork", fork_a_process, KILLED, KILLED },
	{ "write a file", write_a_file, KILLED, KILLED },
	{ "make a file", make_a_file, KILLED, KILLED },
	{ "remove a file", remove_a_file, KILLED, KILLED },
	{ "trace a process", trace_a_process, KILLED, KILLED },
	{ "signal a process", signal_a_process, KILLED, KILLED },
	{ "load BPF", load_bpf, KILLED, KILLED },
	{ "hear all packets", hear_all_packets, KILLED, KILLED },
	{ "take connections", take_connections, KILLED, KILLED },
	{ "become another user", become_another, KILLED, KILLED },
	{ "leave its namespace", leave_its_namespace, KILLED, KILLED },
	{ "open a socket", open_a_socket, 0, KILLED },
	{ "write code", write_code, EPERM, EPERM },
	{ "run code", run_code, 0, EPERM },
	{ "raise a limit", raise_a_limit, EPERM, EPERM },
	{ "type into a terminal", type_into_a_terminal, EPERM, EPERM },
	{ "read a file", read_a_file, 0, 0 },
	{ "ask a device", ask_a_device, EPERM, 0 },
	{ "wait for a device", wait_for_a_device, 0, 0 },
	{ "resolve names", resolve_names, 0, KILLED },
	{ "connect", connect_somewhere, 0, KILLED },
};

/* KILLED, or what the deed came to; keeper: under the filter of whom it is a child. */
static int run(deed *does, bool net, bool keeper)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct tw_err err = { 0 };

		prctl(PR_SET_DUMPABLE, 0);
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (tw_ask_filter_install(TW_ASK_KEEPS, net, &err) < 0 ||
		    (!keeper && tw_ask_filter_install(TW_ASK_ASKS, net, &err) < 0))
			_exit(255);
		_exit(does());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status)) {
		assert_int_equal(WTERMSIG(status), SIGSYS);
		return KILLED;
	}
	return WEXITSTATUS(status);
}

static void the_helper_is_killed_for_other_system_calls(void **state)
{
	(void)state;
	need_call_filters("test_ask_filter");
	for (size_t i = 0; i < TW_COUNT(tries); i++) {
		const struct try *t = &tries[i];

		for (int net = 0; net < 2; net++) {
			const int wanted = net ? t->with_net : t->without;
			const int came = run(t->does, net, false);

			if (came != wanted)
				fail_msg("%s, net %d: %d, not %d", t->what, net, came,
					 wanted);
		}
	}
}

static void the_parent_of_the_helper_may_fork_and_little_more(void **state)
{
	(void)state;
	need_call_filters("test_ask_filter");
	for (int net = 0; net < 2; net++) {
		assert_int_equal(run(fork_a_process, net, true), 0);
		assert_int_equal(run(start_a_program, net, true), KILLED);
		assert_int_equal(run(write_a_file, net, true), KILLED);
		assert_int_equal(run(become_another, net, true), KILLED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_helper_is_killed_for_other_system_calls),
		cmocka_unit_test(the_parent_of_the_helper_may_fork_and_little_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
