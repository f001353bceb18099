/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/expose/push_text.h"

#include "collector/collector.h"
#include "collector/expose/expose.h"
#include "collector/expose/push.h"
#include "collector/system/privilege.h"
#include "collector/texts.h"
#include "collector/workloads/workload.h"
#include "lib/ask/ask.h"
#include "lib/core/err.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* A child gives up on a helper that takes no packet for this long. */
#define PACKET_MS 30000

/* A helper that has exited makes the send fail, which ends the child. */
static bool send_packet(int fd, const void *data, size_t len)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, PACKET_MS) == 1 &&
	       send(fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len;
}

__attribute__((noreturn)) static void write_text(struct tw_metrics *m,
						 struct tw_push_head *h, int fd)
{
	struct tw_text_out o = { .sink = NULL };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	tw_close_copies(fd, fd);
	tw_metrics_write(m, &o);
	h->len = o.buf.len;
	if (tw_buf_failed(&o.buf) || !send_packet(fd, h, sizeof(*h)))
		_exit(1);
	for (size_t at = 0; at < h->len; at += TW_ASK_PACKET) {
		const size_t left = (size_t)h->len - at;

		if (!send_packet(fd, o.buf.data + at,
				 left < TW_ASK_PACKET ? left : TW_ASK_PACKET))
			_exit(1);
	}
	_exit(0);
}

/* -1: no memory, or no process: the helper waits until the next tick. */
static pid_t start_text(struct tw_collector *c, struct tw_push_head *h, int fd)
{
	struct tw_metrics m = { .expo.format = TW_EXPO_OPENMETRICS };
	struct tw_err ignored = { 0 };
	pid_t pid;

	h->time_ns = c->wall_ns;
	if (tw_metrics_begin(&m, c, true, &ignored) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		write_text(&m, h, fd);
	if (pid > 0 && c->workloads != NULL)
		tw_workloads_scraped(c->workloads);
	return pid;
}

void tw_push_tick(struct tw_collector *c)
{
	for (int i = 0; c->push != NULL && i < TW_PUSH_COUNT; i++) {
		struct tw_push_head h;
		pid_t pid;
		int fd;

		if (!tw_push_wanted(c->push, i, &fd, &h))
			continue;
		pid = start_text(c, &h, fd);
		if (pid > 0)
			tw_push_began(c->push, i, pid);
	}
}
