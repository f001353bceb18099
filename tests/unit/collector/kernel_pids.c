/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/collector/kernel_pids.h"

#include "tests/unit/tw_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* PROC_PID_INIT_INO of the kernel's include/linux/proc_ns.h */
#define INITIAL_NAMESPACE "pid:[4026531836]"

void need_kernel_pids(const char *test)
{
	const char *require = getenv("TW_REQUIRE");
	char name[64] = "";

	if (readlink("/proc/self/ns/pid", name, sizeof(name) - 1) > 0 &&
	    strcmp(name, INITIAL_NAMESPACE) == 0)
		return;
	if (require != NULL && strstr(require, "host-pids") != NULL)
		fail_msg("TW_REQUIRE names host-pids: this PID namespace is another");
	printf("SKIPPED: %s: not in the initial PID namespace, whose pids BPF reports\n",
	       test);
	skip();
}
