/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/client.h"
#include "lib/core/err.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Property: an answer that is taken has a number for each row. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_watts watts = { .rows = 0 };
	struct tw_err err = { 0 };

	if (tw_answer_read((const char *)data, size, 2, &watts, &err) == 0 &&
	    watts.rows != 2)
		abort();
	tw_watts_release(&watts);
	return 0;
}
