/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_PRIOR_FILE_H
#define TW_MODEL_DB_PRIOR_FILE_H

/*
 * The file of a prior, JSON (docs/machines.md, "The file"): numbers and names, nothing in
 * it is executed. It is untrusted input.
 */

#include "model-db/pipeline.h"

#include <stddef.h>

struct tw_err;
struct tw_prior;

/* Directory of a database, and the file in it. */
#define TW_PRIOR_DIRECTORY TW_PIPELINE_PRIOR
#define TW_PRIOR_FILE "prior.json"

/* *out must be empty; it is yours: tw_prior_release(). Errors name the place. */
int tw_prior_read(const char *text, size_t len, struct tw_prior *out, struct tw_err *err);

/* The prior of a database. TW_NOTFOUND if it has none. */
int tw_prior_load(const char *db, struct tw_prior *out, struct tw_err *err);

#endif /* TW_MODEL_DB_PRIOR_FILE_H */
