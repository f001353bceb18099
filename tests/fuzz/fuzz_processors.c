/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/meters/rapl.h"
#include "collector/system/processors.h"
#include "lib/core/err.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* No register is read as more than there is before it is 0 again. */
static void check_rapl(const struct tw_processor *p, uint64_t unit)
{
	struct tw_err err = { 0 };
	struct tw_rapl r;

	if (tw_rapl_find(p, &r, &err) < 0) {
		if (err.code == TW_OK)
			abort();
		return;
	}
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++) {
		const struct tw_rapl_unit u =
			tw_rapl_unit_of(&r, (enum tw_zone_kind)kind, unit);

		if (tw_rapl_uj(u, ~unit) > tw_rapl_range_uj(u))
			abort();
	}
}

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
	for (size_t i = 0; i < p.count; i++)
		check_rapl(&p.at[i], size * UINT64_C(0x9e3779b97f4a7c15));
	tw_processors_release(&p);
	return 0;
}
