/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_MODELS_ENTRY_H
#define TW_ESTIMATOR_MODELS_ENTRY_H

/*
 * Private to models*.c: the table that the threads of models_db.c and models_net.c share.
 * models_open.c starts them.
 *
 * An entry is a key and the models found for it, one for each origin. Keys and the
 * configuration are immutable; the lock protects the rest. A thread takes an entry that
 * is due with tw_models_due(), works without the lock, and hands the result back with
 * tw_models_put() or tw_models_confirm(), which drop the reference.
 */

#include "estimator/models_config.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/field/energy.h"
#include "lib/field/feature.h"
#include "lib/http/client/http.h"
#include "model-db/index/matcher.h"
#include "profiler/spec.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_power_model;

struct tw_models_entry {
	struct tw_wanted wanted; /* the key; metrics are sorted */
	uint64_t hash;           /* of its metrics */
	unsigned refs;
	uint64_t used; /* value of uses at the last request */
	struct {
		struct tw_served *served; /* the last model that loaded, or NULL */
		bool tried;
		uint64_t due_ms;   /* next lookup; UINT64_MAX: none is planned */
		unsigned failures; /* since the last success */
		struct tw_err why; /* reason of the last failure */
		/* Hash and ETag of the zip of served; for the network thread only. */
		uint64_t hash;
		char etag[TW_HTTP_ETAG_MAX];
	} from[TW_ORIGIN_COUNT];
};

/* A database and its thread. */
struct tw_models_db {
	struct tw_models *m;
	enum tw_origin origin;
	const char *dir;
	int work_fd; /* an eventfd that wakes the thread */
	bool reload; /* read the database again */
};

#define TW_MODELS_DBS 2

struct tw_models {
	pthread_mutex_t lock;
	pthread_cond_t net_work; /* wakes the network thread; CLOCK_MONOTONIC */
	bool stop;
	struct {
		uint64_t lookups, failed, loaded;
	} counts[TW_ORIGIN_COUNT];
	uint64_t keep_failures;
	uint64_t uses; /* requests so far */
	/* The last rows under load had counts of hardware counters. */
	bool counters_seen;
	struct tw_models_entry *entry[TW_MODELS_KEYS_MAX];
	size_t count;

	/* Set before the threads start. */
	struct tw_models_config config;
	uint32_t cores;                 /* 0: unknown */
	struct tw_machine_spec machine; /* as far as it is known; for the prior */
	int changed_fd; /* an eventfd that wakes the thread of the requests */
	struct tw_models_db db[TW_MODELS_DBS];
	size_t dbs;
	pthread_t thread[TW_MODELS_DBS + 1];
	unsigned threads;
};

/*
 * Take a reference to an entry for which the origin is to be asked now. NULL: there is
 * none, and *next_ms is the time of the next one (UINT64_MAX: none is planned). Call with
 * the lock held.
 */
struct tw_models_entry *tw_models_due(struct tw_models *m, enum tw_origin o,
				      uint64_t *next_ms);

/*
 * Make a model that can serve. p is taken, even on failure. tw_models_share() finds the
 * model again by from and generation.
 */
int tw_models_serve(const struct tw_models *m, struct tw_power_model *p, enum tw_origin o,
		    const char *from, uint64_t generation, struct tw_served **out,
		    struct tw_err *err);

/* Take a reference to a model that another entry has already; or NULL. Takes the lock. */
struct tw_served *tw_models_share(struct tw_models *m, enum tw_origin o, const char *from,
				  uint64_t generation);

/*
 * Hand back an entry with a new model (taken), or with NULL and the reason of the
 * failure. Plan the next lookup after retry_ms; UINT64_MAX: only after a change. Takes
 * the lock.
 */
void tw_models_put(struct tw_models *m, struct tw_models_entry *e, enum tw_origin o,
		   struct tw_served *served, const struct tw_err *why, uint64_t retry_ms);

/* Hand back an entry whose model the origin has confirmed. Takes the lock. */
void tw_models_confirm(struct tw_models *m, struct tw_models_entry *e, enum tw_origin o,
		       uint64_t retry_ms);

/* Drop a reference. Call with the lock held. */
void tw_models_unref(struct tw_models_entry *e);

/* Make an eventfd readable. */
void tw_models_wake(int fd);

/* Plan a lookup of all entries now. Call with the lock held. */
void tw_models_all_due(struct tw_models *m, enum tw_origin o);

/* Fail unless the model has the output, source and features of the key. */
int tw_models_check(const struct tw_wanted *w, const struct tw_power_model *p,
		    struct tw_err *err);

/* The threads; arg is a struct tw_models_db, or the struct tw_models. */
void *tw_models_run_db(void *arg);
void *tw_models_run_net(void *arg);

/*
 * The cache of models_net.c: a directory with the last good model of each lookup at a
 * server. After a restart they serve while a server does not answer. Files are untrusted,
 * like answers of servers.
 */

/* Files in the directory; one more removes the oldest. */
#define TW_MODEL_CACHE_FILES_MAX 128
#define TW_MODEL_CACHE_KEY_MAX ((size_t)64 * 1024)

/* Write data under a key, and replace older data. Makes the directory if needed. */
int tw_model_cache_write(const char *dir, const char *key, const void *data, size_t len,
			 struct tw_err *err);

/*
 * Read the data of a key, at most max bytes. *data is yours: free(). *time_s is when it
 * was written, in seconds of the epoch, and not later than now. TW_NOTFOUND: there is
 * none.
 */
int tw_model_cache_read(const char *dir, const char *key, size_t max, char **data,
			size_t *len, int64_t *time_s, struct tw_err *err);

#endif /* TW_ESTIMATOR_MODELS_ENTRY_H */
