/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_INDEX_USE_H
#define TW_MODEL_DB_INDEX_USE_H

/*
 * Models of an index in use: their weights, their zips, and whether they failed.
 * Thread-safe, without locks. Weights and small zips are cached at their first use, up to
 * a limit for the whole index.
 */

#include "model-db/weights.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_index;
struct tw_index_entry;
struct tw_model;

/* A text: the index's or the caller's. tw_index_text_release() in both cases. */
struct tw_index_text {
	const char *text;
	size_t len;
	char *own; /* NULL: the index owns the text */
};

void tw_index_text_release(struct tw_index_text *t);

/*
 * The weights as tw_weights_write() writes them. After a failure other than TW_NOMEM,
 * call tw_index_give_up() and choose again.
 */
int tw_index_weights(struct tw_index *x, const struct tw_index_entry *e,
		     enum tw_client client, struct tw_index_text *out,
		     struct tw_err *err);

/*
 * Read the whole model from its zip. *out must be all zero; it is yours:
 * tw_model_release(). TW_NOTFOUND if the file was removed or changed since the index was
 * made.
 */
int tw_index_read_model(const struct tw_index_entry *e, struct tw_model *out,
			struct tw_err *err);

/*
 * The model's zip: a small one from memory in *out, with *fd -1; else opened for reading:
 * *fd is yours. The first call for a model reads and checks the whole zip. TW_NOTFOUND if
 * the file was removed or changed since the index was made.
 */
int tw_index_zip(struct tw_index *x, const struct tw_index_entry *e,
		 struct tw_index_text *out, int *fd, struct tw_err *err);

/*
 * Test a whole model, which it takes over. Fails if the model must not serve a client
 * that names no trainer.
 */
typedef int tw_index_prove_fn(struct tw_model *m, struct tw_err *err);

/*
 * Check that a model may serve a client that names no trainer. The first call for a model
 * of TW_FITNESS_UNKNOWN reads it and calls prove; the result is kept. A failure other
 * than TW_NOMEM gives the model up: for such clients, or altogether if it cannot be read.
 */
int tw_index_prove(struct tw_index *x, const struct tw_index_entry *e,
		   tw_index_prove_fn *prove, struct tw_err *err);

/*
 * Give up a model that failed in use: this index does not choose it any more. After its
 * weights failed as TW_UNSUPPORTED, give up the weights for this client only.
 */
void tw_index_give_up(struct tw_index *x, const struct tw_index_entry *e);
void tw_index_give_up_weights(struct tw_index *x, const struct tw_index_entry *e,
			      enum tw_client client);

/* Give it up for clients that name no trainer. */
void tw_index_give_up_default(struct tw_index *x, const struct tw_index_entry *e);

bool tw_index_given_up(const struct tw_index *x, const struct tw_index_entry *e);
/* True also for an entry that is given up as a whole. */
bool tw_index_given_up_default(const struct tw_index *x, const struct tw_index_entry *e);
/* True also for an entry that is given up as a whole. */
bool tw_index_given_up_weights(const struct tw_index *x, const struct tw_index_entry *e,
			       enum tw_client client);

#endif /* TW_MODEL_DB_INDEX_USE_H */
