/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/agent_parse.h"
#include "lib/core/err.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t size)
{
	const size_t len = strnlen(text, size);

	if (len == size)
		abort();
	for (size_t i = 0; i < len; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			abort();
}

/* Property: rows have their form, or there is a reason. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_agent_rows r = { 0 };
	struct tw_err err = { 0 };
	char *text = malloc(size + 1);

	if (text == NULL)
		abort();
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	if (tw_agent_parse(text, size, &r, &err) < 0) {
		if (err.code == TW_OK || r.count != 0)
			abort();
	}
	for (size_t i = 0; i < r.count; i++) {
		const struct tw_ask_row *row = &r.at[i];

		check_text(row->level, sizeof(row->level));
		check_text(row->id, sizeof(row->id));
		check_text(row->name, sizeof(row->name));
		if (row->id[0] == '\0' || row->energies > TW_ASK_ENERGIES)
			abort();
		for (uint32_t k = 0; k < row->energies; k++)
			if (!(row->energy[k].watts >= 0))
				abort();
	}
	tw_agent_rows_release(&r);
	free(text);
	return 0;
}
