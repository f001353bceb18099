/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/unit/unit_batch.h"

#include "lib/core/err.h"
#include "trainer/unit/unit_fit.h"

#include <math.h>
#include <stdlib.h>

struct sized {
	double size;
	size_t block;
};

static int compare(const void *a, const void *b)
{
	const struct sized *x = a, *y = b;

	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return x->block < y->block ? -1 : x->block > y->block;
}

static void sum_part(const struct tw_unit_blocks *b, const struct tw_unit_fit *f,
		     const struct sized *at, size_t count, struct tw_unit_batch *out)
{
	double units[TW_UNIT_WORKS_MAX] = { 0 }, rest_j = 0;

	*out = (struct tw_unit_batch){ .blocks = count };
	for (size_t i = 0; i < count; i++) {
		const size_t n = at[i].block;

		out->size += at[i].size / (double)count;
		rest_j += b->energy_j[n] - f->predicted_j[n];
		for (size_t k = 0; k < b->works; k++)
			units[k] += b->work[n * b->works + k];
	}
	for (size_t k = 0; k < b->works; k++)
		out->joules[k] =
			units[k] > 0 ? f->work[k].joules.at + rest_j / units[k] : NAN;
}

int tw_unit_batches(const struct tw_unit_blocks *b, const struct tw_unit_fit *f,
		    struct tw_unit_batch out[TW_UNIT_BATCH_PARTS], struct tw_err *err)
{
	struct sized *at = calloc(b->count, sizeof(*at));
	size_t n = 0;
	int rc = -1;

	if (at == NULL)
		return tw_fail(err, TW_NOMEM, "%zu blocks", b->count);
	for (size_t i = 0; i < b->count; i++)
		if (!isnan(b->batch[i]))
			at[n++] = (struct sized){ b->batch[i], i };
	if (n < TW_UNIT_BLOCKS_MIN) {
		tw_fail(err, TW_NOTFOUND, "%zu blocks with a batch size, need %d", n,
			TW_UNIT_BLOCKS_MIN);
		goto out;
	}
	qsort(at, n, sizeof(*at), compare);
	for (size_t p = 0; p < TW_UNIT_BATCH_PARTS; p++) {
		const size_t from = p * n / TW_UNIT_BATCH_PARTS;

		sum_part(b, f, at + from, (p + 1) * n / TW_UNIT_BATCH_PARTS - from,
			 &out[p]);
	}
	rc = 0;
out:
	free(at);
	return rc;
}
