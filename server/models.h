/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_MODELS_H
#define TW_SERVER_MODELS_H

/*
 * The models that are served now: one index at a time, replaced as a whole. Requests in
 * progress keep the one that they began with. Thread-safe for any number of readers and
 * one writer. A reader takes no lock and never waits; the writer waits for readers that
 * are between two steps of taking a reference.
 */

#include "lib/program/log.h"
#include "model-db/weights.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct tw_err;
struct tw_http_reply;
struct tw_index;
struct tw_index_entry;

struct tw_models {
	/* One of the two is in use, the other is empty or about to be used. */
	struct {
		struct tw_index *index;
		atomic_uint readers; /* that look at it just now */
	} slot[2];
	atomic_uint active;

	atomic_ullong given_up; /* models that were found broken in use */
	pthread_mutex_t log_lock;
	struct tw_log_limit unreadable;
};

#define TW_MODELS_EMPTY                                \
	{                                              \
		.log_lock = PTHREAD_MUTEX_INITIALIZER, \
	}

/* The index (may be NULL) belongs to m from now on; the one before it is let go. */
void tw_models_take(struct tw_models *m, struct tw_index *index);

/* A reference to what is there, which is yours: tw_index_unref(); or NULL. */
struct tw_index *tw_models_current(struct tw_models *m);

/* The same, but NULL also if it has no models: then the reply says so (503). */
struct tw_index *tw_models_ref(struct tw_models *m, struct tw_http_reply *r);

/* How many models are served. */
size_t tw_models_served(struct tw_models *m);

/*
 * A model was found broken in use: log it, and choose it no more from this index; client:
 * only not for the weights of this one (NULL: not at all). What is served next is the
 * next best.
 */
void tw_models_give_up(struct tw_models *m, struct tw_index *x,
		       const struct tw_index_entry *e, const enum tw_client *client,
		       const struct tw_err *why);

/*
 * False: the model must not be sent to a client that names no trainer, because its power
 * does not rise with load. It is logged once, and chosen no more for such clients.
 */
bool tw_models_prove(struct tw_models *m, struct tw_index *x,
		     const struct tw_index_entry *e, struct tw_err *why);

#endif /* TW_SERVER_MODELS_H */
