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
struct tw_train_data;
struct tw_train_machines;
struct tw_train_unit;
struct tw_trainer;

/* A pair of energy source and feature group that a training considers. */
struct tw_train_pair {
	const struct tw_energy_source *source;
	const struct tw_feature_group *group;
};

/* The pairs of a job, the same for each machine, in the order of the models. */
size_t tw_train_pairs(const struct tw_train_job *job);
struct tw_train_pair tw_train_pair_at(const struct tw_train_job *job, size_t i);

/* The job's trainers of an output type. */
const struct tw_strs *tw_train_trainers(const struct tw_train_job *job,
					enum tw_output output);

/*
 * *out must be all zero; it is yours: tw_train_result_release(). Fails if no model at all
 * could be made, with the reason of the first. Thread-safe for different *out.
 */
int tw_train(const struct tw_train_job *job, struct tw_train_result *out,
	     struct tw_err *err);

/*
 * Load what the isolator needs for the machines; nothing without trainers of DynPower.
 * recorded: only for machines that have recordings. As tw_isolation_init().
 */
int tw_train_isolation_init(const struct tw_train_job *job,
			    const struct tw_train_machines *m, bool recorded,
			    struct tw_isolation *out, struct tw_err *err);

/* The models of a share of a training, and their receiver. */
struct tw_train_share {
	bool (*wants)(void *arg, const struct tw_train_data *d,
		      const struct tw_trainer *trainer);
	/* Called with each finished unit, which may have failed, in order. */
	int (*take)(void *arg, struct tw_train_unit *u, struct tw_err *err);
	void *arg;
};

/*
 * Train the units that the share wants, without packing a pipeline. Stops at the first
 * failure of take, and at a unit that lacked memory.
 */
int tw_train_units(const struct tw_train_job *job, const struct tw_train_share *share,
		   struct tw_err *err);

#endif /* TW_TRAINER_TRAIN_H */
