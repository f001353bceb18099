/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_MODELS_H
#define TW_SERVER_MODELS_H

/*
 * The models that are served now: one index at a time, replaced as a whole. Requests in
 * progress keep the one that they began with. Thread-safe; the
 * lock that they take is held for no longer than it takes to copy a pointer.
 */

#include "lib/log.h"

#include <pthread.h>
#include <stddef.h>

struct tw_err;
struct tw_http_reply;
struct tw_index;

struct tw_models {
	pthread_mutex_t lock;
	struct tw_index *index; /* NULL before the first */

	pthread_mutex_t log_lock;
	struct tw_log_limit unreadable;
};

#define TW_MODELS_EMPTY                                                                  \
	{                                                                                \
		.lock = PTHREAD_MUTEX_INITIALIZER, .log_lock = PTHREAD_MUTEX_INITIALIZER \
	}

/* The index belongs to m from now on; the one before it is let go. */
void tw_models_take(struct tw_models *m, struct tw_index *index);

/*
 * The index, which is yours: tw_index_unref(). NULL if there is none or it has no models:
 * then the reply says so (503).
 */
struct tw_index *tw_models_ref(struct tw_models *m, struct tw_http_reply *r);

/* How many models are served. */
size_t tw_models_count(struct tw_models *m);

/* Log that a model's file cannot be read: each request for it finds that out again. */
void tw_models_log_unreadable(struct tw_models *m, const struct tw_err *why);

#endif /* TW_SERVER_MODELS_H */
