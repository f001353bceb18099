/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/collector/bpf_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

int bpf_lock(void **state)
{
	const int fd = open("/proc/sys/kernel/pid_max", O_RDONLY | O_CLOEXEC);

	(void)state;
	if (fd < 0)
		return -1;
	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return -1;
	return 0;
}
