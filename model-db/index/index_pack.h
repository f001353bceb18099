/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_INDEX_PACK_H
#define TW_MODEL_DB_INDEX_PACK_H

/*
 * A model as it was read, into as few bytes as an index of thousands wants. For
 * model-db/index*.c only.
 */

struct tw_err;
struct tw_index;
struct tw_index_draft;
struct tw_index_entry;

/* All of *out but machine, rank, kind and part. */
int tw_index_pack(struct tw_index *x, const char *pipeline, const char *path,
		  const struct tw_index_draft *d, struct tw_index_entry *out,
		  struct tw_err *err);

#endif /* TW_MODEL_DB_INDEX_PACK_H */
