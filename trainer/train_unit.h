/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_UNIT_H
#define TW_TRAINER_TRAIN_UNIT_H

/*
 * One model in the making: a trainer on some data, its components fitted on all rows and
 * judged on blocked folds. The fits are independent of each other: steps, which
 * several threads take in any order.
 */

#include "lib/core/buf.h"
#include "lib/zip/fileset.h"
#include "model-db/model.h"
#include "trainer/fit/score.h"
#include "trainer/fit/trainer.h"
#include "trainer/train_data.h"

struct tw_train_job;

struct tw_train_unit {
	const struct tw_train_data *data;
	const struct tw_trainer *trainer;
	struct tw_err err; /* why there is no model */

	struct tw_err *step_err; /* one a step */
	struct tw_buf text[TW_COMPONENT_COUNT];
	/* By the blocks of time, then by each of the data's extra: each component: rows.
	 */
	double *predicted;
	struct tw_score score[TW_COMPONENT_COUNT];
	struct tw_score extra[TW_TRAIN_EXTRA_FOLDS][TW_COMPONENT_COUNT];
	struct tw_err extra_err[TW_TRAIN_EXTRA_FOLDS]; /* why there are no such scores */
	/* The same of rows as a series; NULL where that is nothing to the predictor. */
	double *predicted_series;
	struct tw_score score_series[TW_COMPONENT_COUNT];
	struct tw_model model;
	struct tw_fileset files; /* of the pipeline */
};

/* Room for the steps. A failure, as that of the data, is kept in u->err. */
void tw_train_unit_init(struct tw_train_unit *u, const struct tw_train_data *data,
			const struct tw_trainer *trainer);

/* 0 where there is nothing to do. */
size_t tw_train_unit_steps(const struct tw_train_unit *u);

/* Thread-safe against the unit's other steps. */
void tw_train_unit_step(struct tw_train_unit *u, size_t step,
			const struct tw_train_job *job);

/* After all steps: judge, and make the model and its files. What was predicted goes. */
void tw_train_unit_finish(struct tw_train_unit *u, const struct tw_train_job *job);

void tw_train_unit_release(struct tw_train_unit *u);

#endif /* TW_TRAINER_TRAIN_UNIT_H */
