/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_INDEX_DRAFT_H
#define TW_MODEL_DB_INDEX_DRAFT_H

/*
 * What an index reads of one model's zip. For model-db/index*.c only.
 */

#include "model-db/fitness.h"
#include "model-db/index/index_walk.h"
#include "model-db/model.h"
#include "model-db/weights.h"

#include <stdbool.h>
#include <stdint.h>

struct tw_err;

/* Bytes of one model's zip. */
#define TW_INDEX_ZIP_BYTES_MAX ((size_t)64 << 20)

struct tw_index_draft {
	struct tw_model model; /* its parts are read only where weights are small */
	uint64_t zip_bytes, zip_sum;
	unsigned weights_for;
	char *first_metric;
	struct tw_weights_shape shape;
	enum tw_fitness fitness;
	const char *unfit_why;
	bool serves_shares;
};

/* *out must be all zero; it is yours, also after a failure. */
int tw_index_draft_read(const struct tw_index_place *at, struct tw_index_draft *out,
			struct tw_err *err);

void tw_index_draft_release(struct tw_index_draft *d);

#endif /* TW_MODEL_DB_INDEX_DRAFT_H */
