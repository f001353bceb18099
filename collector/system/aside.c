/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/system/aside.h"

#include "collector/system/privilege.h"
#include "lib/core/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Room for the files of a message. */
union control {
	char bytes[CMSG_SPACE(TW_ASIDE_FILES * sizeof(int))];
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
	tw_close_copies(fd, fd);
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

bool tw_aside_send(int fd, const void *data, size_t len, const int files[TW_ASIDE_FILES])
{
	struct iovec part = { .iov_base = (void *)(uintptr_t)data, .iov_len = len };
	union control control = { .bytes = { 0 } };
	struct msghdr h = { .msg_iov = &part, .msg_iovlen = 1 };
	size_t count = 0;

	while (files != NULL && count < TW_ASIDE_FILES && files[count] >= 0)
		count++;
	if (count > 0) {
		struct cmsghdr *c;

		h.msg_control = control.bytes;
		h.msg_controllen = CMSG_SPACE(count * sizeof(int));
		c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(c), files, count * sizeof(int));
	}
	return sendmsg(fd, &h, MSG_NOSIGNAL) == (ssize_t)len;
}

enum tw_aside_event tw_aside_next(int fd, void *data, size_t len,
				  int files[TW_ASIDE_FILES])
{
	struct iovec part = { .iov_base = data, .iov_len = len };
	union control control;
	struct msghdr h = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes) };
	const ssize_t n = recvmsg(fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c;

	for (int i = 0; i < TW_ASIDE_FILES; i++)
		files[i] = -1;
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return TW_ASIDE_NOTHING;
	if (n <= 0)
		return TW_ASIDE_GONE;
	c = CMSG_FIRSTHDR(&h);
	if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len <= CMSG_LEN(TW_ASIDE_FILES * sizeof(int)))
		memcpy(files, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	if ((size_t)n == len && (h.msg_flags & MSG_TRUNC) == 0)
		return TW_ASIDE_MESSAGE;
	for (int i = 0; i < TW_ASIDE_FILES && files[i] >= 0; i++)
		close(files[i]);
	return TW_ASIDE_NOTHING;
}

void tw_aside_close(struct tw_aside *a)
{
	if (a->pid <= 0)
		return;
	/* Other processes may have a copy of the descriptor. */
	shutdown(a->fd, SHUT_RDWR);
	close(a->fd);
	while (waitpid(a->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*a = (struct tw_aside){ .pid = 0 };
}
