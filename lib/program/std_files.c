/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/std_files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

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
