/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Property: an accepted document is written as JSON that is accepted and written alike.
 */
static void check_round_trip(const json_t *v)
{
	struct tw_buf first = { 0 }, second = { 0 };
	struct tw_err err = { 0 };
	json_t *again = NULL;

	tw_buf_add_json(&first, v);
	if (tw_json_parse(first.data, first.len, "again", &again, &err) < 0)
		abort();
	tw_buf_add_json(&second, again);
	if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0)
		abort();
	json_decref(again);
	tw_buf_clear(&second);
	tw_buf_clear(&first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_err err = { 0 };
	json_t *v = NULL;

	if (tw_json_parse((const char *)data, size, "input", &v, &err) < 0) {
		if (v != NULL || err.code == TW_OK || err.text[0] == '\0')
			abort();
		return 0;
	}
	check_round_trip(v);
	json_decref(v);
	return 0;
}
