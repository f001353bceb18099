/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/quick.h"

#include <stdlib.h>

bool quick(void)
{
	const char *set = getenv("TW_TEST_QUICK");

	return set != NULL && set[0] != '\0';
}
