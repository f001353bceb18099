/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_UBJSON_H
#define TW_UBJSON_H

/*
 * Universal Binary JSON (https://ubjson.org, draft 12), as XGBoost writes it: the events
 * of lib/json/jsax.h for a document in memory. Numbers of high precision, no-ops and
 * arrays of values without bytes are rejected. Errors give the offset.
 */

#include "lib/json/jsax.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether the bytes start as an object of UBJSON, which no JSON does. */
bool tw_ubjson_is(const char *data, size_t len);

int tw_ubjson_parse(const struct tw_jsax_limits *limits, tw_jsax_fn *fn, void *arg,
		    const char *data, size_t len, struct tw_err *err);

#endif /* TW_UBJSON_H */
