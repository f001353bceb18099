/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_QUERY_H
#define TW_SERVER_QUERY_H

/* Query arguments that select models. An absent or empty argument selects all. */

#include "lib/field/energy.h"
#include "lib/field/feature.h"
#include "model-db/index/filter.h"

#include <stdbool.h>
#include <stdint.h>

struct tw_err;
struct tw_http_request;
struct tw_index_entry;

struct tw_query {
	const char *pipeline; /* NULL: any; lives as long as the request */
	const struct tw_energy_source *source; /* NULL: any */
	bool output[TW_OUTPUT_COUNT];
	const struct tw_feature_group *group; /* NULL: any */
	const char *trainer;                  /* NULL: any */
	long long node_type;                  /* -1: any */
	struct tw_filter filter;
};

/*
 * Read "energy-source", "output-type", "feature-group", "node-type", "pipeline",
 * "trainer" and "filter". *out must be all zero; release it, also after a failure. Errors
 * name the argument.
 */
int tw_query_parse(const struct tw_http_request *q, struct tw_query *out,
		   struct tw_err *err);
void tw_query_release(struct tw_query *q);

/* Whether the arguments select the model. */
bool tw_query_has(const struct tw_query *q, const struct tw_index_entry *e);

/* Read a whole number. *out is unchanged if the argument is absent or empty. */
int tw_query_number(const struct tw_http_request *q, const char *name, uint32_t min,
		    uint32_t max, uint32_t *out, struct tw_err *err);

#endif /* TW_SERVER_QUERY_H */
