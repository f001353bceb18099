/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Property: what is read, written and read again is equal. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Without a ratio: what was read must fit when it is packed better. */
	const struct tw_fileset_limits limits = { 16, 1 << 16, 1 << 18, 0 };
	struct tw_fileset one = { 0 }, two = { 0 };
	struct tw_err err = { 0 };
	char *packed = NULL;
	size_t len;

	tw_zip_read((const char *)data, size, &tw_zip_model_limits, &one, &err);
	tw_fileset_clear(&one);
	err = (struct tw_err){ 0 };
	if (tw_zip_read((const char *)data, size, &limits, &one, &err) < 0)
		return 0;
	tw_fileset_sort(&one);
	if (tw_zip_write(&one, &packed, &len, &err) < 0 ||
	    tw_zip_read(packed, len, &limits, &two, &err) < 0 || one.count != two.count)
		abort();
	for (size_t i = 0; i < one.count; i++)
		if (strcmp(one.at[i].name, two.at[i].name) != 0 ||
		    one.at[i].len != two.at[i].len ||
		    memcmp(one.at[i].data, two.at[i].data, one.at[i].len) != 0)
			abort();
	free(packed);
	tw_fileset_clear(&one);
	tw_fileset_clear(&two);
	return 0;
}
