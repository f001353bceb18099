/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_MODELS_ENTRY_H
#define TW_ESTIMATOR_MODELS_ENTRY_H

/*
 * Inside of models.h: what its threads share.
 *
 * An entry is one set of wishes and the models found for it. Its key never changes;
 * all else of it, and of struct tw_models, is under the lock. The two workers take an
 * entry that is due (which holds it), work without the lock, and put the outcome.
 */

#include "estimator/models.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/http/http.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_index;
struct tw_wanted;

struct tw_models_key {
	enum tw_output output;
	const struct tw_energy_source *source;
	char *trainer, *filter; /* NULL: any */
	struct tw_strs metrics; /* sorted */
	bool counters_unproven; /* as in struct tw_wanted */
	uint64_t hash;
};

struct tw_models_entry {
	struct tw_models_key key;
	unsigned refs;
	uint64_t used; /* greater: later */
	struct {
		struct tw_served *served; /* the last good one, or NULL */
		bool tried;
		uint64_t due_ms;   /* UINT64_MAX: not again */
		unsigned failures; /* since the last success */
		/* Of what served was made of; of the network's thread only: */
		uint64_t sum;
		char etag[TW_HTTP_ETAG_MAX];
		struct tw_err why; /* of the last failure */
	} from[TW_ORIGIN_COUNT];
};

/* A database and the thread that reads it. */
struct tw_models_db {
	struct tw_models *m;
	enum tw_origin origin;
	const char *dir;
	int work_fd; /* to the thread: an eventfd */
	bool reload; /* it is to be read again */
};

#define TW_MODELS_DBS 2

struct tw_models {
	pthread_mutex_t lock;
	pthread_cond_t net_work; /* CLOCK_MONOTONIC */
	bool stop;
	struct tw_models_counts counts;
	uint64_t uses;
	/* The last rows under load had values of counters: this machine has them. */
	bool counters_seen;
	struct tw_models_entry *entry[TW_MODELS_KEYS_MAX];
	size_t count;

	/* Set once, before the threads are started. */
	const char *server_url, *server_path, *keep_dir;
	const struct tw_init_urls *init_urls;
	uint64_t refresh_ms;
	bool keep_zips;
	struct tw_models_http http;
	uint32_t cores; /* 0: unknown */
	int changed_fd; /* to the thread of the requests */
	struct tw_models_db db[TW_MODELS_DBS];
	size_t dbs;
	pthread_t thread[TW_MODELS_DBS + 1];
	unsigned threads;
};

/*
 * An entry for which the origin is to be asked now, held; NULL if there is none, and
 * then *next_ms is when there will be (UINT64_MAX: not by time). Lock held.
 */
struct tw_models_entry *tw_models_due(struct tw_models *m, enum tw_origin o,
				      uint64_t *next_ms);

/* Whether the origin can have models for the key. */
bool tw_models_has(const struct tw_models *m, enum tw_origin o,
		   const struct tw_models_key *k);

/*
 * A model to be served; p is taken, even on failure. from and generation tell
 * tw_models_share() that it is the same.
 */
int tw_models_serve(const struct tw_models *m, struct tw_power_model *p, enum tw_origin o,
		    const char *from, uint64_t generation, struct tw_served **out,
		    struct tw_err *err);

/* One that another entry already has, counted, or NULL. Takes the lock. */
struct tw_served *tw_models_share(struct tw_models *m, enum tw_origin o, const char *from,
				  uint64_t generation);

/*
 * The outcome for an entry from tw_models_due(): a model (taken), or NULL and the
 * reason. retry_ms UINT64_MAX: not again unless something changes. Takes the lock.
 */
void tw_models_put(struct tw_models *m, struct tw_models_entry *e, enum tw_origin o,
		   struct tw_served *served, const struct tw_err *why, uint64_t retry_ms);

/* The outcome is that the model in place is the one still. Takes the lock. */
void tw_models_confirm(struct tw_models *m, struct tw_models_entry *e, enum tw_origin o,
		       uint64_t retry_ms);

/* Ask the origin again for all entries. Lock held. */
void tw_models_all_due(struct tw_models *m, enum tw_origin o);

/* The key as the rest of the project asks for models. out must be all zero. */
int tw_models_wanted(const struct tw_models *m, const struct tw_models_key *k,
		     struct tw_wanted *out, struct tw_err *err);

/* Whether a model answers what the key asks: its output and source, from its metrics. */
int tw_models_check(const struct tw_models_key *k, const struct tw_power_model *p,
		    struct tw_err *err);

void tw_models_key_release(struct tw_models_key *k);

/* Make a worker's eventfd readable. */
void tw_models_wake(int fd);

/* Lock held. */
void tw_models_unref_entry(struct tw_models_entry *e);

/* The threads. */
void *tw_models_run_db(void *models_db);
void *tw_models_run_net(void *models);

#endif /* TW_ESTIMATOR_MODELS_ENTRY_H */
