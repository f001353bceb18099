/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"
#include "trainer/service/train_request.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte says in what pieces the rest comes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t piece = size > 0 ? (size_t)data[0] + 1 : 1;
	struct tw_train_request q = { 0 };
	struct tw_train_reader *r = NULL;
	struct tw_err err = { 0 };

	if (tw_train_reader_new(&r, &err) < 0)
		return 0;
	for (size_t at = 1; at < size; at += piece) {
		const size_t n = size - at < piece ? size - at : piece;

		if (tw_train_reader_feed(r, (const char *)data + at, n, &err) < 0)
			goto out;
	}
	if (tw_train_reader_end(r, &q, &err) < 0)
		goto out;
	/* What is accepted is whole. */
	if (q.name == NULL || q.source == NULL || q.isolator == NULL ||
	    q.response == NULL || q.abs_trainers.count + q.dyn_trainers.count == 0)
		abort();
out:
	tw_train_request_release(&q);
	tw_train_reader_free(r);
	return 0;
}
