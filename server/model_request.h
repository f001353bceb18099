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
struct tw_machine_spec;
struct tw_wanted;

/* Limit of entries of "metrics". */
#define TW_MODEL_REQUEST_METRICS_MAX 256

/*
 * The machine of clients that name none, from "processor=NAME,cores=N,..": the keys of
 * "machine_spec". TW_INVALID without processor and cores: nothing is like such a machine.
 */
int tw_default_machine_parse(const char *text, struct tw_machine_spec *out,
			     struct tw_err *err);

/*
 * Parse data[0..len) into *out, which must be all zero; it is yours: tw_wanted_release().
 * default_machine is that of a request without "machine_spec", unless its node type is a
 * choice; NULL: it stays unknown.
 * Errors are TW_PARSE or TW_INVALID and name the key: "request.weight: expected true or
 * false, ..".
 */
int tw_model_request_parse(const char *data, size_t len,
			   const struct tw_machine_spec *default_machine,
			   struct tw_wanted *out, struct tw_err *err);

#endif /* TW_SERVER_MODEL_REQUEST_H */
