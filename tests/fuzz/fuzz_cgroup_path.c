/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/workloads/identity.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Property: an owner has an id, and its name ends within the path. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_identity who;

	tw_identity_of_path((const char *)data, size, &who);
	if ((who.kind != TW_OWNER_NONE) != (who.id[0] != '\0') || who.owner_len > size ||
	    (who.kind != TW_OWNER_NONE) != (who.owner_len > 0) ||
	    memchr(who.id, '\0', sizeof(who.id)) == NULL ||
	    memchr(who.unit, '\0', sizeof(who.unit)) == NULL)
		abort();
	return 0;
}
