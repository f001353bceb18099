/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_METADATA_H
#define TW_TRAINER_TRAIN_METADATA_H

/* A model's metadata: its data, its validation and its errors (docs/model-format.md). */

#include <jansson.h>

struct tw_train_job;
struct tw_train_scores;

/*
 * It has no nested objects but in lists: the estimator of kepler-model-server treats each
 * object in metadata.json as a model. NULL without memory.
 */
json_t *tw_train_metadata(const struct tw_train_scores *s,
			  const struct tw_train_job *job);

#endif /* TW_TRAINER_TRAIN_METADATA_H */
