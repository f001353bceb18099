/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_UNIT_H
#define TW_TRAINER_TRAIN_UNIT_H

/*
 * A model in the making: a trainer on one tw_train_data. Each component is fitted on all
 * rows and validated on the splits. A step is one fit; steps are independent of each
 * other, and several threads run them in any order.
 */

#include "lib/core/buf.h"
#include "lib/zip/fileset.h"
#include "model-db/model.h"
#include "trainer/fit/trainer.h"
#include "trainer/train_data.h"
#include "trainer/train_scores.h"

struct tw_train_unit {
	const struct tw_train_data *data;
	const struct tw_trainer *trainer;
	struct tw_err err; /* the reason if there is no model */

	struct tw_err *step_err; /* for each step */
	struct tw_buf text[TW_COMPONENT_COUNT];
	struct tw_train_scores scores;
	/* Errors of the rows after the job's share, of the worst component, or NaN. */
	double later_mae_w, later_mape_percent;
	struct tw_model model;
	json_t *refusal_rows;    /* of a model without certificate; or NULL */
	struct tw_fileset files; /* the model's files in the pipeline */
};

/* Allocate the steps. A failure of it or of the data is kept in u->err. */
void tw_train_unit_init(struct tw_train_unit *u, const struct tw_train_data *data,
			const struct tw_trainer *trainer);

/* Number of steps; 0 after a failure. */
size_t tw_train_unit_steps(const struct tw_train_unit *u);

/* Run one step. Thread-safe with respect to other steps of the unit. */
void tw_train_unit_step(struct tw_train_unit *u, size_t step);

/* After all steps: compute scores, make the model and its files, free the predictions. */
void tw_train_unit_finish(struct tw_train_unit *u);

/* Why requested scores are missing; the code is TW_OK if none is. */
const struct tw_err *tw_train_unit_note(const struct tw_train_unit *u);

void tw_train_unit_release(struct tw_train_unit *u);

#endif /* TW_TRAINER_TRAIN_UNIT_H */
