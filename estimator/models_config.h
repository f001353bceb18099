/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_MODELS_CONFIG_H
#define TW_ESTIMATOR_MODELS_CONFIG_H

/*
 * The origins of models as a program configures them, and the environment variables of
 * kepler-model-server that name a model server (docs/wire.md, "Keys of the old
 * programs").
 */

#include <stdbool.h>
#include <stdint.h>

struct tw_err;
struct tw_http_answer;
struct tw_http_call;
struct tw_init_urls;

/* Keys that are remembered; a new key replaces the one not used for longest. */
#define TW_MODELS_KEYS_MAX 64

/* The HTTP client: lib/ask/fetch.h, or a test. */
struct tw_models_http {
	/* As tw_http_call(). Called by the network thread. */
	int (*call)(void *arg, const struct tw_http_call *c, struct tw_http_answer *out,
		    struct tw_err *err);
	/* Fail the calls in progress. NULL: closing waits for them. */
	void (*stop)(void *arg);
	void *arg;
};

/* Texts are borrowed. */
struct tw_models_config {
	const char *model_db;    /* directory, or NULL */
	const char *shipped_db;  /* directory of the last resort, or NULL */
	const char *server_url;  /* "http://host:8100", or NULL */
	const char *server_path; /* path of the model route; NULL: "/model" */
	const struct tw_init_urls *init_urls; /* or NULL */
	const char *keep_dir; /* directory of estimator/model_cache.h, or NULL */
	uint64_t refresh_ms;  /* how often servers are asked again; 0: once */
	struct tw_models_http http;
	const char *sys;  /* sysfs, for this machine's number of cores: "/sys" */
	const char *proc; /* procfs, for its processor; NULL: "/proc" */
	bool keep_zips;   /* set the zip of struct tw_served */
};

/* The environment variables that name the model server, for tw_kepler_keys_load(). */
extern const char *const tw_models_server_keys[];

/*
 * Call after the keys are loaded. If MODEL_SERVER_ENABLE is "true" and no server is
 * named, set the default of the old estimator: the server of Kepler's manifests, with
 * MODEL_SERVER_PORT.
 */
int tw_models_server_default(struct tw_err *err);

/* url; NULL if it is NULL or empty, or if MODEL_SERVER_ENABLE is "false". */
const char *tw_models_server(const char *url);

/* MODEL_SERVER_MODEL_REQ_PATH, or NULL. */
const char *tw_models_server_path(void);

#endif /* TW_ESTIMATOR_MODELS_CONFIG_H */
