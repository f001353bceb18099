/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/field/csv.h"
#include "lib/field/dataset.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Property: what was read, written and read again is the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_dataset d = { 0 }, again = { 0 };
	struct tw_err err = { 0 };
	struct tw_buf text = { 0 };

	if (tw_csv_read((const char *)data, size, &d, &err) < 0) {
		if (err.code == TW_OK || err.text[0] == '\0' || d.time_ms != NULL)
			abort();
		return 0;
	}
	tw_csv_write(&d, &text);
	if (tw_csv_read(text.data, text.len, &again, &err) < 0)
		abort();
	if (again.rows != d.rows || again.cols != d.cols ||
	    memcmp(again.time_ms, d.time_ms, d.rows * sizeof(*d.time_ms)) != 0 ||
	    (again.id == NULL) != (d.id == NULL))
		abort();
	for (size_t r = 0; d.id != NULL && r < d.rows; r++)
		if (strcmp(again.ids.at[again.id[r]], d.ids.at[d.id[r]]) != 0)
			abort();
	for (size_t i = 0; i < d.cols; i++)
		if (strcmp(again.col[i].name, d.col[i].name) != 0 ||
		    memcmp(again.col[i].v, d.col[i].v, d.rows * sizeof(double)) != 0)
			abort();
	tw_buf_clear(&text);
	tw_dataset_release(&again);
	tw_dataset_release(&d);
	return 0;
}
