/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/meters/meter_file.h"
#include "collector/power/node.h"
#include "lib/core/err.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Property: what is refused says why, and nothing beyond the data is read. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_err err = { 0 }, vmstat = { 0 }, number = { 0 };
	struct tw_node_counts c;
	uint64_t value;
	unsigned cpus;

	if (tw_proc_node_stat_parse((const char *)data, size, 100, &c, &cpus, &err) < 0 &&
	    err.code == TW_OK)
		abort();
	if (tw_proc_vmstat_parse((const char *)data, size, &value, &vmstat) < 0 &&
	    vmstat.code == TW_OK)
		abort();
	if (tw_meter_parse((const char *)data, size, &value, &number) < 0 &&
	    number.code == TW_OK)
		abort();
	return 0;
}
