/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_H
#define TW_TRAINER_TRAIN_H

/*
 * Training of a pipeline: responses or datasets in, files of the pipeline out.
 *
 * The stages, in this order: find the machines, extract rows, isolate, fit, validate,
 * pack. A model is trained for each machine, energy source, feature group, output type
 * and trainer. Validation uses blocked folds and the predictors of the estimator.
 *
 * A trainer that fails, or data that lacks a metric, adds a row with the reason to the
 * result; other models are still made. Invalid data (a counter reset, no common time)
 * fails the whole training.
 *
 * Each machine of several has its own node type and its own models, the same as a
 * training on that machine alone gives. Rows of one machine from several responses are
 * joined in order of time; no rate is computed across two responses.
 */

#include "trainer/train_job.h"
#include "trainer/train_result.h"

struct tw_err;

/*
 * *out must be all zero; it is yours: tw_train_result_release(). Fails if no model at all
 * could be made, with the reason of the first. Thread-safe for different *out.
 */
int tw_train(const struct tw_train_job *job, struct tw_train_result *out,
	     struct tw_err *err);

#endif /* TW_TRAINER_TRAIN_H */
