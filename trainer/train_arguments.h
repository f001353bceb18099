/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_ARGUMENTS_H
#define TW_TRAINER_TRAIN_ARGUMENTS_H

/*
 * What a training was asked for: a pipeline's train_arguments.json, whose keys are those
 * of kepler-model-server where it has them.
 */

#include <jansson.h>

struct tw_train_job;

/* NULL without memory. Says nothing that does not bear on the models. */
json_t *tw_train_arguments(const struct tw_train_job *job);

/* "a.json,b.json": the names of all inputs, or null. NULL without memory. */
json_t *tw_train_origins(const struct tw_train_job *job);

#endif /* TW_TRAINER_TRAIN_ARGUMENTS_H */
