/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_PACK_H
#define TW_TRAINER_TRAIN_PACK_H

/*
 * A training in progress, and the last of its stages: a row for each model, and the files
 * of the pipeline. A part of trainer/train.c.
 */

#include "trainer/isolation.h"
#include "trainer/train_machines.h"

#include <stdatomic.h>

struct tw_err;
struct tw_train_data;
struct tw_train_job;
struct tw_train_result;
struct tw_train_unit;

/* Of whom: the response, or a machine of it. */
#define TW_TRAIN_NO_DATA "no energy source and feature group of which %s has all metrics"

/* A step of a unit, as the pool counts them. */
struct tw_train_step {
	size_t unit, step;
};

struct tw_training {
	const struct tw_train_job *job;
	struct tw_train_machines machines;
	struct tw_isolation isolation;
	struct tw_train_data *data;
	size_t datas;
	size_t from, to; /* of data: the batch */
	struct tw_train_unit *unit;
	size_t unit_from, units; /* those of the batch, behind those of others */
	struct tw_train_step *step;
	size_t steps;
	atomic_size_t done; /* of them */
};

/* After all units are finished. *out is the caller's to release, after a failure too. */
int tw_train_pack(const struct tw_training *t, struct tw_train_result *out,
		  struct tw_err *err);

#endif /* TW_TRAINER_TRAIN_PACK_H */
