/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "trainer/shards/plan.h"
#include "trainer/shards/worker.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Property: all indexes of a plan are valid, and each unit is in one of three shards. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const shard[] = { "1/3", "1+1/3", "3/3" };
	bool *wanted[3] = { NULL };
	struct tw_buf address = { 0 };
	struct tw_plan p = { 0 };
	struct tw_err err = { 0 };

	if (tw_plan_parse((const char *)data, size, "plan", &p, &err) < 0)
		return 0;
	for (size_t i = 0; i < p.machines; i++)
		for (size_t k = 0; k < p.machine[i].inputs; k++)
			if (p.machine[i].input[k] >= p.inputs)
				abort();
	for (size_t s = 0; s < 3; s++)
		if (tw_plan_select(&p, shard[s], &wanted[s], &err) < 0)
			abort();
	for (size_t i = 0; i < p.units; i++) {
		tw_plan_add_address(&p, i, &address);
		if (wanted[0][i] + wanted[1][i] + wanted[2][i] != 1)
			abort();
	}
	for (size_t s = 0; s < 3; s++)
		free(wanted[s]);
	tw_buf_clear(&address);
	tw_plan_release(&p);
	return 0;
}
