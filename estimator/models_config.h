/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_MODELS_CONFIG_H
#define TW_ESTIMATOR_MODELS_CONFIG_H

/*
 * The origins of models as a program configures them, what they give, and the environment
 * variables of kepler-model-server that name a model server (docs/wire.md, "Keys of the
 * old programs").
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
struct tw_power_model;

/* Keys that are remembered; a new key replaces the one not used for longest. */
#define TW_MODELS_KEYS_MAX 64

/* Origins of models, in order of preference. */
enum tw_origin {
	TW_ORIGIN_SERVER,
	TW_ORIGIN_URL,
	TW_ORIGIN_DB,
	TW_ORIGIN_SHIPPED,
	TW_ORIGIN_COUNT
};

/* "server", "url", "database", "shipped". */
const char *tw_origin_name(enum tw_origin o);

/*
 * A loaded model that answers requests, and the origin that it was loaded from. Immutable
 * but for its counters. Counted by tw_models_find() and tw_models_release().
 */
struct tw_served {
	struct tw_power_model *model;
	/* Cores of this machine / cores of the model's machine, as text; "1": unknown. */
	char core_ratio[TW_DOUBLE_TEXT];
	enum tw_origin origin;
	char *from; /* path, or URL without its password */
	char *zip;  /* the zip that a server or URL sent, if keep_zips is set; or NULL */
	size_t zip_len;
	/* When the origin last confirmed this model, in seconds of the epoch. */
	atomic_int_least64_t confirmed_s;
	/* Used by the models that serve it, under their lock: */
	unsigned refs;
	uint64_t generation; /* of the index that the model was chosen from */
};

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
	const char *keep_dir; /* directory of the cache of models_net.c, or NULL */
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

/*
 * URLs of initial models, as users of kepler-model-server configure them:
 * NODE_TOTAL_INIT_URL and others, in environment variables or in lines of the variable
 * MODEL_CONFIG.
 *
 *	TOTAL        an energy source of the platform (acpi)
 *	COMPONENTS   an energy source of package, core, uncore and dram (rapl)
 *	NODE         AbsPower
 *	CONTAINER    DynPower; PROCESS is used if CONTAINER is not set
 */
struct tw_init_urls {
	char *of[TW_OUTPUT_COUNT][2]; /* TOTAL, COMPONENTS; NULL: none */
};

/* The names of the variables, for tw_kepler_keys_load(); ends with NULL. */
extern const char *const tw_init_urls_keys[];

/* Read the environment. *out must be all zero; release it, on failure too. */
int tw_init_urls_read(struct tw_init_urls *out, struct tw_err *err);

/* The URL for an output and a source, or NULL. */
const char *tw_init_urls_find(const struct tw_init_urls *u, enum tw_output output,
			      const struct tw_energy_source *source);

/* True if any URL is configured. */
bool tw_init_urls_any(const struct tw_init_urls *u);

void tw_init_urls_release(struct tw_init_urls *u);

#endif /* TW_ESTIMATOR_MODELS_CONFIG_H */
