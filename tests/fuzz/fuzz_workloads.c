/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"
#include "trainer/fit/workload_runs.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Property: a table is refused with a reason, or its runs are in order, do not overlap,
 * and are found at their beginning and not at their end.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_workload_runs w = { 0 };
	struct tw_err err = { 0 };

	if (tw_workload_runs_read((const char *)data, size, &w, &err) < 0) {
		if (err.code == TW_OK || w.count != 0)
			abort();
		return 0;
	}
	for (size_t i = 0; i < w.count; i++) {
		const struct tw_workload_run *run = &w.run[i];
		const uint32_t after = tw_workload_runs_at(&w, run->to_ms);

		if (run->name >= w.names.count || run->to_ms <= run->from_ms ||
		    tw_workload_runs_at(&w, run->from_ms) != run->name)
			abort();
		if (i + 1 == w.count ? after != UINT32_MAX
				     : w.run[i + 1].from_ms < run->to_ms)
			abort();
	}
	tw_workload_runs_release(&w);
	return 0;
}
