/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_INDEX_LOAD_H
#define TW_MODEL_DB_INDEX_LOAD_H

/*
 * An index's models and pipelines, from the directories. For model-db/index*.c only.
 */

#include "model-db/index/index.h"

/* All models, in the order in which they were found. Only want of memory is a failure. */
int tw_index_read_models(struct tw_index *x, const char *db, tw_index_refused_fn *refused,
			 void *arg, struct tw_err *err);

/* What the pipelines of the models, which are in order of place, say of themselves. */
int tw_index_read_pipelines(struct tw_index *x, const char *db,
			    tw_index_refused_fn *refused, void *arg, struct tw_err *err);

#endif /* TW_MODEL_DB_INDEX_LOAD_H */
