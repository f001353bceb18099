/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_INIT_URLS_H
#define TW_ESTIMATOR_INIT_URLS_H

/*
 * Where a first model of each kind is, as kepler-model-server's users configure it
 * (docs/wire.md, "Keys of the old programs"): NODE_TOTAL_INIT_URL and the like, as lines
 * of MODEL_CONFIG or by themselves, in the environment.
 *
 *	TOTAL        a source of the platform's power (acpi)
 *	COMPONENTS   one of package, core, uncore and dram (rapl)
 *	NODE         AbsPower
 *	CONTAINER    DynPower; PROCESS where there is none for CONTAINER
 */

#include "lib/field/energy.h"
#include "lib/field/feature.h"

#include <stdbool.h>

struct tw_err;

struct tw_init_urls {
	char *of[TW_OUTPUT_COUNT][2]; /* TOTAL, COMPONENTS; NULL: none */
};

/* The keys of the configuration, for tw_kepler_keys_load(); ended by NULL. */
extern const char *const tw_init_urls_keys[];

/*
 * As the environment says. *out must be all zero; it is yours, on failure too:
 * tw_init_urls_release().
 */
int tw_init_urls_read(struct tw_init_urls *out, struct tw_err *err);

/* NULL: none. */
const char *tw_init_urls_find(const struct tw_init_urls *u, enum tw_output output,
			      const struct tw_energy_source *source);

/* Whether there is one at all. */
bool tw_init_urls_any(const struct tw_init_urls *u);

void tw_init_urls_release(struct tw_init_urls *u);

#endif /* TW_ESTIMATOR_INIT_URLS_H */
