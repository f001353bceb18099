/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_INDEX_H
#define TW_MODEL_DB_INDEX_H

/*
 * The model database in memory: what there is, made from the directories alone, so
 * that losing it loses nothing. Immutable after it is made; counted references let a
 * reload swap it under requests in progress.
 */

#include "model-db/model.h"
#include "model-db/weights.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_index;

struct tw_index_entry {
	const char *pipeline;
	struct tw_model_info info;
	char *zip_path;
	bool floor; /* tw_weights_floor() */
	/*
	 * Weights by enum tw_client, ready to send: those of plain kinds, which are small
	 * and often asked for. NULL where the client cannot use the model, and for other
	 * kinds: those with weights_on_demand are made from tw_index_read_model() when
	 * asked for.
	 */
	bool weights_on_demand;
	char *weights[TW_CLIENT_COUNT];
	size_t weights_len[TW_CLIENT_COUNT];
	char *first_metric; /* tw_weights_first_metric() */
};

/* Whether the model has weights for the client, ready or not. */
bool tw_index_has_weights(const struct tw_index_entry *e, enum tw_client client);

/*
 * The whole model, read from its zip again. *out must be all zero; it is yours:
 * tw_model_release(). TW_NOTFOUND if the file has gone since the index was made.
 */
int tw_index_read_model(const struct tw_index_entry *e, struct tw_model *out,
			struct tw_err *err);

/* A broken model is left out and told to this; the others are served. */
typedef void tw_index_refused_fn(void *arg, const char *path, const struct tw_err *why);

/*
 * Read <db>/<pipeline>/<source>/<output>/<group>/<model>.zip. An empty or absent
 * database is an empty index. *out is yours: tw_index_unref().
 */
int tw_index_load(const char *db, tw_index_refused_fn *refused, void *arg,
		  struct tw_index **out, struct tw_err *err);

size_t tw_index_count(const struct tw_index *x);
/* In order of pipeline, source, output, group, name. Lives as long as the index. */
const struct tw_index_entry *tw_index_at(const struct tw_index *x, size_t i);

struct tw_index *tw_index_ref(struct tw_index *x); /* thread-safe */
void tw_index_unref(struct tw_index *x);           /* thread-safe; NULL is fine */

#endif /* TW_MODEL_DB_INDEX_H */
