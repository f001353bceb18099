/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_MODELS_H
#define TW_ESTIMATOR_MODELS_H

/*
 * The models that requests are answered with: found by output type, energy source,
 * trainer, filter and the set of metrics, and kept.
 *
 * Threads work behind it, so that a request waits for neither disk nor network: one for
 * each database, which reads it, and again when its directory changes; one that asks
 * the model server and the configured URLs, again on an interval, and with growing pauses
 * after failures. Origins go before each other as in enum tw_origin. Whatever fails to
 * load leaves what there is in place.
 *
 * The functions here are for one thread, that of the requests.
 */

#include "lib/core/num.h"
#include "lib/field/energy.h"
#include "lib/field/feature.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_http_answer;
struct tw_http_call;
struct tw_init_urls;
struct tw_models;
struct tw_power_model;
struct tw_request;

/* Sets of wishes that are remembered; the one not asked for longest is forgotten. */
#define TW_MODELS_KEYS_MAX 64

/* Who makes HTTP calls: lib/http/fetch.h, or a test. */
struct tw_models_http {
	/* As tw_http_call(); from another thread than the requests'. */
	int (*call)(void *arg, const struct tw_http_call *c, struct tw_http_answer *out,
		    struct tw_err *err);
	void (*stop)(void *arg); /* fail the calls under way; NULL: they are waited for */
	void *arg;
};

/* Where models come from, in order of preference. */
enum tw_origin {
	TW_ORIGIN_SERVER,
	TW_ORIGIN_URL,
	TW_ORIGIN_DB,
	TW_ORIGIN_SHIPPED,
	TW_ORIGIN_COUNT
};

/* "server", "url", "database", "shipped". */
const char *tw_origin_name(enum tw_origin o);

struct tw_models_config {
	const char *model_db;    /* directory, or NULL */
	const char *shipped_db;  /* the same, for what nobody else has; or NULL */
	const char *server_url;  /* "http://host:8100", or NULL */
	const char *server_path; /* where it is asked, "/model"; NULL: there */
	const struct tw_init_urls *init_urls; /* or NULL */
	const char *keep_dir;                 /* for estimator/kept.h, or NULL */
	uint64_t refresh_ms; /* how often servers are asked again; 0: once */
	struct tw_models_http http;
	const char *sys; /* where this machine's cores are found: "/sys" */
	bool keep_zips;  /* for who hands models on: struct tw_served's zip */
};

/* Keys of the old programs that say who the server is, for tw_kepler_keys_load(). */
extern const char *const tw_models_server_keys[];

/*
 * Once they are loaded: told only that there is a server, the old estimator asks the one
 * that Kepler's manifests start, on MODEL_SERVER_PORT.
 */
int tw_models_server_default(struct tw_err *err);

/* url, unless it is NULL or empty, or MODEL_SERVER_ENABLE is "false": then NULL. */
const char *tw_models_server(const char *url);

/* MODEL_SERVER_MODEL_REQ_PATH, or NULL. */
const char *tw_models_server_path(void);

enum tw_models_state {
	TW_MODELS_READY,
	TW_MODELS_PENDING, /* ask again when tw_models_fd() is readable */
	TW_MODELS_NONE,    /* nothing fits; may change later */
};

/* A model in use: immutable. */
struct tw_served {
	struct tw_power_model *model;
	/* Cores of this machine / of the model's, as text; "1": unknown. */
	char core_ratio[TW_DOUBLE_TEXT];
	enum tw_origin origin;
	char *from; /* path, or URL without a password in it */
	char *zip;  /* what a server or URL has sent, where keep_zips; else NULL */
	size_t zip_len;
	/* When the origin last said that this is it, of the epoch. */
	atomic_int_least64_t confirmed_s;
	/* Of models.c: */
	unsigned refs;
	uint64_t generation;
};

int tw_models_open(const struct tw_models_config *c, struct tw_models **out,
		   struct tw_err *err);

/* An eventfd (non-blocking) that is readable after anything has changed: read it. */
int tw_models_fd(const struct tw_models *m);

/*
 * The model for a request. READY: *out is yours, tw_models_release(). NONE: the reason
 * is in why.
 */
enum tw_models_state tw_models_find(struct tw_models *m, const struct tw_request *r,
				    struct tw_served **out, struct tw_err *why);

void tw_models_release(struct tw_models *m, struct tw_served *s);

/* What has been since the start, and what is now. */
struct tw_models_counts {
	struct {
		uint64_t asked, failed, loaded;
		/* Sets of wishes that it serves, and those it fails for now. */
		size_t serving, failing;
	} of[TW_ORIGIN_COUNT];
	uint64_t keep_failures;
};

void tw_models_count(struct tw_models *m, struct tw_models_counts *out);

/*
 * The models in use, each once and counted: out[TW_MODELS_KEYS_MAX]. Returns how many;
 * tw_models_release() each.
 */
size_t tw_models_in_use(struct tw_models *m, struct tw_served **out);

/* Read the database and ask the server again; what there is serves until then. */
void tw_models_reload(struct tw_models *m);

/* Waits for a call to the server that is under way. NULL is fine. */
void tw_models_close(struct tw_models *m);

#endif /* TW_ESTIMATOR_MODELS_H */
