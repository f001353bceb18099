/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/record/stop.h"

#include "lib/core/err.h"
#include "lib/program/daemon.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

int tw_stop_open(struct tw_stop *s, struct tw_err *err)
{
	int fd;

	if (tw_signals_open(&fd, err) < 0)
		return -1;
	*s = (struct tw_stop){ .fd = fd };
	return 0;
}

void tw_stop_close(struct tw_stop *s)
{
	close(s->fd);
}

int tw_stop_open_by_call(struct tw_stop *s, struct tw_err *err)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return tw_fail_errno(err, errno, "cannot make an event");
	*s = (struct tw_stop){ .fd = fd, .by_call = true };
	return 0;
}

void tw_stop_request(struct tw_stop *s)
{
	/* It fails only if 2^64 - 2 requests are pending. */
	(void)!eventfd_write(s->fd, 1);
}

static bool is_called(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

bool tw_stop_requested(void *arg)
{
	struct tw_stop *s = arg;

	if (s->by_call)
		return is_called(s->fd);
	if (!s->requested)
		s->requested = tw_signals_next(s->fd) != TW_SIGNAL_NONE;
	return s->requested;
}

bool tw_stop_wait(struct tw_stop *s, uint64_t ms)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };

	if (!tw_stop_requested(s))
		poll(&p, 1, ms < INT_MAX ? (int)ms : INT_MAX);
	return tw_stop_requested(s);
}
