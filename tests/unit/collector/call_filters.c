/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/collector/call_filters.h"

#include "tests/unit/tw_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

void need_call_filters(const char *test)
{
	const char *require = getenv("TW_REQUIRE");

	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0)
		return;
	if (require != NULL && strstr(require, "filters") != NULL)
		fail_msg("TW_REQUIRE names filters: system calls are not filtered here");
	printf("SKIPPED: %s: no filters of system calls\n", test);
	skip();
}
