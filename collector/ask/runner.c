/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/runner.h"

#include "collector/system/aside.h"
#include "collector/system/privilege.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUN 'r'
#define STOP 's'

/* Time for a command to end by itself after SIGTERM. */
#define GRACE_MS 500
/* Rounds of killing remaining children: a child may fork during a round. */
#define SWEEPS_MAX 100
#define CHILDREN_TEXT 4096

/* The state of the runner's own process. */
struct run {
	int fd;      /* to the process that requests */
	char **argv; /* ends with NULL */
	pid_t pid;   /* 0: the command does not run */
	int pidfd;   /* of pid */
};

/* ---- the command's process ---- */

static void reset_signals(void)
{
	static const int changed[] = { SIGTERM, SIGINT, SIGHUP, SIGPIPE };
	sigset_t none;

	for (size_t i = 0; i < TW_COUNT(changed); i++)
		signal(changed[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * Descriptors above 2 close at exec: those that systemd passes are for the collector
 * alone.
 */
static _Noreturn void become_command(char **argv, pid_t parent, int out, int err)
{
	const int none = open("/dev/null", O_RDWR | O_CLOEXEC);

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (none < 0 || getppid() != parent || dup2(none, 0) < 0 || dup2(out, 1) < 0 ||
	    dup2(err, 2) < 0)
		_exit(127);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_PID");
	reset_signals();
	execvp(argv[0], argv);
	dprintf(2, "cannot start '%s': %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* ---- the runner's process ---- */

static void send_event(const struct run *r, enum tw_runner_kind kind, int status, int out,
		       int err)
{
	const int event[] = { (int)kind, status };

	tw_aside_send(r->fd, event, sizeof(event), (int[]){ out, err });
}

/* Processes that a command has left behind become this process's children. */
static size_t kill_children(void)
{
	char path[64], text[CHILDREN_TEXT], *at = text;
	ssize_t n;
	size_t killed = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	for (long pid = strtol(at, &at, 10); pid > 0; pid = strtol(at, &at, 10))
		killed += kill((pid_t)pid, SIGKILL) == 0;
	return killed;
}

/* The command has exited, but was not waited for: its group's number is still its own. */
static int reap(struct run *r)
{
	int status = 0;

	kill(-r->pid, SIGKILL);
	while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
		;
	close(r->pidfd);
	r->pid = 0;
	for (int i = 0; i < SWEEPS_MAX && kill_children() > 0; i++)
		while (waitpid(-1, NULL, 0) < 0 && errno == EINTR)
			;
	return status;
}

static void stop(struct run *r)
{
	struct pollfd p = { .fd = r->pidfd, .events = POLLIN };

	if (r->pid == 0)
		return;
	kill(-r->pid, SIGTERM);
	if (poll(&p, 1, GRACE_MS) <= 0)
		kill(-r->pid, SIGKILL);
	reap(r);
}

/* A pipe whose read end does not block. */
static int open_pipe(int ends[2])
{
	return pipe2(ends, O_CLOEXEC) < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 ? -1
										     : 0;
}

static void close_pipe(int ends[2])
{
	for (int i = 0; i < 2; i++)
		if (ends[i] >= 0)
			close(ends[i]);
}

static int fork_command(struct run *r, int out, int err)
{
	const pid_t self = getpid(), pid = fork();
	int e;

	if (pid == 0)
		become_command(r->argv, self, out, err);
	if (pid < 0)
		return -1;
	r->pid = pid;
	setpgid(pid, pid); /* also here: stop() may come first */
	r->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (r->pidfd >= 0)
		return 0;
	e = errno;
	reap(r);
	errno = e;
	return -1;
}

static void start(struct run *r)
{
	int out[2] = { -1, -1 }, err[2] = { -1, -1 }, e;

	stop(r);
	if (open_pipe(out) == 0 && open_pipe(err) == 0 &&
	    fork_command(r, out[1], err[1]) == 0) {
		send_event(r, TW_RUNNER_STARTED, 0, out[0], err[0]);
	} else {
		e = errno;
		send_event(r, TW_RUNNER_FAILED, e, -1, -1);
	}
	close_pipe(out);
	close_pipe(err);
}

/* False: the job has closed its end. */
static bool take_request(struct run *r)
{
	char request;
	const ssize_t n = recv(r->fd, &request, 1, 0);

	if (n < 0)
		return errno == EINTR;
	if (n == 1 && request == RUN)
		start(r);
	else if (n == 1 && request == STOP)
		stop(r);
	return n == 1;
}

static _Noreturn void run_forever(struct run *r)
{
	for (;;) {
		struct pollfd p[2] = { { .fd = r->fd, .events = POLLIN },
				       { .fd = r->pid != 0 ? r->pidfd : -1,
					 .events = POLLIN } };

		if (poll(p, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			break;
		}
		if (p[1].revents != 0)
			send_event(r, TW_RUNNER_ENDED, reap(r), -1, -1);
		if (p[0].revents != 0 && !take_request(r))
			break;
	}
	stop(r);
	_exit(0);
}

/* The program that the runner starts. */
struct order {
	char **argv;
	const char *user;
};

static void become_runner(int fd, const void *arg)
{
	const struct order *o = arg;
	const struct tw_privilege p = { .user = o->user };
	struct run r = { .fd = fd, .argv = o->argv };
	struct tw_err err = { 0 };

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (tw_privilege_drop(&p, &err) < 0) {
		fprintf(stderr, "tw-ask: %s\n", err.text);
		_exit(1);
	}
	run_forever(&r);
}

/* ---- the other end ---- */

int tw_runner_open(const struct tw_strs *words, const char *user, struct tw_aside *out,
		   struct tw_err *err)
{
	char **argv = calloc(words->count + 1, sizeof(*argv));
	int rc;

	if (argv == NULL)
		return tw_fail(err, TW_NOMEM, "command");
	memcpy(argv, words->at, words->count * sizeof(*argv));
	rc = tw_aside_open(become_runner, &(struct order){ argv, user }, out, err);
	free(argv);
	return rc;
}

void tw_runner_run(const struct tw_aside *r)
{
	(void)!send(r->fd, &(const char){ RUN }, 1, MSG_NOSIGNAL);
}

void tw_runner_stop(const struct tw_aside *r)
{
	(void)!send(r->fd, &(const char){ STOP }, 1, MSG_NOSIGNAL);
}

bool tw_runner_next(const struct tw_aside *r, struct tw_runner_event *out)
{
	int event[] = { TW_RUNNER_GONE, 0 }, files[TW_ASIDE_FILES];

	if (tw_aside_next(r->fd, event, sizeof(event), files) == TW_ASIDE_NOTHING)
		return false;
	*out = (struct tw_runner_event){ (enum tw_runner_kind)event[0], event[1],
					 files[0], files[1] };
	return true;
}
