/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_INIT_URLS_H
#define TW_ESTIMATOR_INIT_URLS_H

/*
 * URLs of initial models, as users of kepler-model-server configure them (docs/wire.md,
 * "Keys of the old programs"): NODE_TOTAL_INIT_URL and others, in environment variables
 * or in lines of the variable MODEL_CONFIG.
 *
 *	TOTAL        an energy source of the platform (acpi)
 *	COMPONENTS   an energy source of package, core, uncore and dram (rapl)
 *	NODE         AbsPower
 *	CONTAINER    DynPower; PROCESS is used if CONTAINER is not set
 */

#include "lib/field/energy.h"
#include "lib/field/feature.h"

#include <stdbool.h>

struct tw_err;

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

#endif /* TW_ESTIMATOR_INIT_URLS_H */
