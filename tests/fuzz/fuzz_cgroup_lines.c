/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/workloads/cgroup.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Property: a path that is found begins at the root. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[TW_CGROUP_PATH];
	uint64_t value;

	tw_cgroup_stat_find((const char *)data, size, "usage_usec", &value);
	for (int hierarchy = 0; hierarchy < 12; hierarchy++)
		if (tw_cgroup_line_find((const char *)data, size, hierarchy, path) &&
		    path[0] != '/')
			abort();
	return 0;
}
