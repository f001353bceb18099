/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/question.h"
#include "lib/core/err.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Property: an answer that is taken has texts that end, and a ratio that can be. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_watts watts = { .rows = 0 };
	struct tw_worth worth;
	struct tw_err err = { 0 };

	if (tw_answer_read((const char *)data, size, 2, &watts, &worth, &err) == 0 &&
	    (!(worth.core_ratio > 0) || strlen(worth.model) >= sizeof(worth.model) ||
	     strlen(worth.from) >= sizeof(worth.from) || watts.rows != 2))
		abort();
	tw_watts_release(&watts);
	return 0;
}
