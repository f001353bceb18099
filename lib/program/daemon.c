/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/daemon.h"

#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int tw_signals_open(int *fd, struct tw_err *err)
{
	sigset_t set;
	int sfd, errnum;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	errnum = pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (errnum != 0)
		return tw_fail_errno(err, errnum, "cannot block signals");
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return tw_fail_errno(err, errno, "cannot ignore SIGPIPE");
	sfd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (sfd < 0)
		return tw_fail_errno(err, errno, "cannot open signalfd");
	*fd = sfd;
	return 0;
}

enum tw_signal tw_signals_next(int fd)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return TW_SIGNAL_NONE;
	return info.ssi_signo == SIGHUP ? TW_SIGNAL_RELOAD : TW_SIGNAL_STOP;
}

/*
 * sd_notify(3): send a datagram to the socket in NOTIFY_SOCKET; '@' starts an abstract
 * name. Failures are ignored: the daemon works without a service manager.
 */
static void notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len;
	int fd;

	if (path == NULL || (path[0] != '/' && path[0] != '@'))
		return;
	len = strlen(path);
	if (len >= sizeof(to.sun_path))
		return;
	memcpy(to.sun_path, path, len);
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	close(fd);
}

int tw_daemon_ready(const char *ready_file, const char *text, struct tw_err *err)
{
	struct tw_buf b = { 0 };
	int rc = -1;

	if (ready_file != NULL) {
		tw_buf_addf(&b, "%s\n", text);
		if (tw_buf_check(&b, err) < 0 ||
		    tw_file_replace(ready_file, b.data, b.len, err) < 0)
			goto out;
	}
	notify("READY=1");
	rc = 0;
out:
	tw_buf_clear(&b);
	return rc;
}

/* The time lets systemd tell the READY=1 of this reload from an earlier one. */
void tw_daemon_reloading(void)
{
	char text[64];

	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		 tw_now_ns() / 1000);
	notify(text);
}

void tw_daemon_reloaded(void)
{
	notify("READY=1");
}

uint64_t tw_daemon_watchdog_ms(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	struct tw_err ignored = { 0 };
	uint32_t us, wanted;

	if (usec == NULL || tw_parse_u32(usec, 2000, UINT32_MAX, &us, &ignored) < 0)
		return 0;
	if (pid != NULL && (tw_parse_u32(pid, 1, INT32_MAX, &wanted, &ignored) < 0 ||
			    wanted != (uint32_t)getpid()))
		return 0;
	return us / 2000;
}

void tw_daemon_alive(void)
{
	notify("WATCHDOG=1");
}

void tw_daemon_stopping(const char *ready_file)
{
	notify("STOPPING=1");
	if (ready_file != NULL)
		unlink(ready_file);
}

void tw_daemon_trim(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

bool tw_std_files_open(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
			continue;
		/* The lowest closed descriptor is opened: this one. */
		if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return false;
	}
	return true;
}

uint64_t tw_file_limit_raise(uint64_t wanted)
{
	struct rlimit l, more;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return wanted;
	if (l.rlim_cur >= wanted || l.rlim_cur >= l.rlim_max)
		return l.rlim_cur;
	more = l;
	more.rlim_cur = l.rlim_max < wanted ? l.rlim_max : wanted;
	return setrlimit(RLIMIT_NOFILE, &more) < 0 ? l.rlim_cur : more.rlim_cur;
}

/* SD_LISTEN_FDS_START */
#define FIRST_FD 3

static void clear_environment(void)
{
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
}

int tw_systemd_sockets(int *first, unsigned *count, struct tw_err *err)
{
	const char *pid_text = getenv("LISTEN_PID"), *fds_text = getenv("LISTEN_FDS");
	uint32_t pid = 0, fds = 0;
	int rc = -1;

	*first = FIRST_FD;
	*count = 0;
	if (pid_text == NULL || fds_text == NULL)
		return 0;
	if (tw_parse_u32(pid_text, 1, INT_MAX, &pid, err) < 0) {
		tw_err_wrap(err, "LISTEN_PID");
		goto out;
	}
	if (pid == (uint32_t)getpid()) {
		if (tw_parse_u32(fds_text, 0, TW_SYSTEMD_SOCKETS_MAX, &fds, err) < 0) {
			tw_err_wrap(err, "LISTEN_FDS");
			goto out;
		}
		for (int fd = FIRST_FD; fd < FIRST_FD + (int)fds; fd++)
			if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) {
				tw_fail_errno(err, errno, "LISTEN_FDS: descriptor %d",
					      fd);
				goto out;
			}
	}
	*count = fds;
	rc = 0;
out:
	clear_environment();
	return rc;
}
