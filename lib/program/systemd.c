/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/systemd.h"

#include "lib/core/err.h"
#include "lib/core/num.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

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
