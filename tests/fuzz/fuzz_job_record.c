/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "trainer/service/job_record.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Property: a record that is read, written and read again is written the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_job_record r, again;
	struct tw_buf one = { 0 }, two = { 0 };
	struct tw_err err = { 0 };

	if (tw_job_record_read((const char *)data, size, &r, &err) < 0)
		return 0;
	r.fraction = 0.0;
	tw_job_record_write(&r, &one);
	if (tw_job_record_read(one.data, one.len, &again, &err) < 0)
		abort();
	tw_job_record_write(&again, &two);
	if (strcmp(one.data, two.data) != 0)
		abort();
	tw_buf_clear(&one);
	tw_buf_clear(&two);
	return 0;
}
