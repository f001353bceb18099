/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_INDEX_USE_H
#define TW_MODEL_DB_INDEX_USE_H

/*
 * Models of an index in use: their weights, their files, and whether they are broken
 * after all. Thread-safe, without locks. Plain weights, which are small and often asked
 * for, are made when they are first asked for and kept, up to a limit for all together.
 */

#include "model-db/weights.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_index;
struct tw_index_entry;
struct tw_model;

/* A text of the index, or the caller's own: tw_index_text_release(). */
struct tw_index_text {
	const char *text;
	size_t len;
	char *own; /* NULL: the index's */
};

void tw_index_text_release(struct tw_index_text *t);

/* Whether the model has weights for the client. */
bool tw_index_has_weights(const struct tw_index_entry *e, enum tw_client client);

/* Whether it is a model that only Tallywatt's estimator reads. */
bool tw_index_is_ensemble(const struct tw_index_entry *e);

/* Whether it is in XGBoost's own form, which kepler-model-server's estimator reads. */
bool tw_index_is_trees(const struct tw_index_entry *e);

/*
 * The weights, as tw_weights_write() writes them. A failure other than TW_NOMEM is the
 * model's: tw_index_give_up().
 */
int tw_index_weights(struct tw_index *x, const struct tw_index_entry *e,
		     enum tw_client client, struct tw_index_text *out,
		     struct tw_err *err);

/*
 * The whole model, read from its zip again and checked to be that of the index. *out must
 * be all zero; it is yours: tw_model_release(). TW_NOTFOUND if the file has gone since
 * the index was made.
 */
int tw_index_read_model(const struct tw_index_entry *e, struct tw_model *out,
			struct tw_err *err);

/*
 * The model's zip: kept in memory, if it is small, as *out with fd -1; else opened for
 * reading: *fd is yours. The first time for each model it is read and checked whole;
 * later a file that has changed since fails as TW_NOTFOUND.
 */
int tw_index_zip(struct tw_index *x, const struct tw_index_entry *e,
		 struct tw_index_text *out, int *fd, struct tw_err *err);

/* Takes m. Fails if the model must not be chosen for a client that names no trainer. */
typedef int tw_index_prove_fn(struct tw_model *m, struct tw_err *err);

/*
 * Check that a model may be chosen for a client that names no trainer. The first call for
 * a model of TW_FITNESS_UNKNOWN reads it, asks prove, and keeps the answer. After a
 * failure other than TW_NOMEM the model is given up, for such clients or, if it cannot be
 * read, as a whole.
 */
int tw_index_prove(struct tw_index *x, const struct tw_index_entry *e,
		   tw_index_prove_fn *prove, struct tw_err *err);

/*
 * A model has failed in use, and is chosen no more from this index: not at all, or, if it
 * was its weights that failed as TW_UNSUPPORTED, for weights of this client.
 */
void tw_index_give_up(struct tw_index *x, const struct tw_index_entry *e);
void tw_index_give_up_weights(struct tw_index *x, const struct tw_index_entry *e,
			      enum tw_client client);

/* For clients that name no trainer, it is chosen no more. */
void tw_index_give_up_default(struct tw_index *x, const struct tw_index_entry *e);

bool tw_index_given_up(const struct tw_index *x, const struct tw_index_entry *e);
/* Also if it is given up as a whole. */
bool tw_index_given_up_default(const struct tw_index *x, const struct tw_index_entry *e);
/* Also if it is given up as a whole. */
bool tw_index_given_up_weights(const struct tw_index *x, const struct tw_index_entry *e,
			       enum tw_client client);

#endif /* TW_MODEL_DB_INDEX_USE_H */
