/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_INDEX_IMPL_H
#define TW_MODEL_DB_INDEX_IMPL_H

/*
 * What an index is made of. For model-db/index*.c only.
 */

#include "lib/core/arena.h"
#include "lib/core/intern.h"
#include "model-db/index/index.h"
#include "model-db/index/index_machines.h"
#include "model-db/index/index_order.h"

#include <stdatomic.h>

/* A text that is kept. */
struct tw_index_kept {
	size_t len;
	char text[];
};

/* What becomes known of a model while it is in use. */
struct tw_index_state {
	_Atomic(struct tw_index_kept *) weights[TW_CLIENT_COUNT];
	_Atomic(struct tw_index_kept *) zip;
	atomic_bool checked;  /* its zip is whole */
	atomic_bool proved;   /* tw_index_prove() */
	atomic_uint given_up; /* a bit for each client, and one for all */
};

struct tw_index {
	atomic_uint refs;
	struct tw_intern texts;
	struct tw_arena arena;

	struct tw_index_entry *entry;
	size_t count;
	size_t size;                  /* allocated places */
	struct tw_index_state *state; /* by place of the entry */
	atomic_size_t kept_bytes;
	atomic_bool any_given_up; /* until then nobody looks at the states for it */

	struct tw_index_pipeline *pipeline;
	size_t pipeline_count;
	struct tw_index_machines machines;
	const char *error_key;
	struct tw_index_orders orders;
};

#endif /* TW_MODEL_DB_INDEX_IMPL_H */
