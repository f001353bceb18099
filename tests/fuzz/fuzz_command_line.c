/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/workloads/identity.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Property: what is taken is a VM of a known kind whose texts end. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_identity who = { 0 };

	if (!tw_identity_of_command((const char *)data, size, &who))
		return 0;
	if (who.kind != TW_OWNER_VM || who.runtime == NULL ||
	    memchr(who.id, '\0', sizeof(who.id)) == NULL ||
	    memchr(who.name, '\0', sizeof(who.name)) == NULL)
		abort();
	return 0;
}
