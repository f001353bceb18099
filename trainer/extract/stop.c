/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/stop.h"

#include "lib/program/daemon.h"

#include <limits.h>
#include <poll.h>
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

bool tw_stop_requested(void *arg)
{
	struct tw_stop *s = arg;

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
