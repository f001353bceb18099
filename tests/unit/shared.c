/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/shared.h"

#include "tests/unit/tw_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void shared_path(char *out, size_t size, const char *name)
{
	const char *dir = getenv("TW_SHARED"), *required = getenv("TW_REQUIRE");

	if (dir == NULL || dir[0] == '\0')
		dir = "../shared";
	assert_true(snprintf(out, size, "%s/%s", dir, name) < (int)size);
	if (access(out, R_OK) == 0)
		return;
	if (required != NULL && strstr(required, "shared") != NULL)
		fail_msg("TW_REQUIRE names 'shared', and there is no %s", out);
	printf("SKIPPED: there is no %s (TW_SHARED names its directory)\n", out);
	skip();
}
