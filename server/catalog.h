/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_CATALOG_H
#define TW_SERVER_CATALOG_H

/*
 * The index of models that the server serves. A reload replaces it as a whole; a request
 * in progress keeps the index that it began with. Thread-safe.
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

struct tw_catalog {
	pthread_mutex_t lock;   /* of index: held for as long as a reference takes */
	struct tw_index *index; /* NULL: none yet */

	atomic_ullong given_up; /* models that failed in use */
	pthread_mutex_t log_lock;
	struct tw_log_limit unreadable;
};

#define TW_CATALOG_EMPTY                               \
	{                                              \
		.lock = PTHREAD_MUTEX_INITIALIZER,     \
		.log_lock = PTHREAD_MUTEX_INITIALIZER, \
	}

/* Replace the index. c takes it over (NULL: none) and drops the one before. */
void tw_catalog_take(struct tw_catalog *c, struct tw_index *index);

/* A reference to the index, or NULL; it is yours: tw_index_unref(). */
struct tw_index *tw_catalog_current(struct tw_catalog *c);

/* The same. Without models it is NULL, and the reply is a 503 that says so. */
struct tw_index *tw_catalog_ref(struct tw_catalog *c, struct tw_http_reply *r);

/* The number of models that are served. */
size_t tw_catalog_count(struct tw_catalog *c);

/*
 * Log that a model failed in use, and choose it no more from this index. With client:
 * only its weights for this client failed.
 */
void tw_catalog_give_up(struct tw_catalog *c, struct tw_index *x,
			const struct tw_index_entry *e, const enum tw_client *client,
			const struct tw_err *why);

/*
 * Check that a model may be sent to a client that names no trainer. False: its power does
 * not rise with load; that is logged, and the model is chosen no more for such clients.
 */
bool tw_catalog_prove(struct tw_catalog *c, struct tw_index *x,
		      const struct tw_index_entry *e, struct tw_err *why);

#endif /* TW_SERVER_CATALOG_H */
