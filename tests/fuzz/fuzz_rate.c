/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"
#include "lib/field/rate.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Property: a rate is known at the time of each line, and is never negative. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_err err = { 0 };
	struct tw_rate r;

	if (tw_rate_parse((const char *)data, size, &r, &err) < 0)
		return 0;
	for (size_t i = 0; i < r.count; i++)
		if (!(tw_rate_at(&r, r.step[i].from_ms) >= 0))
			abort();
	tw_rate_release(&r);
	return 0;
}
