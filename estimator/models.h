/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_MODELS_H
#define TW_ESTIMATOR_MODELS_H

/*
 * The table of models in use. A request finds its model by output type, energy source,
 * trainer, filter and set of metrics: the key. The first request of a key creates an
 * entry, for which the origins are asked in the background.
 *
 * Threads load the models, so that a request waits for neither disk nor network. One
 * thread for each database reads it, and reads it again when the directory changes. The
 * network thread asks the model server and the configured URLs, repeats that after
 * refresh_ms, and after failures with growing pauses. An earlier origin of enum tw_origin
 * takes precedence over a later one. A failure to load leaves the loaded model in place.
 *
 * Call the functions from one thread, which answers the requests.
 */

#include "estimator/models_config.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_models;
struct tw_request;

enum tw_models_state {
	TW_MODELS_READY,
	TW_MODELS_PENDING, /* try again when tw_models_fd() is readable */
	TW_MODELS_NONE,    /* no model fits; that may change later */
};

/* Start the threads. c may be freed, but what it points to must outlive *out. */
int tw_models_open(const struct tw_models_config *c, struct tw_models **out,
		   struct tw_err *err);

/* A non-blocking eventfd, which is readable after a change. Read it to reset it. */
int tw_models_fd(const struct tw_models *m);

/*
 * Find the model for a request. READY: release *out with tw_models_release(). NONE: why
 * has the reason.
 */
enum tw_models_state tw_models_find(struct tw_models *m, const struct tw_request *r,
				    struct tw_served **out, struct tw_err *why);

void tw_models_release(struct tw_models *m, struct tw_served *s);

/* Totals since the start, except serving and failing. */
struct tw_models_counts {
	struct tw_origin_counts {
		uint64_t lookups, failed, loaded;
		/* Keys with a model of the origin; keys whose last lookup failed. */
		size_t serving, failing;
	} of[TW_ORIGIN_COUNT];
	uint64_t keep_failures; /* models that could not be written to the cache */
};

void tw_models_count(struct tw_models *m, struct tw_models_counts *out);

/*
 * Get the models that answer requests, each once, into out[TW_MODELS_KEYS_MAX]. Returns
 * their number. Release each with tw_models_release().
 */
size_t tw_models_in_use(struct tw_models *m, struct tw_served **out);

/* Read the databases and ask the servers again. Loaded models serve until then. */
void tw_models_reload(struct tw_models *m);

/* Stop the threads; a call without stop() in progress is waited for. NULL is fine. */
void tw_models_close(struct tw_models *m);

#endif /* TW_ESTIMATOR_MODELS_H */
