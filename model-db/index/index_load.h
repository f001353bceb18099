/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_INDEX_LOAD_H
#define TW_MODEL_DB_INDEX_LOAD_H

/*
 * Reads a model database into an index:
 * <db>/<pipeline>/<source>/<output>/<group>/<model>.zip, and each pipeline's
 * metadata.json and node_type_index.json.
 */

#include "model-db/index/index.h"
#include "model-db/index/index_walk.h"

struct tw_err;

/* The order of preference (docs/model-db.md, "Choice"). All zero bytes: the default. */
struct tw_index_preference {
	const struct tw_strs *pipelines; /* these first, in this order; NULL: none */
	/* The database whose prior serves if this one has none; NULL: there is none. */
	const char *prior;
	const char *error; /* compares the models of a machine; NULL: "mae" */
	/* Asked for each pipeline's directory: -1, and why, leaves it out. NULL: all. */
	tw_index_enter_fn *admit;
	void *admit_arg;
};

/*
 * Load the database at db. A file that is not listed in its pipeline's manifest, if the
 * pipeline has one, is left out and reported. An empty or absent database is an empty
 * index. A broken model is left out and reported to refused (may be NULL); the others are
 * served. prefer may be NULL. *out is yours: tw_index_unref().
 */
int tw_index_load_preferring(const char *db, const struct tw_index_preference *prefer,
			     tw_index_refused_fn *refused, void *arg,
			     struct tw_index **out, struct tw_err *err);

/* The same with the default order of preference. */
int tw_index_load(const char *db, tw_index_refused_fn *refused, void *arg,
		  struct tw_index **out, struct tw_err *err);

#endif /* TW_MODEL_DB_INDEX_LOAD_H */
