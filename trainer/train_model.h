/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_MODEL_H
#define TW_TRAINER_TRAIN_MODEL_H

/*
 * The model of a unit whose steps are done and judged, with what its metadata tells of
 * data and validation (docs/model-format.md).
 */

#include <jansson.h>
#include <stddef.h>

struct tw_err;
struct tw_model;
struct tw_train_data;
struct tw_train_job;
struct tw_train_unit;

/* Takes the unit's texts. *out must be all zero; it is yours. */
int tw_train_model(struct tw_train_unit *u, const struct tw_train_job *job,
		   struct tw_model *out, struct tw_err *err);

/* metadata.json of the pipeline; NULL without memory. */
json_t *tw_train_metadata(const struct tw_train_job *job,
			  const struct tw_train_data *data, size_t count);

#endif /* TW_TRAINER_TRAIN_MODEL_H */
