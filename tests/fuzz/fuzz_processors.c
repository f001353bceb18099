/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/processors.h"
#include "lib/err.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Property: texts end within their room, and what is refused says why. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_processors p = { 0 };
	struct tw_err err = { 0 };

	if (tw_processors_parse((const char *)data, size, &p, &err) < 0 &&
	    err.code == TW_OK)
		abort();
	for (size_t i = 0; i < p.count; i++)
		if (memchr(p.at[i].number, 0, sizeof(p.at[i].number)) == NULL ||
		    memchr(p.at[i].model, 0, sizeof(p.at[i].model)) == NULL ||
		    memchr(p.at[i].core, 0, sizeof(p.at[i].core)) == NULL)
			abort();
	tw_processors_release(&p);
	return 0;
}
