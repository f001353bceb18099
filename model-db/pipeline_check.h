/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_PIPELINE_CHECK_H
#define TW_MODEL_DB_PIPELINE_CHECK_H

/*
 * Whether a set of files is a pipeline that may be published: all of it, before any of
 * it is seen by a reader. Sets that come from elsewhere are untrusted.
 */

#include <stddef.h>

struct tw_err;
struct tw_fileset;
struct tw_model;

/* Files of other programs, kept to be downloaded as they are, are below this. */
#define TW_PIPELINE_FOREIGN "foreign"

/* A further look at each model, which may be NULL: what only some can do. */
typedef int tw_pipeline_look_fn(void *arg, const struct tw_model *m, struct tw_err *err);

/*
 * Refused: names that differ only in the case of their letters, a pipeline without
 * metadata.json, JSON that is none, a zip that is no model or is of another place than
 * it lies in, and one without models. *models_out is how many there are. Sorts the set.
 */
int tw_pipeline_check(struct tw_fileset *pipeline, tw_pipeline_look_fn *look, void *arg,
		      size_t *models_out, struct tw_err *err);

#endif /* TW_MODEL_DB_PIPELINE_CHECK_H */
