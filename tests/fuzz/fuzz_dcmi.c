/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/dcmi.h"
#include "lib/core/err.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Property: only a whole answer without an error is a reading; what is none says why. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_dcmi_power power;
	struct tw_err err = { 0 };

	if (tw_dcmi_power_parse(data, size, &power, &err) < 0) {
		if (err.code == TW_OK)
			abort();
		return 0;
	}
	if (size < 20 || data[1] != 0 || power.now_w != (data[3] | data[4] << 8))
		abort();
	return 0;
}
