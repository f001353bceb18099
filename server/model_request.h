/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_MODEL_REQUEST_H
#define TW_SERVER_MODEL_REQUEST_H

/*
 * The body of POST /model (docs/wire.md). Each generation of clients sends other keys;
 * the parser maps them to one request. Unknown keys are ignored; a known key must have
 * its type.
 */

#include <stddef.h>

struct tw_err;
struct tw_wanted;

/* Limit of entries of "metrics". */
#define TW_MODEL_REQUEST_METRICS_MAX 256

/*
 * Parse data[0..len) into *out, which must be all zero; it is yours: tw_wanted_release().
 * Errors are TW_PARSE or TW_INVALID and name the key: "request.weight: expected true or
 * false, ..".
 */
int tw_model_request_parse(const char *data, size_t len, struct tw_wanted *out,
			   struct tw_err *err);

#endif /* TW_SERVER_MODEL_REQUEST_H */
