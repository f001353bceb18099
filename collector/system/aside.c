/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/aside.h"

#include "lib/core/err.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Room for the descriptors of a message. */
union control {
	char bytes[CMSG_SPACE(2 * sizeof(int))];
	struct cmsghdr aligned;
};

/* Close all files of the parent but fd: its sockets would seem to be in use. */
static void close_others(int fd)
{
	const int none = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (none >= 0) {
		dup2(none, 0);
		dup2(none, 1);
	}
	for (int i = 3; i < 256; i++)
		if (i != fd)
			close(i);
}

int tw_aside_open(void (*run)(int fd, const void *arg), const void *arg,
		  struct tw_aside *out, struct tw_err *err)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return tw_fail_errno(err, errno, "cannot make a socket");
	pid = fork();
	if (pid == 0) {
		close_others(ends[1]);
		run(ends[1], arg);
		_exit(0);
	}
	close(ends[1]);
	if (pid < 0) {
		tw_fail_errno(err, errno, "cannot fork");
		close(ends[0]);
		return -1;
	}
	*out = (struct tw_aside){ .fd = ends[0], .pid = pid };
	return 0;
}

void tw_aside_send(int fd, const struct tw_aside_message *m)
{
	int numbers[2] = { m->kind, m->value };
	const size_t count = m->fds[0] < 0 ? 0 : m->fds[1] < 0 ? 1 : 2;
	struct iovec part = { .iov_base = numbers, .iov_len = sizeof(numbers) };
	union control control = { .bytes = { 0 } };
	struct msghdr h = { .msg_iov = &part, .msg_iovlen = 1 };

	if (count > 0) {
		struct cmsghdr *c;

		h.msg_control = control.bytes;
		h.msg_controllen = CMSG_SPACE(count * sizeof(int));
		c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(c), m->fds, count * sizeof(int));
	}
	(void)!sendmsg(fd, &h, MSG_NOSIGNAL);
}

enum tw_aside_event tw_aside_next(int fd, struct tw_aside_message *out)
{
	int numbers[2] = { 0 };
	struct iovec part = { .iov_base = numbers, .iov_len = sizeof(numbers) };
	union control control;
	struct msghdr h = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes) };
	const ssize_t n = recvmsg(fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c;

	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return TW_ASIDE_NOTHING;
	if (n != (ssize_t)sizeof(numbers))
		return TW_ASIDE_GONE;
	*out = (struct tw_aside_message){ numbers[0], numbers[1], { -1, -1 } };
	c = CMSG_FIRSTHDR(&h);
	if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len <= CMSG_LEN(sizeof(out->fds)))
		memcpy(out->fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	return TW_ASIDE_MESSAGE;
}

void tw_aside_close(struct tw_aside *a)
{
	if (a->fd < 0)
		return;
	close(a->fd);
	while (waitpid(a->pid, NULL, 0) < 0 && errno == EINTR)
		;
	a->fd = -1;
}
