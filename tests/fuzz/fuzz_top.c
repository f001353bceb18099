/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/top_view.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Property: whatever a collector answers, a terminal gets lines of text and nothing else.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_top_view v = { .level = "process", .columns = 120 };
	struct tw_top_rows r = { .count = 0 };
	struct tw_err err = { 0 };
	struct tw_buf b = { 0 };
	struct tw_top_node n = { .name = NULL };

	if (tw_top_node_read((const char *)data, size, &n, &err) == 0) {
		v.node = &n;
		v.nodes = 1;
	}
	err = (struct tw_err){ 0 };
	if (tw_top_rows_add(&r, (const char *)data, size, NULL, &err) == 0)
		tw_top_rows_sort(&r, TW_TOP_BY_NAME, true);
	tw_top_draw(&v, &r, &b);
	for (size_t i = 0; i < b.len; i++)
		if (((unsigned char)b.data[i] < 0x20 && b.data[i] != '\n') ||
		    b.data[i] == 0x7f)
			abort();
	tw_buf_clear(&b);
	tw_top_rows_release(&r);
	tw_top_node_release(&n);
	return 0;
}
