/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"
#include "lib/http/web/web_config.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_web_config c = { 0 };
	struct tw_err err = { 0 };

	if (tw_web_config_parse((const char *)data, size, &c, &err) < 0) {
		if (err.code == TW_OK)
			abort();
		return 0;
	}
	if (c.users.count % 2 != 0 || c.headers.count % 2 != 0 || c.min > c.max)
		abort();
	tw_web_config_release(&c);
	return 0;
}
