/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/push/format.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Property: the reason is a text within its room, and there is none without samples. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[32] = "";
	const uint64_t refused =
		tw_otlp_rejected((const char *)data, size, why, sizeof(why));

	if (memchr(why, '\0', sizeof(why)) == NULL || (size == 0 && refused != 0))
		abort();
	return 0;
}
