/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "server/fleet/rollout.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Property: a rollout from a URL names URLs only, and a failure has a reason. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct tw_strs labels = { 0 };
	const struct tw_replica r = { .place = 30, .labels = &labels };
	struct tw_err err = { 0 };
	char *from = NULL;
	bool next;
	const bool good = tw_rollout_choose((const char *)data, size, "http://h/r.json",
					    &r, &from, &next, &err) == 0;

	if (good != (err.code == TW_OK) || good != (from != NULL) ||
	    (good && from[0] == '/'))
		abort();
	free(from);
	return 0;
}
